//! An experiment changed by flags states so in its name and question, so that it is not mistaken for the original.

use super::entry::MOUNTED;
use super::{Experiment, SIZE};
use crate::schema::plan::{Candidate, Factors, Plan};
use crate::schema::setup::Variant;
use crate::schema::units::Bytes;
use crate::states;

const CHANGED: &str = ", changed";

/// The name of a changed experiment lists at most this many filesystems; of more filesystems it states the number.
const NAMED: usize = 6;

impl Experiment {
    /// Adds to name and question the differences from `own`, the original. A selection of filesystems is no change; they are
    /// listed before the question.
    pub fn told_from(mut self, own: &Experiment) -> Self {
        let changes = self.changes(own);
        let asked = match self.chosen(own) {
            Some(who) if !own.analysis.is_empty() => format!("On {who}: {}", own.analysis),
            _ => own.analysis.clone(),
        };
        let Some((last, others)) = changes.split_last() else {
            return Experiment { analysis: asked, ..self };
        };
        let listed =
            if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
        let whose = if own.name.is_empty() { "an experiment" } else { own.name.trim_end_matches(CHANGED) };
        let said = format!("{whose} with {listed}");
        self.name = if own.name.is_empty() { String::new() } else { changed(&own.name) };
        // A question about other work is dropped.
        let is_asked = !asked.is_empty() && !self.has_other_works(own);
        self.analysis = if is_asked { format!("{said}: {asked}") } else { format!("{said}.") };
        self
    }

    /// Whether a plan's name and question are this experiment's, original or changed.
    pub fn describes(&self, plan: &Plan) -> bool {
        let asks = plan.analysis == self.analysis
            || plan.analysis.starts_with("On ") && plan.analysis.ends_with(&self.analysis);
        let is_changed = plan.name == changed(&self.name)
            && (plan.analysis.ends_with(&self.analysis)
                || plan.analysis.starts_with(&format!("{} with ", self.name)));
        plan.name == self.name && asks || is_changed
    }

    /// The candidates in words, if all of them are plain kinds or candidates of the experiment itself.
    fn chosen(&self, own: &Experiment) -> Option<String> {
        let [before, after] = [own, self].map(|of| of.candidates().unwrap_or_default());
        if !after.is_empty() && after.iter().all(|candidate| candidate.kind == MOUNTED) {
            let several = format!("{} mounted filesystems", after.len());
            return Some(if after.len() == 1 { "the mounted filesystem".to_owned() } else { several });
        }
        let is_chosen = |c: &Candidate| before.contains(c) || is_plain(c);
        if before.is_empty() || after.is_empty() || before == after || !after.iter().all(is_chosen) {
            return None;
        }
        let labels: Vec<&str> = after.iter().map(|c| c.label.as_str()).collect();
        Some(match labels.split_last() {
            _ if labels.len() > NAMED => format!("{} filesystems", labels.len()),
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        })
    }

    fn has_other_works(&self, own: &Experiment) -> bool {
        let works = |of: &Experiment| of.planned_workloads(own.scale).ok();
        works(own).is_some() && works(self) != works(own)
    }

    /// The differences in setup and work. Every report states duration and testbed anyway.
    fn changes(&self, own: &Experiment) -> Vec<String> {
        let candidates = |of: &Experiment| of.candidates().ok().filter(|all| !all.is_empty());
        let (before, after) = (candidates(own), candidates(self));
        // The same filesystem more than once.
        let is_crossed = after.as_deref().is_some_and(|all| all.len() > filesystems(all).len());
        let has_other = |distinct: fn(&[Candidate]) -> Vec<(&str, &Variant)>| {
            before.is_some() && before.as_deref().map(distinct) != after.as_deref().map(distinct)
        };
        let is_only_crossed = is_crossed && !has_other(filesystems);
        let labels = self.planned_workloads(self.scale).unwrap_or_default();
        let labels: Vec<&str> = labels.iter().map(|work| work.label.as_str()).collect();
        let works = format!("other workloads ({})", labels.join(", "));
        let is_choice = self.chosen(own).is_some();
        // A consequence of the scale is not listed beside it.
        let mut scaled = own.clone();
        if let Some(scale) = self.scale.filter(|_| self.scale != own.scale) {
            scaled = scaled.clone().at_scale(scale).unwrap_or(scaled);
        }
        let at_scale = candidates(&scaled);
        let scale = self.scale.map_or("another scale".to_owned(), |scale| format!("a scale of {scale}"));
        let is_other = [
            ("other filesystems", has_other(all) && !is_only_crossed && !is_choice),
            ("filesystems in several setups", has_other(all) && is_only_crossed && !is_choice),
            (works.as_str(), self.has_other_works(own)),
            (scale.as_str(), self.scale != own.scale),
            ("another size", self.size.unwrap_or(SIZE) != scaled.size.unwrap_or(SIZE)),
            ("another memory limit", memory(self, after.as_deref()) != memory(&scaled, at_scale.as_deref())),
            ("another number of CPUs", cpus(self, after.as_deref()) != cpus(own, before.as_deref())),
            ("other image states", self.image.unwrap_or_default() != own.image.unwrap_or_default()),
            ("another state", state(self, after.as_deref()) != state(&scaled, at_scale.as_deref())),
            ("other layers", layers(self, after.as_deref()) != layers(own, before.as_deref())),
            ("cold caches", self.cold.unwrap_or_default() && !own.cold.unwrap_or_default()),
            ("another power cut", self.power_cut != own.power_cut),
            ("other scenarios", self.scenario != own.scenario),
            ("another number of clients", self.clients.unwrap_or(1) != own.clients.unwrap_or(1)),
        ];
        is_other.into_iter().filter(|(_, is_other)| *is_other).map(|(what, _)| what.to_owned()).collect()
    }
}

/// The common memory limit of the plan; if each candidate states a limit itself, the first candidate's limit.
fn memory(of: &Experiment, candidates: Option<&[Candidate]>) -> Option<Bytes> {
    first_where_all(candidates, |c| c.own.memory).or(of.memory)
}

fn cpus(of: &Experiment, candidates: Option<&[Candidate]>) -> Option<u32> {
    first_where_all(candidates, |c| c.own.cpus).or(of.cpus)
}

/// The common state; a stated `fresh` equals no stated state.
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

/// The distinct filesystems of these candidates, each once, whatever setups it has.
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

fn is_plain(candidate: &Candidate) -> bool {
    candidate.label == candidate.kind
        && candidate.variant == Variant::default()
        && candidate.own == Factors::default()
}
