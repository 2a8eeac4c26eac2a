//! SIGKILL at random moments: nothing is left behind, every run is completed by `--resume`, and what it holds verifies.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use support::{fsderby, has_loop, image_folder, remains};

const KILLS: u32 = 50;
/// The seed of the moments; printed, so that a failure can be repeated.
const SEED: u64 = 20_261_121;

#[test]
fn fifty_killed_runs_leave_nothing_and_are_completed() {
    if !has_loop("kills") {
        return;
    }
    eprintln!("moments from seed {SEED}");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let whole = time_of_a_whole_run();
    let mut killed = 0;
    for n in 0..KILLS {
        let moment =
            Duration::from_millis(random.next_u64() % u64::try_from(whole.as_millis()).expect("a short run"));
        killed += u32::from(kill_and_resume(n, moment));
    }
    eprintln!("{killed} of {KILLS} runs were killed before their end; a whole one took {whole:?}");
    assert!(killed >= KILLS / 2, "most runs must die in the middle, only {killed} did");
}

fn run(images: &Path, output: &Path) -> std::process::Command {
    let mut command = fsderby();
    command.args([
        "run",
        "quick",
        "--filesystems",
        "ext4,btrfs",
        "--workloads",
        "postmark-quick",
        "--scale",
        "1/16",
    ]);
    // Of a seed whose small sets do not run out of files.
    command.args(["--seed", "1"]);
    command.args(["--rounds", "2", "--size", "128m", "--memory", "32m", "--quiet", "--on"]);
    command.arg(format!("loop:{}", images.display())).arg("--output").arg(output);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    command
}

fn time_of_a_whole_run() -> Duration {
    let (images, results) = (image_folder(), tempfile::tempdir().expect("a folder"));
    let begin = Instant::now();
    let status = run(images.path(), &results.path().join("run")).status().expect("fsderby starts");
    assert!(status.success(), "an undisturbed run ends with {status}");
    begin.elapsed()
}

/// Returns whether the run was still going on when it was killed.
fn kill_and_resume(n: u32, moment: Duration) -> bool {
    let (images, results) = (image_folder(), tempfile::tempdir().expect("a folder"));
    let folder = results.path().join("run");
    let mut child = run(images.path(), &folder).spawn().expect("fsderby starts");
    std::thread::sleep(moment);
    let running = child.try_wait().expect("its state").is_none();
    let pid = child.id();
    child.kill().expect("a kill");
    child.wait().expect("its end");
    let left = remains::wait_for_none(images.path(), pid);
    assert!(left.is_empty(), "kill {n} after {moment:?} left: {left:#?}");
    if folder.exists() {
        complete(&folder, n);
    }
    let names: Vec<_> =
        std::fs::read_dir(results.path()).expect("a folder").flatten().map(|e| e.file_name()).collect();
    assert!(
        names.iter().filter(|n| *n != "run").all(|n| n.to_string_lossy().starts_with(".fsderby-")),
        "{names:?}"
    );
    running
}

fn complete(folder: &Path, n: u32) {
    verifies(folder, n);
    let resumed =
        fsderby().arg("run").arg("--resume").arg(folder).arg("--quiet").output().expect("fsderby starts");
    let errors = String::from_utf8_lossy(&resumed.stderr);
    let run = fsderby::store::read(folder).expect("a run");
    let reasons: Vec<_> =
        run.current().iter().filter_map(|r| Some((r.trial.clone(), r.reason.clone()?))).collect();
    assert!(
        resumed.status.success(),
        "resuming after kill {n} ended with {}: {errors}{reasons:#?}",
        resumed.status
    );
    verifies(folder, n);
    let measured = run.current().iter().filter(|r| r.round > 0 && r.outcome.name() == "done").count();
    assert_eq!(measured, 4, "two filesystems in two rounds, after kill {n}");
}

/// Whatever a kill left, and what was made of it, is no damage.
fn verifies(folder: &Path, n: u32) {
    let verified = fsderby().arg("verify").arg(folder).output().expect("fsderby starts");
    let text = String::from_utf8_lossy(&verified.stdout);
    assert!(verified.status.success(), "verifying after kill {n}: {text}");
}
