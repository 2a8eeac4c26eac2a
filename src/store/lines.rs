//! Records as JSON lines. Each line has its own checksum and the checksum of the line before it.
//!
//! `crc32` is the last key of a line and covers all bytes before it, so any tool that reads JSON lines can check it:
//! ```text
//! {"schema":1,…,"previous":"5d41402a","crc32":"7d793037"}
//! ```

use std::borrow::Cow;
use std::io::{self, Read};

use super::TRIALS;
use crate::host::parallel::parallel;
use crate::schema::record::{Common, Record, SCHEMA};
use crate::schema::units::MIB;
use crate::text::visible;

/// The text before the eight hexadecimal digits of the checksum at the end of a complete line.
const KEY: &str = ",\"crc32\":\"";
const END: &str = "\"}";
/// The text before the checksum of the line before.
const PREVIOUS: &str = ",\"previous\":\"";
const DIGITS: usize = 8;

/// The line of a record, without a line end, and its checksum.
pub fn write(record: &Record) -> serde_json::Result<(String, String)> {
    let json = serde_json::to_string(record)?;
    debug_assert!(json.ends_with('}') && !json.contains('\n'), "a record is a JSON object on one line");
    let open = json.strip_suffix('}').unwrap_or(&json);
    let sum = format!("{:08x}", crc32fast::hash(open.as_bytes()));
    Ok((format!("{open}{KEY}{sum}{END}"), sum))
}

/// State of a line that was read.
#[derive(Debug)]
pub enum Line {
    Sound(Box<Record>, String),
    /// The line is incomplete, because the machine or process died while writing it.
    Torn,
    Damaged(String),
}

impl Line {
    /// The line, with values that earlier records have, too, held once.
    fn sharing(mut self, known: &mut Common) -> Self {
        if let Line::Sound(record, _) = &mut self {
            record.share(known);
        }
        self
    }
}

/// Size limit of a text in a record. The longest that fsderby writes are the last lines of a tool's output.
pub const LONGEST_TEXT: usize = 256 << 10;
/// Size limit of names, which become file names and columns. The name of a trial consists of two labels of at most 100 bytes.
pub const LONGEST_NAME: usize = 512;

pub fn read(line: &str) -> Line {
    let Some((open, sum)) = split(line) else { return Line::Torn };
    if let Some(length) = longest_text(line).filter(|length| *length > LONGEST_TEXT) {
        return Line::Damaged(format!("it has a text of {length} bytes, more than {LONGEST_TEXT}"));
    }
    if format!("{:08x}", crc32fast::hash(open.as_bytes())) != sum {
        return Line::Damaged("its checksum does not match its content".into());
    }
    match serde_json::from_str::<Record>(&format!("{open}}}")) {
        Err(e) => Line::Damaged(format!("could not parse the record: {}", visible::message(&e.to_string()))),
        Ok(record) if record.schema != SCHEMA => Line::Damaged(format!(
            "the record has version {version}; this fsderby reads version {SCHEMA}",
            version = record.schema
        )),
        Ok(record) if names(&record).any(|name| name.len() > LONGEST_NAME) => {
            Line::Damaged(format!("it has a name of more than {LONGEST_NAME} bytes"))
        }
        Ok(mut record) => {
            record.shrink();
            Line::Sound(Box::new(record), sum.to_owned())
        }
    }
}

/// The names in a record that reports show in columns.
fn names(record: &Record) -> impl Iterator<Item = &str> {
    let own = [&record.trial, &record.filesystem, &record.kind, &record.scenario];
    let works = record.works.iter().map(|work| &work.name);
    let stages = record.stages.iter();
    let phases =
        stages.flat_map(|stage| stage.part.iter().chain(stage.phases.iter().map(|phase| &phase.name)));
    own.into_iter().chain(works).chain(phases).map(String::as_str)
}

/// Bytes of the longest text in a line of JSON, as written. Needs no memory, unlike parsing.
fn longest_text(line: &str) -> Option<usize> {
    let (mut longest, mut begin, mut is_escaped) = (None, None, false);
    for (at, byte) in line.bytes().enumerate() {
        match (byte, begin) {
            _ if is_escaped => is_escaped = false,
            (b'\\', Some(_)) => is_escaped = true,
            (b'"', Some(begun)) => {
                longest = longest.max(Some(at - begun - 1));
                begin = None;
            }
            (b'"', None) => begin = Some(at),
            _ => {}
        }
    }
    longest
}

/// The content and the eight checksum digits of a complete line.
fn split(line: &str) -> Option<(&str, &str)> {
    let inner = line.strip_suffix(END)?;
    let at = inner.len().checked_sub(DIGITS)?;
    let (head, sum) = (inner.get(..at)?, inner.get(at..)?);
    Some((head.strip_suffix(KEY)?, sum))
}

/// The line of the same record after another one: with another checksum of the line before. `None` if the line is not as
/// fsderby writes it.
pub fn rechained(line: &str, previous: &str) -> Option<(String, String)> {
    let (open, _) = split(line)?;
    let (head, old) = open.split_at_checked(open.len().checked_sub(DIGITS + 1)?)?;
    let head = head.strip_suffix(PREVIOUS)?;
    let is_sum = old.strip_suffix('"')?.bytes().all(|byte| byte.is_ascii_hexdigit());
    let open = format!("{head}{PREVIOUS}{previous}\"");
    let sum = format!("{:08x}", crc32fast::hash(open.as_bytes()));
    is_sum.then(|| (format!("{open}{KEY}{sum}{END}"), sum))
}

/// The place of a line in its file, without its line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub at: u64,
    pub bytes: usize,
}

/// The result of reading a file of records.
#[derive(Debug, Default)]
pub struct Lines {
    /// Checksum of the last valid line.
    pub last: String,
    /// Descriptions of damage, one sentence each.
    pub damage: Vec<String>,
    /// Descriptions of lines that were not written completely, one sentence each. Such lines do not count as damage.
    pub torn: Vec<String>,
}

/// Bytes read at a time. The file is not read whole, because parsed records take several times as much memory as their text.
const PART: u64 = 4 * MIB;

/// Reads all lines. A torn line loses only its own trial: the next writer begins a new line, which repeats the checksum of the last
/// valid line. So an incomplete line counts as torn only at the end of the file, or if the next valid line repeats the checksum
/// of the valid line before the incomplete one.
///
/// `first` is the checksum of plan and machine, which the first line must repeat. `seen` is called with all bytes in file order,
/// `keep` with each valid record.
pub fn read_each(
    mut file: impl Read,
    first: &str,
    mut seen: impl FnMut(&[u8]),
    keep: &mut dyn FnMut(Record, Span),
) -> io::Result<Lines> {
    let mut chain = Chain::from(first, keep);
    let mut part = Vec::new();
    loop {
        let begun = part.len();
        let is_end = ((&mut file).take(PART).read_to_end(&mut part)? as u64) < PART;
        seen(&part[begun..]);
        let end = part[begun..].iter().rposition(|byte| *byte == b'\n').map(|at| begun + at + 1);
        let whole = if is_end { part.len() } else { end.unwrap_or(0) };
        chain.follow(&part[..whole]);
        part.drain(..whole);
        if is_end {
            return Ok(chain.end());
        }
    }
}

/// The state after the lines read so far.
struct Chain<'f> {
    first: &'f str,
    keep: &'f mut dyn FnMut(Record, Span),
    lines: Lines,
    /// Number of bytes read.
    bytes: u64,
    /// Number of lines read.
    count: u32,
    /// Incomplete lines that are not yet known to be torn.
    open: Vec<u32>,
    ends_in_newline: bool,
}

impl<'f> Chain<'f> {
    fn from(first: &'f str, keep: &'f mut dyn FnMut(Record, Span)) -> Self {
        let lines = Lines { last: first.to_owned(), ..Lines::default() };
        Chain { first, keep, lines, bytes: 0, count: 0, open: Vec::new(), ends_in_newline: false }
    }

    /// Reads more lines; only the last line of the file may lack its line end.
    fn follow(&mut self, bytes: &[u8]) {
        // Valid UTF-8 is recognised in one pass and not copied, because the text may be long.
        let text = str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
        let numbered: Vec<(u32, &str)> = (self.count + 1..)
            .zip(text.split_terminator('\n'))
            .filter(|(_, line)| !line.is_empty())
            .collect();
        let parts = parallel(&numbered, |part| {
            let mut known = Common::default();
            part.iter().map(|(n, line)| (*n, read(line).sharing(&mut known))).collect::<Vec<_>>()
        });
        let begin = |line: &str| self.bytes + (line.as_ptr().addr() - text.as_ptr().addr()) as u64;
        let spans: Vec<Span> =
            numbered.iter().map(|(_, line)| Span { at: begin(line), bytes: line.len() }).collect();
        let lines = parts.into_iter().flatten().zip(spans);
        lines.for_each(|((number, line), span)| self.line(number, line, span));
        self.bytes += bytes.len() as u64;
        self.count += text.split_terminator('\n').count() as u32;
        self.ends_in_newline = text.ends_with('\n') || (text.is_empty() && self.ends_in_newline);
    }

    fn line(&mut self, number: u32, line: Line, span: Span) {
        match line {
            Line::Torn => self.open.push(number),
            Line::Damaged(what) => self.lines.damage.push(format!("{TRIALS}, line {number}: {what}")),
            Line::Sound(record, sum) => {
                let follows = record.previous == self.lines.last;
                self.judge(follows);
                if !follows {
                    self.lines.damage.push(match self.lines.last == self.first {
                        true => format!(
                            "{TRIALS}, line {number} does not continue plan.toml and machine.json: one of these files \
                             or a line was altered"
                        ),
                        false => format!(
                            "{TRIALS}, line {number} does not continue the line before it: a line was altered, \
                            is missing or out of order"
                        ),
                    });
                }
                self.lines.last = sum;
                (self.keep)(*record, span);
            }
        }
    }

    fn judge(&mut self, are_torn: bool) {
        let (into, what) = match are_torn {
            true => (&mut self.lines.torn, "was not written completely"),
            false => (&mut self.lines.damage, "was truncated after it was written"),
        };
        into.extend(self.open.drain(..).map(|number| format!("{TRIALS}, line {number} {what}")));
    }

    fn end(mut self) -> Lines {
        self.judge(!self.ends_in_newline);
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_its_whole_end_is_torn_only_where_the_file_ends_in_it() {
        let found = |text: &str| {
            let Lines { torn, damage, .. } =
                read_each(text.as_bytes(), "00000000", |_| (), &mut |_, _| ()).unwrap();
            (torn.len(), damage.len())
        };
        assert_eq!(found("{\"schema\":2,\"tri"), (1, 0));
        assert_eq!(found("{\"schema\":2,\"tri\n"), (0, 1), "its end was written, so it was whole once");
        assert_eq!(found("{\"sche\n{\"schema\":2,\"tri"), (2, 0), "the second writer was killed too");
    }

    #[test]
    fn a_file_of_many_parts_is_read_as_a_whole() {
        // No line is valid, so each line is reported with its number, even if a part ends within a line.
        let line = format!("{{{KEY}00000000{END}");
        let lines = (3 * PART) as usize / (line.len() + 1);
        let mut text = format!("{line}\n").repeat(lines);
        text.push('\n');
        text.push_str(&"x".repeat(2 * PART as usize));
        let mut bytes = 0;
        let Lines { torn, damage, .. } =
            read_each(text.as_bytes(), "00000000", |part| bytes += part.len(), &mut |_, _| ()).unwrap();
        assert_eq!((bytes, damage.len(), torn.len()), (text.len(), lines, 1));
        assert!(damage[lines - 1].starts_with(&format!("{TRIALS}, line {lines}: ")));
        assert_eq!(torn[0], format!("{TRIALS}, line {} was not written completely", lines + 2));
    }

    /// The line with this JSON, with a right checksum.
    fn summed(json: &str) -> String {
        let open = json.strip_suffix('}').unwrap();
        format!("{open}{KEY}{:08x}{END}", crc32fast::hash(open.as_bytes()))
    }

    #[test]
    fn a_text_that_no_run_writes_is_damage_and_is_found_without_reading_the_record() {
        let told = |text: &str| match read(&summed(&format!("{{\"schema\":{SCHEMA},\"trial\":\"{text}\"}}")))
        {
            Line::Damaged(what) => what,
            line => panic!("{line:?}"),
        };
        let long = "x".repeat(LONGEST_TEXT);
        assert!(told(&long).contains("could not parse"), "it is no record, but not too long");
        for text in [
            format!("{long}x"),
            "\u{00e9}".repeat(LONGEST_TEXT),
            r#"\""#.repeat(LONGEST_TEXT),
            r"\\".repeat(LONGEST_TEXT),
            format!("short\",\"kind\":\"{long}x\",\"x\":\""),
        ] {
            assert!(told(&text).contains("it has a text of"), "{}", &text[..20]);
        }
    }

    #[test]
    fn a_line_goes_behind_another_with_its_content_unchanged() {
        let line = summed("{\"a\":\"é\",\"previous\":\"00000000\"}");
        let (moved, sum) = rechained(&line, "0badcafe").unwrap();
        assert_eq!(moved, summed("{\"a\":\"é\",\"previous\":\"0badcafe\"}"));
        assert!(moved.contains(&sum));
        assert_eq!(rechained(&moved, "00000000").unwrap().0, line);
        let others = ["{\"previous\":\"00000000\"}", "{\"a\":1,\"previous\":\"0000000é\"}", "{\"a\":1}"];
        assert!(others.iter().all(|other| rechained(&summed(other), "0badcafe").is_none()));
        assert!(rechained("", "0badcafe").is_none());
    }

    #[test]
    fn the_longest_text_is_counted_as_it_is_written() {
        for (line, longest) in [
            (r#"{"a":"bcd"}"#, Some(3)),
            (r#"{"a":"b\"cd","e":12345678}"#, Some(5)),
            (r#"{"a":"b\\","cde":0}"#, Some(3)),
            (r#"{"a":""}"#, Some(1)),
            ("12345678", None),
            (r#"{"torn":"abcdefgh"#, Some(4)),
        ] {
            assert_eq!(longest_text(line), longest, "{line}");
        }
    }
}
