//! The `parameters` table of a trial.

use toml::{Table, Value};

use super::matrix::{self, Pair};
use super::passes::Ways;
use super::table::{NAMES, Pass, Test};
use crate::schema::units::{Bytes, GIB, MIB, Scale};
use crate::text::names;
use crate::workloads::kit::Keys;

/// The tests, the sizes, and the options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The tests in numerical order; the first test creates the file.
    pub tests: Vec<Test>,
    /// The pairs of file size and record size, in ascending order; at least one.
    pub pairs: Vec<Pair>,
    pub ways: Ways,
    /// Whether tests run their second pass, such as rewrite after write.
    pub retest: bool,
}

const KEYS: &[&str] = &[
    "tests",
    "file_sizes",
    "record_sizes",
    "crossover",
    "retest",
    "stride",
    "fsync",
    "close",
    "direct",
    "o_sync",
];
/// The original's minimum is 1 KiB.
pub const SMALLEST_RECORD: u64 = 64;
pub const LARGEST_RECORD: u64 = 16 * MIB;
/// Alignment of direct I/O that every disk accepts.
const SECTOR: u64 = 512;
/// A file of this size fills any filesystem here.
const LARGEST_FILE: u64 = 16 * 1024 * GIB;
/// The random order takes four bytes per record.
const MOST_RECORDS: u64 = 1 << 27;
const MOST_SIZES: usize = 64;

impl Parameters {
    pub fn parse(table: &Table) -> Result<Self, String> {
        let keys = Keys::of(table, KEYS)?;
        let defaults = Ways::default();
        let is = |key| keys.or(key, false);
        let ways = Ways {
            fsync: is("fsync")?,
            close: is("close")?,
            direct: is("direct")?,
            o_sync: is("o_sync")?,
            stride: keys.or("stride", defaults.stride)?,
        };
        if ways.stride == 0 {
            return Err("stride = 0: write a number of records, at least 1".into());
        }
        let files = sizes(keys, "file_sizes", SMALLEST_RECORD..=LARGEST_FILE)?;
        let keys = Keys::of(table, KEYS)?;
        let records = sizes(keys, "record_sizes", SMALLEST_RECORD..=LARGEST_RECORD)?;
        let granule = if ways.direct { SECTOR } else { SMALLEST_RECORD };
        if let Some(record) = records.iter().find(|record| !record.is_multiple_of(granule)) {
            let why = if ways.direct { ", as direct I/O needs it" } else { "" };
            return Err(format!("record_sizes: {record} is not a multiple of {granule} bytes{why}"));
        }
        let pairs = matrix::pairs(&files, &records, is("crossover")?);
        check(&pairs)?;
        Ok(Parameters { tests: tests(keys)?, pairs, ways, retest: keys.or("retest", true)? })
    }

    /// A test's passes in a trial.
    pub fn passes(&self, test: Test) -> impl Iterator<Item = Pass> + Clone + use<> {
        let retest = self.retest;
        let left_out = move |pass: Pass| pass == Pass::BackwardReread || pass.is_again() && !retest;
        test.passes().iter().copied().filter(move |pass| !left_out(*pass))
    }

    /// All passes on one file.
    pub fn all_passes(&self) -> impl Iterator<Item = Pass> + '_ {
        self.tests.iter().flat_map(|test| self.passes(*test))
    }
}

fn check(pairs: &[Pair]) -> Result<(), String> {
    if pairs.is_empty() {
        return Err(
            "file_sizes: every record is larger than every file; write a larger file or a smaller record"
                .into(),
        );
    }
    match pairs.iter().find(|pair| pair.records() > MOST_RECORDS) {
        None => Ok(()),
        Some(Pair { file, record }) => Err(format!(
            "a file of {} has more than {MOST_RECORDS} records of {}; write a larger record or a smaller file",
            Bytes(*file),
            Bytes(*record)
        )),
    }
}

/// The tests that the key `tests` names; without it, all but the mixed test.
fn tests(keys: Keys<'_>) -> Result<Vec<Test>, String> {
    let Some(written) = keys.get::<Vec<String>>("tests")? else {
        return Ok(super::table::TESTS[..Test::Mixed as usize].to_vec());
    };
    let find = |name: &String| Test::find(name).ok_or_else(|| names::unknown("test", name, NAMES));
    let mut tests: Vec<Test> = written.iter().map(find).collect::<Result<_, _>>()?;
    tests.sort_unstable();
    tests.dedup();
    match tests.first() {
        Some(Test::Write) => Ok(tests),
        _ => Err("tests: 'write' is required, because it creates the file for the other tests".into()),
    }
}

fn sizes(keys: Keys<'_>, key: &str, within: std::ops::RangeInclusive<u64>) -> Result<Vec<u64>, String> {
    let written: Vec<Bytes> = keys.needed(key)?;
    if written.is_empty() || written.len() > MOST_SIZES {
        return Err(format!("{key}: write 1 to {MOST_SIZES} sizes"));
    }
    if let Some(wrong) = written.iter().find(|size| !within.contains(&size.0)) {
        let (least, most) = (Bytes(*within.start()), Bytes(*within.end()));
        return Err(format!("{key}: {wrong} is not between {least} and {most}"));
    }
    let mut sizes: Vec<u64> = written.into_iter().map(|size| size.0).collect();
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

/// Scales files; record sizes stay, because they define the work. Omits records that no longer fit into their file; no file is
/// smaller than the smallest record.
pub fn scale(table: &Table, by: Scale) -> Result<Table, String> {
    let keys = Keys::of(table, KEYS)?;
    let records = sizes(keys, "record_sizes", SMALLEST_RECORD..=LARGEST_RECORD)?;
    let smallest = records.first().copied().unwrap_or(SMALLEST_RECORD);
    let files = sizes(keys, "file_sizes", SMALLEST_RECORD..=LARGEST_FILE)?;
    let mut scaled: Vec<u64> = files.into_iter().map(|file| by.apply(file).max(smallest)).collect();
    scaled.dedup();
    let value = |size| i64::try_from(size).map_err(|_| format!("file_sizes: {by} is too large"));
    let scaled = scaled.into_iter().map(|size| value(size).map(Value::Integer)).collect::<Result<_, _>>()?;
    let mut table = table.clone();
    table.insert("file_sizes".into(), Value::Array(scaled));
    Parameters::parse(&table).map(|_| table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::units::KIB;

    fn parsed(text: &str) -> Result<Parameters, String> {
        Parameters::parse(&text.parse().expect("TOML"))
    }

    const SIZES: &str = "file_sizes = ['1m', '64m']\nrecord_sizes = ['4k', '64k']\n";

    #[test]
    fn what_is_not_said_is_the_originals() {
        let parameters = parsed(SIZES).expect("parameters");
        assert_eq!(parameters.tests.len(), 8, "all but the mixed one");
        assert_eq!((parameters.pairs.len(), parameters.retest, parameters.ways), (4, true, Ways::default()));
        let crossing = parsed(&format!("{SIZES}crossover = true")).expect("parameters");
        assert_eq!(crossing.pairs.len(), 3);
    }

    #[test]
    fn a_mistake_is_named() {
        for (more, words) in [
            ("tests = ['read']", "'write' is required"),
            ("tests = ['write', 'strid']", "did you mean 'stride'?"),
            ("stride = 0", "at least 1"),
            ("fsnc = true", "did you mean 'fsync'?"),
            ("fsync = 1", "fsync: "),
        ] {
            let error = parsed(&format!("{SIZES}{more}")).expect_err(more);
            assert!(error.contains(words), "{more}: {error}");
        }
        for (text, words) in [
            ("record_sizes = ['4k']", "file_sizes is missing"),
            ("file_sizes = []\nrecord_sizes = ['4k']", "write 1 to"),
            ("file_sizes = ['1m']\nrecord_sizes = [32]", "32 bytes is not between 64 bytes and 16 MiB"),
            ("file_sizes = ['1m']\nrecord_sizes = [100]", "not a multiple of 64"),
            ("file_sizes = ['1m']\nrecord_sizes = [64]\ndirect = true", "direct I/O"),
            ("file_sizes = ['1m']\nrecord_sizes = ['2m']", "every record is larger"),
            ("file_sizes = ['1t']\nrecord_sizes = [64]", "more than 134217728 records"),
        ] {
            let error = parsed(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_scale_changes_the_files_and_leaves_out_what_no_longer_fits() {
        let table: Table = SIZES.parse().expect("TOML");
        let by = Scale { of: 1, by: 64 };
        let scaled = scale(&table, by).and_then(|table| Parameters::parse(&table)).expect("scaled");
        let pairs: Vec<(u64, u64)> = scaled.pairs.iter().map(|pair| (pair.file, pair.record)).collect();
        assert_eq!(pairs, [(16 * KIB, 4 * KIB), (MIB, 4 * KIB), (MIB, 64 * KIB)]);
        let tiny = scale(&table, Scale { of: 1, by: 1 << 20 }).and_then(|table| Parameters::parse(&table));
        assert_eq!(tiny.expect("scaled").pairs, [Pair { file: 4 * KIB, record: 4 * KIB }]);
    }
}
