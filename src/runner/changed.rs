//! An experiment that flags have changed says so in its name and its question, so that nobody takes it for the one that it
//! came from.

use super::experiment::{Experiment, SIZE};
use crate::schema::plan::{Candidate, Plan};
use crate::schema::setup::Variant;
use crate::schema::units::Bytes;
use crate::states;

const CHANGED: &str = ", changed";

impl Experiment {
    /// With a name and a question that say what is another than in `own`, from which it was made.
    pub fn told_from(mut self, own: &Experiment) -> Self {
        let changes = self.changes(own);
        let Some((last, others)) = changes.split_last() else { return self };
        let listed =
            if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
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
    fn changes(&self, own: &Experiment) -> Vec<String> {
        let candidates = |of: &Experiment| of.candidates().ok().filter(|all| !all.is_empty());
        let (before, after) = (candidates(own), candidates(self));
        // The same filesystem more than once.
        let is_crossed = after.as_deref().is_some_and(|all| all.len() > filesystems(all).len());
        let has_other = |distinct: fn(&[Candidate]) -> Vec<(&str, &Variant)>| {
            before.is_some() && before.as_deref().map(distinct) != after.as_deref().map(distinct)
        };
        let is_only_crossed = is_crossed && !has_other(filesystems);
        let works = |of: &Experiment| of.planned_workloads(own.scale).ok();
        let scale = self.scale.map_or("another scale".to_owned(), |scale| format!("a scale of {scale}"));
        let is_other = [
            ("other filesystems", has_other(all) && !is_only_crossed),
            ("filesystems in several setups", has_other(all) && is_only_crossed),
            ("other workloads", works(own).is_some() && works(self) != works(own)),
            (scale.as_str(), self.scale != own.scale),
            ("another size", self.size.unwrap_or(SIZE) != own.size.unwrap_or(SIZE)),
            ("another memory limit", memory(self, after.as_deref()) != memory(own, before.as_deref())),
            ("another number of CPUs", cpus(self, after.as_deref()) != cpus(own, before.as_deref())),
            ("images in another state", self.image.unwrap_or_default() != own.image.unwrap_or_default()),
            ("another state", state(self, after.as_deref()) != state(own, before.as_deref())),
            ("other layers", layers(self, after.as_deref()) != layers(own, before.as_deref())),
            ("cold caches", self.cold.unwrap_or_default() && !own.cold.unwrap_or_default()),
            ("another power cut", self.power_cut != own.power_cut),
            ("other scenarios", self.scenario != own.scenario),
            ("another number of clients", self.clients.unwrap_or(1) != own.clients.unwrap_or(1)),
        ];
        is_other.into_iter().filter(|(_, is_other)| *is_other).map(|(what, _)| what.to_owned()).collect()
    }
}

/// What they have in common once the plan is settled: of the first, where each states its own.
fn memory(of: &Experiment, candidates: Option<&[Candidate]>) -> Option<Bytes> {
    first_where_all(candidates, |c| c.own.memory).or(of.memory)
}

fn cpus(of: &Experiment, candidates: Option<&[Candidate]>) -> Option<u32> {
    first_where_all(candidates, |c| c.own.cpus).or(of.cpus)
}

/// To state that it is fresh changes nothing.
fn state(of: &Experiment, candidates: Option<&[Candidate]>) -> Option<String> {
    let state = first_where_all(candidates, |c| c.own.state.clone()).or(of.state.clone());
    state.filter(|state| state != states::FRESH)
}

fn layers(of: &Experiment, candidates: Option<&[Candidate]>) -> Option<Vec<String>> {
    first_where_all(candidates, |c| c.own.layers.clone()).or(of.written_layers().ok())
}

fn first_where_all<T>(candidates: Option<&[Candidate]>, own: fn(&Candidate) -> Option<T>) -> Option<T> {
    let all = candidates?;
    if all.iter().all(|candidate| own(candidate).is_some()) { own(all.first()?) } else { None }
}

/// Each filesystem once, in whatever setups it is.
fn filesystems(candidates: &[Candidate]) -> Vec<(&str, &Variant)> {
    let mut once: Vec<(&str, &Variant)> = Vec::new();
    for candidate in candidates {
        let one = (candidate.kind.as_str(), &candidate.variant);
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

fn all(candidates: &[Candidate]) -> Vec<(&str, &Variant)> {
    candidates.iter().map(|candidate| (candidate.label.as_str(), &candidate.variant)).collect()
}

fn changed(name: &str) -> String {
    if name.ends_with(CHANGED) { name.to_owned() } else { format!("{name}{CHANGED}") }
}
