//! `--fail-if "worse > 5% in transactions.rate for alderfs"`: when a difference between two runs is to end a script.

use std::str::FromStr;

use crate::names;
use crate::schema::change::{Change, Changes};

/// How it is written.
pub const WRITTEN: &str =
    "\"worse > 5%\", with better, worse or different, and after it: by estimate, in METRIC, for LABEL";

#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    side: Side,
    /// A ratio, 1.05 for 5 %.
    beyond: f64,
    /// Whether the ratio itself is compared, and not the end of its interval that is nearest to no difference.
    by_estimate: bool,
    metric: Option<String>,
    label: Option<String>,
    written: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Better,
    Worse,
    Different,
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no condition; write {WRITTEN}");
        // A label may hold any words, so it is the last.
        let (head, label) = cut(text, "for");
        let (head, metric) = cut(&head, "in");
        let (head, estimate) = cut(&head, "by");
        let by_estimate = match estimate.as_deref() {
            None => false,
            Some("estimate") => true,
            Some(_) => return Err(wrong()),
        };
        let (side, threshold) = head.split_once('>').ok_or_else(wrong)?;
        let side = match side.trim() {
            "better" => Side::Better,
            "worse" => Side::Worse,
            "different" => Side::Different,
            _ => return Err(wrong()),
        };
        let percent: f64 =
            threshold.trim().strip_suffix('%').ok_or_else(wrong)?.trim().parse().map_err(|_| wrong())?;
        if !(0.0..=10_000.0).contains(&percent) {
            return Err(format!("'{text}': a threshold lies between 0% and 10000%"));
        }
        if metric.as_deref() == Some("") || label.as_deref() == Some("") {
            return Err(wrong());
        }
        Ok(Condition {
            side,
            beyond: 1.0 + percent / 100.0,
            by_estimate,
            metric,
            label,
            written: text.to_owned(),
        })
    }
}

/// What stands before and after this word, where it stands by itself.
fn cut(text: &str, word: &str) -> (String, Option<String>) {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.iter().position(|one| *one == word) {
        None => (words.join(" "), None),
        Some(at) => (words[..at].join(" "), Some(words[at + 1..].join(" "))),
    }
}

impl Condition {
    /// Those findings for which it holds.
    ///
    /// # Errors
    /// When it is about nothing that was compared, or there are too few rounds to judge it: silence would pass for a good answer.
    pub fn holds<'c>(&self, changes: &'c Changes) -> Result<Vec<&'c Change>, String> {
        let about = self.about(changes)?;
        if !self.by_estimate
            && let Some(open) = about.iter().find(|change| !is_judged(change, changes))
        {
            return Err(format!(
                "'{}' cannot be judged: {} has no interval, because {} rounds or samples are too few\n  try: more of them in both runs, or by estimate",
                self.written,
                open.candidate,
                open.n[0].min(open.n[1])
            ));
        }
        Ok(about.into_iter().filter(|change| self.is_met(change)).collect())
    }

    fn about<'c>(&self, changes: &'c Changes) -> Result<Vec<&'c Change>, String> {
        let known = |what, of: fn(&Change) -> &str, asked: &Option<String>| match asked {
            Some(asked) if !changes.findings.iter().any(|change| of(change) == asked) => {
                let mut all: Vec<&str> = changes.findings.iter().map(of).collect();
                all.sort_unstable();
                all.dedup();
                Err(format!("--fail-if: {}", names::unknown(what, asked, all)))
            }
            _ => Ok(()),
        };
        known("headline metric", |change| &change.metric, &self.metric)?;
        if let Some(label) = self.label.as_ref().filter(|label| changes.controls().contains(label)) {
            return Err(format!(
                "'{}': {label} is a control, beside which the others are compared, so nothing is found of it\n  try: --control with another one",
                self.written
            ));
        }
        known("candidate", |change| &change.candidate, &self.label)?;
        let is_asked = |change: &&Change| {
            self.metric.as_ref().is_none_or(|metric| change.metric == *metric)
                && self.label.as_ref().is_none_or(|label| change.candidate == *label)
        };
        let about: Vec<&Change> = changes.findings.iter().filter(is_asked).collect();
        match about.is_empty() {
            true => Err(format!("'{}' is about nothing that was compared", self.written)),
            false => Ok(about),
        }
    }

    fn is_met(&self, change: &Change) -> bool {
        let (low, high) = match (change.low, change.high) {
            (Some(low), Some(high)) if !self.by_estimate => (low, high),
            _ => (change.ratio, change.ratio),
        };
        let (better, worse) = (low > self.beyond, high < 1.0 / self.beyond);
        match self.side {
            Side::Better => better,
            Side::Worse => worse,
            Side::Different => better || worse,
        }
    }

    /// Which ones, and what was compared with what.
    pub fn said(&self, holds: &[&Change]) -> String {
        let with =
            if self.by_estimate { "ratio itself" } else { "end of each interval that is nearest to 1" };
        let whom =
            |change: &&Change| format!("{} in {} of {}", change.candidate, change.metric, change.scenario);
        let whom: Vec<String> = holds.iter().map(whom).collect();
        match whom.is_empty() {
            true => format!("'{}' does not hold: the {with} was compared with it.", self.written),
            false => {
                format!("'{}' holds for {}: the {with} was compared with it.", self.written, whom.join("; "))
            }
        }
    }
}

fn is_judged(change: &Change, changes: &Changes) -> bool {
    use crate::schema::change::ChangeBasis::{Samples, TwoRuns};
    let (TwoRuns { needed, .. } | Samples { needed, .. }) = &changes.basis;
    change.low.is_some() && change.n.iter().all(|n| n >= needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::change::{ChangeBasis, SCHEMA};
    use crate::schema::finding::{Evidence, Found};
    use crate::schema::units::Percent;

    fn change(candidate: &str, [low, ratio, high]: [f64; 3]) -> Change {
        Change {
            finding: Found::Worse,
            scenario: "mail".into(),
            metric: "transactions.rate".into(),
            dimensions: String::new(),
            candidate: candidate.into(),
            ratio,
            low: Some(low),
            high: Some(high),
            n: [12, 12],
            evidence: Evidence::Rounds { p: Some(0.01), smallest: None, rounds_to_equivalent: None },
        }
    }

    fn changes() -> Changes {
        Changes {
            schema: SCHEMA,
            basis: ChangeBasis::TwoRuns { needed: 6, alpha: 0.05, controls: Vec::new(), drift: None },
            margin: Percent(3.0),
            differences: Vec::new(),
            findings: vec![change("ext4, in a hurry", [0.85, 0.90, 0.94]), change("xfs", [1.1, 1.2, 1.3])],
            controls: Vec::new(),
            missing: Vec::new(),
        }
    }

    fn holds(text: &str) -> usize {
        text.parse::<Condition>().expect(text).holds(&changes()).expect(text).len()
    }

    #[test]
    fn the_near_end_of_the_interval_is_compared_unless_the_estimate_is_asked_for() {
        assert_eq!([holds("worse > 5%"), holds("worse > 7%"), holds("worse>7% by estimate")], [1, 0, 1]);
        assert_eq!([holds("better > 9%"), holds("better > 10.1%"), holds("different > 0%")], [1, 0, 2]);
    }

    #[test]
    fn it_may_be_about_one_metric_and_one_candidate_whose_label_has_any_words() {
        assert_eq!(holds("worse > 5% in transactions.rate for ext4, in a hurry"), 1);
        assert_eq!(holds("worse > 5% for xfs"), 0);
        let refused = |text: &str| text.parse::<Condition>().expect(text).holds(&changes()).unwrap_err();
        assert!(refused("worse > 5% for xsf").contains("did you mean 'xfs'?"));
        assert!(refused("worse > 5% in transaction.rate").contains("did you mean 'transactions.rate'?"));
    }

    #[test]
    fn of_a_control_it_says_that_nothing_is_found() {
        let controls = vec!["xfs".to_owned()];
        let basis = ChangeBasis::TwoRuns { needed: 6, alpha: 0.05, controls, drift: None };
        let mut beside = Changes { basis, ..changes() };
        beside.findings.truncate(1);
        let asked: Condition = "worse > 5% for xfs".parse().expect("a condition");
        assert!(asked.holds(&beside).unwrap_err().contains("xfs is a control"));
    }

    #[test]
    fn what_cannot_be_judged_does_not_pass() {
        let mut few = changes();
        few.findings[0].n = [12, 5];
        let worse: Condition = "worse > 5%".parse().expect("a condition");
        assert!(worse.holds(&few).unwrap_err().contains("cannot be judged"));
        few.findings.clear();
        assert!(worse.holds(&few).unwrap_err().contains("about nothing"));
    }

    #[test]
    fn what_is_no_condition_is_refused_with_what_to_write() {
        for text in [
            "",
            "worse",
            "worse 5%",
            "worse > 5",
            "slower > 5%",
            "worse > -1%",
            "worse > 5% in",
            "worse > 5% by luck",
            "worse > NaN%",
        ] {
            assert!(text.parse::<Condition>().is_err(), "{text}");
        }
    }
}
