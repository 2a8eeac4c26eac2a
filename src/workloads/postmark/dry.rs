//! A run without I/O: its amount of work, and whether files remain until its end.

use std::cell::RefCell;
use std::convert::Infallible;

use super::drive::{self, Ended, Extent, Files};
use super::generator::{File, Generator};
use super::rules::Rules;

/// Exact sums of a run in which every operation succeeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub created: u64,
    pub read: u64,
    pub appended: u64,
    pub deleted: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DryRun {
    pub totals: Totals,
    pub files_peak: u64,
    pub bytes_peak: u64,
    /// Files that exist after the transactions.
    pub live: u64,
    pub ended: Ended,
}

/// Number of cached runs. A set with a fixed seed has the same run in every round, so that verifying ten thousand records needs the
/// same run ten thousand times.
const REMEMBERED: usize = 8;

thread_local! {
    /// The last runs, oldest first.
    static KNOWN: RefCell<Vec<(Rules, DryRun)>> = const { RefCell::new(Vec::new()) };
}

/// Returns the cached run for the same rules.
pub fn dry_run(rules: &Rules) -> DryRun {
    let known = || KNOWN.with_borrow(|known| known.iter().find(|(of, _)| of == rules).map(|(_, run)| *run));
    known().unwrap_or_else(|| {
        let run = counted(rules);
        KNOWN.with_borrow_mut(|known| {
            if known.len() == REMEMBERED {
                known.remove(0);
            }
            known.push((rules.clone(), run));
        });
        run
    })
}

fn counted(rules: &Rules) -> DryRun {
    let mut generator = Generator::without_source(rules);
    let mut ledger = Ledger::default();
    let run = |generator: &mut Generator, ledger: &mut Ledger| -> Result<DryRun, Infallible> {
        drive::create_pool(generator, ledger, Extent::WHOLE, || ())?;
        let ended = drive::transactions(generator, ledger, Extent::WHOLE, |_, _| ())?;
        let live = ledger.files;
        drive::delete_pool(generator, ledger, || ())?;
        let Ledger { totals, files_peak, bytes_peak, .. } = *ledger;
        Ok(DryRun { totals, files_peak, bytes_peak, live, ended })
    };
    let Ok(done) = run(&mut generator, &mut ledger);
    done
}

#[derive(Default)]
struct Ledger {
    totals: Totals,
    files: u64,
    files_peak: u64,
    bytes: u64,
    bytes_peak: u64,
}

impl Ledger {
    fn write(&mut self, bytes: u32) {
        self.totals.bytes_written += u64::from(bytes);
        self.bytes += u64::from(bytes);
        self.bytes_peak = self.bytes_peak.max(self.bytes);
    }
}

impl Files for Ledger {
    type Error = Infallible;

    fn create(&mut self, file: File) -> Result<(), Infallible> {
        self.totals.created += 1;
        self.files += 1;
        self.files_peak = self.files_peak.max(self.files);
        self.write(file.bytes);
        Ok(())
    }

    fn read(&mut self, file: File) -> Result<bool, Infallible> {
        self.totals.read += 1;
        self.totals.bytes_read += u64::from(file.bytes);
        Ok(true)
    }

    fn append(&mut self, _file: File, more: impl FnOnce() -> u32) -> Result<bool, Infallible> {
        self.totals.appended += 1;
        self.write(more());
        Ok(true)
    }

    fn delete(&mut self, file: File) -> Result<bool, Infallible> {
        self.totals.deleted += 1;
        self.files -= 1;
        self.bytes -= u64::from(file.bytes);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_those_that_the_original_reports() {
        let b = Rules { number: 2000, transactions: 50_000, low: 1000, high: 100_000, ..Rules::default() };
        let Totals { created, read, appended, deleted, bytes_read, bytes_written } = dry_run(&b).totals;
        assert_eq!([created, read, appended, deleted], [27272, 24986, 24955, 27272]);
        let megabytes = |bytes: u64| (bytes as f64 / 1_048_576.0 * 100.0).round() / 100.0;
        assert_eq!([megabytes(bytes_read), megabytes(bytes_written)], [1579.51, 1717.99]);
    }

    #[test]
    fn a_run_whose_files_are_used_up_says_when() {
        let dry = dry_run(&Rules { number: 1, transactions: 500, bias_create: Some(0), ..Rules::default() });
        assert_eq!(dry.ended, Ended::OutOfFiles(1));
    }

    #[test]
    fn what_is_remembered_is_what_would_be_counted_again() {
        let rules = |seed| Rules { number: 20, transactions: 100, seed, ..Rules::default() };
        for seed in (0..2 * REMEMBERED as u32).chain(0..2) {
            assert_eq!(dry_run(&rules(seed)), counted(&rules(seed)), "{seed}");
            assert_eq!(dry_run(&rules(seed)), counted(&rules(seed)), "{seed}, again");
        }
        assert_eq!(KNOWN.with_borrow(Vec::len), REMEMBERED);
    }
}
