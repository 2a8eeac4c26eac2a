//! Before the work: everything written, caches dropped where the plan says cold, the device idle.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::StepError;
use super::site::Site;
use crate::probes::Raw;
use crate::probes::block_io::Counters;
use crate::units::MIB;

/// The device is idle when it has done nothing for so long.
const STILL: Duration = Duration::from_millis(30);
/// Longer than this nobody waits; what goes on then is part of the circumstances.
const LONGEST: Duration = Duration::from_secs(10);

/// Returns what was seen of the control `cold`, where it was asked for.
pub fn settle(site: &Site, cold: bool) -> Result<Option<Raw>, StepError> {
    let seen = if cold { Some(cool_down(site)?) } else { None };
    site.sync()?;
    if let Some(device) = site.device_number() {
        wait_until_idle(&device);
    }
    Ok(seen)
}

/// Drops the caches and shows by a witness that they were empty: a file that was in them is read from the device.
fn cool_down(site: &Site) -> Result<Raw, StepError> {
    let witness = site.place().join("witness");
    let fault = |e: io::Error| StepError::io("cool down by", &witness, e);
    write_witness(&witness).map_err(fault)?;
    fs::write("/proc/sys/vm/drop_caches", "3")
        .map_err(|e| StepError::io("write", "/proc/sys/vm/drop_caches", e))?;
    let device = site.device_number();
    let read_before = device.as_deref().and_then(Counters::read);
    let read = fs::read(&witness).map_err(fault)?.len() as u64;
    let read_after = device.as_deref().and_then(Counters::read);
    fs::remove_file(&witness).map_err(fault)?;
    let mut raw = Raw::from([("asked_bytes".to_owned(), read)]);
    if let (Some(before), Some(after)) = (read_before, read_after) {
        raw.insert("device_bytes_read".into(), after.since(&before).bytes_read());
    }
    Ok(raw)
}

/// Noise, so that no filesystem stores it smaller than it is.
fn write_witness(path: &Path) -> io::Result<()> {
    let mut noise = vec![0; MIB as usize];
    Xoshiro256PlusPlus::seed_from_u64(1).fill_bytes(&mut noise);
    let mut file = File::create(path)?;
    file.write_all(&noise)?;
    file.sync_all()
}

fn wait_until_idle(device: &str) {
    let begin = Instant::now();
    let mut before = Counters::read(device);
    while begin.elapsed() < LONGEST {
        std::thread::sleep(STILL);
        let now = Counters::read(device);
        if now == before && now.as_ref().is_none_or(|c| c.in_flight() == 0) {
            return;
        }
        before = now;
    }
}
