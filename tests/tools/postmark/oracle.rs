//! Against the original itself, system call by system call with all data, where it and strace are installed.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use fsderby::dropins::postmark;
use fsderby::workloads::postmark::rules::Rules;
use fsderby::workloads::postmark::trace::trace;

use super::scripts::{self, OURS, SCRIPT};

const ORIGINAL: &[&str] = &["postmark"];
const NEEDED: &[&str] = &["postmark", "strace"];

/// Random scripts, each named by its seed when it fails.
const RANDOM_SCRIPTS: u64 = 24;

const CALLS: &str =
    "trace=open,openat,read,write,close,lseek,fstat,newfstatat,mkdir,mkdirat,rmdir,unlink,unlinkat";

/// What a program did to the files below its folder, one call a line, in the form of [`trace`] with the data
/// behind it; and what it printed.
fn observe(program: &[&str], script: &[u8], limit: Option<&str>) -> (Vec<String>, String, String) {
    let folder = scripts::folder(script);
    let tracer = ["strace", "-f", "-s", "200000", "-e", CALLS, "-o", "LOG"];
    // A limit on the size of files stands in for a full disk; ignored, its signal becomes an error of the
    // write.
    let limited = limit.map(|blocks| format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""));
    let shell = limited.iter().flat_map(|line| ["sh", "-c", line.as_str(), "sh"]);
    let before: Vec<&str> = tracer.into_iter().chain(shell).collect();
    let output = scripts::run(&before, program, folder.path());
    assert!(output.status.success(), "{program:?} ends well");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (calls(&folder.path().join("LOG")), scripts::timeless(&output.stdout), errors)
}

fn calls(log: &Path) -> Vec<String> {
    let log = fs::read(log).expect("strace's log");
    let mut opened = HashMap::new();
    String::from_utf8_lossy(&log).lines().filter_map(|line| call(line, &mut opened)).collect()
}

/// `12 openat(AT_FDCWD, "1", O_RDONLY) = 4` becomes `OPENR 1`. Absolute paths and the script are nobody's
/// business.
fn call(line: &str, opened: &mut HashMap<String, String>) -> Option<String> {
    let (_process, line) = line.split_once(' ')?;
    let (name, rest) = line.trim_start().split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    let arguments = arguments.trim_end().strip_suffix(')')?;
    let result = result.split(' ').next()?;
    let paths = ["open", "openat", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat"];
    if paths.contains(&name) {
        return on_path(name, arguments.trim_start_matches("AT_FDCWD, "), result, opened);
    }
    let (file, rest) = arguments.split_once(", ").unwrap_or((arguments, ""));
    if !opened.contains_key(file) {
        return None;
    }
    Some(match name {
        "write" | "read" => {
            let (data, asked) = rest.rsplit_once(", ")?;
            // Behind a read that failed stands only an address.
            let data = if result.starts_with('-') { "" } else { data };
            format!("{} {asked} {result} {data}", if name == "write" { "W" } else { "R" })
        }
        "lseek" if rest == "0, SEEK_END" => "SEEKEND".to_owned(),
        "fstat" | "newfstatat" => "STAT".to_owned(),
        "close" => {
            opened.remove(file);
            "CLOSE".to_owned()
        }
        other => panic!("an unexpected call: {other}({arguments})"),
    })
}

fn on_path(
    name: &str,
    arguments: &str,
    result: &str,
    opened: &mut HashMap<String, String>,
) -> Option<String> {
    let (path, rest) = arguments.strip_prefix('"')?.split_once('"')?;
    if path.starts_with('/') || path == SCRIPT {
        return None;
    }
    let failed = if result.starts_with('-') { " failed" } else { "" };
    let word = match name {
        "open" | "openat" => {
            opened.insert(result.to_owned(), path.to_owned());
            // The flags are part of what must be equal; this one means nothing to a 64-bit kernel.
            let rest = rest.replace("|O_LARGEFILE", "");
            return Some(format!("OPEN {path}{rest}{failed}"));
        }
        "mkdir" | "mkdirat" => return Some(format!("MKDIR {path}{rest}{failed}")),
        "unlinkat" if rest.contains("AT_REMOVEDIR") => "RMDIR",
        "rmdir" => "RMDIR",
        _ => "UNLINK",
    };
    Some(format!("{word} {path}{failed}"))
}

fn compare(name: &str, script: &[u8], limit: Option<&str>) -> Vec<String> {
    let (theirs, their_report, their_errors) = observe(ORIGINAL, script, limit);
    let (ours, our_report, our_errors) = observe(OURS, script, limit);
    let text = String::from_utf8_lossy(script);
    for (at, (our, their)) in ours.iter().zip(&theirs).enumerate() {
        let [our, their] = [our, their].map(|call| call.chars().take(120).collect::<String>());
        assert_eq!(our, their, "{name}: call {at} of the script\n{text}");
    }
    assert_eq!(ours.len(), theirs.len(), "{name}: the number of calls of the script\n{text}");
    assert!(ours == theirs, "{name}: the data of the script\n{text}");
    assert_eq!(our_report, their_report, "{name}: the report of the script\n{text}");
    assert_eq!(our_errors, their_errors, "{name}: the errors of the script\n{text}");
    ours
}

#[test]
fn the_drop_in_does_what_the_original_does() {
    if !scripts::installed(NEEDED, "PostMark against the original") {
        return;
    }
    for (name, path) in scripts::golden() {
        compare(&name, &fs::read(path).expect("the script"), None);
    }
    for seed in 0..RANDOM_SCRIPTS {
        let rules = scripts::random(seed);
        let calls = compare(&format!("random script {seed}"), &rules.script(), None);
        assert_eq!(plain(&calls), traced(&rules.script()), "the trace of random script {seed}");
    }
}

/// An observed call in the trace's words.
fn plain(calls: &[String]) -> Vec<String> {
    let word = |call: &String| -> Option<String> {
        let words: Vec<&str> = call.splitn(4, ' ').collect();
        Some(match words.as_slice() {
            ["STAT"] => return None,
            ["W", asked, ..] => format!("W {asked}"),
            ["R", asked, got, _] => format!("R {asked} {got}"),
            ["OPEN", path, rest @ ..] => {
                format!("{} {}", open_word(&rest.join(" ")), path.trim_end_matches(','))
            }
            ["MKDIR", path, ..] => format!("MKDIR {}", path.trim_end_matches(',')),
            _ => call.clone(),
        })
    };
    calls.iter().filter_map(word).collect()
}

fn open_word(flags: &str) -> &'static str {
    match flags {
        flags if flags.contains("O_APPEND") => "OPENA",
        flags if flags.contains("O_CREAT") => "CREATE",
        _ => "OPENR",
    }
}

fn traced(script: &[u8]) -> Vec<String> {
    let mut calls = Vec::new();
    trace(&postmark::rules(script), 4096, &mut |call| calls.push(call.to_string()));
    calls
}

#[test]
fn writes_that_fail_fail_as_in_the_original() {
    if !scripts::installed(NEEDED, "PostMark with failing writes against the original") {
        return;
    }
    // In blocks of 512 bytes: below, at and above the stream's buffer, and within a second one.
    for (limit, block, buffering) in [
        ("1", 512, true),
        ("3", 100, true),
        ("8", 700, true),
        ("9", 5000, true),
        ("13", 4096, true),
        ("20", 20_000, true),
        ("5", 512, false),
        ("13", 5000, false),
    ] {
        let rules = Rules {
            number: 20,
            transactions: 100,
            low: 300,
            high: 20_000,
            read_block: block,
            write_block: block,
            buffering,
            ..Rules::default()
        };
        let calls = compare(&format!("limit {limit}"), &rules.script(), Some(limit));
        assert!(
            calls.iter().any(|call| call.starts_with("W ") && call.contains(" -1 ")),
            "limit {limit} bites"
        );
    }
}

#[test]
fn a_missing_location_is_told_as_by_the_original() {
    if !scripts::installed(NEEDED, "PostMark in a missing folder against the original") {
        return;
    }
    for script in [
        "!rm -r a\nset location a\nset number 10\nset transactions 30\nrun\nquit\n",
        "!rm -r a\nset location a 2\nset location +b 3\nset number 10\nset transactions 60\nset subdirectories 3\n\
         run\nset buffering false\nrun\nquit\n",
        "!mkdir 3 7\nset number 10\nset transactions 60\nrun\nset report terse\nquit\n",
    ] {
        compare("missing location", script.as_bytes(), None);
    }
}
