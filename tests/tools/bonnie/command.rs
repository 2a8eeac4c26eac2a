//! `fsderby bonnie` by itself: its output, how it ends, and that it leaves nothing.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getuid, kill_process};

fn command(folder: &Path, options: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fsderby"));
    command.arg("bonnie").args(options.split_whitespace()).current_dir(folder).stdin(Stdio::null());
    if getuid().is_root() && !options.contains("-u") {
        command.args(["-u", "root"]);
    }
    command
}

fn run(folder: &Path, options: &str) -> (Output, String, String) {
    let output = command(folder, options).output().unwrap();
    let [out, err] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    (output, out, err)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_cannot_be_done_ends_with_1_says_why_and_leaves_everything_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("Bonnie.1"), "somebody's").unwrap();
    for (options, words) in [
        ("-s abc", "-s: 'abc'"),
        ("-s 1:100", "power of two"),
        ("-f 1 -s 1", "'1' is not an option"),
        ("-s 0 -n 0", "nothing to do"),
        ("-s 16 -r 10", "twice the memory"),
        ("-d /nonexistent", "could not change to the directory '/nonexistent'"),
        ("-u nosuchuser", "unknown user 'nosuchuser'"),
        ("-s 1000t:1m -r 0", "are free in ."),
        ("-s 0 -n 16000:1g:1g -r 0", "are free in ."),
        ("-s 0 -n 16000 -r 1", "do not fit into"),
        ("--as 9 -s 1", "unknown version '9'"),
    ] {
        let (output, out, err) = run(folder.path(), options);
        assert_eq!((output.status.code(), out.as_str()), (Some(1), ""), "{options}: {err}");
        assert!(err.contains(words) && err.contains("usage: fsderby bonnie"), "{options}: {err}");
        assert_eq!(names(folder.path()), ["Bonnie.1"], "{options}");
    }
    if getuid().is_root() {
        let said = Command::new(env!("CARGO_BIN_EXE_fsderby")).arg("bonnie").output().unwrap();
        assert_eq!(said.status.code(), Some(1), "root says whose files are written");
    }
}

/// The original's columns, and the fields of each version's line.
#[test]
fn each_version_prints_its_own_table_and_line() {
    let folder = tempfile::tempdir().unwrap();
    for (version, head, third, fields, directories) in [
        ("1.03", "Version 1.03e       ------", "Machine   Size:chnk K/sec %CP", 27, None),
        ("1.97", "Version  1.97       ------", "Machine        Size K/sec %CP", 48, Some(23)),
        ("1.98", "Version 2.00a       ------", "Name:Size etc        /sec %CP", 50, Some(25)),
        ("2.00a", "Version 2.00a       ------", "Name:Size etc        /sec %CP", 50, Some(25)),
    ] {
        let options = format!("-r 0 -s 2:64k:50 -f -n 1:300:20:3 -m host -z 7 --as {version}");
        let (output, out, err) = run(folder.path(), &options);
        assert_eq!(output.status.code(), Some(0), "{err}");
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines[0].starts_with(head) && lines[2].starts_with(third), "{out}");
        let line: Vec<&str> = lines.last().unwrap().split(',').collect();
        assert_eq!(line.len(), fields, "{out}");
        let (table, host) = (lines[..lines.len() - 1].join("\n"), line[if fields == 27 { 0 } else { 2 }]);
        assert_eq!((host, table.contains("1:300:20/3")), ("host", true), "{out}");
        assert!(table.lines().all(|line| line.len() <= 79), "{out}");
        if let Some(at) = directories {
            assert_eq!(line[at], "3", "{out}");
        } else {
            assert_eq!((line[1], line[14]), ("2M:64k", "1:300:20/3"));
        }
        assert!(err.contains("Rewriting...done\n") && err.contains("start 'em...done...done..."), "{err}");
        assert!(err.contains("done.\n"), "{err}");
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }
}

#[test]
fn what_is_left_out_leaves_its_fields_empty_and_several_runs_have_names_over_them() {
    let folder = tempfile::tempdir().unwrap();
    let line = |options: &str| run(folder.path(), &format!("-r 0 -m host -z 7 -q {options}")).1;
    assert!(line("-s 0 -n 1 --as 1.03").starts_with(&format!("host{},1,", ",".repeat(13))));
    assert!(line("-s 1 -n 0 -f --as 1.03").trim_end().ends_with(&",".repeat(13)));
    assert!(line("-s 0 -n 1").starts_with("1.98,2.00a,host,1,7,,,,,,"));
    assert!(line("-s 0 -n 1 --as 1.97").starts_with(&format!("1.97,1.97,host,1,7{}1,", ",".repeat(14))));
    for version in ["1.03", "1.97", "1.98"] {
        let text = line(&format!("-s 1 -n 0 -f -x 2 --as {version}"));
        let fields: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!((fields.len(), fields.iter().max()), (3, fields.iter().min()), "{text}");
        assert!(text.contains("name,") && text.contains("ran_del_cpu"), "{text}");
    }
    assert_eq!(line("-s 1 -n 0 -x 0"), "");
}

/// A limit on the size of files stands in for a full disk; ignored, its signal becomes an error of the write.
#[test]
fn a_write_that_fails_ends_it_with_the_operation_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine"), "x").unwrap();
    let limited = |options: &str| {
        let ours = format!("{} bonnie -r 0 {options}", env!("CARGO_BIN_EXE_fsderby"));
        let ours = if getuid().is_root() { format!("{ours} -u root") } else { ours };
        let script = format!("trap '' XFSZ; ulimit -f 1024; exec {ours}");
        let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (options, words) in [
        ("-s 4 -f -n 0", "write of 'Bonnie."),
        ("-s 4 -n 0 --as 1.03", "write of 'Bonnie."),
        ("-s 0 -n 1:2m:2m:3", "write of '00000/0"),
    ] {
        let (code, err) = limited(options);
        assert_eq!(code, Some(1), "{options}: {err}");
        assert!(err.contains(words) && err.contains("failed: "), "{options}: {err}");
        assert_eq!(names(folder.path()), ["mine"], "{options}");
    }
}

#[test]
fn a_signal_ends_it_with_5_and_leaves_nothing() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for (options, begun) in [("-s 300 -r 0 -n 0", "Bonnie."), ("-s 0 -r 0 -n 400:100:0:4", "Bonnie.")] {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            let mut child =
                command(folder.path(), options).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let start = Instant::now();
            while !names(folder.path()).iter().any(|name| name.starts_with(begun)) {
                assert!(start.elapsed() < Duration::from_secs(60), "it does not begin");
                std::thread::sleep(Duration::from_millis(5));
            }
            kill_process(Pid::from_child(&child), signal).unwrap();
            let status = child.wait().unwrap();
            assert_eq!((status.code(), status.signal()), (Some(5), None), "{options}");
            assert_eq!(names(folder.path()), Vec::<String>::new(), "{options}");
        }
    }
}

#[test]
fn another_user_writes_the_files() {
    if !getuid().is_root() {
        return eprintln!("skipped: another user's files: that needs root");
    }
    let folder = tempfile::tempdir().unwrap();
    let (output, _, err) = run(folder.path(), "-u nobody -r 0 -s 1 -f -n 0");
    assert_eq!(output.status.code(), Some(1), "the folder is root's alone");
    assert!(err.contains("Permission denied"), "{err}");
    rustix::fs::chown(folder.path(), Some(rustix::process::Uid::from_raw(65534)), None).unwrap();
    let (output, _, err) = run(folder.path(), "-u nobody -r 0 -s 1 -f -n 0");
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(err.contains("Using uid:65534, gid:65534."), "{err}");
}
