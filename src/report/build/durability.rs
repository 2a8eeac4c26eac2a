//! Whether an fsync is the same promise on all: how often each has the device empty its cache for one.

use crate::report::view::number::{list, ratio};
use crate::report::view::row::Row;
use crate::report::view::workload::WorkloadSummary;

/// Flushes of the device for each fsync of the work.
const FLUSHES: &str = "device.flushes_per_fsync";
/// Journal commits that nobody asked for are among the flushes, so that these differ a little anyway.
const UNEQUAL: f64 = 1.5;

/// One sentence for each workload in which it is not.
pub fn unequal(workloads: &[WorkloadSummary]) -> Vec<String> {
    let rows = |work: &WorkloadSummary| work.rows().find(|row| row.name == FLUSHES).and_then(of);
    let said = |work: &WorkloadSummary| {
        let flushes = rows(work)?;
        Some(format!(
            "Unequal durability in {}: flushes of the device for each fsync are {flushes}. Who flushes less promises less, or batches \
             better; speeds beside each other do not say which.",
            work.label
        ))
    };
    workloads.iter().filter_map(said).collect()
}

/// `1.00 (birchfs), 2.10 (cedarfs)`; `None` where they are alike.
fn of(row: &Row) -> Option<String> {
    let mut medians: Vec<(f64, &str)> =
        row.cells.iter().filter_map(|cell| Some((cell.median?, cell.filesystem.as_str()))).collect();
    medians.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let (least, most) = (medians.first()?.0, medians.last()?.0);
    if most <= UNEQUAL * least {
        return None;
    }
    let each: Vec<String> = medians.iter().map(|(n, label)| format!("{} ({label})", ratio(*n))).collect();
    Some(list(&each))
}
