//! What the documents say is true: their commands run, their paths exist, their tables are the program's.
//!
//! Every line of every block marked `sh` is run by a shell, in order, in a folder of the document's own. Blocks marked `toml` that
//! begin with `# NAME.toml`, and those marked `sh NAME.sh`, are written into it first. A command that is not known here fails, so a
//! document cannot show what nobody has tried. Lines are run as they are written, but for these:
//! - `fsderby run …` is run twice: with `--dry-run` behind it, which proves that all of it is accepted and expands to jobs; and for
//!   real with [`SMALLER`] in place of its own sizes and rounds, and of `quick` one workload. In guests it is a dry run alone:
//!   `tests/guests` boots them. With `--resume` it is as written, but `--rounds N` becomes `--rounds 2`.
//! - What merges shards or submits them to a cluster has its arguments parsed, too; what would use the result is skipped.
//! - What fetches packages, builds a guest, or measures for minutes ([`LONG`]) has its arguments parsed, with `--help` behind them.
//! - `make TARGET` is `make -n TARGET`: the test is itself part of `make test`, and `make run` builds a release.
//! - `cargo test …` and `cargo run …` only have to name what exists.
//! - A run that a later line compares with another has [`ENOUGH`] rounds: fewer give nothing to compare.
//! - Commands in blocks marked `yaml` must be among those that are run.
//! - Blocks marked `sh made-up` are run by `tests/nightly/made_up.rs`.
//!
//! Without root or loop devices what needs them is skipped and said, with all that would use its result.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::documents::{self, Block, Document};
use crate::support::quiet::has_guests;
use crate::support::{has_loop, project, skipped};

/// Their commands are a test of their own, so that two CPUs have something to do.
const GUIDE: &str = "docs/guide/";
/// Subcommands that take minutes or the network.
const LONG: [&str; 4] = ["kernel", "guest", "machine", "disk"];
/// What needs shards or a cluster: `tests/guests/cluster.rs` runs it.
const CLUSTER: [&str; 3] = ["merge", "--submit", "status"];
/// Testbeds whose trials are guests.
const IN_GUESTS: [&str; 2] = ["vm", "model"];
/// A sixteenth of the work, once, in a volume that every kind takes.
const SMALLER: [(&str, &str); 3] = [("--scale", "1/16"), ("--rounds", "1"), ("--size", "320m")];
/// Of `quick`, unless the command names workloads: all of it stands in the dry run.
const ONE: (&str, &str) = ("--workloads", "postmark-quick");
/// Findings between two runs need them.
const ENOUGH: &str = "6";
/// What a condition ends with where it holds: so short a run on a busy machine may be slower or not.
const FAIL_IF: i32 = fsderby::exit::FAIL_IF as i32;
/// What a run ends with whose trials are void, and why they may be.
const TRIALS: i32 = fsderby::exit::TRIALS as i32;
const DISTURBED: &str = "validity check interference";
/// `fsderby doctor` ends with it where the testbed loop is not usable.
const MISSING: i32 = fsderby::exit::MISSING as i32;

#[test]
fn every_command_of_the_guide_runs() {
    documents::all().iter().filter(|document| document.name.starts_with(GUIDE)).for_each(run);
}

#[test]
fn every_command_of_every_other_document_runs() {
    documents::all().iter().filter(|document| !document.name.starts_with(GUIDE)).for_each(run);
}

fn run(document: &Document) {
    if !document.blocks.iter().any(|block| block.info == "sh") {
        return;
    }
    let loops = has_loop("commands on the testbed loop");
    let guests = has_guests("commands in guests");
    let folder = tempfile::tempdir().unwrap();
    write_files(document, folder.path());
    let mut shell =
        Shell { folder: folder.path(), loops, guests, absent: Vec::new(), compared: compared(document) };
    for block in document.blocks.iter().filter(|b| b.info == "sh") {
        block.text.lines().filter(|l| !l.trim().is_empty()).for_each(|line| shell.line(block, line));
    }
}

fn write_files(document: &Document, folder: &Path) {
    for block in document.blocks.iter().filter(|b| b.info == "toml") {
        let name = block.text.lines().next().and_then(|l| l.strip_prefix("# "));
        if let Some(name) = name.filter(|n| n.ends_with(".toml")) {
            fs::write(folder.join(name), &block.text).unwrap();
        }
    }
    for block in &document.blocks {
        if let Some(name) = script(block) {
            write_script(&folder.join(name), &block.text);
        }
    }
}

/// `sh NAME.sh` → `NAME.sh`.
fn script(block: &Block) -> Option<&str> {
    block.title("sh").filter(|name| name.ends_with(".sh"))
}

fn write_script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
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
    guests: bool,
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
            ["fsderby", "reproduce", ..] if !words.contains(&"--from") => self.reproduce(at, line, &words),
            ["fsderby", ..] if self.is_absent(&words) => {
                skipped(line, "its run was skipped");
            }
            ["fsderby", "compare", ..] if words.contains(&"--fail-if") => self.sh(at, line, &[0, FAIL_IF]),
            ["fsderby", "doctor", ..] if !self.loops => self.sh(at, line, &[0, MISSING]),
            ["fsderby", "merge" | "slurm", ..] if words.iter().any(|word| CLUSTER.contains(word)) => {
                self.sh(at, &format!("{line} --help"), &[0]);
                self.absent.extend(words.iter().map(|word| format!("{word}/run")));
            }
            // Needs a disk that nobody uses: `tests/guests/devices.rs` has some.
            ["fsderby", "device", "claim" | "release", ..] => self.sh(at, &format!("{line} --help"), &[0]),
            ["fsderby", command, ..] if LONG.contains(command) => {
                self.sh(at, &format!("{line} --help"), &[0])
            }
            ["sudo", "scripts/setup.sh", packages] => set_up(at, packages),
            ["fsderby" | "printf" | "mkdir" | "seq", ..] => self.sh(at, line, &[0]),
            ["make", target] => make(at, target),
            ["cargo", "test", "--locked", "--test", test, module] => {
                cargo_test(at, "", &format!("{test}/{module}"))
            }
            ["cargo", "test", "--locked", "-p", package, "--test", test, "--", "--nocapture"] => {
                cargo_test(at, &package.replace("fsderby-", "crates/"), test);
            }
            ["cargo", "run", "--release", "-p", package, "--example", example] => {
                let file = format!("{}/examples/{example}.rs", package.replace("fsderby-", "crates/"));
                assert!(project().join(&file).exists(), "{at}: there is no {file}");
            }
            _ => panic!("{at}: this test does not know the command: {line}"),
        }
    }

    fn run(&mut self, at: &str, line: &str, words: &[&str]) {
        let output = words.iter().position(|w| *w == "--output").map(|i| words[i + 1]);
        if words.contains(&"--resume") {
            match self.absent.iter().find(|a| words.contains(&a.as_str())) {
                Some(absent) => skipped(line, &format!("{absent} was skipped")),
                None => {
                    let folder = words.iter().position(|w| *w == "--resume").map(|i| words[i + 1]);
                    self.measured(at, &replaced(words, &[("--rounds", "2")], false), folder);
                }
            }
            return;
        }
        if words.contains(&"--dry-run") {
            let is_below = |absent: &&String| words.iter().any(|word| Path::new(word).starts_with(absent));
            return match self.absent.iter().find(is_below) {
                Some(absent) => skipped(line, &format!("{absent} was skipped")),
                None => self.dry(at, line),
            };
        }
        self.dry(at, &format!("{line} --dry-run"));
        if words
            .windows(2)
            .any(|pair| pair[0] == "--on" && IN_GUESTS.iter().any(|on| pair[1].starts_with(on)))
        {
            return;
        }
        if self.loops || line.contains("--on directory:") {
            let is_compared = output.is_some_and(|folder| self.compared.iter().any(|c| c == folder));
            let rounds =
                |(option, value)| if option == "--rounds" { (option, ENOUGH) } else { (option, value) };
            let smaller = if is_compared { SMALLER.map(rounds) } else { SMALLER };
            let is_quick = words.get(2).is_none_or(|word| *word == "quick" || word.starts_with('-'));
            // A program of one's own has no scale and is the only workload.
            let is_own = ["--command", "--fio"].iter().any(|option| words.contains(option));
            let one = (is_quick && !is_own && !words.contains(&ONE.0)).then_some(ONE);
            // A line with a scale has chosen a volume that its work fits on.
            let is_scaled = words.contains(&"--scale");
            let is_left_out = |option: &str| is_scaled && option == "--size" || is_own && option == "--scale";
            let smaller = smaller.into_iter().filter(|(option, _)| !is_left_out(option));
            let smaller: Vec<_> = smaller.chain(one).collect();
            self.measured(at, &replaced(words, &smaller, true), output);
        } else {
            skipped(line, "the testbed loop needs root");
            self.absent.extend(output.map(str::to_owned));
        }
    }

    /// Whether the line names a folder that was skipped, or one in it.
    fn is_absent(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.absent.iter().any(|absent| Path::new(word).starts_with(absent)))
    }

    /// Runs of a paper in virtual time take half an hour, so only the plan is tried.
    fn reproduce(&mut self, at: &str, line: &str, words: &[&str]) {
        let output = words.iter().position(|w| *w == "--output").map(|i| words[i + 1]);
        let is_dry = words.contains(&"--dry-run");
        self.dry(at, &if is_dry { line.to_owned() } else { format!("{line} --dry-run") });
        self.absent.extend(output.filter(|_| !is_dry).map(str::to_owned));
    }

    /// A run for real. On a machine whose CPUs others have, its trials are void three times: that is no fault of the document, is
    /// said, and what uses the run is skipped.
    fn measured(&mut self, at: &str, line: &str, output: Option<&str>) {
        let (code, said) = self.done(line);
        let void: Vec<&str> = said.lines().filter(|line| line.contains(" is void: ")).collect();
        let is_disturbed = code == TRIALS
            && !void.is_empty()
            && void.iter().all(|line| line.contains(DISTURBED))
            && !said.contains(" failed: ");
        assert!(code == 0 || is_disturbed, "{at}: '{line}' ended with {code}:\n{said}");
        if is_disturbed {
            skipped(line, void[0]);
            self.absent.extend(output.map(str::to_owned));
        }
    }

    /// Without guests nothing can take part in a run of theirs, and without root no run on loop can begin.
    fn dry(&self, at: &str, line: &str) {
        self.sh(at, line, if self.guests && self.loops { &[0] } else { &[0, MISSING] });
    }

    fn sh(&self, at: &str, line: &str, allowed: &[i32]) {
        let (code, said) = self.done(line);
        assert!(allowed.contains(&code), "{at}: '{line}' ended with {code}:\n{said}");
    }

    /// How it ended, and what it said.
    fn done(&self, line: &str) -> (i32, String) {
        let program = Path::new(env!("CARGO_BIN_EXE_fsderby")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(self.folder).env("PATH", path).env("NO_COLOR", "1");
        let output = shell.output().unwrap();
        let code = output.status.code().unwrap_or(-1);
        (code, String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
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

fn set_up(at: &str, packages: &str) {
    let script = fs::read_to_string(project().join("scripts/setup.sh")).unwrap();
    assert!(script.contains(&format!("    {packages}) wanted=")), "{at}: setup.sh knows no {packages}");
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
        let known = language != "sh"
            || ["sh", "sh made-up"].contains(&block.info.as_str())
            || script(block).is_some();
        assert!(known, "{}: '{}' would not be run", block.place, block.info);
    }
}

/// What a build server is told to do has been done above it.
#[test]
fn commands_in_yaml_are_run_elsewhere_in_the_same_document() {
    for document in documents::all() {
        let run: Vec<&str> = document
            .blocks
            .iter()
            .filter(|b| b.info == "sh")
            .flat_map(|b| b.text.lines().map(str::trim))
            .collect();
        for block in document.blocks.iter().filter(|b| b.info == "yaml") {
            let commands = block.text.lines().filter_map(|line| Some(&line[line.find("fsderby ")?..]));
            let commands: Vec<&str> = commands.collect();
            let scripts = document.blocks.iter().filter_map(script).map(|name| format!("./{name}"));
            let is_script = scripts.into_iter().any(|script| block.text.contains(&script));
            assert!(is_script || !commands.is_empty(), "{}: it has no command", block.place);
            for command in commands {
                assert!(run.contains(&command), "{}: '{command}' is not run", block.place);
            }
        }
    }
}

#[test]
fn every_path_in_the_text_exists() {
    const FOLDERS: [&str; 9] = [
        "src/",
        "crates/",
        "tests/",
        "scripts/",
        "experiments/",
        "profiles/",
        "benches/",
        "templates/",
        "docs/",
    ];
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
    let page = documents::document("docs/reference/exit-codes.md").prose;
    let begin = page.find("| code | meaning |").unwrap();
    let rows = page[begin..].lines().skip(2).take_while(|l| l.starts_with('|'));
    assert_eq!(rows.collect::<Vec<_>>(), constants);
}

/// A report names in brief what the page has at length.
#[test]
fn what_every_report_says_stands_in_the_bias_document() {
    let bias = documents::document("docs/method/bias.md").prose;
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let bias = one_line(&bias);
    for sentence in fsderby::report::formats::html::BIAS {
        let sentence = one_line(sentence);
        assert!(bias.contains(&sentence), "docs/method/bias.md does not have: {sentence}");
    }
}

/// `git bisect run` skips a commit at 125, and takes every other code from 1 to 127 as bad.
#[test]
fn the_script_for_bisecting_skips_what_cannot_be_judged() {
    let page = documents::document("docs/guide/regression.md");
    let block = page.blocks.iter().find(|block| script(block) == Some("bisect.sh")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    write_script(&folder.path().join("bisect.sh"), &block.text);
    write_script(&folder.path().join("build-and-install"), "#!/bin/sh\nexit $BUILT\n");
    let stand_in = "#!/bin/sh\ncase $1 in run) exit $RAN ;; compare) exit $COMPARED ;; *) exit 99 ;; esac\n";
    write_script(&folder.path().join("fsderby"), stand_in);
    let ended = |built: u8, ran: u8, compared: u8| {
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
        let codes = [("BUILT", built), ("RAN", ran), ("COMPARED", compared)];
        let mut command = Command::new("./bisect.sh");
        command.current_dir(folder.path()).env("PATH", path).env("TMPDIR", folder.path());
        command.envs(codes.map(|(name, code)| (name, code.to_string())));
        command.status().unwrap().code().unwrap()
    };
    assert_eq!((ended(0, 0, 0), ended(0, 0, 1)), (0, 1));
    assert_eq!((ended(1, 0, 0), ended(0, 4, 0)), (125, 125));
    for (code, _) in fsderby::exit::MEANINGS.iter().filter(|(code, _)| *code > fsderby::exit::FAIL_IF) {
        assert_eq!(ended(0, 0, *code), 125, "compare ended with {code}");
    }
}
