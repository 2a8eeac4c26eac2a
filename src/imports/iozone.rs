//! IOzone's tables: the table of rows that it always prints, and the tables of `-R`.
//!
//! ```text
//!               kB  reclen    write  rewrite    read    reread    read     write …
//!               64       4   124342   143422  178434   184343              5340     by the ends of the columns
//! "Writer report"
//!         "4"  "8"
//! "64"   2114067  1650291
//! ```
//! One row, or one pair of sizes of the `-R` tables, is one result. If a file has both kinds of table, only the rows are read. The
//! columns of a test that was not selected are blank, so a figure belongs to the heading that ends in the same column.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::cleaning::{Clean, cleaned_outside, note};
use super::{Found, Part, Read, Tool, Wrong};
use crate::schema::import::Figure;
use crate::schema::units::{Bytes, KIB};
use crate::workloads::iozone::matrix::Pair;
use crate::workloads::iozone::parameters::Parameters;
use crate::workloads::iozone::passes::Ways;
use crate::workloads::iozone::table::Pass;

pub struct IoZoneTables;

/// The columns after the two sizes: the pass, its heading in reports, and the title of its table of `-R`.
const COLUMNS: [(Pass, &str, &str); 13] = [
    (Pass::Write, "write", "Writer"),
    (Pass::Rewrite, "rewrite", "Re-writer"),
    (Pass::Read, "read", "Reader"),
    (Pass::Reread, "reread", "Re-Reader"),
    (Pass::RandomRead, "random read", "Random read"),
    (Pass::RandomWrite, "random write", "Random write"),
    (Pass::BackwardRead, "backward read", "Backward read"),
    (Pass::RecordRewrite, "record rewrite", "Record rewrite"),
    (Pass::StrideRead, "stride read", "Stride read"),
    (Pass::Fwrite, "fwrite", "Fwrite"),
    (Pass::Frewrite, "frewrite", "Re-Fwrite"),
    (Pass::Fread, "fread", "Fread"),
    (Pass::Freread, "freread", "Re-Fread"),
];
/// The number of words in the heading of the table; the first two words are the sizes.
const WORDS: usize = COLUMNS.len() + 2;
/// A figure ends in the column in which its heading ends, or at most this many letters before or after it.
const BESIDE: usize = 2;
/// The largest number of digits of a figure; no disk is fast enough for more.
const MOST_DIGITS: usize = 15;
/// The largest size of a file or record in KiB, so that its number of bytes has at most 63 bits.
const MOST_KIB: u64 = 1 << 52;

const TITLES: [(&str, std::ops::Range<usize>); 4] = [
    ("sequential, from the beginning to the end", 0..4),
    ("at random", 4..6),
    ("backward, one record, strided", 6..9),
    ("through streams", 9..13),
];

impl Tool for IoZoneTables {
    fn name(&self) -> &'static str {
        "iozone"
    }

    fn title(&self) -> &'static str {
        "IOzone"
    }

    fn engine(&self) -> &'static str {
        "iozone"
    }

    fn story(&self) -> &'static str {
        "IOzone's kBytes have 1024 bytes. A file that fits into memory is read from the page cache. The \
         output of IOzone does not state the machine's memory; the tables of -R do not state the options \
         either."
    }

    fn parts(&self) -> Vec<Part> {
        let columns = |range: std::ops::Range<usize>| {
            COLUMNS[range].iter().map(|(pass, heading, _)| (metric(*pass), *heading)).collect()
        };
        TITLES.into_iter().map(|(title, range)| Part { title, columns: columns(range) }).collect()
    }

    fn read(&self, text: &str) -> Result<Read, Vec<Wrong>> {
        let mut reader = Reader::default();
        for (number, line) in (1..).zip(text.lines()) {
            reader.line(number, &cleaned_outside(line));
        }
        reader.finished()
    }

    fn unlike(&self, work: &Table, parameters: &Table) -> Result<Vec<String>, String> {
        let (there, here) = (Parameters::parse(work)?, Parameters::parse(parameters)?);
        let mut differences = Vec::new();
        if there.pairs != here.pairs {
            let pair = |pairs: &[Pair]| match pairs {
                [pair] => format!(
                    "a file of {file_size} in records of {record_size}",
                    file_size = Bytes(pair.file),
                    record_size = Bytes(pair.record)
                ),
                pairs => format!("{} pairs of sizes", pairs.len()),
            };
            differences.push(format!("{}, here {}", pair(&there.pairs), pair(&here.pairs)));
        }
        let (one, other) = (ways(&there.ways), ways(&here.ways));
        if one != other {
            let said = |ways: String| if ways.is_empty() { "no options".to_owned() } else { ways };
            differences.push(format!("{}, here {}", said(one), said(other)));
        }
        Ok(differences)
    }

    fn described(&self, work: &Table) -> String {
        let Ok(Parameters { pairs, ways: options, .. }) = Parameters::parse(work) else {
            return work.to_string().trim().replace('\n', ", ");
        };
        let pair = pairs.first().copied().unwrap_or(Pair { file: 0, record: 0 });
        let options = ways(&options);
        let with = if options.is_empty() { String::new() } else { format!(", {options}") };
        format!(
            "a file of {file_size} in records of {record_size}{with}",
            file_size = Bytes(pair.file),
            record_size = Bytes(pair.record)
        )
    }
}

/// The name of a pass's metric: `pass.write.throughput`.
fn metric(pass: Pass) -> String {
    format!("pass.{}.throughput", pass.name())
}

fn ways(ways: &Ways) -> String {
    let stride = format!("stride {}", ways.stride);
    let said = [
        (ways.fsync, "with fsync"),
        (ways.close, "with close"),
        (ways.direct, "O_DIRECT"),
        (ways.o_sync, "O_SYNC"),
        (ways.stride != Ways::default().stride, stride.as_str()),
    ];
    said.into_iter().filter(|(holds, _)| *holds).map(|(_, what)| what).collect::<Vec<_>>().join(", ")
}

/// The results and tables that have been read so far.
#[derive(Default)]
struct Reader {
    found: Vec<Found>,
    wrong: Vec<Wrong>,
    other_lines: usize,
    notes: Vec<String>,
    program: Option<String>,
    /// The options that the lines above a table state.
    said: Table,
    /// The ends of the columns of the current table; `None` outside of a table.
    ends: Option<Vec<usize>>,
    /// Whether the figures of the current table have a unit other than KiB per second.
    other_unit: bool,
    report: Option<Report>,
    reports: BTreeMap<(u64, u64), Vec<(usize, Figure)>>,
    throughputs: usize,
}

/// A table of `-R`: its pass, and its record sizes as soon as they have been read.
struct Report {
    pass: Pass,
    records: Vec<u64>,
}

/// The words of a line, each with the column after its end, counted from 1.
fn words(line: &str) -> Vec<(&str, usize)> {
    let end_of = |word: &str| {
        let end = word.as_ptr() as usize - line.as_ptr() as usize + word.len();
        line[..end].chars().count()
    };
    line.split_whitespace().map(|word| (word, end_of(word))).collect()
}

impl Reader {
    fn line(&mut self, number: usize, clean: &Clean<'_>) {
        let Clean { text: line, before, cut } = clean;
        let words = words(line);
        let is_head = words.len() == WORDS
            && words[0].0.eq_ignore_ascii_case("kb")
            && words[1].0 == "reclen"
            && words[2].0 == "write";
        if is_head {
            self.ends = Some(words[2..].iter().map(|(_, end)| *end).collect());
            self.report = None;
            self.other_lines += 1;
            return;
        }
        let is_row = |words: &[(&str, usize)]| {
            words.len() > 2 && words.iter().all(|(word, _)| word.starts_with(|c: char| c.is_ascii_digit()))
        };
        if self.ends.is_some() && is_row(&words) {
            match self.row(number, &words) {
                Ok(mut found) => {
                    found.notes.extend(note(cut.iter().copied()));
                    self.found.push(found);
                }
                Err((column, what)) => self.wrong.push(Wrong { line: number, column: column + before, what }),
            }
            return;
        }
        if !line.trim().is_empty() {
            self.ends = None;
        }
        match self.in_report(line) {
            Ok(true) => {
                for figures in self.reports.values_mut() {
                    figures.iter_mut().filter(|(line, _)| *line == 0).for_each(|(line, _)| *line = number);
                }
            }
            Ok(false) => {
                self.other_lines += 1;
                self.about(line);
            }
            Err(what) => self.wrong.push(Wrong { line: number, column: before + 1, what }),
        }
    }

    /// Reads a line above the tables, which may state an option or a version.
    fn about(&mut self, line: &str) {
        let text = line.trim();
        for (begin, key) in [
            ("Include fsync in write timing", "fsync"),
            ("Include close in write timing", "close"),
            ("O_DIRECT feature enabled", "direct"),
            ("SYNC Mode.", "o_sync"),
        ] {
            if text == begin {
                self.said.insert(key.into(), Value::Boolean(true));
            }
        }
        if text.starts_with("Run began:") || text.starts_with("Iozone: Performance Test") {
            (self.said, self.other_unit) = (Table::new(), false);
        }
        let stride = text
            .strip_prefix("File stride size set to ")
            .and_then(|rest| rest.strip_suffix(" * record size."));
        if let Some(stride) =
            stride.and_then(|stride| stride.parse::<u32>().ok()).filter(|n| *n != Ways::default().stride)
        {
            self.said.insert("stride".into(), Value::Integer(stride.into()));
        }
        if text.starts_with("OPS Mode.") || text.starts_with("Microseconds/op Mode.") {
            self.other_unit = true;
        }
        if let Some((_, rest)) = text.split_once("$Revision: ") {
            let version = rest.split_whitespace().next().unwrap_or_default();
            let is_one = !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            self.program = (is_one && version.len() <= 12).then(|| format!("IOzone {version}"));
        }
        self.throughputs += usize::from(text.starts_with("Children see throughput for"));
    }

    fn row(&self, number: usize, words: &[(&str, usize)]) -> Result<Found, (usize, String)> {
        let begin = |(word, end): (&str, usize)| end - word.chars().count() + 1;
        if self.other_unit {
            return Err((
                begin(words[0]),
                "this table has another unit; fsderby reads only tables in kBytes/sec".into(),
            ));
        }
        let size = |at: usize| {
            let number = words[at].0.parse::<u64>().ok().filter(|n| (1..=MOST_KIB).contains(n));
            number.ok_or_else(|| (begin(words[at]), format!("'{}' is not a size in kBytes", words[at].0)))
        };
        let (file, record) = (size(0)?, size(1)?);
        let ends = self.ends.as_deref().unwrap_or_default();
        let mut figures = Vec::new();
        let mut last = None;
        for (at, word) in words[2..].iter().enumerate() {
            // In a full row each figure's column is known without its position, so blanks may have been lost in copying.
            let full = (words.len() == WORDS).then_some(at);
            let by_place = || ends.iter().position(|end| end.abs_diff(word.1) <= BESIDE);
            let column = full.or_else(by_place).filter(|column| last.is_none_or(|last| *column > last));
            let Some(column) = column else {
                let what = format!(
                    "no column heading stands above '{word}', and the row has fewer than {WORDS} columns",
                    word = word.0
                );
                return Err((begin(*word), what));
            };
            last = Some(column);
            let value =
                figure(word.0).ok_or_else(|| (begin(*word), format!("'{}' is not a number", word.0)))?;
            figures.extend(throughput(COLUMNS[column].0, value));
        }
        if figures.is_empty() {
            return Err((begin(words[0]), "it has no figure".into()));
        }
        Ok(self.result(number, (file, record), &self.said, figures))
    }

    fn result(&self, line: usize, (file, record): (u64, u64), said: &Table, figures: Vec<Figure>) -> Found {
        let size =
            |kib: u64| Value::Array(vec![Value::Integer(i64::try_from(kib * KIB).unwrap_or(i64::MAX))]);
        let mut work = said.clone();
        work.insert("file_sizes".into(), size(file));
        work.insert("record_sizes".into(), size(record));
        let program = self.program.clone().unwrap_or_else(|| "IOzone".to_owned());
        Found { line, machine: String::new(), program, work, notes: Vec::new(), figures }
    }

    /// Whether the line belongs to a table of `-R`.
    fn in_report(&mut self, line: &str) -> Result<bool, String> {
        let text = line.trim();
        let title = text.strip_prefix('"').and_then(|rest| rest.strip_suffix("\""));
        let title = title.and_then(|title| title.strip_suffix(" report"));
        if let Some(title) = title {
            let found = COLUMNS.iter().find(|(.., report)| report.eq_ignore_ascii_case(title));
            self.report = found.map(|(pass, ..)| Report { pass: *pass, records: Vec::new() });
            return Ok(found.is_some());
        }
        let other_unit = self.other_unit;
        let Some(report) = &mut self.report else { return Ok(false) };
        if !text.starts_with('"') {
            return Ok(false);
        }
        if other_unit {
            self.report = None;
            return Err("this table has another unit; fsderby reads only tables in kBytes/sec".into());
        }
        let quoted = |word: &str| {
            let inside = word.strip_prefix('"')?.strip_suffix('"')?;
            inside.parse::<u64>().ok().filter(|n| (1..=MOST_KIB).contains(n))
        };
        let parts: Vec<&str> = text.split_whitespace().collect();
        if report.records.is_empty() {
            let records: Option<Vec<u64>> = parts.iter().map(|part| quoted(part)).collect();
            report.records = records.ok_or("it is not a line of record sizes")?;
            return Ok(true);
        }
        let file = quoted(parts[0]).ok_or_else(|| format!("'{}' is not a size in kBytes", parts[0]))?;
        if parts.len() != report.records.len() + 1 {
            return Err(format!(
                "it has {figures} figures below {sizes} record sizes",
                figures = parts.len() - 1,
                sizes = report.records.len()
            ));
        }
        for (record, part) in report.records.iter().zip(&parts[1..]) {
            let value = figure(part).ok_or_else(|| format!("'{part}' is not a number"))?;
            let figures = throughput(report.pass, value).map(|figure| (0, figure));
            self.reports.entry((file, *record)).or_default().extend(figures);
        }
        Ok(true)
    }

    fn finished(mut self) -> Result<Read, Vec<Wrong>> {
        if !self.wrong.is_empty() {
            return Err(self.wrong);
        }
        let has_rows = !self.found.is_empty();
        if has_rows && !self.reports.is_empty() {
            self.notes.push(
                "the tables of -R are passed over, because the table of rows has the same figures".into(),
            );
        }
        let reports = std::mem::take(&mut self.reports);
        for (pair, figures) in reports.into_iter().filter(|(_, figures)| !has_rows && !figures.is_empty()) {
            let line = figures.iter().map(|(line, _)| *line).min().unwrap_or(1);
            let figures = figures.into_iter().map(|(_, figure)| figure).collect();
            let found = self.result(line, pair, &self.said, figures);
            self.found.push(found);
        }
        if self.throughputs > 0 {
            self.notes
                .push(format!("{} results of several processes at a time are not read", self.throughputs));
        }
        Ok(Read { found: self.found, other_lines: self.other_lines, notes: self.notes })
    }
}

fn figure(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.len() <= MOST_DIGITS && text.bytes().all(|b| b.is_ascii_digit()))
}

/// A figure from IOzone's rate, which is truncated to whole KiB per second; `None` for 0, which stands for a pass that did not run.
fn throughput(pass: Pass, kib: u64) -> Option<Figure> {
    let value = kib as f64;
    let figure = || Figure {
        metric: metric(pass),
        unit: "KiB/s".into(),
        value: Some(value),
        least: Some(value),
        most: Some(value + 1.0),
    };
    (kib > 0).then(figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = concat!(
        "                                                              random    random     bkwd    record    stride                                    \n",
        "              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread\n",
    );
    const ROW: &str = "              64      16    21695    16149    16285    16087    13423     5340    16064      5324      8011     5643    15971  2467108  3588436";
    /// A row with the results of tests 0 and 2 only.
    const SOME: &str = "              64      16    21695    16149                      13423     5340";

    fn read(text: &str) -> Vec<Found> {
        IoZoneTables.read(text).expect(text).found
    }

    fn value(found: &Found, pass: Pass) -> Option<f64> {
        found.figures.iter().find(|figure| figure.metric == metric(pass))?.value
    }

    #[test]
    fn a_row_gives_each_figure_to_the_heading_above_it() {
        let found = read(&format!("{HEAD}{ROW}\n\niozone test complete.\n")).remove(0);
        assert_eq!((found.figures.len(), found.line), (13, 3));
        assert_eq!(value(&found, Pass::StrideRead), Some(8011.0));
        assert_eq!(IoZoneTables.described(&found.work), "a file of 64 KiB in records of 16 KiB");
        let some = read(&format!("{HEAD}{SOME}\n")).remove(0);
        assert_eq!((some.figures.len(), value(&some, Pass::Read)), (4, None));
        assert_eq!(
            (value(&some, Pass::RandomRead), value(&some, Pass::RandomWrite)),
            (Some(13423.0), Some(5340.0))
        );
    }

    #[test]
    fn older_headings_mails_and_lost_blanks_are_read() {
        let older = HEAD.replace("kB", "KB");
        let squeezed = ROW.split_whitespace().collect::<Vec<_>>().join(" ");
        let squeezed_head =
            "kB reclen write rewrite read reread read write read rewrite read fwrite frewrite fread freread";
        let quoted: String = format!("{HEAD}{ROW}\n").lines().map(|line| format!("> {line}\n")).collect();
        let page: String = format!("{HEAD}{SOME}\n").lines().map(|line| format!("{line}<br />\n")).collect();
        for (text, figures, notes) in [
            (format!("{older}{ROW}"), 13, 0),
            (format!("{HEAD}{squeezed}"), 13, 0),
            (format!("{squeezed_head}\n{squeezed}"), 13, 0),
            (quoted, 13, 1),
            (page, 4, 1),
            (format!("{HEAD}{}", ROW.replace("3588436", "      0")), 12, 0),
        ] {
            let found = read(&text).remove(0);
            assert_eq!((found.figures.len(), found.notes.len()), (figures, notes), "{text}");
        }
    }

    #[test]
    fn the_tables_of_a_spreadsheet_are_read_where_there_are_no_rows() {
        let tables = "Excel output is below:\n\n\"Writer report\"\n        \"4\"  \"8\"\n\"64\"   2114067  1650291 \n\"128\"   0  7 \n\n\
            \"Re-writer report\"\n        \"4\"  \"8\"\n\"64\"   1  0 \n\"128\"   0  0 \n";
        let found = read(tables);
        let said: Vec<(String, usize)> =
            found.iter().map(|found| (IoZoneTables.described(&found.work), found.figures.len())).collect();
        let pair = |file, record, n| (format!("a file of {file} KiB in records of {record} KiB"), n);
        assert_eq!(said, [pair(64, 4, 2), pair(64, 8, 1), pair(128, 8, 1)]);
        assert_eq!((value(&found[0], Pass::Rewrite), found[0].line, found[2].line), (Some(1.0), 5, 6));
        let both = IoZoneTables.read(&format!("{HEAD}{ROW}\n{tables}")).expect("text");
        assert_eq!((both.found.len(), both.notes.len()), (1, 1), "{:?}", both.notes);
    }

    #[test]
    fn what_is_said_over_a_table_is_its_work() {
        let over = "\tInclude fsync in write timing\n\tO_DIRECT feature enabled\n\t\tVersion $Revision: 3.489 $\n\
            \tFile stride size set to 5 * record size.\n";
        let found = read(&format!("{over}{HEAD}{ROW}\n")).remove(0);
        assert_eq!(found.program, "IOzone 3.489");
        let described = IoZoneTables.described(&found.work);
        assert_eq!(described, "a file of 64 KiB in records of 16 KiB, with fsync, O_DIRECT, stride 5");
        let parameters = |more: &str| {
            format!("file_sizes = ['64k']\nrecord_sizes = ['16k']\n{more}").parse().expect("TOML")
        };
        let same = "fsync = true\ndirect = true\nstride = 5";
        assert_eq!(IoZoneTables.unlike(&found.work, &parameters(same)), Ok(Vec::new()));
        let other = IoZoneTables.unlike(&found.work, &parameters("")).expect("both are work");
        assert_eq!(other, ["with fsync, O_DIRECT, stride 5, here no options"]);
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused_with_its_place() {
        let between = format!("{:>16}{:>8}{:>14}", 64, 16, 21695);
        let ops = format!("\tOPS Mode. Output is in operations per second.\n{HEAD}{ROW}\n");
        let squeezed = SOME.split_whitespace().collect::<Vec<_>>().join(" ");
        for (text, line, what) in [
            (format!("{HEAD}{between}\n"), 3, "no column heading stands above"),
            (format!("{HEAD}{squeezed}\n"), 3, "no column heading stands above"),
            (ops, 4, "another unit"),
            (format!("{HEAD}{}", ROW.replace("5340", "53x0")), 3, "is not a number"),
            (format!("{HEAD}{}", ROW.replace("      64 ", "       0 ")), 3, "not a size"),
            ("\"Writer report\"\n \"4\" \"8\"\n\"64\" 1\n".into(), 3, "1 figures below 2"),
            ("\"Writer report\"\n \"4\" \"x\"\n".into(), 2, "not a line of record sizes"),
        ] {
            let wrong = IoZoneTables.read(&text).expect_err(&text);
            assert_eq!((wrong.len(), wrong[0].line), (1, line), "{text}: {wrong:?}");
            assert!(wrong[0].what.contains(what), "{text}: {wrong:?}");
        }
    }
}
