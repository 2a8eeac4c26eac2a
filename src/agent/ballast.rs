//! In a guest: allocates the memory beyond the trial's limit, so that nothing else can use it.

use anyhow::Context;

use crate::probes::memory::for_use;
use crate::schema::units::{Bytes, KIB};

/// Memory that the agent holds, so that no other program can use it.
pub type Ballast = Vec<Vec<u8>>;

/// A CPU adds its page counts to the kernel's totals only beyond 125 pages (`calculate_normal_threshold` in mm/vmstat.c), so a
/// reading may be higher than the one before although nothing was freed. This margin is allocated too.
const ADDED_LATE: u64 = 125 * 4 * KIB;

/// Allocates and holds memory, so that page cache and workload together have exactly their limit. There is no swap, so it stays
/// resident.
pub fn ballast(limit: Bytes) -> anyhow::Result<Ballast> {
    let most = limit.0.saturating_sub(ADDED_LATE);
    let mut ballast = Ballast::new();
    // Each piece may free some of the kernel's own memory, so the rest is read again. Separate pieces, because a growing vector
    // reserves more than it holds, and a process larger than the machine cannot fork for a command.
    for _ in 0..5 {
        let surplus = for_use().context("could not read the guest's memory size")?.saturating_sub(most);
        if surplus == 0 {
            break;
        }
        ballast.push(vec![1; usize::try_from(surplus)?]);
    }
    Ok(ballast)
}
