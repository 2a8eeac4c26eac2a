//! The stages of a trial other than workloads: one trait, one table.
//!
//! The agent executes a stage as steps. A stage that no existing step describes uses its own step ([`Step::Own`]).

mod check;
mod drop_caches;
mod power_cut;
mod read_back;
mod recover;
mod remount;
mod sync_all;

use std::path::Path;

use crate::filesystems::Filesystem;
use crate::host::StepError;
use crate::schema::description::Description;
use crate::schema::job::Step;
use crate::schema::power_cut::PowerCut;
use crate::schema::scenario::{OtherStage, Stage};
use crate::schema::setup::{Mount, Variant};
use crate::text::names;

pub use power_cut::short_form;

/// Every stage except workloads.
pub static TABLE: &[&dyn StageKind] = &[
    // One row a line.
    &remount::Remount,
    &sync_all::SyncAll,
    &drop_caches::DropCaches,
    &check::ForcedCheck,
    &power_cut::Cut,
    &recover::Recover,
    &read_back::ReadBack,
];

pub trait StageKind: Sync {
    fn name(&self) -> &'static str;
    /// Syntax in an experiment.
    fn usage(&self) -> &'static str;
    fn description(&self) -> Description;
    /// Whether the stage is allowed at this position, with this argument.
    ///
    /// # Errors
    /// Says why it is not allowed.
    fn stands(&self, argument: Option<&str>, around: &Around<'_>) -> Result<(), String>;
    /// How the preceding workload must end.
    fn ends_work(&self, _argument: Option<&str>) -> WorkEnds {
        WorkEnds::Whole
    }
    /// Whether the stage drops the machine's caches, which needs root.
    fn empties_caches(&self) -> bool {
        false
    }
    /// The steps that the agent executes. Pure.
    fn steps(&self, argument: Option<&str>, now: &Now<'_>) -> Vec<Step>;
    /// Executes [`Step::Own`] in the directory of the workloads.
    fn carry_out(&self, _argument: Option<&str>, _place: &Path) -> Result<(), StepError> {
        Err(StepError::new("carry out", self.name(), "this stage has no separate step in the agent"))
    }
}

/// The stages before and after a stage.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    pub before: &'a [Stage],
    pub after: &'a [Stage],
}

/// How a workload ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum WorkEnds {
    #[default]
    Whole,
    /// The workload ends by a power cut.
    Cut(PowerCut),
    /// The workload ends with all its files kept.
    KeepsFiles,
}

/// The state of the trial when a stage begins.
#[derive(Clone, Copy)]
pub struct Now<'a> {
    /// `None` on a testbed without mkfs.
    pub kind: Option<&'a dyn Filesystem>,
    pub variant: &'a Variant,
    /// Index of the preceding workload.
    pub work: Option<usize>,
    /// Whether the power was cut since that workload began.
    pub was_cut: bool,
    /// Whether the filesystem was mounted again since that workload.
    pub was_mounted_again: bool,
}

impl Now<'_> {
    pub fn mount(&self) -> Option<Mount> {
        self.kind.map(|kind| kind.mount(self.variant))
    }
}

impl Around<'_> {
    /// Whether a workload comes before this stage, with only stages of these names in between.
    fn follows_work(&self, with: &[&str]) -> bool {
        let behind = self.before.iter().rev().take_while(|stage| !matches!(stage, Stage::Work(_)));
        let has_work = self.before.iter().any(|stage| matches!(stage, Stage::Work(_)));
        has_work && behind.into_iter().all(|stage| is_one(stage, with))
    }

    fn comes_right_after(&self, name: &str) -> bool {
        self.before.last().is_some_and(|stage| is_one(stage, &[name]))
    }
}

fn is_one(stage: &Stage, of: &[&str]) -> bool {
    matches!(stage, Stage::Other(OtherStage { name, .. }) if of.contains(&name.as_str()))
}

fn without_argument(name: &str, argument: Option<&str>) -> Result<(), String> {
    argument.map_or(Ok(()), |argument| {
        Err(format!("{name} takes no argument, not '{argument}'; write \"{name}\""))
    })
}

/// The stage with this name.
///
/// # Errors
/// Suggests the nearest name.
pub fn find(name: &str) -> Result<&'static dyn StageKind, String> {
    let found = TABLE.iter().copied().find(|stage| stage.name() == name);
    found.ok_or_else(|| names::unknown("stage", name, TABLE.iter().map(|stage| stage.name())))
}
