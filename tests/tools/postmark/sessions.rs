//! Whole sessions of commands, byte by byte against the original where it is installed.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::scripts::{self, OURS, SCRIPT};

/// What a session is given: files, arguments, and what is typed.
#[derive(Default)]
struct Given<'a> {
    files: &'a [(&'a str, &'a [u8])],
    arguments: &'a [&'a str],
    typed: &'a [u8],
}

/// What it leaves behind: standard output, standard error, and all files.
type Left = (String, String, Vec<(String, String)>);

fn run(program: &[&str], given: &Given<'_>, parent: &Path) -> Left {
    // The folder's path is shown, so it must be the same for both: they run one after the other.
    let folder = parent.join("session");
    std::fs::create_dir(&folder).expect("a folder");
    for (name, content) in given.files {
        std::fs::write(folder.join(name), content).expect("a file");
    }
    let mut child = Command::new(program[0])
        .args(&program[1..])
        .args(given.arguments)
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A session that ended by its script does not read.
    let _ = child.stdin.take().expect("a pipe").write_all(given.typed);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{program:?} ends well");
    let left = files(&folder);
    std::fs::remove_dir_all(folder).expect("the folder goes");
    (scripts::timeless(&output.stdout), String::from_utf8_lossy(&output.stderr).into(), left)
}

fn files(folder: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry"));
    let mut files: Vec<(String, String)> = entries
        .filter(|entry| entry.path().is_file())
        .map(|entry| {
            let content = std::fs::read(entry.path()).expect("a file");
            (entry.file_name().to_string_lossy().into(), scripts::timeless(&content))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn sessions_print_what_the_original_prints() {
    if !scripts::installed(&["postmark"], "PostMark's sessions against the original") {
        return;
    }
    let parent = tempfile::tempdir().expect("a folder");
    let compare = |name: &str, given: Given<'_>| {
        let [ours, theirs] = [OURS, &["postmark"]].map(|program| run(program, &given, parent.path()));
        assert_eq!(ours, theirs, "{name}: ours, the original");
    };
    for (at, lines) in SETTINGS.iter().enumerate() {
        let shown: String = lines.lines().map(|line| format!("{line}\nshow\n")).collect();
        let files: &[(&str, &[u8])] = &[(SCRIPT, shown.as_bytes())];
        compare(&format!("settings {at}"), Given { files, arguments: &[SCRIPT], typed: b"" });
    }
    for (at, script) in SCRIPTS.iter().enumerate() {
        let files: &[(&str, &[u8])] = &[
            (SCRIPT, script),
            (".pmrc", b"set number 6\n"),
            ("six", b"set number 6\nquit\nset number 7\n"),
            ("cut", b"set number 10\nset transactions 20\nload six\nshow"),
        ];
        compare(&format!("script {at}"), Given { files, arguments: &[SCRIPT], typed: b"" });
        compare(&format!("script {at}, typed"), Given { files, arguments: &["none"], typed: script });
        compare(&format!("script {at}, typed after .pmrc"), Given { files, arguments: &[], typed: script });
        compare(
            &format!("script {at}, two arguments"),
            Given { files, arguments: &[SCRIPT, SCRIPT], typed: script },
        );
    }
    for length in 250..260 {
        let line = [&b"load "[..], &b"0123456789".repeat(30)[..length - 5], b"\n"].concat();
        compare(&format!("a line of {length}"), Given { typed: &line, ..Given::default() });
    }
}

/// Lines behind each of which everything is shown.
const SETTINGS: &[&str] = &[
    "set size\nset size \nset size 5 3\nset size 9 20\nset size 9  21\nset size 10 20x\nset sizes 7\nset size  11 22\n\
     set size 3 abc\nset size 5\t9\nset size 99999999999\nset size 5 -1\nset size -5 7\nset size 5 0\n\
     set size 5 5000000\nset size 1024 1048576\nset size 1023 1048575\nset size 1024 1048577\nset size 1152 1048581242\n\
     set size 1025 1179648",
    "set number\nset number 0\nset number -1\nset number x\nset numberx5\nset number 4 5\nset number  6\nset number \t7\n\
     set number 0x10\nset number 4294967297\nset number 2147483648",
    "set seed\nset seed 0\nset seed -1\nset seed 4294967296\nset seed 12\nset transactions\nset transactions 0\n\
     set transactions 7\nset subdirectories\nset subdirectories 1\nset subdirectories 3\nset subdirectories 0\n\
     set read\nset read 0\nset read 1048577\nset read 1025\nset write\nset write -1\nset write 16825450",
    "set buffering\nset buffering foo\nset buffering TRUE\nset buffering false\nset buffering  true\n\
     set buffering true \nset buffering false x\nset buffering true\nset bias read\nset bias read 11\nset bias read 10\n\
     set bias read -1\nset bias read -2\nset bias read x\nset bias create  -1\nset bias createx3\nset bias create",
    "set report\nset report foo\nset report terse\nset report  verbose\nset report verbose x\nset reports verbose\n\
     set report verbose",
    "set location\nset location \nset location  \nset location  /q\nset location /a\nset location /a \n\
     set location /a 2 \nset location /a  3\nset location /a/\nset location +\nset location -\nset location + \n\
     set location +/b\nset location +/b 2\nset location +/b 3\nset location -/b\nset location -/b 3\nset location -/b\n\
     set location a 2147483648\nset location +b 1000000\nset location -a\nset location -c\nset location +c -1\n\
     set location +d 0\nset location +e x\nset location +f 3 4",
];

const SCRIPTS: &[&[u8]] = &[
    b"help\nhelp set\nhelp foo\nhelp set b\nhelp q\nhelp  set\nhelp \n?\n? q\n?q\nset\n\nQuit\n quit\nexit foo\nexit\nquit now\n",
    b"show\r\nqui\0t\nqu\0\nload a\0b\n\0\nload q\0",
    b"",
    b"x",
    b"\n",
    b"show\nquix\nset number 7",
    b"load\nload nofile\nload six x\nload six\nshow\nload cut\nshow\nload .\nshow out\nset location a 3\nshow out\n\
      set location +b\nshow out\nshow none/out\nshow \n",
    b"set number 10\nset transactions 20\nrun out\nset report terse\nrun out\nrun none/out\nrun \nrun\nquit\n",
    b"set number 5\nrun\nrun out\nset report terse\nrun none/out\nquit\n",
    b"set number 10\nset transactions 40\nset bias read -1\nrun\nset bias create -1\nrun\nset bias read 10\nrun\n\
      set bias read 0\nrun\nset bias create 10\nrun\nset bias create 0\nrun\nset size 7\nrun\nset subdirectories 1\nrun\n\
      set subdirectories 2\nrun\n",
    b"set number 10\nset transactions 20\nset location none\nrun\nset subdirectories 2\nset location +a\nrun\n",
];
