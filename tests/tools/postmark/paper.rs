//! A published paper as an oracle of the byte counters.
//!
//! B. Djordjevic, V. Timcenko, D. Ilic, "Komparacija sistema datoteka na Linux kernelu 2.6", tables 3 to 8.
//! PostMark prints bytes per second from whole seconds, so with the right counters each pair of figures
//! follows from one whole number.

use std::convert::Infallible;

use fsderby::dropins::postmark::report::{Counters, Report, Seconds};
use fsderby::papers::{self, Table};
use fsderby::workloads;
use fsderby::workloads::postmark::drive::{self, Ended, Extent, Files};
use fsderby::workloads::postmark::generator::{File, Generator};
use fsderby::workloads::postmark::parameters::Parameters;
use fsderby::workloads::postmark::rules::Rules;

/// In the order of the figures.
const METRICS: [&str; 2] = ["read.throughput", "write.throughput"];

/// One test: the set, PostMark's unit, and how many whole seconds each kind took. What was printed is in the set's own file.
type Test = (&'static str, &'static str, [(&'static str, i64); 5]);

const TESTS: [Test; 3] = [
    (
        "mail-2008-1",
        "megabytes",
        [
            ("ext2", 333),
            ("ext3-writeback", 377),
            ("ext3-ordered", 434),
            ("ext3-journal", 770),
            ("reiserfs", 272),
        ],
    ),
    (
        "mail-2008-2",
        "kilobytes",
        [
            ("ext2", 88),
            ("ext3-writeback", 96),
            ("ext3-ordered", 174),
            ("ext3-journal", 224),
            ("reiserfs", 144),
        ],
    ),
    (
        "mail-2008-3",
        "megabytes",
        [
            ("ext2", 1441),
            ("ext3-writeback", 1450),
            ("ext3-ordered", 1214),
            ("ext3-journal", 1759),
            ("reiserfs", 478),
        ],
    ),
];

/// Nothing but the original's counters.
struct Counting(Counters);

impl Files for Counting {
    type Error = Infallible;

    fn create(&mut self, file: File) -> Result<(), Infallible> {
        self.0.created += 1;
        self.0.count_written(file.bytes);
        Ok(())
    }

    fn read(&mut self, file: File) -> Result<bool, Infallible> {
        self.0.count_read(file.bytes);
        Ok(true)
    }

    fn append(&mut self, _file: File, more: impl FnOnce() -> u32) -> Result<bool, Infallible> {
        self.0.appended += 1;
        self.0.count_written(more());
        Ok(true)
    }

    fn delete(&mut self, _file: File) -> Result<bool, Infallible> {
        self.0.deleted += 1;
        Ok(true)
    }
}

fn rules(set: &str) -> Rules {
    let (_, set) = workloads::find(set).expect("the set is shipped");
    Parameters::parse(&set.file().parameters).expect("it parses").rules_for(0)
}

fn published(set: &str) -> Table {
    let tables = papers::find("djordjevic-2008").expect("the paper is shipped").tables;
    tables.into_iter().find(|table| table.workload == set).expect("it has figures for this set")
}

fn count(rules: &Rules) -> Counters {
    let mut generator = Generator::without_source(rules);
    let mut counting = Counting(Counters::default());
    let Ok(()) = drive::create_pool(&mut generator, &mut counting, Extent::WHOLE, || ());
    assert_eq!(
        drive::transactions(&mut generator, &mut counting, Extent::WHOLE, |_, _| ()),
        Ok(Ended::Complete)
    );
    let Ok(()) = drive::delete_pool(&mut generator, &mut counting, || ());
    counting.0
}

/// `1553.93 megabytes read (4.67 megabytes per second)` → 4.67.
fn printed_rate(report: &str, done: &str, unit: &str) -> f64 {
    let line = report.lines().find(|line| line.contains(&format!("bytes {done} ("))).expect("a line of it");
    let rate = line.split('(').nth(1).and_then(|rest| rest.strip_suffix(" per second)")).expect("a rate");
    rate.strip_suffix(unit).and_then(|number| number.trim().parse().ok()).expect("a number of that unit")
}

#[test]
fn byte_counters_reproduce_both_rates_of_a_row_from_one_duration_in_whole_seconds() {
    for (set, unit, filesystems) in TESTS {
        let rules = rules(set);
        let published = published(set);
        assert_eq!((published.metrics.join(" "), published.figures.len()), (METRICS.join(" "), 5));
        let counters = count(&rules);
        for (kind, seconds) in filesystems {
            let report = Report {
                number: rules.number,
                transactions: rules.transactions,
                deleted_alone: 0,
                counters,
                seconds: Seconds::between([0, 1, 2, seconds]),
            }
            .to_string();
            let rates = ["read", "written"].map(|done| printed_rate(&report, done, unit));
            assert_eq!(rates.as_slice(), published.figures[kind], "{set}, {kind} in {seconds} s");
        }
    }
}

#[test]
fn the_first_test_was_not_run_with_the_number_that_is_printed() {
    let ratio = |set: &str| {
        let Counters { bytes_read, bytes_written, .. } = count(&rules(set));
        f64::from(bytes_read) / f64::from(bytes_written)
    };
    let fastest = &published("mail-2008-1").figures["reiserfs"];
    let [run, printed, paper] =
        [ratio("mail-2008-1"), ratio("mail-2008-1-as-printed"), fastest[0] / fastest[1]];
    assert!((run - paper).abs() < 0.001 && (printed - paper).abs() > 0.06, "{run} {printed} {paper}");
}
