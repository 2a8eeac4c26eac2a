//! What a report says of filesystems that lost synced files to a power cut, on a scripted testbed.

use crate::support::carry::{carry_out, cut};
use crate::support::scripted::Scripted;
use fsderby::report::Report;
use fsderby::runner::experiment::Experiment;
use fsderby::runner::verify::verify;
use fsderby::schema::event::Event;

const EXPERIMENT: &str = r#"
name = "lossy"
size = "1g"
memory = "64m"
workloads = ["maildir-quick"]
filesystems = ["ext2", "ext4", "xfs"]
rounds = 2
seed = 7
"#;

#[test]
fn a_recovery_after_which_files_were_missing_is_shown_with_the_loss_and_compared_with_nobody() {
    let plan = Experiment::parse(EXPERIMENT, "test").unwrap().plan("loop".into(), 1).unwrap();
    let plan = cut(plan, "50%");
    let folder = tempfile::tempdir().unwrap();
    let lossy = Scripted::event(|job, event| {
        let Event::Survivors(seen) = event else { return };
        let is_lossy = job.trial == "r01/maildir-quick/xfs" || job.trial.ends_with("maildir-quick/ext2");
        if is_lossy {
            (seen.missing, seen.nameless, seen.lost) = (2, 3, vec!["s0/17: is missing".into()]);
        }
    });
    let run = carry_out(&folder.path().join("run"), &plan, &lossy, &[], None);
    let report = Report::of(&run);
    let work = report.summary.workloads.iter().find(|work| work.label == "maildir-quick").unwrap();
    let cell = |metric: &str, label: &str| {
        let row = work.rows().find(|row| row.name == metric).unwrap();
        row.cells.iter().find(|cell| cell.filesystem == label).unwrap().clone()
    };
    assert_eq!(["ext2", "ext4", "xfs"].map(|label| cell("recovery.time", label).n), [2, 2, 2]);
    assert!(cell("recovery.time", "ext2").median.is_some_and(|seconds| seconds > 0.0));
    let lost =
        |label: &str| cell("recovery.lost", label).values.iter().map(|v| v.value).collect::<Vec<f64>>();
    assert_eq!((lost("ext2"), lost("ext4"), lost("xfs")), (vec![5.0; 2], vec![0.0; 2], vec![5.0, 0.0]));
    let notes = work.notes().join("\n");
    for said in [
        "ext2: 5 of 300 synced files were lost (s0/17: is missing), in 2 of 2 trials",
        "xfs: 5 of 300",
        "in 1 of 2 trials",
    ] {
        assert!(notes.contains(said), "{notes}");
    }
    assert!(!notes.contains("ext4: "), "{notes}");
    assert!(
        report
            .summary
            .verdict
            .findings
            .iter()
            .all(|f| f.scenario != "maildir-quick" || ![&f.a, &f.b].contains(&&"ext2".to_owned()))
    );
    assert!(
        work.comparisons.iter().all(|compared| compared.line("ext2").is_none()),
        "{:?}",
        work.comparisons
    );
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
}
