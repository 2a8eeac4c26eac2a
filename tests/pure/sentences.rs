//! No report says an order that was not found: runs of the scripted testbed, judged and reported in every format.

use std::path::Path;

use anstream::adapter::strip_str;
use fsderby::report::Report;
use fsderby::report::claims;
use fsderby::report::formats::terminal;
use fsderby::report::view::sentence::Said;
use fsderby::runner::experiment::Experiment;
use fsderby::schema::event::Event;
use fsderby::schema::job::Job;
use fsderby::schema::plan::Plan;
use fsderby::store::Run;

use crate::support::carry::carry_out;
use crate::support::scripted::Scripted;

fn plan(rounds: u32, seed: u64) -> Plan {
    let text = format!(
        "name = 'sentences'\nfilesystems = ['ext2', 'ext4', 'xfs', 'btrfs']\nworkloads = ['postmark-quick', 'maildir-quick']\n\
         rounds = {rounds}\nseed = {seed}"
    );
    Experiment::parse(&text, "test").unwrap().plan("loop".into(), seed).unwrap()
}

/// Each takes so many times as long as it would, and in each trial a little more or less.
fn scattered(times: [f64; 4], scatter: f64, seed: u64) -> Scripted {
    Scripted::event(move |job: &Job, event| {
        let filesystem = job.trial.rsplit('/').next().unwrap();
        let at = ["ext2", "ext4", "xfs", "btrfs"].iter().position(|name| *name == filesystem).unwrap_or(0);
        let hash = blake3::hash(format!("{seed} {}", job.trial).as_bytes());
        let share = f64::from(hash.as_bytes()[0]) / 255.0;
        if let Event::Phase(phase) = event {
            phase.ns = (1e9 * times[at] * (1.0 + scatter * (2.0 * share - 1.0))) as u64;
        }
    })
}

/// What no finding allows, in any format.
fn wrong(run: &Run) -> Vec<String> {
    claims::wrong(&Report::of(run)).unwrap()
}

fn run(folder: &Path, rounds: u32, times: [f64; 4], scatter: f64, seed: u64) -> Run {
    let path = folder.join(format!("run-{seed}-{rounds}"));
    carry_out(&path, &plan(rounds, seed), &scattered(times, scatter, seed), &[], None)
}

#[test]
fn no_report_of_a_run_says_an_order_that_was_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut betters = 0;
    for (seed, (times, scatter)) in [
        ([1.0, 1.0, 1.0, 1.0], 0.1),
        ([1.0, 1.02, 1.5, 3.0], 0.02),
        ([1.0, 1.1, 1.2, 1.3], 0.12),
        ([2.0, 1.0, 1.0, 1.05], 0.3),
    ]
    .into_iter()
    .enumerate()
    {
        for rounds in [3, 12] {
            let run = run(folder.path(), rounds, times, scatter, seed as u64 + 1);
            assert_eq!(wrong(&run), Vec::<String>::new(), "seed {seed}, {rounds} rounds");
            let claims = Report::of(&run).summary.heading.claims;
            let better = claims.iter().filter(|claim| claim.said == Said::Better).count();
            assert!(rounds > 3 || better == 0, "three rounds find nothing");
            betters += better;
        }
    }
    assert!(betters > 4, "some order was found: {betters}");
}

#[test]
fn a_run_of_short_work_is_preliminary_and_says_what_takes_longer() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(folder.path(), 12, [1.0, 1.0, 1.5, 3.0], 0.02, 9);
    let report = Report::of(&run);
    let text = strip_str(&terminal::opening(&report, 80)).to_string();
    let heading = &report.summary.heading;
    assert!(heading.standing.has_findings() && heading.standing.is_preliminary(), "{text}");
    assert!(
        text.contains("sentences: preliminary, because the trials are short")
            && text.contains("fsderby run mailserver --filesystems ext2,ext4,xfs,btrfs")
    );
    assert!(!text.contains(" short:"), "{text}");
    assert_eq!(serde_json::to_value(heading.standing).unwrap(), "preliminary");
}
