//! The modelled disks of a guest. A thread of the guest's init answers the requests of each disk, timed by the guest's clock.
//! The sectors are in memory that the guest's kernel does not use.
//!
//! ```text
//! filesystem ── I/O scheduler ── kernel's ublk ── server ─┬─ Drive   when each request is done
//!                                                         ├─ store   content of the sectors
//!                                                         ├─ medium  content that survives a power cut, if one is planned
//!                                                         └─ requests of all disks, for the host
//! ```
//! The host's clock times no request. With an instruction counter as the guest's clock, every run is identical.

mod again;
mod attach;
mod floor;
pub mod handover;
pub mod layout;
mod medium;
pub mod outbox;
mod server;
mod store;
pub mod totals;

pub use totals::{Totals, totals};

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use anyhow::Context;
use fsderby_diskmodel::{Drive, Scheduler, Spec, Way};
use fsderby_sys::physical::PhysicalMemory;

use self::attach::attach;
use self::layout::{EVENTS, Layout, REQUESTS, SECTOR};
use self::medium::Medium;
use self::outbox::Outbox;
use self::server::{Requests, Server, Shared, lock};
use self::store::Store;
use super::image::GuestDisk;
use super::{Attached, Device, Disposable, Storage, settings};
use crate::host::{StepError, monotonic_ns};
use crate::schema::event::Seen;
use crate::schema::job::Job;
use crate::schema::setup::{Modelled, Named, Volume};

/// Path of the disk's description in the guest's first root filesystem.
pub const SPEC: &str = "/disk.toml";

/// `disk`: one or more modelled disks of one kind, in virtual time; the volume is a part of each.
pub struct ModelledDisk;

/// The storage with these settings.
pub fn named(modelled: &Modelled) -> Named {
    Named::new(ModelledDisk.name(), modelled)
}

/// The device paths of this many disks in the guest.
pub fn devices(disks: u32) -> Vec<PathBuf> {
    (0..disks).map(|disk| format!("/dev/ublkb{disk}").into()).collect()
}

impl Storage for ModelledDisk {
    fn name(&self) -> &'static str {
        "disk"
    }

    fn attach(&self, job: &Job) -> Result<Attached, StepError> {
        let modelled: Modelled = settings(job)?;
        let disk = |path| -> Result<Box<dyn Device>, StepError> {
            let disposable = Disposable::in_guest(path)?;
            Ok(Box::new(GuestDisk { disposable, direct: true, folder: "/dev".into() }))
        };
        let mut leaves =
            devices(modelled.all_disks()).into_iter().map(disk).collect::<Result<Vec<_>, _>>()?;
        let source = if modelled.source { leaves.pop() } else { None };
        Ok(Attached::Devices { leaves, source })
    }

    fn bring_up(&self, job: &Job) -> anyhow::Result<Option<Seen>> {
        let modelled: Modelled = settings(job)?;
        seed_random(modelled.guest_seed)?;
        start(&modelled, job)
    }

    fn way_out(&self, _volume: &Volume) -> anyhow::Result<Option<Box<dyn Write + Send>>> {
        Ok(Some(Box::new(Outbox::new(map(EVENTS).context("could not map the memory for events")?))))
    }

    fn cut_power(&self) -> io::Result<bool> {
        cut_power().map(|()| true)
    }
}

/// All disks of this guest, so that their power can be cut.
static SERVERS: Mutex<Vec<Shared>> = Mutex::new(Vec::new());

/// Starts the disks' threads, which end with the guest. Returns the floor on the first boot only; it is the same on every boot.
fn start(modelled: &Modelled, job: &Job) -> anyhow::Result<Option<Seen>> {
    let text = std::fs::read_to_string(SPEC).context("no disk to model")?;
    let mut spec = Spec::parse(&text).context("the disk's description could not be parsed")?;
    if modelled.preconditioned {
        spec = spec.preconditioned().context("this disk cannot be preconditioned")?;
    }
    if modelled.write_through {
        spec = spec.written_through();
    }
    // The kernel uses the disk as changed by the sample.
    let varied = spec.varied(modelled.sample.levels);
    let layout = Layout::of(job, modelled);
    let map_disk = |at: layout::Range| {
        Store::map(at.address, at.length, layout.volume())
            .context("could not map the memory for a modelled disk's sectors")
    };
    let mut stores = Vec::new();
    for disk in 0..modelled.all_disks() {
        stores.push(map_disk(layout.store(disk))?);
    }
    let requests =
        map(REQUESTS).context("could not map the memory for the list of the modelled disks' requests")?;
    let list = Arc::new(Mutex::new(Outbox::new(requests)));
    let mut seen = None;
    if job.life == 0 {
        let measured = floor::measure(modelled, stores.remove(0));
        let (floor_ns, store) = measured.context("could not measure the overhead of a request")?;
        stores.insert(0, store);
        seen = Some(Seen::Floor { floor_ns, service_ns: spec.service_4k_ns() });
    }
    let offset = job.volume.offset.0 / SECTOR;
    for (number, store) in (0..).zip(stores) {
        let medium = layout.medium(number).map(map_disk).transpose()?;
        let medium = medium.map(|image| Medium::new(image, offset));
        let mut drive = Drive::new(&spec, modelled.sample.of_member(number.into()));
        if medium.is_some() {
            drive.watch();
        }
        let requests = Some(Requests { list: list.clone(), disk: u8::try_from(number)?, life: job.life });
        let server = Server { drive, offset, store, medium, requests, is_dark: false };
        let server = Arc::new(Mutex::new(server));
        attach(number, &server, &varied, modelled, job.volume.size)?;
        lock(&SERVERS).push(server);
    }
    devices(modelled.all_disks()).iter().try_for_each(|device| line_up(device, varied.way()))?;
    Ok(seen)
}

/// Configures the kernel's queue and I/O scheduler as for disks of this class.
fn line_up(device: &Path, way: Way) -> anyhow::Result<()> {
    let name = device.file_name().context("a device has a name")?;
    let queue = Path::new("/sys/class/block").join(name).join("queue");
    let scheduler = way.scheduler.name();
    std::fs::write(queue.join("scheduler"), scheduler)
        .with_context(|| format!("could not set the I/O scheduler {scheduler}"))?;
    // Without a scheduler the kernel queues only as many requests as the disk takes.
    if way.scheduler != Scheduler::None {
        std::fs::write(queue.join("nr_requests"), way.requests.to_string())
            .context("could not set the queue's length")?;
    }
    Ok(())
}

/// Makes the disks fail at the next request.
pub fn lose() {
    server::LOST.store(true, Ordering::Relaxed);
}

/// Makes the disks answer no further request.
pub fn stall() {
    server::STALLED.store(true, Ordering::Relaxed);
}

/// Cuts the power of all disks at the same instant.
fn cut_power() -> io::Result<()> {
    let servers = lock(&SERVERS);
    let mut locked: Vec<_> = servers.iter().map(|server| lock(server)).collect();
    let now_ns = monotonic_ns();
    locked.iter_mut().try_for_each(|server| server.lose_power(now_ns))
}

fn map(range: layout::Range) -> io::Result<PhysicalMemory> {
    PhysicalMemory::map(range.address, range.length)
}

/// Seeds the kernel's random numbers, so that they are the same in every run with this seed.
fn seed_random(seed: u64) -> anyhow::Result<()> {
    let seed = blake3::hash(&seed.to_le_bytes());
    fsderby_sys::schedule::seed_random(seed.as_bytes()).context("could not seed the random number generator")
}
