//! The needs of an experiment: parsed, completed with a profile, and checked against the experiment's metrics.

use toml::{Table, Value};

use super::profiles;
use crate::analysis::metrics;
use crate::exit::Failure;
use crate::schema::declared::{self, Declared};
use crate::schema::metric::Better;
use crate::schema::needs::{Aspect, KEYS, Needs, Required, Weighed};
use crate::schema::plan::Plan;
use crate::schema::scenario::Scenario;
use crate::text::names;

/// A larger weight is a typing error, and products of weights must stay finite.
const HEAVIEST: f64 = 1e6;

/// Misspelt keys of `[needs]`, with the nearest right one; other errors are the parser's.
pub fn misspelt(needs: &Table) -> Result<(), String> {
    if let Some(key) = needs.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(names::unknown("need", key, KEYS));
    }
    let required = needs.get("require").and_then(Value::as_array).into_iter().flatten();
    for text in required.filter_map(Value::as_str) {
        let sized = |over: &str| text.contains(over);
        match text.parse::<Required>() {
            Ok(_) => {}
            Err(size) if sized("files over ") || sized("volumes over ") => {
                return Err(format!("require = [\"{text}\"]: {size}"));
            }
            Err(_) => return Err(names::unknown("required capability", text, Required::names())),
        }
    }
    let draw = needs.get("draw").and_then(Value::as_str);
    let aspects = || Aspect::ALL.map(Aspect::name);
    match draw.filter(|draw| !aspects().contains(draw)) {
        None => Ok(()),
        Some(draw) => Err(names::unknown("need to decide a draw", draw, aspects())),
    }
}

/// Completes the needs with the profile that they name.
pub fn whole(needs: Needs) -> Result<Needs, Failure> {
    let Some(name) = needs.profile.clone() else { return Ok(needs) };
    let profile = profiles::find(&name).map_err(|e| Failure::usage(format!("needs: {e}")))?;
    Ok(Needs { profile: None, ..needs }.over(profile.needs))
}

/// Whether everything with a weight can be judged in this plan.
///
/// # Errors
/// Names the need, and what to write.
pub fn check(plan: &Plan) -> Result<(), Failure> {
    match &plan.needs {
        None => Ok(()),
        Some(needs) => {
            let checked = weights(needs).and_then(|()| {
                needs.workload.iter().try_for_each(|(label, weighed)| workload(plan, label, weighed))
            });
            checked.map_err(|e| Failure::usage(format!("needs: {e}")))
        }
    }
}

fn weights(needs: &Needs) -> Result<(), String> {
    let all = needs.weights();
    if let Some((key, weight)) = all.iter().find(|(_, weight)| !(0.0..=HEAVIEST).contains(weight)) {
        return Err(format!("{key} = {weight}: a weight is a number from 0 to {HEAVIEST}\n  try: {key} = 1"));
    }
    // Without any weight, speed has it all.
    if !all.is_empty() && all.iter().all(|(_, weight)| *weight == 0.0) {
        return Err("every weight is 0, so there is no recommendation\n  try: workloads = 1, the weight of the workloads".into());
    }
    Ok(())
}

fn workload(plan: &Plan, label: &str, weighed: &Weighed) -> Result<(), String> {
    let labels = plan.scenarios.iter().map(|scenario| scenario.label.as_str());
    let scenario = plan.scenarios.iter().find(|scenario| scenario.label == label);
    let scenario = scenario.ok_or_else(|| names::unknown("workload", label, labels))?;
    match weighed {
        Weighed::Headline(_) => Ok(()),
        Weighed::Metrics(metrics) if metrics.is_empty() => {
            Err(format!("workload.{label} names no metric\n  try: workload.{label} = 1"))
        }
        Weighed::Metrics(metrics) => {
            let declared = declared(plan, scenario);
            metrics.keys().try_for_each(|name| metric(&declared, label, name))
        }
    }
}

fn metric(declared: &[&'static Declared], label: &str, name: &str) -> Result<(), String> {
    match declared::find(declared, name) {
        None => Err(names::unknown(&format!("metric of {label}"), name, declared.iter().map(|d| d.name))),
        Some(found) if found.better == Better::Neither => {
            let text = format!(
                "workload.{label}: neither higher nor lower is better for {name}, so it cannot be weighted"
            );
            Err(format!("{text}\n  try: one of fsderby list metrics where higher or lower is better"))
        }
        Some(_) => Ok(()),
    }
}

fn declared(plan: &Plan, scenario: &Scenario) -> Vec<&'static Declared> {
    let works = scenario.works().filter_map(|stage| plan.workload(&stage.work));
    works.flat_map(|work| metrics::declared_of(&work.work.engine)).collect()
}

#[cfg(test)]
mod tests {
    use crate::runner::experiment::Experiment;
    use crate::schema::needs::{Aspect, Required};
    use crate::schema::plan::Plan;

    fn plan(needs: &str) -> Result<Plan, String> {
        let text = format!(
            "name = 'x'\nfilesystems = ['ext4', 'xfs']\nworkloads = ['postmark-quick']\n[needs]\n{needs}"
        );
        let experiment = Experiment::parse(&text, "x.toml").map_err(|e| e.to_string())?;
        experiment.plan("loop".into(), 7).map_err(|e| e.to_string())
    }

    #[test]
    fn a_profile_lies_below_what_is_stated_and_the_plan_holds_both() {
        let plan = plan("profile = 'mail server'\nfsck = 5\nrequire = ['can shrink']").unwrap();
        let needs = plan.needs.clone().unwrap();
        assert_eq!(needs.profile.as_deref(), Some("mail-server"));
        assert_eq!((needs.weight(Aspect::Fsck), needs.draw), (5.0, Some(Aspect::Cpu)));
        assert!(needs.workloads.is_some() && needs.require.contains(&Required::DurableFsync));
        assert!(needs.require.contains(&Required::Shrink));
        let text = toml::to_string(&plan).unwrap();
        let again = Experiment::parse(&text, "plan.toml").unwrap().plan("loop".into(), 7).unwrap();
        assert_eq!(again, plan, "a stored plan is not made whole again");
    }

    #[test]
    fn what_cannot_be_weighed_is_refused_with_what_to_write() {
        for (needs, said) in [
            ("speed = 1", "unknown need 'speed'"),
            ("cpus = 1", "did you mean 'cpu'?"),
            ("require = ['jurnal']", "did you mean 'journal'?"),
            ("require = ['files over lots']", "'lots' is not a size"),
            ("draw = 'cup'", "did you mean 'cpu'?"),
            ("profile = 'fileserver'", "did you mean 'file-server'?"),
            ("cpu = -1", "cpu = -1: a weight is a number from 0"),
            ("cpu = inf", "a weight is a number"),
            ("cpu = nan", "a weight is a number"),
            ("cpu = 'much'", "line 5"),
            ("workloads = 0\ncpu = 0", "every weight is 0"),
            ("workload.postmark-quik = 1", "did you mean 'postmark-quick'?"),
            ("workload.postmark-quick = {}", "names no metric"),
            ("workload.postmark-quick = { 'transaction.rate' = 1 }", "did you mean 'transactions.rate'?"),
            ("workload.postmark-quick = { 'cpu.share' = 1 }", "neither higher nor lower is better"),
            ("workload.postmark-quick = { 'read.rate' = -2 }", "workload.postmark-quick.read.rate = -2"),
        ] {
            let error = plan(needs).unwrap_err();
            assert!(error.contains(said), "{needs}: {error}");
        }
        assert!(plan("workload.postmark-quick = { 'read.rate' = 1, 'transactions.rate' = 2 }").is_ok());
        assert!(plan("require = ['has a journal']").is_ok(), "what weighs nothing weighs speed");
    }
}
