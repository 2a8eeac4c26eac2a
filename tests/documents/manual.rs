//! The manual pages: correct for their formatter, known to the parser, and each command and option of them run by some test.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{documents, fsderby, project, skipped};

/// What no test runs, because only a machine or a person of its own could.
const UNTRIED: [(&str, &str); 0] = [];
/// Their options are the originals', which they parse themselves.
const OLD_TOOLS: [&str; 3] = ["bonnie", "iozone", "postmark"];
/// Of every command, by the parser itself.
const OF_THE_PARSER: [&str; 2] = ["--help", "--version"];

/// A page: the words of its command, and the long options in it.
struct Page {
    words: Vec<String>,
    options: Vec<String>,
}

#[test]
fn every_page_is_correct_for_mandoc_and_groff() {
    let folder = written();
    let formatters = [("mandoc", vec!["-T", "lint", "-W", "warning"]), ("groff", vec!["-man", "-ww", "-z"])];
    for (program, arguments) in formatters {
        let pages = names(folder.path()).into_iter().map(|name| folder.path().join(name));
        let output = match Command::new(program).args(arguments).args(pages).output() {
            Ok(output) => output,
            Err(error) => {
                skipped(&format!("{program} on the manual pages"), &error.to_string());
                continue;
            }
        };
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        // Only a release has the date of its commit.
        let wrong: Vec<&str> = said.lines().filter(|line| !line.contains("missing date")).collect();
        assert!(wrong.is_empty(), "{program}: {}", wrong.join("\n"));
    }
}

#[test]
fn every_command_and_option_of_the_pages_is_known_to_the_parser() {
    for Page { words, options } in pages() {
        let known = |option: &str| {
            // What follows an unknown option is not looked at, and what follows a known one is.
            let output = fsderby().args(&words).args([option, "--no-such-option"]).output().unwrap();
            !String::from_utf8_lossy(&output.stderr).contains(&format!("unexpected argument '{option}'"))
        };
        for option in options.iter().filter(|option| !OF_THE_PARSER.contains(&option.as_str())) {
            assert!(known(option), "fsderby {} does not know {option}", words.join(" "));
        }
        let is_old_tool = OLD_TOOLS.contains(&words.join(" ").as_str());
        assert!(
            is_old_tool || !known("--no-such-option-either"),
            "fsderby {} takes any option",
            words.join(" ")
        );
    }
}

#[test]
fn every_command_and_option_of_the_pages_is_run_by_some_test() {
    let tests = Tests::read();
    let mut untried = BTreeSet::new();
    for Page { words, options } in pages() {
        let command = words.join(" ");
        if !tests.run(&words, "") {
            untried.insert((command.clone(), String::new()));
        }
        for option in options.iter().filter(|option| !OF_THE_PARSER.contains(&option.as_str())) {
            if !tests.run(&words, option) {
                untried.insert((command.clone(), option.clone()));
            }
        }
    }
    let stated = UNTRIED.map(|(command, option)| (command.to_owned(), option.to_owned()));
    assert_eq!(untried, BTreeSet::from(stated), "commands and options that no test runs");
}

/// What tests run: lines of documents, and texts in their sources.
struct Tests {
    lines: Vec<String>,
    sources: Vec<String>,
}

impl Tests {
    fn read() -> Self {
        let blocks = documents::all().into_iter().flat_map(|document| document.blocks);
        let lines = blocks.filter(|block| block.info == "sh");
        let lines =
            lines.flat_map(|block| block.text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        let mut tests = Tests { lines, sources: Vec::new() };
        // The gate's own steps fetch kernels.
        let mut folders = vec![project().join("tests"), project().join("crates/gate/src")];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "rs")
                    && !path.ends_with("documents/manual.rs")
                {
                    tests.sources.push(fs::read_to_string(path).unwrap());
                }
            }
        }
        tests
    }

    /// A line with the command and the option, or a file with the texts of both.
    fn run(&self, words: &[String], option: &str) -> bool {
        let command = format!("fsderby {}", words.join(" "));
        let line = |line: &String| has(line, &command) && (option.is_empty() || has(line, option));
        // What runs `fsderby run` are functions that many files share.
        let is_run = words == ["run"];
        let named = |source: &String| {
            is_run
                || words.iter().all(|word| source.contains(&format!("\"{word}\"")))
                || has(source, &words.join(" "))
        };
        let source = |source: &String| named(source) && (option.is_empty() || has(source, option));
        self.lines.iter().any(line) || self.sources.iter().any(source)
    }
}

/// Whether the words stand in the text, not as a part of longer ones.
fn has(text: &str, words: &str) -> bool {
    let ends = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '-');
    text.match_indices(words)
        .any(|(at, _)| ends(text[at + words.len()..].chars().next()) && ends(text[..at].chars().next_back()))
}

/// The pages of commands that do something, but not of those that only have others below.
fn pages() -> Vec<Page> {
    let folder = written();
    let names = names(folder.path()).into_iter().filter(|name| name.ends_with(".1") && name != "fsderby.1");
    let page = |name: String| {
        let text = fs::read_to_string(folder.path().join(&name)).unwrap();
        let words = name.trim_end_matches(".1").split('-').skip(1).map(str::to_owned).collect();
        let section = text.split(".SH ").find(|section| section.starts_with("OPTIONS")).unwrap_or_default();
        let items: Vec<&str> =
            section.split(".TP\n").skip(1).filter_map(|item| item.lines().next()).collect();
        let options = items.iter().flat_map(|item| long_options(&item.replace("\\-", "-"))).collect();
        (text.contains(".SH EXAMPLES\n") || !text.contains(".SH COMMANDS\n"))
            .then_some(Page { words, options })
    };
    let pages: Vec<Page> = names.filter_map(page).collect();
    assert!(pages.len() > 25, "{} pages", pages.len());
    pages
}

/// `\fB-q\fR, \fB--quiet\fR` → `--quiet`.
fn long_options(item: &str) -> Vec<String> {
    let begins = item.match_indices("\\fB--").map(|(at, _)| &item[at + 3..]);
    begins
        .map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap().to_owned())
        .collect()
}

fn written() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let output = fsderby().args(["man", "--output"]).arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
