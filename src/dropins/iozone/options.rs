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
    /// `-s`, or the range of `-n` and `-g`.
    pub files: Vec<u64>,
    /// `-r`, or the range of `-y` and `-q`.
    pub records: Vec<u64>,
    /// Whether any of these was given; then no combination of small records and large files is skipped.
    pub chosen: bool,
    pub ways: Ways,
    /// `-+n` turns it off.
    pub retest: bool,
    /// `-w`
    pub keep: bool,
    /// `-f`
    pub file: PathBuf,
    /// `-R`
    pub excel: bool,
    pub shown: Shown,
    /// `-U`
    pub mount: Option<PathBuf>,
    /// `-S` and `-L`, which are only printed.
    pub cache_kib: u64,
    pub line_bytes: u64,
}

/// Unit of the table's figures.
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

/// Default size without -a and without a given size.
const ONE_FILE: u64 = 512 * KIB;
const ONE_RECORD: u64 = 4 * KIB;

const SEVERAL: &str = "fsderby run with --clients N runs several processes";
/// Unsupported options of the original: letter, meaning, whether it has a value, and what to do instead.
const NOT_SERVED: &[(u8, &str, bool, &str)] = &[
    (b'b', "a spreadsheet file", true, "-R prints the same as text"),
    (b'B', "mapped files", false, "without it"),
    (b'C', "bytes of each process", false, SEVERAL),
    (b'd', "a delay between processes", true, "without it"),
    (b'D', "mmap with asynchronous msync", false, "without it"),
    (b'E', "pwrite, pread and their vector variants", false, "-i 0 to -i 7"),
    (b'F', "a file per process", true, SEVERAL),
    (b'G', "mmap with synchronous msync", false, "without it"),
    (b'H', "POSIX asynchronous I/O", true, "without it"),
    (b'k', "POSIX asynchronous I/O without copies", true, "without it"),
    (b'K', "jitter", false, "without it"),
    (b'l', "a minimum number of processes", true, SEVERAL),
    (b'm', "several buffers", false, "without it"),
    (b'M', "the machine's name in the report", false, "without it"),
    (b'p', "purging the CPU cache", false, "without it"),
    (b'P', "CPU affinity of processes", true, "without it"),
    (b'Q', "latency log files", false, "without it"),
    (b't', "several processes", true, SEVERAL),
    (b'T', "threads", false, SEVERAL),
    (b'u', "a maximum number of processes", true, SEVERAL),
    (b'V', "a pattern for verification", true, "without it: all data read is verified anyway"),
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
    not_served: Option<&'static (u8, &'static str, bool, &'static str)>,
}

/// Parses the words of the command line after the command's name.
pub fn parse(words: &[OsString]) -> Result<Asked, Refusal> {
    let mut read = Read::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(letters) = word.as_bytes().strip_prefix(b"-").filter(|letters| !letters.is_empty()) else {
            let word = word.to_string_lossy();
            return Err(refused(format!(
                "'{word}' belongs to no option\n  try: -f {word}, if it is the file"
            )));
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
                let missing =
                    || refused(format!("-{} needs a value\n  try: fsderby iozone -h", char::from(letter)));
                value.ok_or_else(missing)?
            } else if letter == b'+' {
                letters.next().into_iter().copied().collect()
            } else {
                Vec::new()
            };
            read.letter(letter, &value)?;
        }
    }
    read.understood()
}

fn takes_value(letter: u8) -> bool {
    let not_served = NOT_SERVED.iter().any(|(own, _, takes, _)| *own == letter && *takes);
    not_served || b"fgijLnqrsSUy".contains(&letter)
}

impl Read {
    fn letter(&mut self, letter: u8, value: &[u8]) -> Result<(), Refusal> {
        match letter {
            b'a' => self.auto = true,
            b'A' => self.old_auto = true,
            b'c' => self.ways.close = true,
            b'e' => self.ways.fsync = true,
            b'f' => self.file = Some(PathBuf::from(OsString::from_vec(value.to_vec()))),
            b'g' => self.most_file = Some(size(letter, value)?),
            b'h' | b'?' => self.options = Some(Asked::Help),
            b'i' => self.tests.push(test(value)?),
            b'I' => self.ways.direct = true,
            b'j' => {
                self.ways.stride = number(letter, value)?.try_into().map_err(|_| too_large(letter, value))?
            }
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
            b'U' => self.mount = Some(PathBuf::from(OsString::from_vec(value.to_vec()))),
            b'v' => self.options = Some(Asked::Version),
            b'w' => self.keep = true,
            // Without several processes this option has no effect.
            b'x' => {}
            b'y' => self.least_record = Some(size(letter, value)?),
            b'z' => self.full = true,
            b'+' if value == b"n" => self.once = true,
            b'+' => {
                let value = String::from_utf8_lossy(value);
                return Err(refused(format!(
                    "-+{value} is not supported\n  try: without it; of these options only -+n is supported"
                )));
            }
            letter => match NOT_SERVED.iter().find(|(own, ..)| *own == letter) {
                Some(row) => self.not_served = self.not_served.or(Some(row)),
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
        if let Some((letter, about, _, instead)) = self.not_served {
            let letter = char::from(*letter);
            let meets = auto && matches!(letter, 't' | 'T' | 'l' | 'u');
            let code = if meets { AUTO_WITH_PROCESSES } else { exit::USAGE };
            let message = format!("-{letter} ({about}) is not supported\n  try: {instead}");
            return Err(Refusal { code, message });
        }
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
            shown: self.shown.unwrap_or(Shown::Throughput),
            mount: self.mount,
            cache_kib: self.cache_kib.unwrap_or(1024),
            line_bytes: self.line_bytes.unwrap_or(32),
        };
        options.check().map(|()| Asked::Run(Box::new(options)))
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
                "a record of {} is larger than the file of {}\n  try: a larger -s or a smaller -r",
                Bytes(*record),
                Bytes(*file)
            )));
        }
        if self.pairs().iter().any(|pair| pair.records() > u64::from(u32::MAX)) {
            return Err(refused("more than 4294967295 records are too many\n  try: a larger -r"));
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
        refused(format!("-{} {}: write a whole number", char::from(letter), value.escape_ascii()))
    })
}

fn too_large(letter: u8, value: &[u8]) -> Refusal {
    refused(format!("-{} {} is too large", char::from(letter), value.escape_ascii()))
}

/// `64`, `64k`, `64m`, `1g`; without a letter in KiB.
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
            ("-t 4", exit::USAGE, "--clients"),
            ("-B", exit::USAGE, "mapped files"),
            ("-b x.xls", exit::USAGE, "-R prints"),
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
            ("file", exit::USAGE, "-f file"),
        ] {
            let refusal = asked(line).expect_err(line);
            assert_eq!(refusal.code, code, "{line}: {}", refusal.message);
            assert!(refusal.message.contains(words), "{line}: {}", refusal.message);
        }
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
