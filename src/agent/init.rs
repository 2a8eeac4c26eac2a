//! The agent as the init of a guest: brings the machine up, carries the job out, switches the machine off.
//!
//! ```text
//! /init          this program
//! /modules/boot  names of the modules that bring the disk and the port, each a file /modules/NAME.ko
//! /modules/job   names of those that the filesystems need
//! /job.json      the job; without it the guest only says that it runs
//! ```
//! Events go to a port of the machine and nothing else does; the console is left to the kernel.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::mount::MountFlags;
use rustix::system::{RebootCommand, init_module, reboot};

use super::channel::Sender;
use super::protocol::{Dev, Event, Job, PROTOCOL};
use super::{monotonic_ns, trial};
use crate::probes::memory::for_use;
use crate::storage::disk::{self, Floor};
use crate::units::Bytes;

/// The name of the port that events leave by.
pub const PORT: &str = "fsderby.events";
/// How long devices may take to appear.
const PATIENCE: Duration = Duration::from_secs(30);

/// What tests let happen in a guest, when its work begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mishap {
    /// The kernel panics.
    Panic,
    /// Nothing happens any more.
    Hang,
    /// Nothing happens any more, and the CPU is busy with it.
    Spin,
    /// The modelled disk's server is gone.
    DiskLost,
}

/// The hidden role `init`. The machine is off before it returns.
pub fn main(mishap: Option<Mishap>) -> anyhow::Result<u8> {
    ensure!(rustix::process::getpid().is_init(), "only the first process of a guest can be its init");
    mount_own()?;
    load("boot")?;
    let job = read_job();
    let mut tell = Sender::new(way_out(job.as_ref(), mishap)?);
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    let build = env!("CARGO_PKG_VERSION").to_owned();
    tell.send(&Event::Hello { protocol: PROTOCOL, build, kernel, clock_ns: monotonic_ns() })?;
    match job {
        Some(Ok(job)) => carry_out(&job, &mut tell)?,
        Some(Err(e)) => tell.send(&failed(&e))?,
        None => {}
    }
    tell.send(&Event::Bye { events: tell.sent(), clock_ns: monotonic_ns() })?;
    // One that starts again halts its CPU at once, and only then may QEMU see in virtual time that it is to end.
    reboot(RebootCommand::Restart).context("could not switch the guest off")?;
    Ok(0)
}

fn carry_out<W: Write>(job: &Job, tell: &mut Sender<W>) -> io::Result<()> {
    let ready = match load("job").and_then(|()| prepare(job)) {
        Ok(ready) => ready,
        Err(e) => return tell.send(&failed(&e)),
    };
    if let Some(Floor { floor_ns, service_ns }) = ready.floor {
        let raw = [("floor_ns".to_owned(), floor_ns), ("service_ns".to_owned(), service_ns)].into();
        tell.send(&Event::Seen { check: "floor".into(), raw })?;
    }
    trial::carry_out(job, true, tell)
}

fn failed(error: &anyhow::Error) -> Event {
    let (operation, path) = ("set up".to_owned(), "the guest".to_owned());
    Event::Failed { step: "boot".into(), operation, path, errno: 0, text: format!("{error:#}") }
}

fn mount_own() -> anyhow::Result<()> {
    for (fstype, target) in
        [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run"), ("tmpfs", "/tmp")]
    {
        rustix::mount::mount(fstype, target, fstype, MountFlags::empty(), None)
            .with_context(|| format!("could not mount {target}"))?;
    }
    Ok(())
}

fn read_job() -> Option<anyhow::Result<Job>> {
    let bytes = fs::read("/job.json").ok()?;
    Some(serde_json::from_slice(&bytes).context("could not understand the job"))
}

/// Where events go: into memory that the host looks at where its clock must not be felt, else through a port.
fn way_out(job: Option<&anyhow::Result<Job>>, mishap: Option<Mishap>) -> anyhow::Result<Box<dyn Write>> {
    match job {
        Some(Ok(Job { device: Dev::Model(_), size, .. })) => {
            Ok(Box::new(WayOut { way: disk::events(*size)?, mishap }))
        }
        _ => Ok(Box::new(WayOut { way: open_port()?, mishap })),
    }
}

type Ballast = Vec<Vec<u8>>;

/// A guest that can begin.
struct Ready {
    floor: Option<Floor>,
    /// Memory that nobody else may have.
    _ballast: Ballast,
}

/// The job's disk there, and no more memory free than it may have.
fn prepare(job: &Job) -> anyhow::Result<Ready> {
    ensure!(job.protocol == PROTOCOL, "the job speaks protocol {}, this agent {PROTOCOL}", job.protocol);
    let mut floor = None;
    match &job.device {
        Dev::Block { path, .. } => {
            wait_for(|| Path::new(path).exists().then_some(()))
                .with_context(|| format!("there is no {path}"))?;
        }
        Dev::Model(modelled) => {
            disk::seed_random(modelled.guest_seed)?;
            floor = Some(disk::start(modelled, job.size)?);
        }
        _ => anyhow::bail!("the job is none for a guest"),
    }
    Ok(Ready { floor, _ballast: job.memory.map(ballast).transpose()?.unwrap_or_default() })
}

/// Loads the modules of that list. One that finds no device of its own may refuse; what then lacks shows in the trial.
fn load(list: &str) -> anyhow::Result<()> {
    let folder = Path::new("/modules");
    let names =
        fs::read_to_string(folder.join(list)).with_context(|| format!("no list of modules {list}"))?;
    for name in names.lines() {
        let file = folder.join(format!("{name}.ko"));
        let bytes = fs::read(&file).with_context(|| format!("no module {name}"))?;
        match init_module(&bytes, c"") {
            Ok(()) | Err(rustix::io::Errno::EXIST | rustix::io::Errno::NODEV) => {}
            Err(e) => return Err(e).with_context(|| format!("could not load the module {name}")),
        }
        // Its memory is the workload's now.
        let _ = fs::remove_file(&file);
    }
    Ok(())
}

/// Memory that is taken and kept, so that page cache and workload have together what they were promised and no more. There
/// is no swap, so it stays where it is.
fn ballast(limit: Bytes) -> anyhow::Result<Ballast> {
    let mut ballast = Ballast::new();
    // Each piece may free some of the kernel's own memory, so the rest is looked at again. Pieces, because a list that grows
    // reserves more than it holds, and a process that has more than the machine cannot be split for a command.
    for _ in 0..5 {
        let surplus = for_use().context("the guest's memory is not known")?.saturating_sub(limit.0);
        if surplus == 0 {
            break;
        }
        ballast.push(vec![1; usize::try_from(surplus)?]);
    }
    Ok(ballast)
}

fn open_port() -> anyhow::Result<File> {
    let path = wait_for(port).context("the machine has no port for events")?;
    OpenOptions::new().write(true).open(path).context("could not open the port for events")
}

fn port() -> Option<PathBuf> {
    let ports = fs::read_dir("/sys/class/virtio-ports").ok()?.flatten();
    let is_ours =
        |p: &fs::DirEntry| fs::read_to_string(p.path().join("name")).is_ok_and(|n| n.trim() == PORT);
    let found = ports.into_iter().find(is_ours)?;
    let device = Path::new("/dev").join(found.file_name());
    device.exists().then_some(device)
}

fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if let Some(found) = look() {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    None
}

/// Where events go; with a mishap, which strikes when the work is announced.
struct WayOut<W> {
    way: W,
    mishap: Option<Mishap>,
}

impl<W: Write> Write for WayOut<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.way.write(bytes)?;
        const WORK: &[u8] = br#""step":"work""#;
        if bytes.windows(WORK.len()).any(|w| w == WORK)
            && let Some(mishap) = self.mishap
        {
            strike(mishap)?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.way.flush()
    }
}

fn strike(mishap: Mishap) -> io::Result<()> {
    match mishap {
        Mishap::Panic => fs::write("/proc/sysrq-trigger", "c")?,
        Mishap::DiskLost => {
            disk::lose();
            return Ok(());
        }
        Mishap::Spin => loop {
            std::hint::spin_loop();
        },
        Mishap::Hang => {}
    }
    loop {
        std::thread::sleep(PATIENCE);
    }
}
