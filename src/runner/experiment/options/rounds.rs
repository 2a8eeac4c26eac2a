//! Options of the number of trials, of their judgement, and of their amount of work.

use clap::value_parser;

use super::{Setting, flag, set};
use crate::exit::Failure;
use crate::runner::experiment::scaled::Given;
use crate::runner::experiment::{MARGIN, RoundsAsked, needs, profiles};
use crate::runner::plan::values;
use crate::schema::needs::Needs;
use crate::schema::plan::{Candidate, FIRST_LOOK, Plan, Rounds};
use crate::schema::shard::Shard;
use crate::schema::units::{Percent, Scale, Span};

pub static TABLE: &[Setting] = &[
    Setting {
        name: "rounds",
        flag: Some(|| {
            let help = "Number of rounds; in each round, every candidate has one trial of each workload. With `auto`, \
                        fsderby judges the results after planned numbers of rounds, and stops when every pair of \
                        candidates is decided or after the last planned number";
            flag("rounds", "rounds", "N|auto", help).value_parser(value_parser!(RoundsAsked))
        }),
        resumes: true,
        read: |flags, to| flags.replace("rounds", &mut to.rounds),
        stored: |plan, to| {
            to.rounds = Some(match plan.rounds {
                Rounds::Exactly(n) => RoundsAsked::Exactly(n),
                Rounds::AtLeast(_) | Rounds::Auto => RoundsAsked::Auto,
            });
        },
        printed: |plan| {
            vec![match plan.rounds {
                Rounds::Exactly(n) => format!("--rounds {n}"),
                Rounds::AtLeast(_) | Rounds::Auto => "--rounds auto".to_owned(),
            }]
        },
        ..Setting::KEY
    },
    Setting {
        name: "at_least",
        flag: Some(|| {
            let help = "With `--rounds auto`: the minimum number of rounds";
            flag("at_least", "at-least", "N", help).value_parser(value_parser!(u32).range(1..))
        }),
        read: |flags, to| flags.replace("at_least", &mut to.at_least),
        stored: |plan, to| to.at_least = at_least(plan),
        printed: |plan| at_least(plan).map(|n| format!("--at-least {n}")).into_iter().collect(),
        ..Setting::KEY
    },
    Setting {
        name: "budget",
        flag: Some(|| {
            let help = "With `--rounds auto`: run as many complete rounds as fit into this time";
            flag("budget", "budget", "BUDGET", help).value_parser(value_parser!(Span))
        }),
        resumes: true,
        read: |flags, to| flags.replace("budget", &mut to.budget),
        planned: |from, plan| {
            let budget = from.budget.filter(|_| at_least(plan).is_some());
            set(&mut plan.budget, budget)
        },
        stored: |plan, to| to.budget = plan.budget,
        printed: |plan| {
            let budget = plan.budget.filter(|_| at_least(plan).is_some());
            budget.map(|budget| format!("--budget {budget}")).into_iter().collect()
        },
        ..Setting::KEY
    },
    Setting {
        name: "margin",
        flag: Some(|| {
            let help = "Smallest difference of interest, such as 3%; filesystems that differ by less count as equivalent";
            flag("margin", "margin", "MARGIN", help).value_parser(value_parser!(Percent))
        }),
        read: |flags, to| flags.replace("margin", &mut to.margin),
        planned: |from, plan| set(&mut plan.margin, from.margin.unwrap_or(MARGIN)),
        stored: |plan, to| to.margin = Some(plan.margin),
        printed: |plan| vec![format!("--margin {}", plan.margin)],
        ..Setting::KEY
    },
    Setting {
        name: "guard",
        flag: Some(|| {
            let help = "Let the first filesystem take part twice, under two names; the run is void if the two entries \
                        differ (A/A check). Default: on in runs of ten or more rounds and on claimed disks; \
                        `--guard=false` turns it off";
            flag("guard", "guard", "BOOL", help)
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .value_parser(value_parser!(bool))
        }),
        read: |flags, to| flags.replace("guard", &mut to.guard),
        stored: |plan, to| to.guard = Some(plan.guard.is_some()),
        printed: |plan| match (&plan.guard, is_guarded_by_default(plan)) {
            (Some(_), false) => vec!["--guard".to_owned()],
            (None, true) => vec!["--guard=false".to_owned()],
            _ => Vec::new(),
        },
        ..Setting::KEY
    },
    Setting {
        name: "needs",
        flag: Some(|| {
            let help = "Profile of needs (weights and requirements), such as mail-server; the report recommends a \
                        filesystem for it; replaces the experiment's needs";
            flag("needs", "needs", "PROFILE", help)
        }),
        read: |flags, to| {
            if let Some(profile) = flags.one("needs") {
                let named = Needs { profile: Some(profile), ..Needs::default() };
                to.needs = Some(needs::whole(named)?);
            }
            Ok(())
        },
        planned: |from, plan| set(&mut plan.needs, from.whole_needs()?),
        stored: |plan, to| to.needs.clone_from(&plan.needs),
        printed: |plan| {
            let profile = plan.needs.as_ref().and_then(profiles::equal_to);
            profile.map(|profile| format!("--needs {profile}")).into_iter().collect()
        },
        ..Setting::KEY
    },
    Setting {
        name: "seed",
        flag: Some(|| {
            let help = "Seed of the trial order and of the workloads' random choices";
            flag("seed", "seed", "SEED", help).value_parser(value_parser!(u64))
        }),
        read: |flags, to| {
            if let Some(seed) = flags.one("seed") {
                (to.seed, to.workload_seed) = (Some(seed), None);
            }
            Ok(())
        },
        stored: |plan, to| (to.seed, to.workload_seed) = (Some(plan.plan_seed), Some(plan.workload_seed)),
        printed: |plan| vec![format!("--seed {}", plan.plan_seed)],
        ..Setting::KEY
    },
    Setting {
        name: "shard",
        is_key: false,
        flag: Some(|| {
            let help = "Carry out only share I of N of the trials, such as 2/4, so that N machines share the \
                        work; then join their runs by fsderby merge";
            flag("shard", "shard", "I/N", help).value_parser(value_parser!(Shard))
        }),
        // Another share of the same trials.
        read: |flags, to| {
            if let Some(asked) = flags.one::<Shard>("shard") {
                let due = to.shard.take().map(|shard| shard.due).unwrap_or_default();
                to.shard = Some(Shard { due, ..asked });
            }
            Ok(())
        },
        planned: |from, plan| match (&from.shard, from.seed) {
            (Some(shard), None) => Err(Failure::usage(format!(
                "shard {shard}: the experiment has no seed, so every shard would draw another\n  try: --seed 1 in every \
                 shard, or the plan.toml of fsderby slurm"
            ))),
            (shard, _) => set(&mut plan.shard, shard.clone()),
        },
        stored: |plan, to| to.shard.clone_from(&plan.shard),
        printed: |plan| plan.shard.iter().map(|shard| format!("--shard {shard}")).collect(),
        ..Setting::KEY
    },
    Setting {
        name: "scale",
        flag: Some(|| {
            let help = "Scale the workload: 1/16. A scale below 1 also shrinks the experiment's memory, and the \
                        experiment's volume if the initial state fills a share of the volume; values of --memory and \
                        --size are not scaled";
            flag("scale", "scale", "SCALE", help).value_parser(value_parser!(Scale))
        }),
        // After all that it scales. A plan has the scaled values, and a change of it is named first.
        read: |flags, to| match flags.one::<Scale>("scale") {
            Some(scale) => {
                let given = Given { memory: flags.is_given("memory"), size: flags.is_given("size") };
                Ok(to.take_scale(scale, given)?)
            }
            None => Ok(()),
        },
        ..Setting::KEY
    },
];

fn at_least(plan: &Plan) -> Option<u32> {
    match plan.rounds {
        Rounds::AtLeast(n) => Some(n),
        Rounds::Exactly(_) | Rounds::Auto => None,
    }
}

/// From ten rounds on, and on claimed disks.
fn is_guarded_by_default(plan: &Plan) -> bool {
    let is_copy = |c: &&Candidate| plan.guard.as_ref().is_some_and(|twice| twice.copy == c.label);
    let candidates = plan.candidates.iter().filter(|candidate| !is_copy(candidate)).count();
    values::asked(&plan.testbed).is_ok_and(|place| place.is_always_guarded())
        || (plan.rounds.at_least() >= FIRST_LOOK && candidates > 1)
}
