//! Rate of the CPU's time-stamp counter, which an emulated guest sees unchanged and cannot calibrate itself.

/// Rate in kHz against `CLOCK_MONOTONIC_RAW`, measured over about 0.1 s to a few parts per million; `None` without this counter.
pub fn khz() -> Option<u64> {
    let (begin_ticks, begin_ns) = closest_pair()?;
    std::thread::sleep(std::time::Duration::from_millis(100));
    let (end_ticks, end_ns) = closest_pair()?;
    let (ticks, ns) = (u128::from(end_ticks.checked_sub(begin_ticks)?), u128::from(end_ns - begin_ns));
    // ticks/ns · 10⁶ = ticks/ms = kHz, to the nearest.
    u64::try_from((ticks * 1_000_000 + ns / 2) / ns).ok()
}

/// Counter and clock read together: the try with the least time between the readings.
fn closest_pair() -> Option<(u64, u64)> {
    let tries = (0..50).map(|_| {
        let before = raw_ns();
        let ticks = counter()?;
        let after = raw_ns();
        Some((after - before, ticks, before + (after - before) / 2))
    });
    let (_, ticks, ns) = tries.min_by_key(|one| one.map_or(u64::MAX, |(gap, ..)| gap))??;
    Some((ticks, ns))
}

fn raw_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicRaw);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

#[cfg(target_arch = "x86_64")]
fn counter() -> Option<u64> {
    // SAFETY: every x86-64 CPU has this instruction, and Linux allows it to everybody.
    Some(unsafe { core::arch::x86_64::_rdtsc() })
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_measurements_agree() {
        let (Some(one), Some(two)) = (super::khz(), super::khz()) else { return };
        assert!(one.abs_diff(two) * 1000 < one, "{one} and {two} kHz");
    }
}
