//! A stored plan read back as an experiment, which expands to the same plan: `fsderby run results/…/plan.toml`.

use super::experiment::{ALL, Experiment, FilesystemEntry, RoundsAsked};
use crate::schema::plan::{Candidate, Plan, Rounds};
use crate::schema::setup::Variant;
use crate::testbeds;

impl From<Plan> for Experiment {
    fn from(plan: Plan) -> Self {
        let (rounds, at_least) = match plan.rounds {
            Rounds::Exactly(n) => (RoundsAsked::Exactly(n), None),
            Rounds::AtLeast(n) => (RoundsAsked::Auto, Some(n)),
        };
        // Where no filesystem is made, the one row is what was there, and will be what is.
        let is_made = testbeds::parse(&plan.testbed).is_ok_and(|testbed| testbed.traits().makes_filesystem);
        let (filesystems, filesystem) = match is_made {
            true => (Vec::new(), plan.candidates.into_iter().map(entry).collect()),
            false => (vec![ALL.to_owned()], Vec::new()),
        };
        Experiment {
            name: plan.name,
            analysis: plan.analysis,
            on: Some(plan.testbed),
            size: Some(plan.size),
            memory: plan.memory,
            image: Some(plan.image),
            cold: Some(plan.cold),
            power_cut: plan.power_cut,
            filesystems,
            filesystem,
            rounds: Some(rounds),
            at_least,
            budget: plan.budget,
            margin: Some(plan.margin),
            seed: Some(plan.plan_seed),
            workload_seed: Some(plan.workload_seed),
            planned: plan.workloads,
            ..Experiment::default()
        }
    }
}

fn entry(candidate: Candidate) -> FilesystemEntry {
    let Candidate { label, kind, variant: Variant { mkfs, mount, conversion } } = candidate;
    FilesystemEntry { kind, label: Some(label), mkfs, mount, conversion }
}
