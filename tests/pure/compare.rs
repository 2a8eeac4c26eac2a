//! A second run beside a first one: what may be said of the difference, what is refused, and how it ends. On the scripted testbed.

use std::fs;

use crate::support::carry::carry_out;
use crate::support::desk::{Desk, Said};
use crate::support::scripted::Scripted;
use fsderby::analysis::changes::{self, Asked, Pair};
use fsderby::analysis::dataset::Dataset;
use fsderby::analysis::ensemble;
use fsderby::exit;
use fsderby::report::view::changes::ChangesView;
use fsderby::report::view::sentence::{self, Claim, Which};
use fsderby::report::{Beside, Report, claims};
use fsderby::runner::experiment::Experiment;
use fsderby::runner::verify::comparable;
use fsderby::schema::change::Change;
use fsderby::schema::event::Event;
use fsderby::schema::finding::{Costs, Evidence, Finding, Found};
use fsderby::schema::job::Job;
use fsderby::schema::plan::{Plan, Rounds};
use fsderby::schema::setup::Modelled;
use fsderby::store::Run;
use serde_json::Value;

const OK: i32 = exit::OK as i32;
const FAIL_IF: i32 = exit::FAIL_IF as i32;
const USAGE: i32 = exit::USAGE as i32;
const TRIALS: i32 = exit::TRIALS as i32;
const DAMAGED: i32 = exit::DAMAGED as i32;

const EXPERIMENT: &str = "name = \"two\"\nfilesystems = [\"ext2\", \"ext4\", \"xfs\"]\nworkloads = [\"postmark-quick\"]\nrounds = 6\n";

fn plan(text: &str, seed: u64) -> Plan {
    Experiment::parse(text, "test").unwrap().plan("loop".into(), seed).unwrap()
}

/// Each filesystem takes so many times as long as it would, with a scatter of 2 % on both sides; another seed scatters anew.
fn machine(times: impl Fn(&str) -> f64 + Sync + 'static, seed: u64) -> Scripted {
    Scripted::event(move |job: &Job, event| {
        let filesystem = job.trial.rsplit('/').next().unwrap();
        let hash = blake3::hash(format!("{seed} {}", job.trial).as_bytes());
        let share = f64::from(hash.as_bytes()[0]) / 255.0;
        if let Event::Phase(phase) = event {
            phase.ns = (1e9 * times(filesystem) * (1.0 + 0.02 * (2.0 * share - 1.0))) as u64;
        }
    })
}

fn made(desk: &Desk, name: &str, plan: &Plan, times: impl Fn(&str) -> f64 + Sync + 'static) {
    carry_out(&desk.path(name), plan, &machine(times, plan.plan_seed), &[], None);
}

/// Two runs, the second by other times.
fn two(times: impl Fn(&str) -> f64 + Sync + 'static) -> Desk {
    let desk = Desk::new();
    made(&desk, "first", &plan(EXPERIMENT, 1), |_| 1.0);
    made(&desk, "second", &plan(EXPERIMENT, 2), times);
    desk
}

fn compared(desk: &Desk, more: &[&str]) -> Said {
    desk.say(&[&["compare", "first", "second"], more].concat())
}

/// Whitespace is where lines are broken.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn json(desk: &Desk, more: &[&str]) -> Value {
    let said = compared(desk, &[&["--json"], more].concat());
    serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"))
}

fn found(page: &Value) -> Vec<(&str, &str)> {
    let findings = page["findings"].as_array().unwrap().iter();
    findings.map(|f| (f["candidate"].as_str().unwrap(), f["finding"].as_str().unwrap())).collect()
}

fn slower(filesystem: &str) -> f64 {
    if filesystem == "ext4" { 1.3 } else { 1.0 }
}

#[test]
fn who_became_slower_is_worse_and_the_others_are_not() {
    let desk = two(slower);
    let page = json(&desk, &[]);
    assert_eq!(found(&page)[1], ("ext4", "worse"));
    assert!(found(&page).iter().all(|(who, found)| *who == "ext4" || !["worse", "better"].contains(found)));
    let ext4 = &page["findings"][1];
    let at = |key: &str| ext4[key].as_f64().unwrap();
    assert!(
        (at("ratio") - 1.0 / 1.3).abs() < 0.02 && at("low") < at("ratio") && at("ratio") < at("high"),
        "{ext4}"
    );
    assert_eq!(ext4["n"], serde_json::json!([6, 6]));
    let said = compared(&desk, &[]);
    assert_eq!(said.code, OK, "{said:?}");
    for expected in [
        "ext4 is 21–24 % slower in the second run.",
        "not necessarily an effect of the change",
        "the seeds of order and workload: 1 and 1 in the first run, 2 and 2 in the second",
    ] {
        assert!(words(&said.out).contains(expected), "{expected} is missing in:\n{}", said.out);
    }
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
}

#[test]
fn a_condition_ends_with_one_where_the_near_end_of_an_interval_is_beyond_it() {
    let desk = two(slower);
    let code = |condition: &str| compared(&desk, &["--fail-if", condition]).code;
    assert_eq!([code("worse > 5%"), code("worse > 40%"), code("better > 0%")], [FAIL_IF, OK, OK]);
    assert_eq!(
        [code("different > 5% for xfs"), code("worse > 5% in transactions.rate for ext4")],
        [OK, FAIL_IF]
    );
    let several = compared(&desk, &["--fail-if", "worse > 40%", "--fail-if", "worse > 5%"]);
    assert_eq!(several.code, FAIL_IF);
    assert!(
        several.err.contains("'worse > 5%' holds for ext4 in transactions.rate of postmark-quick"),
        "{}",
        several.err
    );
    assert_eq!(json(&desk, &["--fail-if", "worse > 5%"])["fail_if"][0]["holds"], true);
    let refused = |condition: &str, words: &[&str]| {
        desk.refuses(&["compare", "first", "second", "--fail-if", condition], USAGE, words);
    };
    refused("worse > 5", &["'worse > 5' is not a condition", "worse > 5%"]);
    refused("worse > 5% for ext44", &["unknown candidate 'ext44'", "did you mean 'ext4'?"]);
    refused("worse > 5% in read.speed", &["unknown headline metric 'read.speed'"]);
}

#[test]
fn beside_a_control_what_slowed_all_alike_is_no_difference() {
    let desk = two(|filesystem| 1.2 * slower(filesystem));
    let alone = json(&desk, &[]);
    assert!(found(&alone).iter().all(|(_, found)| *found == "worse"), "{alone}");
    let beside = json(&desk, &["--control", "ext2"]);
    assert_eq!(found(&beside).iter().map(|f| f.0).collect::<Vec<_>>(), ["ext4", "xfs"]);
    assert_eq!(found(&beside)[0].1, "worse");
    assert!(!["worse", "better"].contains(&found(&beside)[1].1), "{beside}");
    let of_control = beside["controls"][0]["ratio"].as_f64().unwrap();
    assert!((of_control - 1.0 / 1.2).abs() < 0.02, "{of_control}");
    let all = ["--control", "ext2", "--control", "ext4", "--control", "xfs"];
    assert_eq!(compared(&desk, &all).code, USAGE);
    let wrong = compared(&desk, &["--control", "ext3"]);
    assert!(wrong.code == USAGE && wrong.err.contains("unknown candidate 'ext3'"), "{wrong:?}");
}

#[test]
fn where_one_candidate_was_entered_otherwise_the_rest_are_its_controls_and_one_run_would_say_more() {
    let desk = Desk::new();
    made(&desk, "first", &plan(EXPERIMENT, 1), |_| 1.0);
    let text = EXPERIMENT.replace("\"ext2\", \"ext4\", \"xfs\"", "\"ext2\", \"xfs\"")
        + "[[filesystem]]\nkind = \"ext4\"\nmount = [\"sync\"]\n";
    made(&desk, "second", &plan(&text, 2), |filesystem| 1.2 * slower(filesystem));
    let said = compared(&desk, &[]);
    let out = words(&said.out);
    for expected in [
        "divided by the figure of the unchanged control ext2 and xfs in the same round",
        "the mount options of ext4: none in the first run, sync in the second",
        "--filesystem 'ext4 label=\"ext4, before\"' --filesystem 'ext4 label=\"ext4, after\" mount=sync'",
    ] {
        assert!(out.contains(expected), "{expected} is missing in:\n{}", said.out);
    }
    assert_eq!(found(&json(&desk, &[])), [("ext4", "worse")]);
    // What it recommends is accepted.
    let command = said.out.lines().find(|line| line.trim_start().starts_with("fsderby run ")).unwrap().trim();
    let arguments = shell_words::split(command).unwrap();
    let tried = desk.say(&[&arguments[1..], &["--dry-run".to_owned()]].concat());
    assert!(tried.code == OK || tried.code == i32::from(exit::MISSING), "{tried:?}");
}

/// What is advised beside two runs.
fn advised(before: &Run, after: &Run) -> ChangesView {
    let compared = comparable::compared(before, after).unwrap();
    let pair = Pair { before, after };
    let asked = Asked { candidates: &compared.candidates, controls: &[], differences: compared.differences };
    Beside::of(&pair, changes::of(&pair, asked)).view
}

fn is_planned(desk: &Desk, command: &str) {
    let arguments = shell_words::split(command).unwrap();
    let tried = desk.say(&[&arguments[1..], &["--dry-run".to_owned()]].concat());
    assert!(tried.code == OK || tried.code == i32::from(exit::MISSING), "{tried:?}");
}

#[test]
fn two_kernels_of_a_host_are_advised_to_be_guests_of_one_run() {
    let desk = Desk::new();
    let [before, after] =
        [("first", "6.1.0-56-amd64"), ("second", "6.12.117+deb12-amd64")].map(|(name, kernel)| {
            let mut run = carry_out(&desk.path(name), &plan(EXPERIMENT, 1), &machine(|_| 1.0, 1), &[], None);
            run.machine.kernel = kernel.into();
            run.records.iter_mut().for_each(|record| record.kernel = kernel.into());
            run
        });
    let command = advised(&before, &after).command.unwrap();
    // What the first has is what all have who say nothing.
    for words in [
        "--on 'vm:kernel=6.1.0-56-amd64'",
        "--filesystem 'ext2 label=\"ext2, Linux 6.1.0-56-amd64\"'",
        "--filesystem 'xfs label=\"xfs, Linux 6.12.117+deb12-amd64\" on=vm:kernel=6.12.117+deb12-amd64'",
    ] {
        assert!(command.contains(words), "{words} is missing in {command}");
    }
    assert_eq!(command.matches("--filesystem ").count(), 6);
    is_planned(&desk, &command);
    // What no run can have both ways stays so, whatever else differs.
    let mut elsewhere = after.clone();
    elsewhere.machine.cpus += 1;
    let view = advised(&before, &elsewhere);
    assert!(view.command.is_none() && view.advice.contains("the host's CPU"), "{}", view.advice);
}

#[test]
fn two_kernels_of_guests_are_advised_to_be_candidates_though_no_plan_names_them() {
    let desk = Desk::new();
    let plan = Experiment::parse(EXPERIMENT, "test").unwrap().plan("vm".into(), 1).unwrap();
    let [before, after] = [("first", "6.1.0-56-amd64"), ("second", "6.12.117+deb12-amd64")]
        .map(|(name, kernel)| carry_out(&desk.path(name), &plan, &Scripted::guests("vm", kernel), &[], None));
    let command = advised(&before, &after).command.unwrap();
    for words in [
        "--on 'vm:kernel=6.1.0-56-amd64'",
        "ext4, before\"",
        "ext4, after\" on=vm:kernel=6.12.117+deb12-amd64",
    ] {
        assert!(command.contains(words), "{words} is missing in {command}");
    }
    is_planned(&desk, &command);
}

#[test]
fn few_rounds_give_no_finding_and_no_condition_passes_by_silence() {
    let desk = Desk::new();
    let few = |seed| Plan { rounds: Rounds::Exactly(5), ..plan(EXPERIMENT, seed) };
    made(&desk, "first", &few(1), |_| 1.0);
    made(&desk, "second", &few(2), slower);
    let page = json(&desk, &[]);
    assert!(found(&page).iter().all(|(_, found)| *found == "cannot-tell"), "{page}");
    assert!(page["findings"][1].get("low").is_none());
    assert!(words(&compared(&desk, &[]).out).contains("No verdict yet: findings need at least 6 rounds"));
    let words =
        ["cannot be judged", "5 rounds in both runs are too few", "try: repeat both runs with --rounds 6"];
    desk.refuses(&["compare", "first", "second", "--fail-if", "worse > 5%"], USAGE, &words);
    let by_estimate = ["--fail-if", "worse > 5% by estimate"];
    assert_eq!(compared(&desk, &by_estimate).code, FAIL_IF);
}

#[test]
fn what_must_be_the_same_is_named_where_it_is_not() {
    let desk = Desk::new();
    made(&desk, "first", &plan(EXPERIMENT, 1), |_| 1.0);
    let with = |line: &str| format!("{EXPERIMENT}{line}\n");
    let others: [(&str, String, &[&str]); 8] = [
        (
            "size",
            with("size = \"1g\""),
            &["the volume's size of ext2 is 2 GiB in the first and 1 GiB in the second"],
        ),
        ("memory", with("memory = \"64m\""), &["the memory of ext2 is not limited in the first and 64 MiB"]),
        ("image", with("image = \"sparse\""), &["the image of ext2 is allocated in the first and sparse"]),
        (
            "state",
            with("state = \"filled 50%\""),
            &["the state of ext2 is fresh in the first and filled 50%"],
        ),
        (
            "clients",
            with("clients = 2"),
            &["the number of clients of postmark-quick is 1 in the first and 2"],
        ),
        (
            "parameters",
            EXPERIMENT.replace("workloads = [\"postmark-quick\"]\n", "")
                + "[[workload]]\nset = \"postmark-quick\"\nnumber = 77\n",
            &["number of postmark-quick is 800 in the first and 77 in the second"],
        ),
        ("works", EXPERIMENT.replace("postmark", "maildir"), &["no workload in common", "maildir-quick"]),
        (
            "candidates",
            EXPERIMENT.replace("\"ext2\", \"ext4\", \"xfs\"", "\"ext3-journal\", \"jfs\""),
            &["no candidate in common", "try: the same label"],
        ),
    ];
    for (name, text, words) in others {
        carry_out(&desk.path(name), &plan(&text, 2), &Scripted::well(), &[], None);
        desk.refuses(&["compare", "first", name], USAGE, words);
    }
    let text =
        EXPERIMENT.replace("\"ext2\", ", "") + "[[filesystem]]\nkind = \"ext3-journal\"\nlabel = \"ext2\"\n";
    made(&desk, "kind", &plan(&text, 2), |_| 1.0);
    desk.refuses(
        &["compare", "first", "kind"],
        USAGE,
        &["the kind of ext2 is ext2 in the first and ext3-journal"],
    );
}

#[test]
fn a_run_that_cannot_be_relied_on_is_not_compared() {
    let desk = two(|_| 1.0);
    desk.refuses(&["compare", "first", "first"], USAGE, &["are the same run"]);
    desk.refuses(&["compare", "first", "nowhere"], USAGE, &["nowhere is not a run's folder"]);
    let trials = desk.path("second").join("trials.jsonl");
    let whole = fs::read_to_string(&trials).unwrap();
    fs::write(&trials, whole.replacen("\"order\":1", "\"order\":2", 1)).unwrap();
    desk.refuses(
        &["compare", "first", "second"],
        DAMAGED,
        &["second is damaged", "try: fsderby verify second"],
    );
    fs::write(&trials, &whole).unwrap();
    fs::remove_file(desk.path("second").join("seal.json")).unwrap();
    fs::remove_file(desk.path("second").join("verdict.json")).unwrap();
    desk.refuses(
        &["compare", "first", "second"],
        USAGE,
        &["second has not ended", "fsderby run --resume second"],
    );
}

#[test]
fn a_run_that_is_void_is_not_compared() {
    let desk = Desk::new();
    made(&desk, "first", &plan(EXPERIMENT, 1), |_| 1.0);
    let guarded = plan(&EXPERIMENT.replace("rounds = 6", "rounds = 12\nguard = true"), 2);
    made(&desk, "second", &guarded, |filesystem| if filesystem == "ext2, again" { 1.3 } else { 1.0 });
    desk.refuses(&["compare", "first", "second"], TRIALS, &["second is void"]);
}

#[test]
fn who_failed_in_one_run_is_told_and_does_not_pass() {
    let desk = two(|_| 1.0);
    let failing = Scripted::altered(|job, events| {
        if job.trial.ends_with("/xfs") { events.into_iter().take(3).collect() } else { events }
    });
    carry_out(&desk.path("third"), &plan(EXPERIMENT, 3), &failing, &[], None);
    let said = desk.say(&["compare", "first", "third"]);
    assert_eq!(said.code, TRIALS, "{said:?}");
    assert!(
        words(&said.out).contains(
            "xfs in postmark-quick: nothing is compared, because the second run has no valid trial"
        ),
        "{}",
        said.out
    );
}

#[test]
fn another_kernel_is_said_and_what_it_reaches_has_no_control() {
    let desk = Desk::new();
    let guests = |kernel: &str| Scripted::guests(&format!("vm:kernel={kernel}"), kernel);
    for (name, kernel, seed) in [("first", "6.1", 1), ("second", "6.12", 2)] {
        let plan =
            Experiment::parse(EXPERIMENT, "test").unwrap().plan(format!("vm:kernel={kernel}"), seed).unwrap();
        carry_out(&desk.path(name), &plan, &guests(kernel), &[], None);
    }
    let said = compared(&desk, &[]);
    let out = words(&said.out);
    assert!(out.contains("the kernel of ext4: 6.1 in the first run, 6.12 in the second"), "{}", said.out);
    assert!(out.contains("not necessarily an effect of the change"), "{}", said.out);
    assert!(out.contains("ext4, before") && out.contains("kernel=6.12"), "{}", said.out);
}

#[test]
fn markdown_and_terminal_say_the_same() {
    let desk = two(slower);
    let said = compared(&desk, &["--markdown", "page.md"]);
    assert_eq!((said.code, said.out.as_str()), (OK, ""));
    let page = fs::read_to_string(desk.path("page.md")).unwrap();
    assert!(page.contains("| ext4 | worse |") && page.contains(" % slower in the second run."), "{page}");
    assert_eq!(compared(&desk, &["--markdown", "page.md"]).code, USAGE, "is not overwritten");
}

/// One kind in two versions, on work that waits for nothing but the CPU.
const PATCH: &str = r#"
name = "one kind, with and without a journal"
on = "model:hdd-16tb"
size = "512m"
memory = "64m"
workloads = ["postmark-quick"]
rounds = 13
scale = "1/16"
seed = 7

[[filesystem]]
kind = "ext4"
label = "base"

[[filesystem]]
kind = "ext4"
label = "no journal"
mkfs = ["-O", "^has_journal"]
mount = ["nodelalloc"]
"#;

/// One run in which the first takes so many times as long as the second, all of it CPU time; with what is found.
fn patched(desk: &Desk, name: &str, times: f64) -> (Run, Finding) {
    let experiment = Experiment::parse(PATCH, "test").unwrap();
    let plan = experiment.plan(experiment.on.clone().unwrap(), 7).unwrap();
    let testbed = Scripted::on_model("model:hdd-16tb", move |job, event| {
        let Event::Phase(phase) = event else { return };
        let modelled: Modelled = job.storage.settings().unwrap();
        let own = if job.trial.ends_with("/base") { times } else { 1.0 };
        phase.ns = (own * 2e12 / f64::from(modelled.mips)) as u64;
    });
    let run = carry_out(&desk.path(name), &plan, &testbed, &[], None);
    let [found] = ensemble::findings(&Dataset::of(&run).workloads, plan.margin).try_into().unwrap();
    (run, found)
}

/// What is found, and said, where the same records are of two runs, each with one version.
fn in_halves(run: &Run) -> (Change, ChangesView) {
    let [before, after] = ["no journal", "base"].map(|label| {
        let mut half = run.clone();
        half.records.retain(|record| record.filesystem == label);
        half.records.iter_mut().for_each(|record| record.filesystem = "x".into());
        half.plan.candidates.retain(|candidate| candidate.label == label);
        half.plan.candidates[0].label = "x".into();
        half
    });
    let (candidates, pair) = (["x".to_owned()], Pair { before: &before, after: &after });
    let asked = Asked { candidates: &candidates, controls: &[], differences: Vec::new() };
    let Beside { changes, view } = Beside::of(&pair, changes::of(&pair, asked));
    assert_eq!(claims::unfounded_changes(&view, &changes), Vec::<String>::new());
    let [change] = changes.findings.try_into().unwrap();
    (change, view)
}

/// What is claimed of the version that stands for the second run beside the other, in parts of a million.
fn seen_from_after(claim: &Claim) -> (sentence::Said, bool, [i64; 2]) {
    let is_after_first = claim.a == "base" || claim.a_in == Some(Which::Second);
    let (low, high) = claim.low.zip(claim.high).unwrap();
    let (low, high) = if is_after_first { (low, high) } else { (1.0 / high, 1.0 / low) };
    let is_better = claim.said == sentence::Said::Better && is_after_first;
    (claim.said, is_better, [low, high].map(|end| (1e6 * end).round() as i64))
}

#[test]
fn two_versions_of_one_kind_are_judged_alike_in_one_run_and_in_two() {
    let desk = Desk::new();
    let of_one = [
        ": base and “no journal” are equivalent within ",
        " times as fast as base.",
        ": no winner; “no journal” and base are not told apart; ",
    ];
    let of_two = [
        "Every compared figure is identical in both runs",
        " % slower in the second run",
        "x does not differ detectably between the two runs; ",
    ];
    let cases =
        [("same", 1.0, Found::Equivalent), ("more", 1.6, Found::Worse), ("little", 1.035, Found::CannotTell)];
    for ((name, times, expected), (of_one, of_two)) in cases.into_iter().zip(of_one.iter().zip(of_two)) {
        let (run, found) = patched(&desk, name, times);
        assert_eq!((found.a.as_str(), found.finding), ("base", expected), "{found:?}");
        let (change, view) = in_halves(&run);
        assert_eq!(
            (change.finding, change.ratio, change.low, change.high, change.n, &change.evidence),
            (found.finding, found.ratio, found.low, found.high, [found.n; 2], &found.evidence)
        );
        // They say the same of it, each in its words.
        let heading = Report::of(&run).summary.heading;
        let ([of_run], [of_runs]) = (&heading.claims[..], &view.claims[..]) else { panic!("one claim each") };
        assert_eq!(seen_from_after(of_run), seen_from_after(of_runs));
        assert!(heading.answer[0].contains(of_one), "{}", heading.answer[0]);
        assert!(view.answer.contains(of_two), "{}", view.answer);
    }
}

#[test]
fn what_differs_is_priced_and_the_same_twice_has_no_price() {
    let desk = Desk::new();
    let priced = |name: &str, times: f64| -> Costs {
        let Evidence::Samples { costs: Some(costs), .. } = patched(&desk, name, times).1.evidence else {
            panic!("no costs were tried")
        };
        *costs
    };
    let same = priced("same", 1.0);
    assert!(same.one_kind && same.low > 1.0 - 1e-12 && same.high < 1.0 + 1e-12, "{same:?}");
    let more = priced("more", 1.6);
    let (least, most) = (1.0 / more.high, 1.0 / more.low);
    assert!((least - 1.46).abs() < 0.005 && (most - 1.78).abs() < 0.005, "{least} to {most}: {more:?}");
    assert!(more.moving.iter().all(|share| (share - 1.0).abs() < 1e-6), "{more:?}");
}

/// The elements and attributes that Jenkins and GitLab read: each element with its required attributes and its possible children.
const JUNIT: [(&str, &[&str], &[&str]); 6] = [
    ("testsuites", &["name", "tests", "failures", "errors", "time"], &["testsuite"]),
    ("testsuite", &["name", "tests", "failures", "errors", "skipped", "time"], &["testcase"]),
    ("testcase", &["classname", "name", "time"], &["failure", "skipped", "system-out"]),
    ("failure", &["message", "type"], &[]),
    ("skipped", &["message"], &[]),
    ("system-out", &[], &[]),
];

/// The test cases of this XML, as class, name, result and message.
fn cases(xml: &str) -> Vec<[String; 4]> {
    let document = roxmltree::Document::parse(xml).unwrap_or_else(|e| panic!("{e}: {xml}"));
    let mut cases = Vec::new();
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let name = node.tag_name().name();
        let (_, attributes, children) = JUNIT.iter().find(|(known, ..)| *known == name).unwrap();
        let lacks = attributes.iter().find(|attribute| !node.has_attribute(**attribute));
        assert_eq!(lacks, None, "{name}");
        let elements = || node.children().filter(roxmltree::Node::is_element);
        assert!(elements().all(|child| children.contains(&child.tag_name().name())), "{name}: {xml}");
        let of = |name: &str| node.attribute(name).unwrap_or_default().to_owned();
        let results =
            |result: &str| node.descendants().filter(|n| n.has_tag_name(result)).count().to_string();
        if name == "testsuite" || name == "testsuites" {
            for (count, element) in [("tests", "testcase"), ("failures", "failure"), ("errors", "error")] {
                assert_eq!(of(count), results(element), "{name}: {count}");
            }
        }
        if name == "testcase" {
            let result = elements().next().unwrap();
            let message = result.attribute("message").or(result.text()).unwrap_or_default();
            cases.push([of("classname"), of("name"), result.tag_name().name().into(), message.into()]);
        }
    }
    cases
}

#[test]
fn a_build_server_is_told_each_finding_as_a_test_case() {
    let desk = two(slower);
    let results = |more: &[&str]| {
        let said = compared(&desk, &[&["--junit", "-"], more].concat());
        let cases = cases(&said.out);
        assert!(cases.iter().all(|[class, ..]| class == "postmark-quick.transactions.rate"), "{cases:?}");
        (said.code, cases.into_iter().map(|[_, name, result, said]| (name, result, said)).collect::<Vec<_>>())
    };
    let (code, all) = results(&[]);
    let is = |at: usize, result: &str| all[at].1 == result;
    // The first and the last candidate did not change; whether they are equivalent or not told apart is chance.
    assert!(code == OK && all.len() == 3 && all[1].0 == "ext4" && is(1, "failure"), "{all:?}");
    assert!(!is(0, "failure") && !is(2, "failure"), "{all:?}");
    assert!(
        all[1].2.starts_with(
            "ext4: transactions.rate of postmark-quick: worse in the second run; ratio 0.77, interval 0.7"
        ),
        "{all:?}"
    );
    let (code, all) = results(&["--fail-if", "worse > 5% for ext4"]);
    assert!(code == FAIL_IF && all[1].1 == "failure" && all[1].2.contains("meets a condition"), "{all:?}");
    let (code, all) = results(&["--fail-if", "worse > 50%"]);
    assert!(code == OK && all[1].1 == "system-out" && all[1].2.contains("within the conditions"), "{all:?}");
}

#[test]
fn junit_is_well_formed_whatever_labels_hold_and_replaces_no_file() {
    let desk = Desk::new();
    let label = "<a> & \u{fffe} \"b\" ]]>";
    let text = format!("{EXPERIMENT}[[filesystem]]\nkind = \"jfs\"\nlabel = {}\n", toml::Value::from(label));
    let text = text.replace("rounds = 6", "rounds = 2");
    made(&desk, "first", &plan(&text, 1), |_| 1.0);
    made(&desk, "second", &plan(&text, 2), |_| 1.0);
    let said = compared(&desk, &["--junit", "changes.xml"]);
    assert!(said.code == OK && said.out.contains("first"), "the tables are printed too: {said:?}");
    let all = cases(&fs::read_to_string(desk.path("changes.xml")).unwrap());
    assert!(
        all.iter().all(|[.., result, said]| result == "skipped" && said.contains("too few rounds")),
        "{all:?}"
    );
    assert!(all.iter().any(|[_, name, ..]| *name == label.replace('\u{fffe}', "\u{fffd}")), "{all:?}");
    desk.refuses(
        &["compare", "first", "second", "--junit", "changes.xml"],
        USAGE,
        &["changes.xml already exists"],
    );
    desk.refuses(
        &["compare", "first", "second", "--json", "--junit", "-"],
        USAGE,
        &["would both go to standard output"],
    );
}
