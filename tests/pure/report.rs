//! `fsderby report` on the folder of a real run: each format, and nothing overwritten.

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::forger::Forger;
use crate::support::scripted::Scripted;
use crate::support::{fsderby, quiet};
use fsderby::runner::experiment::Experiment;
use fsderby::runner::preflight::skips::Skip;
use fsderby::testbeds::Testbeds;

const EXPERIMENT: &str = r#"
name = "scripted"
analysis = "Does every format tell the same? It should."
size = "1g"
memory = "64m"
workloads = ["postmark-quick", "maildir-quick"]
filesystems = ["fat16", "fat32", "ext4", "xfs"]
rounds = 5
seed = 7

[needs]
profile = "file-server"
workload.postmark-quick = 2
"#;

/// A run in which the two kinds of FAT are skipped.
fn compared(within: &Path) -> PathBuf {
    let path = within.join("run");
    let plan = Experiment::parse(EXPERIMENT, "test").unwrap().plan("loop".into(), 1).unwrap();
    let testbed = Scripted::well();
    let skip = |filesystem: &str, workload: &str| Skip {
        filesystem: filesystem.into(),
        scenario: workload.into(),
        reason: "this kernel has no vfat\n  try: a kernel with the module vfat".into(),
        by_experiment: false,
    };
    let works = ["postmark-quick", "maildir-quick"];
    let skips: Vec<Skip> = works.iter().flat_map(|w| [skip("fat16", w), skip("fat32", w)]).collect();
    quiet::run(&path, &plan, &Testbeds::one(&testbed), &skips);
    path
}

fn report(run: &Path, options: &[&str]) -> Output {
    fsderby().arg("report").arg(run).args(options).current_dir(run.parent().unwrap()).output().unwrap()
}

fn printed(run: &Path, options: &[&str]) -> String {
    let output = report(run, options);
    assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_terminal_shows_who_took_part_and_says_once_who_did_not() {
    let folder = tempfile::tempdir().unwrap();
    let run = compared(folder.path());
    for options in [&[][..], &["--all"]] {
        let text = printed(&run, options);
        assert_eq!(text.matches("fat16").count(), 2, "{text}");
        assert!(text.contains("skipped fat16, fat32: this kernel has no vfat — try: a kernel"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let turns = "5 rounds in random order; 2 of 4 filesystems (fat16 and fat32 skipped: this kernel has no vfat), 20 \
                     trials counted.";
        assert!(words.contains(turns), "{text}");
        assert!(text.contains("Does every format tell the same?") && !text.contains("It should"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
    assert!(printed(&run, &["--all"]).contains("p99.9"));
}

#[test]
fn all_are_compared_with_the_best_or_with_the_candidate_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let run = compared(folder.path());
    let text = printed(&run, &["--baseline", "ext4"]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("times as good as ext4 each candidate is"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&printed(&run, &["--json", "--baseline", "xfs"])).unwrap();
    let comparison = &json["summary"]["workloads"][0]["comparisons"][0];
    assert_eq!((&comparison["to"], &comparison["is_baseline"]), (&"xfs".into(), &true.into()));
    let finding = &json["verdict"]["findings"][0];
    for key in ["finding", "metric", "a", "b", "ratio"] {
        assert!(!finding[key].is_null(), "{finding}");
    }
    let output = report(&run, &["--baseline", "ext5"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(i32::from(fsderby::exit::USAGE)), "{said}");
    assert!(said.contains("did you mean 'ext4'?") && said.contains("try:"), "{said}");
}

#[test]
fn every_format_is_written_and_holds_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = compared(folder.path());
    let files = ["--html", "r.html", "--markdown", "r.md", "--csv-trials", "r.csv", "--csv", "results.csv"];
    assert_eq!(printed(&run, &files), "", "files alone print nothing");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();

    let html = read("r.html");
    assert!(html.starts_with("<!DOCTYPE html>") && html.trim_end().ends_with("</html>"));
    assert!(html.contains("It should.") && html.contains("skipped fat16, fat32:"));
    assert!(read("r.md").contains("- skipped fat16, fat32: this kernel has no vfat"));
    let csv = read("r.csv");
    assert_eq!(csv.lines().filter(|l| l.contains(",transactions.rate,")).count(), 20);
    assert_eq!(csv.lines().filter(|l| l.contains(",skipped,")).count(), 4);
    let results = read("results.csv");
    assert_eq!(
        results.lines().filter(|l| l.contains(",transactions.rate,")).count(),
        4,
        "two works of two filesystems"
    );
    assert!(
        results
            .lines()
            .filter(|l| l.contains(",transactions.rate,"))
            .all(|l| l.ends_with("preliminary") || l.ends_with("reference"))
    );

    let json: serde_json::Value = serde_json::from_str(&printed(&run, &["--json"])).unwrap();
    assert_eq!(json["trials"].as_array().map(Vec::len), Some(4 + 4 + 20), "skips, integrity checks, trials");
    assert_eq!(json["summary"]["filesystems"].as_array().map(Vec::len), Some(2));

    let found = &json["summary"]["recommendation"];
    assert_eq!((&found["profile"], &found["rounds"]), (&"file-server".into(), &5.into()));
    let choice = found["choice"]["filesystem"].as_str().unwrap();
    assert!(["ext4", "xfs"].contains(&choice), "{found}");
    let said = format!("the estimates so far would choose {choice}: its weighted mean over these needs is");
    assert!(html.contains(&said) && read("r.md").contains(&said), "{said}");
    let weight = |need: usize| found["needs"][need]["weight"].as_f64();
    assert_eq!((weight(0), weight(1)), (Some(5.0), Some(2.0)), "what is shared, and what is stated");
}

#[test]
fn nothing_is_recommended_where_nothing_is_to_choose() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let alone = EXPERIMENT.replace(r#"["fat16", "fat32", "ext4", "xfs"]"#, r#"["ext4"]"#);
    let plan = Experiment::parse(&alone, "test").unwrap().plan("loop".into(), 1).unwrap();
    quiet::run(&path, &plan, &Testbeds::one(&Scripted::well()), &[]);
    let json: serde_json::Value = serde_json::from_str(&printed(&path, &["--json"])).unwrap();
    assert!(json["summary"]["recommendation"].is_null(), "{}", json["summary"]);
    let sound = fsderby().arg("verify").arg(&path).output().unwrap();
    assert!(sound.status.success(), "{}", String::from_utf8_lossy(&sound.stderr));
    assert!(!printed(&path, &[]).contains("xcluded"));
}

#[test]
fn a_file_that_is_there_is_refused_and_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let run = compared(folder.path());
    for (option, name) in [
        ("--html", "r.html"),
        ("--markdown", "r.md"),
        ("--csv", "r.csv"),
        ("--csv-trials", "t.csv"),
        ("--summary", "s.html"),
        ("--summary", "s.txt"),
    ] {
        std::fs::write(folder.path().join(name), "mine").unwrap();
        let output = report(&run, &[option, name]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(i32::from(fsderby::exit::USAGE)), "{said}");
        assert!(said.contains("already exists") && said.contains("try: another name"), "{said}");
        assert_eq!(std::fs::read_to_string(folder.path().join(name)).unwrap(), "mine");
    }
}

#[test]
fn a_dash_is_standard_output_for_one_format_alone() {
    let folder = tempfile::tempdir().unwrap();
    let run = compared(folder.path());
    let opening = printed(&run, &["--summary", "-", "--ascii"]);
    assert!(opening.is_ascii() && opening.lines().all(|line| line.len() <= 72), "{opening}");
    assert!(
        opening.contains("scripted: no verdict yet (5 of 6 rounds)") && opening.contains("To repeat it:"),
        "{opening}"
    );
    assert!(printed(&run, &["--html", "-"]).starts_with("<!DOCTYPE html>"));
    assert!(printed(&run, &["--markdown", "-"]).starts_with("# scripted"));
    assert!(printed(&run, &["--csv", "-"]).starts_with("run,standing,workload,metric"));
    assert!(!folder.path().join("-").exists());
    for options in [&["--html", "-", "--csv", "-"][..], &["--html", "-", "--json"], &["--csv", "-", "--all"]]
    {
        let output = report(&run, options);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(i32::from(fsderby::exit::USAGE)), "{said}");
        assert!(
            output.stdout.is_empty() && said.contains("both go to standard output") && said.contains("try:"),
            "{said}"
        );
    }
    let output = report(&run, &["--summary", "s.pdf", "--html", "r.html"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(i32::from(fsderby::exit::USAGE)), "{said}");
    assert!(
        said.contains("s.pdf") && said.contains(".html or .txt") && !folder.path().join("r.html").exists(),
        "{said}"
    );
}

#[test]
fn pictures_go_into_a_folder_and_overwrite_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let run = compared(folder.path());
    assert_eq!(printed(&run, &["--svg", "pictures"]), "");
    let files = || {
        let all = std::fs::read_dir(folder.path().join("pictures")).unwrap();
        all.map(|file| file.unwrap().file_name().into_string().unwrap()).collect::<Vec<String>>()
    };
    let names = files();
    assert!(names.contains(&"postmark-quick-transactions.rate-ratios.svg".to_owned()), "{names:?}");
    let output = report(&run, &["--svg", "pictures"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(i32::from(fsderby::exit::USAGE)), "{said}");
    assert!(said.contains("already exists") && said.contains("try: another folder"), "{said}");
    assert_eq!(files().len(), names.len());
}

#[test]
fn a_torn_line_is_told_in_every_format_for_people() {
    let kept = tempfile::tempdir().unwrap();
    let run = compared(kept.path());
    let trials = run.join("trials.jsonl");
    let text = std::fs::read(&trials).unwrap();
    std::fs::write(&trials, &text[..text.len() - 40]).unwrap();
    // It was killed before its end.
    std::fs::remove_file(run.join("seal.json")).unwrap();
    let report = ["--html", "r.html", "--markdown", "r.md", "--all"];
    let terminal = printed(&run, &report);
    let file = |name: &str| std::fs::read_to_string(kept.path().join(name)).unwrap();
    for (what, text) in [("terminal", terminal), ("HTML", file("r.html")), ("Markdown", file("r.md"))] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("was not written completely; only that trial is lost"), "{what}");
    }
}

#[test]
fn metrics_of_another_version_are_no_damage_and_are_computed_again() {
    let kept = tempfile::tempdir().unwrap();
    let run = compared(kept.path());
    let mut forger = Forger::of(&run);
    for record in forger.records.iter_mut().filter(|record| record.metrics_version > 0) {
        record.metrics_version -= 1000;
        record.metrics.iter_mut().for_each(|metric| metric.value *= 3.0);
    }
    forger.write();
    let older = forger.folder();
    for format in ["--csv", "--csv-trials"] {
        assert_eq!(printed(&older, &[format, "-"]), printed(&run, &[format, "-"]), "every figure is ours");
    }
    let json: serde_json::Value = serde_json::from_str(&printed(&older, &["--json"])).unwrap();
    let note = json["summary"]["notes"][0].as_str().unwrap();
    assert!(note.starts_with("The metrics of 24 trials were stored by another version of fsderby"), "{note}");
    assert_eq!(json["summary"]["damage"], serde_json::json!([]));
    let (terminal, summary) = (printed(&older, &[]), printed(&older, &["--summary", "-"]));
    for text in [terminal, summary, printed(&older, &["--markdown", "-"]), printed(&older, &["--html", "-"])]
    {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("**", "");
        assert!(text.contains(note) && !text.to_lowercase().contains("damaged"), "{text}");
    }
    assert!(!printed(&run, &[]).contains("another version"));
    let said = |command: &str, folders: &[&Path]| {
        let output = fsderby().arg(command).args(folders).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = said("verify", &[&older]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("were not checked") && text.contains("OK, as far as this version can check"));
    assert!(text.contains(" 0 metrics "), "none of them was recomputed: {text}");
    let (code, text) = said("compare", &[&run, &older]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Neither run has a trial of those that were skipped.
    assert_eq!(code, Some(i32::from(fsderby::exit::TRIALS)), "{text}");
    assert!(text.contains("Of the second run: The metrics of 24 trials"), "{text}");
    let missing = "fat16 and fat32 in postmark-quick and maildir-quick: nothing is compared, because neither \
                   run has a valid trial.";
    assert_eq!(text.matches("has a valid trial.").count(), 1, "{text}");
    assert!(text.contains(missing), "{text}");
    // What else is wrong with it stays damage.
    forger.records.iter_mut().rev().take(1).for_each(|record| record.order += 1);
    forger.write();
    let output = report(&older, &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(i32::from(fsderby::exit::DAMAGED)), "{text}");
    assert!(text.contains("damaged: ") && text.contains("note: The metrics of 24 trials"), "{text}");
}
