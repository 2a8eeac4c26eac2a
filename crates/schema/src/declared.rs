//! Declarations of metrics, made by the part that measures them: a workload, a probe, a step of the trial.
//!
//! Reports, `fsderby explain` and `fsderby list metrics` take all texts from here and refer to no metric by name.

use serde::Serialize;

use crate::job::StepName;
use crate::metric::{Better, Metric, Of};
use crate::needs::Aspect;

/// One metric; if its name ends with [`PART`], one for each part of a work with several parts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Declared {
    /// Dotted, from general to specific: `transactions.rate`, `mkfs.time`.
    pub name: &'static str,
    /// Title of the metric's chart; the title of a rate names the rate's phase.
    pub title: &'static str,
    /// Heading of the metric's narrow column, above the unit.
    pub short: &'static str,
    /// The candidate's action, printed before "… times as fast as …": `created files`. Empty if none fits.
    pub did: &'static str,
    pub unit: &'static str,
    pub of: Of,
    pub better: Better,
    pub section: Section,
    pub over: Over,
    /// The meaning of the metric, in a sentence or two.
    pub explained: &'static str,
    /// Minimum number of decimals, if relevant differences are smaller than three digits show.
    pub decimals: usize,
    /// Whether the metric stands beside the headline metric in narrow tables.
    pub key: bool,
    /// Whether narrow tables explain the metric in a footnote, because its short heading is unclear.
    pub footnote: bool,
    /// Whether the metric gets a chart besides the table.
    pub drawn: bool,
    /// The quality that the metric measures for a recommendation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aspect: Option<Aspect>,
    /// Whether a verdict uses the metric where times are meaningless, as on an emulated CPU.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stands_in: bool,
}

/// Name suffix for the phases of one part of the work, as in `device.reads.walk`.
pub const PART: &str = "PHASE";

/// Metrics in the layout of the original tool: in each line, for each filesystem, one metric per column.
#[derive(Clone, Copy, Debug)]
pub struct Sheet {
    pub title: &'static str,
    /// A note that applies to all columns; reports omit the note if a column has no figures.
    pub note: &'static str,
    pub columns: &'static [&'static str],
    /// (line heading, metric names). The heading is empty for a single line; a name is empty if the line has no such metric.
    pub lines: &'static [(&'static str, &'static [&'static str])],
}

/// The section of a metric. Reports show the sections in a fixed order and draw each in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Section {
    /// The one or two figures of a workload, or of a recovery, that a verdict may use.
    Headline,
    /// Metrics of a single workload.
    Own {
        title: &'static str,
        note: &'static str,
    },
    /// Rates of operations on whole files, per second.
    Files,
    Throughput,
    /// Steps of the trial before and after the work.
    Steps,
    Recovery,
    Processor,
    Device,
    Capacity,
}

/// The time over which a metric is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// One phase of the work, by name.
    Phase(&'static str),
    /// All phases of the work, without the time between them.
    Phases,
    /// The work including the time between its phases, without the sync.
    Work,
    /// The time from the start of the work to the end of the sync.
    WorkAndSync,
    /// Like `WorkAndSync`, for one part of the work: see [`PART`].
    Part,
    /// Steps of the trial, by name.
    Steps(&'static [StepName]),
    /// A value at one moment.
    Moment,
}

impl Declared {
    /// The base of all other declarations.
    pub const fn base(unit: &'static str, of: Of, better: Better) -> Declared {
        Declared {
            name: "",
            title: "",
            short: "",
            did: "",
            unit,
            of,
            better,
            section: Section::Steps,
            over: Over::Phases,
            explained: "",
            decimals: 0,
            key: false,
            footnote: false,
            drawn: true,
            aspect: None,
            stands_in: false,
        }
    }

    /// Bases for declarations, as in `Declared { name: "walk.rate", …, ..Declared::PER_SECOND }`.
    pub const PER_SECOND: Declared = Declared::base("1/s", Of::Time, Better::Higher);
    pub const MIB_PER_SECOND: Declared = Declared::base("MiB/s", Of::Time, Better::Higher);
    pub const SECONDS: Declared = Declared::base("s", Of::Time, Better::Lower);
    pub const PERCENT: Declared = Declared::base("%", Of::Share, Better::Neither);
    /// One time as a share of another, such as CPU time of elapsed time.
    pub const PERCENT_OF_TIME: Declared = Declared::base("%", Of::ShareOfTime, Better::Neither);
    pub const BYTES: Declared = Declared::base("bytes", Of::Bytes, Better::Lower);

    pub const fn count(unit: &'static str) -> Declared {
        Declared::base(unit, Of::Count, Better::Lower)
    }

    /// A quotient of two quantities; `unit` names both.
    pub const fn ratio(unit: &'static str) -> Declared {
        Declared::base(unit, Of::Share, Better::Neither)
    }

    pub fn metric(&self, value: f64) -> Metric {
        let metric = Metric::new(self.name, value, self.unit, self.of, self.better);
        if self.section == Section::Headline { metric.headline() } else { metric }
    }

    /// The metric of one part of the work.
    pub fn metric_of_part(&self, part: &str, value: f64) -> Metric {
        let name = self.name.strip_suffix(PART).unwrap_or(self.name);
        Metric { name: format!("{name}{part}"), ..self.metric(value) }
    }

    /// Whether this declaration declares the metric of that name.
    pub fn declares(&self, metric: &str) -> bool {
        self.name == metric || self.part(metric).is_some()
    }

    /// The phases in the name of a part's metric.
    fn part<'m>(&self, metric: &'m str) -> Option<&'m str> {
        metric.strip_prefix(self.name.strip_suffix(PART)?).filter(|part| !part.is_empty())
    }

    /// Whether [`PART`] stands in the metric's title too.
    pub fn names_its_part(&self) -> bool {
        self.title.contains(PART)
    }

    /// Title of the metric of that name, with the phases of a part.
    pub fn title_of(&self, metric: &str) -> String {
        match self.part(metric) {
            Some(part) if self.names_its_part() => self.title.replace(PART, part),
            Some(part) => format!("{} (phase {})", self.title, part.replace('+', " and ")),
            None => self.title.to_owned(),
        }
    }

    pub fn heading(&self) -> &'static str {
        if self.short.is_empty() { self.title } else { self.short }
    }
}

impl Over {
    pub fn said(self) -> String {
        match self {
            Over::Phase(phase) => format!("the phase {phase}"),
            Over::Phases => "all phases of the work".into(),
            Over::Work => "the work, without the sync".into(),
            Over::WorkAndSync => "the work and the sync after it".into(),
            Over::Part => "one part of the work and the sync after it".into(),
            Over::Steps([step]) => format!("the step {step}"),
            Over::Steps(steps) => {
                format!("the steps {}", steps.iter().map(StepName::to_string).collect::<Vec<_>>().join(", "))
            }
            Over::Moment => "one moment".into(),
        }
    }
}

/// The declaration of a metric; an exact name precedes a declaration for parts.
pub fn find<'d>(among: &[&'d Declared], metric: &str) -> Option<&'d Declared> {
    let exact = among.iter().find(|d| d.name == metric);
    exact.or_else(|| among.iter().find(|d| d.declares(metric))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const READS: Declared = Declared { name: "reads.PHASE", title: "reads", ..Declared::PER_SECOND };
    const ALL: Declared = Declared { name: "reads.all", title: "all reads", ..Declared::PER_SECOND };

    #[test]
    fn a_part_has_a_metric_of_its_own_under_one_declaration() {
        let metric = READS.metric_of_part("walk+delete", 1.0);
        assert_eq!(metric.name, "reads.walk+delete");
        assert_eq!(READS.title_of(&metric.name), "reads (phase walk and delete)");
        assert!(READS.declares("reads.PHASE") && !READS.declares("reads.") && !READS.declares("writes.walk"));
    }

    #[test]
    fn a_title_may_say_where_its_part_stands() {
        let printed = Declared { name: "printed.PHASE", title: "PHASE, printed", ..Declared::PER_SECOND };
        assert_eq!(printed.title_of("printed.tps"), "tps, printed");
    }

    #[test]
    fn the_whole_name_comes_before_a_part() {
        let among = [&READS, &ALL];
        assert_eq!(find(&among, "reads.all").map(|d| d.title), Some("all reads"));
        assert_eq!(find(&among, "reads.walk").map(|d| d.title), Some("reads"));
        assert_eq!(find(&among, "seeks"), None);
    }

    #[test]
    fn what_stands_in_the_headline_is_one() {
        let headline = Declared { section: Section::Headline, ..ALL };
        assert!(headline.metric(1.0).headline && !ALL.metric(1.0).headline);
    }
}
