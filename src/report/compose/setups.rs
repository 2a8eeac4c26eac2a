//! The common and differing factors of the candidates' setups, and the comparisons that these rule out.

use std::collections::BTreeMap;

use super::{memory, model};
use crate::report::view::number::{count, list};
use crate::report::view::setups::{InSetup, Setups};
use crate::schema::candidate::said;
use crate::schema::event::Space;
use crate::schema::machine::OnMachine;
use crate::schema::plan::{Candidate, Setup};
use crate::schema::reason::Outcome;
use crate::schema::record::Record;
use crate::schema::setup::{ClockKind, Mounted};
use crate::states;
use crate::store::Run;

/// A candidate with its setup.
struct Known<'r> {
    candidate: &'r Candidate,
    setup: Setup<'r>,
    on: OnMachine,
    whole_memory: String,
    /// The candidate's trials, of every outcome.
    records: Vec<&'r Record>,
}

/// A factor's name, and its value in words.
type Factor = (&'static str, fn(&Known<'_>) -> String);

/// A row adds a factor to every report.
const FACTORS: &[Factor] = &[
    ("testbed", |known| known.setup.testbed.to_owned()),
    ("mount", |known| known.mount()),
    ("free", |known| known.free()),
    ("kernel", |known| known.on.kernel.clone()),
    ("processor", |known| known.processor()),
    ("CPUs", |known| known.on.cpus.to_string()),
    ("memory", |known| known.setup.memory.map_or(known.whole_memory.clone(), |memory| memory.to_string())),
    ("disk", |known| known.disk()),
    ("device", |known| known.device()),
    ("layers", |known| if known.is_directory() { String::new() } else { said(known.setup.layers) }),
    ("state", |known| known.setup.state.unwrap_or(states::FRESH).to_owned()),
    ("clock", |known| known.clock().map_or("unknown", clock).to_owned()),
];

impl<'r> Known<'r> {
    fn of(run: &'r Run, candidate: &'r Candidate) -> Self {
        let records: Vec<&Record> = run.records.iter().filter(|r| r.filesystem == candidate.label).collect();
        let whole = memory::of(run, records.iter().copied(), None);
        Known {
            candidate,
            setup: run.plan.setup(candidate),
            on: on_machine(run, candidate),
            whole_memory: whole.map_or_else(|| "no limit".to_owned(), |all| format!("all of {all}")),
            records,
        }
    }

    fn processor(&self) -> String {
        model::cpu_of(&self.records).unwrap_or_else(|| self.on.cpu.clone())
    }

    fn disk(&self) -> String {
        let (named, on) = (&self.on.disk, model::title_of(&self.records));
        on.unwrap_or_else(|| format!("{} {}", named.name, named.model).trim_end().to_owned())
    }

    /// Whether it is a filesystem that was mounted already.
    fn is_directory(&self) -> bool {
        self.records.iter().any(|record| !record.fidelity.makes_filesystem())
    }

    /// The mount of a directory: `TYPE of /dev/sda1 (relatime, rw)`. Empty for a filesystem that fsderby made, whose commands
    /// are shown.
    fn mount(&self) -> String {
        let mounted = self.records.iter().find_map(|record| record.mounted.as_deref());
        let said = |m: &Mounted| format!("{} of {} ({})", m.fstype, m.source, m.options.join(", "));
        mounted.filter(|_| self.is_directory()).map_or_else(String::new, said)
    }

    /// Free space of a directory before the first trial; empty for a filesystem that fsderby made.
    fn free(&self) -> String {
        let space = self.records.iter().find_map(|record| record.space.first());
        let said = |space: &Space| format!("{} of {}", space.free, space.total);
        space.filter(|_| self.is_directory()).map_or_else(String::new, said)
    }

    /// The size given to mkfs, after layers combine several disks; empty for a directory.
    fn device(&self) -> String {
        if self.is_directory() {
            return String::new();
        }
        let made = self.records.iter().find(|r| r.outcome != Outcome::Skipped);
        made.map_or(self.setup.size, |record| record.device_bytes()).to_string()
    }

    fn clock(&self) -> Option<ClockKind> {
        self.records.first().map(|record| record.clock)
    }

    fn has_times(&self) -> Option<bool> {
        let mut carried_out = self.records.iter().filter(|r| r.outcome != Outcome::Skipped);
        carried_out.next().map(|record| record.fidelity.times_count())
    }
}

/// A candidate's setup on this machine; in a damaged run that lacks it, the host's.
pub fn on_machine(run: &Run, candidate: &Candidate) -> OnMachine {
    let (name, machine) = (run.plan.setup(candidate).name(), &run.machine);
    machine.setup(&name).cloned().unwrap_or_else(|| OnMachine {
        name,
        kernel: machine.kernel.clone(),
        kernel_build: machine.kernel_build.clone(),
        cpu: machine.cpu.clone(),
        cpus: machine.cpus,
        ..OnMachine::default()
    })
}

/// The machine of the first candidate, for the common factors.
pub fn first_on_machine(run: &Run) -> OnMachine {
    run.plan.candidates.first().map(|candidate| on_machine(run, candidate)).unwrap_or_default()
}

/// The machine in reports: the setup if all candidates share one, otherwise the host.
pub fn shown_of_machine(run: &Run, setups: &Setups) -> OnMachine {
    let host = &run.machine;
    match setups.differ() {
        false => first_on_machine(run),
        true => OnMachine {
            kernel: host.kernel.clone(),
            kernel_build: host.kernel_build.clone(),
            cpu: host.cpu.clone(),
            cpus: host.cpus,
            ..first_on_machine(run)
        },
    }
}

/// The setups of the candidates that took part.
pub fn of(run: &Run, filesystems: &[String]) -> Setups {
    let took_part = run.plan.candidates.iter().filter(|c| filesystems.contains(&c.label));
    let all: Vec<Known<'_>> = took_part.map(|candidate| Known::of(run, candidate)).collect();
    let Some(first) = all.first() else { return Setups::default() };
    let differs = |said: &fn(&Known<'_>) -> String| all.iter().any(|known| said(known) != said(first));
    let (differing, alike): (Vec<_>, Vec<_>) = FACTORS.iter().partition(|(_, said)| differs(said));
    let row = |known: &Known<'_>| InSetup {
        filesystem: known.candidate.label.clone(),
        values: differing.iter().map(|(_, said)| said(known)).collect(),
    };
    Setups {
        rows: if differing.is_empty() { Vec::new() } else { all.iter().map(row).collect() },
        factors: differing.iter().map(|(title, _)| *title).collect(),
        common: alike
            .iter()
            .map(|(title, said)| (*title, said(first)))
            .filter(|(_, said)| !said.is_empty())
            .collect(),
        apart: apart(&all),
    }
}

/// Figures in one table that must not be compared.
fn apart(all: &[Known<'_>]) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut clocks: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for (known, kind) in all.iter().filter_map(|known| Some((known, known.clock()?))) {
        clocks.entry(clock(kind)).or_default().push(known.candidate.label.clone());
    }
    if clocks.len() > 1 {
        let said: Vec<String> =
            clocks.iter().map(|(clock, labels)| format!("{clock} ({})", list(labels))).collect();
        sentences.push(format!(
            "Times come from {clocks}: {each}. Times of different clocks are listed together, but no finding compares \
             them.",
            clocks = count(clocks.len(), "clock"),
            each = said.join("; ")
        ));
    }
    let emulated: Vec<String> =
        all.iter().filter(|k| k.has_times() == Some(false)).map(|k| k.candidate.label.clone()).collect();
    if !emulated.is_empty() && all.iter().any(|known| known.has_times() == Some(true)) {
        sentences.push(format!(
            "No times are reported for {}, because they say nothing about a real machine; requests, bytes, \
             flushes and capacity can be compared with the other candidates'.",
            list(&emulated)
        ));
    }
    sentences
}

/// Types whose storage is another machine's, or behind a program that this machine cannot look into.
const REMOTE: [&str; 10] =
    ["nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "afs", "lustre", "virtiofs", "fuse.sshfs"];

/// What cannot be seen from here of mounts whose server is another machine.
pub fn beyond_reach(run: &Run) -> Option<String> {
    let is_remote = |record: &&Record| {
        record.mounted.as_ref().is_some_and(|mounted| REMOTE.contains(&mounted.fstype.as_str()))
    };
    let mut labels: Vec<String> =
        run.records.iter().filter(is_remote).map(|record| record.filesystem.clone()).collect();
    labels.sort();
    labels.dedup();
    let cold = if run.plan.cold {
        " The other machine's caches stay warm: only this machine's caches were dropped."
    } else {
        ""
    };
    (!labels.is_empty()).then(|| {
        let verb = if labels.len() == 1 { "is" } else { "are" };
        format!(
            "{candidates} {verb} served by another machine. This machine cannot see whether the other \
             machine's storage is stable when a sync returns.{cold}",
            candidates = list(&labels)
        )
    })
}

fn clock(kind: ClockKind) -> &'static str {
    match kind {
        ClockKind::Host => "the host's",
        ClockKind::Guest => "the guest's",
        ClockKind::Virtual => "virtual",
    }
}
