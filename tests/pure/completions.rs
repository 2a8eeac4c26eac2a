//! A shell asks the program for completions: what it offers, and that it is fast enough to be asked at each key.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::desk::{Desk, run};

/// A person waits for a key this long without noticing. The debug build has this, too.
const PATIENCE: Duration = Duration::from_millis(50);

/// What the program offers for the last of these words, as bash asks.
fn offered(desk: &Desk, words: &[&str]) -> Vec<String> {
    let mut command = desk.fsderby(&[&["--", "fsderby"], words].concat());
    let index = words.len().to_string();
    let said = run(command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", index).env("_CLAP_IFS", "\n"));
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:#?}");
    said.out.lines().map(str::to_owned).collect()
}

#[test]
fn names_are_completed_where_they_are_expected() {
    let desk = Desk::new();
    let has = |words: &[&str], expected: &[&str]| {
        let offered = offered(&desk, words);
        let lacks = expected.iter().find(|name| !offered.iter().any(|one| one == *name));
        assert_eq!(lacks, None, "{words:?}: {offered:?}");
        offered
    };
    assert_eq!(
        has(&["run", "--filesystems", "ext"], &["ext2", "ext4", "ext3-journal"])
            .iter()
            .find(|n| !n.starts_with("ext")),
        None
    );
    // The last word of a list.
    assert_eq!(has(&["run", "--filesystems", "ext4,xf"], &["ext4,xfs"]), ["ext4,xfs"]);
    has(&["run", "--workloads", "postmark-quick,mail"], &["postmark-quick,maildir-quick"]);
    has(&["run", "mail"], &["mail-2008", "mailserver"]);
    has(&["run", "--on", "model:ssd"], &["model:ssd-nvme"]);
    has(&["run", "--needs", ""], &["mail-server"]);
    has(&["explain", "transactions.r"], &["transactions.rate"]);
    has(&["explain", "athlon"], &["athlon-64"]);
    has(&["reproduce", "lau"], &["lauper-2002"]);
    has(&["disk", "validate", "--machine", "serv"], &["server-2024"]);
    has(&["list", "fil"], &["filesystems"]);
    has(&["schema", "trials"], &["trials.jsonl"]);
    has(&["comp"], &["compare", "completions"]);
}

#[test]
fn runs_are_those_in_the_folder_of_results_and_other_folders() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path("results/mine")).unwrap();
    fs::create_dir_all(desk.path("results/other")).unwrap();
    fs::create_dir_all(desk.path("elsewhere")).unwrap();
    desk.file("results/mine/plan.toml", "");
    for words in
        [&["report", "r"][..], &["compare", "x", "res"], &["run", "--resume", "res"], &["verify", "r"]]
    {
        assert_eq!(offered(&desk, words), ["results/mine"], "{words:?}");
    }
    assert_eq!(offered(&desk, &["report", "else"]), ["elsewhere/"]);
}

#[test]
fn it_is_fast_and_each_shell_asks() {
    let desk = Desk::new();
    let took = |_| {
        let begin = Instant::now();
        offered(&desk, &["explain", "e"]);
        begin.elapsed()
    };
    // The fastest of some: a busy machine delays any.
    let fastest = (0..20).map(took).min().unwrap();
    assert!(fastest < PATIENCE, "{fastest:?}");
    for shell in ["bash", "zsh", "fish"] {
        let said = desk.say(&["completions", shell]);
        assert!(said.code == 0 && said.out.contains("COMPLETE") && said.out.contains("fsderby"), "{said:#?}");
    }
}
