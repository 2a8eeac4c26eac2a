//! Parses lines into reports.

use super::report::{Counted, Rate, Report, Sum};
use crate::imports::cleaning::{Clean, cleaned, note};
use crate::imports::{Read, Wrong};
use crate::schema::units::{KIB, MIB};

/// Number of values in a terse report.
const NUMBERS: usize = 13;
/// A line with fewer numbers is not a terse report but other text.
const FEWEST: usize = 10;
/// The largest number of digits of a figure.
const MOST_DIGITS: usize = 20;
/// The largest count: PostMark's counters have 32 bits.
const MOST: u64 = u32::MAX as u64;
const RAN_OUT: &str = "out of files!";

/// The non-empty lines of a verbose report in order: `N` is a number, `S` a number of bytes with its unit.
const VERBOSE: [&str; 14] = [
    "Time:",
    "N seconds total",
    "N seconds of transactions (N per second)",
    "Files:",
    "N created (N per second)",
    "Creation alone: N files (N per second)",
    "Mixed with transactions: N files (N per second)",
    "N read (N per second)",
    "N appended (N per second)",
    "N deleted (N per second)",
    "Deletion alone: N files (N per second)",
    "Mixed with transactions: N files (N per second)",
    "Data:",
    "S read (S per second)",
];
const LAST: &str = "S written (S per second)";

pub fn read(text: &str) -> Result<Read, Vec<Wrong>> {
    let whole: Vec<Clean<'_>> = text.lines().map(cleaned).collect();
    let lines: Vec<&str> = whole.iter().map(|line| line.text).collect();
    let cut = |from: usize, to: usize| note(whole[from..to].iter().flat_map(|line| line.cut.iter().copied()));
    let (mut read, mut wrong) = (Read::default(), Vec::new());
    let mut program = "PostMark".to_owned();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        if let Some(version) = version(line) {
            program = format!("PostMark {version}");
        }
        if line.contains(RAN_OUT) {
            read.notes.push(format!("line {}: the run ran out of files, so it has no report", at + 1));
        }
        if begins_verbose(&lines, at) {
            match verbose(&lines, at) {
                Ok((report, next)) => {
                    let notes = cut(at, next).into_iter().collect();
                    read.found.push(report.found(at + 1, &program, notes));
                    at = next;
                    continue;
                }
                Err(one) => wrong.push(one),
            }
        } else {
            match terse(at + 1, line) {
                Ok(Some(report)) => {
                    let notes = [OF_TERSE.to_owned()].into_iter().chain(cut(at, at + 1)).collect();
                    read.found.push(report.found(at + 1, &program, notes));
                }
                Ok(None) => read.other_lines += 1,
                Err(one) => wrong.push(one),
            }
        }
        at += 1;
    }
    for one in &mut wrong {
        one.column += whole.get(one.line - 1).map_or(0, |line| line.before);
    }
    if wrong.is_empty() { Ok(read) } else { Err(wrong) }
}

const OF_TERSE: &str =
    "terse reports of PostMark up to 1.51 divide files of 'Deletion alone' by the time of 'Creation alone'";

/// The version in a line such as `PostMark v1.51 : 8/14/01`.
fn version(line: &str) -> Option<&str> {
    const LONGEST: usize = 12;
    let (_, rest) = line.split_once("PostMark v")?;
    let version = rest.split([' ', ':']).next()?;
    let is_one =
        version.bytes().all(|b| b.is_ascii_digit() || b == b'.') && (1..=LONGEST).contains(&version.len());
    is_one.then_some(version)
}

/// Whether a verbose report begins at this line: `Time:`, and a number of seconds in the next non-empty line.
fn begins_verbose(lines: &[&str], at: usize) -> bool {
    let next = || lines[at + 1..].iter().find(|line| !line.trim().is_empty());
    lines[at].trim() == VERBOSE[0] && next().is_some_and(|line| line.trim_end().ends_with("seconds total"))
}

/// Reads a verbose report; returns it with the number of the line after it.
fn verbose(lines: &[&str], from: usize) -> Result<(Report, usize), Wrong> {
    let mut values: Vec<Vec<f64>> = Vec::new();
    let mut at = from;
    for wanted in VERBOSE.into_iter().chain([LAST]) {
        while lines.get(at).is_some_and(|line| line.trim().is_empty()) {
            at += 1;
        }
        let Some(line) = lines.get(at) else {
            let what = format!("the report ends before '{wanted}'");
            return Err(Wrong { line: lines.len(), column: 1, what });
        };
        values.push(matched(line, wanted).map_err(|(column, what)| Wrong { line: at + 1, column, what })?);
        at += 1;
    }
    Ok((report(&values), at))
}

fn report(values: &[Vec<f64>]) -> Report {
    let is_of = |n: f64| n > 0.0;
    let rate = |printed: f64, count: f64| Rate { printed, digit: 1.0, is_of_some: is_of(count) };
    let counted = |of: &[f64]| Counted { count: of[0] as u64, rate: rate(of[1], of[0]) };
    let sum = |of: &[f64]| Sum { bytes: of[0], per_second: of[2], digit: of[3] };
    let transactions = &values[2];
    Report {
        seconds: values[1][0] as u64,
        transactions_seconds: transactions[0] as u64,
        transactions: rate(transactions[1], 1.0),
        created: values[4][0] as u64,
        number: counted(&values[5]),
        mixed_created: rate(values[6][1], values[6][0]),
        read: counted(&values[7]),
        appended: counted(&values[8]),
        deleted_alone: counted(&values[10]),
        mixed_deleted: rate(values[11][1], values[11][0]),
        bytes_read: sum(&values[13]),
        bytes_written: sum(&values[14]),
        off: 0,
    }
}

/// The numbers in a line of the form `wanted`; for a number of bytes also the value of one unit of its last digit.
fn matched(line: &str, wanted: &str) -> Result<Vec<f64>, (usize, String)> {
    let mut rest = line.trim_start();
    let mut numbers = Vec::new();
    let column = |rest: &str| line.chars().count() - rest.chars().count() + 1;
    for piece in pieces(wanted) {
        let wrong = |rest: &str| {
            (column(rest), format!("expected '{wanted}' of a PostMark report, found '{}'", line.trim()))
        };
        let taken = match piece {
            "N" => number(rest).map(|(n, rest)| (vec![n], rest)),
            "S" => size(rest).map(|(bytes, digit, rest)| (vec![bytes, digit], rest)),
            literal => rest.strip_prefix(literal).map(|rest| (Vec::new(), rest)),
        };
        let (mut found, next) = taken.ok_or_else(|| wrong(rest))?;
        numbers.append(&mut found);
        rest = next;
    }
    if rest.trim().is_empty() {
        Ok(numbers)
    } else {
        Err((column(rest), format!("unexpected '{}' after the line '{wanted}'", rest.trim())))
    }
}

/// The parts of a form: `N created (N per second)` → `N`, ` created (`, `N`, ` per second)`.
fn pieces(wanted: &str) -> Vec<&str> {
    let is_hole = |at: usize| {
        let bytes = wanted.as_bytes();
        let ends = |b: Option<&u8>| b.is_none_or(|b| !b.is_ascii_alphanumeric());
        matches!(bytes[at], b'N' | b'S') && (at == 0 || ends(bytes.get(at - 1))) && ends(bytes.get(at + 1))
    };
    let (mut pieces, mut begin) = (Vec::new(), 0);
    for at in (0..wanted.len()).filter(|at| is_hole(*at)) {
        pieces.extend((begin < at).then(|| &wanted[begin..at]));
        pieces.push(&wanted[at..=at]);
        begin = at + 1;
    }
    pieces.extend((begin < wanted.len()).then(|| &wanted[begin..]));
    pieces
}

/// Reads a whole number of 32 bits; returns it with the text after it.
fn number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..end].parse::<u64>().ok().filter(|n| *n <= MOST)?;
    Some((number as f64, &text[end..]))
}

/// Reads a number of bytes such as `1579.51 megabytes`, `73.79 kilobytes` or `0.000000 bytes`.
fn size(text: &str) -> Option<(f64, f64, &str)> {
    let (number, rest) = text.split_once(' ')?;
    let (value, digit) = decimal(number)?;
    let units = [("megabytes", MIB), ("kilobytes", KIB), ("bytes", 1)];
    let (rest, unit) =
        units.iter().find_map(|(unit, bytes)| Some((rest.strip_prefix(unit)?, *bytes as f64)))?;
    Some((value * unit, digit * unit, rest))
}

/// A number such as `8333.00`, with the value of one unit of its last digit.
fn decimal(text: &str) -> Option<(f64, f64)> {
    let (whole, decimals) = text.split_once('.')?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let digits = i32::try_from(decimals.len()).ok()?;
    let value = text
        .parse::<f64>()
        .ok()
        .filter(|_| is_number(whole) && is_number(decimals) && text.len() <= MOST_DIGITS)?;
    Some((value, 0.1_f64.powi(digits)))
}

/// Reads a terse report, a line of numbers: the first two numbers are whole, the others have two decimals.
fn terse(number: usize, line: &str) -> Result<Option<Report>, Wrong> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_whole = |word: &&str| word.bytes().all(|b| b.is_ascii_digit());
    let is_rate = |word: &&str| {
        word.split_once('.').is_some_and(|(_, decimals)| decimals.len() == 2) && decimal(word).is_some()
    };
    let is_one = words.len() >= FEWEST && words[..2].iter().all(is_whole) && words[2..].iter().all(is_rate);
    if !is_one {
        return Ok(None);
    }
    if words.len() != NUMBERS {
        let what = format!("this line has {} numbers; a terse report of PostMark has {NUMBERS}", words.len());
        return Err(Wrong { line: number, column: line.chars().count() + 1, what });
    }
    let seconds: Option<Vec<u64>> =
        words[..2].iter().map(|word| word.parse().ok().filter(|n| (1..=MOST).contains(n))).collect();
    let Some(seconds) = seconds else {
        return Err(Wrong {
            line: number,
            column: 1,
            what: "the duration of the run is not from 1 to 2^32 seconds".into(),
        });
    };
    let rates: Vec<f64> = words[2..].iter().filter_map(|word| Some(decimal(word)?.0)).collect();
    Ok(Some(from_rates(seconds[0], seconds[1], &rates)))
}

/// The fields are T/X c/E N/C (c-N)/X r/X a/X d/E dd/D (d-dd)/X read/E written/E, with X and E in whole seconds. Counts are
/// exact up to the two decimals of the rates; counts whose rates are over C or D are computed as remainders.
fn from_rates(whole: u64, among: u64, rates: &[f64]) -> Report {
    const DIGIT: f64 = 0.01;
    let count = |rate: f64, seconds: u64| (rate * seconds as f64).round();
    let rate = |printed: f64| Rate { printed, digit: DIGIT, is_of_some: printed > 0.0 };
    let left = |all: f64, mixed: f64| (count(all, whole) - count(mixed, among)).max(0.0) as u64;
    let counted = |count: u64, printed: f64| Counted { count, rate: rate(printed) };
    let sum = |per_second: f64| Sum { bytes: per_second * whole as f64, per_second, digit: DIGIT };
    Report {
        seconds: whole,
        transactions_seconds: among,
        transactions: rate(rates[0]),
        created: count(rates[1], whole) as u64,
        number: counted(left(rates[1], rates[3]), rates[2]),
        mixed_created: rate(rates[3]),
        read: counted(count(rates[4], among) as u64, rates[4]),
        appended: counted(count(rates[5], among) as u64, rates[5]),
        deleted_alone: counted(left(rates[6], rates[8]), rates[7]),
        mixed_deleted: rate(rates[8]),
        bytes_read: sum(rates[9]),
        bytes_written: sum(rates[10]),
        // The error of two rates, each rounded by half a hundredth, times the seconds.
        off: whole.div_ceil(100),
    }
}
