//! The configuration reaches the plan, as options do, and whose it may be. Files of `sudo fsderby` belong to who called it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::desk::{Desk, Said, run};
use crate::support::{has_loop, is_root, skipped};
use fsderby::exit::{OK, USAGE};
use serde_json::Value;

/// A user and a group without an account on any machine.
const UID: u32 = 61_234;
const GID: u32 = 61_235;

/// The user's file in this desk's folder of configurations.
fn configured(desk: &Desk, text: &str) -> PathBuf {
    let folder = desk.path("config/fsderby");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("config.toml");
    fs::write(&file, text).unwrap();
    for (path, mode) in [(&folder, 0o755), (&file, 0o644)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    file
}

fn command(desk: &Desk, words: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = desk.fsderby(words);
    command.env("XDG_CONFIG_HOME", desk.path("config")).envs(variables.iter().copied());
    command
}

fn say(desk: &Desk, words: &[&str], variables: &[(&str, &str)]) -> Said {
    run(&mut command(desk, words, variables))
}

/// The plan of a dry run, which is printed even where the testbed is missing.
fn plan(said: &Said) -> Value {
    let page: Value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:#?}"));
    page["plan"].clone()
}

fn is_refused(said: &Said, words: &[&str]) {
    assert_eq!(said.code, i32::from(USAGE), "{said:#?}");
    for word in words {
        assert!(said.err.contains(word), "'{word}' is missing in:\n{}", said.err);
    }
}

#[test]
fn what_is_configured_is_in_the_plan_and_an_option_is_stronger() {
    let desk = Desk::new();
    let images = desk.images().display().to_string();
    configured(&desk, &format!("on = 'vm'\nimages = '{images}'\nmargin = '7%'\nmachine = 'celeron-533'\n"));
    let dry = ["run", "quick", "--dry-run", "--json", "--filesystems", "ext4", "--memory", "none"];
    let of = |more: &[&str], variables: &[(&str, &str)]| {
        let plan = plan(&say(&desk, &[&dry, more].concat(), variables));
        [&plan["testbed"], &plan["margin"]].map(|value| value.as_str().unwrap().to_owned())
    };
    assert_eq!(of(&[], &[]), [format!("vm:images={images}"), "7%".into()]);
    assert_eq!(of(&["--margin", "2%", "--on", "loop"], &[]), [format!("loop:{images}"), "2%".into()]);
    let variables = [("FSDERBY_ON", "model:sd-card"), ("FSDERBY_MARGIN", "4%")];
    assert_eq!(of(&[], &variables), ["model:sd-card,machine=celeron-533", "4%"]);
    assert_eq!(of(&["--on", "model:sd-card,mips=300"], &variables), ["model:sd-card,mips=300", "4%"]);
    // The command that a report prints names what was configured, so it needs no configuration, and none changes it.
    let printed = say(&desk, &[&dry, &["--on", "model:sd-card,machine=athlon-64"][..]].concat(), &[]);
    assert_eq!(plan(&printed)["testbed"], "model:sd-card");
    // A stored plan is complete.
    let stored = desk.path("plan.toml");
    let first: Value =
        plan(&say(&desk, &[&dry, &["--on", "loop:/var/tmp", "--seed", "1"][..]].concat(), &[]));
    assert_eq!(first["testbed"], "loop", "the built-in folder was asked for");
    fs::write(&stored, toml::to_string(&first).unwrap()).unwrap();
    let again = say(&desk, &["run", "plan.toml", "--dry-run", "--json"], &variables);
    assert_eq!(plan(&again), first);
}

#[test]
fn a_value_that_its_option_would_refuse_is_refused_with_its_place() {
    let desk = Desk::new();
    for (text, words) in [
        ("\non = 'lop'", &["config.toml, line 2: on: unknown testbed 'lop'; did you mean 'loop'?"][..]),
        ("machine = 'atlon-64'", &["line 1: machine: unknown machine 'atlon-64'; did you mean 'athlon-64'?"]),
        ("margin = '3'", &["line 1: margin: '3' is not a share"]),
        ("images = '/a,b'", &["line 1: images: '/a,b' has a comma"]),
        (
            "result = '/a'",
            &[
                "line 1: unknown key 'result'; did you mean 'results'?",
                "try: one of these keys, or remove the line",
            ],
        ),
        ("on = true", &["line 1: on is a boolean, not text", "try: on = \"vm\""]),
        ("on = 'vm", &["could not parse ", "config.toml", "line 1"]),
    ] {
        configured(&desk, text);
        for words_of in [&["config", "show"][..], &["run", "--dry-run"], &["kernel", "list"]] {
            is_refused(&say(&desk, words_of, &[]), words);
        }
    }
    configured(&desk, "");
    is_refused(
        &say(&desk, &["run", "--dry-run"], &[("FSDERBY_MARGIN", "x")]),
        &["FSDERBY_MARGIN: 'x' is not"],
    );
    let said = say(&desk, &["config", "show"], &[("FSDERBY_IMAGE", "x")]);
    assert!(said.code == i32::from(OK) && said.err.contains("did you mean 'FSDERBY_IMAGES'?"), "{said:#?}");
}

#[test]
fn each_value_is_shown_with_its_place() {
    let desk = Desk::new();
    let file = configured(&desk, "# mine\nresults = '~/results'\nmargin = '2%'\n");
    let variables = [("FSDERBY_MARGIN", "1%"), ("HOME", "/root")];
    let said = say(&desk, &["config", "show", "--json"], &variables);
    let page: Value = serde_json::from_str(&said.out).unwrap();
    let of = |key: &str| {
        let all = page["settings"].as_array().unwrap();
        let one = all.iter().find(|one| one["key"] == key).unwrap();
        (one["value"].as_str().map(str::to_owned), one["source"].clone())
    };
    let (results, from) = of("results");
    assert_eq!((results.as_deref(), &from["line"]), (Some("/root/results"), &2.into()));
    assert_eq!(from["path"], file.display().to_string());
    assert_eq!((of("margin").0.as_deref(), &of("margin").1["kind"]), (Some("1%"), &"environment".into()));
    assert_eq!((of("cache").0, &of("cache").1["kind"]), (None, &"built-in".into()));
    let text = say(&desk, &["config", "show"], &variables).out;
    assert!(text.contains("config.toml, line 2") && text.contains("FSDERBY_MARGIN"), "{text}");
}

#[test]
fn a_file_that_others_can_write_is_not_trusted() {
    let desk = Desk::new();
    let file = configured(&desk, "margin = '2%'\n");
    let folder = file.parent().unwrap();
    let show = |variables: &[(&str, &str)]| say(&desk, &["config", "show"], variables);
    for (path, mode, words) in [
        (file.as_path(), 0o666, "can be written by every user"),
        (folder, 0o777, "can be written by every user"),
    ] {
        let before = fs::metadata(path).unwrap().permissions();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        is_refused(&show(&[]), &["is not trusted", words, "try: chown"]);
        fs::set_permissions(path, before).unwrap();
    }
    assert_eq!(show(&[]).code, i32::from(OK));
    let elsewhere = desk.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::rename(&file, elsewhere.join("own.toml")).unwrap();
    symlink(elsewhere.join("own.toml"), &file).unwrap();
    assert_eq!(show(&[]).code, i32::from(OK), "a link to a file of one's own");
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o777)).unwrap();
    is_refused(&show(&[]), &["elsewhere", "can be written by every user"]);
    let fifo = desk.path("config/fsderby/config.toml");
    fs::remove_file(&fifo).unwrap();
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    is_refused(&show(&[]), &["it is not a regular file"]);
    if !is_root() {
        return skipped("owners of a configuration", "only root gives files away");
    }
    let file = {
        fs::remove_file(&fifo).unwrap();
        configured(&desk, "margin = '2%'\n")
    };
    chown(&file, Some(UID), Some(GID)).unwrap();
    is_refused(&show(&[]), &["is not trusted", &format!("belongs to user {UID}")]);
    let sudo = [("SUDO_UID", "61234"), ("SUDO_GID", "61235")];
    assert_eq!(show(&sudo).code, i32::from(OK), "the user who called sudo");
}

/// The program below `sudo`, in a mount namespace in which the caller has a home, after these commands in `/etc`.
fn as_called_by(desk: &Desk, before: &str, arguments: &[&str]) -> Said {
    let home = desk.path("home");
    let script = format!(
        "mkdir -p etc; mount -t tmpfs none etc; (cd etc; echo 'caller:x:{UID}:{GID}::{home}:/bin/sh' > passwd; {before})\n\
         mount --bind etc /etc; unset XDG_CONFIG_HOME; export HOME=/root SUDO_UID={UID} SUDO_GID={GID}",
        home = home.display()
    );
    desk.say_after(&script, arguments)
}

#[test]
fn below_sudo_the_callers_file_counts_and_nothing_that_the_caller_cannot_read_is_shown() {
    if !is_root() {
        return skipped("sudo", "it needs root");
    }
    let desk = Desk::new();
    let folder = desk.path("home/.config/fsderby");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("config.toml");
    fs::write(&file, "margin = '6%'\n").unwrap();
    [&folder, &file].iter().for_each(|path| chown(path, Some(UID), Some(GID)).unwrap());
    let said = as_called_by(&desk, ":", &["config", "show"]);
    assert!(
        said.code == 0 && said.out.contains("6%") && said.out.contains("user who called sudo"),
        "{said:#?}"
    );
    let secret = desk.file("secret", "hunter2 = 1\n");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(&file).unwrap();
    symlink(&secret, &file).unwrap();
    // Readable for everybody who can enter its folder, which the caller cannot.
    for mode in [0o600, 0o644] {
        fs::set_permissions(&secret, fs::Permissions::from_mode(mode)).unwrap();
        fs::set_permissions(desk.path("."), fs::Permissions::from_mode(0o700)).unwrap();
        let said = as_called_by(&desk, ":", &["config", "show"]);
        is_refused(&said, &["is not readable by the user who called sudo"]);
        assert!(!said.err.contains("hunter2"), "{said:#?}");
    }
    // The system's file must be root's.
    fs::remove_file(&file).unwrap();
    let own = "mkdir -p fsderby; printf \"margin = '8%%'\\n\" > fsderby/config.toml";
    let said = as_called_by(&desk, own, &["config", "show"]);
    assert!(said.code == 0 && said.out.contains("/etc/fsderby/config.toml, line 1"), "{said:#?}");
    let given_away = format!("{own}; chown {UID} fsderby/config.toml");
    is_refused(&as_called_by(&desk, &given_away, &["config", "show"]), &[&format!("belongs to user {UID}")]);
}

/// Everything below, without following links.
fn below(path: &Path, found: &mut Vec<PathBuf>) {
    found.push(path.to_owned());
    if path.is_dir() && !path.is_symlink() {
        fs::read_dir(path).unwrap().flatten().for_each(|entry| below(&entry.path(), found));
    }
}

#[test]
fn files_of_a_run_below_sudo_belong_to_who_called_it_and_nothing_else_does() {
    if !has_loop("a run below sudo") {
        return;
    }
    let desk = Desk::new();
    let sudo = [("SUDO_UID", "61234"), ("SUDO_GID", "61235")];
    let words = ["run", "quick", "--filesystems", "ext4", "--workloads", "postmark-quick", "--scale", "1/16"];
    let testbed = desk.testbed();
    let more =
        ["--rounds", "1", "--memory", "none", "--quiet", "--on", &testbed, "--output", "there/new/run"];
    // What was there stays root's, also in the folder that the run's folders are made in.
    fs::create_dir(desk.path("there")).unwrap();
    desk.file("there/other", "root's");
    let said = say(&desk, &[&words[..], &more].concat(), &sudo);
    assert!([0, 4].contains(&said.code), "{said:#?}");
    let said = say(&desk, &["report", "there/new/run", "--html", "there/new/page.html"], &sudo);
    assert_eq!(said.code, 0, "{said:#?}");
    let mut made = Vec::new();
    below(&desk.path("there/new"), &mut made);
    assert!(made.len() > 8, "{made:?}");
    for path in &made {
        let about = fs::symlink_metadata(path).unwrap();
        assert_eq!((about.uid(), about.gid()), (UID, GID), "{}", path.display());
    }
    for path in ["there", "there/other"] {
        assert_eq!(fs::metadata(desk.path(path)).unwrap().uid(), 0, "{path}");
    }
    // Also what the other commands write for the caller.
    fs::create_dir(desk.path("written")).unwrap();
    let sheet = desk.path("written/sheet").display().to_string();
    let kept = desk.path("written/kept").display().to_string();
    for words in [
        &["man", "--output", "written/man/pages"][..],
        &["iozone", "-s", "64k", "-r", "4k", "-i", "0", "-w", "-f", &kept, "-b", &sheet],
        &["postmark", "postmark-script"],
    ] {
        desk.file("postmark-script", "set number 5\nset transactions 10\nrun written/postmark\nquit\n");
        let said = say(&desk, words, &sudo);
        assert_eq!(said.code, 0, "{words:?}: {said:#?}");
    }
    let mut written = Vec::new();
    below(&desk.path("written"), &mut written);
    assert!(written.len() > 30 && written.contains(&desk.path("written/kept")), "{written:?}");
    for path in written.iter().filter(|path| **path != desk.path("written")) {
        let about = fs::symlink_metadata(path).unwrap();
        assert_eq!((about.uid(), about.gid()), (UID, GID), "{}", path.display());
    }
    // What was there keeps its owner: a report is appended to it.
    let other = desk.path("there/other").display().to_string();
    desk.file("postmark-script", format!("set number 5\nset transactions 10\nrun {other}\nquit\n"));
    assert_eq!(say(&desk, &["postmark", "postmark-script"], &sudo).code, 0);
    // The caller's own folder is no stranger's, and without sudo it is.
    let resume = ["run", "--resume", "there/new/run", "--quiet", "--dry-run"];
    assert_eq!(say(&desk, &resume, &sudo).code, 0);
    is_refused(&say(&desk, &resume, &[]), &["belongs to user 61234"]);
    // Root that root became makes files of root.
    let said = say(&desk, &["key", "there/key"], &[("SUDO_UID", "0")]);
    assert!(said.code == 0 && fs::metadata(desk.path("there/key")).unwrap().uid() == 0, "{said:#?}");
}
