//! The system calls of each test, as strace sees them, beside what is known of the original's.

use std::path::Path;
use std::process::Command;

use crate::support::{self, skipped};

const CALLS: &str = "trace=open,openat,read,write,close,lseek,fsync,ftruncate,unlink,unlinkat";
/// Four records, whose random order is 0 3 1 2.
const FOUR: &str = "32k";

/// What was done to the file, one call each, without what other files saw.
fn traced(size: &str, options: &[&str]) -> Option<Vec<String>> {
    if Command::new("strace").arg("-V").output().is_err() {
        skipped("the traces of IOzone's tests", "strace is not installed");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = support::fsderby();
    let done = Command::new("strace")
        .args(["-e", CALLS, "-o", "LOG"])
        .arg(program.get_program())
        .arg("iozone")
        .args(["-s", size, "-r", "8k", "-f", "traced"])
        .args(options)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(done.status.success(), "{options:?}: {}", String::from_utf8_lossy(&done.stderr));
    assert!(!folder.path().join("traced").exists(), "{options:?}");
    Some(calls(&folder.path().join("LOG")))
}

fn calls(log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap();
    let mut opened: Option<String> = None;
    text.lines().filter_map(|line| call(line, &mut opened)).collect()
}

/// `openat(AT_FDCWD, "traced", O_RDWR|O_CLOEXEC) = 3` becomes `open RDWR`.
fn call(line: &str, opened: &mut Option<String>) -> Option<String> {
    let (name, rest) = line.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    let arguments = arguments.trim_end().strip_suffix(')')?;
    let result = result.split(' ').next()?;
    let words: Vec<&str> = arguments.split(", ").collect();
    match name {
        "open" | "openat" if arguments.contains("\"traced\"") => {
            let flags = words.iter().find(|word| word.starts_with("O_"))?;
            let flags: Vec<&str> = flags
                .split('|')
                .map(|f| f.trim_start_matches("O_"))
                .filter(|f| !["CLOEXEC", "LARGEFILE"].contains(f))
                .collect();
            let is_there = !result.starts_with('-');
            *opened = is_there.then(|| result.to_owned());
            Some(format!("{} {}", if is_there { "open" } else { "no" }, flags.join("|")))
        }
        "unlink" | "unlinkat" if arguments.contains("\"traced\"") => Some("unlink".into()),
        _ if opened.as_deref() != words.first().copied() => None,
        "close" => {
            *opened = None;
            Some("close".into())
        }
        "fsync" => Some("fsync".into()),
        "ftruncate" => Some(format!("truncate {}", words[1])),
        "read" | "write" => Some(format!("{} {result}", &name[..1])),
        "lseek" => Some(format!("s {} {}", words[1], words[2].trim_start_matches("SEEK_"))),
        other => panic!("an unexpected call: {other}({arguments})"),
    }
}

fn lines(text: &str) -> Vec<String> {
    text.split(',').map(|line| line.trim().to_owned()).collect()
}

/// Test 0 before any other one.
const MAKE: &str = "open RDWR|CREAT|EXCL, truncate 0, close, unlink, open RDWR|CREAT|TRUNC, close, \
    open RDWR, fsync, w 8192, w 8192, w 8192, w 8192, fsync, close, open RDWR, fsync, w 8192, w 8192, w 8192, w 8192, fsync, close";
const END: &str = "unlink";
/// For a `8192` that is a whole record, with the place that is sought before it.
const RANDOM: [&str; 4] = ["s 0 SET", "s 24576 SET", "s 8192 SET", "s 16384 SET"];

fn random(call: &str) -> String {
    RANDOM.map(|seek| format!("{seek}, {call}")).join(", ")
}

#[test]
fn each_test_makes_the_calls_of_the_original() {
    let four = |call: &str| [call; 4].join(", ");
    let read = format!("fsync, r 8192, s 0 SET, {}, fsync, close", four("r 8192"));
    let plain = format!("fsync, {}, fsync, close", four("r 8192"));
    let written = format!("fsync, {}, fsync, close", four("w 8192"));
    let backward =
        "s -8192 END, r 8192, s -16384 CUR, r 8192, s -16384 CUR, r 8192, s -16384 CUR, r 8192, fsync, close";
    let rewrite = four("w 8192, s 0 SET");
    // As many records as the stride or fewer: the first one again and again.
    let stride = four("r 8192, s 0 SET");
    for (test, calls) in [
        ("0", String::new()),
        ("1", format!("open RDONLY, {read}, open RDONLY, {read}")),
        (
            "2",
            format!(
                "open RDWR|CREAT, {}, fsync, close, open RDWR|CREAT, {}, fsync, close",
                random("r 8192"),
                random("w 8192")
            ),
        ),
        ("3", format!("open RDONLY, {backward}, open RDONLY, {backward}")),
        ("4", format!("open RDWR, {rewrite}, fsync, close")),
        ("5", format!("open RDONLY, {stride}, fsync, close")),
        ("6", format!("open RDWR, {written}, open RDWR, {written}")),
        ("7", format!("open RDONLY, {plain}, open RDONLY, {plain}")),
    ] {
        let Some(seen) = traced(FOUR, &["-i", "0", "-i", test]) else { return };
        let expected =
            [MAKE, &calls, END].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
        assert_eq!(seen, lines(&expected), "-i {test}");
    }
}

#[test]
fn flushes_and_closes_and_modes_are_where_the_options_put_them() {
    let Some(both) = traced(FOUR, &["-i", "0", "-e", "-c", "-+n", "-o"]) else { return };
    let made = "open RDWR|CREAT|EXCL, truncate 0, close, unlink, open RDWR|CREAT|TRUNC, close";
    let once = "open RDWR|SYNC, fsync, w 8192, w 8192, w 8192, w 8192, fsync, close";
    assert_eq!(both, lines(&format!("{made}, {once}, {END}")), "-+n: once");
    let flushed = traced(FOUR, &["-i", "0", "-e", "-+n"]).unwrap();
    let synced = "open RDWR, fsync, w 8192, w 8192, w 8192, w 8192, fsync, fsync, close";
    assert_eq!(
        flushed,
        lines(&format!("{made}, {synced}, {END}")),
        "-e: once within the time and once after it"
    );
    let new = traced(FOUR, &["-i", "6", "-+n"]).unwrap();
    let stream = "no RDWR, open RDWR|CREAT|TRUNC, fsync, w 8192, w 8192, w 8192, w 8192, fsync, close";
    // Without test 0 the stream makes the file.
    assert_eq!(new, lines(&format!("{stream}, {END}")));
    let long = traced("320k", &["-i", "0", "-i", "5", "-+n"]).unwrap();
    let sought: Vec<&str> =
        long.iter().filter(|call| call.starts_with("s ")).map(String::as_str).take(5).collect();
    let at = |record: u64| format!("s {} SET", record * 8192);
    assert_eq!(sought, [at(17), at(34), at(1), at(18), at(35)], "40 records at a stride of 17");
}
