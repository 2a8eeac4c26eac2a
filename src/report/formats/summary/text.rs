//! The opening as plain text of 72 columns for mailing lists, with a chart of each comparison.

use anstream::adapter::strip_str;

use crate::report::Report;
use crate::report::formats::lines::{interval_of, wrapped};
use crate::report::formats::terminal;
use crate::report::view::comparison::{Comparison, RATIO};
use crate::report::view::number::ratio;
use crate::text::visible::{visible, visible_line};

pub const WIDTH: u16 = 72;
/// Width of a candidate's name in columns, and width of the chart beside the name.
const NAME: usize = 22;
const PICTURE: usize = 30;
/// At most this many comparisons are drawn; further comparisons are only in the table.
const DRAWN: usize = 3;

pub fn of(report: &Report<'_>, is_ascii: bool) -> String {
    let summary = &report.summary;
    let opening = strip_str(&terminal::opening(report, WIDTH)).to_string();
    let mut out: String = opening.lines().map(fitting).collect();
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
    let times = format!("{}, {RATIO}", comparison.times());
    out += &format!("{}\n", cut(&visible_line(&times), usize::from(WIDTH)));
    for line in &comparison.lines {
        let is_open = comparison.is_preliminary || !line.mark().is_empty();
        let mark = (axis.at(line.ratio), if is_open { '○' } else { '●' });
        let ends = line.low.zip(line.high).map(|(low, high)| (axis.at(low), axis.at(high)));
        let picture = interval_of(mark, ends, axis.at(1.0), PICTURE);
        let name = format!("{}{}", visible_line(&line.candidate), comparison.dagger(&line.candidate));
        let name = cut(&name, NAME);
        let pad = " ".repeat(NAME - name.chars().count());
        let text = format!("{name}{pad} {picture} {} {}", ratio(line.ratio), line.mark());
        out += &format!("{}\n", text.trim_end());
    }
    let marks = comparison.marks().replace("? not", "○ ? not");
    if !marks.is_empty() {
        out += &(wrapped(&visible(&marks), usize::from(WIDTH)).join("\n") + "\n");
    }
    out
}

/// Breaks a line of the opening; breaks a command in the line so that a shell still accepts the command.
fn fitting(line: &str) -> String {
    if line.chars().count() <= usize::from(WIDTH) {
        return format!("{line}\n");
    }
    match line.split_once(": fsderby ") {
        Some((what, rest)) if !what.contains(' ') => {
            format!("{what}:\n{}", command(&format!("fsderby {rest}")))
        }
        _ if line.trim_start().starts_with("fsderby ") => command(line.trim_start()),
        _ => format!("{line}\n"),
    }
}

/// Cuts a text to this width, with room for the three dots that replace `…` in ASCII mail.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(3)).chain(['…']).collect()
}

/// A shell command on several lines: an option that does not fit begins a new line, and an overlong option continues on the next.
fn command(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut options = options(text).into_iter();
    lines.extend(options.next().map(|first| format!("  {first}")));
    for option in options {
        // The backslash takes two columns.
        let fits = |line: &String| line.chars().count() + option.chars().count() + 2 <= usize::from(WIDTH);
        match lines.last_mut().filter(|line| fits(line)) {
            Some(line) => line.push_str(option),
            None => lines.push(format!("   {option}")),
        }
    }
    let lines: Vec<String> = lines.iter().map(|line| broken(line)).collect();
    lines.join(" \\\n") + "\n"
}

/// The program with its arguments, and each option: ` --rounds 6`. Ignores quoted text.
fn options(text: &str) -> Vec<&str> {
    let mut begins = vec![0];
    let mut is_quoted = false;
    for (at, letter) in text.char_indices() {
        let is_escaped = !is_quoted && text[..at].ends_with('\\');
        is_quoted ^= letter == '\'' && !is_escaped;
        if !is_quoted && text[at..].starts_with(" --") {
            begins.push(at);
        }
    }
    let ends = begins.iter().skip(1).copied().chain([text.len()]);
    begins.iter().zip(ends).map(|(from, to)| &text[*from..to]).collect()
}

/// Lines that a shell reads as the same command. A backslash joins lines only outside quotes, and a space at the start of the
/// next line would be part of the command.
fn broken(line: &str) -> String {
    // Two columns for ` \` after the last part, two for `'\` after any other.
    let most = usize::from(WIDTH) - 2;
    let mut out = String::new();
    let (mut column, mut is_quoted, mut is_escaped) = (0, false, false);
    let letters: Vec<char> = line.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        let is_full = column >= most || (column + 20 >= most && is_gap(&letters, at) && at > 0);
        if is_full && !is_escaped && letters.len() - at + column > most {
            out.push_str(if is_quoted { "'\\\n'" } else { "\\\n" });
            column = usize::from(is_quoted);
        }
        out.push(*letter);
        column += 1;
        let is_quote = *letter == '\'' && !is_escaped;
        is_escaped = *letter == '\\' && !is_quoted && !is_escaped;
        is_quoted ^= is_quote;
    }
    out
}

/// Whether a line may be broken before this letter.
fn is_gap(letters: &[char], at: usize) -> bool {
    at > 0 && matches!(letters[at - 1], ' ' | ',') && letters[at] != ' '
}

/// Replaces characters outside ASCII, for mail that accepts only ASCII.
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
        // One character replaces one character, which keeps the width.
        _ => "?".to_owned(),
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
        assert!(text.lines().all(|line| line.chars().count() <= usize::from(WIDTH)), "{text}");
        insta::assert_snapshot!("letters", text);
        let plain = of(&report, true);
        assert!(plain.is_ascii() && plain.lines().all(|line| line.len() <= usize::from(WIDTH)), "{plain}");
        insta::assert_snapshot!("ascii", plain);
    }

    #[test]
    fn neither_a_long_path_nor_a_long_label_nor_other_letters_make_a_line_longer() {
        let mut example = examples::rounds(2);
        example.run.folder = format!("/srv/{}/results of ours", "folder/".repeat(12)).into();
        let label = "größer: ".repeat(12);
        for candidate in example.run.plan.candidates.iter_mut().filter(|c| c.label == "birchfs") {
            candidate.label = label.clone();
        }
        for record in example.run.records.iter_mut().filter(|r| r.filesystem == "birchfs") {
            record.filesystem = label.clone();
        }
        for is_ascii in [false, true] {
            let text = of(&example.report(), is_ascii);
            let long: Vec<&str> =
                text.lines().filter(|line| line.chars().count() > usize::from(WIDTH)).collect();
            assert_eq!(long, Vec::<&str>::new());
        }
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
            assert!(page.contains(&report.summary.heading.title));
            assert!(!page.contains("<script") && !page.contains(" src="));
        }
    }

    #[test]
    fn a_long_command_is_several_lines_and_the_same_command() {
        let label = "a label of many words, in quotes that aren't few, ".repeat(4);
        let quoted = shell_words::quote(&label).into_owned();
        let path = format!("/srv/{}", "x".repeat(200));
        for words in [
            format!("--a {} --b {} --c d", "x".repeat(40), "y".repeat(40)),
            format!("--filesystem {quoted} --output {path} --seed 7"),
            format!("--filesystems {}", ["ext4", "xfs", "btrfs"].repeat(20).join(",")),
            format!("--x {}", shell_words::quote(&"'".repeat(90))),
        ] {
            let text = format!("fsderby run {words}");
            let lines = command(&text);
            assert!(lines.lines().all(|line| line.chars().count() <= usize::from(WIDTH)), "{lines}");
            assert_eq!(shell_words::split(&lines).unwrap(), shell_words::split(&text).unwrap(), "{lines}");
        }
    }
}
