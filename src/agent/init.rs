//! The agent as init of a guest: sets up the machine, carries out its job, and powers it off.
//!
//! ```text
//! /init          this program
//! /modules/boot  names of the modules that bring the disk and the port, each a file /modules/NAME.ko
//! /modules/job   names of the modules that the filesystems need
//! /job.json      the job; without it the guest only says that it runs
//! ```
//! The agent writes only events to its port of the machine; the console shows the kernel's messages.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use fsderby_sys::process::loopback_up;
use rustix::mount::MountFlags;
use rustix::system::init_module;

use super::ballast::{Ballast, ballast, has_enough};
use super::channel::Teller;
use super::mishap::Mishap;
use super::power::power_off;
use super::{StepError, monotonic_ns, trial};
use crate::host::wait_for;
use crate::schema::event::{Event, Seen};
use crate::schema::job::{Job, PROTOCOL, StepName};
use crate::storage;
use crate::storage::disk::handover;
use crate::workloads::programs;

/// Where copies of a work's inputs lie in a guest; what the archive has in /run is covered.
pub const INPUTS: &str = "/input";

/// The name of the event port.
pub const PORT: &str = "fsderby.events";

/// The hidden role `init`. Powers the machine off before it returns. With `waits` the init receives its job after boot.
pub fn main(mishap: Option<Mishap>, waits: bool) -> anyhow::Result<u8> {
    ensure!(rustix::process::getpid().is_init(), "only PID 1 of a guest can be its init");
    mount_own()?;
    load("boot")?;
    let loaded = load("job");
    if waits {
        handover::wait_for_files()?;
    }
    let job = read_job();
    let known = job.as_ref().and_then(|job| job.as_ref().ok());
    let tell = Teller::with(way_out(known)?, mishap);
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    let build = env!("CARGO_PKG_VERSION").to_owned();
    tell.send(&Event::Hello { protocol: PROTOCOL, build, kernel, clock_ns: monotonic_ns() })?;
    match job {
        Some(Ok(job)) => carry_out(&job, loaded, &tell)?,
        Some(Err(e)) => tell.send(&failed(&e))?,
        None => {}
    }
    tell.send(&Event::Bye { events: tell.sent(), clock_ns: monotonic_ns() })?;
    // A restart halts the CPU at once; only then may QEMU in virtual time see that it must end.
    power_off()?;
    Ok(0)
}

/// Brings up a guest that has no job and another program as init: its own filesystems, all its modules, and its port, to write to.
///
/// # Errors
/// If the kernel refuses one of them.
pub fn bring_up() -> anyhow::Result<File> {
    mount_own()?;
    load("boot")?;
    load("job")?;
    open_port()
}

fn carry_out(job: &Job, loaded: anyhow::Result<()>, tell: &Teller) -> io::Result<()> {
    let ready = match loaded.and_then(|()| prepare(job)) {
        Ok(ready) => ready,
        Err(e) => return tell.send(&failed(&e)),
    };
    if let Some(seen) = ready.seen {
        tell.send(&Event::Seen(seen))?;
    }
    trial::carry_out(job, ready.ballast, &|| the_rest(job), tell)
}

/// Stops this machine after the first steps; when it goes on, the host has replaced them by the whole job.
fn the_rest(first: &Job) -> anyhow::Result<Job> {
    handover::wait_for_files()?;
    let whole = read_job().context("the host sent no job")??;
    ensure!(whole.begins_with(first), "the job does not begin with the steps that were carried out");
    Ok(whole)
}

fn failed(error: &anyhow::Error) -> Event {
    StepError::new("set up", "the guest", format!("{error:#}")).of_machine().event(StepName::Boot)
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
    Some(serde_json::from_slice(&bytes).context("could not parse the job"))
}

/// The destination of events: the storage's, or else a port.
fn way_out(job: Option<&Job>) -> anyhow::Result<Box<dyn Write + Send>> {
    let own = job.map(|job| storage::find(&job.storage)?.way_out(&job.volume)).transpose()?.flatten();
    match own {
        Some(way) => Ok(way),
        None => Ok(Box::new(open_port()?)),
    }
}

/// A prepared guest.
struct Ready {
    seen: Option<Seen>,
    ballast: Ballast,
}

/// Waits for the job's disk, and reduces the guest's memory to the job's limit.
fn prepare(job: &Job) -> anyhow::Result<Ready> {
    ensure!(
        job.protocol == PROTOCOL,
        "the job uses protocol version {}, this agent version {PROTOCOL}",
        job.protocol
    );
    ensure!(job.guest, "this job is for the host, but this agent runs in a guest");
    let seen = storage::find(&job.storage)?.bring_up(job)?;
    if job.works.iter().any(|work| programs::starts(&work.work)) {
        serve_programs()?;
    }
    job.memory.map(has_enough).transpose()?;
    Ok(Ready { seen, ballast: job.memory.map(ballast).transpose()?.unwrap_or_default() })
}

/// What programs expect of a machine beside their files.
fn serve_programs() -> anyhow::Result<()> {
    loopback_up().context("could not bring up the loopback interface")?;
    fs::create_dir_all("/dev/shm")?;
    rustix::mount::mount("tmpfs", "/dev/shm", "tmpfs", MountFlags::empty(), Some(programs::IN_MEMORY))
        .context("could not mount /dev/shm")?;
    programs::furnish(Path::new("/run")).context("could not furnish /run")?;
    if Path::new(INPUTS).is_dir() {
        symlink(INPUTS, programs::INPUTS).context("could not show the inputs")?;
    }
    Ok(())
}

/// Loads the modules of that list. A module without its device may refuse to load; any lack shows in the trial.
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
        // Its memory is now the workload's.
        let _ = fs::remove_file(&file);
    }
    Ok(())
}

fn open_port() -> anyhow::Result<File> {
    let path = wait_for(port).context("the guest has no virtio port for the agent's events")?;
    OpenOptions::new().write(true).open(path).context("could not open the virtio port for the agent's events")
}

fn port() -> Option<PathBuf> {
    let ports = fs::read_dir("/sys/class/virtio-ports").ok()?.flatten();
    let is_ours =
        |p: &fs::DirEntry| fs::read_to_string(p.path().join("name")).is_ok_and(|n| n.trim() == PORT);
    let found = ports.into_iter().find(is_ours)?;
    let device = Path::new("/dev").join(found.file_name());
    device.exists().then_some(device)
}
