//! A guest's own disk: modelled, answered by a thread of its init, timed by the guest's clock, stored in memory that the guest's
//! kernel does not know of.
//!
//! ```text
//! filesystem ── kernel's nbd ── socket pair ── server ─┬─ Drive   when each request is done
//!                                                      ├─ store   what the sectors hold
//!                                                      └─ requests, for the host
//! ```
//! Nothing of it is timed by the host, so that with an instruction counter for a clock every run is the same.

pub mod layout;
pub mod outbox;
pub mod request;
mod server;

use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::Context;
use fsderby_diskmodel::{Counters, Drive, Spec};
use fsderby_sys::nbd;
use fsderby_sys::physical::PhysicalMemory;
use serde::Serialize;

use self::layout::Layout;
use self::outbox::Outbox;
use self::server::Server;
use crate::agent::protocol::Modelled;
use crate::units::Bytes;

/// The disk, as the guest's kernel names it.
pub const DEVICE: &str = "/dev/nbd0";
/// What the disk is, in the guest's first root.
pub const SPEC: &str = "/disk.toml";

/// What the disk has done so far.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Totals {
    #[serde(flatten)]
    pub drive: Counters,
    /// Answers that were given later than [`LATE_NS`] after their time: the one CPU had other work.
    pub late: u64,
    /// By how much, in all.
    pub late_ns: u64,
}

/// Less than the least that a disk can be told apart by.
pub const LATE_NS: u64 = 20_000;

static TOTALS: Mutex<Option<Totals>> = Mutex::new(None);

/// What this guest's disk has done so far; `None` where there is none.
pub fn totals() -> Option<Totals> {
    *TOTALS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn publish(totals: Totals) {
    *TOTALS.lock().unwrap_or_else(PoisonError::into_inner) = Some(totals);
}

/// Starts the disk's threads. They end with the guest.
pub fn start(modelled: &Modelled, window: Bytes) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(SPEC).context("there is no disk to model")?;
    let spec = Spec::parse(&text).context("the disk is not understood")?;
    let layout = Layout::new(window);
    let map = |range: layout::Range| PhysicalMemory::map(range.address, range.length);
    let server = Server {
        drive: Drive::new(&spec, modelled.draw),
        offset: modelled.offset.0 / SECTOR,
        store: map(layout.store).context("could not map the disk's store")?,
        requests: Outbox::new(map(layout.requests).context("could not map the list of requests")?),
    };
    let shape = nbd::Shape {
        block: spec.logical_block(),
        blocks: window.0 / u64::from(spec.logical_block()),
        is_rotational: spec.is_rotational(),
        discards: false,
    };
    let (ours, kernels) = UnixStream::pair().context("could not make a socket pair")?;
    let device = OpenOptions::new().read(true).write(true).open(DEVICE);
    let device = device.with_context(|| format!("could not open {DEVICE}"))?;
    thread::Builder::new().name("disk".into()).spawn(move || server.serve(ours))?;
    thread::Builder::new().name("disk-kernel".into()).spawn(move || attach(&device, kernels, shape))?;
    Ok(())
}

/// Where the guest's events go.
pub fn events(window: Bytes) -> anyhow::Result<Outbox> {
    let range = Layout::new(window).events;
    let memory = PhysicalMemory::map(range.address, range.length);
    Ok(Outbox::new(memory.context("could not map the place for events")?))
}

/// Makes the kernel's random numbers the same in every run of that seed.
pub fn seed_random(seed: u64) -> anyhow::Result<()> {
    let seed = blake3::hash(&seed.to_le_bytes());
    fsderby_sys::schedule::seed_random(seed.as_bytes()).context("could not seed the random numbers")
}

/// Whether the kernel has taken the disk.
pub fn is_there() -> bool {
    Path::new("/sys/block/nbd0/pid").exists()
}

pub const SECTOR: u64 = 512;

/// Says on the guest's console, in its kernel's log, why requests will fail from now on.
fn complain(what: &str) {
    let _ = std::fs::write("/dev/kmsg", format!("fsderby: {what}\n"));
}

fn attach(device: &File, socket: UnixStream, shape: nbd::Shape) {
    if let Err(e) = nbd::serve(device, &OwnedFd::from(socket), shape) {
        complain(&format!("the modelled disk could not be attached: {e}"));
    }
}
