//! What a run makes among other people's files is all that it removes, and it removes all of that.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::desk::{Desk, run};
use crate::support::{is_root, remains, skipped};
use rustix::process::{Pid, Signal, kill_process};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run on a directory, with its results beside it.
fn words(desk: &Desk, output: &str) -> Vec<String> {
    let testbed = format!("directory:{}", desk.images().display());
    let words = ["run", "quick", "--workloads", "postmark-quick", "--rounds", "1", "--memory", "none"];
    let more = ["--scale", "1/16", "--seed", "1", "--quiet", "--on", &testbed, "--output", output];
    words.iter().chain(&more).map(|word| (*word).to_owned()).collect()
}

fn is_site(name: &str) -> bool {
    name.starts_with("fsderby-")
}

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect()
}

/// In versions before this one a trial's folder was called by the process and a hash of the trial's name, which anybody knows.
#[test]
fn a_folder_planted_under_a_name_that_could_be_guessed_survives() {
    let desk = Desk::new();
    let trials = ["integrity", "r01"].map(|first| {
        let trial = format!("{first}/postmark-quick/{}, as mounted", below(desk.images()));
        blake3::hash(trial.as_bytes()).to_hex()[..8].to_owned()
    });
    let script = "folder=$1; shift; for hash in HASHES; do mkdir \"$folder/fsderby-$$-$hash-1\"; \
                  echo kept > \"$folder/fsderby-$$-$hash-1/file\"; done; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-ec", &script.replace("HASHES", &trials.join(" ")), "sh"]).arg(desk.images());
    command.arg(env!("CARGO_BIN_EXE_fsderby")).args(words(&desk, "out")).current_dir(desk.path(""));
    let said = run(&mut command);
    assert_eq!(said.code, 0, "{said:#?}");
    for hash in trials {
        let planted = desk.images().join(format!("fsderby-{}-{hash}-1/file", said.pid));
        assert_eq!(fs::read_to_string(planted).unwrap(), "kept\n");
    }
    assert_eq!(names(desk.images()).len(), 2, "and nothing else is left");
}

fn below(folder: &Path) -> String {
    fsderby::runner::preflight::machine::below(folder).map_or_else(|| "unknown".into(), |(fstype, _)| fstype)
}

#[test]
fn runs_in_two_process_namespaces_that_share_a_folder_leave_each_other_alone() {
    if !is_root() {
        return skipped("process namespaces", "they need root");
    }
    let desk = Desk::new();
    let start = |output: &str| {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--mount-proc", "--kill-child", env!("CARGO_BIN_EXE_fsderby")]);
        command.args(words(&desk, output)).current_dir(desk.path(""));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let runs: [Child; 3] = ["one", "two", "three"].map(start);
    for run in runs {
        let output = run.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(names(desk.images()), [""; 0]);
}

/// A run that is at work in its folder.
fn at_work(desk: &Desk) -> Child {
    let mut command = desk.fsderby(&words(desk, "out"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    let begin = Instant::now();
    while !names(desk.images()).iter().any(|name| is_site(name)) {
        assert!(begin.elapsed() < PATIENCE, "it made no folder");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

#[test]
fn a_run_that_is_killed_leaves_no_folder() {
    let desk = Desk::new();
    let mut run = at_work(&desk);
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(remains::wait_for_none(desk.images(), run.id()), [""; 0]);
}

/// A child of any of its threads.
fn child_of(pid: u32) -> Option<Pid> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let children =
        threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    children.into_iter().find_map(|list| Pid::from_raw(list.split_whitespace().next()?.parse().ok()?))
}

#[test]
fn a_trial_whose_supervisor_is_killed_leaves_no_folder() {
    let desk = Desk::new();
    let mut run = at_work(&desk);
    kill_process(child_of(run.id()).expect("a supervisor"), Signal::KILL).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(0), "the trial was repeated");
    assert_eq!(remains::wait_for_none(desk.images(), run.id()), [""; 0]);
}

/// As root, in a folder that belongs to somebody else, who moves ours away and puts a link to what is not theirs in its place.
#[test]
fn root_is_not_led_elsewhere_by_who_owns_the_folder() {
    if !is_root() {
        return skipped("root in a folder of another user", "it needs root");
    }
    let desk = Desk::new();
    let victim = desk.path("victim");
    fs::create_dir_all(victim.join("work")).unwrap();
    fs::write(victim.join("work/kept"), "kept").unwrap();
    let mut command = desk.fsderby(&words(&desk, "out"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    let site = loop {
        let found = names(desk.images()).into_iter().find(|name| is_site(name));
        match found.filter(|name| desk.images().join(name).join("work").exists()) {
            Some(name) => break desk.images().join(name),
            None => assert!(begin.elapsed() < PATIENCE, "there is no folder of ours"),
        }
    };
    let aside = desk.images().join("aside");
    fs::rename(&site, &aside).unwrap();
    std::os::unix::fs::symlink(&victim, &site).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(fs::read_to_string(victim.join("work/kept")).unwrap(), "kept");
    assert_eq!(names(&victim.join("work")), ["kept"], "nothing was made there");
    assert_eq!(names(&aside), [""; 0], "ours was emptied, wherever it is");
    assert!(site.is_symlink(), "what has our name is not ours");
}
