//! `--fail-if "worse > 5% in transactions.rate for alderfs"`: the condition under which a comparison of two runs fails a script.

use std::str::FromStr;

use crate::schema::change::ChangeBasis::{Samples, TwoRuns};
use crate::schema::change::{Change, Changes};
use crate::schema::finding::Found;
use crate::text::names;

/// The syntax of a condition, for messages.
pub const WRITTEN: &str =
    "\"worse > 5%\" (worse, better or different), optionally followed by: by estimate, in METRIC, for LABEL";

#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    side: Side,
    /// The threshold as a ratio: 1.05 for 5 %.
    beyond: f64,
    /// Whether the ratio is compared instead of the interval end nearest to 1.
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
        let wrong = || format!("'{text}' is not a condition; write {WRITTEN}");
        // A label may contain any word, so a label comes last in a condition.
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
            return Err(format!("'{text}': the threshold must be between 0% and 10000%"));
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

/// Splits the text at this word, if it stands alone.
fn cut(text: &str, word: &str) -> (String, Option<String>) {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.iter().position(|one| *one == word) {
        None => (words.join(" "), None),
        Some(at) => (words[..at].join(" "), Some(words[at + 1..].join(" "))),
    }
}

/// The evidence that a run will offer, known before it starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgeable {
    /// Names of the candidates.
    pub candidates: Vec<String>,
    /// Names of the headline metrics.
    pub headlines: Vec<String>,
    /// Headline metrics that are times, on a testbed whose times do not count.
    pub timeless: Vec<String>,
    pub evidence: Vec<Evidenced>,
}

/// The most evidence that a candidate can have.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidenced {
    pub candidate: String,
    /// Rounds, or samples of a modelled disk; `None` if unknown.
    pub most: Option<u32>,
    /// Rounds or samples needed for an interval.
    pub needed: u32,
    /// Whether more rounds add evidence; false if every round has the same sample.
    pub grows: bool,
}

impl Condition {
    /// Whether `fsderby compare` can judge this condition on such a run.
    ///
    /// # Errors
    /// If `fsderby compare` cannot judge it, the error says why and what to try. Otherwise a run of hours would end in a refusal.
    pub fn can_be_judged(&self, run: &Judgeable) -> Result<(), String> {
        let known = |what, known: &[String], asked: &Option<String>| match asked {
            Some(asked) if !known.contains(asked) => {
                Err(format!("--fail-if: {}", names::unknown(what, asked, known.iter().map(String::as_str))))
            }
            _ => Ok(()),
        };
        let condition = &self.written;
        let cannot = |why: String| Err(format!("'{condition}' could never be judged: {why}"));
        if let Some(metric) = self.metric.as_ref().filter(|metric| run.timeless.contains(metric)) {
            return cannot(format!(
                "{metric} is a time, and times on an emulated CPU are not judged\n  try: --on model:DISK, or a counter from \
                 fsderby list metrics"
            ));
        }
        known("headline metric", &run.headlines, &self.metric)?;
        known("candidate", &run.candidates, &self.label)?;
        let is_asked = |one: &&Evidenced| self.label.as_ref().is_none_or(|label| one.candidate == *label);
        let is_short = |one: &&Evidenced| {
            // An estimate is the difference of two means, so one round or sample is enough.
            let needed = match (self.by_estimate, one.grows) {
                (true, true) => one.needed.min(2),
                (true, false) => 1,
                (false, _) => one.needed,
            };
            one.most.is_some_and(|most| most < needed)
        };
        match run.evidence.iter().filter(is_asked).find(is_short) {
            None => Ok(()),
            Some(Evidenced { candidate, needed, grows: false, .. }) => cannot(format!(
                "with samples=off every round of {candidate} has the same sample of the disk, but an interval needs \
                 {needed} samples\n  try: without samples=off and with --rounds {needed}, or '{} by estimate'",
                self.side_and_threshold()
            )),
            Some(Evidenced { candidate, most, needed, .. }) => {
                let most = most.unwrap_or_default();
                let needed = if self.by_estimate { 2 } else { *needed };
                let rounds = if most == 1 { "round" } else { "rounds" };
                cannot(format!(
                    "{candidate} has {most} {rounds}, but at least {needed} are needed\n  try: --rounds {needed}"
                ))
            }
        }
    }

    /// The first part of the condition: `worse > 5%`.
    fn side_and_threshold(&self) -> String {
        let head = [" by ", " in ", " for "]
            .iter()
            .fold(self.written.as_str(), |head, word| head.split_once(word).map_or(head, |(head, _)| head));
        head.trim().to_owned()
    }

    /// The findings that meet the condition: a difference was found, and its interval lies beyond the threshold. With "by
    /// estimate", the ratio must lie beyond the threshold, whatever was found.
    ///
    /// # Errors
    /// If the condition names nothing that was compared, or if there are too few rounds to judge it: a script would otherwise take
    /// this for success.
    pub fn holds<'c>(&self, changes: &'c Changes) -> Result<Vec<&'c Change>, String> {
        let about = self.about(changes)?;
        if !self.by_estimate
            && let Some(open) = about.iter().find(|change| !is_judged(change, changes))
        {
            let (few, needed) = (open.n[0].min(open.n[1]), needed(changes));
            let (what, more) = match (&changes.basis, few) {
                (Samples { .. }, 0 | 1) => {
                    ("sample of the disk", "repeat both runs without samples=off, with --rounds")
                }
                (Samples { .. }, _) => ("samples of the disk", "repeat both runs with --rounds"),
                (TwoRuns { .. }, _) => ("rounds", "repeat both runs with --rounds"),
            };
            return Err(format!(
                "'{condition}' cannot be judged: {candidate} has no interval, because {few} {what} in both runs are too few\n  \
                 try: {more} {needed}, or the condition with 'by estimate'",
                condition = self.written,
                candidate = open.candidate,
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
                "'{condition}': {label} is a control, with which the other candidates are compared, so it has no findings\n  \
                 try: --control with another candidate",
                condition = self.written
            ));
        }
        known("candidate", |change| &change.candidate, &self.label)?;
        let is_asked = |change: &&Change| {
            self.metric.as_ref().is_none_or(|metric| change.metric == *metric)
                && self.label.as_ref().is_none_or(|label| change.candidate == *label)
        };
        let about: Vec<&Change> = changes.findings.iter().filter(is_asked).collect();
        match about.is_empty() {
            true => {
                let condition = &self.written;
                Err(format!("'{condition}' matches no candidate and metric that were compared"))
            }
            false => Ok(about),
        }
    }

    fn is_met(&self, change: &Change) -> bool {
        self.is_beyond(change) && (self.by_estimate || change.finding != Found::CannotTell)
    }

    /// Whether the interval lies beyond the threshold; with "by estimate", whether the ratio lies beyond the threshold.
    fn is_beyond(&self, change: &Change) -> bool {
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

    /// The comparisons whose intervals lie partly beyond the threshold.
    fn not_ruled_out<'c>(&self, changes: &'c Changes) -> Result<Vec<&'c Change>, String> {
        let reaches = |change: &&Change| {
            let (low, high) = change.low.zip(change.high).unwrap_or((change.ratio, change.ratio));
            let (better, worse) = (high > self.beyond, low < 1.0 / self.beyond);
            let is_reached = match self.side {
                Side::Better => better,
                Side::Worse => worse,
                Side::Different => better || worse,
            };
            is_reached && !self.is_beyond(change)
        };
        Ok(self.about(changes)?.into_iter().filter(reaches).collect())
    }

    /// States whether the condition holds, for which findings, and which quantity was compared with the threshold.
    ///
    /// # Errors
    /// The same errors as [`holds`](Self::holds).
    pub fn said(&self, changes: &Changes) -> Result<String, String> {
        let with = if self.by_estimate { "ratio" } else { "end nearest to 1 of each interval" };
        let list = |these: Vec<&Change>| {
            let one = |change: &&Change| {
                format!("{} in {} of {}", change.candidate, change.metric, change.scenario)
            };
            these.iter().map(one).collect::<Vec<_>>().join("; ")
        };
        let holds = self.holds(changes)?;
        let fails = holds.is_empty() && !self.by_estimate;
        let is_open = |change: &&Change| self.is_beyond(change) && !self.is_met(change);
        let open: Vec<&Change> = self.about(changes)?.into_iter().filter(is_open).collect();
        let condition = &self.written;
        let mut said = match holds.is_empty() {
            true => format!("'{condition}' does not hold. The threshold was compared with the {with}."),
            false => {
                format!(
                    "'{condition}' holds for {findings}. The threshold was compared with the {with}.",
                    findings = list(holds)
                )
            }
        };
        let (all, possible) = (self.about(changes)?.len(), self.not_ruled_out(changes)?.len());
        if fails && possible > 0 {
            said += &format!(
                " But the runs do not rule the condition out in {possible} of {all} comparisons: their intervals \
                 reach beyond the threshold. More rounds make intervals shorter."
            );
        }
        if !open.is_empty() {
            said += &format!(
                " These lie beyond the threshold, but no difference was found, for the reason given in the report: {these}.",
                these = list(open)
            );
        }
        Ok(said)
    }
}

fn is_judged(change: &Change, changes: &Changes) -> bool {
    change.low.is_some() && change.n.iter().all(|n| *n >= needed(changes))
}

/// Rounds or samples needed for an interval.
fn needed(changes: &Changes) -> u32 {
    let (TwoRuns { needed, .. } | Samples { needed, .. }) = &changes.basis;
    *needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::change::SCHEMA;
    use crate::schema::finding::Evidence;
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
            basis: TwoRuns { needed: 6, alpha: 0.05, controls: Vec::new(), drift: None },
            margin: Percent(3.0),
            differences: Vec::new(),
            findings: vec![
                change("ext4, in a hurry", [0.85, 0.90, 0.94]),
                Change { finding: Found::Better, ..change("xfs", [1.1, 1.2, 1.3]) },
            ],
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

    /// Model error or instruction cost can withhold a result that every sample shows.
    #[test]
    fn what_is_no_finding_does_not_meet_it_and_is_named() {
        let mut changes = changes();
        changes.findings[0].finding = Found::CannotTell;
        let said = |text: &str| text.parse::<Condition>().expect(text).said(&changes).expect(text);
        assert_eq!(
            said("worse > 5%"),
            "'worse > 5%' does not hold. The threshold was compared with the end nearest to 1 of each interval. These \
             lie beyond the threshold, but no difference was found, for the reason given in the report: ext4, in a \
             hurry in transactions.rate of mail."
        );
        assert!(said("worse > 18%").ends_with("nearest to 1 of each interval."));
        assert!(
            said("worse > 7%").contains(
                "nearest to 1 of each interval. But the runs do not rule the condition out in 1 of 2"
            )
        );
        assert!(
            said("worse > 5% by estimate").starts_with("'worse > 5% by estimate' holds for ext4, in a hurry")
        );
    }

    /// A threshold below the margin is compared with the interval.
    #[test]
    fn a_threshold_below_the_margin_is_met_by_what_is_equivalent() {
        let mut changes = changes();
        changes.findings = vec![Change { finding: Found::Equivalent, ..change("xfs", [0.975, 0.98, 0.985]) }];
        let holds = |text: &str| text.parse::<Condition>().expect(text).holds(&changes).expect(text).len();
        assert_eq!([holds("worse > 1%"), holds("worse > 2%")], [1, 0]);
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
        let basis = TwoRuns { needed: 6, alpha: 0.05, controls, drift: None };
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
        assert!(worse.holds(&few).unwrap_err().contains("matches no candidate and metric"));
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

    #[test]
    fn of_one_sample_it_says_that_more_rounds_bring_no_other() {
        let mut one = changes();
        one.basis = Samples { needed: 13 };
        one.findings[0].n = [1, 1];
        let refused = "worse > 5%".parse::<Condition>().expect("a condition").holds(&one).unwrap_err();
        assert!(refused.contains("without samples=off, with --rounds 13"), "{refused}");
        one.findings[0].n = [12, 12];
        let refused = "worse > 5%".parse::<Condition>().expect("a condition").holds(&one).unwrap_err();
        assert!(refused.contains("try: repeat both runs with --rounds 13"), "{refused}");
    }

    fn judgeable(most: Option<u32>, needed: u32, grows: bool) -> Judgeable {
        let [mine, steady] = ["ext4, in a hurry", "xfs"].map(str::to_owned);
        Judgeable {
            candidates: vec![mine.clone(), steady.clone()],
            headlines: vec!["transactions.rate".into(), "requests".into()],
            timeless: vec![],
            evidence: vec![
                Evidenced { candidate: mine, most, needed, grows },
                Evidenced { candidate: steady, most: Some(20), needed, grows: true },
            ],
        }
    }

    fn before(text: &str, run: &Judgeable) -> String {
        text.parse::<Condition>().expect(text).can_be_judged(run).err().unwrap_or_default()
    }

    #[test]
    fn what_could_never_be_judged_is_refused_before_the_run_with_what_to_do() {
        let off = judgeable(Some(1), 13, false);
        let refused = before("worse > 5% in transactions.rate", &off);
        assert!(
            refused.contains("without samples=off and with --rounds 13, or 'worse > 5% by estimate'"),
            "{refused}"
        );
        assert_eq!(before("worse > 5% by estimate", &off), "", "one sample gives an estimate");
        assert_eq!(before("worse > 5% for xfs", &off), "", "the other one has enough");
        let few = judgeable(Some(5), 6, true);
        assert!(
            before("worse > 5%", &few).contains("has 5 rounds, but at least 6 are needed\n  try: --rounds 6")
        );
        assert_eq!(before("worse > 5% by estimate", &few), "");
        assert!(
            before("worse > 5% by estimate", &judgeable(Some(1), 6, true))
                .contains("1 round, but at least 2 are needed")
        );
        assert_eq!(
            before("worse > 5%", &judgeable(None, 6, true)),
            "",
            "nobody knows how many fit into a budget"
        );
        assert_eq!(before("worse > 5%", &judgeable(Some(6), 6, true)), "");
    }

    #[test]
    fn what_it_is_about_must_be_in_the_plan() {
        let mut run = judgeable(Some(6), 6, true);
        assert!(before("worse > 5% in transaction.rate", &run).contains("did you mean 'transactions.rate'?"));
        assert!(before("worse > 5% for xsf", &run).contains("did you mean 'xfs'?"));
        run.timeless = vec!["transactions.rate".into()];
        run.headlines = vec!["requests".into()];
        assert!(
            before("worse > 5% in transactions.rate", &run)
                .contains("times on an emulated CPU are not judged")
        );
        assert_eq!(before("worse > 5% in requests", &run), "");
    }
}
