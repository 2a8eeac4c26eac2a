//! The initial state of a filesystem before a scenario begins: one trait, one table.
//!
//! To reach a state, workloads run before the scenario's own workloads. Workloads of a state are not measured, and are the same
//! for all candidates in that state. The record shows the state reached: the counts of these stages, and the free space after
//! them. A state of the drive needs no workload: the testbed's drive begins in it, or the testbed refuses it.

mod aged;
mod allocated;
mod filled;
mod fresh;
mod preconditioned;

use toml::{Table, Value};

use crate::schema::description::Description;
use crate::schema::job::WorkSpec;
use crate::schema::plan::PlannedWork;
use crate::schema::units::{Bytes, Percent, Scale};
use crate::text::names;
use crate::workloads;

/// Every state.
pub static TABLE: &[&dyn StateKind] = &[
    // One row a line.
    &fresh::Fresh,
    &filled::Filled,
    &allocated::Allocated,
    &aged::Aged,
    &preconditioned::Preconditioned,
];

/// The state that needs no preparation.
pub const FRESH: &str = fresh::NAME;

pub trait StateKind: Sync {
    fn name(&self) -> &'static str;
    /// Syntax in an experiment.
    fn usage(&self) -> &'static str;
    fn description(&self) -> Description;
    /// The workloads that produce the state, in order; `argument` is the text after the state's name.
    ///
    /// # Errors
    /// Says what to write instead.
    fn works(&self, argument: &str) -> Result<Vec<PlannedWork>, String>;
    /// Minimum share of the space available to an ordinary user that this state leaves to the scenario.
    fn leaves(&self, _argument: &str) -> f64 {
        1.0
    }
    /// Whether the state's files have content, which a modelled disk keeps in memory.
    fn has_content(&self) -> bool {
        true
    }
    /// The argument of the same state for an experiment with a scaled workload; changed only if it states an amount of work.
    ///
    /// # Errors
    /// If the scaled amount is too large.
    fn scaled(&self, argument: &str, _by: Scale) -> Result<String, String> {
        Ok(argument.to_owned())
    }
    /// Whether the state writes more on a larger volume, or depends on the volume's size. A scaled experiment then scales its
    /// volume too, so that the same share stays used.
    fn follows_volume(&self) -> bool {
        false
    }
    /// Whether this is a state of the drive and not of the filesystem.
    fn is_of_the_drive(&self) -> bool {
        false
    }
}

/// A parsed state, such as `filled 80%`.
#[derive(Clone)]
pub struct State {
    kind: &'static dyn StateKind,
    argument: String,
    works: Vec<PlannedWork>,
}

/// Parses a state, such as `filled 80%`.
///
/// # Errors
/// If there is no such state, or its argument is incomplete.
pub fn parse(text: &str) -> Result<State, String> {
    let (name, argument) = text.split_once(' ').unwrap_or((text, ""));
    let found = TABLE.iter().copied().find(|kind| kind.name() == name);
    let kind = found.ok_or_else(|| names::unknown("state", name, TABLE.iter().map(|kind| kind.name())))?;
    let argument = argument.trim().to_owned();
    Ok(State { kind, works: kind.works(&argument)?, argument })
}

impl State {
    /// The workloads that produce the state, in order.
    pub fn works(&self) -> &[PlannedWork] {
        &self.works
    }

    /// Share of the space available to an ordinary user that the state leaves.
    pub fn leaves(&self) -> f64 {
        self.kind.leaves(&self.argument)
    }

    /// Whether the state's files have content.
    pub fn has_content(&self) -> bool {
        self.kind.has_content()
    }

    /// Bytes of content that the state's files have on a volume of this size.
    pub fn content(&self, size: Bytes) -> Bytes {
        let taken = if self.has_content() { 1.0 - self.leaves() } else { 0.0 };
        Bytes((size.0 as f64 * taken) as u64)
    }

    /// The text of the same state for an experiment with a scaled workload.
    ///
    /// # Errors
    /// If the scaled amount is too large.
    pub fn scaled(&self, by: Scale) -> Result<String, String> {
        let (name, argument) = (self.kind.name(), self.kind.scaled(&self.argument, by)?);
        Ok(if argument.is_empty() { name.to_owned() } else { format!("{name} {argument}") })
    }

    /// Whether a scaled experiment must scale its volume for this state.
    pub fn follows_volume(&self) -> bool {
        self.kind.follows_volume()
    }

    /// Whether the drive must be filled and overwritten before the trial.
    pub fn preconditions(&self) -> bool {
        self.kind.is_of_the_drive()
    }
}

/// The work of a state that fills a filesystem up to this share, by the workload `fill` with these parameters.
fn filling(state: &str, share: &str, mut parameters: Table) -> Result<Vec<PlannedWork>, String> {
    const ENGINE: &str = "fill";
    if share.is_empty() {
        return Err(format!("the share is missing; write {state} 80%"));
    }
    let engine = workloads::engine(ENGINE).ok_or_else(|| format!("unknown workload {ENGINE}"))?;
    parameters.insert("to".into(), Value::String(share.to_owned()));
    engine.parse(&parameters)?;
    let work = WorkSpec { engine: engine.name().to_owned(), parameters };
    Ok(vec![PlannedWork { label: format!("{state} {share}"), clients: None, work }])
}

/// Share of the space that a state leaves free; 0 if the text is not a share.
fn left_by(share: &str) -> f64 {
    share.parse().map_or(0.0, |Percent(share)| 1.0 - share / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_work_that_is_done_before() {
        let works = |state: &str| parse(state).unwrap().works;
        let leaves = |state: &str| parse(state).unwrap().leaves();
        let done = |state: &str| -> Vec<String> {
            works(state).into_iter().map(|work| format!("{}: {}", work.label, work.work.engine)).collect()
        };
        assert_eq!(done("fresh"), Vec::<String>::new());
        assert_eq!(done("filled 90%"), ["filled 90%: fill"]);
        assert_eq!(done("aged by postmark-quick"), ["aged by postmark-quick: postmark"]);
        assert_eq!(works("filled 90%")[0].work.parameters["to"].as_str(), Some("90%"));
        assert!((leaves("filled 90%") - 0.1).abs() < 1e-9 && leaves("fresh") == 1.0);
        assert_eq!(done("allocated 80%"), ["allocated 80%: fill"]);
        assert_eq!(works("allocated 80%")[0].work.parameters["allocate"].as_bool(), Some(true));
        assert!((leaves("allocated 80%") - 0.2).abs() < 1e-9);
        let content = |state: &str| parse(state).unwrap().content(Bytes(1000)).0;
        assert_eq!(["fresh", "filled 80%", "filled 100%", "allocated 80%"].map(content), [0, 800, 1000, 0]);
        let preconditions = |state: &str| parse(state).unwrap().preconditions();
        assert_eq!(done("preconditioned"), Vec::<String>::new());
        assert!(preconditions("preconditioned") && !preconditions("fresh") && !preconditions("filled 90%"));
    }

    #[test]
    fn a_scale_keeps_a_share_and_makes_age_smaller() {
        let by: Scale = "1/8".parse().unwrap();
        let at = |state: &str| parse(state).unwrap().scaled(by).unwrap();
        for same in ["fresh", "filled 40%", "allocated 80%", "preconditioned"] {
            assert_eq!(at(same), same);
        }
        let aged = at("aged by postmark-quick");
        assert_eq!(aged, "aged by postmark-quick at 1/8");
        assert_eq!(at(&aged), "aged by postmark-quick at 1/64");
        let number =
            |state: &str| parse(state).unwrap().works[0].work.parameters["number"].as_integer().unwrap();
        assert_eq!((number("aged by postmark-quick"), number(&aged)), (800, 100));
        assert!(parse("aged by postmark-quick").unwrap().scaled(Scale { of: u64::MAX, by: 1 }).is_err());
        let follows = ["fresh", "filled 40%", "aged by postmark-quick", "allocated 80%", "preconditioned"];
        let follows_volume = |state: &str| parse(state).unwrap().follows_volume();
        assert_eq!(follows.map(follows_volume), [false, true, true, false, false]);
    }

    #[test]
    fn what_is_no_state_is_told_with_what_is_one() {
        for (state, said) in [
            ("filed 80%", "did you mean 'filled'?"),
            ("filled", "write filled 80%"),
            ("filled 120%", "80%"),
            ("filled much", "80%"),
            ("allocated", "write allocated 80%"),
            ("allocated 120%", "80%"),
            ("fresh 3", "fresh takes no argument"),
            ("preconditioned 90%", "preconditioned takes no argument"),
            ("aged", "write aged by postmark-quick"),
            ("aged by postmork", "unknown workload 'postmork'"),
            ("aged by postmark-quick at half", "'half' is not a scale"),
        ] {
            let error = parse(state).err().unwrap_or_else(|| panic!("{state} is taken"));
            assert!(error.contains(said), "{state}: {error}");
        }
    }
}
