//! Extra trials on modelled disks, outside the rounds: their purposes, and when they are due.
//!
//! ```text
//! rounds 1 to 13 ─▶ doubled, tripled      disk-model overhead
//!                   reseeded-1 … -5       other workload seeds
//!                   dear, cheap           other instruction costs                              of every cell
//!                └▶ corner…               where a pair that agrees is expected to be worst: known only now
//! ```

use super::floor;
use super::resolved::Resolved;
use crate::analysis::corners::{self, Cornered};
use crate::analysis::ensemble::SAMPLES_NEEDED;
use crate::schema::job::{Purpose, RESEEDED};
use crate::schema::plan::Trial;
use crate::store::Run;

/// Whether extra trials are due after this many rounds. No finding needs extra trials earlier, so a short run saves their time.
pub fn are_due(rounds: u32) -> bool {
    rounds as usize >= SAMPLES_NEEDED
}

/// The extra trials of each cell that the plan alone determines.
pub fn of_cells<'p>(plan: &Resolved<'p>) -> Vec<Trial<'p>> {
    let floor = if plan.floor { floor::trials(plan) } else { Vec::new() };
    floor.into_iter().chain(of_samples(plan)).collect()
}

/// The extra trials with other workload seeds and other instruction costs.
fn of_samples<'p>(plan: &Resolved<'p>) -> Vec<Trial<'p>> {
    let all = || (1..=RESEEDED).map(Purpose::Reseeded).chain([Purpose::Dear, Purpose::Cheap]);
    let is_sampled = |trial: &Trial<'_>| plan.of_candidate(trial.candidate).place.samples();
    let trials = all().flat_map(|purpose| plan.plan.again(purpose));
    let trials: Vec<Trial<'_>> = trials.filter(is_sampled).collect();
    let cells = all().count() * plan.scenarios.len();
    // A stored plan with a single candidate, from before such runs had extra trials, has no floor either.
    if trials.len() > cells || plan.floor { trials } else { Vec::new() }
}

/// The trials at worst corners that findings still need, chosen by the results of the rounds.
pub fn corners(run: &Run) -> Vec<Trial<'_>> {
    let due = corners::of(run);
    let of = |trial: &Trial<'_>, corner: &Cornered| {
        corner.scenario == trial.scenario.label && corner.candidate == trial.candidate.label
    };
    let trial =
        |corner: &Cornered| run.plan.again(Purpose::Corner(corner.point)).find(|trial| of(trial, corner));
    due.iter().filter_map(trial).collect()
}

/// The largest number of trials at worst corners: one corner for each headline metric of each pair in each scenario, with a trial
/// of both candidates.
pub fn most_corners(plan: &Resolved<'_>) -> usize {
    let sampled = plan.candidates.iter().filter(|c| plan.of_candidate(c).place.samples()).count();
    plan.scenarios.len() * sampled * sampled.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::experiment::Experiment;
    use crate::schema::plan::Plan;

    fn trials(plan: &Plan) -> Vec<Trial<'_>> {
        of_cells(&Resolved::of(plan).unwrap())
    }

    fn plan(keys: &str) -> Plan {
        let text = format!("workloads = ['postmark-quick', 'maildir-quick']\nseed = 7\n{keys}");
        let experiment = Experiment::parse(&text, "test").unwrap();
        experiment.plan(experiment.on.clone().unwrap_or_else(|| "loop".into()), 7).unwrap()
    }

    #[test]
    fn every_cell_of_a_sampled_disk_is_tried_with_five_more_seeds_and_at_two_more_costs_of_an_instruction() {
        let model = plan("on = 'model:ssd-sata'\nfilesystems = ['ext4', 'xfs']");
        let resolved = Resolved::of(&model).unwrap();
        let names: Vec<String> = of_cells(&resolved).iter().map(Trial::name).collect();
        assert_eq!(names.len(), 2 * 2 * (2 + 5 + 2), "{names:?}");
        for extra in ["reseeded-5", "dear", "cheap"] {
            assert!(names.contains(&format!("{extra}/maildir-quick/xfs")), "{names:?}");
        }
        let seeds: Vec<u64> = of_cells(&resolved).iter().map(|trial| model.seed_of(trial)).collect();
        let other = seeds.iter().filter(|seed| **seed != model.workload_seed(1)).count();
        assert_eq!(other, 2 * 2 * 5, "all others have the first round's");
        assert_eq!(most_corners(&resolved), 2 * 2);
    }

    #[test]
    fn without_samples_there_are_none_and_a_candidate_alone_has_them_for_another_run() {
        let fixed = plan("on = 'model:ssd-sata,samples=off'\nfilesystems = ['ext4', 'xfs']");
        assert!(trials(&fixed).iter().all(|trial| trial.purpose.server_work() > 1));
        let alone = plan("on = 'model:ssd-sata'\nfilesystems = ['ext4']");
        assert_eq!(trials(&alone).len(), 2 * (2 + 5 + 2));
        assert!(trials(&Plan { floor: false, ..alone }).is_empty(), "as it was stored before");
        assert!(trials(&plan("filesystems = ['ext4', 'xfs']")).is_empty());
        assert!(!are_due(12) && are_due(13));
    }
}
