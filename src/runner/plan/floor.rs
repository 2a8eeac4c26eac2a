//! The extra trials that measure disk-model overhead.

use super::resolved::Resolved;
use crate::schema::job::Purpose;
use crate::schema::plan::Trial;

/// Two trials for each cell on a modelled disk; also for a single candidate, whose run may be compared with another run.
pub fn trials<'p>(plan: &Resolved<'p>) -> Vec<Trial<'p>> {
    let is_modelled = |trial: &Trial<'_>| {
        let place = plan.of_candidate(trial.candidate).place;
        place.makes_filesystem() && !place.scatters()
    };
    let all = [Purpose::Doubled, Purpose::Tripled].into_iter().flat_map(|purpose| plan.plan.again(purpose));
    all.filter(is_modelled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::experiment::Experiment;
    use crate::schema::plan::Plan;

    fn plan(keys: &str) -> Plan {
        let text = format!("workloads = ['postmark-quick', 'maildir-quick']\nseed = 7\n{keys}");
        let experiment = Experiment::parse(&text, "test").unwrap();
        experiment.plan(experiment.on.clone().unwrap_or_else(|| "loop".into()), 7).unwrap()
    }

    #[test]
    fn every_cell_on_a_modelled_disk_has_two_and_no_other_has_any() {
        let model = plan("on = 'model:ssd-sata'\nfilesystems = ['ext4', 'xfs']");
        let resolved = Resolved::of(&model).unwrap();
        let names: Vec<String> = trials(&resolved).iter().map(Trial::name).collect();
        assert!(model.floor && names.len() == 8, "{names:?}");
        assert!(names.contains(&"tripled/maildir-quick/xfs".to_owned()));
        assert!(trials(&resolved).iter().all(|trial| trial.round == 1));
        assert!(!plan("filesystems = ['ext4', 'xfs']").floor);
        assert!(plan("on = 'model:ssd-sata'\nfilesystems = ['ext4']").floor, "another run may be beside it");
    }
}
