//! What is checked before a run: a dry run refuses what the run refuses, each candidate's mkfs and mount are tried before anything is
//! measured, and two runs at once are told of each other.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use fsderby::exit;
use fsderby::host::programs;
use fsderby::store;

use crate::support::desk::Desk;
use crate::support::has_loop;

const USAGE: i32 = exit::USAGE as i32;
const MISSING: i32 = exit::MISSING as i32;

const WORK: [&str; 6] = ["--workloads", "postmark-quick", "--rounds", "1", "--filesystems", "ext4"];

/// There a trial's mounts cannot be private: each would be void.
#[test]
fn a_root_that_is_no_mount_point_is_refused_by_doctor_and_beforehand() {
    if !has_loop("a chroot") {
        return;
    }
    let inside = |mounted: &str, arguments: &[&str]| {
        let script = format!(
            "mkdir -p root/proc root/sys root/dev root/tmp root/var/tmp; cp \"$1\" root/fsderby; shift; {mounted}\n\
             for folder in proc sys dev; do mount --rbind /$folder root/$folder; done; exec chroot root /fsderby \"$@\""
        );
        Desk::new().say_after(&script, arguments)
    };
    let directory = [
        "run",
        "quick",
        "--workloads",
        "postmark-quick",
        "--memory",
        "none",
        "--on",
        "directory:/tmp",
        "--dry-run",
    ];
    let why = "/ is not a mount point";
    let said = inside(":", &directory);
    assert!(said.code == MISSING && said.err.contains(why), "{said:#?}");
    let said = inside(":", &["run", "quick", "--on", "loop", "--dry-run"]);
    assert!(said.code == MISSING && said.err.contains(why), "{said:#?}");
    let said = inside(":", &["doctor"]);
    let line = said.out.lines().find(|line| line.contains("testbed loop")).unwrap_or_default();
    assert!(line.starts_with("missing") && line.contains(why), "{said:#?}");
    let bound = "mount --bind root root";
    let said = inside(bound, &["doctor"]);
    let line = said.out.lines().find(|line| line.contains("testbed loop")).unwrap_or_default();
    assert!(line.starts_with("ok"), "{said:#?}");
    let said = inside(bound, &directory);
    assert_eq!(said.code, 0, "{said:#?}");
}

#[test]
fn a_dry_run_refuses_what_the_run_refuses() {
    if !has_loop("what a run refuses on loop") {
        return;
    }
    let desk = Desk::new();
    let on = desk.testbed();
    let on = on.as_str();
    let nowhere = format!("loop:{}", desk.path("nowhere").display());
    for (words, code, why) in [
        (&["--on", on, "--layer", "crypt"][..], USAGE, &["layers need a guest", "--on vm"][..]),
        (&["--on", on, "--layer", "md:raid1"], USAGE, &["layers need a guest"]),
        (&["--on", nowhere.as_str()], MISSING, &["does not exist"]),
        (&["--on", on, "--memory", "500g"], MISSING, &["500 GiB has no effect", "this machine has"]),
        (&["--on", "twin:hdd-16tb", "--memory", "500g"], MISSING, &["500 GiB has no effect"]),
        (
            &["--on", "twin:hdd-16tb", "--size", "15t", "--state", "filled 80%"],
            MISSING,
            &[
                "--on twin holds the disk's content in memory: 12 TiB of initial content",
                "or a state with less",
            ],
        ),
        (&["--on", on, "--size", "12t"], MISSING, &["an image in", "are free"]),
        (&["--on", on, "--cpus", "2"], MISSING, &["their number cannot be limited"]),
        (&["--on", on, "--power-cut", "50%"], USAGE, &["cannot cut the power"]),
        (&["--on", on, "--state", "preconditioned"], MISSING, &["cannot precondition"]),
        (&["--on", on, "--baseline", "xfs"], USAGE, &["--baseline"]),
        (&["--on", on, "--size", "32m"], USAGE, &["too much for an image of 32 MiB"]),
        (
            &["--on", "twin:diamondmax-plus-8,offset=38g", "--size", "4g"],
            MISSING,
            &["does not fit on the disk"],
        ),
        (&["--on", on, "--output", "out/of/plan.toml/run"], MISSING, &["plan.toml is not a directory"]),
        (&["--on", on, "--output", "/sys/run"], MISSING, &["/sys: it holds no files but the kernel's own"]),
        (&["--on", on, "--output", "there"], USAGE, &["already exists"]),
    ] {
        let desk = Desk::new();
        fs::create_dir_all(desk.path("there")).unwrap();
        fs::create_dir_all(desk.path("out/of")).unwrap();
        desk.file("out/of/plan.toml", "");
        let run = ["run", "quick"];
        let output = if words.contains(&"--output") { &[][..] } else { &["--output", "new"] };
        let all = [&run[..], &WORK, words, output].concat();
        desk.refuses(&all, code, why);
        desk.refuses(&[&all[..], &["--dry-run"]].concat(), code, why);
        desk.refuses(&[&all[..], &["--dry-run", "--json"]].concat(), code, why);
    }
}

#[test]
fn on_a_directory_a_dry_run_refuses_it_too() {
    if !has_loop("mounts of a memory filesystem") {
        return;
    }
    let desk = Desk::new();
    fs::create_dir(desk.path("small")).unwrap();
    let here = format!("directory:{}", desk.path("small").display());
    let words = ["run", "quick", "--on", &here, "--workloads", "postmark-quick", "--rounds", "1"];
    let words = [&words[..], &["--output", "new"]].concat();
    let small = format!("mount -t tmpfs -o size=4m none {}", desk.path("small").display());
    let read_only = format!("mount -t tmpfs -o ro none {}", desk.path("small").display());
    for (before, more, code, why) in [
        (small.as_str(), &[][..], MISSING, "of files at a time, too much for directory:"),
        (read_only.as_str(), &[], MISSING, "could not create files in"),
        ("true", &["--memory", "500g"], MISSING, "500 GiB has no effect"),
        ("true", &["--on", "directory:/nowhere/at/all"], MISSING, "/nowhere/at/all"),
    ] {
        for dry in [&[][..], &["--dry-run"]] {
            let said = desk.say_after(before, &[&words[..], more, dry].concat());
            let is_refused = said.err.contains(why) && !desk.path("new").exists();
            assert!(said.code == code && is_refused, "{before}, {more:?}, {dry:?}: {said:#?}");
        }
    }
}

#[test]
fn a_dry_run_that_continues_a_run_is_refused_as_the_run_is() {
    let desk = Desk::new();
    let here = format!("directory:{}", desk.path("").display());
    let words = ["run", "quick", "--on", &here, "--workloads", "postmark-quick", "--scale", "1/8"];
    let first = desk.say(&[&words[..], &["--memory", "none", "--rounds", "1", "--output", "new"]].concat());
    assert!(matches!(first.code, 0 | 4), "{first:#?}");
    for dry in [&[][..], &["--dry-run"]] {
        let more = ["run", "--resume", "new", "--rounds", "2", "--baseline", "nobody"];
        desk.refuses(&[&more[..], dry].concat(), USAGE, &["--baseline"]);
    }
    let machine = fs::read_to_string(desk.path("new/machine.json")).unwrap();
    let before = fs::read(desk.path("new/trials.jsonl")).unwrap();
    fs::write(desk.path("new/machine.json"), machine.replacen("\"cpu\": \"", "\"cpu\": \"another ", 1))
        .unwrap();
    let codes = [&[][..], &["--dry-run"]]
        .map(|dry| desk.say(&[&["run", "--resume", "new", "--rounds", "2"][..], dry].concat()).code);
    assert!(codes[0] != 0 && codes[0] == codes[1], "{codes:?}");
    assert_eq!(fs::read(desk.path("new/trials.jsonl")).unwrap(), before);
}

#[test]
fn a_wrong_option_of_one_candidate_ends_the_run_before_the_others_are_measured() {
    if !has_loop("wrong options") {
        return;
    }
    let desk = Desk::new();
    for (candidate, why) in [
        ("ext4 label=odd mount=notaime", "notaime"),
        ("xfs label=odd mount=logbufs=99", "logbufs"),
        ("btrfs label=odd mount=compress=rar", "compress"),
        ("ext4 label=odd mkfs=\"-O no_such_feature\"", "no_such_feature"),
        ("xfs label=odd mkfs=\"-d nonsense=1\"", "nonsense"),
        ("ext4 label=odd mkfs=\"-I 77\"", "77"),
    ] {
        let begin = Instant::now();
        let words = ["run", "quick", "--on", &desk.testbed(), "--filesystems", "ext2", "--rounds", "6"];
        let own = ["--size", "512m", "--filesystem", candidate, "--output", "out"];
        desk.refuses(&[&words[..], &own].concat(), USAGE, &["odd", why]);
        assert!(begin.elapsed() < Duration::from_secs(20), "{candidate}: {:?}", begin.elapsed());
        assert!(!desk.path("out").exists(), "{candidate}");
    }
}

#[test]
fn two_runs_at_once_are_told_of_each_other() {
    if !has_loop("two runs at once") {
        return;
    }
    let desk = Desk::new();
    let testbed = desk.testbed();
    let words = |output, rounds| {
        let fixed = ["run", "quick", "--on", testbed.as_str(), "--size", "320m", "--seed", "7"];
        [&fixed[..], &WORK[..2], &["--filesystems", "ext4", "--rounds", rounds, "--output", output]].concat()
    };
    let mut first = desk.fsderby(&words("first", "40"));
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    while !desk.path("first").exists() && begin.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let second = desk.say(&words("second", "1"));
    rustix::process::kill_process(rustix::process::Pid::from_child(&first), rustix::process::Signal::INT)
        .unwrap();
    first.wait().unwrap();
    let told = "note: 1 other run of fsderby on this machine";
    // Tests of other programs may run at the same time.
    assert!(second.err.contains(told) || second.err.contains("other runs of fsderby"), "{second:#?}");
    let records = store::read(&desk.path("second")).unwrap().records;
    assert!(!records.is_empty());
    for record in &records {
        assert!(record.circumstances.other_runs >= 1, "{}", record.trial);
    }
    assert!([0, 4].contains(&desk.say(&["verify", "second"]).code));
    desk.leaves_nothing(second.pid);
}

#[test]
fn a_shard_that_cannot_be_is_refused_by_the_dry_run_and_by_the_run() {
    let desk = Desk::new();
    let refused = |more: &[&str], words: &[&str]| {
        let run = ["run", "quick", "--on", "model:hdd-16tb", "--seed", "7", "--output", "out"];
        desk.refuses(&[&run[..], more].concat(), 2, words);
        desk.refuses(&[&run[..], more, &["--dry-run"]].concat(), 2, words);
    };
    for shard in ["0/4", "5/4", "4", "1/0", "a/b"] {
        refused(&["--shard", shard], &[shard, "is not a shard"]);
    }
    refused(&["--rounds", "3", "--shard", "1/9999"], &["shard 1/9999: the plan has only ", "try: at most "]);
    refused(&["--shard", "1/2"], &["depends on results or time", "try: --rounds N"]);
    refused(&["--shard", "1/2", "--budget", "1h"], &["depends on results or time", "try: --rounds N"]);
    desk.refuses(&["run", "quick", "--shard", "1/2"], 2, &["has no seed", "try: --seed 1"]);
    let real = ["run", "quick", "--on", "loop", "--seed", "7", "--rounds", "2", "--shard", "1/3"];
    desk.refuses(&real, 2, &["only 2 rounds, and in real time a round stays on one machine"]);
    desk.refuses(&["merge", "out"], 2, &["SHARD"]);
    desk.refuses(&["merge", "out", "nothing"], 2, &["nothing is not a run's folder"]);
    desk.refuses(&["slurm", "status", "nothing"], 2, &["nothing is no campaign", "try: "]);
    desk.refuses(&["slurm", "quick", "--time", "soon"], 2, &["'soon' is no time limit"]);
    desk.refuses(&["slurm"], 2, &["<PLAN>"]);
    if programs::find("sbatch").is_none() {
        desk.refuses(&["slurm", "quick", "--submit"], 3, &["there is no sbatch", "try: --write"]);
    }
}
