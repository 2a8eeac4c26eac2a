//! PostMark's reports: the verbose report, and the terse report with 13 numbers in a line.
//!
//! A report does not contain the parameters, only counts: files created, read, appended to and deleted, and their bytes. With
//! the same parameters and PostMark's own seed, the counts are the same on every machine, so they show whether two runs did the
//! same work.

mod report;
#[cfg(test)]
mod tests;
mod text;

use toml::{Table, Value};

use self::report::OFF;
use super::{Part, Read, Tool, Wrong};
use crate::schema::units::{Bytes, KIB, MIB};
use crate::workloads::postmark::dry::dry_run;
use crate::workloads::postmark::parameters::Parameters;

pub struct PostMarkReports;

/// To compare a report, the work of the parameters is counted, unless it has more transactions: 20 million take seconds.
const MOST_COUNTED: u32 = 20_000_000;
/// The relative error that sums of 32-bit floats in PostMark may have.
const FLOATS: f64 = 1e-4;

impl Tool for PostMarkReports {
    fn name(&self) -> &'static str {
        "postmark"
    }

    fn title(&self) -> &'static str {
        "PostMark"
    }

    fn engine(&self) -> &'static str {
        "postmark"
    }

    fn story(&self) -> &'static str {
        "PostMark's clock has whole seconds, and less than one counts as one: a rate over few seconds is coarse. Its report does not say \
         the parameters, so that work is taken for the same where the files and bytes are. It syncs nothing and checks nothing."
    }

    fn parts(&self) -> Vec<Part> {
        let part = |title, columns: &[(&str, &'static str)]| Part {
            title,
            columns: columns.iter().map(|(metric, heading)| ((*metric).to_owned(), *heading)).collect(),
        };
        vec![
            part(
                "transactions",
                &[
                    ("transactions.rate", "transactions"),
                    ("read.throughput", "read"),
                    ("write.throughput", "write"),
                    ("work.time", "time"),
                ],
            ),
            part(
                "among the transactions",
                &[
                    ("create.mixed.rate", "create"),
                    ("read.rate", "read"),
                    ("append.rate", "append"),
                    ("delete.mixed.rate", "delete"),
                ],
            ),
            part("alone", &[("create.alone.rate", "create"), ("delete.alone.rate", "delete")]),
        ]
    }

    fn read(&self, text: &str) -> Result<Read, Vec<Wrong>> {
        text::read(text)
    }

    fn unlike(&self, work: &Table, parameters: &Table) -> Result<Vec<String>, String> {
        let parameters = Parameters::parse(parameters)?;
        // If the parameters have no seed, PostMark's own seed is used.
        let rules = parameters.rules;
        if rules.transactions > MOST_COUNTED || rules.number > MOST_COUNTED {
            return Err("the work here is too much to be counted".into());
        }
        let here = dry_run(&rules);
        let counts = [
            ("number", "files at first", u64::from(rules.number)),
            ("created", "files created", here.totals.created),
            ("read", "files read", here.totals.read),
            ("appended", "files appended to", here.totals.appended),
            ("deleted_alone", "files deleted at last", here.live),
        ];
        let off = work.get(OFF).and_then(Value::as_integer).unwrap_or(0);
        let is_near = |there: i64, here: u64| {
            there.abs_diff(i64::try_from(here).unwrap_or(i64::MAX)) <= off.unsigned_abs()
        };
        let mut differences = Vec::new();
        for (key, what, here) in counts {
            let there = work.get(key).and_then(Value::as_integer);
            if let Some(there) = there.filter(|there| !is_near(*there, here)) {
                differences.push(format!("{what} {there}, here {here}"));
            }
        }
        for (key, what, here) in [
            ("bytes_read", "read", here.totals.bytes_read),
            ("bytes_written", "written", here.totals.bytes_written),
        ] {
            let there = work.get(key).and_then(Value::as_float);
            if let Some(there) = there.filter(|there| !is_same(*there, here)) {
                differences.push(format!("{} {what}, here {}", mib(there), mib(here as f64)));
            }
        }
        if parameters.fsync {
            differences.push("nothing synced, here each file".into());
        }
        Ok(differences)
    }

    fn alike(&self, one: &Table, other: &Table) -> bool {
        let off = [one, other].iter().filter_map(|work| work.get(OFF)?.as_integer()).sum::<i64>();
        let is_near = |(key, value): (&String, &Value)| match (value, other.get(key)) {
            _ if key == OFF => true,
            (Value::Integer(one), Some(Value::Integer(other))) => one.abs_diff(*other) <= off.unsigned_abs(),
            (Value::Float(one), Some(Value::Float(other))) => is_same(*one, *other as u64),
            _ => false,
        };
        one.iter().all(is_near)
    }

    fn described(&self, work: &Table) -> String {
        let count = |key: &str| work.get(key).and_then(Value::as_integer).unwrap_or(0);
        let bytes = |key: &str| Bytes(work.get(key).and_then(Value::as_float).unwrap_or(0.0) as u64);
        format!(
            "{} files at first, {} created, {} read, {} appended to; {} read, {} written",
            count("number"),
            count("created"),
            count("read"),
            count("appended"),
            bytes("bytes_read"),
            bytes("bytes_written")
        )
    }
}

/// A number of bytes as PostMark prints it.
fn mib(bytes: f64) -> String {
    format!("{:.2} MiB", bytes / MIB as f64)
}

/// Whether two numbers are equal within the two printed decimals and the rounding of the sums.
fn is_same(there: f64, here: u64) -> bool {
    let unit = if there > MIB as f64 { MIB } else { KIB } as f64;
    (there - here as f64).abs() <= 0.01 * unit + FLOATS * there
}
