//! Reads a stored plan back as an experiment that expands to the same plan: `fsderby run results/…/plan.toml`. A plan that no
//! experiment yields was not made by fsderby, and is damage.

use super::entry::FilesystemEntry;
use super::experiment::{ALL, Experiment, RoundsAsked};
use super::{labels, scenarios, values};
use crate::exit::{DAMAGED, Failure};
use crate::schema::plan::{Candidate, Plan, Rounds};
use crate::store::Run;

/// The run, with an added damage if its plan is invalid.
pub fn judged(mut run: Run) -> Run {
    if let Err(no_plan) = Experiment::try_from(run.plan.clone()) {
        run.damage.insert(0, format!("plan.toml: {no_plan}"));
    }
    run
}

impl TryFrom<Plan> for Experiment {
    type Error = Failure;

    /// # Errors
    /// If no experiment yields this plan.
    fn try_from(plan: Plan) -> Result<Self, Failure> {
        let none =
            |why: String| Failure::new(DAMAGED, format!("this plan does not come from an experiment: {why}"));
        let place = values::place(&plan.testbed).map_err(none)?;
        // If no filesystem is created, the only row is the existing filesystem.
        let fstype = (!place.makes_filesystem())
            .then(|| plan.candidates.first().map_or(String::new(), |row| row.kind.clone()));
        let experiment = Experiment::of(plan.clone(), fstype.is_none());
        let again = experiment.plan(plan.testbed.clone(), plan.plan_seed).map_err(|e| none(e.message))?;
        let again = match fstype {
            None => again,
            Some(fstype) => {
                labels::usable("filesystem", &fstype).map_err(|e| none(e.message))?;
                again.as_mounted(&fstype)
            }
        };
        differing(&plan, &again).map_or(Ok(experiment), |key| Err(none(format!("its {key} is not possible"))))
    }
}

/// The part of the plan that an experiment would change.
fn differing(plan: &Plan, again: &Plan) -> Option<String> {
    if plan == again {
        return None;
    }
    let keys = |plan| toml::Table::try_from(plan).unwrap_or_default();
    let (plan, again) = (keys(plan), keys(again));
    let key = plan.keys().chain(again.keys()).find(|key| plan.get(*key) != again.get(*key));
    Some(key.map_or("content", String::as_str).to_owned())
}

impl Experiment {
    fn of(plan: Plan, is_made: bool) -> Self {
        let (scenario, power_cut) = scenarios::given(&plan);
        let (rounds, at_least) = match plan.rounds {
            Rounds::Exactly(n) => (RoundsAsked::Exactly(n), None),
            Rounds::AtLeast(n) => (RoundsAsked::Auto, Some(n)),
            Rounds::Auto => (RoundsAsked::Auto, None),
        };
        let is_copy = |c: &Candidate| plan.guard.as_ref().is_some_and(|twice| twice.copy == c.label);
        let mut candidates = plan.candidates;
        candidates.retain(|candidate| !is_copy(candidate));
        let (filesystems, filesystem) = match is_made {
            true => (Vec::new(), candidates.into_iter().map(FilesystemEntry::of_candidate).collect()),
            false => (vec![ALL.to_owned()], Vec::new()),
        };
        Experiment {
            name: plan.name,
            analysis: plan.analysis,
            on: Some(plan.testbed),
            size: Some(plan.size),
            memory: plan.memory,
            cpus: plan.cpus,
            image: Some(plan.image),
            layers: plan.layers,
            state: plan.state,
            cold: Some(plan.cold),
            power_cut,
            scenario,
            clients: Some(plan.clients),
            filesystems,
            filesystem,
            rounds: Some(rounds),
            at_least,
            budget: plan.budget,
            margin: Some(plan.margin),
            guard: Some(plan.guard.is_some()),
            seed: Some(plan.plan_seed),
            workload_seed: Some(plan.workload_seed),
            floor: Some(plan.floor),
            shortfall: plan.shortfall,
            needs: plan.needs,
            planned: plan.workloads,
            ..Experiment::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let text = "name = 'x'\nfilesystems = ['ext4', 'xfs']\nworkloads = ['postmark-quick']\nrounds = 2";
        Experiment::parse(text, "test").unwrap().plan("loop".into(), 7).unwrap()
    }

    /// Why the changed plan is invalid.
    fn why(change: impl FnOnce(&mut Plan)) -> String {
        let mut plan = plan();
        change(&mut plan);
        let error = Experiment::try_from(plan).unwrap_err();
        assert_eq!(error.code, DAMAGED);
        error.message
    }

    /// Modelled disks do not scatter, whatever testbed the experiment states.
    #[test]
    fn where_all_are_on_modelled_disks_nobody_takes_part_twice() {
        let text = "filesystems = ['ext4', 'xfs']\nworkloads = ['postmark-quick']\nrounds = 12\ncross = { on = ['model:hdd-16tb', 'model:ssd-sata'] }";
        let plan = Experiment::parse(text, "test").unwrap().plan("loop".into(), 7).unwrap();
        assert_eq!((plan.guard.clone(), plan.candidates.len()), (None, 4));
        assert!(Experiment::try_from(plan).is_ok());
    }

    #[test]
    fn a_plan_is_held_to_all_that_an_experiment_is() {
        assert!(Experiment::try_from(plan()).is_ok());
        assert!(why(|plan| plan.testbed = "auto".into()).contains("unknown testbed 'auto'"));
        assert!(why(|plan| plan.testbed = "/dev/sda".into()).contains("unknown testbed"));
        assert!(why(|plan| plan.candidates[0].kind = "ext44".into()).contains("unknown filesystem"));
        assert!(why(|plan| plan.candidates[0].label = "a/b".into()).contains("cannot label"));
        assert!(why(|plan| plan.candidates[1].label = "ext4".into()).contains("two filesystems"));
        assert!(why(|plan| plan.candidates.clear()).contains("no filesystem"));
        assert!(why(|plan| plan.candidates[0].variant.mount = vec![String::new()]).contains("empty option"));
        assert!(why(|plan| plan.workloads.clear()).contains("no workload"));
        assert!(why(|plan| plan.workloads[0].label = "a\u{1b}".into()).contains("cannot label"));
        assert!(why(|plan| plan.workloads[0].work.engine = "sh".into()).contains("no workload sh"));
        let other =
            |plan: &mut Plan| drop(plan.workloads[0].work.parameters.insert("numbre".into(), 1.into()));
        assert!(why(other).contains("numbre"));
        assert!(why(|plan| plan.memory = Some(crate::schema::units::Bytes(0))).contains("0 bytes"));
        assert!(why(|plan| plan.rounds = Rounds::Exactly(0)).contains("0 rounds"));
        assert!(why(|plan| plan.rounds = Rounds::AtLeast(3)).contains("its rounds is not possible"));
        assert!(why(|plan| plan.name.clear()).contains("its name is not possible"));
        assert!(why(|plan| plan.budget = Some("1h".parse().unwrap())).contains("its budget is not possible"));
    }

    #[test]
    fn where_nothing_is_made_the_one_row_is_what_is_mounted() {
        let mounted = Plan { testbed: "directory:/mnt".into(), ..plan() }.as_mounted("fuse.sshfs");
        assert!(Experiment::try_from(mounted.clone()).is_ok());
        assert!(
            why(|plan| *plan = Plan { testbed: "loop".into(), ..mounted.clone() }).contains("fuse.sshfs")
        );
        assert!(
            why(|plan| plan.testbed = "directory:/mnt".into()).contains("its filesystem is not possible")
        );
        let options = |plan: &mut Plan| {
            *plan = mounted.clone();
            plan.candidates[0].variant.mkfs = vec!["-F".into()];
        };
        assert!(why(options).contains("its filesystem is not possible"));
    }

    /// A report may be read without that file, and must not open it.
    #[test]
    fn the_disk_that_a_testbed_names_is_not_looked_at() {
        let plan = Plan { testbed: "model:/nowhere/disk.toml".into(), ..plan() };
        assert!(Experiment::try_from(plan).is_ok());
    }
}
