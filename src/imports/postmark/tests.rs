//! Tests of both forms of the report, and of texts that are not reports.

use super::PostMarkReports;
use crate::imports::{Found, Tool, Wrong};

const VERBOSE: &str = "PostMark v1.51 : 8/14/01\nCreating files...Done\nPerforming transactions..........Done\nDeleting files...Done\n\
Time:\n\t7 seconds total\n\t6 seconds of transactions (8333 per second)\n\nFiles:\n\t27272 created (3896 per second)\n\
\t\tCreation alone: 2000 files (2000 per second)\n\t\tMixed with transactions: 25272 files (4212 per second)\n\
\t24986 read (4164 per second)\n\t24955 appended (4159 per second)\n\t27272 deleted (3896 per second)\n\
\t\tDeletion alone: 2544 files (2544 per second)\n\t\tMixed with transactions: 24728 files (4121 per second)\n\n\
Data:\n\t1579.51 megabytes read (225.64 megabytes per second)\n\t1717.98 megabytes written (245.43 megabytes per second)\n";
const TERSE: &str = "1 1 1000.00 544.00 50.00 494.00 530.00 430.00 544.00 38.00 506.00 83915.00 89621.00";

fn one(text: &str) -> Found {
    let mut found = PostMarkReports.read(text).expect(text).found;
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn wrong(text: &str) -> Wrong {
    PostMarkReports.read(text).expect_err(text).remove(0)
}

fn value(found: &Found, metric: &str) -> Option<f64> {
    found.figures.iter().find(|figure| figure.metric == metric)?.value
}

#[test]
fn the_verbose_report_gives_what_it_prints() {
    let found = one(VERBOSE);
    let seen = [
        "transactions.rate",
        "create.alone.rate",
        "read.rate",
        "delete.mixed.rate",
        "read.throughput",
        "work.time",
    ]
    .map(|metric| value(&found, metric));
    assert_eq!(seen, [8333.0, 2000.0, 4164.0, 4121.0, 225.64, 7.0].map(Some));
    assert_eq!((found.line, found.program.as_str()), (5, "PostMark 1.51"));
    let rate = &found.figures[0];
    // A rate of 8333 to 8334 per second over 6 seconds, which may really be 5 to 7 seconds.
    assert_eq!((rate.least, rate.most), (Some(8333.0 * 6.0 / 7.0), Some(8334.0 * 6.0 / 5.0)));
}

#[test]
fn the_same_files_and_bytes_are_the_same_work() {
    let work = one(VERBOSE).work;
    let parameters = |more: &str| -> toml::Table {
        format!("number = 2000\ntransactions = 50000\nsize = [1000, 100000]\n{more}").parse().expect("TOML")
    };
    assert_eq!(PostMarkReports.unlike(&work, &parameters("")), Ok(Vec::new()));
    let differs = |more: &str| PostMarkReports.unlike(&work, &parameters(more)).expect("counted");
    assert!(differs("bias_read = 6").len() > 2);
    assert_eq!(differs("fsync = true").len(), 1);
    let mut other = work.clone();
    other.insert("bytes_read".into(), toml::Value::Float(1579.53 * 1_048_576.0 + 200_000.0));
    let only_bytes = PostMarkReports.unlike(&other, &parameters(""));
    assert_eq!(only_bytes, Ok(vec!["1579.72 MiB read, here 1579.51 MiB".to_owned()]));
}

#[test]
fn the_terse_report_gives_its_counts_back() {
    let found = one(&format!("some text\n{TERSE}\n"));
    assert_eq!(found.line, 2);
    let counts =
        ["number", "created", "read", "appended", "deleted_alone"].map(|key| found.work[key].as_integer());
    assert_eq!(counts, [50, 544, 530, 430, 38].map(Some));
    assert_eq!(value(&found, "create.alone.rate"), Some(50.0));
    assert!(PostMarkReports.alike(&found.work, &one(TERSE).work));
    assert!(!PostMarkReports.alike(&found.work, &one(VERBOSE).work));
}

#[test]
fn a_rate_of_one_second_has_no_upper_bound_and_one_cut_off_to_nothing_is_not_nothing() {
    let terse = one(TERSE);
    assert_eq!((terse.figures[0].least, terse.figures[0].most), (Some(500.0), None));
    let slow = VERBOSE.replace("24986 read (4164 per second)", "5 read (0 per second)");
    let rate =
        one(&slow).figures.into_iter().find(|figure| figure.metric == "read.rate").expect("some were read");
    assert_eq!((rate.value, rate.least), (None, None));
    assert!(rate.most.is_some_and(|most| most > 1.0));
    let none = one(&VERBOSE.replace("24986 read (4164 per second)", "0 read (0 per second)"));
    assert_eq!(value(&none, "read.rate"), None);
    assert!(none.figures.iter().all(|figure| figure.metric != "read.rate"));
}

#[test]
fn a_report_that_is_cut_or_changed_is_refused_with_its_place() {
    let cut = wrong(&VERBOSE[..VERBOSE.find("Data:").expect("there is data")]);
    assert!(cut.what.contains("ends before 'Data:'"), "{}", cut.what);
    let changed = wrong(&VERBOSE.replace("24986 read (", "24986 read ["));
    assert_eq!((changed.line, changed.column), (13, 7), "{}", changed.what);
    let number = wrong(&VERBOSE.replace("27272 created", "99999999999 created"));
    assert_eq!((number.line, number.column), (10, 2));
    let short = wrong(TERSE.trim_end_matches(" 89621.00"));
    assert!(short.what.contains("12 numbers"), "{}", short.what);
    assert!(wrong(&TERSE.replacen('1', "0", 1)).what.contains("seconds"));
}

#[test]
fn other_text_is_passed_over_and_a_run_without_a_report_is_told() {
    let text = "Time: it was late\nTime:\nnothing\n1 2 3 4 5 6 7 8 9 10 11 12 13\nPerforming transactions.....out of files!\n";
    let read = PostMarkReports.read(text).expect("text");
    assert_eq!((read.found.len(), read.other_lines), (0, 5));
    assert!(read.notes[0].contains("line 5"), "{:?}", read.notes);
}

#[test]
fn a_report_in_a_mail_or_a_page_is_read_with_a_note() {
    let plain = one(VERBOSE);
    for (before, behind, what) in [
        ("> ", "", "the quote marks of a mail"),
        ("> > ", "", "the quote marks of a mail"),
        (">>", "", "the quote marks of a mail"),
        ("&gt; ", "<br />", "the quote marks of a mail and the tags of a page"),
        ("", "<br>", "the tags of a page"),
        ("    > ", "\\", "the quote marks of a mail and a backslash at the end"),
    ] {
        let text: String = VERBOSE.lines().map(|line| format!("{before}{line}{behind}\n")).collect();
        let found = one(&text);
        assert_eq!((&found.work, &found.figures), (&plain.work, &plain.figures), "{before}…{behind}");
        assert_eq!((found.line, found.program.as_str()), (5, "PostMark 1.51"));
        assert_eq!(found.notes, [format!("read without {what}")]);
        assert_eq!(one(&format!("{before}{TERSE}{behind}")).notes.len(), 2, "{before}…{behind}");
    }
    let cut: String = VERBOSE.lines().take(8).map(|line| format!("> {line}\n")).collect();
    let twice = format!("{cut}> {}\n", TERSE.replacen("1 1 ", "0 1 ", 1));
    let wrong = PostMarkReports.read(&twice).expect_err("two are bad");
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert_eq!(wrong[1].column, 2);
}
