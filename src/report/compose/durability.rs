//! Whether an fsync means the same on all candidates: the device flushes per fsync.

use std::collections::BTreeSet;

use crate::filesystems::give_up_flushes;
use crate::report::view::number::{list, ratio};
use crate::report::view::row::{Cell, Row};
use crate::report::view::workload::WorkloadSummary;
use crate::schema::plan::{Candidate, Plan};

/// Device flushes per fsync of the work.
pub const FLUSHES: &str = "device.flushes_per_fsync";
/// Flushes include periodic journal commits, so small differences do not count.
const UNEQUAL: f64 = 1.5;

/// Fewer flushes per fsync than this count as none: the data stays in a volatile cache.
const FLUSHED: f64 = 0.5;

/// Candidates with weaker durability than another of their setup: their options disable flushes, or their fsyncs send almost none
/// while others' do. A report's opening does not rank them.
pub fn unflushed(plan: &Plan, rows: &[&Row]) -> Vec<String> {
    let of_works = rows.iter().filter(|row| row.name == FLUSHES);
    let cells: Vec<&Cell> = of_works.flat_map(|row| &row.cells).collect();
    // Of several works, the one with the fewest flushes per fsync.
    let flushes = |label: &str| {
        let own = cells.iter().filter(|cell| cell.filesystem == label);
        own.filter_map(|cell| cell.median).min_by(f64::total_cmp)
    };
    let took_part =
        |label: &str| rows.iter().any(|row| row.cells.iter().any(|c| c.filesystem == label && c.n > 0));
    let mut all = Vec::new();
    for (_, setup) in plan.setups() {
        let within = plan.candidates.iter().filter(|c| plan.setup(c) == setup && took_part(&c.label));
        let is_flushed = |c: &Candidate| flushes(&c.label).is_none_or(|n| n >= FLUSHED);
        let (less, full): (Vec<&Candidate>, Vec<&Candidate>) =
            within.partition(|c| give_up_flushes(&c.variant.mount) || !is_flushed(c));
        // If no candidate flushes, as on a device without a volatile cache, all are equal.
        let others_flush = full.iter().any(|c| is_flushed(c));
        all.extend(less.into_iter().filter(|_| others_flush).map(|candidate| candidate.label.clone()));
    }
    all
}

/// The unranked candidates and the reason: one sentence for all scenarios that share it.
pub fn unranked(plan: &Plan, workloads: &[WorkloadSummary]) -> Vec<String> {
    let mut said: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for work in workloads {
        let Some(comparison) = work.comparisons.first().filter(|comparison| !comparison.unequal.is_empty())
        else {
            continue;
        };
        match said.iter_mut().find(|(who, _)| *who == comparison.unequal) {
            Some((_, scenarios)) => scenarios.push(work.label.clone()),
            None => said.push((comparison.unequal.clone(), vec![work.label.clone()])),
        }
    }
    let given_up = |label: &String| {
        let candidate = plan.candidates.iter().find(|c| c.label == *label);
        candidate.is_some_and(|c| give_up_flushes(&c.variant.mount))
    };
    let sentence = |(who, scenarios): &(Vec<String>, Vec<String>)| {
        let several = who.len() > 1;
        let why = match who.iter().all(given_up) {
            true if several => "are mounted with flushes switched off",
            true => "is mounted with flushes switched off",
            false if several => "send the device no or almost no flush for an fsync",
            false => "sends the device no or almost no flush for an fsync",
        };
        let in_which = if scenarios.len() == workloads.len() {
            String::new()
        } else {
            let s = if scenarios.len() == 1 { "" } else { "s" };
            format!(" in the workload{s} {}", list(scenarios))
        };
        let they = if several { "they are" } else { "it is" };
        format!(
            "Unequal durability{in_which}: {candidates} {why}, so a power cut may lose synced data; {they} not ranked \
                with the other candidates.",
            candidates = list(who)
        )
    };
    said.iter().map(sentence).collect()
}

/// One sentence for each workload and setup whose candidates differ in flushes per fsync. Setups are separate, because a device
/// may need no flushes.
pub fn unequal(plan: &Plan, workloads: &[WorkloadSummary]) -> Vec<String> {
    let setups = plan.setups().into_iter().map(|(_, setup)| {
        let within = plan.candidates.iter().filter(|candidate| plan.setup(candidate) == setup);
        within.map(|candidate| candidate.label.as_str()).collect::<BTreeSet<&str>>()
    });
    let setups: Vec<BTreeSet<&str>> = setups.collect();
    let said = |work: &WorkloadSummary, labels: &BTreeSet<&str>| {
        let of_each = work.rows().filter(|row| row.name == FLUSHES);
        let sentence = |row: &Row| {
            let flushes = of(row, labels)?;
            let which = if row.work.is_empty() { String::new() } else { format!(" ({})", row.work) };
            Some(format!(
                "Device flushes per fsync in the workload {workloads}{which}: {flushes}. Fewer flushes mean a weaker guarantee or \
                 efficient batching; these figures do not show which of the two.",
                workloads = work.label
            ))
        };
        of_each.filter_map(sentence).collect::<Vec<String>>()
    };
    let said = &said;
    workloads.iter().flat_map(|work| setups.iter().flat_map(move |labels| said(work, labels))).collect()
}

/// `1.00 (birchfs), 2.10 (cedarfs)`; `None` if they are alike.
fn of(row: &Row, labels: &BTreeSet<&str>) -> Option<String> {
    let cells = row.cells.iter().filter(|cell| labels.contains(cell.filesystem.as_str()));
    let mut medians: Vec<(f64, &str)> =
        cells.filter_map(|cell| Some((cell.median?, cell.filesystem.as_str()))).collect();
    medians.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let (least, most) = (medians.first()?.0, medians.last()?.0);
    if most <= UNEQUAL * least {
        return None;
    }
    let each: Vec<String> = medians.iter().map(|(n, label)| format!("{} ({label})", times(*n))).collect();
    Some(list(&each))
}

/// `0`, `1.03`
fn times(n: f64) -> String {
    if n == 0.0 { "0".to_owned() } else { ratio(n) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples;

    /// The sentences if the first filesystem flushes for each fsync and the second never does, in one setup or in two.
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
        assert!(within[0].contains(": 0 (cedarfs) and 1.00 (birchfs)."), "{within:?}");
        assert_eq!(said(Some("loop:/dev/other")), Vec::<String>::new());
    }
}
