//! What it takes to read and show a run of ten thousand trials: seconds and the most memory of each format, and of `verify`.
//!
//! The run is made first, which takes minutes; with a folder it is made there, and used again where it is there already. With
//! `shards` it is a run of a hundred thousand trials, made as four shards and merged; with `shards=ROUNDS`, of 40 trials a round.
//!
//! `cargo bench --bench report [-- [shards[=ROUNDS]] [FOLDER]]`

#![allow(clippy::unwrap_used, reason = "a bench says by a panic what is wrong")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use procfs::process::Process;
use support::large::{self, FILESYSTEMS, WORKLOADS};

const ROUNDS: u32 = 250;
const SHARDS: u32 = 4;
/// What each format is asked for by, and the file that it writes.
const FORMATS: [(&str, &[&str], &str); 6] = [
    ("terminal", &[], ""),
    ("terminal, all", &["--all"], ""),
    ("HTML", &["--html"], "report.html"),
    ("Markdown", &["--markdown"], "report.md"),
    ("CSV", &["--csv"], "report.csv"),
    ("JSON", &["--json"], ""),
];

fn main() {
    let mut arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let of_shards = arguments.first().and_then(|argument| match argument.strip_prefix("shards")? {
        "" => Some(ROUNDS * 10),
        rounds => rounds.strip_prefix('=')?.parse().ok(),
    });
    let folder = arguments.split_off(usize::from(of_shards.is_some())).pop();
    let own = tempfile::tempdir().unwrap();
    let run = folder.map_or_else(|| own.path().join("run"), PathBuf::from);
    let heading = || println!("{:16}{:>10}{:>12}{:>12}", "", "seconds", "peak MiB", "output KiB");
    if let Some(rounds) = of_shards {
        let below = run.with_added_extension("shards");
        if !below.exists() {
            large::carry_out_shards(&below, rounds, SHARDS);
        }
        heading();
        let mut command = support::fsderby();
        command.arg("merge").arg(&run).args((1..=SHARDS).map(|number| below.join(number.to_string())));
        measure("merge", command, None);
    } else {
        if !run.exists() {
            large::carry_out(&run, &FILESYSTEMS, &WORKLOADS, ROUNDS);
        }
        heading();
    }
    for (name, options, file) in FORMATS {
        let to = own.path().join(file);
        let mut command = support::fsderby();
        command.arg("report").arg(&run).args(options);
        if !file.is_empty() {
            command.arg(&to);
        }
        measure(name, command, (!file.is_empty()).then_some(&to));
    }
    let mut command = support::fsderby();
    command.arg("verify").arg(&run);
    measure("verify", command, None);
}

fn measure(name: &str, mut command: Command, file: Option<&PathBuf>) {
    let printed = tempfile::NamedTempFile::new().unwrap();
    command.stdout(printed.reopen().unwrap()).stderr(Stdio::null());
    let begin = Instant::now();
    let mut child = command.spawn().unwrap();
    let process = Process::new(child.id().cast_signed()).unwrap();
    let mut peak_kib = 0;
    let status = loop {
        // A process that has ended has no memory to look at any more.
        peak_kib = process.status().ok().and_then(|status| status.vmhwm).unwrap_or(peak_kib);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let seconds = begin.elapsed().as_secs_f64();
    assert!(status.success(), "{name}: {status}");
    let output = file.map_or(printed.path(), |file| file).metadata().unwrap().len();
    println!("{name:16}{seconds:>10.2}{:>12}{:>12}", peak_kib / 1024, output / 1024);
}
