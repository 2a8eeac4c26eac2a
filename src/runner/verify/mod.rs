//! Verifies a whole run as far as possible without a key: files and chain, each record against the plan, all recomputable values,
//! and completeness. Pure except for reading the run's folder.

mod as_planned;
pub mod comparable;
mod derived;
mod files;
mod missing;
pub mod other_version;
pub mod rerun;
pub mod shards;
mod understood;
mod verdict;

use self::as_planned::{Cells, Planned};
use self::other_version::Others;
use self::understood::Known;
use crate::analysis::latencies::{Counted, Latencies};
use crate::host::parallel::parallel;
use crate::runner::plan::resolved::Resolved;
use crate::schema::event::Buckets;
use crate::schema::reason::Outcome;
use crate::schema::record::Record;
use crate::store::Run;

/// The result of verifying a run.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    pub records: usize,
    pub metrics: usize,
    pub histograms: usize,
    pub consoles: usize,
    pub findings: usize,
    /// Records with metrics of another version, which cannot be checked against the raw values.
    pub unchecked: Option<String>,
    /// The faults found, one sentence each; a sound run has none.
    pub wrong: Vec<String>,
    /// Notes that are no damage, one sentence each.
    pub notes: Vec<String>,
    /// Names in the run's folder that were not verified, because nothing in the run covers them.
    pub uncovered: Vec<String>,
}

/// All faults of a run.
pub fn verify(run: &Run) -> Verified {
    verified(run, &|(): &mut (), _, _| ()).0
}

/// Like [`verify`], and also returns the latencies that verification reads; `None` if anything is wrong.
pub fn verify_and_read(run: &Run) -> (Verified, Option<Latencies>) {
    let counted = Counted::of(run);
    let (found, latencies) = verified(run, &|latencies: &mut Latencies, record, histograms| {
        latencies.add(&counted, record, histograms);
    });
    let is_sound = found.wrong.is_empty();
    (found, is_sound.then(|| Latencies::together(latencies)))
}

/// Receives the histograms of a record.
type Hear<'h, H> = &'h (dyn Fn(&mut H, &Record, &[Buckets]) + Sync);

fn verified<H: Default + Send>(run: &Run, hear: Hear<'_, H>) -> (Verified, Vec<H>) {
    let records = &run.records;
    let mut found = Verified {
        records: records.len(),
        metrics: records.iter().map(|r| r.metrics.len()).sum(),
        histograms: records.iter().map(|r| r.histograms.len()).sum(),
        consoles: records.iter().filter(|r| r.console.is_some()).count(),
        findings: 0,
        unchecked: None,
        wrong: run.damage.clone(),
        notes: Vec::new(),
        uncovered: Vec::new(),
    };
    found.notes.extend(run.torn.iter().map(|what| format!("{what}; only that trial was lost")));
    let others = Others::among(records);
    found.metrics -= others.metrics;
    found.unchecked = others.unchecked();
    found.notes.extend(found.unchecked.clone());
    let (plan, mut heard) = (Resolved::of(&run.plan), Vec::new());
    match &plan {
        Ok(plan) => {
            let planned = Planned::of(run);
            for (wrong, hears) in parallel(records, |part| differences_of(run, plan, &planned, hear, part)) {
                found.wrong.extend(wrong);
                heard.push(hears);
            }
        }
        // Without a plan the records cannot be checked.
        Err(no_plan) => found.wrong.push(format!("plan.toml: {no_plan}")),
    }
    found.wrong.extend(as_planned::unlike_each_other(records));
    found.wrong.extend(as_planned::other_cost(records));
    files::unnamed(run, plan.as_ref().ok(), &mut found);
    files::uncovered(run, &mut found);
    shards::hold(run, &mut found);
    verdict::holds(run, &mut found);
    if let Ok(plan) = &plan {
        missing::find(run, plan, &mut found);
    }
    (found, heard)
}

/// Faults of these records, each under its name.
fn differences_of<'r, H: Default>(
    run: &'r Run,
    plan: &Resolved<'_>,
    planned: &Planned<'r>,
    hear: Hear<'_, H>,
    records: &'r [Record],
) -> (Vec<String>, H) {
    let mut memory = Memory::default();
    let (mut all, mut heard) = (Vec::new(), H::default());
    for record in records {
        let mut hear = |histograms: &[Buckets]| hear(&mut heard, record, histograms);
        let wrong = differences(run, plan, planned, &mut memory, record, &mut hear);
        let named = |what| format!("{} (attempt {}): {what}", record.trial, record.attempt);
        all.extend(wrong.into_iter().map(named));
    }
    (all, heard)
}

/// Cached values that many records share and that are slow to compute.
#[derive(Default)]
struct Memory<'r> {
    cells: Cells<'r>,
    works: Known<'r>,
    amounts: derived::Amounts,
}

/// Faults of one record.
fn differences<'r>(
    run: &'r Run,
    plan: &Resolved<'_>,
    planned: &Planned<'r>,
    memory: &mut Memory<'r>,
    record: &'r Record,
    hear: &mut dyn FnMut(&[Buckets]),
) -> Vec<String> {
    let Some(trial) = planned.trial(record) else {
        return vec!["the plan does not contain this trial".into()];
    };
    let Memory { cells, works, amounts } = memory;
    let cell = cells.of(plan, trial, record);
    let mut wrong: Vec<String> = as_planned::differs(plan, &trial, cell, record).into_iter().collect();
    if record.outcome == Outcome::Skipped {
        wrong.extend(as_planned::more_than_a_skip(record));
        return wrong;
    }
    let understood = works.of(record);
    wrong.extend(as_planned::other_kernel(run, record));
    wrong.extend(as_planned::lacks(&cell.steps, record));
    wrong.extend(derived::parameters_hold(record, understood));
    wrong.extend(amounts.hold(record, understood));
    wrong.extend(derived::clients_hold(record));
    wrong.extend(derived::validity_holds(record, &cell.steps));
    wrong.extend(derived::outcome_holds(record));
    wrong.extend(derived::metrics_hold(record, understood));
    wrong.extend(files::hold(run, record, hear));
    wrong
}
