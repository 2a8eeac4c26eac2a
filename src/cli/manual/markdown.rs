//! Our own Markdown as the macros of man(7): headings, paragraphs, lists, tables and blocks.

use std::iter::Peekable;
use std::str::Lines;

/// The lines of a page without its title. A heading becomes a subsection, and a row of a table an item: its first cell is the
/// name, its second the text, and each other one is put behind it with its column's title.
pub fn roff(text: &str) -> String {
    let mut page = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("## ") {
            page += &format!(".SS {}\n", inline(title));
        } else if line.starts_with("```") {
            block(&mut lines, &mut page);
        } else if line.starts_with('|') {
            table(line, &mut lines, &mut page);
        } else if let Some(item) = line.strip_prefix("- ") {
            page += &format!(".IP \\(bu 2\n{}\n", inline(&joined(item, &mut lines)));
        } else if let Some((number, item)) = numbered(line) {
            page += &format!(".IP {number} 3\n{}\n", inline(&joined(item, &mut lines)));
        } else if !line.trim().is_empty() && !line.starts_with("# ") {
            page += &format!("{}{}\n", apart(&page), inline(&joined(line, &mut lines)));
        }
    }
    page
}

/// The number and the text of `1. text`.
fn numbered(line: &str) -> Option<(&str, &str)> {
    let (number, item) = line.split_once(' ')?;
    let digits = number.strip_suffix('.')?;
    (!digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())).then_some((number, item))
}

/// A paragraph is set apart from what is before it, but a heading does that itself.
fn apart(page: &str) -> &'static str {
    let is_first = page.is_empty() || page.lines().last().is_some_and(|line| line.starts_with(".SS "));
    if is_first { "" } else { ".PP\n" }
}

/// Help as clap prints it, in two columns: what is indented is a name, two spaces, and its text, which goes on in lines that are
/// indented further.
pub fn columns(help: &str) -> String {
    let mut page = String::new();
    for line in help.lines().filter(|line| !line.trim().is_empty()) {
        let text = line.trim();
        let indentation = line.len() - line.trim_start().len();
        page += &match text.split_once("  ") {
            _ if indentation > 8 => format!("{}\n", plain(text)),
            Some((name, meaning)) if indentation > 0 => {
                format!(".TP\n\\fB{}\\fR\n{}\n", escaped(name), plain(meaning.trim()))
            }
            _ if indentation > 0 => format!(".TP\n\\fB{}\\fR\n", escaped(text)),
            _ => format!("{}{}\n", apart(&page), plain(text)),
        };
    }
    page
}

/// A line of text with what goes on in the next ones.
fn joined(first: &str, lines: &mut Peekable<Lines<'_>>) -> String {
    let mut text = first.trim().to_owned();
    let ends = |line: &str| {
        let is_marked = ["```", "|", "- ", "## "].iter().any(|mark| line.starts_with(mark));
        line.trim().is_empty() || is_marked || numbered(line).is_some()
    };
    while let Some(line) = lines.next_if(|line| !ends(line)) {
        text.push(' ');
        text += line.trim();
    }
    text
}

fn block(lines: &mut Peekable<Lines<'_>>, page: &mut String) {
    page.push_str(apart(page));
    page.push_str(".RS 4\n.nf\n");
    for line in lines.by_ref().take_while(|line| !line.starts_with("```")) {
        broken(line).iter().for_each(|line| *page += &format!("{}\n", plain(line)));
    }
    page.push_str(".fi\n.RE\n");
}

/// A command that is longer than a line of a terminal goes on before an option.
fn broken(line: &str) -> Vec<String> {
    const WIDTH: usize = 66;
    let mut lines = Vec::new();
    let mut rest = line.to_owned();
    while rest.len() > WIDTH {
        let is_outside = |at: &usize| rest[..*at].matches('\'').count().is_multiple_of(2);
        let places = rest.match_indices(" --").map(|(at, _)| at).filter(is_outside);
        let Some(at) = places.filter(|at| (5..=WIDTH).contains(at)).last() else { break };
        lines.push(format!("{} \\", &rest[..at]));
        rest = format!("   {}", &rest[at..]);
    }
    lines.push(rest);
    lines
}

fn table(head: &str, lines: &mut Peekable<Lines<'_>>, page: &mut String) {
    let titles = cells(head);
    lines.next_if(|line| line.starts_with("|-"));
    while let Some(line) = lines.next_if(|line| line.starts_with('|')) {
        let row = cells(line);
        let [name, text, rest @ ..] = row.as_slice() else { continue };
        let more = titles.iter().skip(2).zip(rest).filter(|(_, cell)| !cell.is_empty());
        let more: String = more
            .map(|(title, cell)| format!(" {}: {}.", capital(title), cell.trim_end_matches('.')))
            .collect();
        let text = text.trim_end_matches('.');
        let text = if text.is_empty() { String::new() } else { format!("{}.", inline(text)) };
        *page += &format!(".TP\n{}\n{text}{}\n", inline(name), inline(&more));
    }
}

fn cells(line: &str) -> Vec<String> {
    // A bar inside a cell is written `\|`.
    let line = line.trim().trim_matches('|').replace("\\|", "\u{1}");
    line.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Code and strong words are bold; a link is its text.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for (number, part) in text.replace("**", "`").split('`').enumerate() {
        if number % 2 == 1 {
            out += &format!("\\fB{}\\fR", escaped(part));
        } else {
            out += &escaped(&without_links(&part.replace("\\_", "_")));
        }
    }
    if out.starts_with(['.', '\'']) { format!("\\&{out}") } else { out }
}

/// `[words](address)` → `words`.
fn without_links(text: &str) -> String {
    let mut out = text.to_owned();
    while let Some(middle) = out.find("](") {
        let (Some(begin), Some(end)) = (out[..middle].rfind('['), out[middle..].find(')')) else { break };
        out = format!("{}{}{}", &out[..begin], &out[begin + 1..middle], &out[middle + end + 1..]);
    }
    out
}

/// A line that is printed as it is.
fn plain(line: &str) -> String {
    let line = escaped(line);
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

/// In man(7) a bare `-` is a hyphen, `'` may become a typographic quote, and `^` and `~` accents.
pub fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '\\' => out += "\\e",
            '-' => out += "\\-",
            '\'' => out += "\\(aq",
            '`' => out += "\\(ga",
            '^' => out += "\\(ha",
            '~' => out += "\\(ti",
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{broken, columns, roff};

    #[test]
    fn a_row_of_a_table_is_an_item_with_the_titles_of_its_further_columns() {
        let table =
            "| key | value | without it |\n|---|---|---|\n| `on` | a testbed | `auto` |\n| `[x]` | y | |\n";
        assert_eq!(
            roff(table),
            ".TP\n\\fBon\\fR\na testbed. Without it: \\fBauto\\fR.\n.TP\n\\fB[x]\\fR\ny.\n"
        );
    }

    #[test]
    fn links_are_their_words_and_lines_of_a_paragraph_are_joined() {
        assert_eq!(roff("# Title\n\nSee [a\npage](x.md#y), or\n`-b`.\n"), "See a page, or \\fB\\-b\\fR.\n");
    }

    #[test]
    fn a_numbered_list_is_a_list() {
        assert_eq!(roff("1. one\n   more\n2. $A\\_B\n"), ".IP 1. 3\none more\n.IP 2. 3\n$A_B\n");
    }

    #[test]
    fn help_in_two_columns_is_a_list() {
        let help =
            "Options:\n  -d DIR   a folder\n           to work in\n  -n NUMBER[:MAX]\n           files\n";
        let page =
            "Options:\n.TP\n\\fB\\-d DIR\\fR\na folder\nto work in\n.TP\n\\fB\\-n NUMBER[:MAX]\\fR\nfiles\n";
        assert_eq!(columns(help), page);
    }

    #[test]
    fn a_long_command_goes_on_before_an_option_and_not_inside_quotes() {
        let a = "a".repeat(50);
        assert_eq!(broken("fsderby run --on x"), ["fsderby run --on x"]);
        assert_eq!(
            broken(&format!("run {a} --on x --size y")),
            [format!("run {a} --on x \\"), "    --size y".into()]
        );
        assert_eq!(broken(&format!("run '{a} --on x --size y'")).len(), 1);
    }

    #[test]
    fn a_block_is_printed_as_it_is() {
        assert_eq!(roff("```sh\n.x 'y' \\z\n```\n"), ".RS 4\n.nf\n\\&.x \\(aqy\\(aq \\ez\n.fi\n.RE\n");
    }
}
