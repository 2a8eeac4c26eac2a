//! The opening as plain text of 72 columns, as mailing lists take it, with a picture of each comparison.

use anstream::adapter::strip_str;

use crate::report::Report;
use crate::report::formats::lines::{interval_of, wrapped};
use crate::report::formats::terminal;
use crate::report::view::comparison::Comparison;
use crate::report::view::number::ratio;
use crate::visible::{visible, visible_line};

pub const WIDTH: u16 = 72;
/// Of a name, of the picture beside it.
const NAME: usize = 22;
const PICTURE: usize = 30;
/// More comparisons than these are in the table alone.
const DRAWN: usize = 3;

pub fn of(report: &Report<'_>, is_ascii: bool) -> String {
    let summary = &report.summary;
    let mut out = strip_str(&terminal::opening(report, WIDTH)).to_string();
    for work in &summary.workloads {
        for comparison in work.comparisons.iter().take(DRAWN) {
            out += &drawn(&format!("{}: {}", work.label, comparison.title), comparison);
        }
    }
    out += "\nTo repeat it:\n";
    out += &command(&visible_line(&summary.heading.repeat.command));
    if let Some(warning) = summary.heading.repeat.warning() {
        out += &(wrapped(&visible(&warning), usize::from(WIDTH)).join("\n") + "\n");
    }
    out += &format!("fsderby {}\n", visible_line(&report.run.machine.fsderby.version));
    if is_ascii { ascii(&out) } else { out }
}

fn drawn(title: &str, comparison: &Comparison) -> String {
    let Some(axis) = comparison.axis() else { return String::new() };
    let mut out = format!("\n{}\n", cut(&visible_line(title), usize::from(WIDTH)));
    out += &format!("{}\n", cut(&visible_line(&comparison.times()), usize::from(WIDTH)));
    for line in &comparison.lines {
        let is_open = comparison.is_preliminary || !line.mark().is_empty();
        let mark = (axis.at(line.ratio), if is_open { '○' } else { '●' });
        let ends = line.low.zip(line.high).map(|(low, high)| (axis.at(low), axis.at(high)));
        let picture = interval_of(mark, ends, axis.at(1.0), PICTURE);
        let name = cut(&visible_line(&line.candidate), NAME);
        let pad = " ".repeat(NAME - name.chars().count());
        let text = format!("{name}{pad} {picture} {} {}", ratio(line.ratio), line.mark());
        out += &format!("{}\n", text.trim_end());
    }
    out
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// A shell's command on several lines: each option begins one where it would be too long.
fn command(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut parts = text.split(" --");
    lines.extend(parts.next().map(|first| format!("  {first}")));
    for part in parts {
        let option = format!(" --{part}");
        // Two columns are for the backslash.
        let fits = |line: &String| line.chars().count() + option.chars().count() + 2 <= usize::from(WIDTH);
        match lines.last_mut().filter(|line| fits(line)) {
            Some(line) => line.push_str(&option),
            None => lines.push(format!("   {option}")),
        }
    }
    lines.join(" \\\n") + "\n"
}

/// For mail that takes nothing else.
fn ascii(text: &str) -> String {
    let one = |c: char| match c {
        '–' | '—' | '─' | '−' => "-".to_owned(),
        '×' => "x".to_owned(),
        '÷' => "/".to_owned(),
        '“' | '”' => "\"".to_owned(),
        '’' | '‘' => "'".to_owned(),
        '≈' => "~".to_owned(),
        '…' => "...".to_owned(),
        '†' => "*".to_owned(),
        '‡' => "#".to_owned(),
        'µ' => "u".to_owned(),
        '│' | '┐' | '┘' => "|".to_owned(),
        '┼' => "+".to_owned(),
        '├' => "[".to_owned(),
        '┤' => "]".to_owned(),
        '●' => "@".to_owned(),
        '○' => "o".to_owned(),
        c if c.is_ascii() => c.to_string(),
        c => c.escape_unicode().to_string(),
    };
    text.chars().map(one).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Summary;
    use super::*;
    use crate::report::examples::{self, model, verdict};
    use crate::report::formats::{Format, How};

    #[test]
    fn it_has_72_columns_and_ascii_on_request() {
        let example = examples::rounds(12);
        let report = example.judged(verdict::over_rounds(12), None);
        let text = of(&report, false);
        // One option alone may be longer, and a shell's word is not broken.
        let is_option = |line: &str| line.starts_with("    --");
        assert!(
            text.lines()
                .filter(|line| !is_option(line))
                .all(|line| line.chars().count() <= usize::from(WIDTH)),
            "{text}"
        );
        for words in [
            "cedarfs is faster than each of the other 7",
            "├",
            "┤",
            "12 rounds in random order",
            "\nTo repeat it:\n",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let plain = of(&report, true);
        assert!(plain.is_ascii() && plain.contains("-@-"), "{plain}");
        assert_eq!(plain.lines().count(), text.lines().count());
    }

    #[test]
    fn the_page_holds_the_opening_and_one_picture() {
        for example in
            [examples::rounds(12), examples::rounds(1), model::samples(13), examples::all_skipped()]
        {
            let report = example.report();
            let mut to = Vec::new();
            let how = How { path: Path::new("x.html"), ascii: false };
            Summary.write_as(&report, &how, &mut to).expect("a buffer takes everything");
            let page = String::from_utf8(to).expect("a page is text");
            assert!(page.starts_with("<!DOCTYPE html>") && page.contains("@page"));
            assert_eq!(page.matches("<svg").count(), usize::from(report.summary.heading.table.is_some()));
            assert!(page.contains(report.summary.heading.title));
            assert!(!page.contains("<script") && !page.contains(" src="));
        }
    }

    #[test]
    fn a_long_command_is_several_lines_and_the_same_command() {
        let text = format!("fsderby run --a {} --b {} --c d", "x".repeat(40), "y".repeat(40));
        let lines = command(&text);
        assert!(lines.lines().all(|line| line.chars().count() <= usize::from(WIDTH)), "{lines}");
        let joined = lines.replace("\\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(joined, text);
    }
}
