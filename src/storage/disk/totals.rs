//! What a guest's disk has done so far, for whoever asks in the same guest.

use std::sync::{Mutex, PoisonError};

use fsderby_diskmodel::Counters;
use serde::Serialize;

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

pub fn publish(totals: Totals) {
    *TOTALS.lock().unwrap_or_else(PoisonError::into_inner) = Some(totals);
}
