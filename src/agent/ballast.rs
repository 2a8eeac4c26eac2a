//! In a guest: what memory is more than the trial may have is taken, so that nobody else has it.

use anyhow::Context;

use crate::probes::memory::for_use;
use crate::schema::units::Bytes;

/// Memory that nobody else may have.
pub type Ballast = Vec<Vec<u8>>;

/// Memory that is taken and kept, so that page cache and workload have together what they were promised and no more. There
/// is no swap, so it stays where it is.
pub fn ballast(limit: Bytes) -> anyhow::Result<Ballast> {
    let mut ballast = Ballast::new();
    // Each piece may free some of the kernel's own memory, so the rest is looked at again. Pieces, because a list that grows
    // reserves more than it holds, and a process that has more than the machine cannot be split for a command.
    for _ in 0..5 {
        let surplus = for_use().context("the guest's memory is not known")?.saturating_sub(limit.0);
        if surplus == 0 {
            break;
        }
        ballast.push(vec![1; usize::try_from(surplus)?]);
    }
    Ok(ballast)
}
