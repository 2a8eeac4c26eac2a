//! The view: the content of a report as plain data, which the formats turn into text. No code in this module reads records.

pub mod absent;
pub mod beyond;
pub mod capabilities;
pub mod changes;
pub mod comparison;
pub mod entry;
pub mod floor;
pub mod glance;
pub mod heading;
pub mod heat_map;
pub mod imported;
pub mod latency;
pub mod log_axis;
pub mod look;
pub mod needs;
pub mod number;
pub mod plane;
pub mod published;
pub mod repeat;
pub mod reproduced;
pub mod row;
pub mod sentence;
pub mod setups;
pub mod sheet;
pub mod standings;
pub mod validity;
pub mod workload;

use serde::Serialize;

use self::absent::{Absent, Skips, Unavailable, brief};
use self::capabilities::Kind;
use self::comparison::Comparison;
use self::entry::Entry;
use self::heading::Heading;
use self::imported::Imported;
use self::needs::ToChoose;
use self::number::list;
use self::plane::Plane;
use self::sentence::Sentence;
use self::setups::Setups;
use self::workload::WorkloadSummary;
use crate::schema::finding::{Basis, Verdict};
use crate::schema::units::Percent;

/// Version of the JSON report's schema.
pub const SCHEMA: u32 = 6;

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Summary {
    pub heading: Heading,
    /// The margin: a smaller difference does not matter.
    pub margin: Percent,
    /// The filesystems that took part, in plan order, which fixes place and colour in every table and chart.
    pub filesystems: Vec<Entry>,
    /// The differences between the setups of the filesystems.
    pub setups: Setups,
    pub workloads: Vec<WorkloadSummary>,
    /// Each filesystem relative to the best, or to the baseline, over all headline metrics; `None` with a single metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overall: Option<Comparison>,
    /// The verdict, from which every statement about differences comes.
    #[serde(skip)]
    pub verdict: Verdict,
    /// The recommendation, if the plan states needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommendation: Option<ToChoose>,
    /// Speed against CPU time.
    pub planes: Vec<Plane>,
    /// Candidates that could not take part, and why.
    pub skips: Vec<Skips>,
    /// Trials that do not count, and why.
    pub absent: Vec<Absent>,
    /// Counters that were not available, and why.
    pub not_available: Vec<Unavailable>,
    /// The kinds behind the filesystems that took part, each once.
    pub kinds: Vec<Kind>,
    /// Damaged or unreadable files, one sentence each.
    pub damage: Vec<String>,
    /// Notes on the run's files that do not report damage, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Sentences about records that were not written completely. Only the trials of these records are lost.
    pub torn: Vec<String>,
    /// Imported figures of work that matches no workload of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub imported: Vec<Imported>,
}

impl Summary {
    /// Whether findings rest on samples of a modelled disk.
    pub fn is_over_samples(&self) -> bool {
        matches!(self.verdict.basis, Basis::Samples { .. })
    }

    /// Every sentence that may claim an order of candidates.
    pub fn claiming(&self) -> impl Iterator<Item = &Sentence> {
        let comparisons = self.workloads.iter().flat_map(|work| &work.comparisons);
        let heading = &self.heading;
        let choosing = self.recommendation.iter().flat_map(|choose| &choose.sentences);
        let first = heading.choice.iter().chain(&heading.answer).chain(&heading.findings);
        first.chain(choosing).chain(comparisons.map(|comparison| &comparison.sentence))
    }

    /// For a workload without a valid trial: why each candidate has no valid trial.
    pub fn nothing_valid(&self, work: &WorkloadSummary) -> String {
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        let mut add = |why: String, labels: &[String]| {
            let at = groups.iter().position(|(known, _)| *known == why).unwrap_or_else(|| {
                groups.push((why, Vec::new()));
                groups.len() - 1
            });
            let own = &mut groups[at].1;
            own.extend(labels.iter().filter(|label| !own.contains(label)).cloned().collect::<Vec<String>>());
        };
        for absent in self.absent.iter().filter(|absent| absent.workload == work.label) {
            let why = format!("{}: {}", absent.what, brief(&absent.reason));
            add(why, std::slice::from_ref(&absent.filesystem));
        }
        let is_its = |skips: &&Skips| skips.workloads.is_empty() || skips.workloads.contains(&work.label);
        for skips in self.skips.iter().filter(is_its) {
            add(format!("skipped: {}", brief(&skips.reason)), &skips.filesystems);
        }
        let said: Vec<String> = groups.iter().map(|(why, own)| format!("{} {why}", list(own))).collect();
        if said.is_empty() {
            "No trial is valid.".to_owned()
        } else {
            format!("No trial is valid. {}.", said.join("; "))
        }
    }

    /// Notes that only this workload has.
    pub fn own_notes(&self, work: &WorkloadSummary) -> Vec<String> {
        let is_own = |note: &String| self.with_note(note).len() < 2;
        work.notes().into_iter().filter(is_own).collect()
    }

    /// Notes that several workloads share, each once.
    pub fn common_notes(&self) -> Vec<String> {
        let mut said: Vec<String> = Vec::new();
        for note in self.workloads.iter().flat_map(WorkloadSummary::notes) {
            let who = self.with_note(&note);
            let which =
                if who.len() == self.workloads.len() { "all workloads".to_owned() } else { list(&who) };
            let note = format!("{note} (in {which})");
            if who.len() > 1 && !said.contains(&note) {
                said.push(note);
            }
        }
        said
    }

    fn with_note(&self, note: &String) -> Vec<String> {
        let has = |work: &&WorkloadSummary| work.notes().contains(note);
        self.workloads.iter().filter(has).map(|work| work.label.clone()).collect()
    }
}
