//! What arguments of an experiment may try against the rest of the machine, as root on this machine's own kernel: every tool of
//! every kind, with arguments that name what is not the trial's, leaves its neighbours as they were.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fsderby::filesystems::{self, TABLE};
use fsderby::schema::event::Event;
use fsderby::schema::job::Step;
use fsderby::schema::setup::{Argv, Capability, DEVICE};
use fsderby_sys::loop_device::LoopDevice;

use crate::support::agent::carry_out;
use crate::support::desk::Desk;
use crate::support::neighbours::{MIB, Neighbours, job, noise, none_reaches_a_neighbour, run, text};
use crate::support::{has_loop, skipped};

/// `make nightly PART=hostile` draws two thousand.
#[test]
fn no_argument_reaches_a_neighbour() {
    none_reaches_a_neighbour(200, 20_261_125);
}

/// Each of these overwrote another device or file when its tool ran in the open, which is tried first: what no argument can
/// do here would otherwise prove nothing.
#[test]
fn what_overwrote_a_neighbour_in_the_open_fails() {
    if !has_loop("hostile arguments in the open") {
        return;
    }
    let neighbours = Neighbours::new();
    let [first, file] = [text(neighbours.devices[0].path()), text(&neighbours.desk.path("made"))];
    for (kind, arguments) in [
        ("btrfs", vec![first.as_str()]),
        ("xfs", vec!["-l", &format!("logdev={first},size=100m")]),
        ("ext4", vec!["-z", &file]),
    ] {
        let mut job = job(kind, &neighbours.desk, &format!("{}-open", std::process::id()));
        let Some(Step::Make { argv }) = job.steps.iter_mut().find(|step| matches!(step, Step::Make { .. }))
        else {
            panic!("{kind} is made")
        };
        let last = argv.len() - 1;
        argv.splice(last..last, arguments.iter().map(|word| (*word).to_owned()));
        let (program, arguments) = argv.split_first().unwrap();
        if fsderby::host::programs::find(program).is_none() {
            skipped(program, "it is not installed");
            continue;
        }
        let own = LoopDevice::attach(&noise(&neighbours.desk.path(kind), 600 * MIB)).unwrap();
        let in_the_open: Vec<String> =
            arguments.iter().map(|w| w.replace(DEVICE, &text(own.path()))).collect();
        let before = neighbours.hash();
        assert!(run(program, &in_the_open.iter().map(String::as_str).collect::<Vec<_>>()), "{in_the_open:?}");
        let after = neighbours.hash();
        assert_ne!(after, before, "{kind} does nothing in the open");
        let events = carry_out(&job);
        assert!(events.iter().any(|e| matches!(e, Event::Failed { .. })), "{kind}: {events:#?}");
        assert_eq!(neighbours.hash(), after, "{kind}");
    }
}

/// Not what a tool's arguments can do, but what a tool could that somebody else has written: a shell.
#[test]
fn from_inside_nothing_else_can_be_reached() {
    if !has_loop("the sandbox from inside") {
        return;
    }
    let neighbours = Neighbours::new();
    let before = neighbours.hash();
    let about = fs::metadata(neighbours.devices[0].path()).unwrap().rdev();
    let (major, minor) = (rustix::fs::major(about), rustix::fs::minor(about));
    let [device, file] = [text(neighbours.devices[0].path()), text(&neighbours.desk.path("file"))];
    let home = text(&crate::support::project());
    // One line each: what is tried, and the command that must fail.
    let attacks = [
        ("write another device", format!("dd if=/dev/zero of={device} bs=4k count=1")),
        ("write another file", format!("echo x > {file}")),
        ("make a file", format!("echo x > {home}/hostile")),
        ("delete a file", format!("rm {file}")),
        ("make a node", format!("mknod /dev/x b {major} {minor}")),
        ("make a node elsewhere", format!("mknod /tmp/x b {major} {minor}")),
        ("write a node on its own filesystem", "dd if=/dev/zero of=/run/site/x bs=4k count=1".into()),
        ("remount", "mount -o remount,rw /".into()),
        ("remount what is bound", "mount -o remount,rw,bind /".into()),
        ("mount", "mount -t tmpfs none /tmp".into()),
        ("leave the root", "chroot /proc/1/root true".into()),
        ("look through the agent", format!("cat /proc/1/root{file}")),
        ("join the agent", "nsenter -t 1 -m true".into()),
        ("set the kernel", "echo 1 > /proc/sys/vm/drop_caches".into()),
        ("call the kernel", "echo h > /proc/sysrq-trigger".into()),
        ("set a device", "echo 0 > /sys/block/loop0/queue/read_ahead_kb".into()),
        ("load a module", "modprobe loop".into()),
        ("end the agent", "kill -9 1 && sleep 1 && test ! -d /proc/1".into()),
        ("see the network", "grep -v -e face -e Inter -e lo: /proc/net/dev".into()),
        ("see sockets", "find /dev /run /tmp /var/run/ -type s | grep .".into()),
        ("see other processes", "test $(ls /proc | grep -c '^[0-9]') -gt 9".into()),
    ];
    let lines: Vec<String> = attacks
        .iter()
        .map(|(what, attack)| {
            format!("if ( {attack} ) >/tmp/said 2>&1; then echo 'could {what}'; reached=1; fi")
        })
        .collect();
    let script = format!("reached=0\n{}\nexit $reached", lines.join("\n"));
    let mut job = job("ext4", &neighbours.desk, &format!("{}-inside", std::process::id()));
    job.steps.retain(|step| matches!(step, Step::Reset | Step::Make { .. } | Step::Mount { .. }));
    let node = format!("mknod x b {major} {minor}");
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Argv>();
    let mounted = job.steps.pop().unwrap();
    job.steps.push(Step::Make { argv: words(&["debugfs", "-w", "-R", &node, DEVICE]) });
    job.steps.push(mounted);
    job.steps.push(Step::Make { argv: words(&["sh", "-c", &script]) });
    for capabilities in [vec![], vec![Capability::SysAdmin]] {
        job.privileges.capabilities = capabilities;
        let events = carry_out(&job);
        let failed = events.iter().find(|event| matches!(event, Event::Failed { .. }));
        assert!(failed.is_none(), "{failed:#?}");
        assert!(events.iter().any(|event| matches!(event, Event::Done { .. })), "{events:#?}");
        assert_eq!(neighbours.hash(), before);
    }
    assert!(!crate::support::project().join("hostile").exists());
    neighbours.desk.leaves_nothing(std::process::id());
}

#[test]
fn the_worker_has_no_rights_of_root() {
    if !has_loop("the rights of a worker") {
        return;
    }
    let desk = Desk::new();
    let job = job("ext4", &desk, &format!("{}-rights", std::process::id()));
    let (seen, events) = std::thread::scope(|scope| {
        let trial = scope.spawn(|| carry_out(&job));
        let mut seen = None;
        while !trial.is_finished() {
            // The last look: in its first moments it still gives its rights up.
            seen = rights_of_a_worker().or(seen);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        (seen, trial.join().unwrap())
    });
    let told =
        events.iter().find_map(|e| if let Event::Worker(identity) = e { Some(identity.uid) } else { None });
    let uid = told.expect("it is told who works");
    assert_ne!(uid, 0, "ext4 knows owners");
    let seen = seen.expect("it is seen at work");
    assert_eq!(seen["Uid"], format!("{uid}\t{uid}\t{uid}\t{uid}"));
    assert_eq!(seen["Groups"], "");
    assert_eq!(seen["NoNewPrivs"], "1");
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(seen[set], "0000000000000000", "{set}");
    }
}

/// Whether this process descends from this test's.
fn is_below_us(process: &Path) -> bool {
    let parent_of = |status: &str| -> Option<u32> {
        status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
    };
    let mut status = fs::read_to_string(process.join("status"));
    while let Some(parent) = status.ok().as_deref().and_then(parent_of) {
        if parent == std::process::id() {
            return true;
        }
        status = fs::read_to_string(format!("/proc/{parent}/status"));
    }
    false
}

/// What `/proc/PID/status` says of our worker.
fn rights_of_a_worker() -> Option<BTreeMap<String, String>> {
    let is_ours = |process: &PathBuf| {
        let is_program = fs::read_link(process.join("exe"))
            .is_ok_and(|exe| exe == Path::new(env!("CARGO_BIN_EXE_fsderby")));
        let is_worker = fs::read(process.join("cmdline")).is_ok_and(|line| line.ends_with(b"\0worker\0"));
        // Other tests have workers at the same time.
        is_program && is_worker && is_below_us(process)
    };
    let mut all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let status = fs::read_to_string(all.find(is_ours)?.join("status")).ok()?;
    let lines = status.lines().filter_map(|line| line.split_once(':'));
    Some(lines.map(|(key, value)| (key.into(), value.trim().into())).collect())
}

#[test]
fn the_tools_of_every_kind_work_in_the_sandbox() {
    if !has_loop("tools in the sandbox") {
        return;
    }
    let desk = Desk::new();
    for kind in TABLE {
        if let Some(lacks) =
            filesystems::tools(*kind).into_iter().find(|t| fsderby::host::programs::find(t).is_none())
        {
            skipped(kind.name(), &format!("there is no {lacks}"));
            continue;
        }
        let mut job = job(kind.name(), &desk, &format!("{}-works", std::process::id()));
        job.steps.retain(|step| matches!(step, Step::Reset | Step::Make { .. } | Step::Check { .. }));
        job.steps.extend(kind.recover().repair.into_iter().map(|check| Step::Repair { check }));
        let events = carry_out(&job);
        assert!(events.iter().any(|e| matches!(e, Event::Done { .. })), "{}: {events:#?}", kind.name());
    }
}
