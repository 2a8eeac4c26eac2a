//! Arguments of an experiment that name what is not the trial's, and the neighbours that must stay as they were.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fsderby::filesystems::{self, Filesystem, TABLE};
use fsderby::runner::experiment::Experiment;
use fsderby::runner::plan::jobs;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::schema::event::Event;
use fsderby::schema::job::{Job, Step};
use fsderby::schema::setup::{Argv, DEVICE, Mount};
use fsderby::schema::units::Bytes;
use fsderby::testbeds;
use fsderby_sys::loop_device::LoopDevice;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::agent::carry_out;
use super::desk::Desk;
use super::{has_loop, say};

pub const MIB: u64 = 1 << 20;
/// Every kind accepts it.
const SIZE: Bytes = Bytes(512 * MIB);
/// After so many it is looked whether the neighbours are as they were.
const LOOK_EVERY: usize = 100;

/// What is not the trial's.
pub struct Neighbours {
    pub desk: Desk,
    pub devices: Vec<LoopDevice>,
    pub mounted: PathBuf,
    pub links: Vec<PathBuf>,
}

impl Neighbours {
    pub fn new() -> Self {
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
    pub fn hash(&self) -> Vec<(String, String)> {
        rustix::fs::syncfs(File::open(&self.mounted).unwrap()).unwrap();
        let devices = self.devices[..2].iter().map(|device| device.path().to_owned());
        let files = [self.desk.path("file"), self.mounted.join("inside")];
        let mut all: Vec<_> = devices.chain(files).map(|path| (text(&path), hash_of(&path))).collect();
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

/// So many argument lists, each of about 30 ms, drawn from this seed unless `FSDERBY_SEED` gives another.
pub fn none_reaches_a_neighbour(draws: usize, seed: u64) {
    if !has_loop("hostile arguments") {
        return;
    }
    let neighbours = Neighbours::new();
    let targets = neighbours.targets();
    let before = neighbours.hash();
    let seed = std::env::var("FSDERBY_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(seed);
    say(&format!("hostile arguments of seed {seed}"));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut began = 0;
    for tried in 1..=draws {
        let job = hostile(&neighbours.desk.testbed(), |_| SIZE, &targets, &mut random);
        began += usize::from(carry_out(&job).iter().any(|event| matches!(event, Event::Sandbox(_))));
        if tried % LOOK_EVERY == 0 || tried == draws {
            assert_eq!(neighbours.hash(), before, "seed {seed}, after {tried}; the last was {:?}", job.steps);
        }
    }
    assert_eq!(began, draws, "each came as far as the tools");
    neighbours.desk.leaves_nothing(std::process::id());
}

/// A job of a drawn kind on this testbed, with a volume of its size, with one drawn command or mount changed.
pub fn hostile(
    testbed: &str,
    size: impl Fn(&dyn Filesystem) -> Bytes,
    targets: &[String],
    random: &mut Xoshiro256PlusPlus,
) -> Job {
    let kind = TABLE[below(random, TABLE.len())];
    let mut job =
        job_on(kind.name(), testbed, size(kind), &format!("{}-{}", std::process::id(), random.next_u64()));
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

pub fn job(kind: &str, desk: &Desk, token: &str) -> Job {
    job_on(kind, &desk.testbed(), SIZE, token)
}

/// Its trial on this testbed, with a volume of this size.
pub fn job_on(kind: &str, testbed: &str, Bytes(size): Bytes, token: &str) -> Job {
    let experiment =
        format!("workloads = ['postmark-quick']\nsize = {size}\nimage = 'sparse'\nfilesystems = ['{kind}']");
    let plan = Experiment::parse(&experiment, "test").unwrap().plan("loop".into(), 1).unwrap();
    let testbed = testbeds::parse(testbed).unwrap();
    jobs::job(&Resolved::of(&plan).unwrap(), &plan.round(1).next().unwrap(), 1, &*testbed, token)
}

pub fn below(random: &mut Xoshiro256PlusPlus, limit: usize) -> usize {
    usize::try_from(random.next_u64() % limit as u64).unwrap()
}

/// A file in which every sector is another.
pub fn noise(path: &Path, bytes: u64) -> File {
    let mut block = vec![0; usize::try_from(MIB).unwrap()];
    Xoshiro256PlusPlus::seed_from_u64(bytes).fill_bytes(&mut block);
    fs::write(path, &block).unwrap();
    let file = File::options().read(true).write(true).open(path).unwrap();
    file.set_len(bytes).unwrap();
    file
}

fn hash_of(path: &Path) -> String {
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

pub fn run(program: &str, arguments: &[&str]) -> bool {
    let path = fsderby::host::programs::find(program).unwrap_or_else(|| program.into());
    let status = Command::new(path).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

pub fn text(path: &Path) -> String {
    path.display().to_string()
}
