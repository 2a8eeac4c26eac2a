//! In a guest: allocates the memory beyond the trial's limit, so that nothing else can use it.

use anyhow::{Context, ensure};

use crate::probes::memory::for_use;
use crate::schema::units::{Bytes, KIB};

/// Memory that the agent holds, so that no other program can use it.
pub type Ballast = Vec<Vec<u8>>;

/// A CPU adds its page counts to the kernel's totals only beyond 125 pages (`calculate_normal_threshold` in mm/vmstat.c), so a
/// reading may be higher than the one before although nothing was freed. This margin is allocated too.
const ADDED_LATE: u64 = 125 * 4 * KIB;

/// Checks that the guest has as much memory for a trial as its limit says, which programs and inputs in memory could prevent.
///
/// # Errors
/// If less is free.
pub fn has_enough(limit: Bytes) -> anyhow::Result<()> {
    let free = Bytes(free()?);
    ensure!(
        free.0 >= limit.0.saturating_sub(ADDED_LATE),
        "the guest has {free} of memory for the trial, which is less than its limit of {limit}\n  try: fewer or smaller \
         inputs and programs"
    );
    Ok(())
}

fn free() -> anyhow::Result<u64> {
    for_use().context("could not read the guest's memory size")
}

/// What a limit of now would be: the margin is part of it.
///
/// # Errors
/// If the kernel does not say it.
pub fn left() -> anyhow::Result<Bytes> {
    Ok(Bytes(free()? + ADDED_LATE))
}

/// Allocates and holds memory, so that page cache and workload together have exactly their limit. There is no swap, so it stays
/// resident.
pub fn ballast(limit: Bytes) -> anyhow::Result<Ballast> {
    let most = limit.0.saturating_sub(ADDED_LATE);
    let mut ballast = Ballast::new();
    // Each piece may free some of the kernel's own memory, so the rest is read again. Separate pieces, because a growing vector
    // reserves more than it holds, and a process larger than the machine cannot fork for a command.
    for _ in 0..5 {
        let surplus = free()?.saturating_sub(most);
        if surplus == 0 {
            break;
        }
        ballast.push(vec![1; usize::try_from(surplus)?]);
    }
    Ok(ballast)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::units::MIB;

    #[test]
    fn a_machine_with_less_than_the_limit_is_refused_by_name() {
        has_enough(Bytes(MIB)).unwrap();
        let refused = has_enough(Bytes(1 << 50)).unwrap_err().to_string();
        assert!(refused.contains("less than its limit of 1 PiB"), "{refused}");
    }
}
