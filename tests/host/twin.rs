//! A modelled disk in real time, under this machine's own kernel. As root.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::desk::{Desk, Said, run};
use crate::support::{has_loop, skipped};
use fsderby::probes;
use fsderby::schema::job::StepName;
use fsderby::schema::reason::Outcome;
use fsderby::schema::record::Record;
use fsderby::schema::setup::{ClockKind, Fidelity};
use fsderby::store;

/// The numbers of loop devices that are made for twins.
const FIRST: u32 = 1 << 17;

fn has_twins(what: &str) -> bool {
    if !Path::new("/dev/fuse").exists() {
        skipped(what, "there is no /dev/fuse (modprobe fuse)");
        return false;
    }
    has_loop(what)
}

const EXPERIMENT: &str = "name = \"twin\"\nsize = \"512m\"\nmemory = \"128m\"\nworkloads = [\"maildir-quick\"]\n\
                          filesystems = [\"ext4\", \"xfs\", \"btrfs\"]\nrounds = 1\nseed = 7\nscale = \"1/16\"\n";

fn command(desk: &Desk, on: &str) -> Command {
    desk.file("twin.toml", EXPERIMENT);
    desk.fsderby(&["run", "twin.toml", "--on", on, "--output", "run"])
}

/// Loop devices made for twins of this process tree are told from others' by having been there before.
fn twins() -> Vec<String> {
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    let names = devices.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_ours = |name: &String| {
        name.strip_prefix("loop").and_then(|number| number.parse().ok()).is_some_and(|n: u32| n >= FIRST)
    };
    names.filter(is_ours).collect()
}

fn new_twins(before: &[String]) -> Vec<String> {
    twins().into_iter().filter(|name| !before.contains(name)).collect()
}

/// Whatever else the machine has to do makes answers late and never early.
#[test]
fn a_trial_takes_no_less_than_its_disk_was_busy() {
    if !has_twins("twins") {
        return;
    }
    let desk = Desk::new();
    let before = twins();
    let Said { code, err, .. } = run(&mut command(&desk, "twin:hdd-16tb,offset=1t"));
    assert_eq!(code, 0, "{err}");
    let run = store::read(&desk.path("run")).unwrap();
    assert_eq!(run.current().len(), 6, "each is checked and measured");
    for record in run.current() {
        assert_eq!(record.outcome, Outcome::Done, "{}", record.why());
        assert_eq!((record.clock, record.fidelity), (ClockKind::Host, Fidelity::Twin));
        assert_eq!(record.volume.offset.0, 1 << 40);
        let disk = |counter| probes::counted(record, "disk", counter).unwrap();
        let moves_ns = disk("seek_ns") + disk("rotation_ns") + disk("transfer_ns");
        // Synced mails wait for the platters: a disk that answers at once would be far below.
        assert!(disk("writes") > 50 && disk("flushes") > 50 && moves_ns > 200_000_000, "{:?}", record.stages);
        let took_ns = took(record);
        assert!(took_ns >= moves_ns / 2, "{}: {took_ns} and {moves_ns}", record.trial);
    }
    assert_eq!(new_twins(&before), [""; 0], "nothing is left");
}

fn took(record: &Record) -> u64 {
    let steps = record.steps.iter();
    steps.filter(|s| matches!(s.step, StepName::Work | StepName::Sync)).map(|s| s.ns).sum()
}

fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(30) {
        if let Some(found) = look() {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

/// A run of which a twin's server is at work.
fn running(desk: &Desk) -> (Child, u32) {
    let mut child = command(desk, "twin").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let server = wait_for(|| descendants(child.id()).into_iter().find(|pid| is_server(*pid)));
    if server.is_none() {
        let _ = child.kill();
    }
    (child, server.expect("a twin has a server"))
}

fn is_server(pid: u32) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).nth(1) == Some(b"twin")
}

fn descendants(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut at = 0;
    while at < all.len() {
        let tasks = fs::read_dir(format!("/proc/{}/task", all[at])).into_iter().flatten().flatten();
        for task in tasks {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        at += 1;
    }
    all.split_off(1)
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn whoever_dies_the_device_goes() {
    if !has_twins("killed twins") {
        return;
    }
    for is_host in [true, false] {
        let desk = Desk::new();
        let before = twins();
        let (mut child, server) = running(&desk);
        wait_for(|| new_twins(&before).pop()).expect("a twin has a device");
        kill(if is_host { child.id() } else { server });
        // Without its disk a trial fails, and the run goes on to the next.
        if !is_host {
            wait_for(|| (!is_server(server)).then_some(())).expect("it is dead");
            kill(child.id());
        }
        child.wait().unwrap();
        wait_for(|| (!is_server(server)).then_some(())).expect("the server ends");
        let left = wait_for(|| new_twins(&before).is_empty().then_some(()));
        assert!(
            left.is_some(),
            "killed {}: {:?}",
            if is_host { "host" } else { "server" },
            new_twins(&before)
        );
    }
}
