//! What is too long, too large or too much, and what is taken away while it is needed: refused with words and the documented
//! exit code, before anything is done where that can be known.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::desk::{Desk, Said, run};
use crate::support::{copy_program, has_loop, is_root, skipped};
use fsderby::exit;

const USAGE: i32 = exit::USAGE as i32;
const MISSING: i32 = exit::MISSING as i32;
/// Nobody, on every Linux.
const NOBODY: u32 = 65534;
/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const PLAIN: &str = "filesystems = ['ext4']\nworkloads = ['postmark-quick']\n";

fn file(text: &str, words: &[&str]) {
    let desk = Desk::new();
    desk.file("x.toml", text);
    desk.refuses(&["run", "x.toml", "--on", "directory:.", "--output", "out"], USAGE, words);
}

fn flags(flags: &[&str], code: i32, words: &[&str]) {
    Desk::new().refuses(&[&["run"], flags].concat(), code, words);
}

#[test]
fn no_rounds_at_least_are_refused_in_the_file_too() {
    file(&format!("at_least = 0\nbudget = '1m'\n{PLAIN}"), &["at_least = 0", "try: at_least = 6"]);
    file(&format!("at_least = 0\nrounds = 3\n{PLAIN}"), &["at_least = 0"]);
}

#[test]
fn names_that_no_file_could_have_are_refused() {
    let long = "m".repeat(300);
    let of = |what: &str| format!("{what} that begins with 'mmmmmmmmmmmmmmmmmmmm' has 300 bytes");
    file(&format!("name = '{long}'\n{PLAIN}"), &[&of("the name of the experiment"), "try: 100 at most"]);
    file(&format!("name = \"two\\nlines\"\n{PLAIN}"), &["'two\\nlines' cannot name an experiment"]);
    let filesystem = |more: &str| format!("{PLAIN}[[filesystem]]\nkind = 'ext4'\nlabel = '{long}'\n{more}\n");
    file(&filesystem("on = 'directory:.'"), &[&of("the label of the filesystem")]);
    file(&filesystem(""), &["has no effect on a directory", "try: on = "]);
    let work = |more: &str| format!("{PLAIN}[[workload]]\nset = 'postmark-quick'\n{more}\n");
    file(&work(&format!("label = '{long}'")), &[&of("the label of the workload")]);
    file(&work(&format!("locations = [{{ path = 'a/{long}' }}]")), &["is not a relative path"]);
}

#[test]
fn sizes_offsets_and_scales_that_overflow_are_refused() {
    let most = u64::MAX.to_string();
    for (testbed, flag, words) in [
        ("loop", "--size", "below 8 EiB"),
        ("loop", "--memory", "below 8 EiB"),
        ("model:hdd-16tb", "--size", "below 8 EiB"),
        ("loop", "--scale", "is too large"),
        ("model:hdd-16tb", "--scale", "is too large"),
    ] {
        flags(&["--on", testbed, flag, &most], USAGE, &[words]);
        flags(&["--on", testbed, flag, &most, "--dry-run"], USAGE, &[words]);
    }
    let beyond = |offset: &str| format!("model:hdd-16tb,offset={offset}");
    flags(&["--on", &beyond(&most)], USAGE, &["below 8 EiB"]);
    let mebibyte = 1 << 20;
    let last = (i64::MAX / mebibyte * mebibyte).to_string();
    flags(&["--on", &beyond(&last)], USAGE, &["is beyond the end of the disk"]);
    let largest = i64::MAX.to_string();
    flags(&["--on", "loop", "--filesystems", "ext4", "--size", &largest], USAGE, &["too large for ext4"]);
}

#[test]
fn more_trials_a_round_than_anybody_waits_for_are_refused() {
    let label = |n| format!("[[filesystem]]\nkind = 'ext4'\non = 'directory:.'\nlabel = '{n}'\n");
    let work = |n| format!("[[workload]]\nset = 'postmark-quick'\nlabel = '{n}'\n");
    let text: String = (0..101).map(label).chain((0..100).map(work)).collect();
    file(&text, &["101 filesystems and 100 scenarios make 10100 trials per round", "several experiments"]);
}

#[test]
fn memories_that_a_scale_makes_one_are_refused() {
    let desk = Desk::new();
    desk.file("x.toml", format!("{PLAIN}[cross]\nmemory = ['64m', '512m']\n"));
    let words = ["two of the compared memory sizes are", "try: a larger --scale, or one --memory"];
    desk.refuses(&["run", "x.toml", "--on", "loop", "--scale", "1/64"], USAGE, &words);
}

/// What a dry run says in its last lines, as JSON.
fn notes(desk: &Desk, more: &[&str]) -> String {
    let said = desk.say(&[&["run"], more, &["--dry-run", "--json"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let shown: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    shown["notes"].to_string()
}

#[test]
fn a_dry_run_says_what_a_scale_no_longer_tests_and_which_budget_is_too_short() {
    if !has_loop("dry runs on loop") {
        return;
    }
    let desk = Desk::new();
    let testbed = desk.testbed();
    let of = |more: &[&str]| notes(&desk, &[more, &["--on", &testbed, "--filesystems", "ext4,xfs"]].concat());
    assert_eq!(of(&["mailserver", "--scale", "1/8"]), "[]");
    let small = of(&["mailserver", "--scale", "1/64"]);
    assert!(small.contains("the least that it needs") && small.contains("--scale 1/"), "{small}");
    let volume = of(&["fileserver", "--scale", "1/64", "--memory", "64m"]);
    assert!(volume.contains("At scale 1/64 the volume should have 192 MiB, but has 512 MiB"), "{volume}");
    assert_eq!(of(&["quick"]), "[]", "five minutes hold its least rounds");
    let budget = of(&["quick", "--budget", "10s"]);
    assert!(budget.contains("The budget of 10s is too short") && !budget.contains("--at-least"), "{budget}");
    let some = of(&["quick", "--budget", "100s"]);
    assert!(some.contains("Try --at-least "), "{some}");
    assert_eq!(of(&["quick", "--budget", "2m", "--at-least", "1"]), "[]");
}

/// The program with so little memory and CPU time.
fn within(desk: &Desk, mebibytes: u32, seconds: u32, arguments: &[&str]) -> Said {
    let limits = format!("ulimit -v {}; ulimit -t {seconds}; exec \"$@\"", mebibytes * 1024);
    let mut command = Command::new("sh");
    command.args(["-c", &limits, "sh", env!("CARGO_BIN_EXE_fsderby")]).args(arguments);
    run(command.current_dir(desk.path("")).env("NO_COLOR", "1"))
}

#[test]
fn a_dry_run_of_a_hundred_million_files_and_trials_takes_little() {
    let desk = Desk::new();
    let set = "set = 'postmark-quick'\nnumber = 100000000\ntransactions = 100000000\n";
    desk.file("files.toml", format!("filesystems = ['ext4']\n[[workload]]\n{set}"));
    desk.file("trials.toml", format!("rounds = 4294967295\n{PLAIN}"));
    let said = within(&desk, 100, 10, &["run", "files.toml", "--on", "loop", "--size", "16t", "--dry-run"]);
    // The plan is printed, and refused: no machine of a test has 16 TiB, or the user is not root.
    assert!(
        [0, MISSING].contains(&said.code) && said.out.contains("TiB written by the workloads"),
        "{said:?}"
    );
    let said = within(&desk, 100, 10, &["run", "trials.toml", "--on", "directory:.", "--dry-run"]);
    assert!(said.code == 0 && said.out.contains("4,294,967,295 rounds"), "{said:?}");
    if is_root() {
        let words = ["run", "files.toml", "--on", "loop", "--size", "64g", "--dry-run"];
        let said = within(&desk, 100, 10, &words);
        desk.refused(&said, USAGE, &["TiB of files at a time, too much for an image of 64 GiB"]);
    }
}

/// A run on a directory.
fn words(desk: &Desk) -> Vec<String> {
    let testbed = format!("directory:{}", desk.images().display());
    let words = ["run", "quick", "--workloads", "postmark-quick", "--memory", "none", "--scale", "1/16"];
    let more = ["--seed", "1", "--quiet", "--on", &testbed, "--output", "out", "--rounds"];
    words.iter().chain(&more).map(|word| (*word).to_owned()).collect()
}

/// Of a run of many rounds: what it says when this is done to its folder after the first record.
fn said_after(desk: &Desk, change: impl FnOnce()) -> Said {
    let mut command = desk.fsderby(&[&words(desk)[..], &["1000".to_owned()]].concat());
    let records = desk.path("out/trials.jsonl");
    std::thread::scope(|scope| {
        let run = scope.spawn(|| run(&mut command));
        let begin = Instant::now();
        while fs::metadata(&records).map_or(0, |about| about.len()) == 0 {
            assert!(begin.elapsed() < PATIENCE, "it stored nothing");
            std::thread::sleep(Duration::from_millis(1));
        }
        change();
        run.join().unwrap()
    })
}

#[test]
fn a_runs_folder_that_is_renamed_or_replaced_meanwhile_ends_the_run() {
    let words = [
        "could not store a trial in out",
        "the folder was renamed or removed",
        "move the folder back",
        "--resume out",
    ];
    let desk = Desk::new();
    let said = said_after(&desk, || fs::rename(desk.path("out"), desk.path("aside")).unwrap());
    desk.refused(&said, MISSING, &words);
    fs::rename(desk.path("aside"), desk.path("out")).unwrap();
    assert_eq!(desk.say(&["verify", "out"]).code, 0, "what was stored is sound");
    let said = desk.say(&["run", "--resume", "out", "--rounds", "1", "--quiet"]);
    assert_eq!(said.code, 0, "{said:?}");
    let desk = Desk::new();
    let said = said_after(&desk, || {
        fs::rename(desk.path("out"), desk.path("aside")).unwrap();
        fs::create_dir(desk.path("out")).unwrap();
        fs::write(desk.path("out/trials.jsonl"), "").unwrap();
    });
    desk.refused(&said, MISSING, &words);
    assert_eq!(fs::read(desk.path("out/trials.jsonl")).unwrap(), b"", "another's file is not written to");
}

#[test]
fn a_runs_folder_that_is_removed_meanwhile_ends_the_run() {
    let desk = Desk::new();
    let said = said_after(&desk, || while fs::remove_dir_all(desk.path("out")).is_err() {});
    desk.refused(&said, MISSING, &["could not store a trial in out", "the folder was renamed or removed"]);
}

/// The program, run by nobody behind these words.
fn as_nobody(desk: &Desk, before: &[&str], arguments: &[&str]) -> Said {
    let program = desk.path("fsderby");
    copy_program(&program);
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let mut line: Vec<&std::ffi::OsStr> = before.iter().map(std::ffi::OsStr::new).collect();
    line.push(program.as_os_str());
    let mut command = Command::new(line[0]);
    command.args(&line[1..]).args(arguments).env("NO_COLOR", "1");
    let said = run(command.current_dir(desk.path("")).uid(NOBODY).gid(NOBODY));
    fs::remove_file(program).unwrap();
    said
}

#[test]
fn a_run_without_a_right_to_it_is_not_gone_on_with() {
    if !is_root() {
        return skipped("resuming without rights", "changing the user needs root");
    }
    let desk = Desk::new();
    let said = desk.say(&[&words(&desk)[..], &["1".to_owned()]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let resume = ["run", "--resume", "out", "--rounds", "2"];
    let refused = ["could not resume out", "trials.jsonl: Permission denied", "try: "];
    desk.refused(&as_nobody(&desk, &[], &resume), MISSING, &refused);
    // The records are nobody's, the folder with the rest is not.
    for name in ["trials.jsonl", "."] {
        std::os::unix::fs::chown(desk.path("out").join(name), Some(NOBODY), Some(NOBODY)).unwrap();
        fs::set_permissions(desk.images(), Permissions::from_mode(0o777)).unwrap();
        let words = ["could not store a trial in out", "Permission denied", "check the permissions in it"];
        desk.refused(&as_nobody(&desk, &[], &resume), MISSING, &words);
    }
    let out = desk.path("out").display().to_string();
    let trusting = [&resume[..], &["--trust"]].concat();
    let said =
        desk.say_after(&format!("mount --bind {out} {out}; mount -o remount,ro,bind {out}"), &trusting);
    desk.refused(&said, MISSING, &["could not resume out", "Read-only file system", "try: "]);
}

/// The program under this limit of the shell, and as which user.
fn limited(desk: &Desk, limit: &str, user: &[&str], arguments: &[&str]) -> Said {
    let mut command = Command::new("sh");
    let shell = format!("ulimit {limit}; exec \"$@\"");
    command.args(["-c", &shell, "sh"]).args(user).arg(env!("CARGO_BIN_EXE_fsderby")).args(arguments);
    run(command.current_dir(desk.path("")).env("NO_COLOR", "1"))
}

#[test]
fn limits_of_stack_and_file_size_end_in_words_or_do_not_matter() {
    if !has_loop("limits of stack and file size") {
        return;
    }
    let desk = Desk::new();
    let testbed = desk.testbed();
    let quick = ["run", "quick", "--on", &testbed, "--filesystems", "ext2", "--rounds", "1", "--size", "64m"];
    let quick =
        [&quick[..], &["--workloads", "postmark-quick", "--scale", "1/32", "--output", "out"]].concat();
    // Root may raise the hard limit again, unless it lacks the right.
    for (stack, kib) in [("-s 64", 64), ("-s 128", 128), ("-s 1024", 1024)] {
        let said = limited(&desk, stack, &[], &[&quick[..], &["--dry-run"]].concat());
        match said.code {
            0 => {}
            _ => desk.refused(&said, MISSING, &[&format!("limited to {kib} KiB"), "try: ulimit -s 8192"]),
        }
    }
    let raised = limited(&desk, "-Ss 64", &[], &[&quick[..], &["--dry-run"]].concat());
    assert_eq!(raised.code, 0, "{raised:?}");
    for size in ["-f 0", "-f 1", "-Sf 0"] {
        let said = limited(&desk, size, &[], &quick);
        desk.refused(&said, MISSING, &["File too large"]);
    }
    let nobody = ["setpriv", "--reuid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"];
    let said = limited(&desk, "-s 1024", &nobody, &["list", "filesystems"]);
    desk.refused(&said, MISSING, &["the stack is limited to 1024 KiB", "try: ulimit -s 8192"]);
    for endless in ["/dev/zero", "/dev/urandom", "/dev/full", "/dev/random"] {
        let said = desk.say(&["postmark", endless]);
        desk.refused(&said, 2, &["is a device without an end"]);
    }
    let empty = run(desk.fsderby(&["postmark", "/dev/null"]).stdin(Stdio::null()));
    assert_eq!(empty.code, 0, "{empty:?}");
}

#[test]
fn a_thread_that_cannot_be_started_ends_the_run_in_words() {
    if !is_root() {
        return skipped("a limit of threads", "changing the user needs root");
    }
    let desk = Desk::new();
    let words = [&words(&desk)[..], &["1".to_owned()]].concat();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let said = as_nobody(&desk, &["prlimit", "--nproc=0"], &words);
    desk.refused(&said, MISSING, &["could not start a thread for a trial", "try: a higher ulimit -u"]);
}
