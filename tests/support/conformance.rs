//! One body for every testbed, storage, layer, filesystem and engine's own scenario that this machine serves: proved, measured,
//! every condition held, and nothing left behind.
//!
//! The gate meets each of them once (`tests/host/conformance.rs`, `tests/guests/conformance.rs`); `make nightly` has all pairs.

use std::path::Path;

use fsderby::filesystems::{self, Filesystem};
use fsderby::host::programs;
use fsderby::runner::experiment::Experiment;
use fsderby::runner::plan::jobs;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::runner::verify::verify;
use fsderby::schema::event::Phase;
use fsderby::schema::plan::{Plan, Rounds};
use fsderby::schema::reason::{Held, Outcome};
use fsderby::schema::record::Record;
use fsderby::schema::setup::ClockKind;
use fsderby::storage::layers;
use fsderby::store::{self, Run};
use fsderby::testbeds::{self, Made, TABLE, TestbedKind, TestbedTraits};
use fsderby::workloads::{self, Needs};

use super::desk::Desk;
use super::modelled::carried_out;
use super::quiet::has_guests;
use super::{has_loop, is_disturbed, skipped};

/// Enters beside every kind with its defaults.
const VARIANTS: [&str; 2] = [
    "ext3-ordered label=\"ext3, converted\" conversion",
    "ext4 label=\"ext4, no atime\" mount=noatime,commit=30 mkfs=\"-m 0\"",
];

/// What is tried in guests between the disks and the filesystem, each on so many disks.
const LAYERS: [(&str, usize); 6] =
    [("", 1), ("md:raid0", 2), ("crypt", 1), ("md:raid5", 3), ("md:raid1", 2), ("md:raid10", 4)];

/// These, and each kind that is not among them as it comes.
fn all_layers() -> impl Iterator<Item = (&'static str, usize)> {
    let is_listed = |name: &str| LAYERS.iter().any(|(layer, _)| layer.split(':').next() == Some(name));
    let others = layers::TABLE.iter().map(|kind| kind.name()).filter(move |name| !is_listed(name));
    LAYERS.into_iter().chain(others.map(|name| (name, 1)))
}

/// The testbeds that can be tried, each with an example of its own.
fn kinds() -> impl Iterator<Item = (&'static dyn TestbedKind, TestbedTraits)> {
    TABLE.iter().filter_map(|kind| {
        let example = kind.example(Path::new("/tmp"), 1)?;
        Some((*kind, testbeds::parse(&example).unwrap().traits()))
    })
}

/// Those with guests whose clock is of this kind.
fn with_guests(clock: ClockKind) -> Vec<&'static dyn TestbedKind> {
    let with = kinds().filter(move |(_, traits)| traits.guest && traits.clock == clock);
    let with: Vec<_> = with.map(|(kind, _)| kind).collect();
    assert!(!with.is_empty(), "no testbed has guests with the clock {clock:?}");
    with
}

/// Those on this machine's own kernel that make a filesystem, or that do not.
fn here(makes_filesystem: bool) -> impl Iterator<Item = &'static dyn TestbedKind> {
    let here = kinds().filter(|(_, traits)| !traits.guest).map(|(kind, _)| kind);
    here.filter(move |kind| kind.makes_filesystem() == makes_filesystem)
}

fn example(kind: &dyn TestbedKind, desk: &Desk, disks: usize) -> String {
    kind.example(desk.images(), disks).unwrap()
}

/// The first set of each engine, small; programs have tests of their own (`tests/host/ready.rs`).
fn small_sets() -> impl Iterator<Item = &'static str> + Clone {
    let first = workloads::TABLE.iter().filter_map(|engine| engine.sets().first()).map(|set| set.name);
    first.filter(|set| !needs(set).programs)
}

/// What is tried in a guest.
struct Cell {
    kind: &'static str,
    layer: &'static str,
    disks: usize,
    set: &'static str,
}

impl Cell {
    fn label(&self) -> String {
        format!("{} on {}", self.kind, if self.layer.is_empty() { "a disk" } else { self.layer })
    }
}

/// One of each filesystem, whose layers and sets go round.
fn covering() -> Vec<Cell> {
    let (sets, layers): (Vec<&str>, Vec<_>) = (small_sets().collect(), all_layers().collect());
    let cell = |(turn, kind): (usize, &&'static dyn Filesystem)| {
        let (layer, disks) = layers[turn % layers.len()];
        Cell { kind: kind.name(), layer, disks, set: sets[(turn + turn / layers.len()) % sets.len()] }
    };
    filesystems::TABLE.iter().enumerate().map(cell).collect()
}

/// Every filesystem with every other engine, from this one on, on this layer.
fn pairs(layer: &str, first_engine: usize) -> Vec<Cell> {
    let (layer, disks) =
        all_layers().find(|(name, _)| *name == layer).unwrap_or_else(|| panic!("no layer {layer}"));
    let sets = small_sets().skip(first_engine).step_by(2);
    let of_set =
        |set| filesystems::TABLE.iter().map(move |kind| Cell { kind: kind.name(), layer, disks, set });
    sets.flat_map(of_set).collect()
}

fn experiment(desk: &Desk, testbed: &dyn TestbedKind, set: &str, cells: &[&Cell]) -> String {
    let on = |disks: usize| example(testbed, desk, disks);
    let candidate = |cell: &Cell| {
        let layers: Vec<&str> = [cell.layer].into_iter().filter(|layer| !layer.is_empty()).collect();
        let (kind, label, on) = (cell.kind, cell.label(), on(cell.disks));
        // Without it ntfs3 now and then loses the end of a file (docs/method/bias.md).
        let mount = if kind == "ntfs" { "mount = [\"prealloc\"]\n" } else { "" };
        format!(
            "[[filesystem]]\nkind = {kind:?}\nlabel = {label:?}\non = {on:?}\nlayers = {layers:?}\n{mount}"
        )
    };
    let candidates: String = cells.iter().copied().map(candidate).collect();
    // Smaller, PostMark would delete its last file before its last transaction, and a mount bring in all that a walk reads.
    let scale = if set.starts_with("fill") { "1/64" } else { "1/16" };
    format!(
        "name = \"conformance\"\non = {:?}\nsize = \"512m\"\nmemory = \"64m\"\nimage = \"sparse\"\nworkloads = [{set:?}]\n\
         rounds = 1\nseed = 7\nscale = {scale:?}\n{candidates}",
        on(1)
    )
}

/// In guests with this clock each filesystem once, each engine and each layer: those of every other engine, from this one on. Proved
/// and not measured; each run is then judged by whoever calls.
pub fn each_in_guests(clock: ClockKind, first_engine: usize, judge: impl Fn(&Run)) {
    let sets: Vec<&str> = small_sets().skip(first_engine).step_by(2).collect();
    let cells: Vec<Cell> = covering().into_iter().filter(|cell| sets.contains(&cell.set)).collect();
    with_guests(clock).into_iter().for_each(|testbed| in_guests(testbed, &cells, false, &judge));
}

/// In guests with this clock, on one layer, every filesystem with every other engine, proved and measured.
pub fn pairs_in_guests(clock: ClockKind, layer: &str, first_engine: usize) {
    with_guests(clock)
        .into_iter()
        .for_each(|testbed| in_guests(testbed, &pairs(layer, first_engine), true, &|_| {}));
}

fn in_guests(testbed: &dyn TestbedKind, all: &[Cell], measured: bool, judge: &dyn Fn(&Run)) {
    if !has_guests("conformance in guests") || !has_layers() {
        return;
    }
    for set in small_sets() {
        let cells: Vec<&Cell> = all.iter().filter(|cell| cell.set == set).collect();
        if cells.is_empty() {
            continue;
        }
        let desk = Desk::new();
        let experiment = experiment(&desk, testbed, set, &cells);
        let run = match measured {
            false => proved(&desk, &experiment),
            true => {
                desk.file("experiment.toml", experiment);
                run(&desk, &["run", "experiment.toml", "--output", "run"])
            }
        };
        let ended = |r: &&Record| r.outcome == Outcome::Done || is_disturbed(r);
        let done = run.current().into_iter().filter(ended).count();
        assert_eq!(
            done,
            cells.len() * if measured { 2 } else { 1 },
            "each of {name} × {set} is proved and measured: {reasons:#?}",
            name = testbed.name(),
            reasons = run.current().into_iter().map(|r| (&r.trial, &r.reason)).collect::<Vec<_>>()
        );
        for cell in cells {
            let record = run.current().into_iter().find(|r| r.filesystem == cell.label()).unwrap();
            let leaves = record.top.as_ref().map_or(1, |top| top.leaves.len());
            assert_eq!((record.layers.len(), leaves), (usize::from(!cell.layer.is_empty()), cell.disks));
        }
        conforms(&run);
        judge(&run);
    }
}

/// Carried out with no round, which no command can ask for, and verified.
fn proved(desk: &Desk, experiment: &str) -> Run {
    let experiment = Experiment::parse(experiment, "test").unwrap();
    let on = testbeds::named(experiment.on.as_deref().unwrap()).unwrap();
    let plan = Plan { rounds: Rounds::Exactly(0), ..experiment.plan(on, 1).unwrap() };
    let mut made = Made::of(&plan).unwrap();
    made.take_agent(Path::new(env!("CARGO_BIN_EXE_fsderby"))).unwrap();
    let testbeds = made.testbeds();
    testbeds.each().for_each(|testbed| testbed.ready(&jobs::need(&Resolved::of(&plan).unwrap())).unwrap());
    let (_folder, run) = carried_out(plan, &testbeds, 1);
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
    desk.leaves_nothing(std::process::id());
    run
}

/// Each filesystem, each layer and each engine is among what is tried in guests, and each layer among those of `make nightly`.
pub fn leaves_no_row_out() {
    let all = kinds().filter(|(_, traits)| traits.guest).count();
    let tried = [ClockKind::Guest, ClockKind::Virtual].into_iter().flat_map(with_guests).count();
    assert_eq!(tried, all, "testbeds with guests");
    let cells = covering();
    let met = |with: &dyn Fn(&Cell) -> bool| cells.iter().any(with);
    assert!(filesystems::TABLE.iter().all(|kind| met(&|cell| cell.kind == kind.name())));
    assert!(all_layers().all(|(layer, _)| met(&|cell| cell.layer == layer)));
    assert!(small_sets().all(|set| met(&|cell| cell.set == set)));
    let nightly: Vec<Cell> = [0, 1].into_iter().flat_map(|first| pairs("", first)).collect();
    assert_eq!(nightly.len(), filesystems::TABLE.len() * small_sets().count());
}

/// On this machine's kernel every filesystem with the first engine, and each further engine with one filesystem, which go round.
pub fn each_made_here() {
    if !has_loop("conformance on this machine's kernel") {
        return;
    }
    let mut sets = small_sets();
    let first = sets.next().into_iter();
    let run = made_here(first, &every_filesystem());
    let compared: Vec<String> =
        run.current().into_iter().filter(|r| r.round == 1).map(|r| r.kind.clone()).collect();
    for (set, kind) in sets.zip(compared.iter().cycle()) {
        let run = made_here([set].into_iter(), &["--filesystems", kind]);
        let done =
            run.current().into_iter().filter(|r| r.outcome == Outcome::Done || is_disturbed(r)).count();
        assert_eq!(done, 2, "{kind} × {set} is proved and measured");
    }
}

/// Every filesystem with every engine.
pub fn all_made_here() {
    if has_loop("conformance on this machine's kernel") {
        made_here(small_sets(), &every_filesystem());
    }
}

fn every_filesystem() -> Vec<&'static str> {
    let variants = VARIANTS.iter().flat_map(|spec| ["--filesystem", spec]);
    ["--filesystems", "all"].into_iter().chain(variants).collect()
}

/// Each is compared or skipped with a reason.
fn made_here(sets: impl Iterator<Item = &'static str> + Clone, filesystems: &[&str]) -> Run {
    let desk = Desk::new();
    let testbed = here(true).next().expect("a testbed on this machine's kernel");
    let run = carry_out(&desk, testbed, sets.clone(), filesystems);
    for record in run.records.iter().filter(|r| r.outcome == Outcome::Skipped) {
        skipped(&format!("{} × {}", record.filesystem, record.scenario), &record.why());
    }
    if filesystems.contains(&"all") {
        let expected = (filesystems::TABLE.len() + VARIANTS.len()) * sets.count();
        // What was void is there once more.
        let compared = run.current().into_iter().filter(|r| r.round == 1).count();
        let skips = run.records.iter().filter(|r| r.outcome == Outcome::Skipped).count();
        assert_eq!(compared + skips, expected, "each filesystem is compared or skipped with a reason");
        assert!(compared >= 3, "a kernel without three filesystems proves little");
        for label in ["ext3, converted", "ext4, no atime"] {
            let record = run.records.iter().find(|r| r.filesystem == label && r.outcome != Outcome::Skipped);
            assert!(record.is_some(), "{label} was not compared");
        }
    }
    conforms(&run);
    run
}

/// On each further testbed that makes a filesystem, every engine that needs no second disk.
pub fn engines_on_others() {
    if !has_loop("conformance on this machine's kernel") {
        return;
    }
    for testbed in here(true).skip(1) {
        let on_one_disk = small_sets().filter(|set| !needs(set).source);
        conforms(&carry_out(&Desk::new(), testbed, on_one_disk, &["--filesystems", "ext4"]));
    }
}

/// On each testbed that makes none, every engine.
pub fn engines_on_what_is_mounted() {
    for testbed in here(false) {
        let run = carry_out(&Desk::new(), testbed, small_sets(), &[]);
        let whole = small_sets().filter(|set| needs_disks(set)).count();
        assert_eq!(run.current().len(), 2 * small_sets().count() - whole, "what needs disks is skipped once");
        assert_eq!(run.records.iter().filter(|r| r.outcome == Outcome::Skipped).count(), whole);
        conforms(&run);
    }
}

/// Whether guests can be given every layer; says what they lack.
fn has_layers() -> bool {
    let lacks =
        layers::TABLE.iter().flat_map(|kind| kind.tools()).find(|tool| programs::find(tool).is_none());
    if let Some(tool) = lacks {
        skipped("conformance in guests", &format!("there is no {tool}"));
    }
    lacks.is_none()
}

/// All the space of one, or a second one: a directory has neither.
fn needs_disks(set: &str) -> bool {
    let needs = needs(set);
    needs.whole_filesystem || needs.source
}

fn needs(set: &str) -> Needs {
    let (engine, set) = workloads::find(set).unwrap();
    engine.parse(&set.file().parameters).unwrap().needs()
}

fn carry_out(
    desk: &Desk,
    testbed: &dyn TestbedKind,
    sets: impl Iterator<Item = &'static str>,
    filesystems: &[&str],
) -> Run {
    let sets: Vec<&str> = sets.collect();
    let sets = sets.join(",");
    let work = ["run", "quick", "--workloads", &sets, "--scale", "1/16", "--rounds", "1", "--seed", "7"];
    let on = example(testbed, desk, 1);
    let place = ["--on", &on, "--size", "512m", "--memory", "none"];
    run(desk, &[&work[..], &place, filesystems, &["--output", "run"]].concat())
}

/// To its end in the folder `run`, verified, and nothing left.
fn run(desk: &Desk, arguments: &[&str]) -> Run {
    let said = desk.say(&[arguments, &["--quiet"]].concat());
    desk.leaves_nothing(said.pid);
    let verified = desk.say(&["verify", "run"]);
    assert_eq!(verified.code, 0, "{verified:#?}");
    let run = store::read(&desk.path("run")).unwrap();
    let disturbed = run.current().into_iter().any(is_disturbed);
    let ended_otherwise = |r: &&Record| !matches!(r.outcome, Outcome::Done | Outcome::Skipped);
    let others: Vec<_> = run.current().into_iter().filter(ended_otherwise).map(told).collect();
    assert_eq!(said.code, if disturbed { 4 } else { 0 }, "{others:#?}\n{said:#?}");
    run
}

/// A trial that was not done, with all that says why.
fn told(record: &Record) -> String {
    let Record { trial, attempt, circumstances, .. } = record;
    format!("{trial}, attempt {attempt}: {}; {circumstances:?}", record.why())
}

fn conforms(run: &Run) {
    // On a busy machine a guest's clock can be late: that voids a trial, and it is repeated.
    for record in run.current().into_iter().filter(|r| r.outcome != Outcome::Skipped) {
        let name = &record.trial;
        if is_disturbed(record) {
            skipped(name, &record.why());
            continue;
        }
        assert_eq!((record.outcome, &record.reason), (Outcome::Done, &None), "{name}");
        let broken: Vec<_> = record.validity.iter().filter(|c| c.held == Held::No).collect();
        assert!(broken.is_empty(), "{name}: {broken:?}");
        let did = |p: &Phase| p.ns > 0 && p.counts.values().any(|count| *count > 0);
        assert!(record.phases().next().is_some() && record.phases().all(did), "{name}: {:?}", record.stages);
        assert!(!record.metrics.is_empty(), "{name}");
        assert_eq!(record.histograms.is_empty(), !times_operations(record), "{name}");
        is_mounted_as_asked(record);
        if record.round == 0 {
            is_proved(record);
        }
    }
}

/// Whether the engine tells the latencies of any operation.
fn times_operations(record: &Record) -> bool {
    let engine = workloads::engine(&record.works[0].work.engine).unwrap();
    record.phases().any(|phase| !engine.timed(&phase.name).is_empty())
}

fn is_mounted_as_asked(record: &Record) {
    let mounted = record.mounted.as_ref().unwrap();
    match filesystems::find(&record.kind).filter(|_| is_made(record)) {
        Some(kind) => {
            let asked = kind.mount(&record.variant);
            assert_eq!(mounted.fstype, asked.fstype(), "{}", record.trial);
            assert_eq!(kind.confirm(&asked, mounted), Ok(()), "{}", record.trial);
        }
        None => assert!(Path::new(&mounted.source).is_absolute() || !mounted.fstype.is_empty()),
    }
}

/// What was read back is what the engine says it wrote, before and after unmount and mount.
fn is_proved(record: &Record) {
    assert_eq!(record.trees.len(), if is_made(record) { 2 } else { 1 }, "{}", record.trial);
    for tree in &record.trees {
        assert!(tree.files > 0, "{}: {tree:?}", record.trial);
        assert_eq!(tree.expected.as_deref(), Some(tree.hash.as_str()), "{}: {tree:?}", record.trial);
    }
}

/// Whether a filesystem is made in each trial.
fn is_made(record: &Record) -> bool {
    record.fidelity.makes_filesystem()
}
