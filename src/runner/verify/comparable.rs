//! Whether two runs did the same work in the same setup, and how they differ. Pure.

use std::collections::BTreeSet;

use crate::exit::Failure;
use crate::runner::plan::values;
use crate::schema::change::{Difference, Point, Reach};
use crate::schema::machine::{Machine, OnMachine};
use crate::schema::plan::{Candidate, Plan, PlannedWork, Setup};
use crate::schema::record::Record;
use crate::schema::scenario::Scenario;
use crate::schema::units::Bytes;
use crate::store::Run;
use crate::testbeds::Place;

/// The common candidates of two runs, and their differences.
#[derive(Debug)]
pub struct Compared {
    /// Labels of both runs, in the order of the second plan; without the A/A copy.
    pub candidates: Vec<String>,
    pub differences: Vec<Difference>,
}

/// # Errors
/// Names the first difference that makes the figures incomparable.
pub fn compared(before: &Run, after: &Run) -> Result<Compared, Failure> {
    let two = Two { before, after };
    let candidates = two.candidates()?;
    let scenarios = two.scenarios()?;
    let places = candidates.iter().map(|label| two.places(label)).collect::<Result<Vec<_>, _>>()?;
    for (label, places) in candidates.iter().zip(&places) {
        two.same_setup(label, places)?;
    }
    for label in &scenarios {
        two.same_work(label)?;
    }
    two.same_meaning()?;
    let mut differences = two.of_machines(&candidates);
    for (label, places) in candidates.iter().zip(&places) {
        differences.extend(two.of_candidate(label, places));
    }
    differences.extend(two.by_chance(&candidates));
    Ok(Compared { candidates, differences })
}

struct Two<'r> {
    before: &'r Run,
    after: &'r Run,
}

/// Refuses two runs that differ in this property.
fn same(what: &str, before: &str, after: &str, try_this: &str) -> Result<(), Failure> {
    if before == after {
        return Ok(());
    }
    let text = format!(
        "the two runs cannot be compared: {what} is {} in the first and {} in the second\n  try: {try_this}",
        or_nothing(before),
        or_nothing(after)
    );
    Err(Failure::usage(text))
}

fn or_nothing(text: &str) -> &str {
    if text.is_empty() { "absent" } else { text }
}

impl Two<'_> {
    fn both<'p, T>(&'p self, of: impl Fn(&'p Run) -> T) -> [T; 2] {
        [of(self.before), of(self.after)]
    }

    fn candidates(&self) -> Result<Vec<String>, Failure> {
        let [before, after] = self.both(|run| labels(&run.plan));
        let common: Vec<String> = after.iter().filter(|label| before.contains(label)).cloned().collect();
        if common.is_empty() {
            let text = format!(
                "the two runs have no candidate in common: the first has {}; the second has {}\n  try: the same label in both, --filesystem 'KIND label=NAME …'",
                before.join(", "),
                after.join(", ")
            );
            return Err(Failure::usage(text));
        }
        Ok(common)
    }

    fn scenarios(&self) -> Result<Vec<String>, Failure> {
        let [before, after] =
            self.both(|run| run.plan.scenarios.iter().map(|s| s.label.clone()).collect::<Vec<String>>());
        let common: Vec<String> = after.iter().filter(|label| before.contains(label)).cloned().collect();
        if common.is_empty() {
            let text = format!(
                "the two runs have no workload in common: the first has {}; the second has {}\n  try: the same --workloads in both",
                before.join(", "),
                after.join(", ")
            );
            return Err(Failure::usage(text));
        }
        Ok(common)
    }

    /// The place of this candidate's trials in the first and in the second run.
    fn places(&self, label: &str) -> Result<[Place<'_>; 2], Failure> {
        let [before, after] =
            self.both(|run| run.plan.setup(candidate(&run.plan, label)).testbed).map(values::place);
        Ok([before.map_err(Failure::usage)?, after.map_err(Failure::usage)?])
    }

    fn same_setup(&self, label: &str, places: &[Place<'_>; 2]) -> Result<(), Failure> {
        let [before, after] = self.both(|run| candidate(&run.plan, label));
        let of = |what: &str| format!("{what} of {label}");
        same(&of("the kind"), &before.kind, &after.kind, "different labels for different kinds")?;
        same(
            &of("conversion"),
            &before.variant.conversion.to_string(),
            &after.variant.conversion.to_string(),
            "the same conversion in both",
        )?;
        let [before, after] = [self.before.plan.setup(before), self.after.plan.setup(after)];
        let again = "repeat the first run with the second run's setup";
        let [was_alike, is_alike] = places.map(|place| place.alike());
        same(&of("the testbed"), &was_alike, &is_alike, again)?;
        for (what, said) in FACTORS {
            same(&of(what), &said(&before), &said(&after), again)?;
        }
        let cold = |run: &Run| if run.plan.cold { "asked for" } else { "not asked for" }.to_owned();
        let [before, after] = self.both(cold);
        same("the state of the caches", &before, &after, again)
    }

    fn same_work(&self, label: &str) -> Result<(), Failure> {
        let find = |run: &'_ Run| run.plan.scenarios.iter().find(|s| s.label == label).cloned();
        let ([Some(before), Some(after)], again) =
            (self.both(find), "repeat the first run with this workload")
        else {
            return Ok(());
        };
        let stages =
            |s: &Scenario| s.stages.iter().map(ToString::to_string).collect::<Vec<_>>().join(", then ");
        same(&format!("the scenario {label}"), &stages(&before), &stages(&after), again)?;
        for (ours, theirs) in before.works().zip(after.works()) {
            let of = |what: &str| format!("{what} of {}", ours.work);
            let measured = |measured: bool| if measured { "measured" } else { "not measured" };
            same(&of("the work"), measured(ours.measured), measured(theirs.measured), again)?;
            let work = |run: &'_ Run| run.plan.workload(&ours.work).cloned();
            let [Some(first), Some(second)] = self.both(work) else { continue };
            let clients = [
                self.before.plan.clients_of(&first, ours).to_string(),
                self.after.plan.clients_of(&second, theirs).to_string(),
            ];
            same(&of("the number of clients"), &clients[0], &clients[1], again)?;
            same_parameters(&first, &second)?;
        }
        Ok(())
    }

    /// The meaning of figures: clock, fidelity, formulas.
    fn same_meaning(&self) -> Result<(), Failure> {
        let [before, after] = self.both(|run| run.records.iter().map(meaning).collect::<BTreeSet<_>>());
        let only = |one: &BTreeSet<[String; 3]>, other: &BTreeSet<[String; 3]>| {
            one.difference(other).next().or(one.first()).cloned().unwrap_or_default()
        };
        let (before, after) = (only(&before, &after), only(&after, &before));
        same("the clock", &before[0], &after[0], "run both on the same testbed")?;
        same("the validity of times", &before[1], &after[1], "run both on the same testbed and machine")?;
        let again = "make both runs with the same fsderby";
        same("the version of the metrics", &before[2], &after[2], again)
    }

    /// Differences that affect all candidates.
    fn of_machines(&self, candidates: &[String]) -> Vec<Difference> {
        let [before, after] = self.both(|run| &run.machine);
        // A host kernel that no candidate uses does not matter: its guests have their own.
        let serves = candidates
            .iter()
            .all(|label| self.both(|run| kernel(run, label)) == self.both(|run| run.machine.kernel.clone()));
        let of = |what: &str, said: fn(&Machine) -> String| {
            difference(what, said(before), said(after), Reach::All)
        };
        [
            of("the host's CPU", |m| format!("{} × {}", m.cpus, m.cpu)),
            of("the host's memory", |m| m.memory.to_string()),
            of("the host's hypervisor", |m| m.hypervisor.clone()),
            of("the host's kernel", |m| format!("{} {}", m.kernel, m.kernel_build).trim().to_owned())
                .map(|found| Difference { point: serves.then_some(Point::Kernel), ..found }),
            of("fsderby", |m| {
                m.fsderby.version.clone() + " " + m.fsderby.blake3.get(..12).unwrap_or_default()
            }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn of_candidate(&self, label: &str, places: &[Place<'_>; 2]) -> Vec<Difference> {
        let [before, after] = self.both(|run| candidate(&run.plan, label));
        let reach = || Reach::Candidate(label.to_owned());
        let of = |what: &str, said: [String; 2]| {
            let [before, after] = said;
            difference(&format!("{what} of {label}"), before, after, reach())
        };
        let options = |c: &Candidate| (c.variant.mkfs.join(" "), c.variant.mount.join(","));
        let [(mkfs, mount), (mkfs_after, mount_after)] = [options(before), options(after)];
        let kernel = self.both(|run| kernel(run, label));
        let of_host = self.both(|run| run.machine.kernel.clone());
        // A difference explained by the host's kernel is stated once.
        let is_of_host = kernel == of_host;
        let place = places.map(|place| place.on_host());
        let on = self.both(|run| on_machine(run, label).map(|on| disk(&on)).unwrap_or_default());
        let kind = before.kind.clone();
        let tools = self.both(|run| tools(&run.machine, &kind));
        let mut all = vec![
            of("the options of mkfs", [mkfs, mkfs_after]),
            of("the mount options", [mount, mount_after]),
        ];
        let of_kernel = of("the kernel", kernel).filter(|_| !is_of_host);
        all.push(of_kernel.map(|found| Difference { point: Some(Point::Kernel), ..found }));
        all.extend([
            of("the folder of the images", place),
            of("the disk that holds the images", on),
            of("the tools", tools),
        ]);
        all.into_iter().flatten().collect()
    }

    /// Differences that affect no figures, or that affect the figures of all candidates alike.
    fn by_chance(&self, common: &[String]) -> Vec<Difference> {
        let of = |what: &str, said: [String; 2]| {
            let [before, after] = said;
            difference(what, before, after, Reach::Chance)
        };
        let others = |run: &Run| {
            let others = labels(&run.plan).into_iter().filter(|label| !common.contains(label));
            others.collect::<Vec<_>>().join(", ")
        };
        let seeds = |run: &Run| format!("{} and {}", run.plan.plan_seed, run.plan.workload_seed);
        [
            of("the seeds of order and workload", self.both(seeds)),
            of("the other candidates", self.both(others)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn difference(what: &str, before: String, after: String, reach: Reach) -> Option<Difference> {
    (before != after).then(|| Difference { what: what.to_owned(), before, after, reach, point: None })
}

/// Formats a value of a setup.
type Said = fn(&Setup<'_>) -> String;

/// Setup values that must be equal, with their format.
const FACTORS: [(&str, Said); 6] = [
    ("the volume's size", |setup| setup.size.to_string()),
    ("the memory", |setup| {
        setup.memory.map_or_else(|| "not limited".into(), |memory: Bytes| memory.to_string())
    }),
    ("the number of CPUs", |setup| setup.cpus.map(|cpus| cpus.to_string()).unwrap_or_default()),
    ("the image", |setup| setup.image.name().to_owned()),
    ("the layers", |setup| crate::schema::candidate::said(setup.layers)),
    ("the state", |setup| setup.state.unwrap_or("fresh").to_owned()),
];

/// Names each differing key.
fn same_parameters(before: &PlannedWork, after: &PlannedWork) -> Result<(), Failure> {
    let again = "repeat the first run with these parameters (--scale changes them too)";
    same(&format!("the engine of {}", before.label), &before.work.engine, &after.work.engine, again)?;
    let (ours, theirs) = (&before.work.parameters, &after.work.parameters);
    for key in ours.keys().chain(theirs.keys()) {
        let said = |table: &toml::Table| table.get(key).map(ToString::to_string).unwrap_or_default();
        same(&format!("{key} of {}", before.label), &said(ours), &said(theirs), again)?;
    }
    Ok(())
}

fn meaning(record: &Record) -> [String; 3] {
    let named = |text: String| text.to_lowercase();
    [
        named(format!("{:?}", record.clock)),
        named(format!("{:?}", record.fidelity)),
        record.metrics_version.to_string(),
    ]
}

fn labels(plan: &Plan) -> Vec<String> {
    let is_copy = |c: &&Candidate| plan.guard.as_ref().is_some_and(|twice| twice.copy == c.label);
    plan.candidates.iter().filter(|c| !is_copy(c)).map(|c| c.label.clone()).collect()
}

/// The candidate with this label. Panics if the plan has none: both plans were searched for the label before.
fn candidate<'p>(plan: &'p Plan, label: &str) -> &'p Candidate {
    let found = plan.candidates.iter().find(|candidate| candidate.label == label);
    found.unwrap_or_else(|| panic!("{label} is in both plans"))
}

fn on_machine(run: &Run, label: &str) -> Option<OnMachine> {
    let setup = run.plan.setup(candidate(&run.plan, label)).name();
    run.machine.setup(&setup).cloned()
}

/// The kernel on which this candidate ran, as reported by uname.
pub fn kernel(run: &Run, label: &str) -> String {
    let seen = run.records.iter().find(|r| r.filesystem == label && !r.kernel.is_empty());
    let seen = seen.map(|record| record.kernel.clone());
    seen.or_else(|| on_machine(run, label).map(|on| on.kernel)).unwrap_or_default()
}

fn disk(on: &OnMachine) -> String {
    let OnMachine { disk, .. } = on;
    let words = [&disk.name, &disk.model, &disk.fstype, &disk.scheduler];
    let words: Vec<&str> = words.into_iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    words.join(", ")
}

fn tools(machine: &Machine, kind: &str) -> String {
    let own = machine.tools.iter().filter(|tool| tool.kind == kind);
    let said = |tool: &crate::schema::machine::Tool| {
        format!("{} {} {}", tool.program, tool.version, tool.blake3.get(..12).unwrap_or_default())
    };
    own.map(said).collect::<Vec<_>>().join("; ")
}
