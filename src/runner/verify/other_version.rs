//! Metrics computed by another version of fsderby. They are no damage, but cannot be checked, so they are not shown either.
//! Figures of such a run are recomputed from its raw values.

use std::collections::BTreeSet;

use super::understood::{Known, Understood};
use crate::analysis::metrics;
use crate::schema::metric::Metric;
use crate::schema::reason::Outcome;
use crate::schema::record::Record;
use crate::store::Run;

/// The version that these metrics would have here, if it differs. `None` for works that cannot be parsed.
pub fn ours(record: &Record, understood: &Understood<'_>) -> Option<u32> {
    let works = understood.works.as_ref().ok()?;
    let ours = metrics::version(works);
    (record.outcome != Outcome::Skipped && record.metrics_version != ours).then_some(ours)
}

/// The records with such metrics.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Others {
    records: usize,
    /// Number of such metrics over all records.
    pub metrics: usize,
    theirs: BTreeSet<u32>,
    ours: BTreeSet<u32>,
}

impl Others {
    pub fn among(records: &[Record]) -> Self {
        let (mut others, mut works) = (Others::default(), Known::default());
        for record in records {
            let ours = ours(record, works.of(record));
            ours.into_iter().for_each(|ours| others.count(record, ours));
        }
        others
    }

    fn count(&mut self, record: &Record, ours: u32) {
        self.records += 1;
        self.metrics += record.metrics.len();
        self.theirs.insert(record.metrics_version);
        self.ours.insert(ours);
    }

    /// The note when verifying.
    pub fn unchecked(&self) -> Option<String> {
        let Others { records, theirs, ours, .. } = self;
        (*records > 0).then(|| {
            let s = if *records == 1 { "" } else { "s" };
            format!(
                "the metrics of {records} record{s} have version {} and were not checked, because this fsderby \
                 computes version {}; fsderby report recomputes them from the raw values",
                list(theirs),
                list(ours)
            )
        })
    }

    /// The note for readers of recomputed figures.
    fn recomputed(&self) -> Option<String> {
        let Others { records, theirs, ours, .. } = self;
        (*records > 0).then(|| {
            let s = if *records == 1 { "" } else { "s" };
            format!(
                "The metrics of {records} trial{s} were stored by another version of fsderby (metrics version {}). \
                 All figures here are recomputed from the raw values (version {}).",
                list(theirs),
                list(ours)
            )
        })
    }
}

fn list(versions: &BTreeSet<u32>) -> String {
    versions.iter().map(u32::to_string).collect::<Vec<String>>().join(" and ")
}

/// The run with all metrics recomputed by this version, and a note if any were stored by another one.
pub fn recomputed(mut run: Run) -> (Run, Option<String>) {
    let mut others = Others::default();
    let mut again: Vec<(usize, u32, Vec<Metric>)> = Vec::new();
    let mut works = Known::default();
    for (at, record) in run.records.iter().enumerate() {
        let understood = works.of(record);
        if let (Some(ours), Ok(works)) = (ours(record, understood), &understood.works) {
            others.count(record, ours);
            again.push((at, ours, metrics::all(record, works)));
        }
    }
    drop(works);
    for (at, version, metrics) in again {
        let record = &mut run.records[at];
        (record.metrics_version, record.metrics) = (version, metrics);
    }
    (run, others.recomputed())
}
