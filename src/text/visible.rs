//! Makes foreign text safe to print: control characters and characters that change the text direction are replaced by escapes,
//! and a message that quotes such text is cut.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Write};

/// The longest line of a message, and the longest message; both are limited because a message may quote text of any length.
const WIDEST: usize = 1000;
const LONGEST: usize = 30;

/// Makes a message that quotes foreign text safe to print.
pub fn message(text: &str) -> String {
    text.lines().take(LONGEST).map(|line| cut(&visible_line(line))).collect::<Vec<_>>().join("\n")
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(WIDEST) {
        None => line.to_owned(),
        Some((at, _)) => line[..at].to_owned() + "…",
    }
}

/// Replaces control characters except line ends, such as `\u{1b}`, and characters that change the text direction.
pub fn visible(text: &str) -> Cow<'_, str> {
    replaced(text, |c| c != '\n' && steers(c), |c, out| out.extend(c.escape_default()))
}

/// Replaces the same characters as [`visible`], and line ends too.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    replaced(text, steers, |c, out| out.extend(c.escape_default()))
}

/// Replaces the same characters in JSON text. These characters occur only inside strings, and a parser reads the escapes as the
/// same characters.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    replaced(json, |c| c != '\n' && steers(c), |c, out| *out += &format!("\\u{:04x}", u32::from(c)))
}

/// A writer that does the same as [`visible_json`] for JSON that is written in pieces, because the whole text may be too large for
/// memory. Pieces must contain whole characters, as serde_json writes them.
pub struct VisibleJson<W>(pub W);

impl<W: Write> Write for VisibleJson<W> {
    fn write(&mut self, json: &[u8]) -> io::Result<usize> {
        let text = str::from_utf8(json).map_err(|e| io::Error::new(ErrorKind::InvalidData, e))?;
        self.0.write_all(visible_json(text).as_bytes())?;
        Ok(json.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Whether a character is a control character (C0, DEL, C1), or embeds, overrides or isolates a text direction.
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn replaced(text: &str, which: impl Fn(char) -> bool, put: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(&which) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if which(c) { put(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}[31m\r\t\u{7f}\u{9b}2J\u{202e}b\u{2066}c\u{0}\nd";

    #[test]
    fn nothing_that_steers_a_terminal_is_left_but_the_ends_of_lines() {
        let shown = r"a\u{1b}[31m\r\t\u{7f}\u{9b}2J\u{202e}b\u{2066}c\u{0}".to_owned();
        assert_eq!(visible(HOSTILE), shown.clone() + "\nd");
        assert_eq!(visible_line(HOSTILE), shown + r"\nd");
    }

    #[test]
    fn a_message_obeys_nobody_that_it_quotes_and_has_an_end() {
        let quoting = message("'\u{1b}[2J\u{7f}\u{202e}' is unknown\n  try: a name");
        assert_eq!(quoting, "'\\u{1b}[2J\\u{7f}\\u{202e}' is unknown\n  try: a name");
        let long = message(&(["x", "\n"].concat().repeat(100) + &"y".repeat(1 << 20)));
        assert_eq!(long.lines().count(), LONGEST);
        assert_eq!(message(&"é".repeat(1 << 20)).chars().count(), WIDEST + 1);
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        let text = "日誌 é e\u{301} µs – שלום\n";
        assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn json_reads_back_as_it_was() {
        let json = serde_json::to_string_pretty(&[HOSTILE]).expect("a string is JSON");
        let shown = visible_json(&json);
        assert!(!shown.chars().any(|c| c != '\n' && steers(c)), "{shown}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&shown).expect("it is JSON still"), [HOSTILE]);
        let mut written = Vec::new();
        serde_json::to_writer_pretty(VisibleJson(&mut written), &[HOSTILE])
            .expect("a buffer takes everything");
        assert_eq!(written, shown.as_bytes());
    }
}
