//! Mount options that a run compares although its work cannot show their effect: the work ends before the option first acts, or
//! the device's counters show that it never acted. Pure.

use std::collections::BTreeSet;

use super::dataset::counted;
use crate::filesystems::{self, Filesystem};
use crate::schema::job::StepName;
use crate::schema::plan::Candidate;
use crate::schema::record::Record;
use crate::schema::setup::Variant;
use crate::schema::units::sum;
use crate::store::Run;

/// Options of one kind, and the scenarios that cannot test them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untested {
    pub kind: String,
    /// As the candidates have them: `commit=1`.
    pub options: Vec<String>,
    pub scenarios: Vec<String>,
    /// Whether no scenario of the run can test them.
    pub is_everywhere: bool,
    pub why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The option first acts after these seconds; no trial's work lasted longer than `longest_ns`.
    TooShort { seconds: u64, longest_ns: u64 },
    /// No discard reached the device.
    NoDiscards,
    /// No flush reached the device, even without the option.
    NoFlushes,
}

/// The options in which candidates of one kind differ, and in whose effect they can differ.
struct Effect<'p> {
    options: Vec<String>,
    acts: Acts,
    /// The candidates whose trials show whether the option acted.
    shown_by: Vec<&'p str>,
}

#[derive(Clone, Copy)]
enum Acts {
    After(u64),
    ByDiscards,
    ByFlushes,
}

/// All options of the run that some scenario cannot test, in the order of the plan's candidates.
pub fn of(run: &Run) -> Vec<Untested> {
    let counted = counted(run);
    let is_copy = |c: &Candidate| run.plan.guard.as_ref().is_some_and(|twice| twice.copy == c.label);
    let took_part = |c: &&Candidate| !is_copy(c) && counted.iter().any(|r| r.filesystem == c.label);
    let candidates: Vec<&Candidate> = run.plan.candidates.iter().filter(took_part).collect();
    let mut kinds: Vec<&str> = Vec::new();
    for candidate in &candidates {
        if !kinds.contains(&candidate.kind.as_str()) {
            kinds.push(&candidate.kind);
        }
    }
    let mut all = Vec::new();
    for kind in kinds.into_iter().filter_map(filesystems::find) {
        let own: Vec<&Candidate> = candidates.iter().copied().filter(|c| c.kind == kind.name()).collect();
        for effect in effects(kind, &own) {
            let of_one = |scenario: &str| {
                let shows =
                    |r: &&&Record| r.scenario == scenario && effect.shown_by.contains(&r.filesystem.as_str());
                let trials: Vec<&Record> = counted.iter().filter(shows).copied().collect();
                (!trials.is_empty()).then(|| why(effect.acts, &trials))
            };
            let scenarios = run.plan.scenarios.iter().map(|scenario| scenario.label.as_str());
            let judged: Vec<(&str, Option<Why>)> =
                scenarios.filter_map(|label| Some((label, of_one(label)?))).collect();
            let found = || judged.iter().filter_map(|(label, why)| Some((*label, (*why)?)));
            let Some(why) = found().map(|(_, why)| why).reduce(longer) else { continue };
            all.push(Untested {
                kind: kind.name().to_owned(),
                options: effect.options,
                scenarios: found().map(|(label, _)| label.to_owned()).collect(),
                is_everywhere: found().count() == judged.len(),
                why,
            });
        }
    }
    all
}

/// The reason with the longer work.
fn longer(one: Why, other: Why) -> Why {
    match (one, other) {
        (Why::TooShort { longest_ns: a, .. }, Why::TooShort { longest_ns: b, .. }) if b > a => other,
        _ => one,
    }
}

/// The effects that only some of these candidates of one kind have.
fn effects<'p>(kind: &dyn Filesystem, own: &[&'p Candidate]) -> Vec<Effect<'p>> {
    let all = || own.iter().map(|c| c.label.as_str()).collect();
    let mut effects = Vec::new();
    let seconds: BTreeSet<u64> = own.iter().map(|c| filesystems::commit_seconds(kind, &c.variant)).collect();
    if let (Some(least), 2..) = (seconds.first(), seconds.len()) {
        effects.push(Effect { options: given(own, "commit"), acts: Acts::After(*least), shown_by: all() });
    }
    let keys: BTreeSet<&str> = own.iter().flat_map(|c| options(&c.variant)).map(filesystems::key).collect();
    for key in keys {
        let values: BTreeSet<Option<&str>> = own.iter().map(|c| value(&c.variant, key)).collect();
        if let (Some(after), 2..) = (kind.acts_after(key), values.len()) {
            effects.push(Effect {
                options: given(own, key),
                acts: Acts::After(after.value),
                shown_by: all(),
            });
        }
    }
    let discards = |c: &Candidate| filesystems::discards(kind.mount(&c.variant).options());
    let flushes = |c: &Candidate| !filesystems::give_up_flushes(kind.mount(&c.variant).options());
    let some = |has: &dyn Fn(&Candidate) -> bool| -> Option<Vec<&'p str>> {
        let having: Vec<&str> = own.iter().filter(|c| has(c)).map(|c| c.label.as_str()).collect();
        (!having.is_empty() && having.len() < own.len()).then_some(having)
    };
    let device = [
        (some(&discards), Acts::ByDiscards, &["discard"][..]),
        (some(&flushes), Acts::ByFlushes, &["barrier", "fsync_mode"]),
    ];
    for (shown_by, acts, keys) in device {
        let options = keys.iter().flat_map(|key| given(own, key)).collect();
        effects.extend(shown_by.map(|shown_by| Effect { options, acts, shown_by }));
    }
    effects
}

fn options(variant: &Variant) -> impl DoubleEndedIterator<Item = &str> {
    variant.mount.iter().flat_map(|option| option.split(','))
}

/// The last option with this key.
fn value<'v>(variant: &'v Variant, key: &str) -> Option<&'v str> {
    options(variant).rfind(|option| filesystems::key(option) == key)
}

/// The options with this key that the candidates have, each once.
fn given(own: &[&Candidate], key: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for option in own.iter().filter_map(|c| value(&c.variant, key)) {
        if !all.iter().any(|known| known == option) {
            all.push(option.to_owned());
        }
    }
    all
}

/// Why these trials of one scenario do not show the effect; `None` if they may show it.
fn why(acts: Acts, trials: &[&Record]) -> Option<Why> {
    match acts {
        Acts::After(seconds) => {
            let longest_ns = trials.iter().map(|record| work_ns(record)).max()?;
            let ends_before = trials.iter().all(|record| work_ns(record) > 0)
                && longest_ns < seconds.saturating_mul(1_000_000_000);
            ends_before.then_some(Why::TooShort { seconds, longest_ns })
        }
        Acts::ByDiscards => is_zero(trials, "discards").then_some(Why::NoDiscards),
        Acts::ByFlushes => is_zero(trials, "flushes").then_some(Why::NoFlushes),
    }
}

/// The time of all works of a trial, measured or not: journals and logs know no difference.
fn work_ns(record: &Record) -> u64 {
    sum(record.steps.iter().filter(|step| step.step == StepName::Work).map(|step| step.ns))
}

/// Whether the device counted none of these in any of the trials; false if it did not count.
fn is_zero(trials: &[&Record], counter: &str) -> bool {
    let mut stages = trials.iter().flat_map(|record| &record.stages).peekable();
    stages.peek().is_some() && stages.all(|stage| stage.probe("block_io", counter) == Some(0))
}
