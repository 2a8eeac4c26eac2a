//! Cuts off what mails, web pages and shells put around a line of a tool, so that the line inside is found.
//!
//! ```text
//! > >host,31G,…                quote marks of a mail (as &gt;, |, or DC> too)
//! <p>host,31G,…<br />          tags of a page, at both ends
//! host,31G,…\                  a backslash at the end
//! `host,31G,…`                 quotes around the whole line
//! $ echo "host,31G,…" | …      a shell command around it
//! ```
//! The line inside is not changed. No tool whose output is imported prints a line that begins or ends in such a way.

/// A line without the text that was put around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clean<'l> {
    pub text: &'l str,
    /// The number of letters that were cut off before the line.
    pub before: usize,
    /// The kinds of text that were cut off, each kind once.
    pub cut: Vec<Cut>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    QuoteMarks,
    Tags,
    Backslash,
    Quotes,
    Command,
}

/// HTML tags that web pages put around lines or between them.
const TAGS: [&str; 12] =
    ["br", "p", "pre", "code", "tt", "li", "div", "span", "td", "tr", "font", "blockquote"];
const QUOTES: [char; 3] = ['`', '"', '\''];
/// The beginning of a shell command that prints a line.
const ECHO: &str = "echo ";

impl Cut {
    fn said(self) -> &'static str {
        match self {
            Cut::QuoteMarks => "the quote marks of a mail",
            Cut::Tags => "the tags of a page",
            Cut::Backslash => "a backslash at the end",
            Cut::Quotes => "the quotes around it",
            Cut::Command => "the shell command around it",
        }
    }
}

/// The note about what was cut off: `read without the quote marks of a mail and a backslash at the end`; `None` if nothing was.
pub fn note(cut: impl IntoIterator<Item = Cut>) -> Option<String> {
    let mut all: Vec<Cut> = cut.into_iter().collect();
    all.sort_unstable();
    all.dedup();
    let said: Vec<&str> = all.into_iter().map(Cut::said).collect();
    (!said.is_empty()).then(|| format!("read without {}", said.join(" and ")))
}

pub fn cleaned(line: &str) -> Clean<'_> {
    without(line, true)
}

/// Cleans a line of a tool that itself prints quotes: quotes and commands around a line are kept.
pub fn cleaned_outside(line: &str) -> Clean<'_> {
    without(line, false)
}

fn without(line: &str, with_quotes: bool) -> Clean<'_> {
    let mut text = line.trim_end();
    let mut cut = Vec::new();
    loop {
        let found = [
            (Cut::QuoteMarks, marks(text)),
            (Cut::Tags, tags(text)),
            (Cut::Backslash, text.strip_suffix('\\')),
            (Cut::Command, command(text).filter(|_| with_quotes)),
            (Cut::Quotes, quotes(text).filter(|_| with_quotes)),
        ];
        let Some((what, rest)) = found.into_iter().find_map(|(what, rest)| Some((what, rest?))) else {
            break;
        };
        text = rest.trim_end();
        if !cut.contains(&what) {
            cut.push(what);
        }
    }
    // The text is a part of `line`, so the distance of the pointers is the number of bytes that were cut off.
    let at = text.as_ptr() as usize - line.as_ptr() as usize;
    Clean { text, before: line[..at].chars().count(), cut }
}

/// Some mail programs put the writer's initials before the mark, and some use a bar.
fn marks(text: &str) -> Option<&str> {
    const INITIALS: std::ops::RangeInclusive<usize> = 1..=4;
    let inner = text.trim_start();
    let with_initials = || {
        let (initials, rest) = inner.split_once('>')?;
        let is_one = INITIALS.contains(&initials.len()) && initials.chars().all(|c| c.is_ascii_uppercase());
        is_one.then_some(rest)
    };
    inner.strip_prefix(['>', '|']).or_else(|| inner.strip_prefix("&gt;")).or_else(with_initials)
}

/// The text without a tag at one end; `None` if there is no tag.
fn tags(text: &str) -> Option<&str> {
    let is_tag = |inside: &str| {
        let inside = inside.trim_start_matches('/').trim_end_matches('/').trim();
        let name = inside.split_whitespace().next().unwrap_or_default();
        TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(name))
    };
    let inner = text.trim_start();
    let first = inner.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    if let Some((_, rest)) = first.filter(|(inside, _)| is_tag(inside)) {
        return Some(rest);
    }
    let last = text.strip_suffix('>').and_then(|rest| rest.rsplit_once('<'));
    last.filter(|(_, inside)| is_tag(inside)).map(|(rest, _)| rest)
}

/// The text that an `echo` command prints: the words after `echo`, up to a pipe or a redirection. A prompt may precede the command.
fn command(text: &str) -> Option<&str> {
    let (prompt, rest) = text.split_once(ECHO)?;
    let is_prompt = prompt.trim().is_empty() || prompt.trim_end().ends_with(['$', '#', '%', '`', '(']);
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("-e ").or_else(|| rest.strip_prefix("-n ")).unwrap_or(rest).trim_start();
    let said = match rest.chars().next().filter(|quote| QUOTES.contains(quote)) {
        Some(quote) => rest[1..].split_once(quote).map_or(&rest[1..], |(said, _)| said),
        None => rest.split(['|', '>', ';']).next().unwrap_or_default(),
    };
    (is_prompt && !prompt.contains(',')).then_some(said)
}

fn quotes(text: &str) -> Option<&str> {
    let inner = text.trim_start();
    let quote = inner.chars().next().filter(|quote| QUOTES.contains(quote))?;
    inner[1..].strip_suffix(quote).filter(|inside| !inside.contains(quote))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_put_around_a_line_is_cut_off_and_said() {
        use Cut::{Backslash, Command, QuoteMarks, Quotes, Tags};
        for (line, before, cut) in [
            ("a,1", 0, vec![]),
            ("> >a,1", 3, vec![QuoteMarks]),
            (">> > a,1", 4, vec![QuoteMarks]),
            ("&gt; a,1", 4, vec![QuoteMarks]),
            ("| a,1", 1, vec![QuoteMarks]),
            ("| > DC> a,1", 7, vec![QuoteMarks]),
            ("a,1<br />", 0, vec![Tags]),
            ("a,1<BR>", 0, vec![Tags]),
            ("<pre><code class=\"x\">a,1</code></pre>", 21, vec![Tags]),
            ("a,1\\", 0, vec![Backslash]),
            ("    > a,1\\", 5, vec![QuoteMarks, Backslash]),
            ("`a,1`", 1, vec![Quotes]),
            ("$ echo a,1 | bon_csv2html >>x.html", 7, vec![Command]),
            ("    > $ echo a,1 | /usr/local/bin/bon_csv2html >>x", 13, vec![QuoteMarks, Command]),
            ("echo \"a,1\" | bon_csv2html", 6, vec![Command]),
            ("root@host:~# echo -e 'a,1' > x", 22, vec![Command]),
            ("> a,1<br>\\", 1, vec![QuoteMarks, Backslash, Tags]),
        ] {
            let clean = cleaned(line);
            assert_eq!((clean.text.trim(), clean.before, &clean.cut), ("a,1", before, &cut), "{line}");
        }
    }

    #[test]
    fn what_belongs_to_a_line_stays() {
        for line in ["pm>set size 1 2", "a<b>,1", "<unknown>,1", "a,echo 1", "\"64\"   1  2", "", "a > b"] {
            let clean = cleaned(line);
            assert_eq!((clean.text, clean.before, clean.cut.len()), (line, 0, 0), "{line}");
        }
    }

    #[test]
    fn a_note_names_each_once() {
        assert_eq!(note([]), None);
        let said = note([Cut::Backslash, Cut::QuoteMarks, Cut::Backslash]);
        assert_eq!(
            said.as_deref(),
            Some("read without the quote marks of a mail and a backslash at the end")
        );
    }

    proptest! {
        #[test]
        fn any_line_keeps_a_part_of_itself(line in "[ ><a-e,/\\\\\"'`$|é]{0,40}") {
            let clean = cleaned(&line);
            let skipped: String = line.chars().skip(clean.before).collect();
            prop_assert!(skipped.starts_with(clean.text));
        }
    }
}
