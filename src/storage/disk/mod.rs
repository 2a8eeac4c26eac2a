//! A guest's own disk: modelled, answered by a thread of its init, timed by the guest's clock, stored in memory that the guest's
//! kernel does not know of.
//!
//! ```text
//! filesystem ── I/O scheduler ── kernel's ublk ── server ─┬─ Drive   when each request is done
//!                                                         ├─ store   what the sectors hold
//!                                                         └─ requests, for the host
//! ```
//! Nothing of it is timed by the host, so that with an instruction counter for a clock every run is the same.

mod attach;
mod floor;
pub mod layout;
pub mod outbox;
mod server;
mod totals;

pub use totals::{Totals, totals};

use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::Context;
use fsderby_diskmodel::{Drive, Spec};
use fsderby_sys::physical::PhysicalMemory;

use self::attach::attach;
use self::layout::Layout;
use self::outbox::Outbox;
use self::server::{SECTOR, Server};
use super::image::GuestDisk;
use super::{Attached, Storage, settings};
use crate::host::StepError;
use crate::schema::event::Seen;
use crate::schema::job::Job;
use crate::schema::setup::{Modelled, Named, Volume};

/// The disk, as the guest's kernel names it.
pub const DEVICE: &str = "/dev/ublkb0";
/// What the disk is, in the guest's first root.
pub const SPEC: &str = "/disk.toml";

/// `disk`: a part of a modelled disk, in virtual time.
pub struct ModelledDisk;

/// The storage with these settings.
pub fn named(modelled: &Modelled) -> Named {
    Named::new(ModelledDisk.name(), modelled)
}

impl Storage for ModelledDisk {
    fn name(&self) -> &'static str {
        "disk"
    }

    fn attach(&self, _job: &Job) -> Result<Attached, StepError> {
        let (path, folder) = (DEVICE.into(), "/dev".into());
        Ok(Attached::Devices(vec![Box::new(GuestDisk { path, direct: true, folder })]))
    }

    fn bring_up(&self, job: &Job) -> anyhow::Result<Option<Seen>> {
        let modelled: Modelled = settings(job)?;
        seed_random(modelled.guest_seed)?;
        start(&modelled, &job.volume).map(Some)
    }

    fn way_out(&self, volume: &Volume) -> anyhow::Result<Option<Box<dyn Write + Send>>> {
        let range = Layout::new(volume.size).events;
        let memory = PhysicalMemory::map(range.address, range.length);
        Ok(Some(Box::new(Outbox::new(memory.context("could not map the place for events")?))))
    }
}

/// Starts the disk's threads, which end with the guest. Returns the floor.
fn start(modelled: &Modelled, volume: &Volume) -> anyhow::Result<Seen> {
    let text = std::fs::read_to_string(SPEC).context("there is no disk to model")?;
    let spec = Spec::parse(&text).context("the disk is not understood")?;
    let layout = Layout::new(volume.size);
    let map = |range: layout::Range| PhysicalMemory::map(range.address, range.length);
    let store = map(layout.store).context("could not map the disk's store")?;
    let requests = map(layout.requests).context("could not map the list of requests")?;
    let (floor_ns, store) =
        floor::measure(store).context("could not measure what a request costs without a disk")?;
    let server = Server {
        drive: Drive::new(&spec, modelled.sample),
        offset: volume.offset.0 / SECTOR,
        store,
        requests: Some(Outbox::new(requests)),
    };
    attach(0, server, &spec, volume.size)?;
    let requests = Path::new("/sys/class/block/ublkb0/queue/nr_requests");
    std::fs::write(requests, SORTED).context("could not say how many requests may wait")?;
    Ok(Seen::Floor { floor_ns, service_ns: spec.service_4k_ns() })
}

/// Has the disk fail at the next request.
pub fn lose() {
    server::LOST.store(true, Ordering::Relaxed);
}

/// Makes the kernel's random numbers the same in every run of that seed.
fn seed_random(seed: u64) -> anyhow::Result<()> {
    let seed = blake3::hash(&seed.to_le_bytes());
    fsderby_sys::schedule::seed_random(seed.as_bytes()).context("could not seed the random numbers")
}

/// Requests that wait before the disk and are merged and sorted there: the kernel's default for a disk, whatever its depth.
const SORTED: &str = "128";
