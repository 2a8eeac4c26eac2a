//! A sentence of a paper as tests of figures, whosever they are.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that the paper concludes, supposes or cites.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// In our words.
    pub says: String,
    /// Where in the paper it is said.
    pub place: String,
    /// Each test is of all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<String>,
    /// It holds where all of them hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Test>,
    /// Why no figure can test it, where there is no test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untested: Option<String>,
    /// How the paper's own figures contradict it, where they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradicted: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// The relation holds in each of them.
    pub metrics: Vec<String>,
    /// The dimensions of the metric. What is not said here is all of it: a mean stands for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at: BTreeMap<String, String>,
    /// The candidates that something is said of.
    pub of: Vec<String>,
    /// Those that they are compared with; without any, each is compared with itself elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub than: Vec<String>,
    /// Elsewhere, where it is not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub than_workload: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub than_metric: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub than_at: Option<BTreeMap<String, String>>,
    pub relation: Relation,
}

/// Of values, not of what is better: less time is less.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// Each of the ones is above each of the others.
    More,
    Less,
    /// Each of the ones ÷ each of the others is this, within [`ABOUT`].
    About(f64),
    /// Each of the ones ÷ each of the others is between these.
    Ratio([f64; 2]),
    AtLeast(f64),
    /// Each is below, or above, the one before it.
    Falling,
    Rising,
    /// Each is between these, in the metric's unit.
    Within([f64; 2]),
    /// The largest ÷ the smallest is at most this.
    Similar(f64),
    /// Each is among so many with the highest, or lowest, values of all.
    Highest(usize),
    Lowest(usize),
}

/// "About twice" is 1.8 to 2.2 times: a tenth more or less.
pub const ABOUT: f64 = 0.1;

/// Where a value is looked up.
#[derive(Clone, Copy, Debug)]
pub struct Point<'c> {
    pub workload: &'c str,
    pub metric: &'c str,
    pub at: &'c BTreeMap<String, String>,
    pub candidate: &'c str,
}

/// What becomes of a claim. The later, the more it says of several tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    Held,
    /// A value is missing that could have contradicted it.
    NotMeasured,
    Contradicted,
}

impl Claim {
    /// By values of anybody: a paper's own, or the medians of a run. Plain values are compared; whether a difference is more
    /// than noise is for who gives them.
    pub fn judge(&self, value: &dyn Fn(&Point<'_>) -> Option<f64>) -> Standing {
        let of_test = |test: &Test| {
            let pairs = self.workloads.iter().flat_map(|w| test.metrics.iter().map(move |m| (w, m)));
            pairs.map(|(workload, metric)| test.judge(workload, metric, value)).max()
        };
        self.tests.iter().filter_map(of_test).max().unwrap_or(Standing::NotMeasured)
    }
}

impl Test {
    /// Whether it compares with values of another place.
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
    /// Of values alone, or of pairs of them.
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
            // They need to know who the others are.
            Relation::Highest(_) | Relation::Lowest(_) => Standing::NotMeasured,
        }
    }

    /// Whether it is one of two sides.
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

/// Whether fewer than `n` of all are before each of the ones.
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
    /// Between the ones and the others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Relation::More => write!(f, ">"),
            Relation::Less => write!(f, "<"),
            Relation::About(times) => write!(f, "= about {times} ×"),
            Relation::Ratio([low, high]) => write!(f, "= {low} to {high} ×"),
            Relation::AtLeast(times) => write!(f, "≥ {times} ×"),
            Relation::Falling => write!(f, "each less than the one before"),
            Relation::Rising => write!(f, "each more than the one before"),
            Relation::Within([low, high]) => write!(f, "within {low} and {high}"),
            Relation::Similar(times) => write!(f, "within {times} × of each other"),
            Relation::Highest(n) => write!(f, "among the {n} highest, with"),
            Relation::Lowest(n) => write!(f, "among the {n} lowest, with"),
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
