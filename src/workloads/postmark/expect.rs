//! The expected amount of work, for runs with too many operations to count.
//!
//! The pool is a number of files and the bytes by which they may still grow. On average, each transaction does:
//! ```text
//! an append   uses half of the bytes by which a file may grow  rest −= rest/files / 2
//! a creation  adds a file that may grow by half of the range   files += 1, rest += (high − low) / 2
//! a deletion  removes a file                                   files −= 1, rest −= rest/files
//! ```
//! These changes are summed in steps of a thousandth of the run. The real amount deviates more if the pool is small.

use super::rules::Rules;
use crate::schema::work::Amount;

const STEPS: u32 = 1000;

pub fn amount(rules: &Rules) -> Amount {
    let [number, transactions, low, high] =
        [rules.number, rules.transactions, rules.low, rules.high].map(f64::from);
    let share = |tenths: Option<u32>| tenths.map(|tenths| f64::from(tenths) / 10.0);
    let (read, append) = share(rules.bias_read).map_or((0.0, 0.0), |read| (read, 1.0 - read));
    let (create, delete) = share(rules.bias_create).map_or((0.0, 0.0), |create| (create, 1.0 - create));
    let new = (high - low) / 2.0;
    let (mut files, mut rest) = (number, number * new);
    let mut amount = Sums { written: files * (high - new), ..Sums::default() };
    let step = transactions / f64::from(STEPS);
    amount.peak(files, rest, high);
    for _ in 0..STEPS {
        if files < 1.0 {
            break;
        }
        // The table has twice as many slots as initial files; a file without a slot is not created.
        let create = if files >= 2.0 * number { create.min(delete) } else { create };
        let mean = rest / files;
        amount.read += step * read * (high - mean);
        amount.written += step * (append * mean / 2.0 + create * (high - new));
        rest = (rest + step * (create * new - (append / 2.0 + delete) * mean)).max(0.0);
        files = (files + step * (create - delete)).clamp(0.0, 2.0 * number);
        amount.peak(files, rest, high);
    }
    Amount {
        files_peak: amount.files as u64,
        bytes_read: amount.read as u64,
        bytes_written: amount.written as u64,
        bytes_peak: amount.bytes as u64,
    }
}

#[derive(Default)]
struct Sums {
    read: f64,
    written: f64,
    files: f64,
    bytes: f64,
}

impl Sums {
    fn peak(&mut self, files: f64, rest: f64, high: f64) {
        self.files = self.files.max(files);
        self.bytes = self.bytes.max(files * high - rest);
    }
}

#[cfg(test)]
mod tests {
    use super::super::dry::dry_run;
    use super::*;

    fn is_near(expected: u64, counted: u64, what: &str, rules: &Rules) {
        let off = (expected as f64 - counted as f64).abs() / (counted as f64).max(1.0);
        assert!(off < 0.03, "{what}: {expected} expected, {counted} counted, of {rules:?}");
    }

    #[test]
    fn what_is_expected_is_what_is_counted_within_three_in_a_hundred() {
        let rules = Rules { number: 50_000, transactions: 100_000, ..Rules::default() };
        for rules in [
            rules.clone(),
            Rules { transactions: 20_000, ..rules.clone() },
            Rules { bias_create: Some(8), transactions: 150_000, ..rules.clone() },
            Rules { bias_create: None, bias_read: Some(9), ..rules.clone() },
            Rules { bias_read: None, ..rules.clone() },
            Rules { low: 1000, high: 1000, ..rules.clone() },
            Rules { bias_read: Some(0), bias_create: Some(3), transactions: 50_000, ..rules.clone() },
        ] {
            let (expected, counted) = (amount(&rules), dry_run(&rules));
            is_near(expected.files_peak, counted.files_peak, "files", &rules);
            is_near(expected.bytes_peak, counted.bytes_peak, "live bytes", &rules);
            is_near(expected.bytes_written, counted.totals.bytes_written, "bytes written", &rules);
            is_near(expected.bytes_read, counted.totals.bytes_read, "bytes read", &rules);
        }
    }
}
