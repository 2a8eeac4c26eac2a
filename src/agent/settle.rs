//! Before the work: syncs everything, drops caches if the plan is cold, and waits for an idle device.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fs::{Advice, fadvise};

use super::StepError;
use super::site::Site;
use super::tree::open_regular;
use crate::probes::Devices;
use crate::probes::block_io::Counters;
use crate::schema::event::Seen;
use crate::schema::units::MIB;

/// A device without activity for this long is idle.
const STILL: Duration = Duration::from_millis(30);
/// Value 3 drops pages, names and inodes (`Documentation/admin-guide/sysctl/vm.rst`).
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";
/// Longest wait for an idle device; device activity after this wait counts as a circumstance of the trial.
const LONGEST: Duration = Duration::from_secs(10);

/// Returns the observation for the validity check `cold`, if requested.
pub fn settle(site: &Site, cold: bool) -> Result<Option<Seen>, StepError> {
    let seen = if cold { Some(cool_down(site)?) } else { None };
    site.sync()?;
    wait_until_idle(&site.devices());
    Ok(seen)
}

/// Without our own mount: syncs every file and drops its pages, then all caches if permitted. Files that others have open or
/// write stay.
pub fn forget(site: &Site) -> Result<Seen, StepError> {
    site.sync()?;
    let mut files = 0;
    let mut folders = vec![site.place().to_owned()];
    while let Some(folder) = folders.pop() {
        let fault = |e: io::Error| StepError::io("look through", &folder, e);
        for entry in fs::read_dir(&folder).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            let path = entry.path();
            let fault = |e: io::Error| StepError::io("drop the pages of", &path, e);
            let kind = entry.file_type().map_err(fault)?;
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                drop_pages(&path).map_err(fault)?;
                files += 1;
            }
        }
    }
    let all_caches = fs::write(DROP_CACHES, "3").is_ok();
    Ok(Seen::ColdStart { files, all_caches })
}

/// Writes and then drops the file's pages, because only clean pages can be dropped.
fn drop_pages(path: &Path) -> io::Result<()> {
    let file = open_regular(path)?;
    file.sync_all()?;
    Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
}

/// Drops the caches and proves it with a witness: a previously cached file is read from the device.
fn cool_down(site: &Site) -> Result<Seen, StepError> {
    let witness = site.place().join("witness");
    let fault = |e: io::Error| StepError::io("check that caches are cold with the test file", &witness, e);
    write_witness(&witness).map_err(fault)?;
    fs::write(DROP_CACHES, "3").map_err(|e| StepError::io("write", DROP_CACHES, e))?;
    let devices = site.devices();
    let read_before = Counters::sum(&devices.leaves);
    let read = fs::read(&witness).map_err(fault)?.len() as u64;
    let read_after = Counters::sum(&devices.leaves);
    fs::remove_file(&witness).map_err(fault)?;
    let device_bytes_read =
        read_before.zip(read_after).map(|(before, after)| after.since(&before).bytes_read());
    Ok(Seen::Cold { asked_bytes: read, device_bytes_read })
}

/// Writes a test file of random bytes, which no filesystem can compress.
fn write_witness(path: &Path) -> io::Result<()> {
    let mut noise = vec![0; MIB as usize];
    Xoshiro256PlusPlus::seed_from_u64(1).fill_bytes(&mut noise);
    // Never through a link placed there by another user.
    let mut file = File::create_new(path)?;
    file.write_all(&noise)?;
    file.sync_all()
}

/// Waits until all disks are idle: background work of a layer, such as a resync, shows only on the disks.
fn wait_until_idle(devices: &Devices) {
    if devices.leaves.is_empty() {
        return;
    }
    let begin = Instant::now();
    let mut before = Counters::sum(&devices.leaves);
    while begin.elapsed() < LONGEST {
        std::thread::sleep(STILL);
        let now = Counters::sum(&devices.leaves);
        if now == before && now.as_ref().is_none_or(|c| c.in_flight() == 0) {
            return;
        }
        before = now;
    }
}
