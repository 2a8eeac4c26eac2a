//! Records as lines: each carries its own checksum and that of the line before it.
//!
//! `crc32` is the last key of a line, over all bytes before it, so that any tool that reads JSON lines can check it:
//! ```text
//! {"schema":1,…,"previous":"5d41402a","crc32":"7d793037"}
//! ```

use std::borrow::Cow;

use crate::parallel::parallel;
use crate::schema::record::{Record, SCHEMA};
use crate::visible;

/// How a whole line ends, but for the eight digits.
const KEY: &str = ",\"crc32\":\"";
const END: &str = "\"}";
const DIGITS: usize = 8;

/// The line of a record, without its end, and its checksum.
pub fn write(record: &Record) -> serde_json::Result<(String, String)> {
    let json = serde_json::to_string(record)?;
    let open = json.strip_suffix('}').unwrap_or(&json);
    let sum = format!("{:08x}", crc32fast::hash(open.as_bytes()));
    Ok((format!("{open}{KEY}{sum}{END}"), sum))
}

/// What became of one line.
#[derive(Debug)]
pub enum Line {
    Sound(Box<Record>, String),
    /// Written only in part: the machine or the process died in the middle.
    Torn,
    Damaged(String),
}

pub fn read(line: &str) -> Line {
    let Some((open, sum)) = split(line) else { return Line::Torn };
    if format!("{:08x}", crc32fast::hash(open.as_bytes())) != sum {
        return Line::Damaged("its checksum does not fit its content".into());
    }
    match serde_json::from_str::<Record>(&format!("{open}}}")) {
        Err(e) => Line::Damaged(format!("it is not understood: {}", visible::message(&e.to_string()))),
        Ok(record) if record.schema != SCHEMA => {
            Line::Damaged(format!("it is of version {}, this fsderby reads {SCHEMA}", record.schema))
        }
        Ok(record) => Line::Sound(Box::new(record), sum.to_owned()),
    }
}

/// `{…` and the eight digits of a line that is whole.
fn split(line: &str) -> Option<(&str, &str)> {
    let inner = line.strip_suffix(END)?;
    let at = inner.len().checked_sub(DIGITS)?;
    let (head, sum) = (inner.get(..at)?, inner.get(at..)?);
    Some((head.strip_suffix(KEY)?, sum))
}

/// All lines of a file.
#[derive(Debug, Default)]
pub struct Lines {
    pub records: Vec<Record>,
    /// The checksum of the last sound line.
    pub last: String,
    /// What is wrong, one sentence each.
    pub damage: Vec<String>,
    /// What died while it was written, one sentence each: no damage.
    pub torn: Vec<String>,
}

/// A torn line loses only its own trial: whoever writes next begins a new line and chains to the last sound one. So a line
/// without a whole end is torn only at the end of the file, or where the next sound line passes over it.
///
/// `first` is what the first line follows: the sum of plan and machine.
pub fn read_all(bytes: &[u8], first: &str) -> Lines {
    let mut lines = Lines { last: first.to_owned(), ..Lines::default() };
    // Lines without a whole end, of which it is not known yet whether they were torn.
    let mut open = Vec::new();
    // Sound text, of which there may be much, is known as such at once.
    let text = str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
    let numbered: Vec<(u32, &str)> =
        (1..).zip(text.split('\n')).filter(|(_, line)| !line.is_empty()).collect();
    let parts = parallel(&numbered, |part| part.iter().map(|(n, line)| (*n, read(line))).collect::<Vec<_>>());
    for (number, line) in parts.into_iter().flatten() {
        match line {
            Line::Torn => open.push(number),
            Line::Damaged(what) => lines.damage.push(format!("line {number}: {what}")),
            Line::Sound(record, sum) => {
                let follows = record.previous == lines.last;
                lines.judge(&mut open, follows);
                if !follows {
                    lines.damage.push(match lines.last == first {
                        true => format!("line {number} does not follow plan and machine: one of them or a line is altered"),
                        false => format!("line {number} does not follow the line before it: one is altered, missing or out of order"),
                    });
                }
                lines.last = sum;
                lines.records.push(*record);
            }
        }
    }
    lines.judge(&mut open, !text.ends_with('\n'));
    lines
}

impl Lines {
    fn judge(&mut self, open: &mut Vec<u32>, are_torn: bool) {
        let (into, what) = match are_torn {
            true => (&mut self.torn, "was not written to its end"),
            false => (&mut self.damage, "was written and has lost its end"),
        };
        into.extend(open.drain(..).map(|number| format!("line {number} {what}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_its_whole_end_is_torn_only_where_the_file_ends_in_it() {
        let found = |text: &str| {
            let Lines { torn, damage, .. } = read_all(text.as_bytes(), "00000000");
            (torn.len(), damage.len())
        };
        assert_eq!(found("{\"schema\":2,\"tri"), (1, 0));
        assert_eq!(found("{\"schema\":2,\"tri\n"), (0, 1), "its end was written, so it was whole once");
        assert_eq!(found("{\"sche\n{\"schema\":2,\"tri"), (2, 0), "the second writer was killed too");
    }
}
