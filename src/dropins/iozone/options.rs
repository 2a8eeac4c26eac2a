//! The original's options, parsed like getopt: letters may be combined, and a value is attached or in the next word.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::exit;
use crate::schema::units::{Bytes, GIB, KIB, MIB};
use crate::workloads::iozone::matrix::{self, Pair};
use crate::workloads::iozone::parameters::LARGEST_RECORD;
use crate::workloads::iozone::passes::Ways;
use crate::workloads::iozone::table::{TESTS, Test};
use crate::workloads::iozone::trial::FILE;

/// Exit code of the original if sizes contradict each other.
pub const CONTRADICTION: u8 = 23;
/// Exit code of the original if `-t` is combined with the automatic mode.
const AUTO_WITH_PROCESSES: u8 = 17;

/// The parsed options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    Help,
    Version,
    Run(Box<Options>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// `-a`, `-A`: automatic mode, which tries several sizes.
    pub auto: bool,
    /// `-z`: also small records on large files.
    pub full: bool,
    /// `-i`, in ascending order.
    pub tests: Vec<Test>,
    /// File sizes: `-s`, or the range from `-n` to `-g`.
    pub files: Vec<u64>,
    /// Record sizes: `-r`, or the range from `-y` to `-q`.
    pub records: Vec<u64>,
    /// Whether `-s`, `-r`, `-y` or `-q` was given; then no combination of small records and large files is skipped.
    pub chosen: bool,
    pub ways: Ways,
    /// Whether write and read tests run a second time; `-+n` turns this off.
    pub retest: bool,
    /// `-w`
    pub keep: bool,
    /// `-f`
    pub file: PathBuf,
    /// `-R`
    pub excel: bool,
    /// `-b`: writes the tables of `-R` to this spreadsheet file too.
    pub spreadsheet: Option<PathBuf>,
    /// `-t`, `-l`, `-u`: several parallel processes.
    pub together: Option<Together>,
    /// Words that belong to no option, which IOzone ignores too.
    pub passed_over: Vec<String>,
    pub shown: Shown,
    /// `-U`
    pub mount: Option<PathBuf>,
    /// `-S` and `-L`, which are only printed.
    pub cache_kib: u64,
    pub line_bytes: u64,
}

/// The throughput mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Together {
    /// Numbers of parallel processes, measured one after the other; not empty.
    pub counts: Vec<usize>,
    /// Whether the first process that finishes ends the measurement of all; `-x` turns this off.
    pub stonewall: bool,
    /// `-C`: prints a line for each process.
    pub each: bool,
    /// `-T`: the output calls the processes threads.
    pub threads: bool,
    /// One file for each process, for the largest number of processes.
    pub files: Vec<PathBuf>,
}

/// The unit of the table's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// KiB per second.
    Throughput,
    /// `-O`: operations per second.
    Operations,
    /// `-N`: microseconds per operation.
    Microseconds,
}

/// Why the command cannot run, with its exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: u8,
    pub message: String,
}

fn refused(message: impl Into<String>) -> Refusal {
    Refusal { code: exit::USAGE, message: message.into() }
}

fn contradiction(message: impl Into<String>) -> Refusal {
    Refusal { code: CONTRADICTION, message: message.into() }
}

/// Default file size if neither -a nor a size is given.
const ONE_FILE: u64 = 512 * KIB;
const ONE_RECORD: u64 = 4 * KIB;

/// The largest number of processes that IOzone starts.
const MOST_TOGETHER: usize = 256;
const TESTS_TOGETHER: &str = "0 to 3 and 5 to 7";
const TESTS_TOGETHER_NUMBERS: [u8; 7] = [0, 1, 2, 3, 5, 6, 7];
/// Options of IOzone that are not supported: the letter, its subject, whether it takes a value, and what to try instead.
const NOT_SERVED: &[(u8, &str, bool, &str)] = &[
    (b'B', "mapped files", false, "without it"),
    (b'd', "a delay between processes", true, "without it"),
    (b'D', "mmap with asynchronous msync", false, "without it"),
    (b'E', "pwrite, pread and their vector variants", false, "-i 0 to -i 7"),
    (b'G', "mmap with synchronous msync", false, "without it"),
    (b'H', "POSIX asynchronous I/O", true, "without it"),
    (b'k', "POSIX asynchronous I/O without copies", true, "without it"),
    (b'K', "jitter", false, "without it"),
    (b'm', "several buffers", false, "without it"),
    (b'M', "the machine's name in the report", false, "without it"),
    (b'p', "purging the CPU cache", false, "without it"),
    (b'P', "CPU affinity of processes", true, "without it"),
    (b'Q', "latency log files", false, "without it"),
    (b'V', "a pattern for verification", true, "without -V: all data read is verified anyway"),
    (b'W', "locks", false, "without it"),
    (b'X', "a write telemetry file", true, "without it"),
    (b'Y', "a read telemetry file", true, "without it"),
    (b'Z', "mmap instead of read and write", false, "without it"),
];

/// The options parsed so far.
#[derive(Default)]
struct Read {
    options: Option<Asked>,
    auto: bool,
    old_auto: bool,
    full: bool,
    tests: Vec<u8>,
    files: Vec<u64>,
    records: Vec<u64>,
    least_file: Option<u64>,
    most_file: Option<u64>,
    least_record: Option<u64>,
    most_record: Option<u64>,
    ways: Ways,
    once: bool,
    keep: bool,
    file: Option<PathBuf>,
    excel: bool,
    shown: Option<Shown>,
    mount: Option<PathBuf>,
    cache_kib: Option<u64>,
    line_bytes: Option<u64>,
    spreadsheet: Option<PathBuf>,
    counts: Vec<usize>,
    fewest: Option<usize>,
    most: Option<usize>,
    each: bool,
    threads: bool,
    no_stonewall: bool,
    several_files: Option<Vec<PathBuf>>,
    passed_over: Vec<String>,
    /// The first option that is not supported; it is reported before any mistake in later options.
    not_served: Option<Refusal>,
}

/// Parses the words of the command line after the command's name.
pub fn parse(words: &[OsString]) -> Result<Asked, Refusal> {
    let mut read = Read::default();
    match read.words(words) {
        Err(mistake) => Err(read.not_served.unwrap_or(mistake)),
        Ok(()) => read.understood(),
    }
}

fn takes_value(letter: u8) -> bool {
    let not_served = NOT_SERVED.iter().any(|(own, _, takes, _)| *own == letter && *takes);
    not_served || b"bfFgijlLnqrsStuUy".contains(&letter)
}

/// The options behind `-+` whose value is the next word.
const PLUS_WITH_VALUE: &[u8] = b"chmipxAqKwyCSWHPO";

impl Read {
    fn words(&mut self, words: &[OsString]) -> Result<(), Refusal> {
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            let Some(letters) = word.as_bytes().strip_prefix(b"-").filter(|letters| !letters.is_empty())
            else {
                self.passed_over.push(word.to_string_lossy().into_owned());
                continue;
            };
            let mut letters = letters.iter();
            while let Some(&letter) = letters.next() {
                let rest = letters.as_slice();
                let value = if takes_value(letter) {
                    let value = if rest.is_empty() {
                        words.next().map(|w| w.as_bytes().to_vec())
                    } else {
                        Some(rest.to_vec())
                    };
                    letters = [].iter();
                    let missing = || {
                        let letter = char::from(letter);
                        refused(format!("-{letter} needs a value\n  try: fsderby iozone -h"))
                    };
                    value.ok_or_else(missing)?
                } else if letter == b'+' {
                    letters.next().into_iter().copied().collect()
                } else {
                    Vec::new()
                };
                if letter == b'+' && value.first().is_some_and(|plus| PLUS_WITH_VALUE.contains(plus)) {
                    words.next_if(|word| !word.as_bytes().starts_with(b"-"));
                }
                if letter == b'F' {
                    let needed = self.most_together().max(1);
                    let mut files = vec![path(&value)];
                    while files.len() < needed {
                        let Some(file) = words.next_if(|word| !word.as_bytes().starts_with(b"-")) else {
                            break;
                        };
                        files.push(PathBuf::from(file));
                    }
                    self.files_of_each(files)?;
                    continue;
                }
                self.letter(letter, &value)?;
            }
        }
        Ok(())
    }

    /// Largest number of processes in the options parsed so far; 0 if none was given.
    fn most_together(&self) -> usize {
        self.counts.iter().copied().chain(self.most).chain(self.fewest).max().unwrap_or(0)
    }

    /// Checks `-F` as IOzone does, which must already know how many words are file names.
    fn files_of_each(&mut self, files: Vec<PathBuf>) -> Result<(), Refusal> {
        let needed = self.most_together();
        if needed == 0 {
            return Err(refused("-F must follow the number of processes\n  try: -t N before -F"));
        }
        if files.len() < needed {
            return Err(refused(format!(
                "-F names only {named} of {needed} files\n  try: a file for each process, or without -F",
                named = files.len()
            )));
        }
        self.several_files = Some(files);
        Ok(())
    }

    fn not_served(&mut self, message: String) {
        self.not_served.get_or_insert_with(|| refused(message));
    }

    fn letter(&mut self, letter: u8, value: &[u8]) -> Result<(), Refusal> {
        match letter {
            b'a' => self.auto = true,
            b'A' => self.old_auto = true,
            b'c' => self.ways.close = true,
            b'e' => self.ways.fsync = true,
            b'b' => (self.excel, self.spreadsheet) = (true, Some(path(value))),
            b'C' => self.each = true,
            b'f' => self.file = Some(path(value)),
            b'g' => self.most_file = Some(size(letter, value)?),
            b'h' | b'?' => self.options = Some(Asked::Help),
            b'i' => self.tests.push(test(value)?),
            b'I' => self.ways.direct = true,
            b'j' => {
                self.ways.stride = number(letter, value)?.try_into().map_err(|_| too_large(letter, value))?
            }
            b'l' => self.fewest = Some(together(letter, value)?),
            b'L' => self.line_bytes = Some(number(letter, value)?),
            b'n' => self.least_file = Some(size(letter, value)?),
            b'N' => self.shown = Some(Shown::Microseconds),
            b'o' => self.ways.o_sync = true,
            b'O' => self.shown = Some(Shown::Operations),
            b'q' => self.most_record = Some(size(letter, value)?),
            b'r' => self.records.push(size(letter, value)?),
            b'R' => self.excel = true,
            b's' => self.files.push(size(letter, value)?),
            b'S' => self.cache_kib = Some(number(letter, value)?),
            b't' => self.counts.push(together(letter, value)?),
            b'T' => self.threads = true,
            b'u' => self.most = Some(together(letter, value)?),
            b'U' => self.mount = Some(path(value)),
            b'v' => self.options = Some(Asked::Version),
            b'w' => self.keep = true,
            b'x' => self.no_stonewall = true,
            b'y' => self.least_record = Some(size(letter, value)?),
            b'z' => self.full = true,
            b'+' if value == b"n" => self.once = true,
            b'+' => {
                let value = String::from_utf8_lossy(value);
                self.not_served(format!(
                    "-+{value} is not supported\n  try: without it; of these options only -+n is supported"
                ));
            }
            letter => match NOT_SERVED.iter().find(|(own, ..)| *own == letter) {
                Some((_, about, _, instead)) => self.not_served(format!(
                    "-{letter} ({about}) is not supported\n  try: {instead}",
                    letter = char::from(letter)
                )),
                None => {
                    return Err(refused(format!(
                        "unknown option -{}\n  try: fsderby iozone -h",
                        letter.escape_ascii()
                    )));
                }
            },
        }
        Ok(())
    }

    fn understood(self) -> Result<Asked, Refusal> {
        if let Some(asked) = self.options {
            return Ok(asked);
        }
        let auto = self.auto || self.old_auto;
        let together = self.together(auto);
        if let Some(refusal) = self.not_served {
            return Err(refusal);
        }
        let together = together?;
        let bounds = [self.least_file, self.most_file, self.least_record, self.most_record];
        if !auto && bounds.iter().any(Option::is_some) {
            return Err(refused(
                "-n, -g, -y and -q limit the automatic mode\n  try: -a with them, or -s and -r",
            ));
        }
        let chosen = !self.records.is_empty()
            || !self.files.is_empty()
            || self.least_record.is_some()
            || self.most_record.is_some();
        let one = |size: u64, auto_sizes: Vec<u64>| if auto { auto_sizes } else { vec![size] };
        let files = self.auto_files()?;
        let records = self.auto_records()?;
        let options = Options {
            auto,
            full: self.full || self.old_auto,
            tests: tests(&self.tests, self.old_auto)?,
            files: given(self.files, || one(ONE_FILE, files)),
            records: given(self.records, || one(ONE_RECORD, records)),
            chosen,
            ways: self.ways,
            retest: !self.once,
            keep: self.keep,
            file: self.file.unwrap_or_else(|| PathBuf::from(FILE)),
            excel: self.excel,
            spreadsheet: self.spreadsheet,
            together,
            passed_over: self.passed_over,
            shown: self.shown.unwrap_or(Shown::Throughput),
            mount: self.mount,
            cache_kib: self.cache_kib.unwrap_or(1024),
            line_bytes: self.line_bytes.unwrap_or(32),
        };
        options.check().map(|()| Asked::Run(Box::new(options)))
    }

    /// The options of the throughput mode; `None` if it is not requested.
    fn together(&self, auto: bool) -> Result<Option<Together>, Refusal> {
        let counts = match (self.fewest, self.most) {
            (None, None) => self.counts.clone(),
            (fewest, most) => {
                let fewest = fewest.unwrap_or(1);
                let most = most.unwrap_or(fewest);
                if fewest > most {
                    return Err(contradiction(format!(
                        "the minimum of {fewest} processes exceeds the maximum of {most}\n  try: a smaller -l or a larger -u"
                    )));
                }
                (fewest..=most).collect()
            }
        };
        let Some(largest) = counts.iter().max().copied() else { return Ok(None) };
        let bounds = [self.least_file, self.most_file, self.least_record, self.most_record];
        let mixed = |message: &str| Refusal { code: AUTO_WITH_PROCESSES, message: message.to_owned() };
        if auto || bounds.iter().any(Option::is_some) {
            return Err(mixed(
                "several processes and the automatic mode exclude each other\n  try: -t with one -s and one -r; fsderby run \
                 with --clients N compares several clients",
            ));
        }
        if self.file.is_some() {
            return Err(mixed("-f names one file for several processes\n  try: -F with a file for each"));
        }
        if self.mount.is_some() {
            return Err(refused("-U cannot be used with several processes\n  try: without -U"));
        }
        if self.shown == Some(Shown::Microseconds) {
            return Err(refused("-N cannot be used with several processes\n  try: -O, or neither"));
        }
        if self.files.len() > 1 || self.records.len() > 1 {
            return Err(refused(
                "several processes must share one file size and one record size\n  try: one -s and one -r",
            ));
        }
        if self.tests.contains(&(Test::Mixed as u8)) {
            return Err(refused(format!(
                "the mixed test (8) is not supported\n  try: -i {TESTS_TOGETHER}, without -i 8"
            )));
        }
        let has_one = |number: u8| TESTS_TOGETHER_NUMBERS.contains(&number);
        if !self.tests.is_empty() && !self.tests.iter().copied().any(has_one) {
            return Err(refused(format!(
                "none of these tests can run with several processes\n  try: -i {TESTS_TOGETHER}"
            )));
        }
        let default = |number: usize| PathBuf::from(format!("iozone.DUMMY.{number}"));
        let files = self.several_files.clone().unwrap_or_else(|| (0..largest).map(default).collect());
        if let Some(twice) = files.iter().enumerate().find(|(at, file)| files[..*at].contains(file)) {
            let name = twice.1.display();
            return Err(refused(format!("-F names {name} twice\n  try: another file for each process")));
        }
        if files.len() < largest {
            let named = files.len();
            return Err(refused(format!("-F names only {named} of {largest} files\n  try: -t before -F")));
        }
        Ok(Some(Together {
            counts,
            stonewall: !self.no_stonewall,
            each: self.each,
            threads: self.threads,
            files,
        }))
    }

    fn auto_files(&self) -> Result<Vec<u64>, Refusal> {
        let (least, most) =
            (self.least_file.unwrap_or(matrix::FILES.0), self.most_file.unwrap_or(matrix::FILES.1));
        doubled('n', least, 'g', most)
    }

    fn auto_records(&self) -> Result<Vec<u64>, Refusal> {
        let least = self.least_record.unwrap_or(matrix::RECORDS.0);
        doubled('y', least, 'q', self.most_record.unwrap_or(matrix::RECORDS.1))
    }
}

fn doubled(of_least: char, least: u64, of_most: char, most: u64) -> Result<Vec<u64>, Refusal> {
    if least > most {
        let (least, most) = (Bytes(least), Bytes(most));
        return Err(contradiction(format!(
            "the minimum {least} exceeds the maximum {most}\n  try: a smaller -{of_least} or a larger -{of_most}"
        )));
    }
    Ok(matrix::doubled((least, most)))
}

fn given(mut sizes: Vec<u64>, otherwise: impl FnOnce() -> Vec<u64>) -> Vec<u64> {
    if sizes.is_empty() {
        return otherwise();
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

impl Options {
    /// Pairs of file and record size, file by file.
    pub fn pairs(&self) -> Vec<Pair> {
        matrix::pairs(&self.files, &self.records, self.auto && !self.full && !self.chosen)
    }

    /// The path of the file, or of the file of each process.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.together.as_ref().map_or_else(|| vec![self.file.clone()], |together| together.files.clone())
    }

    fn check(&self) -> Result<(), Refusal> {
        if let Some(record) = self.records.iter().find(|record| !(KIB..=LARGEST_RECORD).contains(*record)) {
            let record = Bytes(*record);
            return Err(contradiction(format!(
                "a record of {record} is not between 1 KiB and 16 MiB\n  try: -r 4k"
            )));
        }
        if self.ways.stride == 0 {
            return Err(refused("a stride of 0 records makes no progress\n  try: -j 17"));
        }
        let (file, record) = (self.files.iter().max(), self.records.iter().min());
        if let (Some(file), Some(record)) = (file, record)
            && record > file
        {
            return Err(contradiction(format!(
                "a record of {record} is larger than the file of {file}\n  try: a larger -s or a smaller -r",
                record = Bytes(*record),
                file = Bytes(*file)
            )));
        }
        if self.pairs().iter().any(|pair| pair.records() > u64::from(u32::MAX)) {
            return Err(refused("the file would have more than 4294967295 records\n  try: a larger -r"));
        }
        Ok(())
    }
}

fn tests(given: &[u8], old_auto: bool) -> Result<Vec<Test>, Refusal> {
    let mut numbers: Vec<u8> = match (given, old_auto) {
        ([], false) => (0..8).collect(),
        (given, true) => given.iter().copied().chain([0, 1]).collect(),
        (given, false) => given.to_vec(),
    };
    numbers.sort_unstable();
    numbers.dedup();
    let find = |number: u8| TESTS.get(usize::from(number)).copied();
    let not_served = || {
        refused(
            "the tests 9 to 12 (pwrite, pread and their vector variants) are not supported\n  try: -i 0 to \
            -i 7",
        )
    };
    numbers.into_iter().map(|number| find(number).ok_or_else(not_served)).collect()
}

fn test(value: &[u8]) -> Result<u8, Refusal> {
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<u8>().ok());
    number
        .filter(|number| *number <= 12)
        .ok_or_else(|| refused(format!("-i {}: unknown test\n  try: -i 0 to -i 7", value.escape_ascii())))
}

fn number(letter: u8, value: &[u8]) -> Result<u64, Refusal> {
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        let (letter, value) = (char::from(letter), value.escape_ascii());
        refused(format!("-{letter} {value}: the value must be a whole number"))
    })
}

/// How many processes.
fn together(letter: u8, value: &[u8]) -> Result<usize, Refusal> {
    let number = usize::try_from(number(letter, value)?).unwrap_or(usize::MAX);
    if (1..=MOST_TOGETHER).contains(&number) {
        return Ok(number);
    }
    let letter = char::from(letter);
    Err(refused(format!(
        "-{letter} {number}: the number of processes must be 1 to {MOST_TOGETHER}\n  try: -{letter} 2"
    )))
}

fn path(value: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(value.to_vec()))
}

fn too_large(letter: u8, value: &[u8]) -> Refusal {
    refused(format!("-{} {} is too large", char::from(letter), value.escape_ascii()))
}

/// Parses a size: `64`, `64k`, `64m` or `1g`; without a suffix in KiB.
fn size(letter: u8, value: &[u8]) -> Result<u64, Refusal> {
    let (digits, unit) = match value.split_last() {
        Some((b'k' | b'K', digits)) => (digits, KIB),
        Some((b'm' | b'M', digits)) => (digits, MIB),
        Some((b'g' | b'G', digits)) => (digits, GIB),
        _ => (value, KIB),
    };
    let number =
        std::str::from_utf8(digits).ok().and_then(|text| text.parse::<u64>().ok()).filter(|n| *n > 0);
    let number = number.ok_or_else(|| {
        let (letter, value) = (char::from(letter), value.escape_ascii());
        refused(format!(
            "-{letter} {value} is not a size\n  try: -{letter} 64, 64k, 64m or 1g; without a suffix it is in KiB"
        ))
    })?;
    number
        .checked_mul(unit)
        .filter(|bytes| i64::try_from(*bytes).is_ok())
        .ok_or_else(|| too_large(letter, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn asked(line: &str) -> Result<Asked, Refusal> {
        parse(&line.split(' ').filter(|word| !word.is_empty()).map(OsString::from).collect::<Vec<_>>())
    }

    fn options(line: &str) -> Options {
        match asked(line) {
            Ok(Asked::Run(options)) => *options,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn letters_stand_together_and_values_in_either_place() {
        let one = options("-ecRs512m -r 64 -i0 -i 2 -f there -j 5 -+n -w");
        assert_eq!((one.files, one.records), (vec![512 * MIB], vec![64 * KIB]));
        assert_eq!(one.tests, [Test::Write, Test::Random]);
        assert_eq!(one.ways, Ways { fsync: true, close: true, stride: 5, ..Ways::default() });
        assert!(one.excel && one.keep && !one.retest && !one.auto);
        assert_eq!(one.file, PathBuf::from("there"));
    }

    #[test]
    fn the_automatic_mode_has_a_crossover_until_a_size_is_chosen() {
        assert_eq!(options("-a").pairs().len(), (5..=13).sum::<usize>() + 5 * 9);
        assert_eq!(options("-az").pairs().len(), (5..=13).sum::<usize>() + 5 * 13);
        assert_eq!(options("-a -g 1m").pairs().len(), 5 + 6 + 7 + 8 + 9);
        assert_eq!(options("-a -n 32m -g 32m").pairs().len(), 9);
        assert_eq!(options("-a -n 32m -g 32m -q 16m").pairs().len(), 13);
        assert_eq!(options("-a -s 32m").pairs().len(), 13);
        assert_eq!(options("-A").tests, [Test::Write, Test::Read]);
        assert_eq!(options("-A").pairs().len(), options("-az").pairs().len());
        assert_eq!(options("-i 0").pairs(), [Pair { file: 512 * KIB, record: 4 * KIB }]);
    }

    #[test]
    fn what_cannot_be_done_ends_with_a_code_and_what_to_try() {
        for (line, code, words) in [
            ("-s 64k -r 1m", CONTRADICTION, "larger than the file"),
            ("-a -n 2m -g 1m", CONTRADICTION, "a smaller -n"),
            ("-a -y 2m -q 1m", CONTRADICTION, "a smaller -y"),
            ("-r 32m -s 64m", CONTRADICTION, "16 MiB"),
            ("-a -t 4", AUTO_WITH_PROCESSES, "--clients"),
            ("-t 4 -a", AUTO_WITH_PROCESSES, "--clients"),
            ("-B", exit::USAGE, "mapped files"),
            ("-t 0", exit::USAGE, "must be 1 to 256"),
            ("-t 257", exit::USAGE, "must be 1 to 256"),
            ("-l 4 -u 2", CONTRADICTION, "exceeds the maximum"),
            ("-t 2 -f x", AUTO_WITH_PROCESSES, "-F with a file for each"),
            ("-t 2 -g 1m", AUTO_WITH_PROCESSES, "automatic mode"),
            ("-t 2 -U /mnt", exit::USAGE, "-U cannot"),
            ("-t 2 -N", exit::USAGE, "-N cannot"),
            ("-t 2 -r 4k -r 8k", exit::USAGE, "one record size"),
            ("-t 2 -i 4", exit::USAGE, "none of these tests"),
            ("-t 2 -i 0 -i 8", exit::USAGE, "the mixed test (8) is not supported"),
            ("-F f1 f2 -t 2", exit::USAGE, "-t N before -F"),
            ("-t 2 -F f1", exit::USAGE, "names only 1 of 2 files"),
            ("-t 2 -F f1 -i 0", exit::USAGE, "names only 1 of 2 files"),
            ("-t 2 -F f1 f1", exit::USAGE, "names f1 twice"),
            ("-t 1 -F f1 -t 3", exit::USAGE, "names only 1 of 3 files"),
            ("-s 1g -r 4m -i 0 -i 1 -i 2 -I -t 160 -F tmpfile.1", exit::USAGE, "names only 1 of 160 files"),
            // The option that is not served is told, and nothing behind it.
            ("-a -B -g 64k -f t word", exit::USAGE, "-B (mapped files)"),
            ("-P 1 x -i 13", exit::USAGE, "-P (CPU affinity"),
            ("-+m cfg -t2 -i0 -i1 -i2 -i3 -i4- -i5 -i12", exit::USAGE, "-+m is not supported"),
            ("-+q 5 -a", exit::USAGE, "-+q is not supported"),
            ("-H 2 -s 4x", exit::USAGE, "-H (POSIX"),
            ("-Z -J", exit::USAGE, "-Z (mmap"),
            ("-K -a -t 2", exit::USAGE, "-K (jitter)"),
            ("-G -B", exit::USAGE, "-G (mmap"),
            ("-i 9", exit::USAGE, "not supported"),
            ("-i 13", exit::USAGE, "unknown test"),
            ("-s", exit::USAGE, "needs a value"),
            ("-s 4x", exit::USAGE, "is not a size"),
            ("-s 0", exit::USAGE, "is not a size"),
            ("-s 99999999999999g", exit::USAGE, "too large"),
            ("-J", exit::USAGE, "unknown option -J"),
            ("-+q", exit::USAGE, "-+q is not supported"),
            ("-j 0", exit::USAGE, "makes no progress"),
            ("-g 1m", exit::USAGE, "automatic mode"),
        ] {
            let refusal = asked(line).expect_err(line);
            assert_eq!(refusal.code, code, "{line}: {}", refusal.message);
            assert!(refusal.message.contains(words), "{line}: {}", refusal.message);
        }
    }

    #[test]
    fn several_at_a_time_have_files_of_their_own() {
        let of = |line: &str| options(line).together.expect(line);
        let two = of("-t 2 -F f1 f2 -s 64k -r 4k -i0");
        assert_eq!((two.counts, two.files), (vec![2], vec![PathBuf::from("f1"), PathBuf::from("f2")]));
        assert!(two.stonewall && !two.each && !two.threads);
        let range = of("-l 2 -u 4 -xCT");
        assert_eq!((range.counts, range.files.len()), (vec![2, 3, 4], 4));
        assert!(!range.stonewall && range.each && range.threads);
        assert_eq!(of("-u 3").counts, [1, 2, 3]);
        assert_eq!(of("-l 3").counts, [3]);
        assert_eq!(of("-t 1 -t 4").counts, [1, 4]);
        assert_eq!(of("-t2").files[1], PathBuf::from("iozone.DUMMY.1"));
        let behind = options("-t 2 -F f1 f2 f3 -e");
        assert!(behind.ways.fsync && behind.passed_over == ["f3"], "{behind:?}");
        assert!(options("-s 64k -C -x").together.is_none());
    }

    #[test]
    fn a_spreadsheet_file_may_stand_behind_other_letters() {
        for line in [
            "-Rb x.xls",
            "-b x.xls",
            "-bx.xls",
            "-Raz -n 512k -g 1m -y 32k -i 0 -i 1 -b x.xls -f t",
            "-eRb x.xls",
        ] {
            let options = options(line);
            assert_eq!(options.spreadsheet, Some(PathBuf::from("x.xls")), "{line}");
            assert!(options.excel, "{line}");
        }
    }

    #[test]
    fn a_word_that_belongs_to_no_option_is_passed_over() {
        let asked = parse(&["-a", "-n", "4", "", "t"].map(OsString::from));
        let Ok(Asked::Run(options)) = asked else { panic!("{asked:?}") };
        assert_eq!(options.passed_over, ["", "t"]);
    }

    proptest! {
        #[test]
        fn any_words_are_understood_or_refused(words in prop::collection::vec(any::<Vec<u8>>(), 0..6)) {
            let _ = parse(&words.into_iter().map(OsString::from_vec).collect::<Vec<_>>());
        }

        #[test]
        fn whatever_is_understood_has_a_pair(line in "(-[acAzeIoRONw]{1,4} |-[gnqrsyi] [0-9]{1,5}[kmg]? ){0,6}") {
            if let Ok(Asked::Run(options)) = asked(&line) {
                prop_assert!(!options.pairs().is_empty() && !options.tests.is_empty());
                prop_assert!(options.pairs().iter().all(|pair| pair.records() > 0));
            }
        }
    }
}
