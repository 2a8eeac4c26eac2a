//! What arguments of an experiment may try against the rest of the machine, as root on this machine's own kernel: every tool of
//! every kind, with arguments that name what is not the trial's, leaves its neighbours as they were.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::agent::carry_out;
use crate::support::desk::Desk;
use crate::support::{has_loop, say, skipped};
use fsderby::filesystems::{self, TABLE};
use fsderby::runner::experiment::Experiment;
use fsderby::runner::jobs;
use fsderby::schema::event::Event;
use fsderby::schema::job::{Job, Step};
use fsderby::schema::setup::{Argv, Capability, DEVICE, Mount};
use fsderby::testbeds;
use fsderby_sys::loop_device::LoopDevice;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const MIB: u64 = 1 << 20;
/// How many argument lists are drawn; each takes about 30 ms.
const DRAWN: usize = 1000;
/// After so many it is looked whether the neighbours are as they were.
const LOOK_EVERY: usize = 100;

/// What is not the trial's.
struct Neighbours {
    desk: Desk,
    devices: Vec<LoopDevice>,
    mounted: PathBuf,
    links: Vec<PathBuf>,
}

impl Neighbours {
    fn new() -> Self {
        let desk = Desk::new();
        let device = |name: &str| LoopDevice::attach(&noise(&desk.path(name), 128 * MIB)).unwrap();
        let devices = vec![device("first"), device("second"), device("mounted")];
        let mounted = desk.path("site");
        fs::create_dir(&mounted).unwrap();
        let third = devices[2].path();
        assert!(run("mkfs.ext4", &["-q", "-F", &text(third)]));
        assert!(run("mount", &["-o", "noatime", &text(third), &text(&mounted)]));
        noise(&mounted.join("inside"), MIB);
        noise(&desk.path("file"), MIB);
        let to_device = desk.path("link-to-a-device");
        symlink(devices[0].path(), &to_device).unwrap();
        let to_file = desk.path("link-to-a-file");
        symlink(desk.path("file"), &to_file).unwrap();
        Neighbours { devices, mounted, links: vec![to_device, to_file], desk }
    }

    /// All of their content.
    fn hash(&self) -> Vec<(String, String)> {
        rustix::fs::syncfs(File::open(&self.mounted).unwrap()).unwrap();
        let devices = self.devices[..2].iter().map(|device| device.path().to_owned());
        let files = [self.desk.path("file"), self.mounted.join("inside")];
        let mut all: Vec<_> = devices.chain(files).map(|path| (text(&path), hash(&path))).collect();
        all.push((text(&self.mounted), format!("{:?}", names(&self.mounted))));
        all.push((text(self.desk.path("").as_path()), format!("{:?}", self.desk.names())));
        all
    }

    /// How an argument can name them, and other things that are not the trial's.
    fn targets(&self) -> Vec<String> {
        let mut paths: Vec<PathBuf> = self.devices.iter().map(|device| device.path().to_owned()).collect();
        paths.extend([self.desk.path("file"), self.mounted.join("inside"), self.mounted.join("new")]);
        paths.extend(self.links.iter().cloned());
        let mut all: Vec<String> = paths.iter().map(|path| text(path)).collect();
        all.extend(paths.iter().map(|path| format!("/proc/1/root{}", path.display())));
        all.extend(paths.iter().map(|path| format!("/proc/self/root{}", path.display())));
        all.extend((0..12).map(|n| format!("/proc/self/fd/{n}")));
        all.extend((0..12).map(|n| format!("/proc/1/fd/{n}")));
        for device in &self.devices {
            let number = fs::metadata(device.path()).unwrap().rdev();
            let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
            all.extend([
                format!("/dev/block/{major}:{minor}"),
                format!("{major}:{minor}"),
                number.to_string(),
            ]);
        }
        all
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        run("umount", &[&text(&self.mounted)]);
    }
}

/// Options by which the tools, and mounts, name a further device or file.
const OPTIONS: [&str; 40] = [
    "-z {}",
    "-J device={}",
    "-l {}",
    "-L {}",
    "-d {}",
    "-E offset=0 {}",
    "-j {}",
    "-l logdev={}",
    "-l logdev={},size=16m",
    "-r rtdev={}",
    "-d name={}",
    "-d file,name={},size=64m",
    "-p {}",
    "--rootdir {}",
    "-r {}",
    "-c {}",
    "-o {}",
    "-C {}",
    "-A {}",
    "-b {}",
    "-B {}",
    "-i {}",
    "-t {}",
    "-s {}",
    "-u {}",
    "-x {}",
    "-w {}",
    "-k {}",
    "{}",
    "-- {}",
    "-f {}",
    "-O {}",
    "-U {}",
    "-R {}",
    "-T {}",
    "-N {}",
    "-e {}",
    "-m {}",
    "-D {}",
    "--device={}",
];
const MOUNT_OPTIONS: [&str; 12] = [
    "journal_path={}",
    "journal_dev={}",
    "logdev={}",
    "rtdev={}",
    "jdev={}",
    "device={}",
    "loop={}",
    "source={}",
    "usrjquota={}",
    "fsname={}",
    "iocharset={}",
    "errors={}",
];

#[test]
fn no_argument_reaches_a_neighbour() {
    if !has_loop("hostile arguments") {
        return;
    }
    let neighbours = Neighbours::new();
    let targets = neighbours.targets();
    let before = neighbours.hash();
    let seed = std::env::var("FSDERBY_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or_else(entropy);
    say(&format!("hostile arguments of seed {seed}"));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut began = 0;
    for tried in 1..=DRAWN {
        let job = hostile(&neighbours, &targets, &mut random);
        began += usize::from(carry_out(&job).iter().any(|event| matches!(event, Event::Sandbox(_))));
        if tried % LOOK_EVERY == 0 {
            assert_eq!(neighbours.hash(), before, "seed {seed}, after {tried}; the last was {:?}", job.steps);
        }
    }
    assert_eq!(began, DRAWN, "each came as far as the tools");
    neighbours.desk.leaves_nothing(std::process::id());
}

/// A job of a drawn kind with one drawn command or mount changed.
fn hostile(neighbours: &Neighbours, targets: &[String], random: &mut Xoshiro256PlusPlus) -> Job {
    let kind = TABLE[below(random, TABLE.len())];
    let mut job =
        job(kind.name(), &neighbours.desk, &format!("{}-{}", std::process::id(), random.next_u64()));
    let is_tool = |step: &Step| matches!(step, Step::Make { .. } | Step::Mount { .. } | Step::Check { .. });
    job.steps.retain(|step| matches!(step, Step::Reset) || is_tool(step));
    if let Some(repair) = kind.recover().repair.into_iter().next() {
        job.steps.push(Step::Repair { check: repair });
    }
    let at = 1 + below(random, job.steps.len() - 1);
    let mut target = || targets[below(random, targets.len())].clone();
    let named = target();
    let (second, word, place) = (target(), random.next_u64(), random.next_u64());
    match &mut job.steps[at] {
        Step::Make { argv }
        | Step::Check { check: filesystems::Check { argv, .. }, .. }
        | Step::Repair { check: filesystems::Check { argv, .. } }
        | Step::Mount { mount: Mount::Command { argv, .. } } => spoil(argv, &named, &second, word, place),
        Step::Mount { mount: Mount::Syscall { options, .. } } => {
            let option = MOUNT_OPTIONS[usize::try_from(word % MOUNT_OPTIONS.len() as u64).unwrap()];
            options.push(option.replace("{}", &named));
        }
        _ => unreachable!("only tools and mounts are left"),
    }
    // What comes after it would find a device that is not as it should be.
    job.steps.truncate(at + 1);
    // A check or a repair needs no mount.
    if !matches!(job.steps[at], Step::Mount { .. }) {
        job.steps.retain(|step| !matches!(step, Step::Mount { .. }));
    }
    job
}

/// One more argument that names something, or something in place of the device.
fn spoil(argv: &mut Argv, named: &str, second: &str, word: u64, place: u64) {
    let option = OPTIONS[usize::try_from(word % OPTIONS.len() as u64).unwrap()].replace("{}", named);
    match place % 8 {
        0 => argv.iter_mut().filter(|word| *word == DEVICE).for_each(|word| *word = named.to_owned()),
        1 => argv.extend([named.to_owned(), second.to_owned()]),
        place => {
            let last = argv.len() - usize::from(place % 2 == 0);
            for (n, word) in option.split(' ').enumerate() {
                argv.insert((last + n).min(argv.len()), word.to_owned());
            }
        }
    }
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
            seen = seen.or_else(rights_of_a_worker);
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

/// What `/proc/PID/status` says of our worker, once it has become who works.
fn rights_of_a_worker() -> Option<BTreeMap<String, String>> {
    let is_ours = |process: &PathBuf| {
        let is_program = fs::read_link(process.join("exe"))
            .is_ok_and(|exe| exe == Path::new(env!("CARGO_BIN_EXE_fsderby")));
        is_program && fs::read(process.join("cmdline")).is_ok_and(|line| line.ends_with(b"\0worker\0"))
    };
    let mut all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let status = fs::read_to_string(all.find(is_ours)?.join("status")).ok()?;
    let lines = status.lines().filter_map(|line| line.split_once(':'));
    let seen: BTreeMap<String, String> =
        lines.map(|(key, value)| (key.into(), value.trim().into())).collect();
    (seen.get("NoNewPrivs")? == "1").then_some(seen)
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

fn job(kind: &str, desk: &Desk, token: &str) -> Job {
    let experiment =
        format!("workloads = ['postmark-quick']\nsize = '512m'\nimage = 'sparse'\nfilesystems = ['{kind}']");
    let plan = Experiment::parse(&experiment, "test").unwrap().plan("loop".into(), 1).unwrap();
    let testbed = testbeds::parse(&desk.testbed()).unwrap();
    jobs::job(&plan, &plan.round(1).next().unwrap(), 1, &*testbed, token)
}

fn below(random: &mut Xoshiro256PlusPlus, limit: usize) -> usize {
    usize::try_from(random.next_u64() % limit as u64).unwrap()
}

fn entropy() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// A file in which every sector is another.
fn noise(path: &Path, bytes: u64) -> File {
    let mut block = vec![0; usize::try_from(MIB).unwrap()];
    Xoshiro256PlusPlus::seed_from_u64(bytes).fill_bytes(&mut block);
    fs::write(path, &block).unwrap();
    let file = File::options().read(true).write(true).open(path).unwrap();
    file.set_len(bytes).unwrap();
    file
}

fn hash(path: &Path) -> String {
    let mut hash = blake3::Hasher::new();
    let mut file = File::open(path).unwrap();
    let mut block = vec![0; usize::try_from(MIB).unwrap()];
    while let n @ 1.. = file.read(&mut block).unwrap() {
        hash.update(&block[..n]);
    }
    hash.finalize().to_hex().to_string()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn run(program: &str, arguments: &[&str]) -> bool {
    let path = fsderby::host::programs::find(program).unwrap_or_else(|| program.into());
    let status = Command::new(path).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
