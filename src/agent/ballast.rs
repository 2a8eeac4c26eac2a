//! In a guest: what memory is more than the trial may have is taken, so that nobody else has it.

use anyhow::Context;

use crate::probes::memory::for_use;
use crate::schema::units::{Bytes, KIB};

/// Memory that nobody else may have.
pub type Ballast = Vec<Vec<u8>>;

/// A CPU adds what it takes and frees to the kernel's sums when it is 125 pages at most (`calculate_normal_threshold` in mm/vmstat.c), so a look
/// may show more than the one before though nothing came free. That much is taken too.
const ADDED_LATE: u64 = 125 * 4 * KIB;

/// Memory that is taken and kept, so that page cache and workload have together what they were promised and no more. There
/// is no swap, so it stays where it is.
pub fn ballast(limit: Bytes) -> anyhow::Result<Ballast> {
    let most = limit.0.saturating_sub(ADDED_LATE);
    let mut ballast = Ballast::new();
    // Each piece may free some of the kernel's own memory, so the rest is looked at again. Pieces, because a list that grows
    // reserves more than it holds, and a process that has more than the machine cannot be split for a command.
    for _ in 0..5 {
        let surplus = for_use().context("the guest's memory is not known")?.saturating_sub(most);
        if surplus == 0 {
            break;
        }
        ballast.push(vec![1; usize::try_from(surplus)?]);
    }
    Ok(ballast)
}
