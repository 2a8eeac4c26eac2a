//! Findings about each pair of candidates from a run's figures, and together: the verdict.
//!
//! Testbeds with noisy figures and modelled disks share one format. A finding is a ratio with an interval on the former, and the
//! result over all samples of the disk on the latter.

use fsderby_diskmodel::{Access, Factor, Point};
use serde::{Deserialize, Serialize};

use crate::recommendation::Recommendation;
use crate::units::Percent;

/// Schema version of `verdict.json`. Version 2 raised the instruction cost of one candidate of a pair and lowered the other's,
/// and gave factors a share of the variance; its findings are read without these two. Version 3 assumed the same cost of an
/// instruction in user space as in the kernel.
pub const SCHEMA: u32 = 4;

/// All findings of a run, computed from its records alone and recomputed by `fsderby verify`.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    pub schema: u32,
    /// Number of records when the verdict was given.
    pub records: usize,
    pub basis: Basis,
    /// A difference within the margin does not matter.
    pub margin: Percent,
    /// Each pair of candidates, for each headline metric of each scenario. `a` precedes `b` in the plan.
    pub findings: Vec<Finding>,
    /// One ranking per headline metric of each scenario.
    pub ranks: Vec<Ranks>,
    /// Each pair of candidates over all headline metrics; empty if there is only one metric, or if not all candidates have all
    /// of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overall: Vec<Overall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Guard>,
    /// Each pair's CPU time in each scenario, less being better. Not a headline, and judged separately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu: Vec<Finding>,
    /// Present if the plan states needs; absent in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommendation: Option<Recommendation>,
}

/// The basis of the findings.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "on", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Basis {
    /// Rounds on a testbed with noisy figures.
    Rounds {
        /// Complete rounds of the scenario with the fewest, up to this look.
        complete: u32,
        /// Required rounds; with fewer the verdict is preliminary.
        needed: u32,
        /// α of this look: the probability that any of its *better* or *worse* findings is wrong if no two candidates differ. 0
        /// if no verdict has been given.
        alpha: f64,
        /// Earlier looks at this run; each spent part of the 5 % that all looks share.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        earlier: Vec<Interim>,
    },
    /// Samples of a modelled disk.
    Samples { complete: u32, needed: u32 },
}

/// A verdict given during a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interim {
    /// Number of complete rounds before it.
    pub rounds: u32,
    pub alpha: f64,
}

/// One pair of candidates and one headline metric of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// `a` relative to `b`.
    pub finding: Found,
    pub scenario: String,
    /// The metric's name; `dimensions` distinguishes metrics of the same name.
    pub metric: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dimensions: String,
    pub a: String,
    pub b: String,
    /// How many times better `a` is than `b`, above 1 if better: the geometric mean over rounds or samples.
    pub ratio: f64,
    /// Interval of the ratio: simultaneous at 1 − α, or minimum and maximum over all samples. Both are absent if the rounds are
    /// too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Rounds or samples in which both have a valid trial.
    pub n: u32,
    pub evidence: Evidence,
}

/// The finding about a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    Better,
    Worse,
    /// The candidates are equivalent: the interval, or every sample, lies within the margin.
    Equivalent,
    CannotTell,
}

/// The evidence for a finding.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Evidence {
    Rounds {
        /// p, adjusted for the whole family of comparisons; absent if the rounds are too few for any p.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        p: Option<f64>,
        /// The ratio detectable with 80 % probability in the same number of rounds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        smallest: Option<f64>,
        /// Number of rounds that a finding of *equivalent* requires at this noise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rounds_to_equivalent: Option<u32>,
    },
    Samples {
        a_better: u32,
        within_margin: u32,
        b_better: u32,
        /// Effect of each factor on the ratio, named ones first; empty without both halves of the design.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        deciders: Vec<Decider>,
        /// Disk-model overhead in the ratio; absent if it was not measured or the metric is not a time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        floor: Option<Floor>,
        /// The finding from the samples alone, if it is not known to hold without the disk-model overhead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        withheld: Option<Found>,
        /// Effect of other workload seeds on the first sample's disk; absent if not tried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chaos: Option<Chaos>,
        /// The corner with the worst expected ratio; absent if unknown, or not tried because the samples disagree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        corner: Option<Corner>,
        /// Effect of the cost of an instruction; absent if not tried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        costs: Option<Box<Costs>>,
        /// Error of the models of this class against real disks, and its possible effect on the ratio. Absent if the metric is
        /// not a time of the work, or if the disk did not count its waiting times.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model_error: Option<Box<ModelError>>,
        /// Why a result that holds in all samples is not a finding.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refuted: Option<Refuted>,
    },
}

/// One disk with six workload seeds. Filesystems amplify small changes, so each seed gives a different figure.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chaos {
    /// Ratio with the first round's seed, then with each other seed.
    pub ratios: Vec<f64>,
    /// For `a` and for `b`: maximum ÷ minimum of its figures, each relative to the mean of all candidates with the same seed.
    pub spreads: [f64; 2],
}

/// A pair at the corner of the unknown disk properties where its ratio is expected to be nearest to the other side.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Corner {
    pub point: Point,
    /// The ratio that the main effects predict.
    pub expected: f64,
    /// The measured ratio; absent if the corner was not tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
}

/// Range of a pair's ratio if instructions cost up to 1.3 times more or less than in the machine's file. Varied are the cost of
/// all instructions, and the cost of those that only one of the two executes.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Minimum and maximum of twelve ratios.
    pub low: f64,
    pub high: f64,
    /// Share of the time of `a` and of `b`, 0 to 1, that scales with the cost of an instruction.
    pub moving: [f64; 2],
    /// Share of the time of each that both spend on the same instructions, whose cost is the same for both.
    pub shared: [f64; 2],
    /// Whether both are of one kind, with options that select no other algorithm. Otherwise only the workload's own time is
    /// shared.
    pub one_kind: bool,
}

/// Possible error of a ratio of times, from the errors of a class's models against real disks.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelError {
    /// Ratio on the nominal disk, with the first round's seed.
    pub ratio: f64,
    /// Error factor of the ratio in either direction, at least 1.
    pub times: f64,
    /// The components of the error, largest first.
    pub parts: Vec<ErrorPart>,
}

/// The contribution of one kind of access.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorPart {
    pub access: Access,
    /// Largest error factor of the models of the disk class of `a` and of `b`, at least 1.
    pub worst: [f64; 2],
    /// Share of the elapsed time of `a` and of `b`, 0 to 1, spent waiting for this access with an idle CPU.
    pub shares: [f64; 2],
}

/// Reasons that refute a result of all samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refuted {
    /// The result fails with another workload seed, or is no larger than the variation between seeds.
    Chaos,
    /// The result fails at some cost of the instructions that only one candidate of the pair executes.
    Cost,
    /// The result is no larger than the possible effect of the disk model's error.
    ModelError,
    /// The result fails in the worst corner.
    Corner,
    /// The other seeds, the costs of an instruction, or the corner have not been tried.
    Untried,
}

/// Disk-model overhead in a ratio, caused by the program that serves the modelled disk. A real machine has no such overhead.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Floor {
    /// Ratio on the first sample's disk, with the program's work done once, twice and three times.
    pub ratios: [f64; 3],
    /// Ratio without the overhead, extrapolated from these three.
    pub without: f64,
    /// Error bound of `without`, as a fraction of it.
    pub bound: f64,
    /// Maximum shift of the ratio by the overhead, as a fraction.
    pub moves: f64,
    /// Whether `without`, `bound` and `moves` are limited by the CPU time that the program itself took.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub capped: bool,
}

/// A factor of the ensemble and its effect on the ratio.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decider {
    /// Two if the candidates are on disks of two classes, whose factors were varied together.
    pub factors: Vec<Factor>,
    /// Geometric mean of the ratios at the factor's low level, and at its high level.
    pub ratios: [f64; 2],
    /// Ratio at the high level ÷ ratio at the low level.
    pub effect: f64,
    /// Interval of the effect; the interval excludes 1 exactly if the report names the factor.
    pub low: f64,
    pub high: f64,
    /// Smallest false discovery rate, over all factors of all pairs and headline metrics, at which it is named.
    pub p: f64,
    /// Whether the ratio depends on it, at a rate of 4.5 %; a report without any effect then names one with probability 5 %.
    pub is_named: bool,
}

/// The candidates in the order of one headline metric.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ranks {
    pub scenario: String,
    pub metric: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dimensions: String,
    /// The candidates, best first. No candidate precedes one that was found better; otherwise the order is that of the geometric means.
    pub places: Vec<Place>,
}

/// Possible ranks of a candidate: 2 to 4 if one is better than it and it is better than all but three others.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    pub candidate: String,
    pub best: u32,
    pub worst: u32,
    /// Ratio to the best candidate; the interval is that of this pair.
    pub ratio: f64,
}

/// Geometric mean, over all headline metrics, of how many times better `a` is than `b`. Not a finding, whatever its interval.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overall {
    pub a: String,
    pub b: String,
    pub ratio: f64,
    /// The simultaneous interval; absent on modelled disks and if the rounds are too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// One candidate entered twice: any difference between the two is chance or a fault of the run.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// The label of the copy, and the label of the original.
    pub copy: String,
    pub of: String,
    pub rounds: u32,
    /// p of the difference over all headline metrics; absent if the rounds are too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// Whether the run is void.
    pub voids: bool,
    /// The largest ratio, above 1, by which two identical candidates may differ in a headline metric here; absent if the rounds are too
    /// few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credible: Option<f64>,
}

impl Verdict {
    /// Whether there are enough rounds or samples for findings, and for rounds a look was given.
    pub fn is_final(&self) -> bool {
        let needed = self.basis.needed();
        let enough = !self.findings.is_empty() && self.findings.iter().all(|finding| finding.n >= needed);
        enough && self.basis.complete() >= needed && self.basis.is_a_look() && !self.is_void()
    }

    /// Whether any pair of candidates is undecided.
    pub fn is_open(&self) -> bool {
        self.findings.iter().any(|finding| finding.finding == Found::CannotTell)
    }

    /// Whether the candidate entered twice differs from its copy.
    pub fn is_void(&self) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.voids)
    }

    pub fn of<'v>(
        &'v self,
        scenario: &'v str,
        metric: &'v str,
        dimensions: &'v str,
    ) -> impl Iterator<Item = &'v Finding> {
        self.findings.iter().filter(move |f| f.is_of(scenario, metric, dimensions))
    }
}

impl Basis {
    fn is_a_look(&self) -> bool {
        !matches!(self, Basis::Rounds { alpha, .. } if *alpha == 0.0)
    }

    /// All interim analyses so far, the latest last; empty if no verdict has been given or there are no interim analyses on this testbed.
    pub fn looks(&self) -> Vec<Interim> {
        match self {
            Basis::Rounds { complete, alpha, earlier, .. } if *alpha > 0.0 => {
                earlier.iter().copied().chain([Interim { rounds: *complete, alpha: *alpha }]).collect()
            }
            _ => Vec::new(),
        }
    }

    pub fn complete(&self) -> u32 {
        let (Basis::Rounds { complete, .. } | Basis::Samples { complete, .. }) = self;
        *complete
    }

    pub fn needed(&self) -> u32 {
        let (Basis::Rounds { needed, .. } | Basis::Samples { needed, .. }) = self;
        *needed
    }
}

impl Finding {
    pub fn is_of(&self, scenario: &str, metric: &str, dimensions: &str) -> bool {
        self.scenario == scenario && self.metric == metric && self.dimensions == dimensions
    }

    /// The finding with `label` as its `a`; `None` if the pair does not contain it.
    pub fn from_the_side_of(&self, label: &str) -> Option<Finding> {
        if self.a == label {
            return Some(self.clone());
        }
        (self.b == label).then(|| self.turned())
    }

    fn turned(&self) -> Finding {
        let evidence = match &self.evidence {
            Evidence::Samples {
                a_better,
                within_margin,
                b_better,
                deciders,
                floor,
                withheld,
                chaos,
                corner,
                costs,
                model_error,
                refuted,
            } => Evidence::Samples {
                a_better: *b_better,
                within_margin: *within_margin,
                b_better: *a_better,
                deciders: deciders.iter().map(Decider::turned).collect(),
                floor: floor.as_ref().map(Floor::turned),
                withheld: withheld.map(Found::turned),
                chaos: chaos.as_ref().map(Chaos::turned),
                corner: corner.as_ref().map(Corner::turned),
                costs: costs.as_ref().map(|costs| Box::new(costs.turned())),
                model_error: model_error.as_ref().map(|error| Box::new(error.turned())),
                refuted: *refuted,
            },
            rounds => rounds.clone(),
        };
        Finding {
            finding: self.finding.turned(),
            a: self.b.clone(),
            b: self.a.clone(),
            ratio: 1.0 / self.ratio,
            low: self.high.map(|high| 1.0 / high),
            high: self.low.map(|low| 1.0 / low),
            evidence,
            ..self.clone()
        }
    }
}

impl Chaos {
    fn turned(&self) -> Chaos {
        let [a, b] = self.spreads;
        Chaos { ratios: self.ratios.iter().map(|ratio| ratio.recip()).collect(), spreads: [b, a] }
    }
}

impl Corner {
    fn turned(&self) -> Corner {
        Corner { point: self.point, expected: self.expected.recip(), ratio: self.ratio.map(f64::recip) }
    }
}

impl Costs {
    fn turned(&self) -> Costs {
        let ([a, b], [ours, theirs]) = (self.moving, self.shared);
        let (low, high) = (self.high.recip(), self.low.recip());
        Costs { low, high, moving: [b, a], shared: [theirs, ours], one_kind: self.one_kind }
    }
}

impl ModelError {
    fn turned(&self) -> ModelError {
        let part = |part: &ErrorPart| {
            let ([a, b], [ours, theirs]) = (part.worst, part.shares);
            ErrorPart { access: part.access, worst: [b, a], shares: [theirs, ours] }
        };
        let parts = self.parts.iter().map(part).collect();
        ModelError { ratio: self.ratio.recip(), times: self.times, parts }
    }
}

impl Floor {
    fn turned(&self) -> Floor {
        Floor { ratios: self.ratios.map(f64::recip), without: self.without.recip(), ..self.clone() }
    }
}

impl Found {
    /// The finding with both candidates swapped.
    pub fn turned(self) -> Found {
        match self {
            Found::Better => Found::Worse,
            Found::Worse => Found::Better,
            other => other,
        }
    }
}

impl Decider {
    fn turned(&self) -> Decider {
        Decider {
            ratios: self.ratios.map(f64::recip),
            effect: self.effect.recip(),
            low: self.high.recip(),
            high: self.low.recip(),
            ..self.clone()
        }
    }

    /// `the time of a flush`; for two disks `the time of a flush, or the seek time`.
    pub fn title(&self) -> String {
        self.factors.iter().map(|factor| factor.title()).collect::<Vec<_>>().join(", or ")
    }

    /// Names of the factor's low and high level: `shorter`, `longer`.
    pub fn ends(&self) -> [&'static str; 2] {
        self.factors.first().map_or(["low", "high"], |factor| factor.ends())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding() -> Finding {
        Finding {
            finding: Found::Better,
            scenario: "mail".into(),
            metric: "transactions.rate".into(),
            dimensions: String::new(),
            a: "xfs".into(),
            b: "ext4".into(),
            ratio: 1.25,
            low: Some(1.25),
            high: Some(2.0),
            n: 12,
            evidence: Evidence::Rounds { p: Some(0.01), smallest: Some(1.1), rounds_to_equivalent: None },
        }
    }

    #[test]
    fn from_the_other_side_the_better_one_is_worse_by_as_much() {
        let other = finding().from_the_side_of("ext4").expect("it is of ext4");
        assert_eq!((other.finding, other.a.as_str(), other.b.as_str()), (Found::Worse, "ext4", "xfs"));
        assert_eq!((other.ratio, other.low, other.high), (0.8, Some(0.5), Some(0.8)));
        assert_eq!(finding().from_the_side_of("xfs"), Some(finding()));
        assert_eq!(finding().from_the_side_of("jfs"), None);
    }

    #[test]
    fn what_the_cost_of_an_instruction_does_is_turned_with_the_pair() {
        let costs = Costs { low: 0.5, high: 2.5, moving: [0.9, 0.4], shared: [0.3, 0.2], one_kind: false };
        let turned = Costs { low: 0.4, high: 2.0, moving: [0.4, 0.9], shared: [0.2, 0.3], one_kind: false };
        assert_eq!(costs.turned(), turned);
    }

    #[test]
    fn the_error_of_a_model_is_turned_with_the_pair_and_stays_as_large() {
        let of = |ratio, worst, shares| ModelError {
            ratio,
            times: 1.3,
            parts: vec![ErrorPart { access: Access::Queued, worst, shares }],
        };
        assert_eq!(of(0.5, [2.0, 3.0], [0.1, 0.4]).turned(), of(2.0, [3.0, 2.0], [0.4, 0.1]));
    }

    #[test]
    fn a_run_whose_copy_differs_has_no_verdict() {
        let guard = |voids| Guard {
            copy: "b".into(),
            of: "a".into(),
            rounds: 12,
            p: Some(0.5),
            voids,
            credible: None,
        };
        let verdict = |guard| Verdict {
            schema: SCHEMA,
            records: 24,
            basis: Basis::Rounds { complete: 12, needed: 10, alpha: 0.05, earlier: Vec::new() },
            margin: Percent(3.0),
            findings: vec![finding()],
            ranks: Vec::new(),
            overall: Vec::new(),
            guard: Some(guard),
            cpu: Vec::new(),
            recommendation: None,
        };
        assert!(verdict(guard(false)).is_final() && !verdict(guard(true)).is_final());
        let text = serde_json::to_string(&verdict(guard(false))).expect("it is JSON");
        assert_eq!(
            serde_json::from_str::<Verdict>(&text).expect("its own JSON is read"),
            verdict(guard(false))
        );
    }
}
