//! Messages that quote what somebody else wrote, as they may go to a terminal: it would obey control characters, and turn text
//! around at others.

/// What is quoted may be of any length: a line and a message end here.
const WIDEST: usize = 1000;
const LONGEST: usize = 30;

/// The same text without what a terminal obeys, and with an end.
pub fn printable(message: &str) -> String {
    let lines: Vec<String> = message.lines().take(LONGEST).map(line).collect();
    lines.join("\n")
}

fn line(text: &str) -> String {
    let mut line = String::new();
    for (at, c) in text.chars().enumerate() {
        match c {
            _ if at == WIDEST => return line + "…",
            '\t' => line.push(' '),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => line.extend(c.escape_unicode()),
            c if c.is_control() => line.extend(c.escape_default()),
            c => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_obeys_nobody_that_it_quotes() {
        let message = printable("'\u{1b}[2J\u{7f}\u{202e}' is unknown\n  try: a\tname");
        assert_eq!(message, "'\\u{1b}[2J\\u{7f}\\u{202e}' is unknown\n  try: a name");
    }

    #[test]
    fn a_message_that_quotes_a_long_text_has_an_end() {
        let long = printable(&(["x", "\n"].concat().repeat(100) + &"y".repeat(1 << 20)));
        assert_eq!(long.lines().count(), LONGEST);
        assert_eq!(printable(&"é".repeat(1 << 20)).chars().count(), WIDEST + 1);
    }
}
