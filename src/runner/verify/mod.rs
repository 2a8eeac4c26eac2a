//! Checks a whole run, as far as that can be done without a key: files and chain, each record against the plan, all that can be
//! computed again from raw values, and whether anything is missing. Pure but for reading the run's folder.

mod as_planned;
mod derived;
mod files;
mod missing;
mod verdict;

use self::as_planned::Planned;
use crate::parallel::parallel;
use crate::schema::reason::Outcome;
use crate::schema::record::Record;
use crate::store::Run;

/// What a check of a whole run found.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    pub records: usize,
    pub metrics: usize,
    pub histograms: usize,
    pub consoles: usize,
    pub findings: usize,
    /// One sentence each; a sound run has none.
    pub wrong: Vec<String>,
    /// What is worth knowing and no damage, one sentence each.
    pub notes: Vec<String>,
}

/// Everything about a run that can be wrong.
pub fn verify(run: &Run) -> Verified {
    let records = &run.records;
    let mut found = Verified {
        records: records.len(),
        metrics: records.iter().map(|r| r.metrics.len()).sum(),
        histograms: records.iter().map(|r| r.histograms.len()).sum(),
        consoles: records.iter().filter(|r| r.console.is_some()).count(),
        findings: 0,
        wrong: run.damage.clone(),
        notes: Vec::new(),
    };
    found.notes.extend(run.torn.iter().map(|what| format!("{what}; that trial was lost, nothing else")));
    let planned = Planned::of(run);
    let wrong = parallel(records, |part| differences_of(run, &planned, part));
    found.wrong.extend(wrong.into_iter().flatten());
    found.wrong.extend(as_planned::unlike_each_other(records));
    files::unnamed(run, &mut found);
    verdict::holds(run, &mut found);
    missing::find(run, &mut found);
    found
}

/// What is wrong with these records, each under its name.
fn differences_of(run: &Run, planned: &Planned<'_>, records: &[Record]) -> Vec<String> {
    let mut amounts = derived::Amounts::default();
    let named = |record: &Record| {
        let name = format!("{} (attempt {})", record.trial, record.attempt);
        let wrong = differences(run, planned, &mut amounts, record);
        wrong.into_iter().map(move |what| format!("{name}: {what}"))
    };
    records.iter().flat_map(named).collect()
}

/// What is wrong with one record.
fn differences(
    run: &Run,
    planned: &Planned<'_>,
    amounts: &mut derived::Amounts,
    record: &Record,
) -> Vec<String> {
    let Some(trial) = planned.trial(record) else { return vec!["the plan has no such trial".into()] };
    let mut wrong: Vec<String> = as_planned::differs(&run.plan, &trial, record).into_iter().collect();
    if record.outcome == Outcome::Skipped {
        wrong.extend(as_planned::more_than_a_skip(record));
        return wrong;
    }
    let steps = as_planned::steps(&run.plan, &trial, record);
    wrong.extend(as_planned::other_kernel(run, record));
    wrong.extend(as_planned::lacks(&steps, record));
    wrong.extend(derived::parameters_hold(record));
    wrong.extend(amounts.hold(record));
    wrong.extend(derived::clients_hold(record));
    wrong.extend(derived::validity_holds(record, &steps));
    wrong.extend(derived::outcome_holds(record));
    wrong.extend(derived::metrics_hold(record));
    wrong.extend(files::hold(run, record));
    wrong
}
