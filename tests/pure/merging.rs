//! `fsderby merge` as a command: its limits, its places, and what stays when it fails.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shards::{LOOP, MODEL, model, shards};
use crate::support::desk::{Desk, Said, run};
use crate::support::scripted::Scripted;
use crate::support::{is_root, skipped};
use fsderby::exit;
use rustix::process::{Pid, Signal, kill_process};

/// The shards' folders as words of a command line.
fn words(shards: &[PathBuf]) -> Vec<&str> {
    shards.iter().map(|shard| shard.to_str().unwrap()).collect()
}

fn merge(desk: &Desk, out: &str, shards: &[PathBuf], more: &[&str]) -> Said {
    desk.say(&[&["merge", out], &words(shards)[..], more].concat())
}

/// Two shards in a folder of the desk.
fn two(desk: &Desk) -> Vec<PathBuf> {
    fs::create_dir(desk.path("shards")).unwrap();
    shards(&desk.path("shards"), LOOP, &Scripted::well(), 2, &[])
}

#[test]
fn more_shards_than_may_be_open_at_once_are_merged() {
    let desk = Desk::new();
    let all = shards(desk.path(".").as_path(), MODEL, &model(), 40, &[]);
    let own = desk.fsderby::<&str>(&[]);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 24; exec \"$@\"", "sh"]).arg(own.get_program()).args(["merge", "out"]);
    let said = run(command.args(&all).current_dir(desk.path(".")));
    assert_eq!(said.code, 0, "{said:#?}");
    assert!(said.out.contains("of 40 shards"), "{said:#?}");
    assert_eq!(desk.say(&["verify", "out"]).code, 0);
}

#[test]
fn no_merged_run_gets_into_a_shard_or_over_a_folder_that_does_not_exist() {
    let desk = Desk::new();
    let all = two(&desk);
    let (one, kept) = (all[0].display().to_string(), desk.path("kept"));
    fs::create_dir(&kept).unwrap();
    let inside = format!("{one}/merged");
    for (out, words) in [
        (inside.as_str(), ["would be inside the run", "beside that run"]),
        (&format!("{one}/histograms/a/b"), ["would be inside the run", "beside that run"]),
        ("nope/../kept", ["nope does not exist", "without .."]),
        ("nope/../kept/run", ["nope does not exist", "without .."]),
        ("kept/../kept", ["already exists", "another name"]),
    ] {
        desk.refused(&merge(&desk, out, &all, &[]), exit::USAGE.into(), &words);
    }
    for (next, word) in [
        (&*format!("{one}/next.toml"), "a file of the run"),
        ("nope/next.toml", "its folder does not exist"),
        ("kept", "already exists"),
    ] {
        desk.refused(&merge(&desk, "out", &all, &["--next", next]), exit::USAGE.into(), &[word, "try: "]);
    }
    desk.refuses(
        &["run", "quick", "--on", "directory:.", "--output", "nope/../kept"],
        2,
        &["nope does not exist"],
    );
    desk.file("own.toml", format!("on = 'loop'\n{LOOP}"));
    desk.refuses(&["slurm", "own.toml", "--write", "--output", "nope/../kept"], 2, &["nope does not exist"]);
    desk.refuses(&["slurm", "own.toml", "--write", "--output", &inside], 2, &["would be inside the run"]);
    assert_eq!(desk.names(), ["kept", "own.toml", "shards"]);
    assert_eq!(fs::read_dir(kept).unwrap().count(), 0);
    assert!(!Path::new(&inside).exists());
}

#[test]
fn a_full_disk_and_a_file_that_cannot_be_read_are_named_and_leave_nothing() {
    if !is_root() {
        skipped("a full disk under a merged run", "mounting needs root");
        return;
    }
    let desk = Desk::new();
    let all = two(&desk);
    let says = |before: &str, more: &[&str], words_said: &[&str]| {
        fs::create_dir_all(desk.path("full")).unwrap();
        let said = desk.say_after(before, &[&["merge", "full/out"], &words(&all)[..], more].concat());
        desk.refused(&said, exit::MISSING.into(), words_said);
        assert_eq!(fs::read_dir(desk.path("full")).unwrap().count(), 0, "{said:#?}");
    };
    let full = "mount -t tmpfs -o size=40k full full";
    says(full, &[], &["could not write the merged run full/out", "No space left", "try: free some space"]);
    // This process's memory at address 0: a file whose reading fails.
    for name in ["trials.jsonl", "plan.toml", "histograms/"] {
        let file = match name.strip_suffix('/') {
            None => all[1].join(name),
            Some(folder) => fs::read_dir(all[1].join(folder)).unwrap().next().unwrap().unwrap().path(),
        };
        let text = file.display().to_string();
        says(&format!("mount --bind /proc/$$/mem '{text}'"), &[], &[&text, "Input/output error", "try: "]);
    }
}

#[test]
fn a_signal_ends_a_merge_with_its_code_and_nothing_half_written() {
    let desk = Desk::new();
    let all = shards(desk.path(".").as_path(), MODEL, &model(), 20, &[]);
    fs::create_dir(desk.path("below")).unwrap();
    for signal in [Signal::INT, Signal::TERM] {
        // Later each time until merges end by themselves, so that signals come at many places of a merge, on a slow machine too.
        let (mut interrupted, mut whole) = (0, 0);
        for n in 0..60 {
            let mut command = desk
                .fsderby(&[&["merge", "below/out", "--next", "below/next.toml"], &words(&all)[..]].concat());
            let child = command
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(std::time::Duration::from_secs_f64(0.005 * 1.1_f64.powi(n)));
            let _ = kill_process(Pid::from_child(&child), signal);
            let ended = child.wait_with_output().unwrap().status.code();
            let left = fs::read_dir(desk.path("below")).unwrap().count();
            match ended {
                Some(0) => {
                    fs::remove_dir_all(desk.path("below/out")).unwrap();
                    let _ = fs::remove_file(desk.path("below/next.toml"));
                    // A signal that the shell has ignored for its background commands is lost before the merge listens.
                    whole += u32::from(interrupted > 0);
                    if whole == 3 {
                        break;
                    }
                }
                Some(code) => {
                    assert_eq!((code, left), (exit::INTERRUPTED.into(), 0));
                    interrupted += 1;
                }
                // Before it listens for signals.
                None => assert_eq!(left, 0),
            }
        }
        assert!(interrupted > 0, "{signal:?}");
    }
}

#[test]
fn a_shard_of_somebody_else_that_cannot_be_opened_is_named() {
    let desk = Desk::new();
    let all = two(&desk);
    if is_root() {
        skipped("a shard without permissions", "root reads everything");
        return;
    }
    fs::set_permissions(all[1].join("trials.jsonl"), fs::Permissions::from_mode(0o000)).unwrap();
    let said = merge(&desk, "out", &all, &[]);
    desk.refused(&said, exit::MISSING.into(), &["could not open", "trials.jsonl", "try: as the user"]);
}
