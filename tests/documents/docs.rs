//! What the documents say is true: their commands run, their links and paths lead somewhere, their tables are the program's.
//!
//! Every line of every block marked `sh` is run by a shell, in order, in a folder of the document's own, into which blocks marked
//! `toml` that begin with `# NAME.toml` are written first. A command that is not known here fails, so a document cannot
//! show what nobody has tried. Exact lines are run, but for these:
//! - `fsderby run …` is run twice: as it is written with `--dry-run` behind it, which proves that all of it is accepted and
//!   expands to jobs; and for real with [`SMALLER`] in place of its own sizes and rounds. With `--resume` it is as
//!   written, but `--rounds N` becomes `--rounds 2`.
//! - `make TARGET` is `make -n TARGET`: the test is itself part of `make test`, and `make run` builds a release.
//! - `cargo test …` only has to name what exists: it is run by the gate itself.
//! - A run that a later line compares with another has [`ENOUGH`] rounds: fewer give nothing to compare.
//! - Commands in blocks marked `yaml` must be among those that are run.
//! - Blocks marked `sh made-up` are run by `tests/documents/made_up.rs`.
//!
//! Without root or loop devices what needs them is skipped and said, with all that would use its result.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::documents::{self, Block, Document};
use crate::support::{has_loop, project, skipped};

/// Documents below the root whose commands are run as well.
const FURTHER: [&str; 2] = ["docs/compare.md", "docs/import.md"];
/// An eighth of the work, once, in a volume that every kind takes.
const SMALLER: [(&str, &str); 3] = [("--scale", "1/8"), ("--rounds", "1"), ("--size", "320m")];
/// Findings between two runs need them.
const ENOUGH: &str = "6";
/// What a condition ends with where it holds: so short a run on a busy machine may be slower or not.
const FAIL_IF: i32 = fsderby::exit::FAIL_IF as i32;
/// `fsderby doctor` ends with it where the testbed loop is not usable.
const MISSING: i32 = fsderby::exit::MISSING as i32;

#[test]
fn every_command_of_the_readme_runs() {
    run(&documents::document("README.md"));
}

#[test]
fn every_command_of_every_other_document_runs() {
    with_commands().iter().filter(|document| document.name != "README.md").for_each(run);
}

fn run(document: &Document) {
    let loops = has_loop("commands on the testbed loop");
    let folder = tempfile::tempdir().unwrap();
    write_files(document, folder.path());
    let mut shell = Shell { folder: folder.path(), loops, absent: Vec::new(), compared: compared(document) };
    for block in document.blocks.iter().filter(|b| b.info == "sh") {
        block.text.lines().filter(|l| !l.trim().is_empty()).for_each(|line| shell.line(block, line));
    }
}

fn with_commands() -> Vec<Document> {
    documents::all().into_iter().chain(FURTHER.map(documents::document)).collect()
}

fn write_files(document: &Document, folder: &Path) {
    for block in document.blocks.iter().filter(|b| b.info == "toml") {
        let name = block.text.lines().next().and_then(|l| l.strip_prefix("# "));
        if let Some(name) = name.filter(|n| n.ends_with(".toml")) {
            fs::write(folder.join(name), &block.text).unwrap();
        }
    }
}

/// The folders of runs that are compared with others.
fn compared(document: &Document) -> Vec<String> {
    let lines =
        document.blocks.iter().filter(|block| block.info == "sh").flat_map(|block| block.text.lines());
    let compared = lines.filter_map(|line| line.trim().strip_prefix("fsderby compare "));
    compared.flat_map(|rest| rest.split_whitespace().take(2)).map(str::to_owned).collect()
}

struct Shell<'a> {
    folder: &'a Path,
    loops: bool,
    /// Folders of runs that were skipped.
    absent: Vec<String>,
    compared: Vec<String>,
}

impl Shell<'_> {
    fn line(&mut self, block: &Block, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = &block.place;
        match words.as_slice() {
            ["fsderby", "run", ..] => self.run(at, line, &words),
            ["fsderby", ..] if self.absent.iter().any(|a| words.contains(&a.as_str())) => {
                skipped(line, "its run was skipped");
            }
            ["fsderby", "compare", ..] if words.contains(&"--fail-if") => self.sh(at, line, &[0, FAIL_IF]),
            ["fsderby", "doctor", ..] if !self.loops => self.sh(at, line, &[0, MISSING]),
            ["fsderby" | "printf" | "mkdir", ..] => self.sh(at, line, &[0]),
            ["make", target] => make(at, target),
            ["cargo", "test", "--locked", "--test", test, module] => {
                cargo_test(at, "", &format!("{test}/{module}"))
            }
            ["cargo", "test", "--locked", "-p", package, "--test", test, "--", "--nocapture"] => {
                cargo_test(at, &package.replace("fsderby-", "crates/"), test);
            }
            _ => panic!("{at}: this test does not know the command: {line}"),
        }
    }

    fn run(&mut self, at: &str, line: &str, words: &[&str]) {
        let output = words.iter().position(|w| *w == "--output").map(|i| words[i + 1]);
        if words.contains(&"--resume") {
            match self.absent.iter().find(|a| words.contains(&a.as_str())) {
                Some(absent) => skipped(line, &format!("{absent} was skipped")),
                None => self.sh(at, &replaced(words, &[("--rounds", "2")], false), &[0]),
            }
            return;
        }
        if words.contains(&"--dry-run") {
            let is_below = |absent: &&String| words.iter().any(|word| Path::new(word).starts_with(absent));
            return match self.absent.iter().find(is_below) {
                Some(absent) => skipped(line, &format!("{absent} was skipped")),
                None => self.sh(at, line, &[0]),
            };
        }
        self.sh(at, &format!("{line} --dry-run"), &[0]);
        if self.loops || line.contains("--on directory:") {
            let is_compared = output.is_some_and(|folder| self.compared.iter().any(|c| c == folder));
            let rounds =
                |(option, value)| if option == "--rounds" { (option, ENOUGH) } else { (option, value) };
            let smaller = if is_compared { SMALLER.map(rounds) } else { SMALLER };
            self.sh(at, &replaced(words, &smaller, true), &[0]);
        } else {
            skipped(line, "the testbed loop needs root");
            self.absent.extend(output.map(str::to_owned));
        }
    }

    fn sh(&self, at: &str, line: &str, allowed: &[i32]) {
        let program = Path::new(env!("CARGO_BIN_EXE_fsderby")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(self.folder).env("PATH", path).env("NO_COLOR", "1");
        let output = shell.output().unwrap();
        let code = output.status.code().unwrap_or(-1);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(allowed.contains(&code), "{at}: '{line}' ended with {code}:\n{said}");
    }
}

/// The line with these options' values in place of its own; where it has none, added if so asked.
fn replaced(words: &[&str], options: &[(&str, &str)], add: bool) -> String {
    let mut line = Vec::new();
    let mut given = BTreeSet::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        line.push(*word);
        if let Some((option, value)) = options.iter().find(|(option, _)| option == word) {
            words.next();
            line.push(value);
            given.insert(option);
        }
    }
    let missing = options.iter().filter(|(option, _)| add && !given.contains(option));
    line.extend(missing.flat_map(|(option, value)| [*option, *value]));
    line.join(" ")
}

fn make(at: &str, target: &str) {
    let mut make = Command::new("make");
    make.args(["-n", target]).current_dir(project()).env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    let output = make.output().unwrap_or_else(|e| panic!("{at}: make: {e}"));
    assert!(output.status.success(), "{at}: make -n {target}: {}", String::from_utf8_lossy(&output.stderr));
}

fn cargo_test(at: &str, package: &str, test: &str) {
    let tests = project().join(package).join("tests");
    let exists =
        ["{}.rs", "{}/mod.rs", "{}/main.rs"].iter().any(|form| tests.join(form.replace("{}", test)).exists());
    assert!(exists, "{at}: there is no test {test}");
}

/// `make run` and `make test` begin with it. Without knowing what is asked for it must install nothing.
#[test]
fn the_setup_script_is_a_script_and_refuses_what_it_does_not_know() {
    let script = project().join("scripts/setup.sh");
    let output = Command::new(&script).arg("nothing").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("setup.sh tools|guests|test"));
}

#[test]
fn every_block_says_what_it_is() {
    for block in documents::all().iter().flat_map(|d| &d.blocks) {
        let language = block.info.split(' ').next().unwrap();
        assert!(
            ["sh", "toml", "text", "json", "rust", "diff", "yaml"].contains(&language),
            "{}: '{}'",
            block.place,
            block.info
        );
        let known = language != "sh" || ["sh", "sh made-up"].contains(&block.info.as_str());
        assert!(known, "{}: '{}' would not be run", block.place, block.info);
    }
}

/// What a build server is told to do has been done above it.
#[test]
fn commands_in_yaml_are_run_elsewhere_in_the_same_document() {
    for document in with_commands() {
        let run: Vec<&str> = document
            .blocks
            .iter()
            .filter(|b| b.info == "sh")
            .flat_map(|b| b.text.lines().map(str::trim))
            .collect();
        for block in document.blocks.iter().filter(|b| b.info == "yaml") {
            let commands = block.text.lines().filter_map(|line| Some(&line[line.find("fsderby ")?..]));
            let commands: Vec<&str> = commands.collect();
            assert!(!commands.is_empty(), "{}: it has no command", block.place);
            for command in commands {
                assert!(run.contains(&command), "{}: '{command}' is not run", block.place);
            }
        }
    }
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    for document in documents::all() {
        for link in document.prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { document.name.as_str() } else { file };
            assert!(project().join(file).exists(), "{}: there is no {link}", document.name);
            let found = heading.is_empty() || headings(file).contains(heading);
            assert!(found, "{}: there is no heading {link}", document.name);
        }
    }
}

/// As they are linked to: `The words` → `the-words`.
fn headings(file: &str) -> BTreeSet<String> {
    let slug = |heading: &str| {
        let lower = heading.to_lowercase();
        let kept = lower.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().replace(' ', "-")
    };
    let prose = documents::document(file).prose;
    let lines = prose.lines().filter(|l| l.starts_with('#'));
    lines.map(|l| slug(l.trim_start_matches('#').trim())).collect()
}

#[test]
fn every_path_in_the_text_exists() {
    const FOLDERS: [&str; 8] =
        ["src/", "crates/", "tests/", "scripts/", "experiments/", "profiles/", "benches/", "templates/"];
    for document in documents::all() {
        let quoted = document.prose.split('`').skip(1).step_by(2);
        for path in
            quoted.filter(|q| FOLDERS.iter().any(|f| q.starts_with(f)) && !q.contains(char::is_whitespace))
        {
            assert!(project().join(path).exists(), "{}: there is no {path}", document.name);
        }
    }
}

/// The block marked `text layout` has a line for each folder of `src/` and `crates/`, and none for what is not there.
#[test]
fn the_layout_is_that_of_the_project() {
    let architecture = documents::document("ARCHITECTURE.md");
    let block = architecture.blocks.iter().find(|b| b.title("text") == Some("layout")).unwrap();
    let listed: BTreeSet<&str> = block.text.lines().filter_map(|l| l.split_whitespace().next()).collect();
    for path in &listed {
        assert!(project().join(path).exists(), "{}: there is no {path}", block.place);
    }
    for parent in ["src", "crates"] {
        let folders = fs::read_dir(project().join(parent)).unwrap().flatten().filter(|e| e.path().is_dir());
        for folder in folders {
            let path = format!("{parent}/{}/", folder.file_name().to_string_lossy());
            assert!(listed.contains(path.as_str()), "{}: {path} has no line", block.place);
        }
    }
}

#[test]
fn the_exit_codes_are_the_programs() {
    let constants: Vec<String> =
        fsderby::exit::MEANINGS.iter().map(|(code, meaning)| format!("| {code} | {meaning} |")).collect();
    let readme = documents::document("README.md").prose;
    let begin = readme.find("| code | meaning |").unwrap();
    let rows = readme[begin..].lines().skip(2).take_while(|l| l.starts_with('|'));
    assert_eq!(rows.collect::<Vec<_>>(), constants);
}

/// A report names in brief what BIAS.md has at length.
#[test]
fn what_every_report_says_stands_in_the_bias_document() {
    let bias = documents::document("BIAS.md").prose;
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let bias = one_line(&bias);
    for sentence in fsderby::report::formats::html::BIAS {
        let sentence = one_line(sentence);
        assert!(bias.contains(&sentence), "BIAS.md does not have: {sentence}");
    }
}
