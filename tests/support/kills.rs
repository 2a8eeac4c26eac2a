//! SIGKILL at random moments, to the program or to whatever works for it: nothing is left behind, every run is completed by
//! `--resume`, and what it holds verifies.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{fsderby, has_loop, image_folder, remains};
use fsderby::schema::reason::Outcome;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::process::{Pid, Signal, kill_process};

const KILLS: u32 = 50;
/// The seed of the moments and victims; printed, so that a failure can be repeated. FSDERBY_SEED gives another.
const SEED: u64 = 20_261_121;

/// So many runs, each killed at a moment of its own.
pub fn leave_nothing_and_are_completed(kills: u32) {
    if !has_loop("kills") {
        return;
    }
    let seed = std::env::var("FSDERBY_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED);
    eprintln!("moments from seed {seed}");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let whole = time_of_a_whole_run();
    let mut killed = 0;
    for n in 0..kills {
        let moment =
            Duration::from_millis(random.next_u64() % u64::try_from(whole.as_millis()).expect("a short run"));
        killed += u32::from(kill_and_resume(n, moment, random.next_u64()));
    }
    eprintln!("{killed} of {kills} were killed before their run's end; a whole one took {whole:?}");
    assert!(killed >= kills / 2, "most runs must die in the middle, only {killed} did");
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

/// Kills the program itself in every other case, else one of those that work for it: supervisor, agent, worker, a tool. Returns
/// whether the run was still going on.
fn kill_and_resume(n: u32, moment: Duration, draw: u64) -> bool {
    let (images, results) = (image_folder(), tempfile::tempdir().expect("a folder"));
    let folder = results.path().join("run");
    let mut child = run(images.path(), &folder).spawn().expect("fsderby starts");
    std::thread::sleep(moment);
    let running = child.try_wait().expect("its state").is_none();
    let pid = child.id();
    let others = descendants(pid);
    let is_host = draw.is_multiple_of(2) || others.is_empty();
    let victim = if is_host { pid } else { others[usize::try_from(draw / 2).unwrap() % others.len()] };
    if running {
        // It may have ended by now.
        let _ = kill_process(Pid::from_raw(victim.cast_signed()).unwrap(), Signal::KILL);
    }
    child.wait().expect("its end");
    let left = remains::wait_for_none(images.path(), pid);
    assert!(left.is_empty(), "kill {n} of {victim} after {moment:?} left: {left:#?}");
    if folder.exists() {
        complete(&folder, n, is_host);
    }
    let names: Vec<_> =
        std::fs::read_dir(results.path()).expect("a folder").flatten().map(|e| e.file_name()).collect();
    assert!(
        names.iter().filter(|n| *n != "run").all(|n| n.to_string_lossy().starts_with(".fsderby-")),
        "{names:?}"
    );
    running
}

/// All that this process has started, and what that has.
fn descendants(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut at = 0;
    while at < all.len() {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", all[at])).into_iter().flatten().flatten();
        for task in tasks {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        at += 1;
    }
    all.split_off(1)
}

fn complete(folder: &Path, n: u32, was_host: bool) {
    verifies(folder, n);
    let resumed =
        fsderby().arg("run").arg("--resume").arg(folder).arg("--quiet").output().expect("fsderby starts");
    let errors = String::from_utf8_lossy(&resumed.stderr);
    let run = fsderby::store::read(folder).expect("a run");
    let reasons: Vec<_> =
        run.current().iter().filter_map(|r| Some((r.trial.clone(), r.reason.clone()?))).collect();
    // A worker or a tool that dies is its filesystem's failure, which stands and is not repeated.
    let failures = run.current().iter().filter(|r| r.outcome == Outcome::Failed).count();
    assert!(
        resumed.status.success() || (!was_host && failures == 1 && resumed.status.code() == Some(4)),
        "resuming after kill {n} ended with {}: {errors}{reasons:#?}",
        resumed.status
    );
    verifies(folder, n);
    let measured = run.current().iter().filter(|r| r.round > 0 && r.outcome == Outcome::Done).count();
    match failures {
        0 => assert_eq!(measured, 4, "two filesystems in two rounds, after kill {n}"),
        // One trial, or where it was an integrity check, its filesystem.
        _ => assert!(measured == 3 || measured == 2, "{measured} are done after kill {n}: {reasons:#?}"),
    }
}

/// Whatever a kill left, and what was made of it, is no damage.
fn verifies(folder: &Path, n: u32) {
    let verified = fsderby().arg("verify").arg(folder).output().expect("fsderby starts");
    let text = String::from_utf8_lossy(&verified.stdout);
    assert!(verified.status.success(), "verifying after kill {n}: {text}");
}
