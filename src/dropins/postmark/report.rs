//! The original's reports, with whole seconds, 32-bit sums of bytes and C's integer divisions.

use std::fmt;

const KILO: f32 = 1024.0;
const MEGA: f32 = 1024.0 * 1024.0;

/// The counts of a run. Bytes are summed file by file in 32-bit floats, as in the original, so the report has their rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    pub created: u32,
    pub read: u32,
    pub appended: u32,
    pub deleted: u32,
    pub bytes_read: f32,
    pub bytes_written: f32,
}

impl Counters {
    pub fn count_read(&mut self, bytes: u32) {
        self.read += 1;
        self.bytes_read += bytes as f32;
    }

    /// Counts a file that was created or extended.
    pub fn count_written(&mut self, bytes: u32) {
        self.bytes_written += bytes as f32;
    }
}

/// The durations of a run in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds {
    total: u32,
    creation: u32,
    transactions: u32,
    deletion: u32,
}

impl Seconds {
    /// Computes the durations from the clock at the start, before and after the transactions, and at the end. Each duration is at
    /// least 1 s.
    pub fn between([start, before, after, end]: [i64; 4]) -> Self {
        let difference = |from: i64, to: i64| to.saturating_sub(from).clamp(1, i64::from(i32::MAX)) as u32;
        Seconds {
            total: difference(start, end),
            creation: difference(start, before),
            transactions: difference(before, after),
            deletion: difference(after, end),
        }
    }
}

/// The data of a complete run's report.
pub struct Report {
    pub number: u32,
    pub transactions: u32,
    /// Files deleted after the transactions.
    pub deleted_alone: u32,
    pub counters: Counters,
    pub seconds: Seconds,
}

/// `N bytes`, or kilobytes or megabytes with two decimals.
pub fn size(bytes: u32) -> String {
    match bytes as f32 {
        _ if bytes < 1024 => format!("{bytes} bytes"),
        value if bytes < 1024 * 1024 => format!("{:.2} kilobytes", value / KILO),
        value => format!("{:.2} megabytes", value / MEGA),
    }
}

/// Prints a sum or a rate; all values but 0 are printed in kilobytes or megabytes.
fn sum(bytes: f32) -> String {
    if bytes > MEGA {
        format!("{:.2} megabytes", bytes / MEGA)
    } else if bytes != 0.0 {
        format!("{:.2} kilobytes", bytes / KILO)
    } else {
        "0.000000 bytes".to_owned()
    }
}

impl Report {
    fn created_mixed(&self) -> u32 {
        self.counters.created - self.number
    }

    fn deleted_mixed(&self) -> u32 {
        self.counters.deleted - self.deleted_alone
    }

    /// The terse report: 13 numbers in one line.
    pub fn terse(&self) -> String {
        let Report { counters, seconds, .. } = self;
        let per = |count: u32, seconds: u32| count as f32 / seconds as f32;
        let rates = [
            per(self.transactions, seconds.transactions),
            per(counters.created, seconds.total),
            per(self.number, seconds.creation),
            per(self.created_mixed(), seconds.transactions),
            per(counters.read, seconds.transactions),
            per(counters.appended, seconds.transactions),
            per(counters.deleted, seconds.total),
            per(self.deleted_alone, seconds.deletion),
            per(self.deleted_mixed(), seconds.transactions),
            counters.bytes_read / seconds.total as f32,
            counters.bytes_written / seconds.total as f32,
        ];
        let rates: String = rates.iter().map(|rate| format!(" {rate:.2}")).collect();
        format!("{} {}{rates}\n", seconds.total, seconds.transactions)
    }
}

/// The verbose report.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { number, transactions, deleted_alone, counters, seconds } = self;
        let Counters { created, read, appended, deleted, bytes_read, bytes_written } = counters;
        let Seconds { total, creation, transactions: working, deletion } = seconds;
        let (created_mixed, deleted_mixed) = (self.created_mixed(), self.deleted_mixed());
        writeln!(f, "Time:")?;
        writeln!(f, "\t{total} seconds total")?;
        writeln!(f, "\t{working} seconds of transactions ({} per second)\n", transactions / working)?;
        writeln!(f, "Files:")?;
        writeln!(f, "\t{created} created ({} per second)", created / total)?;
        writeln!(f, "\t\tCreation alone: {number} files ({} per second)", number / creation)?;
        mixed(f, created_mixed, created_mixed / working)?;
        writeln!(f, "\t{read} read ({} per second)", read / working)?;
        writeln!(f, "\t{appended} appended ({} per second)", appended / working)?;
        writeln!(f, "\t{deleted} deleted ({} per second)", deleted / total)?;
        writeln!(f, "\t\tDeletion alone: {deleted_alone} files ({} per second)", deleted_alone / deletion)?;
        mixed(f, deleted_mixed, deleted_mixed / working)?;
        writeln!(f, "\nData:")?;
        for (bytes, done) in [(bytes_read, "read"), (bytes_written, "written")] {
            writeln!(f, "\t{} {done} ({} per second)", sum(*bytes), sum(bytes / *total as f32))?;
        }
        Ok(())
    }
}

fn mixed(f: &mut fmt::Formatter<'_>, files: u32, rate: u32) -> fmt::Result {
    writeln!(f, "\t\tMixed with transactions: {files} files ({rate} per second)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::Tool;
    use crate::imports::postmark::PostMarkReports;

    #[test]
    fn what_is_written_in_either_form_is_imported_as_the_same_figures() {
        let counters = Counters {
            created: 27272,
            read: 24986,
            appended: 24955,
            deleted: 27272,
            bytes_read: 1_656_236_000.0,
            bytes_written: 1_801_430_000.0,
        };
        let seconds = Seconds::between([100, 107, 131, 134]);
        let report = Report { number: 2000, transactions: 50_000, deleted_alone: 2544, counters, seconds };
        let all = |text: &str| {
            let read = PostMarkReports.read(text).expect(text);
            assert_eq!((read.found.len(), read.other_lines), (1, 0), "{text}");
            let figures = read.found[0].figures.iter();
            (read.found[0].work.clone(), figures.map(|f| (f.metric.clone(), f.value)).collect::<Vec<_>>())
        };
        let (verbose, terse) = (all(&report.to_string()), all(&report.terse()));
        let expected = [
            ("transactions.rate", 2083.0, 2083.33),
            ("create.alone.rate", 285.0, 285.71),
            ("create.mixed.rate", 1053.0, 1053.0),
            ("read.rate", 1041.0, 1041.08),
            ("append.rate", 1039.0, 1039.79),
            ("delete.alone.rate", 848.0, 848.0),
            ("delete.mixed.rate", 1030.0, 1030.33),
            ("work.time", 34.0, 34.0),
        ];
        for (metric, whole, exact) in expected {
            let value = |figures: &[(String, Option<f64>)]| {
                figures.iter().find(|(name, _)| name == metric).and_then(|f| f.1)
            };
            assert_eq!((value(&verbose.1), value(&terse.1)), (Some(whole), Some(exact)), "{metric}");
        }
        assert!(PostMarkReports.alike(&verbose.0, &terse.0), "{}\n{}", verbose.0, terse.0);
    }
}
