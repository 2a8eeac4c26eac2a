//! An experiment that flags have changed says so in its name and its question, so that nobody takes it for the one that it
//! came from.

use super::experiment::{Experiment, SIZE};
use crate::schema::plan::Plan;

const CHANGED: &str = ", changed";

impl Experiment {
    /// With a name and a question that say what is another than in `own`, from which it was made.
    pub fn told_from(mut self, own: &Experiment) -> Self {
        let changes = self.changes(own);
        let Some((last, others)) = changes.split_last() else { return self };
        let listed =
            if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) };
        let whose = if own.name.is_empty() { "an experiment" } else { own.name.trim_end_matches(CHANGED) };
        let said = format!("{whose} with {listed}");
        self.name = if own.name.is_empty() { String::new() } else { changed(&own.name) };
        self.analysis =
            if own.analysis.is_empty() { format!("{said}.") } else { format!("{said}: {}", own.analysis) };
        self
    }

    /// Whether a plan's name and question are this experiment's, as they are or changed.
    pub fn describes(&self, plan: &Plan) -> bool {
        let is_own = plan.name == self.name && plan.analysis == self.analysis;
        is_own || (plan.name == changed(&self.name) && plan.analysis.ends_with(&self.analysis))
    }

    /// What of the setup and the work is another. How long it is measured, and where, every report says by itself.
    fn changes(&self, own: &Experiment) -> Vec<&'static str> {
        let candidates = |of: &Experiment| of.candidates().ok().filter(|all| !all.is_empty());
        let works = |of: &Experiment| of.planned_workloads(own.scale).ok();
        let is_other = [
            ("other filesystems", candidates(own).is_some() && candidates(self) != candidates(own)),
            ("other workloads", works(own).is_some() && works(self) != works(own)),
            ("another scale", self.scale != own.scale),
            ("another size", self.size.unwrap_or(SIZE) != own.size.unwrap_or(SIZE)),
            ("another memory limit", self.memory != own.memory),
            ("images in another state", self.image.unwrap_or_default() != own.image.unwrap_or_default()),
            ("other layers", self.written_layers().ok() != own.written_layers().ok()),
            ("cold caches", self.cold.unwrap_or_default() && !own.cold.unwrap_or_default()),
            ("another power cut", self.power_cut != own.power_cut),
            ("other scenarios", self.scenario != own.scenario),
            ("another number of clients", self.clients.unwrap_or(1) != own.clients.unwrap_or(1)),
        ];
        is_other.into_iter().filter(|(_, is_other)| *is_other).map(|(what, _)| what).collect()
    }
}

fn changed(name: &str) -> String {
    if name.ends_with(CHANGED) { name.to_owned() } else { format!("{name}{CHANGED}") }
}
