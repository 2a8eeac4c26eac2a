//! Lists of hostile arguments for an agent on the host's own kernel, where the host is a guest of ours.

use fsderby::agent::channel::decode;
use fsderby::filesystems::{Filesystem, TABLE};
use fsderby::schema::event::Event;
use fsderby::schema::job::{Job, Step};
use fsderby::schema::setup::{DEVICE, Mount};
use fsderby::schema::units::{Bytes, MIB};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::desk::Said;
use super::harness::{Disk, Host, Order};
use super::neighbours::{below, hostile, job_on};
use super::say;

/// Where the lists are tried.
struct Ground {
    testbed: &'static str,
    size: fn(&dyn Filesystem) -> Bytes,
    host: fn(Vec<u8>) -> Host,
    /// Before and after the lists.
    begin: fn() -> Vec<Order>,
    end: fn() -> Vec<Order>,
    altered: &'static [&'static str],
}

/// On images in a folder.
const IMAGES: Ground = Ground {
    testbed: "loop:/var/tmp",
    size: smallest,
    host: with_images,
    begin: Vec::new,
    end: Vec::new,
    altered: &["home"],
};

/// On a claimed disk, whose window stands all the time.
const CLAIMED: Ground = Ground {
    testbed: "device:tenth,reset=leftovers",
    size: |_| WINDOW,
    host: with_claimed,
    begin: open_window,
    end: close_window,
    altered: &["tenth"],
};
/// Enough for each kind.
const WINDOW: Bytes = Bytes(304 * MIB);
/// So many lists share a machine.
const IN_ONE: usize = 100;
/// A file of somebody else on the disk that also has the images.
const FILE: &str = "/var/tmp/of-somebody-else";

/// So many lists, of which a third would make the kernel panic; drawn from this seed unless `FSDERBY_SEED` gives another. No other
/// disk or file is altered, and the machine lives.
pub fn no_list_harms_the_host(draws: usize, seed: u64) {
    none_harms(&IMAGES, draws, seed);
}

/// The same on a claimed disk: its marks stay too.
pub fn no_list_harms_another_disk(draws: usize, seed: u64) {
    none_harms(&CLAIMED, draws, seed);
}

fn none_harms(ground: &Ground, draws: usize, seed: u64) {
    let seed = std::env::var("FSDERBY_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(seed);
    say(&format!("hostile arguments inside, of seed {seed}"));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let targets = targets();
    let draw = |_| match below(&mut random, 3) {
        0 => panicking(ground, &mut random),
        _ => hostile(ground.testbed, ground.size, &targets, &mut random),
    };
    let jobs: Vec<Job> = (0..draws).map(draw).collect();
    for jobs in jobs.chunks(IN_ONE) {
        if !carried_out(ground, jobs, seed) {
            return;
        }
    }
}

/// The CPU is emulated: the smaller a volume is, the sooner mkfs ends.
fn smallest(kind: &dyn Filesystem) -> Bytes {
    Bytes(kind.size().start().0.next_multiple_of(MIB).max(64 * MIB))
}

/// What is neither the trial's nor to be touched, as an argument may name it.
fn targets() -> Vec<String> {
    let mut paths: Vec<String> = ["first", "second", "home"].map(Disk::path).to_vec();
    paths.extend(["vda", "vdb", "vdc"].map(|name| format!("/dev/{name}")));
    paths.extend([FILE.to_owned(), "/etc/mke2fs.conf".into(), "/root/new".into()]);
    let elsewhere = paths.iter().flat_map(|path| {
        [format!("/proc/1/root{path}"), format!("/proc/self/root{path}"), format!("../..{path}")]
    });
    let mut all: Vec<String> = elsewhere.collect();
    all.extend((0..8).flat_map(|n| [format!("/proc/self/fd/{n}"), format!("/proc/1/fd/{n}")]));
    all.extend((0..3).flat_map(|n| [format!("254:{}", 16 * n), format!("253:{}", 16 * n)]));
    all.extend(paths);
    all
}

/// A job whose filesystem would make its kernel panic at an error, which some have at once.
fn panicking(ground: &Ground, random: &mut Xoshiro256PlusPlus) -> Job {
    let panics: Vec<&dyn Filesystem> =
        TABLE.iter().copied().filter(|kind| !kind.panics().is_empty()).collect();
    let kind = panics[below(random, panics.len())];
    let token = format!("{}-{}", std::process::id(), random.next_u64());
    let mut job = job_on(kind.name(), ground.testbed, (ground.size)(kind), &token);
    job.steps
        .retain(|step| matches!(step, Step::Reset | Step::Make { .. } | Step::Mount { .. } | Step::Empty));
    let option = kind.panics()[0].to_owned();
    let way = if kind.stores_errors() { below(random, WAYS + 2) } else { WAYS };
    let tool = |line: &[&str]| Step::Make { argv: line.iter().map(|word| (*word).to_owned()).collect() };
    let at = job.steps.iter().position(|step| matches!(step, Step::Mount { .. })).expect("a mount");
    match way {
        way @ ..WAYS => {
            job.steps.insert(at, tool(STORED[way]));
            // Its root folder is gone: an error at the mount.
            job.steps.insert(at + 1, tool(&["debugfs", "-w", "-R", "clri <2>", DEVICE]));
        }
        WAYS => {
            let joined = [option.clone(), format!("noatime,{option}"), format!("{option},nodiratime")];
            give(&mut job.steps[at], joined[below(random, joined.len())].clone());
        }
        _ => {
            let written = [&["-e", "panic"][..], &["-epanic"], &["-qepanic"]];
            if let Step::Make { argv } = &mut job.steps[1] {
                let words = written[below(random, written.len())];
                let last = argv.len() - 1;
                argv.splice(last..last, words.iter().map(|word| (*word).to_owned()));
            }
        }
    }
    job
}

/// Tools that store it.
const STORED: [&[&str]; WAYS] = [
    &["tune2fs", "-e", "panic", DEVICE],
    &["tune2fs", "-E", "mount_opts=errors=panic", DEVICE],
    &["debugfs", "-w", "-R", "set_super_value errors 3", DEVICE],
    &["debugfs", "-w", "-R", "set_super_value mount_opts noatime,errors=panic", DEVICE],
];
const WAYS: usize = 4;

fn give(step: &mut Step, option: String) {
    if let Step::Mount { mount: Mount::Syscall { options, .. } } = step {
        options.push(option);
    }
}

fn with_images(noise: Vec<u8>) -> Host {
    let mut host = with_claimed(noise);
    host.disks.retain(|disk| disk.serial != "tenth");
    host.disks.push(Disk::formatted("home", Bytes(2048 * MIB)));
    host.mounts = vec![("home".into(), "/var/tmp".into())];
    host
}

fn with_claimed(noise: Vec<u8>) -> Host {
    Host {
        disks: vec![
            Disk::with("first", &noise, Bytes(32 * MIB)),
            Disk::with("tenth", &[], Bytes(320 * MIB)),
            Disk::with("second", b"of somebody else", Bytes(32 * MIB)),
        ],
        modules: vec!["dm-mod".into()],
        programs: [
            "sha256sum",
            "tune2fs",
            "debugfs",
            "blkid",
            "dmsetup",
            "grep",
            "cut",
            "cat",
            "readlink",
            "basename",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Host::default()
    }
}

/// What a run's process does for its agents.
fn open_window() -> Vec<Order> {
    let create = format!(
        "fsderby device claim tenth --yes-erase tenth; \
         dmsetup --noudevsync create fsderby-$(grep -o '[0-9a-f]\\{{32\\}}' /var/lib/fsderby/devices/*.json | cut -c1-16) \
         --table \"0 {} linear $(cat /sys/block/$(basename $(readlink -f {}))/dev) 2048\"",
        WINDOW.0 / 512,
        Disk::path("tenth")
    );
    vec![Order::of(&["sh", "-ec", &create])]
}

fn close_window() -> Vec<Order> {
    let close =
        "dmsetup --noudevsync remove $(cat /sys/block/dm-0/dm/name); fsderby device release tenth 2>&1";
    vec![Order::of(&["sh", "-ec", close])]
}

/// Whether they were carried out: not without guests, which is said.
fn carried_out(ground: &Ground, jobs: &[Job], seed: u64) -> bool {
    let noise: Vec<u8> = (0..8 * MIB).map(|n| (n.wrapping_mul(seed | 1) >> 5) as u8).collect();
    let host = (ground.host)(noise);
    let look = Order::of(&[
        "sh",
        "-c",
        &format!("sha256sum {FILE} /etc/mke2fs.conf /usr/bin/fsderby; echo /root/*"),
    ]);
    let first = Order::of(&["sh", "-c", &format!("echo nothing of yours >{FILE}")]);
    let line = |job: &Job| Order {
        argv: ["fsderby", "agent"].map(str::to_owned).to_vec(),
        input: format!("{}\n", serde_json::to_string(job).unwrap()),
    };
    let mut orders = (ground.begin)();
    orders.extend([first, look.clone()]);
    let begun = orders.len();
    orders.extend(jobs.iter().map(line));
    orders.push(look);
    orders.extend((ground.end)());
    let Some(lived) = host.carry_out(&orders) else { return false };
    let last = |n: usize| jobs.get(n.saturating_sub(begun)).map(|job| (&job.trial, &job.steps));
    assert_eq!(lived.panic, None, "seed {seed}: {:#?}\n{:#?}", last(lived.said.len()), lived.log);
    assert_eq!(lived.altered(), ground.altered, "seed {seed}");
    let ends = &lived.said[begun + jobs.len() + 1..];
    let is_whole = |said: &Said| said.code == 0 && !said.out.contains("note:");
    assert!(
        lived.said[..begun].iter().chain(ends).all(is_whole),
        "seed {seed}: {ends:#?} {:#?}",
        &lived.said[..begun]
    );
    let looked = [&lived.said[begun - 1].out, &lived.said[begun + jobs.len()].out];
    assert!(looked[0].lines().count() == 4 && looked[0] == looked[1], "seed {seed}: {looked:#?}");
    let tried = &lived.said[begun..begun + jobs.len()];
    let mut refused = 0;
    for (job, said) in jobs.iter().zip(tried) {
        let events = events(said);
        let began = events.iter().any(|event| matches!(event, Event::Sandbox(_)));
        assert!(began, "seed {seed}: it did not come as far as the tools: {said:#?} {:#?}", job.steps);
        let says =
            |event: &Event| matches!(event, Event::Failed { text, .. } if text.contains("panic at an error"));
        refused += usize::from(events.iter().any(says));
        assert!(!said.err.contains("panicked"), "seed {seed}: {said:#?}");
    }
    say(&format!(
        "{} lists in {:?}, {refused} refused because the kernel would panic",
        jobs.len(),
        lived.time
    ));
    assert!(refused * 6 > jobs.len(), "seed {seed}: only {refused} of {} were refused for that", jobs.len());
    true
}

/// An agent's events.
fn events(said: &Said) -> Vec<Event> {
    said.out.lines().zip(0..).map(|(line, n)| decode(line, n).unwrap()).collect()
}
