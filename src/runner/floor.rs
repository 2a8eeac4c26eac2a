//! The trials that show what the program that plays a modelled disk adds to the figures.

use crate::schema::job::Purpose;
use crate::schema::plan::{Plan, Trial};
use crate::testbeds;

/// Two for each cell on a modelled disk. A candidate that is alone has them too: it is compared with another run.
pub fn trials(plan: &Plan) -> Vec<Trial<'_>> {
    let is_modelled = |trial: &Trial<'_>| {
        let kind = testbeds::kind(plan.setup(trial.candidate).testbed);
        kind.is_ok_and(|kind| kind.makes_filesystem() && !kind.scatters())
    };
    let all = [Purpose::Doubled, Purpose::Tripled].into_iter().flat_map(|purpose| plan.again(purpose));
    all.filter(is_modelled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::experiment::Experiment;

    fn plan(keys: &str) -> Plan {
        let text = format!("workloads = ['postmark-quick', 'maildir-quick']\nseed = 7\n{keys}");
        let experiment = Experiment::parse(&text, "test").unwrap();
        experiment.plan(experiment.on.clone().unwrap_or_else(|| "loop".into()), 7).unwrap()
    }

    #[test]
    fn every_cell_on_a_modelled_disk_has_two_and_no_other_has_any() {
        let model = plan("on = 'model:ssd-sata'\nfilesystems = ['ext4', 'xfs']");
        let names: Vec<String> = trials(&model).iter().map(Trial::name).collect();
        assert!(model.floor && names.len() == 8, "{names:?}");
        assert!(names.contains(&"tripled/maildir-quick/xfs".to_owned()));
        assert!(trials(&model).iter().all(|trial| trial.round == 1));
        assert!(!plan("filesystems = ['ext4', 'xfs']").floor);
        assert!(plan("on = 'model:ssd-sata'\nfilesystems = ['ext4']").floor, "another run may be beside it");
    }
}
