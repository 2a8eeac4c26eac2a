//! Script text as C reads it: bytes, which need not be valid UTF-8.

use std::io::BufRead;

/// Longest line that is read at once; the rest of a longer line is read as the next line.
const LONGEST_LINE: usize = 254;

/// The next line without its last byte. The dropped byte is the newline, except in a last line without a newline and in lines
/// that are too long. A NUL byte ends the line early. `None` at the end of the script, or if reading fails.
pub fn next_line(script: &mut dyn BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    while line.len() < LONGEST_LINE && line.last() != Some(&b'\n') {
        let Ok(ahead) = script.fill_buf() else { break };
        let part = &ahead[..ahead.len().min(LONGEST_LINE - line.len())];
        let part = part.iter().position(|c| *c == b'\n').map_or(part, |at| &part[..=at]);
        if part.is_empty() {
            break;
        }
        line.extend_from_slice(part);
        let taken = part.len();
        script.consume(taken);
    }
    if line.is_empty() {
        return None;
    }
    let end = line.iter().position(|c| *c == 0).unwrap_or(line.len());
    line.truncate(end.saturating_sub(1));
    Some(line)
}

/// C's `atoi` on a 64-bit machine: blanks, a sign, digits up to the first other byte, truncated to 32 bits.
pub fn integer(text: &[u8]) -> i32 {
    let text = &text[text.iter().take_while(|c| matches!(c, b' ' | 9..=13)).count()..];
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let digits = digits.iter().take_while(|c| c.is_ascii_digit()).map(|c| i64::from(c - b'0'));
    let sign = if negative { -1 } else { 1 };
    let long = digits.fold(0i64, |n, digit| n.saturating_mul(10).saturating_add(sign * digit));
    long as i32
}

/// The text before and after the last blank.
pub fn split_last_blank(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().rposition(|c| *c == b' ')?;
    Some((&text[..at], &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(script: &[u8]) -> Vec<Vec<u8>> {
        let mut reader = script;
        std::iter::from_fn(|| next_line(&mut reader)).collect()
    }

    #[test]
    fn a_line_loses_its_last_byte_whatever_it_is() {
        assert_eq!(lines(b"set\r\n\nquit"), [&b"set\r"[..], b"", b"qui"]);
        assert_eq!(lines(b"a\0b\n\0\n"), [&b""[..], b""]);
        let long = lines(&[b'x'; 300]);
        assert_eq!(long.iter().map(Vec::len).collect::<Vec<_>>(), [253, 45]);
    }

    #[test]
    fn integers_are_cut_as_in_c() {
        for (text, number) in [
            (&b" \t+7x"[..], 7),
            (b"-5", -5),
            (b"", 0),
            (b"0x10", 0),
            (b"99999999999", 1_215_752_191),
            (b"4294967297", 1),
            (b"99999999999999999999", -1),
            (b"-99999999999999999999", 0),
            (b"- 5", 0),
        ] {
            assert_eq!(integer(text), number, "{}", text.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn lines_are_never_longer_than_the_originals(script: Vec<u8>) {
            let lines = lines(&script);
            prop_assert!(lines.iter().all(|line| line.len() < LONGEST_LINE));
            prop_assert!(lines.len() <= script.len());
        }

        #[test]
        fn any_bytes_are_an_integer(text: Vec<u8>) {
            integer(&text);
        }
    }
}
