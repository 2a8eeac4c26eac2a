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
    let said = run(command
        .env("_COMPLETE_FSDERBY", "bash")
        .env("_CLAP_COMPLETE_INDEX", index)
        .env("_CLAP_IFS", "\n"));
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
    has(&["run", "--state", ""], &["fresh", "filled"]);
    has(&["run", "--layer", "md:"], &["md:raid1", "md:raid10"]);
    has(&["run", "--image", "w"], &["written"]);
    has(&["report", "run", "--baseline", "xf"], &["xfs"]);
    has(&["explain", "transactions.r"], &["transactions.rate"]);
    has(&["explain", "athlon"], &["athlon-64"]);
    has(&["reproduce", "lau"], &["lauper-2002"]);
    has(&["disk", "validate", "--machine", "serv"], &["server-2024"]);
    has(&["list", "fil"], &["filesystems"]);
    has(&["schema", "trials"], &["trials.jsonl"]);
    has(&["comp"], &["compare", "completions"]);
}

/// Bash replaces only what follows the last character at which it splits words.
#[test]
fn bash_completes_names_that_contain_the_characters_at_which_it_splits() {
    let desk = Desk::new();
    let completed = |words: &str, line: &str| {
        let script = format!(
            "source <(fsderby completions bash)\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9\n\
             last=${{COMP_WORDS[COMP_CWORD]}}; [[ $last == [:=] ]] && last=\n\
             $(complete -p fsderby | sed 's/.*-F \\([^ ]*\\).*/\\1/') fsderby \"$last\" ''\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_fsderby")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
        let mut bash = std::process::Command::new("bash");
        let said = run(bash.args(["--norc", "-c", &script]).env("PATH", path).current_dir(desk.path("")));
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:#?}");
        said.out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let disks = completed("fsderby run --on model :", "fsderby run --on model:");
    assert!(disks.iter().any(|disk| disk == "ssd-nvme") && disks.len() > 10, "{disks:?}");
    assert_eq!(completed("fsderby run --on model : ssd-s", "fsderby run --on model:ssd-s"), ["ssd-sata"]);
    assert_eq!(completed("fsderby run --on = model : ssd-s", "fsderby run --on=model:ssd-s"), ["ssd-sata"]);
    assert_eq!(
        completed("fsderby run --filesystems = ext4,xf", "fsderby run --filesystems=ext4,xf"),
        ["ext4,xfs"]
    );
    // What holds blanks is inserted as a shell reads it, unless its quotes are typed already.
    fs::create_dir_all(desk.path("results/my run")).unwrap();
    desk.file("results/my run/plan.toml", "");
    assert_eq!(completed("fsderby report results/m", "fsderby report results/m"), ["results/my\\ run"]);
    let typed = completed("fsderby report '\"results/m'", "fsderby report \"results/m");
    assert!(typed.iter().all(|reply| !reply.contains('\\')), "{typed:?}");
    let after = "fsderby run --on model:zero --filesystems nil";
    assert_eq!(completed("fsderby run --on model : zero --filesystems nil", after), ["nilfs2"]);
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
