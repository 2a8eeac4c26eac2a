//! fsderby inside a guest as the host: what could harm this machine is tried there.
//!
//! ```text
//! this machine ── kernel, programs, orders ──▶ QEMU ─ guest: this test program as init
//!    ▲                                                   │  as root, with loop devices and a few disks
//!    └── answers by a port, console, disks ──────────────┴─▶ one order after another: fsderby …
//! ```
//! A program of tests that boots such a machine has the test `harness::inside`, which is its init.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use fsderby::agent;
use fsderby::guest::cpio::Archive;
use fsderby::guest::initramfs::Bare;
use fsderby::guest::slim;
use fsderby::host::{programs, wait_for};
use fsderby::schema::units::{Bytes, MIB};
use fsderby::testbeds::Fault;
use fsderby::testbeds::vm::machine::{Machine, in_memory};
use fsderby::testbeds::vm::{BOOT, Vm, guest};
use rustix::mount::{MountFlags, mount};
use serde::{Deserialize, Serialize};

use super::desk::Said;
use super::quiet::has_guests;
use super::skipped;

/// The test that is the machine's init, in each program of tests that has one.
pub const INSIDE: &str = "harness::inside";
/// The kernel passes these to its init.
const AS_INIT: &str = "--exact --nocapture --test-threads=1";
const ORDERS: &str = "/orders.json";
/// Where the machine finds its disks by their serial numbers, as udev has them.
const BY_ID: &str = "/dev/disk/by-id";
/// A debug build of fsderby and of the tests beside the page cache.
const MEMORY: Bytes = Bytes(768 * MIB);
/// An order that takes longer is ended.
const LIMIT: Duration = Duration::from_secs(120);

/// A disk of the machine.
pub struct Disk {
    pub serial: &'static str,
    image: File,
}

impl Disk {
    /// A disk in memory with this content, and zeros behind it.
    pub fn with(serial: &'static str, content: &[u8], size: Bytes) -> Self {
        let mut image = in_memory(serial).unwrap();
        image.write_all(content).unwrap();
        image.set_len(size.0).unwrap();
        Disk { serial, image }
    }

    /// An ext4 that this machine's mkfs makes in a file.
    pub fn formatted(serial: &'static str, size: Bytes) -> Self {
        let disk = Disk::with(serial, &[], size);
        let file = path_of(&disk.image);
        let made = Command::new(programs::find("mkfs.ext4").unwrap()).args(["-q", "-F"]).arg(file).status();
        assert!(made.unwrap().success(), "mkfs.ext4 of the disk {serial}");
        disk
    }

    /// Its path inside, while it is there.
    pub fn path(serial: &str) -> String {
        format!("{BY_ID}/virtio-{serial}")
    }

    fn hash(&self) -> String {
        // A terabyte of zeros takes no time: only what is written is read, and only what is not zero counts.
        let size = self.image.metadata().unwrap().len();
        let (mut hash, mut block, zeros) =
            (blake3::Hasher::new(), vec![0; MIB as usize], vec![0; MIB as usize]);
        let mut at = 0;
        while let Ok(data) = rustix::fs::seek(&self.image, rustix::fs::SeekFrom::Data(at)) {
            at = data / MIB * MIB;
            let length = (size - at).min(MIB) as usize;
            self.image.read_exact_at(&mut block[..length], at).unwrap();
            if block[..length] != zeros[..length] {
                hash.update(&at.to_le_bytes()).update(&block[..length]);
            }
            at += MIB;
            if at >= size {
                break;
            }
        }
        hash.update(&size.to_le_bytes()).finalize().to_hex().to_string()
    }
}

/// A file without a name, by one that this process's children can open.
fn path_of(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into()
}

/// A command that the machine carries out as root, with its standard input, which stays open.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Order {
    pub argv: Vec<String>,
    pub input: String,
}

impl Order {
    /// The program under test, with these arguments.
    pub fn fsderby(arguments: &[&str]) -> Self {
        Self::of(&[&["fsderby"], arguments].concat())
    }

    pub fn of(argv: &[&str]) -> Self {
        Order { argv: argv.iter().map(|word| (*word).to_owned()).collect(), input: String::new() }
    }
}

/// A machine that is a host: Debian's kernel, disks, modules, programs of this machine.
pub struct Host {
    pub memory: Bytes,
    pub disks: Vec<Disk>,
    /// Where ext4 disks are mounted before the first order: serial number and folder.
    pub mounts: Vec<(String, String)>,
    /// By name or alias; those of loop devices and of every kind are there anyway.
    pub modules: Vec<String>,
    /// Modules that are loaded with parameters, last.
    pub drivers: Vec<(String, String)>,
    /// By name or path; those of every kind are there anyway.
    pub programs: Vec<String>,
    /// By path.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Default for Host {
    fn default() -> Self {
        Host {
            memory: MEMORY,
            disks: Vec::new(),
            mounts: Vec::new(),
            modules: Vec::new(),
            drivers: Vec::new(),
            programs: Vec::new(),
            files: Vec::new(),
        }
    }
}

/// How the machine lived.
#[derive(Debug)]
pub struct Lived {
    /// What each order said, up to the one during which the machine ended.
    pub said: Vec<Said>,
    /// The guest's time for each of them.
    pub took: Vec<Duration>,
    /// The kernel's log.
    pub log: Vec<String>,
    /// The kernel's last words, if it panicked.
    pub panic: Option<String>,
    /// Of each disk, by its serial number: the hash before and after.
    pub hashes: BTreeMap<String, [String; 2]>,
    pub time: Duration,
}

impl Lived {
    /// The disks whose content is another now.
    pub fn altered(&self) -> Vec<&str> {
        self.hashes.iter().filter(|(_, [a, b])| a != b).map(|(serial, _)| serial.as_str()).collect()
    }
}

#[derive(Serialize, Deserialize)]
struct Orders {
    mounts: Vec<(String, String)>,
    disks: usize,
    drivers: Vec<(String, String)>,
    orders: Vec<Order>,
}

impl Host {
    /// Boots it, has these orders carried out one after another, and powers it off; `None` where no guest can be started, which is
    /// said.
    pub fn carry_out(&self, orders: &[Order]) -> Option<Lived> {
        if !has_guests("fsderby as a guest's host") {
            return None;
        }
        let begin = Instant::now();
        let before: Vec<String> = self.disks.iter().map(Disk::hash).collect();
        let mut vm = Vm::default();
        vm.starts.agent = env!("CARGO_BIN_EXE_fsderby").into();
        let found = vm.found().expect("QEMU and a kernel");
        let (mut modules, programs) = self.all();
        // What a driver with parameters needs is loaded with the others.
        for (driver, _) in &self.drivers {
            let chain = found.kernel.index.with_hosts().chain([driver.as_str()]).unwrap();
            modules.extend(chain.into_iter().filter(|module| module != driver));
        }
        if let Err(lacks) = found.kernel.index.with_hosts().chain(modules.iter().map(String::as_str)) {
            let release = &found.kernel.index.release;
            skipped(
                "a host in a guest",
                &format!("the kernel {release} has {lacks} (fsderby kernel fetch {release})"),
            );
            return None;
        }
        let bare = Bare {
            kernel: &found.kernel,
            init: Path::new("/proc/self/exe"),
            boot: &BOOT,
            modules: &modules,
            programs: &programs,
        };
        let drivers = self
            .drivers
            .iter()
            .map(|(name, _)| (driver(name), slim::module(found.kernel.module(name).unwrap()).unwrap()));
        let (base, own) = (bare.archive().unwrap(), self.archive(orders, drivers.collect()));
        let images: Vec<File> = self.disks.iter().map(|disk| disk.image.try_clone().unwrap()).collect();
        let serials: Vec<String> = self.disks.iter().map(|disk| disk.serial.to_owned()).collect();
        let machine = Machine {
            qemu: &found.qemu,
            kernel: found.kernel.image(),
            initramfs: vec![&base, &own],
            memory: self.memory,
            root: "",
            cpu: found.cpu,
            cpus: 1,
            disks: &images,
            serials: &serials,
            monitor: None,
            init: format!("{INSIDE} {AS_INIT}"),
        };
        let mut running = machine.start().unwrap();
        let answers = read(running.child.stdout.take().unwrap());
        let (mut said, mut took): (Vec<Said>, Vec<Duration>) = Default::default();
        while let Ok(line) = answers.recv_timeout(LIMIT * 2) {
            let answer = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
            let (one, time): (Said, Duration) = answer;
            said.push(one);
            took.push(time);
        }
        // It has closed its port, or is silent for too long.
        let _ = wait_for(|| running.child.try_wait().ok().flatten());
        let _ = running.child.kill();
        running.child.wait().unwrap();
        let log = guest::text(&mut running.console);
        let panic = guest::panic(&log).map(|fault| match fault {
            Fault::Panic(words) => words,
            other => format!("{other:?}"),
        });
        let ended = panic.is_some() || said.len() == orders.len();
        let complaints = guest::text(&mut running.complaints);
        assert!(ended, "the machine ended after {} orders: {log:#?} {complaints:#?}", said.len());
        let after = self.disks.iter().map(Disk::hash);
        let hashes = serials.into_iter().zip(before.into_iter().zip(after).map(|(a, b)| [a, b])).collect();
        println!("the guest's time for each order: {took:.1?}");
        Some(Lived { said, took, log, panic, hashes, time: begin.elapsed() })
    }

    /// Modules and programs, with those of loop devices and of every kind whose tools are installed.
    fn all(&self) -> (Vec<String>, Vec<String>) {
        let (mut modules, mut programs) = (vec!["loop".to_owned()], vec!["sh".to_owned()]);
        for kind in fsderby::filesystems::TABLE {
            let tools = fsderby::filesystems::tools(*kind);
            if tools.iter().all(|tool| programs::find(tool).is_some()) {
                modules.extend(kind.kernel().modules.iter().map(|module| (*module).to_owned()));
                programs.extend(tools);
            }
        }
        modules.extend(self.modules.iter().cloned());
        programs.extend(self.programs.iter().cloned());
        (modules, programs)
    }

    fn archive(&self, orders: &[Order], drivers: Vec<(String, Vec<u8>)>) -> Vec<u8> {
        let mut archive = Archive::default();
        let program = fs::read(env!("CARGO_BIN_EXE_fsderby")).unwrap();
        archive.file("/usr/bin/fsderby", &slim::program(program).unwrap());
        for folder in ["/var/tmp", "/root", "/mnt", "/srv", "/etc"] {
            archive.folder(folder);
        }
        archive.link("/bin", "usr/bin");
        archive.link("/etc/mtab", "/proc/mounts");
        for (path, content) in self.files.iter().chain(&drivers) {
            archive.file(path, content);
        }
        let (mounts, disks) = (self.mounts.clone(), self.disks.len());
        let drivers = self.drivers.clone();
        let orders = Orders { mounts, disks, drivers, orders: orders.to_vec() };
        archive.file(ORDERS, &serde_json::to_vec(&orders).unwrap());
        archive.finish()
    }
}

/// Where the machine finds a driver that is loaded with parameters.
fn driver(name: &str) -> String {
    format!("/drivers/{name}.ko")
}

/// Lines as they come.
fn read(output: ChildStdout) -> Receiver<String> {
    let (send, receive) = channel();
    thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        lines.take_while(|line| send.send(line.clone()).is_ok()).for_each(drop);
    });
    receive
}

/// Whether this is the machine's init, which then carries out its orders and does not return.
pub fn is_inside() -> bool {
    if !rustix::process::getpid().is_init() {
        return false;
    }
    let mut port = agent::bring_up().unwrap();
    // The log goes to the console, all of it.
    fs::write("/proc/sys/kernel/printk", "7").unwrap();
    mount("cgroup2", "/sys/fs/cgroup", "cgroup2", MountFlags::empty(), None).unwrap();
    let orders: Orders = serde_json::from_slice(&fs::read(ORDERS).unwrap()).unwrap();
    for (name, parameters) in &orders.drivers {
        let parameters = std::ffi::CString::new(parameters.as_str()).unwrap();
        rustix::system::init_module(&fs::read(driver(name)).unwrap(), &parameters).unwrap();
    }
    name_disks(orders.disks);
    for (serial, folder) in &orders.mounts {
        fs::create_dir_all(folder).unwrap();
        mount(Disk::path(serial), folder, "ext4", MountFlags::empty(), None).unwrap();
    }
    for order in &orders.orders {
        let begin = Instant::now();
        let said = (carried_out(order), begin.elapsed());
        writeln!(port, "{}", serde_json::to_string(&said).unwrap()).unwrap();
    }
    for (_, folder) in orders.mounts.iter().rev() {
        let _ = rustix::mount::unmount(folder, rustix::mount::UnmountFlags::empty());
    }
    rustix::fs::sync();
    agent::power_off().unwrap();
    true
}

/// Links to the disks by their serial numbers.
fn name_disks(disks: usize) {
    let named = || {
        let blocks = fs::read_dir("/sys/block").unwrap().flatten();
        let named = blocks.filter_map(|block| {
            let serial = fs::read_to_string(block.path().join("serial")).ok()?;
            Some((block.file_name(), serial.trim().to_owned()))
        });
        let named: Vec<_> = named.filter(|(_, serial)| !serial.is_empty()).collect();
        (named.len() >= disks).then_some(named)
    };
    fs::create_dir_all(BY_ID).unwrap();
    for (device, serial) in wait_for(named).unwrap() {
        symlink(Path::new("../..").join(device), Disk::path(&serial)).unwrap();
    }
}

fn carried_out(order: &Order) -> Said {
    let [program, arguments @ ..] = order.argv.as_slice() else { panic!("an empty order") };
    let files = ["/tmp/out", "/tmp/err"].map(|path| File::create(path).unwrap());
    let mut command = Command::new(programs::find(program).unwrap_or_else(|| program.into()));
    command.args(arguments).env_clear().env("PATH", programs::FOLDERS.join(":"));
    command.env("HOME", "/root").env("NO_COLOR", "1").current_dir("/root");
    let [out, err] = files;
    let stdin = if order.input.is_empty() { Stdio::null() } else { Stdio::piped() };
    command.stdin(stdin).stdout(out).stderr(err);
    let text = |path: &str| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) => return Said { code: -1, out: String::new(), err: format!("{program}: {e}"), pid: 0 },
    };
    let input = child.stdin.take().map(|mut stdin| {
        let _ = stdin.write_all(order.input.as_bytes());
        stdin
    });
    let begin = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if begin.elapsed() > LIMIT => {
                let _ = child.kill();
            }
            None => thread::sleep(Duration::from_millis(10)),
        }
    };
    // An agent ends when its input does.
    drop(input);
    let pid = child.id();
    Said { code: status.code().unwrap_or(-1), out: text("/tmp/out"), err: text("/tmp/err"), pid }
}
