//! The content of a report, from either format.

use toml::{Table, Value};

use crate::imports::Found;
use crate::schema::import::Figure;
use crate::schema::units::MIB;

/// The key under which an import stores the possible error of a work's counts.
pub const OFF: &str = "counts_off";

/// The numbers of a report; a number that the format does not print is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    pub seconds: u64,
    pub transactions_seconds: u64,
    pub transactions: Rate,
    pub number: Counted,
    pub created: u64,
    pub mixed_created: Rate,
    pub read: Counted,
    pub appended: Counted,
    pub deleted_alone: Counted,
    pub mixed_deleted: Rate,
    pub bytes_read: Sum,
    pub bytes_written: Sum,
    /// Possible error of the counts, if the report has only rates, from which the counts are computed.
    pub off: u64,
}

/// A printed rate, and the value of one unit of its last digit. Whole numbers are truncated, others rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    pub printed: f64,
    pub digit: f64,
    /// Whether the count behind the rate is above 0.
    pub is_of_some: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counted {
    pub count: u64,
    pub rate: Rate,
}

/// Total bytes and bytes per second as printed, with the value of one unit of the last digit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    pub bytes: f64,
    pub per_second: f64,
    pub digit: f64,
}

impl Report {
    pub fn found(&self, line: usize, program: &str, notes: Vec<String>) -> Found {
        Found {
            line,
            machine: String::new(),
            program: program.to_owned(),
            work: self.work(),
            notes,
            figures: self.figures(),
        }
    }

    fn work(&self) -> Table {
        let counts = [
            ("number", self.number.count),
            ("created", self.created),
            ("read", self.read.count),
            ("appended", self.appended.count),
            ("deleted_alone", self.deleted_alone.count),
        ];
        let mut work = Table::new();
        for (key, count) in counts {
            work.insert(key.into(), Value::Integer(i64::try_from(count).unwrap_or(i64::MAX)));
        }
        if self.off > 0 {
            work.insert(OFF.into(), Value::Integer(i64::try_from(self.off).unwrap_or(i64::MAX)));
        }
        for (key, sum) in [("bytes_read", self.bytes_read), ("bytes_written", self.bytes_written)] {
            work.insert(key.into(), Value::Float(sum.bytes));
        }
        work
    }

    fn figures(&self) -> Vec<Figure> {
        let whole = Some(self.seconds);
        let among = Some(self.transactions_seconds);
        let rates = [
            ("transactions.rate", self.transactions, among),
            ("create.alone.rate", self.number.rate, self.number.seconds()),
            ("create.mixed.rate", self.mixed_created, among),
            ("read.rate", self.read.rate, among),
            ("append.rate", self.appended.rate, among),
            ("delete.alone.rate", self.deleted_alone.rate, self.deleted_alone.seconds()),
            ("delete.mixed.rate", self.mixed_deleted, among),
        ];
        let rates = rates.into_iter().filter(|(_, rate, _)| rate.is_of_some);
        let mut figures: Vec<Figure> = rates
            .map(|(metric, rate, seconds)| figure(metric, "1/s", rate.printed, rate.digit, seconds))
            .collect();
        for (metric, sum) in [("read.throughput", self.bytes_read), ("write.throughput", self.bytes_written)]
        {
            if sum.bytes > 0.0 {
                let [value, digit] = [sum.per_second, sum.digit].map(|bytes| bytes / MIB as f64);
                figures.push(figure(metric, "MiB/s", value, digit, whole));
            }
        }
        let seconds = self.seconds as f64;
        figures.push(Figure {
            metric: "work.time".into(),
            unit: "s".into(),
            value: Some(seconds),
            least: Some(seconds - 1.0),
            most: Some(seconds + 1.0),
        });
        figures
    }
}

impl Counted {
    /// The duration, which no format prints: the count divided by the printed rate.
    fn seconds(&self) -> Option<u64> {
        (self.rate.printed >= 1.0).then(|| (self.count as f64 / self.rate.printed).floor().max(1.0) as u64)
    }
}

/// A difference of N on a clock with whole seconds is a time of N - 1 to N + 1 seconds; a difference of 0 is printed as 1.
fn figure(metric: &str, unit: &str, printed: f64, digit: f64, seconds: Option<u64>) -> Figure {
    let seconds = seconds.map(|n| n as f64);
    let least = seconds.map(|n| printed * n / (n + 1.0));
    let most = seconds.filter(|n| *n > 1.0).map(|n| (printed + digit) * n / (n - 1.0));
    // A rate truncated to 0 may be larger than 0.
    let value = (printed > 0.0).then_some(printed);
    let most = if value.is_none() { most.or(Some(digit)) } else { most };
    Figure { metric: metric.into(), unit: unit.into(), value, least: least.filter(|_| value.is_some()), most }
}
