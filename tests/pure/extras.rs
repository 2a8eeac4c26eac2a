//! Trials of no round on a scripted modelled disk: which there are, that a run goes on with them, and that `verify` misses each.

use std::fs;
use std::path::Path;

use crate::support::carry::carry_out;
use crate::support::forger::Forger;
use crate::support::scripted::Scripted;
use fsderby::analysis::dataset::Dataset;
use fsderby::analysis::ensemble;
use fsderby::runner::experiment::Experiment;
use fsderby::runner::verify::verify;
use fsderby::schema::event::Event;
use fsderby::schema::finding::{self, Costs, Evidence, Found, Refuted};
use fsderby::schema::job::Purpose;
use fsderby::schema::plan::Plan;
use fsderby::schema::reason::Outcome;
use fsderby::schema::record::Record;
use fsderby::schema::setup::{Modelled, Named};
use fsderby::store::{self, Run};

const EXPERIMENT: &str = r#"
name = "extras"
on = "model:samsung-870-evo"
size = "1g"
workloads = ["postmark-quick"]
filesystems = ["ext2", "ext4"]
rounds = 13
scale = "1/16"
seed = 7
"#;

fn plan() -> Plan {
    let experiment = Experiment::parse(EXPERIMENT, "test").unwrap();
    experiment.plan(experiment.on.clone().unwrap(), 7).unwrap()
}

/// One filesystem takes twice as long as the other, and a tenth of it is instructions, for which the modelled CPU takes its time.
fn testbed() -> Scripted {
    Scripted::on_model("model:samsung-870-evo", |job, event| {
        let Event::Phase(phase) = event else { return };
        let whole = if job.trial.ends_with("/ext2") { 100_000_000 } else { 200_000_000 };
        let modelled: Modelled = job.storage.settings().unwrap();
        phase.ns = whole * 9 / 10 + whole / 10 * 1000 / u64::from(modelled.mips);
    })
}

/// Those that are done.
fn names(run: &Run) -> Vec<&str> {
    let extras = run.records.iter().filter(|r| r.purpose.is_extra() && r.outcome == Outcome::Done);
    extras.map(|r| r.trial.as_str()).collect()
}

fn wrong(run: &Path) -> Vec<String> {
    verify(&store::read(run).unwrap()).wrong
}

/// What is wrong with this run after somebody did this to it, and computed all again.
fn wrong_after(run: &Path, forge: impl Fn(&mut Forger)) -> Vec<String> {
    let mut forger = Forger::of(run);
    forge(&mut forger);
    forger.write();
    wrong(&forger.folder())
}

#[test]
fn after_thirteen_rounds_a_pair_is_tried_wherever_it_might_not_hold_and_verify_misses_each_of_these_trials() {
    let kept = tempfile::tempdir().unwrap();
    let path = kept.path().join("run");
    let run = carry_out(&path, &plan(), &testbed(), &[], None);
    assert_eq!(wrong(&path), Vec::<String>::new());
    let extras: Vec<String> = names(&run).into_iter().map(str::to_owned).collect();
    let corners = extras.iter().filter(|name| name.starts_with("corner")).count();
    // Work doubled and tripled, five seeds, two costs, and the corner.
    assert_eq!((extras.len(), corners), (2 * (2 + 5 + 2 + 1), 2), "{extras:?}");

    let work = Dataset::of(&run);
    let found = ensemble::findings(&work.workloads, run.plan.margin);
    let [pair] = found.as_slice() else { panic!("{found:?}") };
    let Evidence::Samples { costs: Some(costs), corner: Some(corner), .. } = &pair.evidence else {
        panic!("{pair:?}");
    };
    let Costs { low, high, moving, .. } = &**costs;
    assert_eq!((pair.a.as_str(), pair.finding), ("ext2", Found::Better));
    assert!(1.0 < *low && *low < pair.ratio && pair.ratio < *high && corner.ratio.is_some(), "{pair:?}");
    let first = run.records.iter().find(|record| record.purpose == Purpose::Measure && record.round == 1);
    let own = 0.1 * 1000.0 / f64::from(first.unwrap().sampled().unwrap().mips);
    let share = own / (0.9 + own);
    assert!(
        moving.iter().all(|moving| (moving - share).abs() < 0.006),
        "{share} is instructions: {moving:?}"
    );

    for extra in extras.iter().filter(|extra| extra.ends_with("/ext2")) {
        let lacks = wrong_after(&path, |forger| forger.drop_records(|record| record.trial == *extra));
        let is_missed =
            lacks.iter().any(|what| what.contains(&format!("{extra} ")) && what.contains("missing"));
        assert!(is_missed, "{extra}: {lacks:?}");
    }
}

/// The rules of the verdict say which corner is the worst, so a run of older ones lacks nothing by today's.
#[test]
fn a_run_of_older_rules_lacks_no_corner_of_todays() {
    let kept = tempfile::tempdir().unwrap();
    let path = kept.path().join("run");
    carry_out(&path, &plan(), &testbed(), &[], None);
    let mut forger = Forger::of(&path);
    forger.drop_records(|record| record.trial.starts_with("corner"));
    forger.write();
    let verdict = forger.folder().join("verdict.json");
    let now = format!("\"schema\": {}", finding::SCHEMA);
    let text = fs::read_to_string(&verdict).unwrap();
    assert!(text.contains(&now));
    assert!(wrong(&forger.folder())[0].contains("missing"));
    fs::write(&verdict, text.replacen(&now, "\"schema\": 2", 1)).unwrap();
    let found = verify(&store::read(&forger.folder()).unwrap());
    assert_eq!(found.wrong, Vec::<String>::new());
    let says = |what: &str| found.notes.iter().any(|note| note.contains(what));
    assert!(says("need trials at other worst corners (corner+"), "{:?}", found.notes);
}

/// ext4 takes so many times as long, and waits for queued requests all the time; ext2 waits for nothing.
fn waiting(times: u64) -> Scripted {
    Scripted::on_model("model:samsung-870-evo", move |job, event| match event {
        Event::Phase(phase) if job.trial.ends_with("/ext2") => phase.ns = 100_000_000,
        Event::Phase(phase) => phase.ns = times * 1_000_000,
        Event::Probe { name, raw } if name == "disk" && !job.trial.ends_with("/ext2") => {
            raw.insert("waited_queued_ns".into(), 1 << 50);
        }
        Event::Probe { name, raw } if name == "cpu" => {
            raw.insert("machine_idle_ns".into(), raw["machine_cpus_ns"]);
        }
        _ => {}
    })
}

/// Models of SSDs were off by up to 1.97 times in queued requests.
#[test]
fn a_difference_within_the_error_of_the_model_is_not_called_and_one_beyond_it_is() {
    for (times, found, corners) in [(200, Found::CannotTell, 0), (210, Found::Better, 2)] {
        let kept = tempfile::tempdir().unwrap();
        let path = kept.path().join("run");
        let run = carry_out(&path, &plan(), &waiting(times), &[], None);
        assert_eq!(wrong(&path), Vec::<String>::new());
        let verdict = run.verdict.unwrap();
        let [pair] = verdict.findings.as_slice() else { panic!("{verdict:?}") };
        let Evidence::Samples { a_better: 13, model_error: Some(error), refuted, .. } = &pair.evidence else {
            panic!("{pair:?}");
        };
        assert!((error.times - 1.972).abs() < 1e-9 && error.parts[0].shares == [0.0, 1.0], "{error:?}");
        let held = (found == Found::CannotTell).then_some(Refuted::ModelError);
        assert_eq!((pair.finding, *refuted), (found, held), "{times}: {pair:?}");
        let tried = run.records.iter().filter(|r| matches!(r.purpose, Purpose::Corner(_))).count();
        assert_eq!(tried, corners, "no corner is tried for what it cannot save");
        let mut forged = verdict.clone();
        forged.findings[0].finding = if found == Found::Better { Found::CannotTell } else { Found::Better };
        fs::write(path.join("verdict.json"), serde_json::to_string(&forged).unwrap()).unwrap();
        let wrong = wrong(&path);
        assert!(
            wrong.len() == 1 && wrong[0].starts_with("verdict.json: ext2 compared with ext4"),
            "{wrong:?}"
        );
    }
}

#[test]
fn another_speed_than_the_cost_of_an_instruction_asks_for_is_found() {
    let kept = tempfile::tempdir().unwrap();
    let path = kept.path().join("run");
    carry_out(&path, &plan(), &testbed(), &[], None);
    let is_dear = |record: &&mut Record| record.purpose == Purpose::Dear;
    let found = wrong_after(&path, |forger| {
        for record in forger.records.iter_mut().filter(is_dear) {
            let mut modelled: Modelled = record.storage.settings().unwrap();
            modelled.mips += 1;
            record.storage = Named::new("disk", &modelled).into();
        }
    });
    let said = "million instructions per second, but the trial's purpose needs";
    assert!(found.len() == 1 && found[0].starts_with("dear/") && found[0].contains(said), "{found:?}");
}

#[test]
fn a_run_that_ends_among_them_goes_on_with_those_that_lack() {
    let kept = tempfile::tempdir().unwrap();
    let path = kept.path().join("run");
    let at = plan().again(Purpose::Dear).next().unwrap().name();
    let before = carry_out(&path, &plan(), &testbed(), &[], Some(&at));
    assert!(!names(&before).iter().any(|name| name.starts_with("corner")), "{:?}", names(&before));
    assert_eq!(wrong(&path), Vec::<String>::new());
    let testbed = testbed();
    let run = carry_out(&path, &plan(), &testbed, &[], None);
    assert_eq!((names(&run).len(), wrong(&path)), (20, Vec::new()));
    let again = testbed.launched.lock().unwrap();
    assert!(again.len() + names(&before).len() == 20, "{again:?}");
    assert!(again.iter().all(|trial| !names(&before).contains(&trial.as_str())), "{again:?}");
}
