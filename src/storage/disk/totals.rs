//! What a guest's disks have done so far, for whoever asks in the same guest.

use std::sync::Mutex;

use fsderby_diskmodel::Counters;
use serde::Serialize;

use super::server::lock;

/// What one disk has done so far.
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

static TOTALS: Mutex<Vec<Totals>> = Mutex::new(Vec::new());

/// What each of this guest's disks has done so far; none where there are none.
pub fn totals() -> Vec<Totals> {
    lock(&TOTALS).clone()
}

pub fn publish(disk: u8, totals: Totals) {
    let mut all = lock(&TOTALS);
    let at = usize::from(disk);
    if all.len() <= at {
        all.resize(at + 1, Totals::default());
    }
    all[at] = totals;
}
