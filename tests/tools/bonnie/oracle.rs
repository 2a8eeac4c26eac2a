//! Against the original itself, phase by phase: which system calls, how often, on how many bytes.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const OURS: &[&str] = &[env!("CARGO_BIN_EXE_fsderby"), "bonnie"];
const ORIGINAL: &[&str] = &["bonnie++"];

/// A call with what must be equal of it, and how often it was made.
type Calls = BTreeMap<String, u64>;

const SEEK: &str = "start 'em";

/// What both print when a phase begins, and where the phases before them end.
const PHASES: [&str; 12] = [
    "Writing a byte",
    "Writing intelligently",
    "Rewriting",
    "Reading a byte",
    "Reading intelligently",
    SEEK,
    "Create files in seq",
    "Stat files in seq",
    "Delete files in seq",
    "Create files in random",
    "Stat files in random",
    "Delete files in random",
];

/// The calls of each phase that was run, by the text that begins it; those before the first are nobody's business.
fn observe(program: &[&str], options: &[&str]) -> Vec<(&'static str, Calls)> {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let log = folder.path().join("log");
    let place = folder.path().join("place");
    std::fs::create_dir(&place).unwrap();
    let said = Command::new("strace")
        .args(["-f", "-qq", "-s", "32", "-o"])
        .arg(&log)
        .args(program)
        .args(["-u", "root", "-r", "0", "-m", "host", "-z", "42", "-d"])
        .arg(&place)
        .args(options)
        .output()
        .unwrap();
    assert!(said.status.success(), "{program:?} {options:?}: {}", String::from_utf8_lossy(&said.stderr));
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0, "{program:?} leaves nothing");
    phases(&whole_lines(&log))
}

/// Calls that another thread's stood between are put together again.
fn whole_lines(log: &Path) -> Vec<String> {
    let mut begun: BTreeMap<String, String> = BTreeMap::new();
    let mut lines = Vec::new();
    for line in String::from_utf8_lossy(&std::fs::read(log).unwrap()).lines() {
        let (process, rest) = line.split_once(' ').unwrap();
        let rest = rest.trim_start();
        if let Some(begin) = rest.strip_suffix(" <unfinished ...>") {
            begun.insert(process.to_owned(), begin.to_owned());
        } else if let Some((_, end)) = rest.split_once(" resumed>").filter(|_| rest.starts_with("<...")) {
            lines.push(begun.remove(process).unwrap() + end);
        } else {
            lines.push(rest.to_owned());
        }
    }
    lines
}

/// A phase is what lies between the ends of two: the original opens a file before it says what it will do with it.
fn phases(lines: &[String]) -> Vec<(&'static str, Calls)> {
    let mut phases: Vec<(&'static str, Calls)> = Vec::new();
    let mut opened = BTreeMap::new();
    let (mut name, mut calls) = (None, Calls::new());
    for line in without_the_empty_file(lines) {
        if line.starts_with("write(2, ") {
            let next = PHASES.iter().find(|text| line.contains(**text)).copied();
            // Each seeker says that it is done, and deletes the file before or after that.
            let ends = if name == Some(SEEK) { next.is_some() } else { line.contains("done") };
            if ends && let Some(name) = name.take() {
                phases.push((name, std::mem::take(&mut calls)));
            }
            name = next.or(name);
        } else if let Some(call) = call(line, &mut opened) {
            *calls.entry(call).or_default() += 1;
        }
    }
    phases.extend(name.map(|name| (name, calls)));
    phases
}

/// From the first thing done to what is to be measured. With `-f` the original makes an empty file, syncs it and deletes it, before
/// its first phase; we do not.
fn without_the_empty_file(lines: &[String]) -> impl Iterator<Item = &String> {
    let made: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains("Bonnie.") && line.contains("O_CREAT"))
        .map(|(at, _)| at)
        .collect();
    let deleted = |at: &usize| lines[*at].starts_with("unlink") && lines[*at].contains("Bonnie.");
    let begins = |line: &String| {
        ["unlink", "mkdir"].iter().any(|call| line.starts_with(call)) && line.contains("Bonnie.")
    };
    let begin = lines.iter().position(begins).unwrap_or(lines.len());
    let first_write = lines.iter().position(|line| line.contains("Writing intelligently"));
    let skipped = match made[..] {
        [first, second, ..] if Some(second) < first_write => {
            (0..first).rfind(deleted).unwrap()..(first..second).rfind(deleted).unwrap()
        }
        _ => 0..0,
    };
    lines
        .iter()
        .enumerate()
        .filter(move |(at, line)| line.starts_with("write(2") || (*at >= begin && !skipped.contains(at)))
        .map(|(_, line)| line)
}

/// `read(3, "…"..., 8192) = 8192` becomes `data read 8192 8192`. What is not on their own files is nobody's business.
fn call(line: &str, opened: &mut BTreeMap<String, &'static str>) -> Option<String> {
    let (name, rest) = line.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    let arguments = arguments.trim_end().strip_suffix(')')?;
    let result = result.split(' ').next()?;
    let last = || arguments.rsplit_once(", ").map_or(arguments, |(_, last)| last);
    let path = || arguments.split('"').nth(1);
    match name {
        "openat" => {
            let flags = last_flags(arguments);
            let kind = kind(path()?)?;
            if !result.starts_with('-') {
                opened.insert(result.to_owned(), kind);
            }
            // The mode stands behind the flags of a creation.
            Some(format!("{kind} open {flags}"))
        }
        "read" | "write" | "getdents64" | "lseek" | "fsync" => {
            let (file, _) = arguments.split_once(", ").unwrap_or((arguments, ""));
            let kind = opened.get(file)?;
            Some(match name {
                "lseek" => format!("{kind} lseek {}", last()),
                "fsync" => format!("{kind} fsync"),
                "getdents64" => format!("{kind} getdents64 of {}", last()),
                _ => format!("{kind} {name} {} {result}", last()),
            })
        }
        "close" => Some(format!("{} close", opened.remove(arguments)?)),
        "unlink" | "unlinkat" | "rmdir" if arguments.contains("AT_REMOVEDIR") || name == "rmdir" => {
            Some(format!("{} rmdir", kind(path()?)?))
        }
        // Of the seekers, the first that ends deletes the file, and the others do not find it.
        "unlink" | "unlinkat" => Some(format!("{} unlink", kind(path()?)?)),
        "mkdir" | "mkdirat" => Some(format!("{} mkdir", kind(path()?)?)),
        "link" | "linkat" => Some("small link".to_owned()),
        "symlink" | "symlinkat" => Some("small symlink".to_owned()),
        "stat" | "newfstatat" | "statx" => {
            let kind = kind(path().filter(|path| !path.is_empty())?)?;
            let size = arguments.split("st_size=").nth(1)?.split([',', '}']).next()?.to_owned();
            Some(format!("{kind} stat {size}"))
        }
        "chdir" => Some("chdir".to_owned()),
        "sync" => Some("sync".to_owned()),
        _ => None,
    }
}

fn last_flags(arguments: &str) -> String {
    let flags = arguments.split(", ").find(|part| part.starts_with("O_")).unwrap_or_default();
    let (flags, mode) =
        (flags.replace("|O_CLOEXEC", "").replace("|O_LARGEFILE", ""), arguments.ends_with(", 0600"));
    flags + if mode { " 0600" } else { "" }
}

/// The large file or the folder of its name, a folder below, or a small file; none is anything else.
fn kind(path: &str) -> Option<&'static str> {
    let name = path.strip_prefix("./").unwrap_or(path);
    match name {
        _ if name.starts_with("Bonnie.") => Some("data"),
        "" | "." => Some("folder"),
        _ if name.starts_with('/') || name.contains(':') => None,
        _ if name.len() == 5 && name.bytes().all(|byte| byte.is_ascii_digit()) => Some("folder"),
        _ => Some("small"),
    }
}

fn compare(options: &[&str], expected: usize) {
    let (theirs, ours) = (observe(ORIGINAL, options), observe(OURS, options));
    let names = |phases: &[(&'static str, Calls)]| phases.iter().map(|(text, _)| *text).collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs), "{options:?}");
    assert_eq!(ours.len(), expected, "{options:?}");
    for ((phase, our), (_, their)) in ours.iter().zip(&theirs) {
        assert_eq!(our, their, "{options:?}: {phase}");
        assert!(!our.is_empty(), "{options:?}: {phase}");
    }
}

#[test]
fn each_phase_makes_the_originals_system_calls() {
    let lacks =
        ["bonnie++", "strace"].into_iter().find(|tool| Command::new(tool).arg("-V").output().is_err());
    if let Some(tool) = lacks {
        return eprintln!("skipped: Bonnie++ against the original: there is no {tool}");
    }
    if !rustix::process::getuid().is_root() {
        return eprintln!("skipped: Bonnie++ against the original: -u root needs root");
    }
    compare(&["-s", "1:256k:20:2", "-f", "-n", "1:3000:100:2"], 10);
    // Everything is synced; the directory is the folder itself.
    compare(&["-s", "2:8k:40", "-f", "-b", "-n", "1:100:100"], 10);
    compare(&["-s", "1:64k:10:3", "-f", "-D", "-n", "1:-1"], 10);
    compare(&["-s", "0", "-n", "1:-2"], 6);
    // Files of several pieces, and empty ones.
    compare(&["-s", "0", "-n", "1:20000:0:3"], 6);
}
