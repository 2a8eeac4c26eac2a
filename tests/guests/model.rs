//! Real filesystems on a modelled disk in virtual time: the same run gives the same record to the nanosecond, and what goes wrong
//! in a guest is one failed trial. As any user.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::copy_program;
use crate::support::desk::{Desk, run};
use crate::support::modelled::{
    carried_out, carry_out, carry_out_by, clocks_follow, compared, kept_disks, kept_states, model, stalled,
};
use crate::support::quiet::has_guests;
use fsderby::agent::Mishap;
use fsderby::analysis::dataset::Dataset;
use fsderby::analysis::ensemble;
use fsderby::guest::{cache, kernel};
use fsderby::probes;
use fsderby::runner::experiment::Experiment;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::runner::verify::rerun::{Compared, candidates, rerun};
use fsderby::runner::verify::verify;
use fsderby::schema::job::Purpose;
use fsderby::schema::reason::Outcome;
use fsderby::schema::record::Record;
use fsderby::schema::request::Served;
use fsderby::schema::setup::{ClockKind, Fidelity};
use fsderby::store;
use fsderby::testbeds::{Testbed, Testbeds};
use fsderby_diskmodel::Op;

#[test]
fn the_same_trial_is_the_same_to_the_nanosecond_alone_and_beside_others() {
    if !has_guests("a modelled disk in virtual time") {
        return;
    }
    let testbed = model("diamondmax-plus-8");
    // Two guests at a time, then one after the other. Btrfs checks itself with threads, ReiserFS is the oldest code.
    let (_desk, run) = carry_out("\"reiserfs\", \"btrfs\"", &testbed, 1, 2);
    let records = candidates(&run);
    assert_eq!(records.len(), 4, "{:?}", run.records.iter().map(|r| &r.reason).collect::<Vec<_>>());
    // An integrity check is run again by the known cells.
    let measured: Vec<&Record> =
        records.iter().copied().filter(|record| record.purpose == Purpose::Measure).collect();
    let mut seen = Vec::new();
    rerun(
        &Resolved::of(&run.plan).unwrap(),
        &Testbeds::one(&testbed),
        &measured,
        1,
        1,
        &mut |record, compared, _| {
            seen.push((record.trial.clone(), compared.clone()));
        },
    )
    .unwrap();
    for (trial, compared) in &seen {
        assert_eq!(*compared, Compared::Same, "{trial}");
    }
    assert_eq!(seen.len(), 2);
    for record in records {
        assert_eq!(
            (record.clock, record.fidelity),
            (ClockKind::Virtual, Fidelity::Model),
            "{}",
            record.trial
        );
        let disk = |counter| probes::counted(record, "disk", counter).unwrap_or(0);
        assert!(disk("writes") > 0 && disk("rotation_ns") > 0, "{}: {:?}", record.trial, record.stages);
        // A kernel that wakes its sleepers at its ticks alone makes each answer late by half of one.
        let (tick_ns, answers) = (4_000_000, disk("reads") + disk("writes") + disk("flushes"));
        assert!(disk("late_ns") <= answers * tick_ns / 8, "{}: {:?}", record.trial, record.stages);
        // The thread that serves the disk takes some microseconds for each request, and less than all of the time.
        let [began, ended] = record.stages[0].window_ns.unwrap();
        let server_ns = disk("server_ns");
        assert!((answers * 1000..(ended - began) / 2).contains(&server_ns), "{}: {server_ns}", record.trial);
        assert!(record.requests.is_some() && record.console.is_some());
    }
}

/// `make nightly` has faster ones.
#[test]
fn a_slow_machine_has_its_clocks_by_its_speed() {
    clocks_follow(&[100]);
}

/// Made a moment ago, kept, or made anew because what was kept is damaged.
#[test]
fn a_trial_is_the_same_from_any_snapshot_of_its_boot() {
    if !has_guests("snapshots of guests") {
        return;
    }
    let desk = Desk::new();
    desk.file(
        "snapshots.toml",
        "name = \"snapshots\"\nsize = \"256m\"\nmemory = \"64m\"\nworkloads = [\"maildir-quick\"]\nfilesystems = [\"ext4\"]\n\
         rounds = 1\nseed = 7\nscale = \"1/32\"\n",
    );
    let cache = desk.path("cache").join("fsderby");
    fs::create_dir_all(&cache).unwrap();
    symlink(cache::folder("kernels").unwrap(), cache.join("kernels")).unwrap();
    let cached = |words: &[&str]| {
        let said = run(desk.fsderby(words).env("XDG_CACHE_HOME", desk.path("cache")));
        assert_eq!(said.code, 0, "{said:#?}");
        said.out
    };
    cached(&["run", "snapshots.toml", "--on", "model:hdd-16tb,samples=off", "--output", "run"]);
    let is_the_same_again = || {
        let out = cached(&["verify", "run", "--rerun", "1"]);
        assert!(out.contains("rerun: 1 identical, 0 different"), "{out}");
    };
    let kept = || fs::read_dir(cache.join("snapshots")).unwrap().map(|entry| entry.unwrap().path());
    let [snapshot] = <[PathBuf; 1]>::try_from(kept().collect::<Vec<_>>()).unwrap();
    let made = fs::metadata(&snapshot).unwrap().ino();
    is_the_same_again();
    assert_eq!(fs::metadata(&snapshot).unwrap().ino(), made, "what is kept is used");
    let mut bytes = fs::read(&snapshot).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&snapshot, bytes).unwrap();
    is_the_same_again();
    assert_ne!(fs::metadata(&snapshot).unwrap().ino(), made, "what is damaged is made anew");
}

/// The second work of a round begins where the first one has filled the filesystem.
#[test]
fn a_trial_from_a_kept_state_is_the_same_as_one_that_makes_it() {
    if has_guests("states that are kept") {
        kept_states(&["ext4"], "filled 10%");
    }
}

/// The tables by which the disk's server finds 24 GiB of sectors are twice the guest's memory: no process that is started may have
/// them a second time.
#[test]
fn a_volume_that_is_kept_as_a_whole_leaves_a_small_guest_its_memory() {
    if !has_guests("a large volume in a small memory") {
        return;
    }
    let text = "name = \"mapped\"\nsize = \"24g\"\nmemory = \"24m\"\nworkloads = [\"maildir-quick\"]\nfilesystems = [\"xfs\"]\nrounds = 1\n\
                seed = 7\nscale = \"1/64\"\n";
    let (_desk, run) = compared(text, &model("hdd-16tb,samples=off"), 0, 1);
    let measured = &candidates(&run)[0];
    assert_eq!(measured.outcome, Outcome::Done, "{}", measured.why());
}

/// The disk's own cache goes with the power. A filesystem that has it flushed keeps what it promised; the same one that was told not
/// to loses it.
#[test]
fn a_power_cut_takes_what_the_disks_cache_held_and_the_same_each_time() {
    if !has_guests("power cuts in virtual time") {
        return;
    }
    let testbed = model("diamondmax-plus-8");
    let text = "name = \"cut\"\nsize = \"512m\"\nmemory = \"64m\"\nworkloads = [\"maildir-durable\"]\nseed = 7\nscale = \"1/16\"\n\
                rounds = 1\npower_cut = \"60%\"\nfilesystems = [\"ext4\"]\n\
                [[filesystem]]\nkind = \"ext4\"\nlabel = \"no flushes\"\nmount = [\"nobarrier\"]\n";
    let (_desk, run) = compared(text, &testbed, 1, 2);
    let measured: Vec<&Record> = run.records.iter().filter(|r| r.purpose == Purpose::Measure).collect();
    assert_eq!(measured.len(), 2, "{:?}", run.records.iter().map(Record::why).collect::<Vec<_>>());
    for record in &measured {
        let survivors = record.survivors.as_ref().unwrap_or_else(|| panic!("{}", record.why()));
        assert!(survivors.files > 3 && survivors.names_promised, "{survivors:?}");
        let is_kept = survivors.lost.is_empty();
        assert_eq!(is_kept, record.filesystem == "ext4", "{}: {survivors:?}", record.filesystem);
        assert_eq!(record.outcome == Outcome::Done, is_kept, "{}", record.why());
        let served = run.requests(record).unwrap().unwrap();
        let [before, after] = [0, 1].map(|life| served.iter().filter(move |s| s.life == life));
        let has = |op| move |s: &&Served| s.op == op;
        assert!(before.clone().any(|s| s.op == Op::Write) && after.clone().any(|s| s.op == Op::Read));
        assert_eq!(before.clone().filter(has(Op::Flush)).count() > 10, is_kept, "{}", record.filesystem);
        assert_eq!(before.count() + after.clone().count(), served.len());
        // The second list is of another machine, whose clock began anew.
        assert!(after.map(|s| s.done_ns).is_sorted());
    }
    let mut seen = Vec::new();
    rerun(
        &Resolved::of(&run.plan).unwrap(),
        &Testbeds::one(&testbed),
        &measured,
        1,
        2,
        &mut |record, compared, _| {
            seen.push((record.trial.clone(), compared.clone()));
        },
    )
    .unwrap();
    assert!(seen.len() == 2 && seen.iter().all(|(_, compared)| *compared == Compared::Same), "{seen:?}");
}

/// What a drive protects needs no flush, and the kernel is told so; a cache that is switched off is told of too.
#[test]
fn a_disk_without_a_volatile_cache_is_sent_no_flush() {
    if !has_guests("disks with and without a volatile cache") {
        return;
    }
    let flushes = ["samsung-pm9a3-1920", "ssd-nvme"].map(|disk| {
        let (_desk, run) = carry_out("\"ext4\"", &model(&format!("{disk},samples=off")), 0, 1);
        let [record] = run.records.as_slice() else { panic!("{:?}", run.records) };
        assert_eq!(record.outcome, Outcome::Done, "{disk}: {}", record.why());
        let served = run.requests(record).unwrap().unwrap();
        let forced = served.iter().filter(|s| s.op == Op::Write && s.fua).count();
        let flushed = served.iter().filter(|s| s.op == Op::Flush).count();
        assert!(served.iter().any(|s| s.op == Op::Write));
        (flushed > 0, forced > 0)
    });
    assert_eq!(flushes, [(false, false), (true, true)]);
}

#[test]
fn two_clients_share_the_one_cpu_in_the_same_way_each_time() {
    if !has_guests("two clients in virtual time") {
        return;
    }
    let testbed = model("diamondmax-plus-8");
    let (_desk, run) = carry_out_by(2, "\"ext4\"", &testbed, 1, 2);
    let records = candidates(&run);
    assert_eq!(records.len(), 2, "{:?}", run.records.iter().map(|r| &r.reason).collect::<Vec<_>>());
    let mut same = 0;
    rerun(
        &Resolved::of(&run.plan).unwrap(),
        &Testbeds::one(&testbed),
        &records,
        1,
        1,
        &mut |record, compared, _| {
            assert_eq!(*compared, Compared::Same, "{}", record.trial);
            same += 1;
        },
    )
    .unwrap();
    assert_eq!(same, 2);
    for record in records {
        let by_client = &record.stages[0].by_client;
        let [first, second] = &by_client[..] else { panic!("{by_client:?}") };
        let (name, together) =
            (&record.trial, first.began_ns < second.ended_ns && second.began_ns < first.ended_ns);
        assert!(together, "{name}: they took turns: {by_client:?}");
        assert_eq!((first.client, second.client, record.works[0].clients), (0, 1, 2), "{name}");
    }
}

#[test]
fn two_disks_are_two_candidates_of_one_run_and_meet_in_each_sample() {
    if !has_guests("two modelled disks in one run") {
        return;
    }
    let (slow, fast) = (model("diamondmax-plus-8"), model("hdd-16tb"));
    let text = "name = 'disks'\nsize = '512m'\nmemory = '64m'\nworkloads = ['maildir-quick']\nfilesystems = ['ext4']\n\
                rounds = 2\nseed = 7\nscale = '1/64'\n[cross]\non = ['model:diamondmax-plus-8', 'model:hdd-16tb']\n";
    let plan = Experiment::parse(text, "test").unwrap().plan("loop".into(), 1).unwrap();
    let (_desk, run) = carried_out(plan, &Testbeds::all_of([&slow as &dyn Testbed, &fast]), 2);
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
    assert!(run.records.iter().all(|r| r.outcome == Outcome::Done), "{:?}", run.records);
    for round in [1, 2] {
        let of_round: Vec<_> = run.records.iter().filter(|r| r.round == round).collect();
        let [a, b] = of_round.as_slice() else { panic!("round {round} has {} trials", of_round.len()) };
        let (a, b) = (a.sampled().unwrap(), b.sampled().unwrap());
        assert!(a.disk != b.disk && a.sample == b.sample, "{a:?} {b:?}");
    }
    let work = Dataset::of(&run);
    let pairs = ensemble::findings(&work.workloads, run.plan.margin);
    assert!(!pairs.is_empty() && pairs.iter().all(|pair| pair.n == 2), "{pairs:?}");
}

#[test]
fn a_kernel_that_cannot_serve_the_disk_is_refused_before_anything_runs() {
    if kernel::find(Some("6.1")).is_none() {
        return crate::support::skipped(
            "a kernel without ublk",
            "there is no kernel 6.1 (fsderby kernel fetch 6.1)",
        );
    }
    let on = ["run", "--filesystems", "ext4", "--output", "out", "--on", "model:hdd-16tb"];
    let refused = |more: &[&str], words: &[&str]| Desk::new().refuses(&[&on[..], more].concat(), 3, words);
    refused(&["--kernel", "6.1"], &["cannot run the disk model: no module ublk_drv", "try: --on vm"]);
    if kernel::find(Some("6.12")).is_some() {
        refused(&["--kernel", "6.12", "--kernel", "6.1"], &["ext4, kernel 6.1: the kernel 6.1."]);
    }
}

#[test]
fn a_guest_that_panics_spins_or_loses_its_disk_is_one_failed_trial() {
    if !has_guests("guests that fail on purpose") {
        return;
    }
    for (mishap, outcome, attempts, words) in [
        (Mishap::Panic, Outcome::Failed, 1, "Kernel panic"),
        (Mishap::Spin, Outcome::Void, 3, "the guest is in a loop"),
        (Mishap::DiskLost, Outcome::Failed, 1, "failed: Input/output error"),
    ] {
        let mut testbed = model("diamondmax-plus-8");
        testbed.mishap = Some(mishap);
        testbed.patience = Duration::from_secs(if mishap == Mishap::Spin { 8 } else { 600 });
        let (_desk, run) = carry_out("\"ext4\"", &testbed, 0, 1);
        assert_eq!(run.records.len(), attempts, "{:?}", run.records);
        for record in &run.records {
            let reason = record.why();
            assert_eq!(record.outcome, outcome, "{mishap:?}: {reason}");
            assert!(reason.contains(words), "{mishap:?}: {reason}");
        }
    }
}

#[test]
fn one_trial_is_run_again_with_its_console_and_its_disk_in_a_new_file() {
    if !has_guests("a trial that is looked into") {
        return;
    }
    let desk = Desk::new();
    let words = [
        "run",
        "--on",
        "model:ssd-nvme",
        "--filesystems",
        "ext4",
        "--workloads",
        "maildir-quick",
        "--output",
    ];
    let small = ["--size", "64m", "--memory", "64m", "--scale", "1/32", "--rounds", "1", "--seed", "7", "-q"];
    let made = desk.say(&[&words[..], &["out"], &small].concat());
    let run = store::read(&desk.path("out")).unwrap_or_else(|e| panic!("{e:#} {made:?}"));
    let trial = run.records.iter().find(|record| record.round == 1).unwrap().trial.clone();
    let again = ["verify", "out", "--rerun", trial.as_str(), "--console", "--keep-image", "disk"];
    let said = desk.say(&again);
    assert!(
        said.code == 0
            && said.out.contains("1 identical")
            && said.out.contains("kept the trial's disk in disk"),
        "{said:?}"
    );
    assert!(said.out.contains("reboot: Restarting system"), "{said:?}");
    assert_eq!(fs::metadata(desk.path("disk")).unwrap().len(), 64 << 20);
    let check = Command::new("/usr/sbin/e2fsck").arg("-fn").arg(desk.path("disk")).output().unwrap();
    assert!(check.status.success(), "{check:?}");
    let before = fs::read(desk.path("disk")).unwrap();
    desk.refuses(&again, 2, &["could not create disk", "File exists", "new file"]);
    assert!(fs::read(desk.path("disk")).unwrap() == before);
    desk.refuses(&["verify", "out", "--rerun", "all", "--keep-image", "other"], 2, &["show one trial"]);
    desk.refuses(&["verify", "out", "--rerun", "all", "--shell"], 2, &["show one trial"]);
    let looked = typed(&desk, &["verify", "out", "--rerun", trial.as_str(), "--shell"]);
    assert!(looked.contains("Mounted on") && looked.contains("/dev/vda"), "{looked}");
    assert!(looked.contains("the release is 6."), "{looked}");
    desk.refuses(&["verify", "out", "--console"], 2, &["--rerun"]);
    assert!(!desk.path("other").exists());
}

/// `make nightly` does it on vm.
#[test]
fn all_disks_of_a_trial_are_kept() {
    kept_disks("model:ssd-nvme,disks=2", "1 identical");
}

/// What the shell of a guest prints for some lines, which are typed when it asks for them.
fn typed(desk: &Desk, arguments: &[&str]) -> String {
    let mut command = desk.fsderby(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut seen = String::new();
    for line in ["mount -t ext4 /dev/vda /mnt", "df /mnt", "echo the release is $(uname -r)", "exit"] {
        let (begin, mut bytes) = (seen.len(), [0; 1024]);
        while !seen[begin..].ends_with("guest # ") {
            let length = screen.read(&mut bytes).unwrap();
            assert!(length > 0, "no further prompt: {seen}");
            seen += &String::from_utf8_lossy(&bytes[..length]);
        }
        writeln!(keys, "{line}").unwrap();
    }
    screen.read_to_string(&mut seen).unwrap();
    assert!(child.wait().unwrap().success(), "{seen}");
    seen
}

/// The disk stops answering inside the work. The work cannot even be killed then, nor its filesystem unmounted.
/// `make nightly` has other filesystems.
#[test]
fn a_step_that_does_not_end_fails_at_its_limit_of_virtual_time_with_the_blocked_tasks() {
    stalled("btrfs");
}

#[test]
fn what_cannot_be_modelled_is_refused_with_what_to_write() {
    let desk = Desk::new();
    let refused = |arguments: &[&str], code: i32, words: &str| {
        let common = ["run", "--dry-run", "--filesystems", "ext4", "--size", "512m"];
        let said = desk.say(&[&common[..], arguments].concat());
        assert_eq!(said.code, code, "{arguments:?}: {said:?}");
        assert!(said.err.contains(words), "{arguments:?}: {}", said.err);
    };
    refused(&["--on", "model:"], 2, "needs a disk");
    refused(&["--on", "model:diamondmax"], 2, "diamondmax-plus-8");
    refused(&["--on", "model:./none.toml"], 2, "none.toml");
    refused(&["--on", "model:zero,mips=99"], 2, "100 to 8000");
    refused(&["--on", "model:zero,machine=celeron"], 2, "celeron-533");
    refused(&["--on", "model:zero,machine=./none.toml"], 2, "none.toml");
    refused(&["--on", "model:zero,offset=5"], 2, "whole number of MiB");
    refused(&["--on", "model:zero,disks=0"], 2, "1 to 16");
    refused(&["--on", "model:zero,disks=17"], 2, "1 to 16");
    refused(&["--on", "model:zero,disks=two"], 2, "1 to 16");
    refused(&["--on", "model:zero,colour=red"], 2, "has no setting");
    refused(&["--on", "loop", "--jobs", "2"], 2, "would disturb each other");
    desk.file("half.toml", "name = \"half\"\n");
    refused(&["--on", "model:./half.toml"], 2, "could not parse the disk ./half.toml");
    desk.file("noise.toml", [0xff, 0xfe, 0x00]);
    refused(&["--on", "model:./noise.toml"], 2, "noise.toml");
}

#[test]
fn a_window_beyond_the_disk_is_refused_before_anything_is_made() {
    if !has_guests("a volume beyond the disk") {
        return;
    }
    let desk = Desk::new();
    let said =
        desk.say(&["run", "--on", "model:diamondmax-plus-8,offset=38g", "--size", "4g", "--output", "run"]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains("does not fit on the disk"), "{}", said.err);
    assert!(!desk.path("run").exists());
    let many = ["--on", "model:hdd-16tb,disks=16", "--layer", "md:raid0", "--size", "64g"];
    let said = desk.say(&[&["run"], &many[..], &["--filesystems", "xfs", "--output", "run"]].concat());
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains("fewer disks"), "{}", said.err);
    assert!(!desk.path("run").exists());
}

#[test]
fn a_volume_filled_with_more_than_can_be_held_is_refused_before_anything_is_made() {
    if !has_guests("a volume filled with terabytes") {
        return;
    }
    let desk = Desk::new();
    let disk = ["run", "--on", "model:hdd-16tb", "--size", "14t", "--filesystems", "xfs", "--rounds", "1"];
    let filled = |state: &str, more: &[&str]| desk.say(&[&disk[..], &["--state", state], more].concat());
    let said = filled("filled 80%", &["--output", "run"]);
    assert_eq!(said.code, 3, "{said:?}");
    for told in ["a filesystem filled with", "--state 'allocated 80%'"] {
        assert!(said.err.contains(told), "{}", said.err);
    }
    assert!(!desk.path("run").exists());
    let said = filled("allocated 80%", &["--dry-run"]);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn only_runs_in_virtual_time_can_be_run_again() {
    let desk = Desk::new();
    let site = desk.path("site");
    fs::create_dir(&site).unwrap();
    let testbed = format!("directory:{}", site.display());
    let run =
        ["run", "--on", &testbed, "--workloads", "postmark-quick", "--scale", "1/64", "--memory", "none"];
    let said = desk.say(&[&run[..], &["--rounds", "1", "--output", "run"]].concat());
    assert!(matches!(said.code, 0 | 4), "{said:?}");
    let said = desk.say(&["verify", "run", "--rerun"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("model:DISK"), "{}", said.err);
}

/// How a change of structure shows that it changed nothing: a new host with an older agent must repeat every request of the older
/// program. FSDERBY_OLDER names that program, of the same protocol, and all kinds are compared; without it an older one is
/// played by a copy of ours, another file that does the same.
#[test]
fn a_host_with_an_older_agent_repeats_every_request_of_the_older_program() {
    if !has_guests("another program as the guests' agent") {
        return;
    }
    let desk = Desk::new();
    let (older, filesystems) = match std::env::var_os("FSDERBY_OLDER") {
        Some(older) => (PathBuf::from(older), "all"),
        None => (a_copy(&desk), "ext4"),
    };
    let experiment = ["run", "quick", "--on", "model:hdd-16tb,samples=off", "--filesystems", filesystems];
    let small = ["--workloads", "maildir-quick", "--size", "512m", "--memory", "64m", "--scale", "1/32"];
    let once = ["--rounds", "1", "--seed", "7", "--quiet"];
    let common: Vec<&str> = [&experiment[..], &small, &once].concat();
    let theirs =
        run(Command::new(&older).args(&common).args(["--output", "older"]).current_dir(desk.path("")));
    assert_eq!(theirs.code, 0, "{theirs:?}");
    let more = ["--agent", older.to_str().unwrap(), "--output", "newer"];
    let ours = desk.say(&[&common[..], &more].concat());
    assert_eq!(ours.code, 0, "{ours:?}");
    let requests = |folder: &str| -> BTreeMap<String, Option<String>> {
        let run = store::read(&desk.path(folder)).unwrap();
        let hash = |record: &Record| record.requests.as_ref().map(|file| file.blake3.clone());
        run.current().into_iter().map(|record| (record.trial.clone(), hash(record))).collect()
    };
    let (theirs, ours) = (requests("older"), requests("newer"));
    assert!(theirs.len() > 1 && theirs.values().any(Option::is_some), "{theirs:?}");
    assert_eq!(theirs, ours);
}

/// Our own program in another file, of another length.
fn a_copy(desk: &Desk) -> PathBuf {
    let copy = desk.path("older-fsderby");
    copy_program(&copy);
    let longer = Command::new("truncate").args(["--size", "+1"]).arg(&copy).status();
    assert!(longer.is_ok_and(|status| status.success()));
    copy
}
