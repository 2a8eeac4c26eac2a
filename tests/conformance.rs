//! One body for every testbed, storage, layer, filesystem and engine's own scenario that this machine serves: proved, measured,
//! every condition held, and nothing left behind.
//!
//! On this machine's kernel all of them meet. In guests each filesystem is tried once on each testbed, so that each layer and each engine
//! is met too. `FSDERBY_CONFORMANCE` says how much: `here` leaves guests out, `model` takes modelled disks too, as
//! `all` does, which tries all that there are and takes hours.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod support;

use std::path::Path;

use fsderby::filesystems;
use fsderby::host::programs;
use fsderby::schema::event::Phase;
use fsderby::schema::reason::{Held, Outcome};
use fsderby::schema::record::Record;
use fsderby::storage::layers;
use fsderby::store::{self, Run};
use fsderby::testbeds;
use fsderby::workloads::{self, Needs};
use support::desk::Desk;
use support::quiet::has_guests;
use support::{has_loop, is_disturbed, skipped};

/// Enters beside every kind with its defaults.
const VARIANTS: [&str; 2] = [
    "ext3-ordered label=\"ext3, converted\" conversion",
    "ext4 label=\"ext4, no atime\" mount=noatime,commit=30 mkfs=\"-m 0\"",
];

/// Guests, each with a disk for every member of the largest array.
const IN_GUESTS: [&str; 2] = ["vm", "model:hdd-16tb"];
/// What is tried in guests between the disks and the filesystem, each on so many disks.
const LAYERS: [(&str, usize); 6] =
    [("", 1), ("md:raid0", 2), ("crypt", 1), ("md:raid5", 3), ("md:raid1", 2), ("md:raid10", 4)];

/// These, and each kind that is not among them as it comes.
fn all_layers() -> impl Iterator<Item = (&'static str, usize)> {
    let is_listed = |name: &str| LAYERS.iter().any(|(layer, _)| layer.split(':').next() == Some(name));
    let others = layers::TABLE.iter().map(|kind| kind.name()).filter(move |name| !is_listed(name));
    LAYERS.into_iter().chain(others.map(|name| (name, 1)))
}

/// On this machine's own kernel, with tests of their own.
const HERE: [&str; 3] = ["loop", "directory", "twin"];

/// The first set of each engine, small.
fn small_sets() -> impl Iterator<Item = &'static str> {
    workloads::TABLE.iter().map(|engine| engine.sets()[0].name)
}

#[test]
fn every_filesystem_does_every_engines_work_on_loop() {
    if !has_loop("conformance on loop") {
        return;
    }
    let desk = Desk::new();
    let mut filesystems = vec!["--filesystems", "all"];
    filesystems.extend(VARIANTS.iter().flat_map(|spec| ["--filesystem", spec]));
    let run = carry_out(&desk, &desk.testbed(), small_sets(), &filesystems);
    for record in run.records.iter().filter(|r| r.outcome == Outcome::Skipped) {
        skipped(&format!("{} × {}", record.filesystem, record.scenario), &record.why());
    }
    let expected = (filesystems::TABLE.len() + VARIANTS.len()) * small_sets().count();
    // What was void is there once more.
    let compared = run.current().into_iter().filter(|r| r.round == 1).count();
    let skips = run.records.iter().filter(|r| r.outcome == Outcome::Skipped).count();
    assert_eq!(compared + skips, expected, "each filesystem is compared or skipped with a reason");
    assert!(compared >= 3, "a kernel without three filesystems proves little");
    for label in ["ext3, converted", "ext4, no atime"] {
        let record = run.records.iter().find(|r| r.filesystem == label && r.outcome != Outcome::Skipped);
        assert!(record.is_some(), "{label} was not compared");
    }
    conforms(&run);
}

/// In real time, so on a disk that takes none.
#[test]
fn a_twin_does_every_engines_work() {
    if !has_loop("conformance on a twin") {
        return;
    }
    let on_one_disk = small_sets().filter(|set| !needs(set).source);
    conforms(&carry_out(&Desk::new(), "twin:zero", on_one_disk, &["--filesystems", "ext4"]));
}

#[test]
fn a_directory_does_every_engines_work() {
    let desk = Desk::new();
    let run = carry_out(&desk, &format!("directory:{}", desk.images().display()), small_sets(), &[]);
    let whole = small_sets().filter(|set| needs_disks(set)).count();
    assert_eq!(run.current().len(), 2 * small_sets().count() - whole, "what needs disks is skipped once");
    assert_eq!(run.records.iter().filter(|r| r.outcome == Outcome::Skipped).count(), whole);
    conforms(&run);
}

#[test]
fn guests_do_every_engines_work_on_every_filesystem_and_layer() {
    if !has_guests("conformance in guests") || !has_layers() {
        return;
    }
    let asked = asked();
    let most = match asked.as_str() {
        "here" => return skipped("conformance in guests", "it was not asked for"),
        "model" | "all" => IN_GUESTS.len(),
        _ => 1,
    };
    for (at, testbed) in IN_GUESTS.into_iter().enumerate().take(most) {
        for set in small_sets() {
            let cells: Vec<Cell> = cells(at).into_iter().filter(|cell| cell.set == set).collect();
            let desk = Desk::new();
            desk.file("experiment.toml", experiment(&desk, testbed, set, &cells));
            let run = run(&desk, &["run", "experiment.toml"]);
            let ended = |r: &&Record| r.outcome == Outcome::Done || is_disturbed(r);
            let done = run.current().into_iter().filter(ended).count();
            let (counted, checked) = (cells.len(), cells.len());
            assert_eq!(done, counted + checked, "each of {testbed} × {set} is proved and measured");
            for cell in &cells {
                let record = run.current().into_iter().find(|r| r.filesystem == cell.label()).unwrap();
                let leaves = record.top.as_ref().map_or(1, |top| top.leaves.len());
                assert_eq!((record.layers.len(), leaves), (usize::from(!cell.layer.is_empty()), cell.disks));
            }
            conforms(&run);
        }
    }
}

/// A testbed that has no test of its own here, such as a new one.
#[test]
fn every_other_testbed_does_every_engines_work() {
    let is_known =
        |name: &str| HERE.contains(&name) || IN_GUESTS.iter().any(|t| t.split(':').next() == Some(name));
    for kind in testbeds::TABLE.iter().filter(|kind| !is_known(kind.name())) {
        conforms(&carry_out(&Desk::new(), kind.name(), small_sets(), &[]));
    }
}

/// Each filesystem, each layer and each engine, on each testbed.
#[test]
fn what_is_tried_in_guests_leaves_no_row_out() {
    for at in 0..IN_GUESTS.len() {
        let cells = cells(at);
        let met = |with: &dyn Fn(&Cell) -> bool| cells.iter().any(with);
        assert!(filesystems::TABLE.iter().all(|kind| met(&|cell| cell.kind == kind.name())));
        assert!(all_layers().all(|(layer, _)| met(&|cell| cell.layer == layer)));
        assert!(small_sets().all(|set| met(&|cell| cell.set == set)));
    }
}

fn asked() -> String {
    std::env::var("FSDERBY_CONFORMANCE").unwrap_or_default()
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

/// All of the testbed that stands at this place, or one of each filesystem, whose layers and sets go round.
fn cells(testbed: usize) -> Vec<Cell> {
    let all = asked() == "all";
    let (sets, layers): (Vec<&str>, usize) = (small_sets().collect(), all_layers().count());
    let mut cells = Vec::new();
    for (kind_at, kind) in filesystems::TABLE.iter().enumerate() {
        for (layer_at, (layer, disks)) in all_layers().enumerate() {
            for (set_at, set) in sets.iter().enumerate() {
                let turn = kind_at + testbed;
                let is_next = layer_at == turn % layers && set_at == (turn + turn / layers) % sets.len();
                if all || is_next {
                    cells.push(Cell { kind: kind.name(), layer, disks, set });
                }
            }
        }
    }
    cells
}

fn experiment(desk: &Desk, testbed: &str, set: &str, cells: &[Cell]) -> String {
    let images = desk.images().display();
    let on = |disks: usize| match testbed {
        "vm" => format!("vm:images={images},disks={disks}"),
        model => format!("{model},disks={disks}"),
    };
    let candidate = |cell: &Cell| {
        let layers: Vec<&str> = [cell.layer].into_iter().filter(|layer| !layer.is_empty()).collect();
        let (kind, label, on) = (cell.kind, cell.label(), on(cell.disks));
        // Without it ntfs3 now and then loses the end of a file (BIAS.md).
        let mount = if kind == "ntfs" { "mount = [\"prealloc\"]\n" } else { "" };
        format!(
            "[[filesystem]]\nkind = {kind:?}\nlabel = {label:?}\non = {on:?}\nlayers = {layers:?}\n{mount}"
        )
    };
    let candidates: String = cells.iter().map(candidate).collect();
    // Smaller, PostMark would delete its last file before its last transaction, and a mount bring in all that a walk reads.
    let scale = if set.starts_with("fill") { "1/64" } else { "1/16" };
    format!(
        "name = \"conformance\"\non = {:?}\nsize = \"512m\"\nmemory = \"64m\"\nimage = \"sparse\"\nworkloads = [{set:?}]\n\
         rounds = 1\nseed = 7\nscale = {scale:?}\n{candidates}",
        on(1)
    )
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
    testbed: &str,
    sets: impl Iterator<Item = &'static str>,
    filesystems: &[&str],
) -> Run {
    let sets: Vec<&str> = sets.collect();
    let sets = sets.join(",");
    let work = ["run", "quick", "--workloads", &sets, "--scale", "1/16", "--rounds", "1", "--seed", "7"];
    let place = ["--on", testbed, "--size", "512m", "--memory", "none"];
    run(desk, &[&work[..], &place, filesystems].concat())
}

/// To its end, verified, and nothing left.
fn run(desk: &Desk, arguments: &[&str]) -> Run {
    let said = desk.say(&[arguments, &["--output", "run", "--quiet"]].concat());
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
    testbeds::kind(&record.testbed).unwrap().makes_filesystem()
}
