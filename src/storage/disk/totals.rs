//! Counters of modelled disks, for readers in the same guest, or in the agent if another process serves the disk in real time.

use std::sync::{Mutex, PoisonError};

use fsderby_diskmodel::Counters;
use serde::{Deserialize, Serialize};

/// Counters of one disk.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    #[serde(flatten)]
    pub drive: Counters,
    /// Completions later than [`LATE_NS`] after their time, because the one CPU was busy.
    pub late: u64,
    /// Total delay of these late completions, in nanoseconds.
    pub late_ns: u64,
}

/// Delay from which a completion counts as late. It is less than the smallest detectable difference between disks.
pub const LATE_NS: u64 = 20_000;

static TOTALS: Mutex<Vec<Totals>> = Mutex::new(Vec::new());

/// Asks the process that serves a disk for its counters; `None` if that process has ended.
pub type Ask = Box<dyn FnMut() -> Option<Totals> + Send>;

static ELSEWHERE: Mutex<Option<Ask>> = Mutex::new(None);

/// Sets the source of [`totals`]; `None` removes it.
pub fn ask(whom: Option<Ask>) {
    *ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner) = whom;
}

/// Counters of each disk; empty without modelled disks.
pub fn totals() -> Vec<Totals> {
    if let Some(ask) = &mut *ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner) {
        return ask().into_iter().collect();
    }
    TOTALS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

pub fn publish(disk: u8, totals: Totals) {
    let mut all = TOTALS.lock().unwrap_or_else(PoisonError::into_inner);
    let at = usize::from(disk);
    if all.len() <= at {
        all.resize(at + 1, Totals::default());
    }
    all[at] = totals;
}
