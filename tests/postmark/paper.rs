//! A published paper as an oracle of the byte counters.
//!
//! B. Djordjevic, V. Timcenko, D. Ilic, "Komparacija sistema datoteka na Linux kernelu 2.6", tables 3 to 8.
//! PostMark prints bytes per second from whole seconds, so with the right counters each pair of figures
//! follows from one whole number.

use std::convert::Infallible;

use fsderby::workloads;
use fsderby::workloads::postmark::drive::{self, Ended, Extent, Files};
use fsderby::workloads::postmark::dropin::report::{Counters, Report, Seconds};
use fsderby::workloads::postmark::generator::{File, Generator};
use fsderby::workloads::postmark::parameters::Parameters;
use fsderby::workloads::postmark::rules::Rules;

/// One test: the set, the unit, and for ext2, ext3 writeback, ordered and journal, and ReiserFS the seconds
/// and what was printed for reading and writing.
type Table = (&'static str, &'static str, [(i64, f64, f64); 5]);

const TABLES: [Table; 3] = [
    (
        "mail-2008-1",
        "megabytes",
        [(333, 4.67, 5.46), (377, 4.12, 4.82), (434, 3.58, 4.19), (770, 2.02, 2.36), (272, 5.71, 6.68)],
    ),
    (
        "mail-2008-2",
        "kilobytes",
        [
            (88, 158.33, 364.76),
            (96, 145.14, 334.36),
            (174, 80.07, 184.48),
            (224, 62.2, 143.3),
            (144, 96.76, 222.91),
        ],
    ),
    (
        "mail-2008-3",
        "megabytes",
        [(1441, 3.27, 3.53), (1450, 3.25, 3.51), (1214, 3.88, 4.19), (1759, 2.68, 2.89), (478, 9.86, 10.64)],
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
fn all_thirty_figures_of_the_paper_follow_from_whole_seconds() {
    for (set, unit, filesystems) in TABLES {
        let rules = rules(set);
        let counters = count(&rules);
        for (seconds, read, written) in filesystems {
            let report = Report {
                number: rules.number,
                transactions: rules.transactions,
                deleted_alone: 0,
                counters,
                seconds: Seconds::between([0, 1, 2, seconds]),
            }
            .to_string();
            let rates = ["read", "written"].map(|done| printed_rate(&report, done, unit));
            assert_eq!(rates, [read, written], "{set} in {seconds} s");
        }
    }
}

#[test]
fn the_first_test_was_not_run_with_the_number_that_is_printed() {
    let ratio = |set: &str| {
        let Counters { bytes_read, bytes_written, .. } = count(&rules(set));
        f64::from(bytes_read) / f64::from(bytes_written)
    };
    let [run, printed, paper] = [ratio("mail-2008-1"), ratio("mail-2008-1-as-printed"), 4.67 / 5.46];
    assert!((run - paper).abs() < 0.001 && (printed - paper).abs() > 0.06, "{run} {printed} {paper}");
}
