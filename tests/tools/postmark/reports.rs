//! Reports to the last digit: the original was run with a clock that told it given times.

use std::io;
use std::path::{Path, PathBuf};

use fsderby::dropins::postmark::console::Console;
use fsderby::dropins::postmark::{Refused, Session};

fn stored(name: &str) -> String {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/postmark/clocked");
    std::fs::read_to_string(folder.join(name)).expect("a stored file")
}

/// Runs a script in a folder of its own with a clock that gives those seconds, one a look.
fn session(script: &str, seconds: &str) -> (String, String, Refused) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cfg");
    // A single location draws nothing, so the operations are those of a run in the current folder.
    let script = format!("set location {}\n{script}", folder.path().display());
    std::fs::write(&path, script).expect("the script");
    let mut seconds = seconds.split_whitespace().map(|s| s.parse().expect("seconds"));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let console = Console {
        input: &mut io::empty(),
        out: &mut out,
        err: &mut err,
        seconds: &mut || seconds.next().expect("four looks at the clock a run"),
    };
    let refused = Session::new(console).start(Some(path.as_os_str())).expect("it prints");
    assert_eq!(seconds.next(), None, "no look at the clock is left");
    let out = String::from_utf8(out).expect("text").replace(&path.display().to_string(), "cfg");
    (out, String::from_utf8(err).expect("text"), refused)
}

#[test]
fn every_digit_is_the_originals() {
    let (out, err, _) = session(&stored("clocked.pm"), &stored("clocked.seconds"));
    let expected = stored("clocked.stdout");
    for (at, (ours, theirs)) in out.lines().zip(expected.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {}", at + 1);
    }
    assert_eq!((out.len(), err.as_str()), (expected.len(), ""));
}

#[test]
fn what_kills_the_original_is_refused_and_the_script_goes_on() {
    for (line, words) in [
        ("set transactions 9", "set transactions 10 or more"),
        ("set size 1073741824", "choose a size up to"),
        ("set number 1073741824", "choose a number up to"),
        ("set location +x 1073741823", "choose smaller weights"),
    ] {
        let (out, err, refused) = session(&format!("{line}\nrun\nshow\nquit\n"), "");
        assert!(err.starts_with("Error: cannot run: ") && err.contains(words), "{line}: {err}");
        assert!(out.contains("Current configuration is:") && !out.contains("Creating"), "{line}: {out}");
        assert_eq!(refused, Refused(true), "{line}");
    }
}
