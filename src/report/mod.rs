//! Reports: what a run measured, for people and for programs. Records alone are read; nothing is measured here, and no
//! kind and no workload is known by its name.
//!
//! ```text
//! store::Run ── analysis: dataset, findings ──▶ compose ──▶ view ──▶ formats: terminal · HTML · Markdown · JSON
//!      └──────────────────────────────────────────────────────────▶ CSV: every trial × metric
//! ```
//! Imports go one way: view ← compose ← formats. A report shows medians, ranges and every single value; what it states as a
//! finding comes from `analysis`.

pub mod claims;
pub mod compose;
#[cfg(test)]
mod examples;
pub mod formats;
pub mod view;

use self::compose::imported::Loaded;
use self::compose::known::Known;
use self::view::Summary;
use self::view::changes::ChangesView;
use crate::analysis::changes::Pair;
use crate::analysis::latencies::Latencies;
use crate::analysis::metrics;
use crate::filesystems;
use crate::schema::change::Changes;
use crate::store::Run;

/// Two runs with what is said of the difference between them.
pub struct Beside {
    pub changes: Changes,
    pub view: ChangesView,
}

impl Beside {
    pub fn of(pair: &Pair<'_>, changes: Changes) -> Self {
        let view = compose::changes::of(pair, &changes, Report::KNOWN);
        Beside { changes, view }
    }
}

/// A run with its summary: what every format is made from.
pub struct Report<'r> {
    pub run: &'r Run,
    pub summary: Summary,
}

impl<'r> Report<'r> {
    pub fn of(run: &'r Run) -> Self {
        Report::beside(run, None)
    }

    /// All are compared with `baseline`, and without one with the best.
    pub fn beside(run: &'r Run, baseline: Option<&str>) -> Self {
        Report::with_latencies(run, &Latencies::of(run), baseline)
    }

    /// The same, where the latencies were read already.
    pub fn with_latencies(run: &'r Run, latencies: &Latencies, baseline: Option<&str>) -> Self {
        Report { run, summary: compose::summary(run, latencies, Report::KNOWN, baseline) }
    }

    /// The same with imported figures beside its own.
    pub fn with_imports(mut self, imports: &[Loaded]) -> Self {
        compose::imported::put(self.run, &mut self.summary, imports);
        self
    }

    /// The same with what is worth knowing of the run's files and is no damage.
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.summary.notes.extend(notes);
        self
    }

    const KNOWN: Known = Known {
        kind: filesystems::find,
        kinds: || filesystems::TABLE.iter().map(|kind| kind.name()).collect(),
        metrics: metrics::declared_of,
    };
}
