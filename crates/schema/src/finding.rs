//! What the figures of a run allow to be said of each pair of candidates, and what that makes together: the verdict.
//!
//! One shape for testbeds whose figures scatter, where a finding is a ratio with an interval, and for modelled disks, where it is
//! what held in so many samples of the disk.

use fsderby_diskmodel::{Access, Factor, Point};
use serde::{Deserialize, Serialize};

use crate::recommendation::Recommendation;
use crate::units::Percent;

/// The shape of `verdict.json`. Version 2 charged one of a pair more for an instruction and the other less, and gave factors a share of
/// the variance; its findings are read without these two.
pub const SCHEMA: u32 = 3;

/// All findings of a run, from its records alone: `fsderby verify` computes it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    pub schema: u32,
    /// How many records the run had when it was given.
    pub records: usize,
    pub basis: Basis,
    /// Within it a difference does not matter.
    pub margin: Percent,
    /// Each pair of candidates, for each headline metric of each scenario. `a` stands before `b` in the plan.
    pub findings: Vec<Finding>,
    /// One for each headline metric of each scenario.
    pub ranks: Vec<Ranks>,
    /// Each pair of candidates over all headline metrics together; empty where there is but one, or not all have all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overall: Vec<Overall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Guard>,
    /// Each pair in the CPU time that each scenario took, less being better: no headline, and judged apart from them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu: Vec<Finding>,
    /// Where the plan states needs; absent in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommendation: Option<Recommendation>,
}

/// What the findings rest on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Basis {
    /// Rounds on a testbed whose figures scatter.
    Rounds {
        /// Of the scenario that has the fewest, and no later ones than this look took.
        complete: u32,
        /// Fewer are preliminary.
        needed: u32,
        /// What this look may spend: the chance that any of its findings of *better* or *worse* is wrong, if no two candidates differ.
        /// 0 where no verdict has been given.
        alpha: f64,
        /// Earlier looks at this run: each spent some of the 5 % that all looks have together.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        earlier: Vec<Look>,
    },
    /// Samples of a modelled disk.
    Samples { complete: u32, needed: u32 },
}

/// A verdict that was given.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Look {
    /// After so many complete rounds.
    pub rounds: u32,
    pub alpha: f64,
}

/// One pair of candidates and one headline metric of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// `a` beside `b`.
    pub finding: Found,
    pub scenario: String,
    /// The metric's name and what else tells it from others of that name.
    pub metric: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dimensions: String,
    pub a: String,
    pub b: String,
    /// How many times better `a` is than `b`, above 1 where it is: the geometric mean over rounds or samples.
    pub ratio: f64,
    /// Of the ratio: the simultaneous interval at 1 − α, or the least and the most over all samples. Where few rounds give none,
    /// neither is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Rounds, or samples, in which both have a trial that is counted.
    pub n: u32,
    pub evidence: Evidence,
}

/// What may be said of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    Better,
    Worse,
    /// The interval, or every sample, lies within the margin.
    Equivalent,
    CannotTell,
}

/// Why it may be said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Evidence {
    Rounds {
        /// Adjusted for the whole family; absent where there are too few rounds for any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        p: Option<f64>,
        /// The ratio that would be found with a probability of 80 % in as many rounds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        smallest: Option<f64>,
        /// How many rounds *equivalent* would take with this scatter.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rounds_to_equivalent: Option<u32>,
    },
    Samples {
        a_better: u32,
        within_margin: u32,
        b_better: u32,
        /// What each factor does to the ratio, those that are named first; none without both halves of the design.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        deciders: Vec<Decider>,
        /// What the program that plays the disk does to the ratio; absent where it was not measured or the metric is no time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        floor: Option<Floor>,
        /// What the samples alone would allow, where it is not known to hold without that program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        withheld: Option<Found>,
        /// What other seeds of the work do on the first sample's disk; absent where they were not tried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chaos: Option<Chaos>,
        /// Where the ratio is expected to be worst; absent where that is not known, or not asked because the samples disagree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        corner: Option<Corner>,
        /// What the cost of an instruction does; absent where it was not tried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        costs: Option<Box<Costs>>,
        /// How far models of such disks were from real ones, and what that may do to the ratio; absent where the metric is no time
        /// of the work, and of trials whose disk did not count what was waited for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model_error: Option<Box<ModelError>>,
        /// Why what holds in all samples is no finding.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refuted: Option<Refuted>,
    },
}

/// One disk, and six seeds of the work. A filesystem amplifies small changes, so each gives another figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chaos {
    /// With the first round's seed, and with each other one.
    pub ratios: Vec<f64>,
    /// Of `a` and of `b`: how many times its least figure its most is, each beside the mean of all candidates with the same seed.
    pub spreads: [f64; 2],
}

/// A pair at the corner of what is not known about the disk at which its ratio is expected to be nearest to the other side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Corner {
    pub point: Point,
    /// By the main effects.
    pub expected: f64,
    /// As measured; absent where it was not tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
}

/// What becomes of a pair's ratio where instructions cost more than the machine's file says, or less, by up to 1.3 times: all of them,
/// and besides those that only one of the two carries out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// The least ratio of twelve, and the most.
    pub low: f64,
    pub high: f64,
    /// Of the time of `a` and of `b`, 0 to 1: what moves with the cost of an instruction.
    pub moving: [f64; 2],
    /// Of the same: what both spend on the same instructions, so that its cost is the same for both.
    pub shared: [f64; 2],
    /// Whether both are of one kind, with options that choose no other algorithm; otherwise they share the workload's own time alone.
    pub one_kind: bool,
}

/// How far a ratio of times may be off because models of a class of disks were off from real ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelError {
    /// On the disk as its file says, with the first round's seed.
    pub ratio: f64,
    /// By how many times that may be off, either way: 1 or more.
    pub times: f64,
    /// What makes it so, the largest part first.
    pub parts: Vec<ErrorPart>,
}

/// One kind of access.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorPart {
    pub access: Access,
    /// By how many times models of the class of disk that `a` is on, and `b`, were off at worst: 1 or more.
    pub worst: [f64; 2],
    /// Of the elapsed time of `a` and of `b`, 0 to 1: waiting for it, the CPU being idle.
    pub shares: [f64; 2],
}

/// What stands against what holds in all samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refuted {
    /// With another seed of the work it does not hold, or it is no larger than what the seeds do to it.
    Chaos,
    /// It does not hold at every cost of the instructions that only one of the pair carries out.
    Cost,
    /// It is no larger than what the error of the disk's model may do to it.
    ModelError,
    /// It does not hold in the worst corner.
    Corner,
    /// The other seeds, the costs of an instruction, or the corner have not been tried.
    Untried,
}

/// What the program that plays a modelled disk does to a ratio. A real machine has no such program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Floor {
    /// On the first sample's disk, with that program's own work done once, twice and three times.
    pub ratios: [f64; 3],
    /// Without it: those three, extrapolated.
    pub without: f64,
    /// How far that may be wrong, as a share of it.
    pub bound: f64,
    /// By how much the program moves the ratio at most, as a share.
    pub moves: f64,
}

/// One factor of the ensemble and what it does to the ratio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decider {
    /// Two where the candidates are on disks of two classes, whose factors were varied together.
    pub factors: Vec<Factor>,
    /// The geometric mean of the ratios at its low level, and at its high one.
    pub ratios: [f64; 2],
    /// How many times as large the ratio is at the high level as at the low one.
    pub effect: f64,
    /// Of the effect: an interval that leaves out 1 exactly where the factor is named.
    pub low: f64,
    pub high: f64,
    /// The least rate of false discoveries, over all factors of all pairs and headline metrics, at which it is named.
    pub p: f64,
    /// Whether the ratio was found to depend on it: at a rate of 4.5 %, with which a report without any effect names one in 5 %.
    pub is_named: bool,
}

/// The candidates in the order of one headline metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ranks {
    pub scenario: String,
    pub metric: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dimensions: String,
    /// The best first: none stands before one that was found better; else by the geometric mean of their values.
    pub places: Vec<Place>,
}

/// The ranks that the findings leave a candidate: 2 to 4 where one is better than it, and it is better than all but three.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    pub candidate: String,
    pub best: u32,
    pub worst: u32,
    /// How many times as good as the best: its interval is that of the pair.
    pub ratio: f64,
}

/// The geometric mean, over all headline metrics, of how many times better `a` is than `b`: no finding, whatever its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overall {
    pub a: String,
    pub b: String,
    pub ratio: f64,
    /// The simultaneous interval; absent on modelled disks and where few rounds give none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// One candidate that entered twice: what the two differ by can only be chance, or the run is at fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// The label of the copy, and whose it is.
    pub copy: String,
    pub of: String,
    pub rounds: u32,
    /// Over all headline metrics together; absent where there are too few rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// Whether the run is void.
    pub voids: bool,
}

impl Verdict {
    /// Whether there are rounds or samples enough for findings, and for rounds a look was given.
    pub fn is_final(&self) -> bool {
        let needed = self.basis.needed();
        let enough = !self.findings.is_empty() && self.findings.iter().all(|finding| finding.n >= needed);
        enough && self.basis.complete() >= needed && self.basis.is_a_look() && !self.is_void()
    }

    /// Whether any pair of candidates is still open.
    pub fn is_open(&self) -> bool {
        self.findings.iter().any(|finding| finding.finding == Found::CannotTell)
    }

    /// Whether the candidate that entered twice differs from itself.
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

    /// All looks so far, this one last; none where no verdict has been given, or none is a look.
    pub fn looks(&self) -> Vec<Look> {
        match self {
            Basis::Rounds { complete, alpha, earlier, .. } if *alpha > 0.0 => {
                earlier.iter().copied().chain([Look { rounds: *complete, alpha: *alpha }]).collect()
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

    /// The same finding with `label` as its `a`; `None` where it is not of that candidate.
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
    /// From the other's side.
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

    /// `the time of a flush`; of two disks `the time of a flush, or the seek time`.
    pub fn title(&self) -> String {
        self.factors.iter().map(|factor| factor.title()).collect::<Vec<_>>().join(", or ")
    }

    /// `shorter`, `longer`: what its low and its high level are called.
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
        let guard = |voids| Guard { copy: "b".into(), of: "a".into(), rounds: 12, p: Some(0.5), voids };
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
