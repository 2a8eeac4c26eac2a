//! When a run is judged: after its rounds, at looks that were planned, and never again for nothing. On the scripted testbed.

use std::fs;
use std::path::Path;

use crate::support::carry::carry_out;
use crate::support::scripted::Scripted;
use fsderby::runner::experiment::Experiment;
use fsderby::runner::verify::verify;
use fsderby::schema::event::Event;
use fsderby::schema::finding::{Found, Verdict};
use fsderby::schema::job::Job;
use fsderby::schema::plan::{Plan, Rounds};
use fsderby::store::Run;

/// Three filesystems of which one enters twice.
fn plan(rounds: Rounds) -> Plan {
    let text = "name = \"looks\"\nfilesystems = [\"ext2\", \"ext4\", \"xfs\"]\nworkloads = [\"postmark-quick\"]\nseed = 7\n\
                rounds = \"auto\"\nguard = true\n";
    Plan { rounds, ..Experiment::parse(text, "test").unwrap().plan("loop".into(), 7).unwrap() }
}

/// Each filesystem takes so much of the time that it would, with a scatter of so much on both sides.
fn scattered(times: impl Fn(&str) -> f64 + Sync + 'static, scatter: f64) -> Scripted {
    Scripted::event(move |job: &Job, event| {
        let filesystem = job.trial.rsplit('/').next().unwrap();
        let hash = blake3::hash(job.trial.as_bytes());
        let share = f64::from(hash.as_bytes()[0]) / 255.0;
        let factor = times(filesystem) * (1.0 + scatter * (2.0 * share - 1.0));
        if let Event::Phase(phase) = event {
            phase.ns = (1e9 * factor) as u64;
        }
    })
}

fn looks(run: &Run) -> Vec<(u32, f64)> {
    run.seal.as_ref().unwrap().looks.iter().map(|look| (look.rounds, look.alpha)).collect()
}

fn verdict(run: &Run) -> &Verdict {
    run.verdict.as_ref().unwrap()
}

fn found(run: &Run) -> Vec<Found> {
    verdict(run).findings.iter().map(|finding| finding.finding).collect()
}

fn rounds(run: &Run) -> u32 {
    run.records.iter().map(|record| record.round).max().unwrap()
}

/// On a folder of its own each time but the first.
fn carried(folder: &Path, plan: &Plan, testbed: &Scripted, stop_at: Option<&str>) -> Run {
    let run = carry_out(folder, plan, testbed, &[], stop_at);
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
    run
}

fn thirds(filesystem: &str) -> f64 {
    match filesystem {
        "xfs" => 1.5,
        "ext4" => 1.2,
        _ => 1.0,
    }
}

#[test]
fn a_run_that_goes_on_until_it_is_decided_ends_at_the_first_look_that_decides() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let run = carried(&path, &plan(Rounds::Auto), &scattered(thirds, 0.02), None);
    assert_eq!((rounds(&run), looks(&run)), (10, vec![(10, 0.01)]));
    assert_eq!(found(&run), [Found::Better; 3]);
    assert!(verdict(&run).is_final() && run.is_complete());
    let again = carried(&path, &plan(Rounds::Auto), &scattered(thirds, 0.02), None);
    assert_eq!(again.records.len(), run.records.len(), "there is nothing left to be done");
}

#[test]
fn a_run_that_nothing_decides_is_looked_at_three_times_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let run = carried(&folder.path().join("run"), &plan(Rounds::Auto), &scattered(|_| 1.0, 0.2), None);
    assert_eq!(rounds(&run), 20);
    assert_eq!(looks(&run), [(10, 0.01), (14, 0.015), (20, 0.025)]);
    assert!(
        !found(&run).contains(&Found::Better) && !found(&run).contains(&Found::Worse),
        "{:?}",
        found(&run)
    );
}

#[test]
fn what_a_look_has_spent_stays_spent_whatever_becomes_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let plan = plan(Rounds::Auto);
    let noisy = || scattered(|_| 1.0, 0.2);
    let twelfth = plan.round(12).next().unwrap().name();
    let run = carried(&path, &plan, &noisy(), Some(&twelfth));
    assert_eq!(looks(&run), [(10, 0.01)]);
    assert_eq!(verdict(&run).findings[0].n, 10, "what came after the look is not in its verdict");
    let run = carried(&path, &plan, &noisy(), None);
    assert_eq!(looks(&run), [(10, 0.01), (14, 0.015), (20, 0.025)]);
}

#[test]
fn rounds_beyond_the_last_look_find_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let short = plan(Rounds::Exactly(6));
    let run = carried(&path, &short, &scattered(thirds, 0.02), None);
    assert_eq!(looks(&run), [(6, 0.05)]);
    let (then, findings) = (found(&run), verdict(&run).findings.clone());
    assert!(then.contains(&Found::Better), "{then:?}");
    let longer = Plan { rounds: Rounds::Exactly(9), ..short };
    // From now on they are all alike.
    let run = carried(&path, &longer, &scattered(|_| 1.0, 0.02), None);
    assert_eq!((rounds(&run), looks(&run)), (9, vec![(6, 0.05)]));
    assert_eq!(verdict(&run).findings, findings);
}

#[test]
fn a_copy_that_is_slower_voids_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let times = |filesystem: &str| if filesystem == "ext2, again" { 1.3 } else { thirds(filesystem) };
    let run = carried(&folder.path().join("run"), &plan(Rounds::Exactly(12)), &scattered(times, 0.02), None);
    let guard = verdict(&run).guard.as_ref().unwrap();
    assert!(guard.voids && guard.p.unwrap() < 0.001 && !verdict(&run).is_final(), "{guard:?}");
    assert_eq!((guard.of.as_str(), guard.copy.as_str(), guard.rounds), ("ext2", "ext2, again", 12));
}

#[test]
fn no_figure_of_a_stored_verdict_can_be_another_than_the_records_give() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let run = carried(&path, &plan(Rounds::Exactly(6)), &scattered(thirds, 0.02), None);
    let text = fs::read_to_string(path.join("verdict.json")).unwrap();
    let wrong = |change: &dyn Fn(&mut Verdict)| {
        let mut verdict = verdict(&run).clone();
        change(&mut verdict);
        fs::write(path.join("verdict.json"), serde_json::to_string(&verdict).unwrap()).unwrap();
        verify(&fsderby::store::read(&path).unwrap()).wrong.join("\n")
    };
    assert_eq!(wrong(&|_| {}), "");
    let changes: [&dyn Fn(&mut Verdict); 5] = [
        &|verdict| verdict.findings[1].ratio *= 1.0 + 1e-15,
        &|verdict| verdict.findings[0].low = verdict.findings[0].low.map(|low| low * 0.999),
        &|verdict| verdict.findings[2].finding = Found::Equivalent,
        &|verdict| verdict.ranks[0].places.reverse(),
        &|verdict| verdict.guard = None,
    ];
    for (at, change) in changes.into_iter().enumerate() {
        assert!(wrong(change).contains("verdict.json"), "change {at} was not found");
    }
    fs::remove_file(path.join("verdict.json")).unwrap();
    assert!(verify(&fsderby::store::read(&path).unwrap()).wrong.join("\n").contains("is missing"));
    fs::write(path.join("verdict.json"), text).unwrap();
    assert_eq!(verify(&fsderby::store::read(&path).unwrap()).wrong, Vec::<String>::new());
}

#[test]
fn a_verdict_by_older_rules_is_read_and_verify_says_which_findings_are_others_now() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let run = carried(&path, &plan(Rounds::Exactly(6)), &scattered(thirds, 0.02), None);
    let mut older = serde_json::to_value(verdict(&run)).unwrap();
    older["schema"] = 2.into();
    // As a modelled disk's had it.
    older["findings"][0]["evidence"] = serde_json::json!({ "samples": {
        "a_better": 13, "within_margin": 0, "b_better": 0,
        "deciders": [{ "factors": ["seek"], "share": 0.9, "ratios": [1.1, 1.2] }],
        "costs": { "a_dear": 0.9, "b_dear": 1.4 },
    }});
    older["findings"][1]["finding"] = "equivalent".into();
    let store =
        |verdict: &serde_json::Value| fs::write(path.join("verdict.json"), verdict.to_string()).unwrap();
    store(&older);
    let read = fsderby::store::read(&path).unwrap();
    assert_eq!(read.verdict.as_ref().unwrap().findings.len(), 3);
    let verified = verify(&read);
    assert_eq!(verified.wrong, Vec::<String>::new());
    let said = verified.notes.join("\n");
    assert!(said.contains("rules of version 2") && said.contains("Equivalent, now Better"), "{said}");
    older["schema"] = 1.into();
    store(&older);
    let refused = fsderby::store::read(&path).unwrap();
    assert!(refused.damage.join("\n").contains("has version 1"), "{:?}", refused.damage);
}
