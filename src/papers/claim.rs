//! A claim of a paper as tests that can be applied to figures of any origin.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A conclusion, conjecture or citation of a paper.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The claim in the words of fsderby's authors.
    pub says: String,
    /// Section of the paper.
    pub place: String,
    /// The workloads to which each test of the claim applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<String>,
    /// The tests of the claim; the claim holds if all tests hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Test>,
    /// If the claim has no test: why no figure can test it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untested: Option<String>,
    /// If the paper's own figures contradict the claim: how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradicted: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Clone, Debug, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// The metrics; the relation must hold for each metric.
    pub metrics: Vec<String>,
    /// Dimensions of the metric. If a dimension is not named, the mean over all its values is used.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at: BTreeMap<String, String>,
    /// The candidates that the claim is about.
    pub of: Vec<String>,
    /// The candidates to compare with. If empty, each candidate is compared with itself in another workload or dimension.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub than: Vec<String>,
    /// The other workload or dimension with which values are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub than_workload: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub than_metric: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub than_at: Option<BTreeMap<String, String>>,
    pub relation: Relation,
}

/// A relation between values, whether more is better or worse: a shorter time is *less*.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// Each `of` is above each `than`.
    More,
    Less,
    /// Each `of` divided by each `than` is this value, within [`ABOUT`].
    About(f64),
    /// Each `of` divided by each `than` is in this range.
    Ratio([f64; 2]),
    AtLeast(f64),
    /// Each value is below, or above, the one before it.
    Falling,
    Rising,
    /// Each value is in this range, in the metric's unit.
    Within([f64; 2]),
    /// The largest divided by the smallest is at most this.
    Similar(f64),
    /// Each `of` is among the `n` candidates with the highest, or lowest, values.
    Highest(usize),
    Lowest(usize),
}

/// "About twice" means 1.8 to 2.2 times: within a tenth.
pub const ABOUT: f64 = 0.1;

/// Identifies a value.
#[derive(Clone, Copy, Debug)]
pub struct Point<'c> {
    pub workload: &'c str,
    pub metric: &'c str,
    pub at: &'c BTreeMap<String, String>,
    pub candidate: &'c str,
}

/// Result of a claim. If its tests have different results, the result that comes last in this list counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    Held,
    /// A value that could have contradicted the claim is missing.
    NotMeasured,
    Contradicted,
}

impl Claim {
    /// Judges the claim by values of any origin: a paper's own, or the medians of a run. It compares plain values; the caller
    /// decides whether a difference exceeds the noise.
    pub fn judge(&self, value: &dyn Fn(&Point<'_>) -> Option<f64>) -> Standing {
        let of_test = |test: &Test| {
            let pairs = self.workloads.iter().flat_map(|w| test.metrics.iter().map(move |m| (w, m)));
            pairs.map(|(workload, metric)| test.judge(workload, metric, value)).max()
        };
        self.tests.iter().filter_map(of_test).max().unwrap_or(Standing::NotMeasured)
    }
}

impl Test {
    /// Whether the test compares with values of another workload or dimension.
    pub fn has_others(&self) -> bool {
        !self.than.is_empty()
            || self.than_workload.is_some()
            || self.than_metric.is_some()
            || self.than_at.is_some()
    }

    fn judge(&self, workload: &str, metric: &str, value: &dyn Fn(&Point<'_>) -> Option<f64>) -> Standing {
        let here = |candidate: &String| value(&Point { workload, metric, at: &self.at, candidate });
        let there = |candidate: &String| {
            let workload = self.than_workload.as_deref().unwrap_or(workload);
            let metric = self.than_metric.as_deref().unwrap_or(metric);
            value(&Point { workload, metric, at: self.than_at.as_ref().unwrap_or(&self.at), candidate })
        };
        let ones: Vec<Option<f64>> = self.of.iter().map(here).collect();
        if self.than.is_empty() {
            let itself = self.of.iter().map(there);
            return self.relation.of_values(&ones, ones.iter().copied().zip(itself).collect());
        }
        let others: Vec<Option<f64>> = self.than.iter().map(there).collect();
        let pairs = ones.iter().flat_map(|one| others.iter().map(|other| (*one, *other)));
        match self.relation {
            Relation::Highest(n) => among(n, &ones, &others, |one, other| other > one),
            Relation::Lowest(n) => among(n, &ones, &others, |one, other| other < one),
            relation => relation.of_values(&ones, pairs.collect()),
        }
    }
}

type Pair = (Option<f64>, Option<f64>);

impl Relation {
    /// Judges values alone, or pairs of values.
    fn of_values(self, ones: &[Option<f64>], pairs: Vec<Pair>) -> Standing {
        let in_turn = || ones.windows(2).map(|w| (w[0], w[1])).collect();
        let ratio = |pairs: Vec<Pair>, low: f64, high: f64| {
            each(pairs, move |one, other| (low..=high).contains(&(one / other)))
        };
        match self {
            Relation::More => each(pairs, |one, other| one > other),
            Relation::Less => each(pairs, |one, other| one < other),
            Relation::About(times) => ratio(pairs, times * (1.0 - ABOUT), times * (1.0 + ABOUT)),
            Relation::Ratio([low, high]) => ratio(pairs, low, high),
            Relation::AtLeast(times) => ratio(pairs, times, f64::INFINITY),
            Relation::Falling => each(in_turn(), |one, next| one > next),
            Relation::Rising => each(in_turn(), |one, next| one < next),
            Relation::Within([low, high]) => {
                each(ones.iter().map(|one| (*one, *one)).collect(), |one, _| (low..=high).contains(&one))
            }
            Relation::Similar(times) => {
                let all = ones.iter().flat_map(|one| ones.iter().map(|other| (*one, *other)));
                each(all.collect(), |one, other| one <= other * times)
            }
            // These relations need the values of all other candidates.
            Relation::Highest(_) | Relation::Lowest(_) => Standing::NotMeasured,
        }
    }

    /// Whether the relation has two sides.
    pub fn is_of_pairs(self) -> bool {
        !matches!(self, Relation::Falling | Relation::Rising | Relation::Within(_) | Relation::Similar(_))
    }
}

fn each(pairs: Vec<Pair>, holds: impl Fn(f64, f64) -> bool) -> Standing {
    let of_pair = |pair: Pair| match pair {
        (Some(one), Some(other)) if holds(one, other) => Standing::Held,
        (Some(_), Some(_)) => Standing::Contradicted,
        _ => Standing::NotMeasured,
    };
    pairs.into_iter().map(of_pair).max().unwrap_or(Standing::NotMeasured)
}

/// Whether for each `of` fewer than `n` of all candidates rank before it.
fn among(
    n: usize,
    ones: &[Option<f64>],
    others: &[Option<f64>],
    is_before: impl Fn(f64, f64) -> bool,
) -> Standing {
    let of_one = |one: &Option<f64>| {
        let Some(one) = *one else { return Standing::NotMeasured };
        let all = || ones.iter().chain(others);
        if all().flatten().filter(|other| is_before(one, **other)).count() >= n {
            Standing::Contradicted
        } else if all().any(Option::is_none) {
            Standing::NotMeasured
        } else {
            Standing::Held
        }
    };
    ones.iter().map(of_one).max().unwrap_or(Standing::NotMeasured)
}

impl fmt::Display for Relation {
    /// The words between `of` and `than`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Relation::More => write!(f, "must be higher than"),
            Relation::Less => write!(f, "must be lower than"),
            Relation::About(times) => write!(f, "must be about {times} times as high as"),
            Relation::Ratio([0.0, 1.0]) => write!(f, "must not be higher than"),
            Relation::Ratio([low, high]) => write!(f, "must be {low} to {high} times as high as"),
            Relation::AtLeast(times) => write!(f, "must be at least {times} times as high as"),
            Relation::Falling => write!(f, "must fall from each filesystem to the next"),
            Relation::Rising => write!(f, "must rise from each filesystem to the next"),
            Relation::Within([low, high]) => write!(f, "must be between {low} and {high}"),
            Relation::Similar(times) => {
                write!(f, "must differ between these filesystems by a factor of at most {times}")
            }
            Relation::Highest(n) => write!(f, "must be among the {n} highest values, compared with those"),
            Relation::Lowest(n) => write!(f, "must be among the {n} lowest values, compared with those"),
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Standing::Held => "held",
            Standing::NotMeasured => "not measured",
            Standing::Contradicted => "contradicted",
        })
    }
}
