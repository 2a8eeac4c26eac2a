//! Whether a claim of a paper holds here: on the kernels and disks of some runs.
//!
//! ```text
//! I   the range of the ratio `of` ÷ `than`, as a logarithm
//! C   what the claim allows:  more (ln 1.03, ∞) · less (−∞, −ln 1.03) · about k: ln k ± ln 1.1 · similar x: ± ln x
//!
//! holds here              every I lies in its C
//! does not hold here      some I lies wholly outside of its C
//! cannot tell             otherwise
//! ```
//! This judges the claim in another place and time than its authors', and refutes nobody.

use std::fmt;

use serde::Serialize;

use super::claim::{ABOUT, Claim, Point, Relation, Test};

/// The verdict on a claim. Of several tests, the verdict that comes last in this list counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Here {
    Holds,
    CannotTell,
    DoesNotHold,
}

/// An order must exceed this factor.
const ORDER: f64 = 1.03;

/// A range, and what it must lie in. Both ends are logarithms of ratios, or values in the metric's unit.
pub type Ends = [f64; 2];

/// The ranges of a place.
pub trait Ranges {
    /// Why there is no range.
    type Unknown;

    /// The range of the logarithm of one value ÷ the other.
    ///
    /// # Errors
    /// If there is none.
    fn ratio(&self, of: &Point<'_>, than: &Point<'_>) -> Result<Ends, Self::Unknown>;

    /// The range of a value.
    ///
    /// # Errors
    /// If there is none.
    fn value(&self, of: &Point<'_>) -> Result<Ends, Self::Unknown>;
}

/// One comparison that a claim needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Leg<U> {
    pub workload: String,
    pub metric: String,
    /// `reiserfs ÷ ext2`, or a candidate if its value counts.
    pub what: String,
    /// What the claim allows: ratios, or values. An end may be infinite.
    pub allowed: Ends,
    /// The range here, in the same unit.
    pub seen: Result<Ends, U>,
    pub here: Here,
}

impl Claim {
    /// All comparisons of the claim, in the order of its workloads, tests and metrics.
    pub fn legs<R: Ranges>(&self, ranges: &R) -> Vec<Leg<R::Unknown>> {
        let mut legs = Vec::new();
        for workload in &self.workloads {
            for test in &self.tests {
                test.metrics.iter().for_each(|metric| legs.extend(test.legs(workload, metric, ranges)));
            }
        }
        legs
    }
}

/// The verdict of these comparisons together; without any nobody can tell.
pub fn together<U>(legs: &[Leg<U>]) -> Here {
    legs.iter().map(|leg| leg.here).max().unwrap_or(Here::CannotTell)
}

impl Test {
    fn legs<R: Ranges>(&self, workload: &str, metric: &str, ranges: &R) -> Vec<Leg<R::Unknown>> {
        let point = |candidate| Point { workload, metric, at: &self.at, candidate };
        let ones: Vec<Point<'_>> = self.of.iter().map(|candidate| point(candidate)).collect();
        let there = |candidate| Point {
            workload: self.than_workload.as_deref().unwrap_or(workload),
            metric: self.than_metric.as_deref().unwrap_or(metric),
            at: self.than_at.as_ref().unwrap_or(&self.at),
            candidate,
        };
        let pairs: Vec<(Point<'_>, Point<'_>)> = match self.than.is_empty() {
            true => ones.iter().map(|one| (*one, there(one.candidate))).collect(),
            false => {
                let others = || self.than.iter().map(|candidate| there(candidate));
                ones.iter().flat_map(|one| others().map(move |other| (*one, other))).collect()
            }
        };
        let each = |pairs: Vec<(Point<'_>, Point<'_>)>, allowed: Ends| -> Vec<Leg<R::Unknown>> {
            pairs.iter().map(|(of, than)| of_ratio(of, than, ranges.ratio(of, than), allowed)).collect()
        };
        let in_turn = || ones.windows(2).map(|two| (two[0], two[1])).collect();
        let (order, tenth) = (ORDER.ln(), ABOUT.ln_1p());
        match self.relation {
            Relation::More => each(pairs, [order, f64::INFINITY]),
            Relation::Less => each(pairs, [f64::NEG_INFINITY, -order]),
            Relation::About(times) => each(pairs, [times.ln() - tenth, times.ln() + tenth]),
            Relation::Ratio([low, high]) => each(pairs, [low.ln(), high.ln()]),
            Relation::AtLeast(times) => each(pairs, [times.ln(), f64::INFINITY]),
            Relation::Falling => each(in_turn(), [order, f64::INFINITY]),
            Relation::Rising => each(in_turn(), [f64::NEG_INFINITY, -order]),
            Relation::Similar(times) => {
                let places =
                    (0..ones.len()).flat_map(|at| (at + 1..ones.len()).map(move |other| (at, other)));
                let all = places.map(|(at, other)| (ones[at], ones[other])).collect();
                each(all, [-times.ln(), times.ln()])
            }
            Relation::Within(allowed) => {
                ones.iter().map(|one| of_value(one, ranges.value(one), allowed)).collect()
            }
            Relation::Highest(n) => self.among(n, &ones, &there, ranges, 1.0),
            Relation::Lowest(n) => self.among(n, &ones, &there, ranges, -1.0),
        }
    }

    /// Whether each `of` is among the `n` candidates with the highest values, or with `sign` −1 the lowest. Its comparison is
    /// one that decides; if nobody can tell, its comparisons are all open ones.
    fn among<'p, R: Ranges>(
        &'p self,
        n: usize,
        ones: &[Point<'p>],
        there: &dyn Fn(&'p str) -> Point<'p>,
        ranges: &R,
        sign: f64,
    ) -> Vec<Leg<R::Unknown>> {
        let order = ORDER.ln();
        let allowed = if sign > 0.0 { [order, f64::INFINITY] } else { [f64::NEG_INFINITY, -order] };
        let of_one = |one: &Point<'p>| {
            let own = ones.iter().copied().filter(|other| other.candidate != one.candidate);
            let others = own.chain(self.than.iter().map(|candidate| there(candidate)));
            let mut legs: Vec<Leg<R::Unknown>> =
                others.map(|other| of_ratio(one, &other, ranges.ratio(one, &other), allowed)).collect();
            // Most likely to rank before it first; an unknown one may rank anywhere.
            legs.sort_by_key(|leg| std::cmp::Reverse(leg.here));
            let before = legs.iter().filter(|leg| leg.here == Here::DoesNotHold).count();
            let perhaps = legs.iter().filter(|leg| leg.here != Here::Holds).count();
            let here = match () {
                () if before >= n => Here::DoesNotHold,
                () if perhaps < n => Here::Holds,
                () => Here::CannotTell,
            };
            let at = legs.iter().position(|leg| leg.here == here).unwrap_or_default();
            match here {
                _ if legs.is_empty() => legs,
                Here::CannotTell => legs.into_iter().filter(|leg| leg.here == here).collect(),
                _ => vec![Leg { here, ..legs.swap_remove(at) }],
            }
        };
        ones.iter().flat_map(of_one).collect()
    }
}

fn of_ratio<U>(of: &Point<'_>, than: &Point<'_>, seen: Result<Ends, U>, allowed: Ends) -> Leg<U> {
    let here = seen.as_ref().map_or(Here::CannotTell, |seen| judged(*seen, allowed));
    let other = match () {
        () if of.candidate != than.candidate => than.candidate.to_owned(),
        () if of.workload != than.workload => format!("in {}", than.workload),
        () if of.metric != than.metric => than.metric.to_owned(),
        () => than.at.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", "),
    };
    Leg {
        workload: of.workload.to_owned(),
        metric: of.metric.to_owned(),
        what: format!("{} ÷ {other}", of.candidate),
        allowed: allowed.map(f64::exp),
        seen: seen.map(|ends| ends.map(f64::exp)),
        here,
    }
}

fn of_value<U>(of: &Point<'_>, seen: Result<Ends, U>, allowed: Ends) -> Leg<U> {
    let here = seen.as_ref().map_or(Here::CannotTell, |seen| judged(*seen, allowed));
    let (workload, metric) = (of.workload.to_owned(), of.metric.to_owned());
    Leg { workload, metric, what: of.candidate.to_owned(), allowed, seen, here }
}

fn judged([low, high]: Ends, [least, most]: Ends) -> Here {
    if least <= low && high <= most {
        Here::Holds
    } else if high < least || most < low {
        Here::DoesNotHold
    } else {
        Here::CannotTell
    }
}

impl fmt::Display for Here {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Here::Holds => "holds here",
            Here::CannotTell => "cannot tell",
            Here::DoesNotHold => "does not hold here",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each candidate's value lies within a tenth of its number; `nobody` has no value.
    struct Made;

    fn number(point: &Point<'_>) -> Option<f64> {
        let number = match point.candidate {
            "a" => 4.0,
            "b" => 2.0,
            "c" => 1.0,
            "d" => 1.05,
            _ => return None,
        };
        Some(if point.workload == "v" { 2.0 * number } else { number })
    }

    impl Ranges for Made {
        type Unknown = ();

        fn ratio(&self, of: &Point<'_>, than: &Point<'_>) -> Result<Ends, ()> {
            let log = (number(of).ok_or(())? / number(than).ok_or(())?).ln();
            Ok([log - 0.1, log + 0.1])
        }

        fn value(&self, of: &Point<'_>) -> Result<Ends, ()> {
            number(of).map(|value| [0.9 * value, 1.1 * value]).ok_or(())
        }
    }

    fn here(test: &str) -> Here {
        let text = format!(
            "says = \"x\"\nplace = \"y\"\nworkloads = [\"w\"]\ntests = [{{ metrics = [\"m\"], {test} }}]"
        );
        let claim: Claim = toml::from_str(&text).unwrap_or_else(|e| panic!("{test}: {e}"));
        together(&claim.legs(&Made))
    }

    #[test]
    fn each_relation_holds_does_not_hold_or_stays_open() {
        let all = [
            (Here::Holds, r#"of = ["a"], than = ["b", "c"], relation = "more""#),
            (Here::DoesNotHold, r#"of = ["b"], than = ["a", "c"], relation = "more""#),
            (Here::CannotTell, r#"of = ["d"], than = ["c"], relation = "more""#),
            (Here::Holds, r#"of = ["c"], than = ["b"], relation = "less""#),
            (Here::DoesNotHold, r#"of = ["b"], than = ["c"], relation = "less""#),
            (Here::CannotTell, r#"of = ["a"], than = ["b"], relation = { about = 2.0 }"#),
            (Here::DoesNotHold, r#"of = ["a"], than = ["b"], relation = { about = 3.0 }"#),
            (Here::Holds, r#"of = ["a"], than = ["b"], relation = { ratio = [1.7, 2.3] }"#),
            (Here::Holds, r#"of = ["a"], than = ["c"], relation = { at_least = 3.5 }"#),
            (Here::Holds, r#"of = ["a", "b", "c"], relation = "falling""#),
            (Here::DoesNotHold, r#"of = ["a", "b", "c"], relation = "rising""#),
            (Here::Holds, r#"of = ["c", "d"], relation = { similar = 1.5 }"#),
            (Here::DoesNotHold, r#"of = ["a", "d"], relation = { similar = 1.5 }"#),
            (Here::Holds, r#"of = ["a"], relation = { within = [3.0, 5.0] }"#),
            (Here::CannotTell, r#"of = ["a"], relation = { within = [4.0, 5.0] }"#),
            (Here::DoesNotHold, r#"of = ["a"], relation = { within = [5.0, 6.0] }"#),
            (Here::Holds, r#"of = ["a", "b"], than = ["c", "d"], relation = { highest = 2 }"#),
            (Here::DoesNotHold, r#"of = ["b"], than = ["a", "c"], relation = { highest = 1 }"#),
            (Here::CannotTell, r#"of = ["c"], than = ["a", "d"], relation = { lowest = 1 }"#),
            (Here::Holds, r#"of = ["a"], than_workload = "v", relation = "less""#),
        ];
        all.iter().for_each(|(expected, test)| assert_eq!(here(test), *expected, "{test}"));
    }

    #[test]
    fn what_is_missing_stays_open_unless_another_comparison_lies_outside() {
        assert_eq!(here(r#"of = ["a"], than = ["b", "nobody"], relation = "more""#), Here::CannotTell);
        assert_eq!(here(r#"of = ["b"], than = ["a", "nobody"], relation = "more""#), Here::DoesNotHold);
        assert_eq!(here(r#"of = ["nobody"], than = ["a"], relation = { highest = 1 }"#), Here::CannotTell);
        assert_eq!(together::<()>(&[]), Here::CannotTell);
    }

    #[test]
    fn a_difference_within_three_percent_is_no_order() {
        let range = |low: f64, high: f64| judged([low.ln(), high.ln()], [1.03_f64.ln(), f64::INFINITY]);
        assert_eq!(range(1.031, 2.0), Here::Holds);
        assert_eq!(range(1.02, 2.0), Here::CannotTell);
        assert_eq!(range(0.99, 1.02), Here::DoesNotHold);
    }
}
