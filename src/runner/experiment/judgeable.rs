//! The evidence that a planned run will offer to a comparison, for `--fail-if`.

use crate::analysis::condition::{Evidenced, Judgeable};
use crate::analysis::ensemble::SAMPLES_NEEDED;
use crate::analysis::metrics;
use crate::analysis::rounds::FEWEST;
use crate::runner::plan::resolved::Resolved;
use crate::schema::declared::{Declared, Section};
use crate::schema::plan::{Candidate, Rounds};

/// The candidates and metrics that `--fail-if` can judge. `is_timeless` says that times do not count, as on an emulated CPU.
pub fn of(plan: &Resolved<'_>, is_timeless: bool) -> Judgeable {
    let is_copy = |c: &Candidate| plan.guard.as_ref().is_some_and(|twice| twice.copy == c.label);
    let candidates: Vec<&Candidate> = plan.candidates.iter().filter(|c| !is_copy(c)).collect();
    let measured = plan.scenarios.iter().flat_map(|s| s.works()).filter(|work| work.measured);
    let engines = measured.filter_map(|stage| Some(plan.work(&stage.work)?.engine));
    let headlines: Vec<&'static Declared> =
        engines.flat_map(|engine| engine.declared()).filter(|d| d.section == Section::Headline).collect();
    let (times, counts): (Vec<_>, Vec<_>) = headlines.iter().partition(|d| is_timeless && d.of.is_time());
    let standing_in = if counts.is_empty() { metrics::standing_in() } else { Vec::new() };
    let name = |declared: &&'static Declared| declared.name.to_owned();
    Judgeable {
        candidates: candidates.iter().map(|c| c.label.clone()).collect(),
        headlines: counts.iter().map(name).chain(standing_in.iter().map(name)).collect(),
        timeless: times.iter().map(name).collect(),
        evidence: candidates.into_iter().map(|candidate| evidence(plan, candidate)).collect(),
    }
}

fn evidence(plan: &Resolved<'_>, candidate: &Candidate) -> Evidenced {
    let place = plan.of_candidate(candidate).place;
    let rounds = match (plan.rounds, plan.budget) {
        (Rounds::Auto, _) | (Rounds::AtLeast(_), Some(_)) => None,
        (Rounds::Exactly(n) | Rounds::AtLeast(n), _) => Some(n),
    };
    let candidate = candidate.label.clone();
    match (place.scatters(), place.samples()) {
        (true, _) => Evidenced { candidate, most: rounds, needed: FEWEST, grows: true },
        (false, true) => Evidenced { candidate, most: rounds, needed: SAMPLES_NEEDED as u32, grows: true },
        (false, false) => Evidenced { candidate, most: Some(1), needed: SAMPLES_NEEDED as u32, grows: false },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::condition::Condition;
    use crate::runner::experiment::Experiment;

    /// The message before a run with these keys, if any.
    fn refused(condition: &str, keys: &str) -> String {
        let text = format!("filesystems = ['ext4', 'xfs']\nworkloads = ['postmark-quick']\n{keys}");
        let experiment = Experiment::parse(&text, "test").unwrap();
        let plan = experiment.plan(experiment.on.clone().unwrap_or_else(|| "loop".into()), 7).unwrap();
        let condition: Condition = condition.parse().unwrap();
        condition.can_be_judged(&of(&Resolved::of(&plan).unwrap(), false)).err().unwrap_or_default()
    }

    #[test]
    fn one_sample_too_few_samples_and_too_few_rounds_are_refused_and_enough_are_not() {
        let off = refused("worse > 5%", "on = 'model:hdd-16tb,samples=off'\nrounds = 13");
        assert!(off.contains("samples=off every round of ext4 has the same sample"), "{off}");
        assert!(refused("worse > 5%", "on = 'model:hdd-16tb'\nrounds = 12").contains("try: --rounds 13"));
        assert!(refused("worse > 5%", "rounds = 5").contains("ext4 has 5 rounds, but at least 6 are needed"));
        assert!(
            refused("worse > 5% by estimate", "rounds = 1").contains("1 round, but at least 2 are needed")
        );
        for enough in
            ["on = 'model:hdd-16tb'", "rounds = 6", "rounds = 'auto'", "at_least = 1\nbudget = '5m'"]
        {
            assert_eq!(refused("worse > 5% in transactions.rate for xfs", enough), "", "{enough}");
        }
        assert_eq!(refused("worse > 5% by estimate", "on = 'model:hdd-16tb,samples=off'\nrounds = 1"), "");
    }

    #[test]
    fn one_candidate_that_cannot_be_judged_is_named_among_others() {
        let mixed = "rounds = 13\n[cross]\non = ['model:hdd-16tb', 'model:ssd-sata,samples=off']";
        let refused_ = refused("worse > 5%", mixed);
        assert!(refused_.contains("ext4, on ssd-sata,samples=off"), "{refused_}");
    }

    #[test]
    fn where_no_time_counts_the_counts_that_stand_in_are_what_is_judged() {
        let text = "filesystems = ['ext4', 'xfs']\nworkloads = ['postmark-quick']\nrounds = 6";
        let plan = Experiment::parse(text, "test").unwrap().plan("loop".into(), 7).unwrap();
        let [timed, timeless] = [false, true].map(|timeless| of(&Resolved::of(&plan).unwrap(), timeless));
        assert_eq!((timed.headlines, timed.timeless), (vec!["transactions.rate".to_owned()], Vec::new()));
        assert_eq!(timeless.timeless, ["transactions.rate"]);
        assert_eq!(timeless.headlines.len(), metrics::standing_in().len());
    }
}
