//! An experiment used with other settings states so in its name and question, so that it is not mistaken for the original.

use super::Experiment;
use super::entry::MOUNTED;
use super::options::{self, Change, Side};
use crate::schema::plan::{Candidate, Factors, Plan};
use crate::schema::setup::Variant;
use crate::schema::units::Scale;

/// What is added to the name; of a run at another scale, only that.
const OTHER: &str = " with other settings";
const AT_SCALE: &str = " at scale ";
/// What was added to it by earlier versions.
const CHANGED: &str = ", changed";

/// The name of a changed experiment lists at most this many filesystems; of more filesystems it states the number.
const NAMED: usize = 6;

impl Experiment {
    /// Adds to name and question the differences from `own`, the original. A selection of filesystems is no change; they are
    /// listed before the question.
    pub fn told_from(mut self, own: &Experiment) -> Self {
        let changes = self.changes(own);
        let who = self.chosen(own).filter(|_| !own.analysis.is_empty());
        let Some((last, others)) = changes.split_last() else {
            let on = who.map_or_else(String::new, |who| format!("On {who}: "));
            return Experiment { analysis: on + &own.analysis, ..self };
        };
        let listed =
            if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
        let whose = if own.name.is_empty() { "an experiment" } else { original(&own.name) };
        let said = format!("{whose} with {listed}");
        let scale = self.scale.filter(|_| others.is_empty() && self.scale != own.scale);
        self.name = match scale {
            _ if own.name.is_empty() => String::new(),
            Some(scale) => scaled(original(&own.name), scale),
            None => format!("{}{OTHER}", original(&own.name)),
        };
        // A question about other work is dropped.
        let is_asked = !own.analysis.is_empty() && !self.has_other_works(own);
        self.analysis = match who {
            _ if !is_asked => format!("{said}."),
            Some(who) => format!("{said}, on {who}. {}", own.analysis),
            None => format!("{said}. {}", own.analysis),
        };
        self
    }

    /// Whether a plan's name and question are this experiment's, original or changed.
    pub fn describes(&self, plan: &Plan) -> bool {
        let asks = plan.analysis == self.analysis
            || plan.analysis.starts_with("On ") && plan.analysis.ends_with(&self.analysis);
        let is_changed = plan.name != self.name
            && original(&plan.name) == original(&self.name)
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

    /// Whether all of its workloads are among those of the original.
    fn is_selection(&self, own: &Experiment) -> bool {
        let works = |of: &Experiment| of.planned_workloads(own.scale).ok();
        let both = works(self).zip(works(own));
        both.is_some_and(|(some, all)| !some.is_empty() && some.iter().all(|work| all.contains(work)))
    }

    /// The differences in setup and work. Every report states duration and testbed anyway.
    fn changes(&self, own: &Experiment) -> Vec<String> {
        let [before, after] = [own, self].map(Side::of);
        let (was, is) = (before.candidates.as_deref(), after.candidates.as_deref());
        // The same filesystem more than once.
        let is_crossed = is.is_some_and(|all| all.len() > filesystems(all).len());
        let has_other = |distinct: fn(&[Candidate]) -> Vec<(&str, &Variant)>| {
            was.is_some() && was.map(distinct) != is.map(distinct)
        };
        let is_only_crossed = is_crossed && !has_other(filesystems);
        let labels = self.planned_workloads(self.scale).unwrap_or_default();
        let labels: Vec<&str> = labels.iter().map(|work| work.label.as_str()).collect();
        let works = match labels.as_slice() {
            [one] if self.is_selection(own) => format!("only the workload {one}"),
            some if self.is_selection(own) => format!("only the workloads {}", some.join(", ")),
            others => format!("other workloads ({})", others.join(", ")),
        };
        let is_choice = self.chosen(own).is_some();
        let scale = self.scale.map_or("another scale".to_owned(), |scale| format!("a scale of {scale}"));
        let is_other = [
            ("other filesystems", has_other(all) && !is_only_crossed && !is_choice),
            ("filesystems in several setups", has_other(all) && is_only_crossed && !is_choice),
            (works.as_str(), self.has_other_works(own)),
            (scale.as_str(), self.scale != own.scale),
        ];
        // A consequence of the scale is not listed beside it.
        let other_scale = self.scale.filter(|_| self.scale != own.scale);
        let scaled = other_scale.and_then(|scale| own.clone().at_scale(scale).ok());
        let before = scaled.as_ref().map_or(before, Side::of);
        let changes = options::all().filter_map(|setting| setting.change);
        let changes = changes.map(|Change { what, value }| (what, value(&before) != value(&after)));
        is_other
            .into_iter()
            .chain(changes)
            .filter(|(_, is_other)| *is_other)
            .map(|(what, _)| what.to_owned())
            .collect()
    }
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

/// The name without what was added to it.
fn original(name: &str) -> &str {
    let before = [OTHER, CHANGED].iter().find_map(|added| name.strip_suffix(added));
    let is_scale = |text: &str| text.parse::<Scale>().is_ok();
    let unscaled = name.rsplit_once(AT_SCALE).filter(|(_, scale)| is_scale(scale)).map(|(before, _)| before);
    before.or(unscaled).unwrap_or(name)
}

fn scaled(name: &str, scale: Scale) -> String {
    format!("{name}{AT_SCALE}{scale}")
}

fn is_plain(candidate: &Candidate) -> bool {
    candidate.label == candidate.kind
        && candidate.variant == Variant::default()
        && candidate.own == Factors::default()
}
