//! Reads a stored plan back as an experiment that expands to the same plan: `fsderby run results/…/plan.toml`. A plan that no
//! experiment yields was not made by fsderby, and is damage.

use super::Experiment;
use super::entry::FilesystemEntry;
use crate::exit::{DAMAGED, Failure};
use crate::runner::plan::values;
use crate::schema::plan::{Candidate, Plan};
use crate::store::Run;
use crate::testbeds;

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
        values::place(&plan.testbed).map_err(none)?;
        let experiment = Experiment::of(plan.clone());
        let again = experiment.plan(plan.testbed.clone(), plan.plan_seed).map_err(|e| none(e.to_string()))?;
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
    fn of(plan: Plan) -> Self {
        let mut experiment = Experiment {
            name: plan.name.clone(),
            analysis: plan.analysis.clone(),
            floor: Some(plan.floor),
            shortfall: plan.shortfall,
            planned: plan.workloads.clone(),
            ..Experiment::default()
        };
        experiment.take_stored(&plan);
        let on: Vec<String> = plan.candidates.iter().map(|c| plan.setup(c).testbed.to_owned()).collect();
        let is_copy = |c: &Candidate| plan.guard.as_ref().is_some_and(|twice| twice.copy == c.label);
        let candidates = plan.candidates.into_iter().zip(on).filter(|(candidate, _)| !is_copy(candidate));
        let entry = |(candidate, on): (Candidate, String)| {
            let entry = FilesystemEntry::of_candidate(candidate);
            // On a directory an entry without its own place would be one of many names for the same row.
            let own = testbeds::is_directory(&on).then_some(on);
            FilesystemEntry { on: entry.on.or(own), ..entry }
        };
        experiment.filesystem = candidates.map(entry).collect();
        experiment
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::plan::Rounds;

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
        error.to_string()
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
        assert!(why(|plan| plan.testbed = "/dev/sda".into()).contains("fsderby device list"));
        assert!(why(|plan| plan.candidates[0].kind = "ext44".into()).contains("unknown filesystem"));
        assert!(why(|plan| plan.candidates[0].label = "a/b".into()).contains("cannot label"));
        assert!(why(|plan| plan.candidates[1].label = "ext4".into()).contains("two filesystems"));
        assert!(why(|plan| plan.candidates.clear()).contains("no filesystem"));
        assert!(why(|plan| plan.candidates[0].variant.mount = vec![String::new()]).contains("is empty"));
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
        let mounted = Plan { testbed: "directory:/mnt".into(), ..plan() };
        let row =
            Candidate { label: "a, as mounted".into(), kind: "fuse.sshfs".into(), ..Candidate::default() };
        let mounted = Plan { candidates: vec![row], ..mounted };
        assert!(Experiment::try_from(mounted.clone()).is_ok());
        assert!(
            why(|plan| *plan = Plan { testbed: "loop".into(), ..mounted.clone() }).contains("fuse.sshfs")
        );
        assert!(why(|plan| plan.testbed = "directory:/mnt".into()).contains("cannot have both ext4 and xfs"));
        let options = |plan: &mut Plan| {
            *plan = mounted.clone();
            plan.candidates[0].variant.mkfs = vec!["-F".into()];
        };
        assert!(why(options).contains("mkfs options have no effect"));
    }

    #[test]
    fn several_directories_are_read_back_with_their_places() {
        let text = "name = 'x'\nworkloads = ['postmark-quick']\nrounds = 2\n\
                    cross = { on = ['directory:/a', 'directory:/b', 'directory:/b'] }\nfilesystems = ['ext4']";
        let mut plan = Experiment::parse(text, "test").unwrap().plan("directory:/a".into(), 7).unwrap();
        for (candidate, kind) in plan.candidates.iter_mut().zip(["xfs", "nfs4", "nfs4"]) {
            kind.clone_into(&mut candidate.kind);
        }
        assert!(Experiment::try_from(plan).is_ok());
    }

    /// A report may be read without that file, and must not open it.
    #[test]
    fn the_disk_that_a_testbed_names_is_not_looked_at() {
        let plan = Plan { testbed: "model:/nowhere/disk.toml".into(), ..plan() };
        assert!(Experiment::try_from(plan).is_ok());
    }
}
