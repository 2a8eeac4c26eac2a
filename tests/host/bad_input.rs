//! What can be typed or found wrongly: each says what failed, on what and what to try, ends with its documented exit
//! code, and leaves nothing behind.

#[path = "bad_input/needs.rs"]
mod needs;
#[path = "bad_input/setups.rs"]
mod setups;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::support::desk::{Desk, Said, run};
use crate::support::{copy_program, has_loop, is_root, skipped};
use fsderby::exit;
use fsderby::schema::reason::Held;
use fsderby::store::{self, Folder};

const USAGE: i32 = exit::USAGE as i32;
const MISSING: i32 = exit::MISSING as i32;
const TRIALS: i32 = exit::TRIALS as i32;
const DAMAGED: i32 = exit::DAMAGED as i32;
/// Nobody, on every Linux.
const NOBODY: u32 = 65534;

/// One experiment file that is wrong.
fn file(text: &str, words: &[&str]) {
    let desk = Desk::new();
    desk.file("x.toml", text);
    desk.refuses(&["run", "x.toml", "--output", "out"], USAGE, words);
}

fn flags(flags: &[&str], words: &[&str]) {
    Desk::new().refuses(&[&["run"], flags].concat(), USAGE, words);
}

#[test]
fn an_unknown_name_offers_the_nearest() {
    let known = "workloads = ['postmark-quick']\n";
    file(
        &format!("filesystems = ['ext44']\n{known}"),
        &["unknown filesystem 'ext44'", "did you mean 'ext4'?"],
    );
    file("filesystems = ['ext4']\nworkloads = ['postmrk-quick']", &["unknown workload", "'postmark-quick'?"]);
    file(&format!("filesystems = ['ext4']\non = 'lop'\n{known}"), &["unknown testbed 'lop'", "'loop'?"]);
    file("sise = '2g'", &["x.toml", "unknown key 'sise'", "did you mean 'size'?"]);
    file(
        "[[filesystem]]\nkind = 'ext4'\nmuont = []",
        &["key of a filesystem 'muont'", "did you mean 'mount'?"],
    );
    flags(&["quikc"], &["unknown experiment 'quikc'", "did you mean 'quick'?", "try: a path"]);
    flags(&["--filesystems", "xsf"], &["unknown filesystem 'xsf'", "did you mean 'xfs'?"]);
    flags(&["--workloads", "maildir"], &["unknown workload 'maildir'", "maildir-quick"]);
    flags(&["--on", "lop"], &["unknown testbed 'lop'", "did you mean 'loop'?"]);
    Desk::new().refuses(&["explain", "ext44"], USAGE, &["unknown name", "did you mean 'ext4'?"]);
    Desk::new().refuses(&["list", "tesbeds"], USAGE, &["'testbeds'"]);
}

#[test]
fn a_run_of_another_version_is_told_from_a_damaged_one() {
    for (version, words) in [
        (3, "made by an older fsderby (records of version 3); this fsderby reads version 4"),
        (5, "made by a newer fsderby (records of version 5); this fsderby reads version 4"),
    ] {
        let desk =
            changed("plan.toml", |text| text.replacen("schema = 4", &format!("schema = {version}"), 1));
        for command in [
            &["verify", "run"][..],
            &["report", "run"],
            &["run", "--resume", "run"],
            &["run", "run/plan.toml"],
        ] {
            desk.refuses(command, USAGE, &[words]);
        }
    }
}

#[test]
fn a_wrong_unit_in_the_file_names_the_line_and_what_to_write() {
    file("size = '2q'", &["line 1", "'2q' is not a size", "512m"]);
    file("name = 'x'\nmemory = 'lots'", &["line 2", "'lots' is not a size"]);
    file("budget = 30", &["30 has no unit", "30m"]);
    file("budget = '30x'", &["'30x' is not a length of time"]);
    file("margin = '3'", &["write 3%"]);
    file("rounds = 'ten'", &["'ten' is not a number of rounds", "auto"]);
    file("rounds = 0", &["not a number of rounds"]);
    file("scale = '0'", &["'0' is not a scale", "1/16"]);
    file("at_least = 'six'", &["line 1", "expected a whole number"]);
    file("image = 'thick'", &["line 1", "sparse"]);
}

#[test]
fn a_wrong_unit_in_a_flag_says_what_to_write() {
    flags(&["--size", "2q"], &["--size", "'2q' is not a size", "512m"]);
    flags(&["--memory", "2q"], &["--memory", "'2q' is not a size"]);
    flags(&["--memory", "0"], &["0 bytes", "--memory none"]);
    flags(&["--rounds", "x"], &["--rounds", "write 10 or auto"]);
    flags(&["--budget", "30"], &["--budget", "30m"]);
    flags(&["--margin", "3"], &["--margin", "write 3%"]);
    flags(&["--scale", "0"], &["--scale", "1/16"]);
    flags(&["--seed", "x"], &["--seed"]);
}

#[test]
fn a_wrong_filesystem_spec_says_what_to_write() {
    flags(&["--filesystem", ""], &["start with a kind"]);
    flags(&["--filesystem", "ext4 mnt=x"], &["unknown key", "did you mean 'mount'?"]);
    flags(&["--filesystem", "ext4 mkfs"], &["'mkfs'", "mkfs=…"]);
    flags(&["--filesystem", "ext4 label=\"x"], &["a quote is not closed"]);
    flags(&["--filesystem", "ext4 mount="], &["an option of ext4 is empty"]);
    flags(&["--filesystem", "xfs conversion"], &["cannot be made by conversion", "ext3-ordered"]);
    flags(&["--filesystem", "ext4 label=a/b"], &["cannot label a filesystem"]);
    file("filesystem = ['ext4']", &["[[filesystem]]", "filesystems = "]);
    file("filesystems = 'ext4'", &["line 1", "expected a list"]);
    file("[[filesystem]]\nlabel = 'x'", &["the kind of a [[filesystem]] is missing", "try:"]);
    file("[[workload]]\nlabel = 'x'", &["workload x", "set = 'NAME'", "command = 'LINE'"]);
}

#[test]
fn a_wrong_parameter_of_postmark_is_named_in_a_trial_and_answered_as_ever_in_the_drop_in() {
    let entry = "filesystems = ['ext4']\n[[workload]]\nset = 'postmark-quick'\n";
    file(
        &format!("{entry}transctions = 5"),
        &["unknown parameter 'transctions'", "did you mean 'transactions'?"],
    );
    file(&format!("{entry}number = 'many'"), &["number:", "expected a whole number"]);
    file(&format!("{entry}number = 0"), &["number = 0"]);
    let desk = Desk::new();
    let script = desk.file("script", "foo\nset nmber 5\nquit\n");
    let said = desk.say(&[Path::new("postmark"), &script]);
    assert_eq!((said.code, said.out.matches("Eh?").count()), (0, 2), "{said:?}");
}

#[test]
fn a_power_cut_that_cannot_be_is_refused_before_anything_is_done() {
    for cut in ["0", "half", "101%"] {
        flags(&["--power-cut", cut], &["no moment for a power cut", "50%"]);
    }
    file("power_cut = 0\nfilesystems = ['ext4']\nworkloads = ['maildir-durable']", &["x.toml", "50%"]);
    let late = ["--on", "vm", "--workloads", "maildir-durable", "--power-cut", "1151"];
    flags(
        &late,
        &["scenario maildir-durable", "the workload has only 1150 operations", "--power-cut 1150 or less"],
    );
    for testbed in ["loop", "directory:/tmp"] {
        flags(
            &["--on", testbed, "--power-cut", "9"],
            &["cannot cut the power", "try: --on vm or model:DISK"],
        );
    }
}

#[test]
fn what_could_never_be_judged_is_refused_before_the_run() {
    let never = |more: &[&str], words: &[&str]| {
        let common = ["--filesystems", "ext4,xfs", "--workloads", "postmark-quick", "--fail-if"];
        flags(&[&common[..], more].concat(), words);
        flags(&[&common[..], more, &["--dry-run"]].concat(), words);
    };
    never(
        &["worse > 5%", "--on", "model:hdd-16tb,samples=off", "--rounds", "13"],
        &["could never be judged", "samples=off", "try: without samples=off", "by estimate"],
    );
    never(
        &["worse > 5%", "--on", "model:hdd-16tb", "--rounds", "12"],
        &["ext4 has 12 rounds, but at least 13 are needed", "--rounds 13"],
    );
    never(
        &["worse > 5%", "--on", "loop", "--rounds", "5"],
        &["ext4 has 5 rounds, but at least 6 are needed", "try: --rounds 6"],
    );
    never(
        &["worse > 5% by estimate", "--on", "loop", "--rounds", "1"],
        &["1 round, but at least 2 are needed", "--rounds 2"],
    );
    never(&["worse > 5% for btrfs", "--on", "loop"], &["unknown candidate 'btrfs'", "xfs"]);
    never(&["worse > 5% in transaction.rate", "--on", "loop"], &["did you mean 'transactions.rate'?"]);
    never(&["worse", "--on", "loop"], &["'worse' is not a condition", "worse > 5%"]);
}

#[test]
fn a_filesystem_named_for_a_directory_is_refused() {
    let on = ["--on", "directory:/var/tmp"];
    let words = ["--filesystems", "uses a mounted filesystem", "try: without", "--on loop"];
    flags(&[&on[..], &["--filesystems", "ext4,xfs"]].concat(), &words);
    let words = ["mount options have no effect on a directory", "--on loop"];
    flags(&[&on[..], &["--filesystem", "ext4 mount=noatime"]].concat(), &words);
}

#[test]
fn an_experiment_without_a_candidate_or_without_work_is_none() {
    file("workloads = ['postmark-quick']", &["the experiment has no filesystem", "try: --filesystems"]);
    file("filesystems = ['ext4']", &["the experiment has no workload", "try: --workloads"]);
}

#[test]
fn two_equal_labels_are_refused() {
    flags(&["--filesystems", "ext4,ext4"], &["two filesystems have the label 'ext4'", "another label"]);
    flags(&["--workloads", "maildir-quick,maildir-quick"], &["two workloads have the label 'maildir-quick'"]);
}

#[test]
fn what_is_no_experiment_is_not_read() {
    let desk = Desk::new();
    fs::create_dir(desk.path("folder")).unwrap();
    fs::File::create(desk.path("big.toml")).unwrap().set_len(100 << 20).unwrap();
    desk.file("noise.toml", [0xff, 0xfe, 0x00, 0x80].repeat(1000));
    desk.file("long.toml", "x".repeat(1 << 19));
    desk.refuses(&["run", "./folder"], USAGE, &["could not read the experiment ./folder", "directory"]);
    desk.refuses(&["run", "big.toml"], USAGE, &["big.toml: it is larger than 1 MiB"]);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        desk.path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    for words in
        [&["run", "./pipe"][..], &["explain", "./pipe"], &["slurm", "./pipe"], &["reproduce", "./pipe"]]
    {
        desk.refuses(words, USAGE, &["./pipe: it is a pipe to which nobody writes"]);
    }
    desk.refuses(&["run", "--fio", "pipe"], USAGE, &["pipe: it is a pipe to which nobody writes"]);
    desk.refuses(&["run", "/dev/zero"], USAGE, &["/dev/zero: it is not a regular file"]);
    desk.refuses(&["run", "noise.toml"], USAGE, &["noise.toml: it is not text"]);
    desk.refuses(&["run", "absent.toml"], USAGE, &["could not read the experiment absent.toml"]);
    let said = desk.say(&["run", "long.toml"]);
    desk.refused(&said, USAGE, &["could not parse long.toml"]);
    assert!(said.err.len() < 2000, "half a megabyte of its only line is not shown");
}

/// The files of a small sound run, made once, by their paths in its folder. It needs no root and no folder that is gone
/// when it is resumed.
fn sound() -> &'static BTreeMap<PathBuf, Vec<u8>> {
    static SOUND: OnceLock<BTreeMap<PathBuf, Vec<u8>>> = OnceLock::new();
    SOUND.get_or_init(|| {
        let desk = Desk::new();
        let said = desk.say(&on(Path::new("/var/tmp"), &desk, "run"));
        assert_eq!(said.code, 0, "{said:#?}");
        let run = desk.path("run");
        let mut files = BTreeMap::new();
        for folder in [run.clone(), run.join("histograms")] {
            for path in fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_file()) {
                files.insert(path.strip_prefix(&run).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
        files
    })
}

fn on_directory(desk: &Desk, output: &str) -> Vec<String> {
    on(desk.images(), desk, output)
}

fn on(folder: &Path, desk: &Desk, output: &str) -> Vec<String> {
    let testbed = format!("directory:{}", folder.display());
    let output = desk.path(output).display().to_string();
    let words = ["run", "quick", "--workloads", "postmark-quick", "--scale", "1/16", "--rounds", "1"];
    let more = ["--memory", "none", "--on", &testbed, "--output", &output];
    words.iter().chain(&more).map(|word| (*word).to_owned()).collect()
}

/// A copy of the sound run, called `run`, on a desk of its own.
fn copied() -> Desk {
    let desk = Desk::new();
    fs::create_dir_all(desk.path("run/histograms")).unwrap();
    for (path, content) in sound() {
        fs::write(desk.path("run").join(path), content).unwrap();
    }
    desk
}

/// A copy with one of its files changed.
fn changed(name: &str, change: impl FnOnce(String) -> String) -> Desk {
    let desk = copied();
    let path = desk.path("run").join(name);
    fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
    desk
}

/// Verify, resume and report all say that it is damaged, the report before anything else.
fn is_damaged(desk: &Desk, words: &[&str]) {
    let said = desk.say(&["verify", "run"]);
    assert_eq!(said.code, DAMAGED, "{said:?}");
    assert!(words.iter().all(|word| said.out.contains(word)), "{said:?}");
    desk.refuses(&["run", "--resume", "run"], DAMAGED, &["run is damaged", "try: fsderby verify run"]);
    let said = desk.say(&["report", "run"]);
    assert_eq!(said.code, DAMAGED, "{said:?}");
    assert!(said.out.trim_start().starts_with("damaged: "), "{}", said.out);
    desk.say(&["report", "run", "--markdown", "page.md"]);
    assert!(
        fs::read_to_string(desk.path("page.md")).unwrap().lines().take(4).any(|l| l.contains("**Damaged"))
    );
}

#[test]
fn an_altered_record_plan_or_machine_is_damage() {
    is_damaged(
        &changed("trials.jsonl", |t| t.replacen("\"order\":1", "\"order\":2", 1)),
        &["line 1", "checksum"],
    );
    is_damaged(
        &changed("plan.toml", |t| t.replacen("3%", "9%", 1)),
        &["line 1 does not continue plan.toml and machine.json"],
    );
    is_damaged(
        &changed("machine.json", |t| t.replacen("\"cpus\": ", "\"cpus\": 1", 1)),
        &["line 1 does not continue plan.toml and machine.json"],
    );
}

#[test]
fn a_missing_or_unreadable_plan_or_machine_is_damage() {
    for name in ["plan.toml", "machine.json"] {
        let desk = changed(name, |_| "}{".into());
        for command in ["verify", "report"] {
            desk.refuses(&[command, "run"], DAMAGED, &[name, "is damaged"]);
        }
        fs::remove_file(desk.path("run").join(name)).unwrap();
        desk.refuses(&["run", "--resume", "run"], DAMAGED, &[name, "is damaged"]);
    }
}

#[test]
fn a_torn_line_is_noted_and_its_trial_repeated() {
    let desk = changed("trials.jsonl", |text| text[..text.len() - 30].to_owned());
    let said = desk.say(&["verify", "run"]);
    assert!(said.code == DAMAGED && said.out.contains("was truncated"), "it has ended: {said:?}");
    // One that was killed in the middle of a line has no seal.
    fs::remove_file(desk.path("run/seal.json")).unwrap();
    let said = desk.say(&["verify", "run"]);
    assert!(said.code == 0 && said.out.contains("was not written completely"), "{said:?}");
    let said = desk.say(&["run", "--resume", "run", "--quiet"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(store::read(&desk.path("run")).unwrap().current().len(), 2, "an integrity check and a trial");
    assert_eq!(desk.say(&["verify", "run"]).code, 0);
}

#[test]
fn what_is_no_runs_folder_is_said_so() {
    let desk = Desk::new();
    fs::create_dir(desk.path("empty")).unwrap();
    for arguments in [["report", "empty"], ["verify", "empty"], ["report", "absent"]] {
        desk.refuses(&arguments, USAGE, &["is not a run's folder", "try: a folder that fsderby run made"]);
    }
    desk.refuses(&["run", "--resume", "empty"], USAGE, &["empty is not a run's folder"]);
}

#[test]
fn a_folder_that_exists_is_never_written_to() {
    let desk = Desk::new();
    fs::create_dir(desk.path("out")).unwrap();
    let said = desk.say(&on_directory(&desk, "out"));
    desk.refused(
        &said,
        USAGE,
        &["out already exists", "try: a folder of another name, or fsderby run --resume "],
    );
    assert_eq!(fs::read_dir(desk.path("out")).unwrap().count(), 0);
}

#[test]
fn resume_takes_its_plan_from_the_folder() {
    let desk = copied();
    for more in [&["--size", "2g"][..], &["--workloads", "maildir-quick"], &["--seed", "3"]] {
        desk.refuses(&[&["run", "--resume", "run"], more].concat(), USAGE, &["--resume", more[0]]);
    }
    desk.refuses(&["run", "quick", "--resume", "run"], USAGE, &["--resume", "EXPERIMENT"]);
    let before = fs::read(desk.path("run/trials.jsonl")).unwrap();
    let said = desk.say(&["run", "--resume", "run", "--rounds", "2", "--dry-run"]);
    assert!(said.code == 0 && said.out.contains("Three complete rounds are needed"), "{said:?}");
    assert_eq!(fs::read(desk.path("run/trials.jsonl")).unwrap(), before, "nothing was done");
    let said = desk.say(&["run", "--resume", "run", "--rounds", "2", "--quiet"]);
    assert_eq!(said.code, 0, "rounds beyond the plan are as the report proposes: {said:?}");
    assert_eq!(store::read(&desk.path("run")).unwrap().current().len(), 3);
    assert_eq!(desk.say(&["verify", "run"]).code, 0);
}

#[test]
fn a_runs_plan_is_an_experiment_that_plans_the_same_jobs() {
    let desk = copied();
    let planned = |experiment: &str| {
        let said = desk.say(&["run", experiment, "--dry-run", "--json"]);
        assert_eq!(said.code, 0, "{said:#?}");
        let shown: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        (shown["plan"].clone(), shown["jobs"].clone())
    };
    let (plan, jobs) = planned("run/plan.toml");
    let stored = store::read(&desk.path("run")).unwrap().plan;
    assert_eq!(plan, serde_json::to_value(&stored).unwrap());
    assert_eq!(jobs.as_array().map(Vec::len), Some(2));
    let said = desk.say(&["run", "run/plan.toml", "--output", "again", "--quiet"]);
    assert_eq!(said.code, 0, "{said:#?}");
    let again = store::read(&desk.path("again")).unwrap();
    assert_eq!(again.plan, stored);
    assert_eq!(again.current().len(), 2);
    let half = desk.file("half.toml", "schema = 4\nname = 'x'\n");
    desk.refuses(&["run", &half.display().to_string()], USAGE, &["half.toml", "missing field"]);
}

#[test]
fn resume_on_another_kernel_or_with_another_tool_is_refused() {
    let desk = copied();
    let before = store::read(&desk.path("run")).unwrap();
    let mut kernel = before.machine.clone();
    kernel.setups[0].kernel = "1.2.13".into();
    let mut build = before.machine.clone();
    build.fsderby.blake3 = "00".into();
    for (name, machine, what) in
        [("kernel", kernel, "the kernel changed"), ("build", build, "fsderby changed")]
    {
        let desk = Desk::new();
        drop(Folder::create(&desk.path(name), &before.plan, &machine).unwrap());
        desk.refuses(&["run", "--resume", name], USAGE, &[what, "try: a new run"]);
    }
}

#[test]
fn too_little_room_on_the_host_is_said_before_anything_is_made() {
    if !has_loop("room for an image") {
        return;
    }
    let desk = Desk::new();
    let testbed = desk.testbed();
    let much = ["run", "--on", &testbed, "--size", "900t", "--filesystems", "ext4"];
    desk.refuses(&much, MISSING, &[" needs 900 TiB plus ", "try: a smaller --size"]);
    let small = format!("mount -t tmpfs -o size=32m none {}", desk.images().display());
    let said = desk.say_after(&small, &["run", "--on", &testbed, "--size", "320m", "--filesystems", "ext4"]);
    desk.refused(&said, MISSING, &[" needs 320 MiB plus 64 MiB of free space", "32 MiB are free"]);
}

#[test]
fn a_folder_for_images_that_cannot_be_one_is_named() {
    if !has_loop("folders for images") {
        return;
    }
    let desk = Desk::new();
    let testbed = desk.testbed();
    let read_only = format!("mount -t tmpfs -o ro none {}", desk.images().display());
    let said = desk.say_after(&read_only, &["run", "--on", &testbed, "--filesystems", "ext4"]);
    desk.refused(
        &said,
        MISSING,
        &["could not create images in", "Read-only file system", "try: --on loop:FOLDER"],
    );
    desk.file("plain", "");
    let plain = format!("loop:{}", desk.path("plain").display());
    desk.refuses(&["run", "--on", &plain], MISSING, &["is not a directory"]);
    desk.refuses(&["run", "--on", "loop:/absent"], MISSING, &["the folder /absent"]);
    let here = desk.path("here").display().to_string();
    desk.refuses(&["run", "--on", "loop:here"], MISSING, &[&format!("the folder {here}")]);
    desk.refuses(&["run", "--on", "directory:/absent"], MISSING, &["/absent is not a directory"]);
    desk.refuses(&["run", "--on", "directory"], USAGE, &["write directory:PATH"]);
}

#[test]
fn results_that_cannot_be_stored_are_said_with_a_remedy() {
    if !is_root() {
        return skipped("results without room", "it mounts");
    }
    let desk = Desk::new();
    fs::create_dir(desk.path("results")).unwrap();
    let results = desk.path("results").display().to_string();
    let arguments = on_directory(&desk, "results/a/b");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let said = desk.say_after(&format!("mount -t tmpfs -o ro none {results}"), &arguments);
    desk.refused(&said, MISSING, &["could not create the run's folder", "Read-only", "try: --output"]);
    let said = desk.say_after(&format!("mount -t tmpfs -o size=16k none {results}"), &arguments);
    desk.refused(&said, MISSING, &["No space left"]);
    let said = desk.say_after(&format!("mount -t tmpfs -o size=24k none {results}"), &arguments);
    desk.refused(&said, MISSING, &["could not store a trial", "No space left", "try: free some space, then"]);
    let said = desk.say_after(&format!("mount -t tmpfs -o size=80k none {results}"), &arguments);
    desk.refused(
        &said,
        MISSING,
        &["report.html: No space left", "try: free some space, then fsderby report"],
    );
}

/// ntfs-3g cannot rename without replacing, which some shared storage cannot either.
#[test]
fn results_are_stored_where_a_rename_may_always_replace() {
    let has_tools = ["mkntfs", "ntfs-3g"].iter().all(|tool| fsderby::host::programs::find(tool).is_some());
    if !is_root() || !has_tools || !Path::new("/dev/fuse").exists() {
        return skipped("results on ntfs-3g", "there is no ntfs-3g, or no root");
    }
    let desk = Desk::new();
    fs::create_dir(desk.path("results")).unwrap();
    fs::File::create(desk.path("image")).unwrap().set_len(8 << 20).unwrap();
    let mount = "mkntfs -qF image >&2; ntfs-3g image results";
    let arguments = on_directory(&desk, "results/run");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let said = desk.say_after(mount, &arguments);
    assert_eq!(said.code, 0, "{said:#?}");
    let said = desk.say_after("ntfs-3g image results", &["verify", "results/run"]);
    assert_eq!(said.code, 0, "{said:#?}");
    let said = desk.say_after("ntfs-3g image results", &arguments);
    desk.refused(&said, USAGE, &["already exists"]);
}

#[test]
fn an_image_too_small_for_a_kind_is_refused_where_it_is_named_and_skipped_among_all() {
    if !has_loop("small images") {
        return;
    }
    let desk = Desk::new();
    let testbed = desk.testbed();
    let named = ["run", "--on", &testbed, "--filesystems", "xfs", "--size", "100m", "--output", "out"];
    desk.refuses(&named, USAGE, &["100 MiB is too small for xfs, which needs 300 MiB", "try: --size 300m"]);
    let all = ["--filesystems", "all", "--workloads", "postmark-quick", "--size", "100m", "--dry-run"];
    let said = desk.say(&[&["run", "--on", &testbed][..], &all].concat());
    assert!(
        said.code == 0 && said.out.contains("skipped xfs × postmark-quick: an image of 100 MiB"),
        "{said:?}"
    );
}

#[test]
fn work_larger_than_the_image_is_refused_with_its_size() {
    if !has_loop("work larger than the image") {
        return;
    }
    let desk = Desk::new();
    let testbed = desk.testbed();
    let work = ["run", "--on", &testbed, "--filesystems", "ext4", "--size", "32m", "--output", "out"];
    desk.refuses(
        &work,
        USAGE,
        &["MiB of files at a time, too much for an image of 32 MiB", "--size or --scale"],
    );
    // The first round's files would fit on this one, those of the integrity check would not.
    let work = [
        "--workloads",
        "fileserver-2006",
        "--scale",
        "1/16",
        "--size",
        "320m",
        "--seed",
        "17",
        "--rounds",
        "1",
    ];
    let words = ["run", "--on", &testbed, "--filesystems", "ext4", "--dry-run", "--output", "out"];
    let all = [&words[..], &work].concat();
    desk.refuses(&all, USAGE, &["fileserver-2006 has up to 309.9 MiB of files at a time, too much"]);
}

/// A run of real trials with these further words; its records and what it said.
fn carry_out(desk: &Desk, more: &[&str]) -> (Said, store::Run) {
    let testbed = desk.testbed();
    let words = ["run", "quick", "--on", &testbed, "--rounds", "1", "--output", "out"];
    let work: &[&str] = if more.contains(&"--workloads") { &[] } else { &["--workloads", "postmark-quick"] };
    let said = desk.say(&[&words, work, more].concat());
    desk.leaves_nothing(said.pid);
    assert!(desk.path("out").exists(), "{said:#?}");
    let run = store::read(&desk.path("out")).unwrap();
    (said, run)
}

fn reasons(run: &store::Run, filesystem: &str) -> Vec<String> {
    run.records
        .iter()
        .filter(|r| r.filesystem == filesystem)
        .filter(|r| r.reason.is_some())
        .map(|r| r.why())
        .collect()
}

#[test]
fn a_filesystem_that_fills_up_fails_its_trial_and_no_other() {
    if !has_loop("a full filesystem") {
        return;
    }
    let desk = Desk::new();
    let small = "ext4 label=small mkfs=\"-J size=24\"";
    // A seed by which no write is cut short by the end of the room: that would be told in other words.
    let more = ["--filesystem", small, "--filesystem", "ext4", "--size", "56m", "--seed", "7"];
    let (said, run) = carry_out(&desk, &more);
    assert_eq!(said.code, TRIALS, "{said:#?}");
    let reasons = reasons(&run, "small");
    assert!(reasons.len() == 1 && reasons[0].starts_with("work: write of "), "{reasons:?}");
    assert!(reasons[0].contains("No space left on device"), "{reasons:?}");
    let words: Vec<&str> = said.out.split_whitespace().collect();
    assert!(words.join(" ").contains("No space left"), "the report says so: {}", said.out);
    let rest = run.records.iter().filter(|r| r.filesystem == "ext4" && r.outcome.name() == "done").count();
    assert_eq!(rest, 2, "the other one is checked and measured");
}

#[test]
fn work_that_runs_out_of_memory_fails_its_trial_and_says_so() {
    if !has_loop("memory") || fsderby::host::memory_group::version() == 0 {
        return skipped("memory", "there is no memory controller, or no root");
    }
    let desk = Desk::new();
    let more = ["--filesystems", "ext4", "--size", "64m", "--scale", "1/16", "--memory", "1m"];
    let (said, run) = carry_out(&desk, &more);
    assert_eq!(said.code, TRIALS, "{said:#?}");
    let reasons = reasons(&run, "ext4");
    assert!(reasons[0].contains("the workload ran out of memory; try a larger --memory"), "{reasons:?}");
}

#[test]
fn a_mount_option_that_the_kernel_does_not_know_ends_the_run_in_the_kernels_words() {
    if !has_loop("mount options") {
        return;
    }
    let desk = Desk::new();
    let more = ["--filesystem", "ext4 mount=notime", "--size", "64m", "--scale", "1/16"];
    let testbed = desk.testbed();
    let before = desk.names();
    let said = desk.say(&[&["run", "--on", &testbed, "--output", "out"][..], &more].concat());
    desk.refused(&said, USAGE, &["ext4: mount:", "Unknown parameter 'notime'"]);
    assert_eq!(desk.names(), before, "no folder is left");
}

#[test]
fn a_flush_that_was_asked_not_to_be_made_is_a_label_and_voids_nothing() {
    if !has_loop("mount=nobarrier") {
        return;
    }
    let desk = Desk::new();
    let more = ["--filesystem", "ext4 mount=nobarrier,nodiscard", "--size", "64m", "--scale", "1/16"];
    let (said, run) = carry_out(&desk, &[&more[..], &["--workloads", "maildir-quick"]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    for record in &run.records {
        for (name, words) in
            [("flush", "none, as was asked for"), ("mount", "of nodiscard the kernel shows nothing")]
        {
            let check = record.validity.iter().find(|check| check.name.title() == name).unwrap();
            assert!(check.held == Held::Label && check.seen.contains(words), "{check:?}");
        }
    }
}

/// The program where nobody may read and run it.
fn as_nobody(desk: &Desk, arguments: &[&str]) -> Said {
    as_nobody_with(0o755, desk, arguments)
}

/// The program with this mode, run by nobody.
fn as_nobody_with(mode: u32, desk: &Desk, arguments: &[&str]) -> Said {
    let program = desk.path("fsderby");
    copy_program(&program);
    fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
    let mut command = Command::new(&program);
    command.args(arguments).env("NO_COLOR", "1").current_dir(desk.images()).uid(NOBODY).gid(NOBODY);
    let said = run(&mut command);
    fs::remove_file(program).unwrap();
    said
}

#[test]
fn without_root_loop_is_refused_and_a_directory_works() {
    if !is_root() {
        return skipped("without root", "changing the user needs root");
    }
    let desk = Desk::new();
    let said = as_nobody(&desk, &["run", "--on", "loop"]);
    desk.refused(&said, MISSING, &["the testbed loop needs root", "sudo", "directory:PATH"]);
    let arguments = on_directory(&desk, "out");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let said = as_nobody(&desk, &arguments);
    assert_eq!(said.code, 0, "{said:#?}");
    desk.leaves_nothing(said.pid);
    let cold = [&arguments[..], &["--cold", "--output", "cold"]].concat();
    let cold: Vec<&str> = cold.into_iter().filter(|w| !w.ends_with("/out")).collect();
    let at = cold.iter().position(|w| *w == "--output").unwrap();
    let cold = [&cold[..at], &cold[at + 1..]].concat();
    desk.refused(&as_nobody(&desk, &cold), MISSING, &["cold caches need root", "without --cold"]);
    let limited: Vec<&str> = arguments.iter().map(|w| if *w == "none" { "64m" } else { *w }).collect();
    desk.refused(&as_nobody(&desk, &limited), MISSING, &["a memory limit needs root", "--memory none"]);
    let locked = Desk::new();
    let testbed = format!("directory:{}", locked.path("own").display());
    fs::create_dir(locked.path("own")).unwrap();
    let said = as_nobody(&desk, &["run", "--memory", "none", "--on", &testbed]);
    desk.refused(
        &said,
        MISSING,
        &["could not create files in", "Permission denied", "a directory that you own, or sudo"],
    );
}

#[test]
fn a_program_that_may_be_run_and_not_read_ends_the_run_before_it_begins() {
    if !is_root() {
        return skipped("a program that cannot be read", "changing the user needs root");
    }
    let desk = Desk::new();
    let arguments = on_directory(&desk, "out");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let said = as_nobody_with(0o711, &desk, &arguments);
    desk.refused(
        &said,
        MISSING,
        &["could not read", "fsderby", "its hash cannot be recorded", "try: chmod a+r"],
    );
    assert!(!desk.path("out").exists());
}

#[test]
fn a_program_that_is_missing_or_cannot_be_run_skips_its_filesystem_with_the_package() {
    if !has_loop("missing programs") {
        return;
    }
    let desk = Desk::new();
    let testbed = desk.testbed();
    let plan = ["run", "--on", &testbed, "--filesystems", "ext4,xfs", "--size", "512m", "--dry-run"];
    let dead = desk.file("dead", "");
    let said = desk.say_after(&format!("mount --bind {} /usr/sbin/mkfs.xfs", dead.display()), &plan);
    assert_eq!(said.code, 0, "{said:?}");
    for word in
        ["skipped xfs", "/usr/sbin/mkfs.xfs is installed, but cannot be executed", "apt-get install xfsprogs"]
    {
        assert!(said.out.contains(word), "{word}: {said:?}");
    }
    let none = "mount -t tmpfs none /usr/sbin";
    let said = desk.say_after(none, &plan);
    desk.refused(
        &said,
        MISSING,
        &["no candidate can run on this machine", "mke2fs is not installed", "apt-get install e2fsprogs"],
    );
    let said = desk.say_after(none, &["doctor"]);
    assert!(said.out.contains("no mkfs.xfs"), "{said:?}");
    let qemu = "/usr/bin/qemu-system-x86_64";
    let dead = dead.display();
    let said = desk.say_after(&format!("[ ! -e {qemu} ] || mount --bind {dead} {qemu}"), &["doctor"]);
    let line = said.out.lines().last().unwrap_or_default();
    assert!(line.contains("apt-get install ") && line.contains("qemu-system-x86"), "{said:?}");
}

#[test]
fn programs_are_found_without_a_path() {
    let desk = Desk::new();
    let with = run(&mut desk.fsderby(&["doctor"]));
    let without = run(desk.fsderby(&["doctor"]).env_clear().env("NO_COLOR", "1"));
    let kinds = |said: &Said| said.out.lines().filter(|l| l.contains("tools and kernel")).count();
    assert_eq!(kinds(&with), kinds(&without));
}

/// The program in a shell, for what only a shell does to its streams.
fn in_shell(desk: &Desk, line: &str) -> Said {
    let mut command = Command::new("sh");
    command.args(["-c", line, env!("CARGO_BIN_EXE_fsderby")]).env("NO_COLOR", "1").current_dir(desk.path(""));
    run(&mut command)
}

#[test]
fn streams_that_are_closed_or_nobody_reads_change_nothing() {
    let desk = copied();
    for command in
        ["list", "doctor", "explain ext4", "verify run", "report run --all", "report run --json", "man"]
    {
        let said = in_shell(
            &desk,
            &format!("\"$0\" {command} <&- | head -c 1 > /dev/null; \"$0\" {command} | true"),
        );
        assert!(!said.err.contains("panicked"), "{command}: {}", said.err);
    }
    let said = in_shell(&desk, "{ \"$0\" list; echo $? >&2; } | true");
    assert_eq!(said.err.trim(), "0");
    let line = on_directory(&desk, "unheard").join(" ");
    let said = in_shell(&desk, &format!("{{ \"$0\" {line} 2>&1; echo $? > code; }} <&- | true"));
    assert_eq!(fs::read_to_string(desk.path("code")).unwrap().trim(), "0", "{said:?}");
    let said = in_shell(&desk, "\"$0\" list > /dev/full");
    desk.refused(&said, USAGE, &["could not write to standard output", "No space left"]);
}

#[test]
fn no_color_means_no_colour() {
    let desk = copied();
    let forced = |no_color: bool| {
        let mut command = desk.fsderby(&["report", "run"]);
        command.env("CLICOLOR_FORCE", "1");
        if !no_color {
            command.env_remove("NO_COLOR");
        }
        run(&mut command).out.contains('\u{1b}')
    };
    assert!(forced(false) && !forced(true));
    let piped =
        desk.fsderby(&["report", "run"]).env_remove("NO_COLOR").stdin(Stdio::null()).output().unwrap();
    assert!(!piped.stdout.contains(&0x1b), "a pipe gets none");
}
