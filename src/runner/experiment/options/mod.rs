//! The options of an experiment. A row has everything about one of them but its effect: its key and flag, what it conflicts with,
//! its way into the experiment and the plan and back, how it is printed, and how a change of it is named.
//!
//! Its values stand in [`Experiment`] and [`Plan`], so that the parser's errors name their line. Lists of candidates and of work
//! have no row: their flags replace several keys at once.

mod rounds;
mod setup;
mod trial;

pub use self::setup::give_guest;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::Experiment;
use crate::exit::Failure;
use crate::schema::plan::{Candidate, Plan};

/// Name of the option for testbed and storage.
pub const TESTBED: &str = "on";

/// One option.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Key in an experiment's file, and name of the flag's values.
    pub name: &'static str,
    /// Whether the file has this key.
    is_key: bool,
    flag: Option<fn() -> Arg>,
    /// Whether the flag can be given with `--resume`.
    resumes: bool,
    /// From the command line into the experiment. Nothing given changes nothing.
    read: fn(&Flags, &mut Experiment) -> anyhow::Result<()>,
    /// From the experiment into its plan.
    planned: fn(&Experiment, &mut Plan) -> Result<(), Failure>,
    /// From a stored plan into an experiment that gives it.
    stored: fn(&Plan, &mut Experiment),
    /// Words of the command line that give the plan's value.
    pub printed: fn(&Plan) -> Vec<String>,
    pub change: Option<Change>,
}

/// How a changed value is named in the experiment's name.
#[derive(Clone, Copy)]
pub struct Change {
    pub what: &'static str,
    /// The value to compare.
    pub value: fn(&Side<'_>) -> String,
}

impl Setting {
    /// A key without effect, for a row to build on.
    const KEY: Setting = Setting {
        name: "",
        is_key: true,
        flag: None,
        resumes: false,
        read: |_, _| Ok(()),
        planned: |_, _| Ok(()),
        stored: |_, _| {},
        printed: |_| Vec::new(),
        change: None,
    };
}

/// In the order in which they take effect and are printed.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    [setup::TABLE, trial::TABLE, rounds::TABLE].into_iter().flatten()
}

pub fn keys() -> impl Iterator<Item = &'static str> {
    all().filter(|setting| setting.is_key).map(|setting| setting.name)
}

impl Experiment {
    /// # Errors
    /// If a value is not possible.
    pub fn take(&mut self, flags: &Flags) -> anyhow::Result<()> {
        all().try_for_each(|setting| (setting.read)(flags, self))
    }

    /// # Errors
    /// If a value is not possible.
    pub(super) fn put_into(&self, plan: &mut Plan) -> Result<(), Failure> {
        all().try_for_each(|setting| (setting.planned)(self, plan))
    }

    pub(super) fn take_stored(&mut self, plan: &Plan) {
        all().for_each(|setting| (setting.stored)(plan, self));
    }
}

/// An experiment in a comparison with another one.
pub struct Side<'a> {
    pub experiment: &'a Experiment,
    /// `None` if it has none.
    pub candidates: Option<Vec<Candidate>>,
}

impl<'a> Side<'a> {
    pub fn of(experiment: &'a Experiment) -> Self {
        Side { experiment, candidates: experiment.candidates().ok().filter(|all| !all.is_empty()) }
    }

    /// The value that all candidates state, of which the first one's counts; otherwise the experiment's.
    fn common<T>(&self, own: fn(&Candidate) -> Option<T>, common: Option<T>) -> Option<T> {
        let all = self.candidates.iter().flatten();
        let stated = all.map(own).collect::<Option<Vec<T>>>();
        stated.and_then(|stated| stated.into_iter().next()).or(common)
    }
}

/// The options of a command line.
#[derive(Clone, Debug)]
pub struct Flags(ArgMatches);

impl Flags {
    /// The value of an option that takes one.
    pub fn one<T: Clone + Send + Sync + 'static>(&self, name: &str) -> Option<T> {
        self.0.get_one(name).cloned()
    }

    /// Replaces the value if the option is given.
    fn replace<T: Clone + Send + Sync + 'static>(
        &self,
        name: &str,
        value: &mut Option<T>,
    ) -> anyhow::Result<()> {
        *value = self.one(name).or_else(|| value.take());
        Ok(())
    }

    pub fn is_given(&self, name: &str) -> bool {
        self.0.contains_id(name)
    }

    fn several<T: Clone + Send + Sync + 'static>(&self, name: &str) -> Vec<T> {
        self.0.get_many(name).into_iter().flatten().cloned().collect()
    }
}

impl clap::FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Flags(matches.clone()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0 = matches.clone();
        Ok(())
    }
}

impl clap::Args for Flags {
    /// In the order of the help: how a trial is made, how many there are, and what else happens in it.
    fn augment_args(command: Command) -> Command {
        let in_order = [setup::TABLE, rounds::TABLE, trial::TABLE].into_iter().flatten();
        let flags = in_order.filter_map(|setting| {
            let flag = setting.flag?();
            Some(if setting.resumes { flag } else { flag.conflicts_with("resume") })
        });
        command.args(flags)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn set<T>(to: &mut T, value: T) -> Result<(), Failure> {
    *to = value;
    Ok(())
}

/// `--long VALUE`
fn flag(name: &'static str, long: &'static str, value: &'static str, help: impl Into<String>) -> Arg {
    Arg::new(name).long(long).value_name(value).action(ArgAction::Set).help(help.into())
}

/// `--long`
fn switch(name: &'static str, long: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(long).action(ArgAction::SetTrue).help(help)
}

/// `--long VALUE --long VALUE`
fn repeated(name: &'static str, long: &'static str, value: &'static str, help: impl Into<String>) -> Arg {
    flag(name, long, value, help).action(ArgAction::Append)
}
