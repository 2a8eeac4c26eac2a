//! What modelled disks have done so far, for whoever asks in the same guest, or in the agent whose twin another process serves.

use std::sync::{Mutex, PoisonError};

use fsderby_diskmodel::Counters;
use serde::{Deserialize, Serialize};

/// What one disk has done so far.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
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

/// Asks whoever serves a disk elsewhere; `None` when it is gone.
pub type Ask = Box<dyn FnMut() -> Option<Totals> + Send>;

static ELSEWHERE: Mutex<Option<Ask>> = Mutex::new(None);

/// From now on [`totals`] are asked for; with `None` no more.
pub fn ask(whom: Option<Ask>) {
    *ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner) = whom;
}

/// What each disk has done so far; none where there are none.
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
