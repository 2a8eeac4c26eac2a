//! Counters of modelled disks, for readers in the same guest, or in the agent if another process serves the disk in real time.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use fsderby_diskmodel::Counters;
use fsderby_sys::process::cpu_ns_of_thread;
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
    /// CPU time of the thread that serves the disk, in nanoseconds. `None` if it serves in another process or has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_ns: Option<u64>,
}

/// Delay from which a completion counts as late. It is less than the smallest detectable difference between disks.
pub const LATE_NS: u64 = 20_000;

static TOTALS: Mutex<Vec<Totals>> = Mutex::new(Vec::new());

/// The thread that serves each disk.
static SERVERS: Mutex<BTreeMap<u8, i32>> = Mutex::new(BTreeMap::new());

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
    let mut all = TOTALS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for (disk, thread) in &*SERVERS.lock().unwrap_or_else(PoisonError::into_inner) {
        if let Some(totals) = all.get_mut(usize::from(*disk)) {
            totals.server_ns = cpu_ns_of_thread(*thread);
        }
    }
    all
}

/// Says that this thread serves the disk from now on.
pub fn serves(disk: u8) {
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    SERVERS.lock().unwrap_or_else(PoisonError::into_inner).insert(disk, thread);
}

pub fn publish(disk: u8, totals: Totals) {
    let mut all = TOTALS.lock().unwrap_or_else(PoisonError::into_inner);
    let at = usize::from(disk);
    if all.len() <= at {
        all.resize(at + 1, Totals::default());
    }
    all[at] = totals;
}
