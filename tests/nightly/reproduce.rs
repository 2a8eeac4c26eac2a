//! Reproduces the papers at their default scales, in pieces: each call goes on where the last one stopped, and the pages are in
//! `target/tmp/reproduced` when their runs have ended.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use fsderby::exit;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::fsderby;
use crate::support::quiet::has_guests;

/// Five papers on two CPUs end within 25 minutes.
const PIECE: Duration = Duration::from_mins(8);

/// Goes on with these columns, one after the other.
fn goes_on(paper: &str, columns: &[&str]) {
    if !has_guests("a reproduction") {
        return;
    }
    let begin = Instant::now();
    for column in columns {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reproduced").join(paper).join(column);
        let mut command = fsderby();
        command.args(["reproduce", paper, "--column", column, "--output"]).arg(&folder);
        fs::create_dir_all(folder.parent().unwrap()).unwrap();
        // A page may be longer than a pipe holds.
        let page = folder.with_extension("txt");
        let mut child = command.stdout(File::create(&page).unwrap()).spawn().unwrap();
        let ended = loop {
            match child.try_wait().unwrap() {
                None if begin.elapsed() < PIECE => std::thread::sleep(Duration::from_millis(100)),
                ended => break ended,
            }
        };
        let status = ended.unwrap_or_else(|| {
            kill_process(Pid::from_child(&child), Signal::INT).unwrap();
            child.wait().unwrap()
        });
        match status.code().map(u8::try_from) {
            Some(Ok(exit::INTERRUPTED)) => {
                println!("{paper}, {column}: to be continued by the next call");
                return;
            }
            Some(Ok(exit::OK | exit::TRIALS)) => {
                let said = fs::read_to_string(&page).unwrap();
                let answer =
                    said.lines().find(|line| line.contains(" claims, ")).unwrap_or_else(|| panic!("{said}"));
                println!("{paper}, {column}: {answer}");
            }
            other => {
                panic!("{paper}, {column}: {other:?}; if another build began it, remove {}", folder.display())
            }
        }
    }
}

#[test]
fn arena_raid_2004() {
    goes_on("arena-raid-2004", &["then", "era", "now"]);
}

#[test]
fn djordjevic_2008() {
    goes_on("djordjevic-2008", &["then", "era", "now"]);
}

#[test]
fn doelle_reitter_2004() {
    goes_on("doelle-reitter-2004", &["then", "era", "now"]);
}

#[test]
fn ivers_2006() {
    goes_on("ivers-2006", &["then", "era", "now"]);
}

#[test]
fn lauper_2002() {
    goes_on("lauper-2002", &["then", "now"]);
}
