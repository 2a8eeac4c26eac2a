//! Whether an fsync is the same promise on all: how often each has the device empty its cache for one.

use std::collections::BTreeSet;

use crate::report::view::number::{list, ratio};
use crate::report::view::row::Row;
use crate::report::view::workload::WorkloadSummary;
use crate::schema::plan::Plan;

/// Flushes of the device for each fsync of the work.
pub const FLUSHES: &str = "device.flushes_per_fsync";
/// Journal commits that nobody asked for are among the flushes, so that these differ a little anyway.
const UNEQUAL: f64 = 1.5;

/// One sentence for each workload and setup in which it is not. From one setup to another the device may be one that needs no flush.
pub fn unequal(plan: &Plan, workloads: &[WorkloadSummary]) -> Vec<String> {
    let setups = plan.setups().into_iter().map(|(_, setup)| {
        let within = plan.candidates.iter().filter(|candidate| plan.setup(candidate) == setup);
        within.map(|candidate| candidate.label.as_str()).collect::<BTreeSet<&str>>()
    });
    let setups: Vec<BTreeSet<&str>> = setups.collect();
    let said = |work: &WorkloadSummary, labels: &BTreeSet<&str>| {
        let flushes = work.rows().find(|row| row.name == FLUSHES).and_then(|row| of(row, labels))?;
        Some(format!(
            "Unequal durability in {}: flushes of the device for each fsync are {flushes}. Who flushes less promises less, or batches \
             better; speeds beside each other do not say which.",
            work.label
        ))
    };
    workloads.iter().flat_map(|work| setups.iter().filter_map(move |labels| said(work, labels))).collect()
}

/// `1.00 (birchfs), 2.10 (cedarfs)`; `None` where they are alike.
fn of(row: &Row, labels: &BTreeSet<&str>) -> Option<String> {
    let cells = row.cells.iter().filter(|cell| labels.contains(cell.filesystem.as_str()));
    let mut medians: Vec<(f64, &str)> =
        cells.filter_map(|cell| Some((cell.median?, cell.filesystem.as_str()))).collect();
    medians.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let (least, most) = (medians.first()?.0, medians.last()?.0);
    if most <= UNEQUAL * least {
        return None;
    }
    let each: Vec<String> = medians.iter().map(|(n, label)| format!("{} ({label})", ratio(*n))).collect();
    Some(list(&each))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples;

    /// What is said where the first of two filesystems flushes for each fsync and the other never, both in one setup or each in its own.
    fn said(other: Option<&str>) -> Vec<String> {
        let mut example = examples::rounds(1);
        example.run.plan.candidates.retain(|c| ["birchfs", "cedarfs"].contains(&c.label.as_str()));
        example.run.records.retain(|record| ["birchfs", "cedarfs"].contains(&record.filesystem.as_str()));
        example.run.plan.candidates[1].own.on = other.map(str::to_owned);
        for record in &mut example.run.records {
            let flushes = if record.filesystem == "birchfs" { 1.0 } else { 0.0 };
            for metric in record.metrics.iter_mut().filter(|metric| metric.name == "device.flushes") {
                (metric.name, metric.value) = (FLUSHES.to_owned(), flushes);
            }
        }
        unequal(&example.run.plan, &example.report().summary.workloads)
    }

    #[test]
    fn filesystems_are_unequal_beside_each_other_and_not_beside_those_of_another_device() {
        let within = said(None);
        assert!(within[0].contains("are 0.000 (cedarfs) and 1.00 (birchfs)."), "{within:?}");
        assert_eq!(said(Some("loop:/dev/other")), Vec::<String>::new());
    }
}
