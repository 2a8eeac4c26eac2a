//! Any program: a command line of the user's own, run in the filesystem under test.
//!
//! ```text
//! prepare    makes the `tree`, runs the `prepare` command and a sync; nothing is timed or counted yet
//! cold       with `cold` a remount comes here
//! command    timed from the start of the command to the end of a sync, after the command's last process has ended
//! ```
//! The programs are those installed on this machine. They get a small, fixed environment; `$INPUT` is the folder of the input
//! files.

use toml::{Table, Value};

use super::programs::printed::{self, Figure};
use super::{ParamSet, Work, Workload, with_cold_starts};
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::description::Description;
use crate::schema::event::Phase;
use crate::schema::metric::{Better, Metric, Of};
use crate::schema::scenario::{Stage, WorkStage};
use crate::schema::units::{Scale, cpu_percent};

mod parameters;
mod trial;

pub use parameters::Parameters;

pub struct Command;

static SETS: &[ParamSet] = &[
    ParamSet { name: "cp-quick", toml: include_str!("sets/cp-quick.toml") },
    ParamSet { name: "cp", toml: include_str!("sets/cp.toml") },
    ParamSet { name: "git-clone-quick", toml: include_str!("sets/git-clone-quick.toml") },
    ParamSet { name: "git-clone", toml: include_str!("sets/git-clone.toml") },
    ParamSet { name: "git-checkout-quick", toml: include_str!("sets/git-checkout-quick.toml") },
    ParamSet { name: "git-checkout", toml: include_str!("sets/git-checkout.toml") },
    ParamSet { name: "git-status-quick", toml: include_str!("sets/git-status-quick.toml") },
    ParamSet { name: "git-status", toml: include_str!("sets/git-status.toml") },
    ParamSet { name: "tar-extract-quick", toml: include_str!("sets/tar-extract-quick.toml") },
    ParamSet { name: "tar-extract", toml: include_str!("sets/tar-extract.toml") },
    ParamSet { name: "cp-reflink-quick", toml: include_str!("sets/cp-reflink-quick.toml") },
    ParamSet { name: "cp-reflink", toml: include_str!("sets/cp-reflink.toml") },
    ParamSet { name: "rsync-quick", toml: include_str!("sets/rsync-quick.toml") },
    ParamSet { name: "rsync", toml: include_str!("sets/rsync.toml") },
    ParamSet { name: "rm-quick", toml: include_str!("sets/rm-quick.toml") },
    ParamSet { name: "rm", toml: include_str!("sets/rm.toml") },
    ParamSet { name: "grep-quick", toml: include_str!("sets/grep-quick.toml") },
    ParamSet { name: "grep", toml: include_str!("sets/grep.toml") },
    ParamSet { name: "build-quick", toml: include_str!("sets/build-quick.toml") },
    ParamSet { name: "build", toml: include_str!("sets/build.toml") },
    ParamSet { name: "fs-mark-quick", toml: include_str!("sets/fs-mark-quick.toml") },
    ParamSet { name: "fs-mark", toml: include_str!("sets/fs-mark.toml") },
];

pub const NAME: &str = "command";
const VERSION: u32 = 1;
/// The phase in which the command's figures are recorded.
const PHASE: &str = "command";

/// The parts with `cold`, and the names of both.
const PREPARATION: &str = "preparation";
const REST: &str = "command";
const PARTS: [&str; 2] = [PREPARATION, REST];

static SYNCED: Declared = Declared {
    name: "command.synced.time",
    title: "command and sync",
    did: "ran the command",
    section: Section::Headline,
    over: Over::Phase(PHASE),
    explained: "Time from the start of the command until all data is on the disk. After the last process of the \
                command has ended, the filesystem is synced; the time includes this sync.",
    ..Declared::SECONDS
};
static RETURNED: Declared = Declared {
    name: "command.time",
    title: "command alone",
    short: "command",
    section: Section::Throughput,
    over: Over::Phase(PHASE),
    explained: "Time from the start of the command until the last process that it started has ended; written data may \
                still be in memory. With several clients, the metric is the mean of the clients' times.",
    key: true,
    ..Declared::SECONDS
};
static CPU: Declared = Declared {
    name: "command.cpu.share",
    title: "CPU of the command",
    section: Section::Throughput,
    over: Over::Phase(PHASE),
    explained: "User and system time of all processes of the command ÷ elapsed time without the sync, in whole percent.",
    drawn: false,
    ..Declared::PERCENT_OF_TIME
};
static WRITTEN: Declared = Declared {
    name: "command.written",
    title: "bytes written by the command",
    section: Section::Throughput,
    over: Over::Phase(PHASE),
    explained: "Bytes of the pages that the command's processes made dirty, plus the bytes that they wrote with \
                direct I/O. A page that is written twice while it is in memory counts once.",
    drawn: false,
    ..Declared::BYTES
};
static PRINTED: Declared = Declared {
    name: "command.printed.PHASE",
    title: "PHASE, printed",
    section: Section::Throughput,
    over: Over::Phase(PHASE),
    key: true,
    explained: "A number that the command prints; the key `metric` of the workload says how to find it in the \
        output. fsderby reads the number only if the workload has a single client.",
    ..Declared::base("", Of::Time, Better::Neither)
};

impl Workload for Command {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> Description {
        Description {
            what: "Runs a command line in the filesystem under test and times it until everything that it wrote is on \
                   the disk.",
            origin: "The user's own command line or one of the ready parameter sets; the programs are those of this machine.",
            limits: "fsderby does not know what the command reads and writes, so a trial's amount of work is not checked. \
                     The time includes the start of programs. fsderby syncs after the command and counts \
                     that time too, even if the command itself never syncs.",
        }
    }

    fn sets(&self) -> &'static [ParamSet] {
        SETS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        vec![&SYNCED, &RETURNED, &CPU, &WRITTEN, &PRINTED]
    }

    fn scenario(&self, work: &dyn Work, stage: &WorkStage) -> Vec<Stage> {
        match work.starts_cold() {
            true => with_cold_starts(stage, &PARTS),
            false => vec![Stage::Work(stage.clone())],
        }
    }

    fn parse(&self, parameters: &Table) -> Result<Box<dyn Work>, String> {
        Ok(Box::new(Parameters::parse(parameters)?))
    }

    /// Scales the tree.
    fn scale(&self, parameters: &Table, by: Scale) -> Result<Table, String> {
        let Some(tree) = Parameters::parse(parameters)?.tree else {
            return Err(format!(
                "--scale {by} cannot change the amount of work of a command without `tree`\n  try: without --scale, and a \
                 smaller input"
            ));
        };
        let files = by.apply(tree.files.into());
        let files = i64::try_from(files).map_err(|_| format!("tree.files: {by} is too large"))?;
        let mut scaled = parameters.clone();
        if let Some(Value::Table(tree)) = scaled.get_mut("tree") {
            tree.insert("files".into(), Value::Integer(files));
        }
        Parameters::parse(&scaled).map(|_| scaled)
    }
}

fn metrics(phases: &[Phase], figures: &[Figure]) -> Vec<Metric> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let of = |phase: &Phase| {
        let commands = phase.count("commands").max(1);
        let own = phase.count("command_ns");
        let mut all = vec![
            SYNCED.metric(seconds(phase.ns)),
            RETURNED.metric(seconds(own) / commands as f64),
            CPU.metric(cpu_percent(phase.count("user_ns"), phase.count("sys_ns"), own / commands) as f64),
            WRITTEN.metric(phase.count("bytes_written") as f64),
        ];
        if commands == 1 {
            let printed = printed::values(figures, phase).map(|(figure, value)| {
                let mut metric = PRINTED.metric_of_part(&figure.name, value);
                metric.unit.clone_from(&figure.unit);
                metric.better = figure.better;
                metric
            });
            all.extend(printed);
        }
        all
    };
    phases
        .iter()
        .filter(|phase| phase.name == PHASE && phase.counts.contains_key("commands"))
        .flat_map(of)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_judged_with_its_sync() {
        const MS: u64 = 1_000_000;
        let counts = [
            ("commands", 1),
            ("command_ns", 1500 * MS),
            ("sync_ns", 500 * MS),
            ("user_ns", 300 * MS),
            ("bytes_written", 4096),
        ];
        let phase = Phase {
            name: PHASE.into(),
            ns: 2000 * MS,
            counts: counts.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect(),
        };
        let seen = metrics(&[phase], &[]);
        let values: Vec<(&str, f64)> =
            seen.iter().map(|metric| (metric.name.as_str(), metric.value)).collect();
        let expected = [
            ("command.synced.time", 2.0),
            ("command.time", 1.5),
            ("command.cpu.share", 20.0),
            ("command.written", 4096.0),
        ];
        assert_eq!(values, expected);
    }
}
