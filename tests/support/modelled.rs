//! Runs on a modelled disk in virtual time.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fsderby::agent::Mishap;
use fsderby::guest::cache;
use fsderby::host::programs;
use fsderby::probes;
use fsderby::runner::execute::rounds::Runner;
use fsderby::runner::experiment::Experiment;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::runner::verify::rerun::{Compared, candidates, rerun};
use fsderby::runner::verify::verify;
use fsderby::schema::event::Seen;
use fsderby::schema::job::Purpose;
use fsderby::schema::plan::{Plan, Rounds};
use fsderby::schema::reason::Outcome;
use fsderby::schema::record::Record;
use fsderby::store::{self, Folder, Run};
use fsderby::testbeds::model::Model;
use fsderby::testbeds::{Testbed, Testbeds};

use super::desk::{Desk, run};
use super::quiet::{Quiet, has_guests};
use super::scripted::machine;

pub fn model(text: &str) -> Model {
    let mut model: Model = text.parse().unwrap();
    model.starts.agent = env!("CARGO_BIN_EXE_fsderby").into();
    model
}

/// This experiment, with so many rounds.
pub fn compared(text: &str, testbed: &Model, rounds: u32, jobs: usize) -> (tempfile::TempDir, Run) {
    let plan = Experiment::parse(text, "test").unwrap().plan(testbed.name(), 1).unwrap();
    carried_out(Plan { rounds: Rounds::Exactly(rounds), ..plan }, &Testbeds::one(testbed), jobs)
}

pub fn carried_out(plan: Plan, testbeds: &Testbeds<'_>, jobs: usize) -> (tempfile::TempDir, Run) {
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("run");
    let mut folder = Folder::create(&path, &plan, &machine(&plan, testbeds)).unwrap();
    let before = store::read(&path).unwrap();
    let (plan, stop) = (Resolved::of(&plan).unwrap(), AtomicBool::new(false));
    Runner { plan: &plan, testbeds, folder: &mut folder, skips: &[], watch: &mut Quiet, jobs, stop: &stop }
        .run(&before)
        .unwrap();
    let run = store::read(&path).unwrap();
    (desk, run)
}

/// These filesystems proved on this testbed, and compared for so many rounds.
pub fn carry_out(filesystems: &str, testbed: &Model, rounds: u32, jobs: usize) -> (tempfile::TempDir, Run) {
    carry_out_by(1, filesystems, testbed, rounds, jobs)
}

/// The same by so many clients.
pub fn carry_out_by(
    clients: u32,
    filesystems: &str,
    testbed: &Model,
    rounds: u32,
    jobs: usize,
) -> (tempfile::TempDir, Run) {
    let text = format!(
        "name = \"model\"\nsize = \"512m\"\nmemory = \"64m\"\nworkloads = [\"maildir-quick\"]\nfilesystems = [{filesystems}]\n\
         rounds = 1\nseed = 7\nscale = \"1/32\"\nclients = {clients}\n"
    );
    compared(&text, testbed, rounds, jobs)
}

/// Two works on filesystems in this state: of each round the first trial of a filesystem makes the state and the second begins in
/// it; made from scratch, both are the same to the bit. Returns the trials' records.
pub fn kept_states(kinds: &[&str], state: &str) -> Vec<Record> {
    let desk = Desk::new();
    desk.file(
        "states.toml",
        format!(
            "name = \"states\"\nsize = \"512m\"\nmemory = \"64m\"\nstate = \"{state}\"\n\
             workloads = [\"maildir-quick\", \"postmark-quick\"]\nfilesystems = {kinds:?}\nrounds = 1\nseed = 7\n\
             scale = \"1/32\"\n"
        ),
    );
    // Nothing is kept yet but what was booted.
    let cache = desk.path("cache").join("fsderby");
    fs::create_dir_all(&cache).unwrap();
    for folder in ["kernels", "snapshots"] {
        symlink(cache::made(folder).unwrap(), cache.join(folder)).unwrap();
    }
    let cached = |words: &[&str]| {
        let said = run(desk.fsderby(words).env("XDG_CACHE_HOME", desk.path("cache")));
        assert_eq!(said.code, 0, "{said:#?}");
        said.out
    };
    cached(&["run", "states.toml", "--on", "model:hdd-16tb,samples=off", "--output", "run", "--jobs", "1"]);
    let run = store::read(&desk.path("run")).unwrap();
    let current = run.current().len();
    let records = run.records;
    let measured: Vec<&Record> = records.iter().filter(|r| r.purpose == Purpose::Measure).collect();
    for kind in kinds {
        // A void trial is repeated, and may then begin in the state that it made.
        let own = measured.iter().filter(|r| r.kind == *kind).map(|r| r.circumstances.from_state);
        let begun: Vec<bool> = own.collect();
        assert!(!begun[0] && begun.contains(&true), "{kind}: {begun:?}");
    }
    let out = cached(&["verify", "run", "--rerun", "all"]);
    assert!(out.contains(&format!("rerun: {current} identical, 0 different")), "{out}");
    records
}

/// A disk that stops answering fails a trial of this filesystem, and the kernel's blocked tasks are in its console.
pub fn stalled(kind: &str) {
    if !has_guests("a guest that waits for ever") {
        return;
    }
    let mut testbed = model("diamondmax-plus-8");
    testbed.mishap = Some(Mishap::DiskStalls);
    testbed.limit = Some(Duration::from_secs(300));
    let (desk, run) = carry_out(&format!("\"{kind}\""), &testbed, 0, 1);
    let [record] = run.records.as_slice() else { panic!("{kind}: {:?}", run.records) };
    let reason = record.why();
    assert_eq!(record.outcome, Outcome::Failed, "{kind}: {reason}");
    assert!(
        reason.contains("took longer than 300 s; blocked: ") && reason.contains(" in "),
        "{kind}: {reason}"
    );
    let console = &record.console.as_ref().unwrap().path;
    let console = fs::read_to_string(desk.path().join("run").join(console)).unwrap();
    assert!(console.contains("Show Blocked State") && console.contains("Call Trace"), "{kind}: {console}");
    assert_eq!(verify(&run).wrong, Vec::<String>::new(), "{kind}");
}

/// A volume of a tebibyte costs what is written of it, and its requests are so far apart that the arm moves.
pub fn large_volumes(kinds: &[&str]) {
    if !has_guests("volumes of a tebibyte") {
        return;
    }
    let testbed = model("hdd-16tb,samples=off");
    let of_size = |size: &str| {
        let text = format!(
            "name = \"large\"\nsize = \"{size}\"\nmemory = \"256m\"\nworkloads = [\"maildir-quick\"]\n\
             filesystems = {kinds:?}\nrounds = 1\nseed = 7\nscale = \"1/16\"\n"
        );
        compared(&text, &testbed, 0, 2)
    };
    let (_small_desk, small) = of_size("1g");
    let (_desk, large) = of_size("1t");
    let seek_ns = |run: &Run, kind: &str| {
        let record = run.records.iter().find(|r| r.filesystem == kind).unwrap();
        assert_eq!(record.outcome, Outcome::Done, "{kind}: {}", record.why());
        let served = run.requests(record).unwrap().unwrap();
        let moved = served.iter().filter(|s| s.seek_ns > 0);
        let (count, all_ns) = moved.fold((0, 0), |(count, all), s| (count + 1, all + s.seek_ns));
        all_ns / count.max(1)
    };
    for kind in kinds {
        let (near, far) = (seek_ns(&small, kind), seek_ns(&large, kind));
        assert!(far > near, "{kind}: {near} ns for a seek on 1 GiB, {far} ns on 1 TiB");
    }
    let records = candidates(&large);
    rerun(
        &Resolved::of(&large.plan).unwrap(),
        &Testbeds::one(&testbed),
        &records,
        1,
        2,
        &mut |record, compared, _| {
            assert_eq!(*compared, Compared::Same, "{}", record.trial);
        },
    )
    .unwrap();
}

/// A CPU sixteen times as fast needs a sixteenth of the time, and the disk behind it as long as ever: the kernel's clocks and
/// timers go by what it was told. In MIPS.
pub fn clocks_follow(speeds: &[u64]) {
    if !has_guests("machines of other speeds") {
        return;
    }
    let floor = |mips: &u64| {
        let testbed = model(&format!("diamondmax-plus-8,machine=server-2024,samples=off,mips={mips}"));
        let (_desk, run) = carry_out("\"xfs\"", &testbed, 0, 1);
        let [record] = run.records.as_slice() else { panic!("{:?}", run.records) };
        assert_eq!(record.outcome, Outcome::Done, "{mips}: {}", record.why());
        let disk = |counter| probes::counted(record, "disk", counter).unwrap_or(0);
        // A platter turns in 8.3 ms whatever looks at it, and answers come when they are due.
        let (requests, rotation_ns) = (disk("reads") + disk("writes"), disk("rotation_ns"));
        assert!(rotation_ns > 0 && rotation_ns < requests * 8_333_334, "{mips}: {:?}", record.stages);
        let tick_ns = 4_000_000;
        assert!(disk("late_ns") <= requests * tick_ns / 8, "{mips}: {:?}", record.stages);
        let floor = record.seen.iter().find_map(|seen| match seen {
            Seen::Floor { floor_ns, .. } => Some(floor_ns * mips / 1000),
            _ => None,
        });
        floor.unwrap_or_else(|| panic!("{mips}: no floor"))
    };
    let floors: Vec<u64> = speeds.iter().map(floor).collect();
    let (least, most) = (floors.iter().min().unwrap(), floors.iter().max().unwrap());
    assert!(*least > 5_000 && most * 10 < least * 11, "instructions of a request: {floors:?}");
}

/// Keeps the two disks of a mirror's trial. What lies above its superblocks, which name the disk, is the same on both. `same` is
/// what the comparison with the trial says.
pub fn kept_disks(testbed: &str, same: &str) {
    const SIZE: usize = 64 << 20;
    if !has_guests("the disks of a mirror") || programs::find("mdadm").is_none() {
        return;
    }
    let desk = Desk::new();
    let on = testbed.replace("IMAGES", &desk.images().display().to_string());
    let words = format!(
        "run --on {on} --layer md:raid1 --filesystems ext4 --workloads maildir-quick --output run --size 64m --memory 96m \
         --scale 1/32 --rounds 1 --seed 7 -q"
    );
    let made = desk.say(&words.split_whitespace().collect::<Vec<_>>());
    let run = store::read(&desk.path("run")).unwrap_or_else(|e| panic!("{e:#} {made:?}"));
    let trial = run.current().into_iter().find(|record| record.round == 1).unwrap().trial.clone();
    let words = ["verify", "run", "--rerun", &trial, "--keep-image", "disk"];
    let said = desk.say(&words);
    assert!(said.code == 0 && said.out.contains(same), "{said:?}");
    assert!(said.out.contains("kept the trial's disks in disk.1, disk.2"), "{said:?}");
    let [one, other] = [1, 2].map(|number| fs::read(desk.path(&format!("disk.{number}"))).unwrap());
    assert_eq!([one.len(), other.len()], [SIZE; 2]);
    let magic = [&one, &other].map(|bytes| u32::from_le_bytes(bytes[4096..4100].try_into().unwrap()));
    assert_eq!(magic, [0xa92b_4efc; 2], "linux/raid/md_p.h");
    let differ = one.iter().zip(&other).filter(|(a, b)| a != b).count();
    assert!(one != vec![0; SIZE] && differ < 256, "{differ} bytes of two copies differ");
    desk.refuses(&words, 2, &["could not create", ".1"]);
    if testbed.starts_with("vm") {
        desk.refuses(&["verify", "run", "--rerun", "1"], 2, &["no trial in virtual time"]);
    }
}
