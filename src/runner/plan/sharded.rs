//! Whether a plan can be split into shards.

use super::extras;
use super::resolved::Resolved;
use super::shard::{Owner, named, trial};
use crate::exit::Failure;
use crate::schema::plan::{Rounds, Trial};

/// Refuses a shard that this plan cannot have.
///
/// # Errors
/// States why, and what to write.
pub fn check(plan: &Resolved<'_>) -> Result<(), Failure> {
    let Some(shard) = &plan.shard else { return Ok(()) };
    let refused = |text: String| Err(Failure::usage(format!("shard {shard}: {text}")));
    if !(1..=shard.of).contains(&shard.number) {
        return refused(format!("shards are numbered 1/{of} to {of}/{of}", of = shard.of));
    }
    if let Some(unknown) = shard.due.iter().find(|name| trial(plan.plan, name).is_none()) {
        return refused(format!(
            "the plan has no trial {unknown}\n  try: the file that fsderby merge --next wrote"
        ));
    }
    if plan.share.named() < shard.due.len() {
        return refused("a trial is named twice\n  try: the file that fsderby merge --next wrote".into());
    }
    let Rounds::Exactly(rounds) = plan.rounds else {
        let text = "the number of rounds depends on results or time, which a shard does not know of the other shards";
        return refused(format!("{text}\n  try: --rounds N, without --budget"));
    };
    let (most, what) = match plan.share.in_virtual_time() {
        _ if plan.share.is_of_named() => (shard.due.len(), "trials due"),
        true => (trials(plan, rounds), "trials"),
        false => (rounds as usize, "rounds, and in real time a round stays on one machine"),
    };
    if shard.of as usize > most {
        return refused(format!(
            "the plan has only {most} {what}\n  try: at most {most} shards, --shard 1/{most}"
        ));
    }
    Ok(())
}

/// The trials that a run of this plan carries out, as far as the plan alone determines them.
pub fn share<'p>(plan: &Resolved<'p>) -> Vec<Trial<'p>> {
    of_all(plan).filter(|trial| plan.share.has(trial)).collect()
}

/// The number of trials of each of so many shards.
pub fn counts(plan: &Resolved<'_>, of: u32) -> Vec<usize> {
    let (mut counts, mut of_every) = (vec![0; of as usize], 0);
    for trial in of_all(plan) {
        match plan.share.owner(&trial, of) {
            Owner::Every => of_every += 1,
            Owner::One(owner) => counts[owner as usize] += 1,
            Owner::Nobody => {}
        }
    }
    counts.into_iter().map(|own| own + of_every).collect()
}

/// The trials of the whole plan, or those that it names.
fn of_all<'p>(plan: &Resolved<'p>) -> impl Iterator<Item = Trial<'p>> + use<'p> {
    let (of_plan, rounds) = (plan.plan, plan.rounds.at_least());
    let extras = if extras::are_due(rounds) { extras::of_cells(plan) } else { Vec::new() };
    let is_of_named = plan.share.is_of_named();
    let by_plan =
        of_plan.integrity_checks().chain((1..=rounds).flat_map(|round| of_plan.round(round))).chain(extras);
    named(of_plan).into_iter().filter(move |_| is_of_named).chain(by_plan.filter(move |_| !is_of_named))
}

/// The number of trials that follow from the plan alone.
pub fn trials(plan: &Resolved<'_>, rounds: u32) -> usize {
    let cells = plan.candidates.len() * plan.scenarios.len();
    let extras = if extras::are_due(rounds) { extras::of_cells(plan).len() } else { 0 };
    cells * (rounds as usize + 1) + extras
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::experiment::Experiment;
    use crate::schema::plan::Plan;

    fn plan(keys: &str, shard: &str) -> Result<Plan, Failure> {
        let text =
            format!("filesystems = ['ext4', 'xfs']\nworkloads = ['postmark-quick', 'maildir-quick']\n{keys}");
        let mut experiment = Experiment::parse(&text, "test").unwrap();
        experiment.shard = shard.parse().ok();
        experiment.plan(experiment.on.clone().unwrap_or_else(|| "loop".into()), 7)
    }

    /// The names of a shard's trials.
    fn share(keys: &str, shard: &str) -> Vec<String> {
        let plan = plan(keys, shard).unwrap();
        let resolved = Resolved::of(&plan).unwrap();
        let names: Vec<String> = super::share(&resolved).iter().map(Trial::name).collect();
        let shard = plan.shard.as_ref().unwrap();
        assert_eq!(counts(&resolved, shard.of)[shard.number as usize - 1], names.len(), "{shard}");
        names
    }

    const MODEL: &str = "on = 'model:ssd-sata'\nrounds = 13\nseed = 7";

    #[test]
    fn in_virtual_time_each_trial_is_in_one_shard_and_shards_are_alike_in_size_and_kind() {
        for of in [1, 2, 3, 4, 7, 92] {
            let shards: Vec<Vec<String>> = (1..=of).map(|n| share(MODEL, &format!("{n}/{of}"))).collect();
            let mut all = shards.concat();
            assert_eq!(all.len(), 4 * 14 + 4 * 9);
            all.sort();
            all.dedup();
            assert_eq!(all.len(), 4 * 14 + 4 * 9, "none twice");
            let sizes = shards.iter().map(Vec::len);
            assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1, "{of}");
        }
        // Four cells in four shards: each has each cell.
        let first = share(MODEL, "1/4");
        let of = |cell: &str| first.iter().filter(|name| name.ends_with(cell)).count();
        for workload in ["postmark-quick", "maildir-quick"] {
            assert!(
                (8..16).contains(&(of(&format!("{workload}/ext4")) + of(&format!("{workload}/xfs")))),
                "{first:?}"
            );
        }
    }

    #[test]
    fn in_real_time_a_round_stays_whole_and_every_shard_checks_its_machine() {
        let second = share("rounds = 5\nseed = 7\nguard = false", "2/2");
        let is_of = |round: &str| second.iter().filter(|name| name.starts_with(round)).count();
        assert_eq!(["integrity/", "r01/", "r02/", "r03/", "r04/", "r05/"].map(is_of), [4, 0, 4, 0, 4, 0]);
    }

    #[test]
    fn what_cannot_be_sharded_is_refused_with_the_reason() {
        let why = |keys: &str, shard: &str| plan(keys, shard).expect_err("it is refused").to_string();
        assert!(why("rounds = 5\nseed = 7", "1/6").contains("only 5 rounds, and in real time a round stays"));
        assert!(why(MODEL, "1/93").contains("only 92 trials"));
        for keys in ["rounds = 'auto'\nseed = 7", "budget = '1h'\nseed = 7"] {
            assert!(why(keys, "1/2").contains("depends on results or time"), "{keys}");
        }
        assert!(why("rounds = 5", "1/2").contains("--seed"), "each shard would draw its own");
    }

    #[test]
    fn named_trials_are_shared_in_their_order_and_must_be_of_the_plan() {
        let mut plan = plan(MODEL, "2/2").unwrap();
        let due = ["dear/maildir-quick/xfs", "integrity/maildir-quick/xfs", "r03/postmark-quick/ext4"];
        plan.shard.as_mut().unwrap().due = due.map(str::to_owned).to_vec();
        let resolved = Resolved::of(&plan).unwrap();
        assert_eq!(check(&resolved).map_err(|e| e.to_string()), Ok(()));
        let has: Vec<bool> = named(&plan).iter().map(|trial| resolved.share.has(trial)).collect();
        assert_eq!(has, [false, true, true]);
        assert_eq!((counts(&resolved, 2), super::share(&resolved).len()), (vec![1, 2], 2));
        plan.shard.as_mut().unwrap().due.push("r03/postmark-quick/ext2".into());
        assert!(
            check(&Resolved::of(&plan).unwrap())
                .unwrap_err()
                .to_string()
                .contains("no trial r03/postmark-quick/ext2")
        );
    }
}
