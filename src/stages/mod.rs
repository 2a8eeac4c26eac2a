//! What a trial does beside work: one trait, one table.
//!
//! A stage becomes steps, which the agent carries out; one that no step can say is a step of its own ([`Step::Own`]).

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
use crate::names;
use crate::schema::job::Step;
use crate::schema::power_cut::PowerCut;
use crate::schema::scenario::{OtherStage, Stage};
use crate::schema::setup::{Mount, Variant};
use crate::schema::story::Story;

pub use power_cut::short_form;

/// Every stage but work.
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
    /// How it is written in an experiment.
    fn usage(&self) -> &'static str;
    fn story(&self) -> Story;
    /// Whether it may stand between these, with this argument.
    ///
    /// # Errors
    /// Says why not.
    fn stands(&self, argument: Option<&str>, around: &Around<'_>) -> Result<(), String>;
    /// What it asks of the work right before it.
    fn ends_work(&self, _argument: Option<&str>) -> WorkEnds {
        WorkEnds::Whole
    }
    /// Whether it empties the machine's caches, which not everybody may.
    fn empties_caches(&self) -> bool {
        false
    }
    /// What the agent does. Pure.
    fn steps(&self, argument: Option<&str>, now: &Now<'_>) -> Vec<Step>;
    /// Carries [`Step::Own`] out, in the folder in which works work.
    fn carry_out(&self, _argument: Option<&str>, _place: &Path) -> Result<(), StepError> {
        Err(StepError::new("carry out", self.name(), "it is not a separate stage"))
    }
}

/// The neighbours of a stage.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    pub before: &'a [Stage],
    pub after: &'a [Stage],
}

/// How a work ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum WorkEnds {
    #[default]
    Whole,
    /// The power goes then.
    Cut(PowerCut),
    /// All its files stay.
    KeepsFiles,
}

/// Where in a trial a stage stands.
#[derive(Clone, Copy)]
pub struct Now<'a> {
    /// `None` where no filesystem is made.
    pub kind: Option<&'a dyn Filesystem>,
    pub variant: &'a Variant,
    /// The index of the work before.
    pub work: Option<usize>,
    /// Whether the power was cut since that work began.
    pub was_cut: bool,
    /// Whether it was mounted again since that work.
    pub was_mounted_again: bool,
}

impl Now<'_> {
    pub fn mount(&self) -> Option<Mount> {
        self.kind.map(|kind| kind.mount(self.variant))
    }
}

impl Around<'_> {
    /// The stages before are those of a work, with none but these behind the last.
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

/// The stage of that name.
///
/// # Errors
/// Names the nearest one.
pub fn find(name: &str) -> Result<&'static dyn StageKind, String> {
    let found = TABLE.iter().copied().find(|stage| stage.name() == name);
    found.ok_or_else(|| names::unknown("stage", name, TABLE.iter().map(|stage| stage.name())))
}
