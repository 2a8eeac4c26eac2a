//! Reports of a run, for people and for programs. Reads only records; measures nothing and knows no kind or workload by name.
//!
//! ```text
//! store::Run ── analysis: dataset, findings ──▶ compose ──▶ view ──▶ formats: terminal · HTML · Markdown · JSON
//!      └──────────────────────────────────────────────────────────▶ CSV: every trial × metric
//! ```
//! Modules use each other in one direction only: view ← compose ← formats. A report shows medians, ranges and every single value;
//! all findings come from `analysis`.

pub mod cite;
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
use self::view::reproduced::Reproduced;
use crate::analysis::changes::Pair;
use crate::analysis::latencies::Latencies;
use crate::analysis::metrics;
use crate::filesystems;
use crate::papers::Paper;
use crate::schema::change::Changes;
use crate::store::Run;

/// Two runs with their comparison.
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

/// A paper's tables and claims beside these runs.
///
/// # Errors
/// If a run has nothing of the paper: what it has instead.
pub fn reproduced(named: &str, paper: &Paper, runs: &[Run], is_why: bool) -> Result<Reproduced, String> {
    compose::reproduced::of(named, paper, runs, Report::KNOWN, is_why)
}

/// A run with its summary, the input of every format.
pub struct Report<'r> {
    pub run: &'r Run,
    pub summary: Summary,
}

impl<'r> Report<'r> {
    pub fn of(run: &'r Run) -> Self {
        Report::beside(run, None)
    }

    /// A report that compares all candidates with `baseline`, or with the best candidate if there is no baseline.
    pub fn beside(run: &'r Run, baseline: Option<&str>) -> Self {
        Report::with_latencies(run, &Latencies::of(run), baseline)
    }

    /// A report like [`Report::beside`], with latencies that were already read.
    pub fn with_latencies(run: &'r Run, latencies: &Latencies, baseline: Option<&str>) -> Self {
        Report { run, summary: compose::summary(run, latencies, Report::KNOWN, baseline) }
    }

    /// Adds imported figures.
    pub fn with_imports(mut self, imports: &[Loaded]) -> Self {
        compose::imported::put(self.run, &mut self.summary, imports);
        self
    }

    /// Adds notes on the run's files that do not report damage.
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
