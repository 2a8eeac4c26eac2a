//! `fsderby iozone` as somebody types it.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{self, is_root};

struct Ended {
    code: i32,
    out: String,
    err: String,
}

fn run(folder: &Path, options: &str) -> Ended {
    let words = options.split(' ').filter(|word| !word.is_empty());
    let done = support::fsderby().arg("iozone").args(words).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended { code: done.status.code().unwrap(), out: text(&done.stdout), err: text(&done.stderr) }
}

/// The numbers below the table's head.
fn rows(out: &str) -> Vec<Vec<u64>> {
    let lines = out.lines().skip_while(|line| !line.contains("kB  reclen")).skip(1);
    lines
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
        .collect()
}

#[test]
fn the_automatic_mode_fills_its_tables_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Ended { code, out, err } = run(folder.path(), "-a -y 16k -g 128k -R");
    assert_eq!(code, 0, "{err}");
    let rows = rows(&out);
    assert_eq!(rows.len(), 3 + 4);
    assert!(rows.iter().all(|row| row.len() == 15 && row.iter().all(|n| *n > 0)), "{rows:?}");
    assert_eq!(rows[6][..2], [128, 128]);
    let titles: Vec<&str> = out.lines().filter(|line| line.ends_with(" report\"")).collect();
    assert_eq!(titles.len(), 13);
    let writer = out.split("\"Writer report\"\n").nth(1).unwrap();
    let of_64: Vec<u64> =
        writer.lines().nth(1).unwrap().split_whitespace().skip(1).map(|n| n.parse().unwrap()).collect();
    let in_table: Vec<u64> = rows[..3].iter().map(|row| row[2]).collect();
    assert_eq!((&of_64[..3], &of_64[3..]), (&in_table[..], &[0; 8][..]), "the same figures, and zeros");
    assert!(out.contains("iozone test complete."));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// The figures behind `=` of each line that begins so.
fn figures(out: &str, begin: &str) -> Vec<f64> {
    let lines = out.lines().filter(|line| line.trim_start().starts_with(begin));
    lines
        .map(|line| line.split('=').nth(1).unwrap().split_whitespace().next().unwrap().parse().unwrap())
        .collect()
}

#[test]
fn several_processes_have_a_table_of_their_own_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (options, passes, whole) in [
        ("-t 2 -F f1 f2 -s 256k -r 4k -i 0 -i 1 -R", 4, false),
        ("-t 3 -s 128k -r 4k -x -C", 10, true),
        ("-l 1 -u 3 -s 64k -r 4k -i 0 -i 2", 3 * 4, false),
        ("-t 2 -s 64k -r 16k -i 0 -i 6 -i 7 -O -T -e -c", 4, false),
        ("-t 2 -s 64k -r 4k -i 0 -i 1 -+n", 2, false),
        ("-t 1 -t 2 -s 64k -r 4k -i 0 -i 3 -i 5", 2 * 4, false),
    ] {
        let Ended { code, out, err } = run(folder.path(), options);
        assert_eq!(code, 0, "{options}: {err}");
        let [children, parents, least, most, average] =
            ["Children see", "Parent sees", "Min throughput", "Max throughput", "Avg throughput"]
                .map(|begin| figures(&out, begin));
        assert_eq!((children.len(), parents.len()), (passes, passes), "{options}: {out}");
        assert!(children.iter().all(|rate| *rate > 0.0), "{options}: {out}");
        for at in 0..passes {
            assert!(least[at] <= average[at] + 0.01 && average[at] <= most[at] + 0.01, "{options}: {out}");
        }
        if whole {
            // Nobody is ended by the first that is done.
            assert!(figures(&out, "Min xfer").iter().all(|amount| *amount == 128.0), "{out}");
            assert!(out.contains("Stonewall disabled"), "{out}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{options}");
    }
}

#[test]
fn the_report_of_the_throughput_mode_has_the_sums_and_its_processes_a_line_each() {
    let folder = tempfile::tempdir().unwrap();
    let Ended { code, out, err } = run(folder.path(), "-l 1 -u 2 -s 128k -r 4k -i 0 -i 1 -C -Rb x.xls");
    assert_eq!(code, 0, "{err}");
    let sums = figures(&out, "Children see");
    let row = out.lines().find(|line| line.contains("\"        Re-read \"")).unwrap();
    let in_report: Vec<f64> =
        row.rsplit('"').next().unwrap().split_whitespace().map(|n| n.parse().unwrap()).collect();
    assert_eq!(in_report, [sums[3], sums[7]], "{out}");
    let children: Vec<f64> = out
        .lines()
        .filter(|line| line.starts_with("\tChild["))
        .map(|line| line.rsplit('=').next().unwrap().split_whitespace().next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(children.len(), 4 + 2 * 4, "{out}");
    assert!((children[4] + children[5] - sums[4]).abs() < 0.02, "{out}");
    // A spreadsheet that is there stays.
    let sheet = fs::read(folder.path().join("x.xls")).unwrap();
    assert!(sheet.starts_with(&[9, 0, 4, 0, 2, 0]) && sheet.ends_with(&[10, 0, 0, 0]));
    assert!(sheet.windows(13).any(|text| text == b"Initial write"));
    let again = run(folder.path(), "-s 64k -r 4k -i 0 -Rb x.xls");
    assert!(again.code == 2 && again.err.contains("x.xls: this file already exists"), "{}", again.err);
    assert_eq!(fs::read(folder.path().join("x.xls")).unwrap(), sheet);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn one_process_that_fails_ends_all_and_removes_what_they_made() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("short"), "x").unwrap();
    fs::write(folder.path().join("other"), vec![0; 65536]).unwrap();
    // Its first record is not whole: it fails before it begins, and the other waits for nobody.
    let Ended { code, err, .. } = run(folder.path(), "-t 2 -F other short -s 64k -r 4k -i 1");
    assert_eq!(code, 6, "{err}");
    assert!(err.contains("short"), "{err}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "what was there stays");
    let there = run(folder.path(), "-t 2 -F new short -s 64k -r 4k");
    assert!(there.code == 2 && there.err.contains("short already exists"), "{}", there.err);
    let kept = run(folder.path(), "-t 2 -F a b -s 64k -r 4k -i 0 -w");
    assert_eq!(kept.code, 0, "{}", kept.err);
    assert_eq!(fs::metadata(folder.path().join("b")).unwrap().len(), 65536);
    assert_eq!(run(folder.path(), "-t 2 -F a b -s 64k -r 4k -i 1 -i 2").code, 0);
}

#[test]
fn a_word_of_no_option_is_passed_over_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let Ended { code, err, .. } = run(folder.path(), "-Raz -n 4 -g 64k -i 0 -f t word");
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("'word' belongs to no option and is ignored"), "{err}");
}

#[test]
fn a_file_that_is_kept_can_be_read_by_the_next_command() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), "-s 64 -r 4 -i 0 -w").code, 0);
    assert_eq!(fs::metadata(folder.path().join("iozone.tmp")).unwrap().len(), 65536);
    let Ended { code, out, err } = run(folder.path(), "-s 64 -r 8 -i 1 -i 3");
    assert_eq!((code, rows(&out)[0].len()), (0, 5), "{err}");
    assert!(folder.path().join("iozone.tmp").exists(), "it is not this command's");
    let short = run(folder.path(), "-s 128 -r 8 -i 1");
    assert_eq!(short.code, 6, "{}", short.err);
    assert!(short.err.contains("read 0 bytes at 65536"), "{}", short.err);
}

#[test]
fn a_signal_removes_the_file_and_leaves_the_tables_of_what_was_measured() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for (options, left) in
        [("-s 64k -s 1g -r 4 -i 0 -R", None), ("-s 64k -s 1g -r 4 -i 0 -R -w", Some("iozone.tmp"))]
    {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            let words = options.split(' ');
            let mut child = support::fsderby()
                .arg("iozone")
                .args(words)
                .current_dir(folder.path())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let start = Instant::now();
            // The second file's: the first has 64 KiB.
            while fs::metadata(folder.path().join("iozone.tmp")).map_or(0, |file| file.len()) < 1 << 20 {
                assert!(start.elapsed() < Duration::from_secs(60), "it does not begin");
                std::thread::sleep(Duration::from_millis(5));
            }
            kill_process(Pid::from_child(&child), signal).unwrap();
            let mut out = String::new();
            child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(0), "{options}");
            let tables = out.split("iozone: interrupted").nth(1).unwrap();
            let first = tables.lines().find(|line| line.starts_with("\"64\"")).unwrap();
            assert!(first.split_whitespace().nth(1).unwrap() != "0", "{tables}");
            assert!(tables.ends_with("exiting iozone\n\n"), "{tables}");
            let name = fs::read_dir(folder.path()).unwrap().next().map(|entry| entry.unwrap().file_name());
            assert_eq!(name.as_deref(), left.map(std::ffi::OsStr::new), "{options}");
            if let Some(left) = left {
                fs::remove_file(folder.path().join(left)).unwrap();
            }
        }
    }
}

#[test]
fn nothing_that_is_there_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    fs::write(place.join("mine"), "mine").unwrap();
    symlink("mine", place.join("iozone.tmp")).unwrap();
    for options in ["-s 64 -i 0 -f mine", "-s 64 -i 0"] {
        let Ended { code, err, .. } = run(place, options);
        assert_eq!(code, 2, "{options}");
        assert!(err.contains("already exists") && err.contains("try: another -f"), "{err}");
    }
    assert_eq!(fs::read_to_string(place.join("mine")).unwrap(), "mine");
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    for (options, code, words) in [
        ("-s 64k -r 1m", 23, "larger than the file"),
        ("-a -t 2", 17, "--clients"),
        ("-s 8000g -r 16m", 2, "free"),
        ("-i 1", 2, "iozone.tmp does not exist"),
        ("-f no/such/folder/x -s 64", 2, "could not read the directory"),
        ("-B", 2, "mapped files"),
        ("-Rb no/such/x.xls -s 64", 2, "the directory does not exist"),
        ("-t 4 -s 4000g -r 16m", 2, "the files need"),
        ("-t 2 -F a -i 0", 2, "names only 1 of 2 files"),
        ("-+m cfg -t 2 -s 64", 2, "-+m is not supported"),
        ("-J", 2, "unknown option -J"),
    ] {
        let Ended { code: seen, out, err } = run(folder.path(), options);
        assert_eq!(seen, code, "{options}: {err}");
        assert!(err.contains(words) && err.contains("try:"), "{options}: {err}");
        assert!(out.is_empty(), "{options}: {out}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_place_that_cannot_be_written_is_one_failed_operation() {
    let folder = tempfile::tempdir().unwrap();
    let place = if is_root() { Path::new("/proc") } else { folder.path() };
    if !is_root() {
        fs::set_permissions(place, std::os::unix::fs::PermissionsExt::from_mode(0o555)).unwrap();
    }
    let Ended { code, err, .. } = run(place, "-s 0064 -i 0 -f none");
    // Of a place without any space it is said that nothing fits.
    assert!([2, 4].contains(&code), "{code}: {err}");
    assert!(err.contains("'none'") || err.contains("free"), "{err}");
}

#[test]
fn help_and_version_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let help = run(folder.path(), "-h");
    assert!(help.code == 0 && help.out.starts_with("Usage: fsderby iozone"), "{}", help.out);
    let version = run(folder.path(), "-v");
    assert!(version.code == 0 && version.out.contains(env!("CARGO_PKG_VERSION")), "{}", version.out);
}
