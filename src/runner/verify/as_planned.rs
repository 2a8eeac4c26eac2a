//! Checks a record against the plan: candidate, work, setup, order, and steps.

use std::collections::{BTreeSet, HashMap};

use super::understood::Known;
use crate::runner::execute::skipped;
use crate::runner::plan::jobs;
use crate::runner::plan::resolved::Resolved;
use crate::runner::plan::scenarios::LaidWork;
use crate::schema::event::Seen;
use crate::schema::job::{Purpose, Step, StepName, WorkJob, WorkSpec};
use crate::schema::plan::Trial;
use crate::schema::reason::{Outcome, Reason};
use crate::schema::record::{Record, RecordedWork, StageRecord};
use crate::schema::setup::{ClockKind, Fidelity, Modelled, Named};
use crate::storage::disk::ModelledDisk;
use crate::storage::{Storage, device};
use crate::store::Run;

/// The plan's trials of the rounds in the records, by name.
pub struct Planned<'p>(HashMap<String, Trial<'p>>);

impl<'p> Planned<'p> {
    pub fn of(run: &'p Run) -> Self {
        let plan = &run.plan;
        let rounds: BTreeSet<u32> = run.records.iter().map(|r| r.round).filter(|round| *round > 0).collect();
        let extras: BTreeSet<Purpose> =
            run.records.iter().map(|r| r.purpose).filter(|p| p.is_extra()).collect();
        let extras = extras.into_iter().flat_map(|purpose| plan.again(purpose));
        let trials = plan.integrity_checks().chain(extras).map(|trial| (trial.name(), trial));
        let trials = trials.chain(rounds.into_iter().flat_map(|n| plan.round(n).map(|t| (t.name(), t))));
        let skips = plan.integrity_checks().map(|trial| (skipped::name(&trial), skipped::trial(trial)));
        Planned(trials.chain(skips).collect())
    }

    pub fn trial(&self, record: &Record) -> Option<Trial<'p>> {
        let is_skip = record.outcome == Outcome::Skipped;
        let trial = self.0.get(&record.trial).copied()?;
        (is_skip == (record.trial == skipped::name(&trial))).then_some(trial)
    }
}

/// The plan's values for all trials of a candidate and scenario, independent of the round.
pub struct Cell {
    /// The steps that such a trial goes through.
    pub steps: Vec<Step>,
    works: Vec<PlannedWork>,
    /// For each work stage: index of the work, and its part.
    stages: Vec<(usize, Option<String>)>,
    layers: Vec<Named>,
    setup: String,
}

#[derive(PartialEq)]
struct PlannedWork {
    name: String,
    measured: bool,
    clients: u32,
    work: WorkSpec,
}

/// Cached cells: by candidate, scenario, whether it is an integrity check, and whether a filesystem is created.
#[derive(Default)]
pub struct Cells<'p>(HashMap<(&'p str, &'p str, bool, bool), Cell>);

impl<'p> Cells<'p> {
    pub fn of(&mut self, plan: &Resolved<'_>, trial: Trial<'p>, record: &Record) -> &Cell {
        let makes_filesystem = record.fidelity.makes_filesystem();
        let (candidate, scenario) = (&trial.candidate.label, &trial.scenario.label);
        let key =
            (candidate.as_str(), scenario.as_str(), trial.purpose == Purpose::Integrity, makes_filesystem);
        self.0.entry(key).or_insert_with(|| Cell::of(plan, &trial, makes_filesystem))
    }
}

impl Cell {
    fn of(plan: &Resolved<'_>, trial: &Trial<'_>, makes_filesystem: bool) -> Self {
        let (laid, setup) = (plan.laid_of(trial), plan.of_candidate(trial.candidate));
        let work = |laid: &LaidWork<'_>| PlannedWork {
            name: laid.name.clone(),
            measured: laid.measured,
            clients: laid.clients,
            work: laid.planned.work.canonical(),
        };
        let stage = |job: WorkJob| (job.of, job.portion.part);
        Cell {
            steps: jobs::steps_of(plan, trial, makes_filesystem),
            works: laid.works.iter().map(work).collect(),
            stages: jobs::works(plan, trial).into_iter().map(stage).collect(),
            layers: setup.layers.iter().map(|layer| layer.named()).collect(),
            setup: setup.stated.name(),
        }
    }

    /// Whether the workloads of the scenario, and the stages of those begun, match.
    fn works_are(&self, record: &Record) -> bool {
        let same = |(planned, recorded): (&PlannedWork, &RecordedWork)| {
            (&planned.name, planned.measured, planned.clients, &planned.work)
                == (&recorded.name, recorded.measured, recorded.clients, &recorded.work)
        };
        let stage = |((of, part), stage): (&(usize, Option<String>), &StageRecord)| {
            (*of, part) == (stage.of, &stage.part)
        };
        self.works.len() == record.works.len()
            && self.works.iter().zip(&record.works).all(same)
            && record.stages.len() <= self.stages.len()
            && self.stages.iter().zip(&record.stages).all(stage)
    }
}

/// Names the first difference between this record and the plan.
pub fn differs(plan: &Resolved<'_>, trial: &Trial<'_>, cell: &Cell, record: &Record) -> Option<String> {
    if record.order != trial.order {
        return Some(format!(
            "the plan has this trial at position {planned}, not {order}",
            planned = trial.order,
            order = record.order
        ));
    }
    let (setup, state) = (plan.setup(trial.candidate), &plan.of_candidate(trial.candidate).state);
    let same = [
        ("purpose", record.purpose == trial.purpose),
        ("round", record.round == trial.round),
        ("filesystem", record.filesystem == trial.candidate.label),
        ("kind", record.kind == trial.candidate.kind),
        ("variant", *record.variant == trial.candidate.variant),
        ("scenario", record.scenario == trial.scenario.label),
        ("work", cell.works_are(record)),
        ("seed", record.workload_seed == plan.seed_of(trial)),
        ("testbed", record.testbed == setup.testbed),
        ("setup", record.setup == cell.setup),
        ("volume", record.volume.size == setup.size),
        ("state", record.state.as_deref() == setup.state),
        ("stack of layers", record.layers == cell.layers),
        ("memory limit", record.memory == setup.memory),
        ("number of CPUs", record.cpus == setup.cpus),
        ("description of the disk", has_known_storage(record)),
        ("sample of the disk", is_sampled_for(record, trial.purpose)),
        ("state of the disks", preconditioned(record) == state.preconditions()),
        ("overhead factor of the disk model", server_work(record) == trial.purpose.server_work()),
    ];
    let (what, _) = same.iter().find(|(_, same)| !same)?;
    Some(format!("the trial's {what} differs from the plan's"))
}

/// Whether a modelled disk, whose settings decide what the next checks compare, is described by settings that can be parsed.
fn has_known_storage(record: &Record) -> bool {
    record.storage.name != ModelledDisk.name() || record.storage.settings::<Modelled>().is_ok()
}

/// How often the server of the modelled disk repeats its work; for other disks, the number that the purpose requires.
fn server_work(record: &Record) -> u32 {
    record
        .storage
        .settings::<Modelled>()
        .map_or(record.purpose.server_work(), |modelled| modelled.server_work)
}

/// Whether an extra trial has the disk that its purpose requires: the disk of the first round, or the disk at a corner.
fn is_sampled_for(record: &Record, purpose: Purpose) -> bool {
    let Some(point) = record.sampled().map(|sampled| sampled.sample.point) else { return true };
    match purpose {
        Purpose::Measure => true,
        Purpose::Corner(corner) => point == corner,
        _ => point.is_nominal(),
    }
}

/// Whether the trial's disks were preconditioned; only modelled disks can be.
fn preconditioned(record: &Record) -> bool {
    let modelled = record.storage.settings::<Modelled>().is_ok_and(|modelled| modelled.preconditioned);
    modelled || record.storage.settings::<device::Settings>().is_ok_and(|device| device.preconditioned)
}

fn has_clients(record: &Record, stage: &StageRecord) -> bool {
    let clients = record.works.get(stage.of).map_or(1, |work| work.clients);
    clients == 1 || stage.by_client.len() == clients as usize
}

/// Finds a counted trial that did not run on the kernel of its setup.
pub fn other_kernel(run: &Run, record: &Record) -> Option<String> {
    let Some(setup) = run.machine.setup(&record.setup) else {
        return Some(format!("the trial's setup {setup} is not in machine.json", setup = record.setup));
    };
    let counts = matches!(record.outcome, Outcome::Done | Outcome::Failed) && !record.kernel.is_empty();
    (counts && record.kernel != setup.kernel).then(|| {
        format!(
            "the trial ran on kernel {kernel}, but its setup has kernel {planned}",
            kernel = record.kernel,
            planned = setup.kernel
        )
    })
}

/// Finds data beyond the reason in the record of a skipped trial.
pub fn more_than_a_skip(record: &Record) -> Option<String> {
    let is_one = matches!(record.reason, Some(Reason::Skipped { .. }))
        && record.steps.is_empty()
        && record.metrics.is_empty()
        && record.attempt == 1;
    (!is_one).then(|| "the trial was skipped, but its record contains more than the reason".into())
}

/// Whether the trial completed; only the record of a completed trial must have all data.
pub fn is_whole(record: &Record) -> bool {
    matches!(record.reason, None | Some(Reason::Validity(_) | Reason::Integrity(_)))
}

/// Names the data of these steps that the record lacks.
pub fn lacks(steps: &[Step], record: &Record) -> Option<String> {
    if !is_whole(record) {
        return None;
    }
    // The cut itself ends no step; the work before it does.
    let planned = steps.iter().map(Step::name).filter(|step| *step != StepName::PowerCut);
    if !planned.eq(record.steps.iter().map(|step| step.step)) {
        return Some("the trial's steps differ from the plan's".into());
    }
    let has = |is: fn(&Step) -> bool| steps.iter().any(is);
    let times = |is: fn(&Step) -> bool| steps.iter().filter(|step| is(step)).count();
    let told = |probe: &str| {
        let is_whole = |stage: &&StageRecord| stage.window_ns.is_some();
        record.stages.iter().filter(is_whole).all(|stage| stage.probes.contains_key(probe))
            || record.not_available.contains_key(probe)
    };
    let works = times(|step| matches!(step, Step::Work { .. }));
    let ends = times(|step| matches!(step, Step::ProbesOff { .. }));
    let is_ended = |stage: &&StageRecord| stage.window_ns.is_some() && !stage.phases.is_empty();
    let is_there = [
        (
            "the mount information",
            record.mounted.is_some() || !has(|step| matches!(step, Step::Mount { .. })),
        ),
        ("the size of the trial's layered device", record.top.is_some() != record.layers.is_empty()),
        (
            "the state of the trial's caches",
            record.seen.iter().filter(|seen| matches!(seen, Seen::Cold { .. })).count()
                == times(|step| matches!(step, Step::Settle { cold: true })),
        ),
        ("the trial's cgroup's counters", record.memory.is_none() || told("memory")),
        ("the trial's device's counters", told("block_io")),
        ("the trial's CPU counters", told("cpu")),
        (
            "the load of the trial's machine",
            record.circumstances.interference.is_some() || record.clock == ClockKind::Virtual,
        ),
        (
            "the condition of the trial's drive",
            record.circumstances.drives.is_empty() != (record.fidelity == Fidelity::Device),
        ),
        (
            "the state of the trial's drive",
            record.fidelity != Fidelity::Device
                || preconditioned(record)
                    == record.seen.iter().any(|seen| matches!(seen, Seen::Washed { .. })),
        ),
        (
            "the trial's free space",
            record
                .space
                .iter()
                .map(|space| StepName::Space(space.at))
                .eq(at(steps, |s| matches!(s, Step::Space { .. }))),
        ),
        (
            "the trial's read-back result",
            record
                .trees
                .iter()
                .map(|tree| StepName::Verify(tree.at))
                .eq(at(steps, |s| matches!(s, Step::Verify { .. }))),
        ),
        (
            "the trial's power-cut result",
            record.survivors.is_some() == has(|step| matches!(step, Step::Survivors { .. })),
        ),
        ("a stage", record.stages.len() == works),
        ("a phase of the trial's workload", record.stages.iter().filter(is_ended).count() == ends),
        ("the trial's clients' counters", record.stages.iter().all(|stage| has_clients(record, stage))),
        ("the trial's disk's counters", record.clock != ClockKind::Virtual || record.requests.is_some()),
    ];
    let (what, _) = is_there.iter().find(|(_, is_there)| !is_there)?;
    Some(format!("missing: {what}"))
}

/// The names of the steps for which `is` holds.
fn at(steps: &[Step], is: fn(&Step) -> bool) -> impl Iterator<Item = StepName> {
    steps.iter().filter(move |step| is(step)).map(Step::name)
}

/// Names a value that differs between records although it must be equal in all records, or in all records of a round.
pub fn unlike_each_other(records: &[Record]) -> Option<String> {
    // Only values of one testbed must be equal: candidates may differ in it.
    let mut first: HashMap<&str, &Record> = HashMap::new();
    for record in records {
        first.entry(&record.testbed).or_insert(record);
    }
    let makes_filesystem = |record: &Record| record.fidelity.makes_filesystem();
    let clock = |record: &&Record| {
        let first = first.get(record.testbed.as_str());
        record.clock != record.fidelity.clock()
            || first.is_some_and(|first| {
                record.clock != first.clock || makes_filesystem(record) != makes_filesystem(first)
            })
    };
    if let Some(other) = records.iter().find(clock) {
        return Some(format!("{}: the trial's clock is not the clock of its testbed", other.trial));
    }
    let carried_out = || records.iter().filter(|record| record.outcome != Outcome::Skipped);
    // Some scenarios have a second disk.
    let mut known = Known::default();
    let mut keyed: Vec<(Key<'_>, &Record)> = Vec::new();
    for record in carried_out() {
        let works = known.of(record).works.as_ref();
        let copies = works.is_ok_and(|works| works.iter().any(|work| work.needs().source));
        let disk = (copies, preconditioned(record), record.purpose);
        keyed.push(((record.round, &record.testbed, disk), record));
    }
    let of_round: HashMap<Key<'_>, &Record> = keyed.iter().copied().collect();
    let (_, other) = keyed.iter().find(|(key, record)| {
        of_round.get(key).is_some_and(|last| (&last.storage, last.volume) != (&record.storage, record.volume))
    })?;
    Some(format!(
        "{}: the trial's storage differs from the storage of the other trials of the same round and testbed",
        other.trial
    ))
}

/// Whether the instruction cost matches the purpose, relative to the first round on that testbed.
pub fn other_cost(records: &[Record]) -> Option<String> {
    let speed = |record: &Record| record.sampled().map(|sampled| sampled.mips);
    let first = records.iter().filter(|record| record.purpose == Purpose::Measure && record.round == 1);
    let usual: HashMap<&str, u32> =
        first.filter_map(|record| Some((record.testbed.as_str(), speed(record)?))).collect();
    // In a corner the CPU is at an extreme.
    let is_of_first = |r: &&Record| r.purpose.is_extra() && !matches!(r.purpose, Purpose::Corner(_));
    records.iter().filter(is_of_first).find_map(|record| {
        let (is, usual) = (speed(record)?, usual.get(record.testbed.as_str())?);
        let asked = record.purpose.cost().mips(*usual);
        let of =
            format!("{}: the trial's modelled CPU has {is} million instructions per second", record.trial);
        (is != asked).then(|| format!("{of}, but the trial's purpose needs {asked}"))
    })
}

/// Round, testbed, and for the disk: second disk, preconditioned, and the trial's purpose.
type Key<'r> = (u32, &'r String, (bool, bool, Purpose));
