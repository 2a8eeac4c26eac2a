//! The time of a request in a guest if the disk takes no time: the kernel's block layer, the switch to the server and back, and
//! the server's own work, all on one CPU. Only disks that are much slower than this floor can be told from it.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use fsderby_diskmodel::{Drive, SHIPPED, Sample, Spec};
use rustix::fs::OFlags;

use super::attach::{Attached, attach};
use super::server::Server;
use super::store::Store;
use crate::host::monotonic_ns;
use crate::schema::setup::Modelled;
use crate::schema::units::{Bytes, MIB};

const VOLUME: Bytes = Bytes(MIB);
const READS: u64 = 65;
const BLOCK: usize = 4096;

/// Median time of reads of 4 KiB that bypass the page cache, in nanoseconds of the guest's clock. It is measured on a separate
/// device before the trial, on the trial's store, which is still empty. The store is returned unchanged.
pub fn measure(modelled: &Modelled, store: Store) -> anyhow::Result<(u64, Store)> {
    let (_, text) = SHIPPED
        .iter()
        .find(|(name, _)| *name == "zero")
        .context("the shipped disk 'zero', whose requests take no time, is missing")?;
    let spec = Spec::parse(text)?;
    let drive = Drive::new(&spec, Sample::NOMINAL);
    let server = Server { drive, offset: 0, store, medium: None, requests: None, is_dark: false };
    let shared = Arc::new(Mutex::new(server));
    let nominal = Modelled { sample: Sample::NOMINAL, ..modelled.clone() };
    let Attached { device, server } = attach(modelled.all_disks(), &shared, &spec, &nominal, VOLUME)?;
    let direct = OFlags::DIRECT.bits().cast_signed();
    let floor = median_read(&OpenOptions::new().read(true).custom_flags(direct).open(device.path())?)?;
    device.end()?;
    server.join().map_err(|_| anyhow::anyhow!("the disk server has panicked"))?;
    let server = Arc::into_inner(shared).context("the disk server did not stop")?;
    Ok((floor, server.into_inner().unwrap_or_else(PoisonError::into_inner).store))
}

fn median_read(device: &File) -> anyhow::Result<u64> {
    // Direct reads need buffers of whole blocks.
    let mut space = vec![0; 2 * BLOCK];
    let begin = space.as_ptr().align_offset(BLOCK);
    let buffer = &mut space[begin..begin + BLOCK];
    let mut times = Vec::new();
    for number in 0..READS {
        // 37 has no factor in common with the number of blocks, so each read has a different position.
        let place = number * 37 * BLOCK as u64 % VOLUME.0;
        let before = monotonic_ns();
        device.read_exact_at(buffer, place)?;
        times.push(monotonic_ns() - before);
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}
