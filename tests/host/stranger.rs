//! A run's folder from somebody else: whatever stands in it is data. Nothing outside is read or written, nothing is waited for,
//! and nothing is carried out unasked.

use std::fs::{self, File};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::support::desk::{Desk, Said, run};
use crate::support::{copy_program, is_root, skipped};
use fsderby::analysis::metrics;
use fsderby::exit;
use fsderby::runner::experiment::Experiment;
use fsderby::schema::machine::Machine;
use fsderby::schema::plan::Plan;
use fsderby::schema::reason::{Outcome, Reason};
use fsderby::schema::record::{FileRef, Record};
use fsderby::schema::request::Served;
use fsderby::schema::setup::ClockKind;
use fsderby::store::{self, Attached, Folder};
use fsderby_diskmodel::Op;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

const OK: i32 = exit::OK as i32;
const USAGE: i32 = exit::USAGE as i32;
const MISSING: i32 = exit::MISSING as i32;
const DAMAGED: i32 = exit::DAMAGED as i32;
/// Nobody, on every Linux.
const NOBODY: u32 = 65534;

/// Not the end of an access: a process that another test starts meanwhile may end one of ours.
const TOUCHES: WatchFlags = WatchFlags::OPEN
    .union(WatchFlags::ACCESS)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE);

const PAGE: &str = "report.html";
/// What reads a run's folder, and how it ends where the folder is sound and of a testbed in the host's time.
const COMMANDS: [(&[&str], i32); 4] = [
    (&["report", "run"], OK),
    (&["verify", "run"], OK),
    (&["verify", "run", "--rerun"], USAGE),
    (&["run", "--resume", "run", "--quiet"], OK),
];

/// A small run, with a file of each kind that a run may have.
fn made(seed: &str) -> Desk {
    let desk = Desk::new();
    let words = ["run", "quick", "--workloads", "postmark-quick", "--scale", "1/16", "--rounds", "1"];
    let more = ["--memory", "none", "--on", "directory:/var/tmp", "--output", "run", "--seed", seed];
    let said = desk.say(&[&words[..], &more].concat());
    assert_eq!(said.code, OK, "{said:#?}");
    let (mut folder, run) = Folder::open(&desk.path("run")).unwrap();
    let last = run.records.last().unwrap();
    let (histograms, console) = (run.histograms(last).unwrap(), format!("console of {seed}\n"));
    let attached = Attached { histograms, console, requests: seed.repeat(48).into() };
    folder.append(Record { attempt: last.attempt + 1, ..last.clone() }, &attached).unwrap();
    desk
}

fn sound() -> &'static Desk {
    static SOUND: OnceLock<Desk> = OnceLock::new();
    SOUND.get_or_init(|| made("1"))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// All files of the sound run, by their paths in its folder.
fn files() -> Vec<PathBuf> {
    let (run, mut found) = (sound().path("run"), Vec::new());
    let mut folders = vec![run.clone()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(&run).unwrap().to_owned()),
            }
        }
    }
    // The log is for people, and no command reads it.
    found.retain(|file| file != Path::new("log.txt"));
    let folders = ["histograms", "consoles", "requests"];
    assert!(folders.iter().all(|folder| found.iter().any(|file| file.starts_with(folder))), "{found:?}");
    found
}

/// A copy of the sound run, called `run`; outside of it another copy, which nobody may touch.
struct Scene {
    desk: Desk,
    watch: OwnedFd,
}

impl Scene {
    fn new() -> Self {
        let desk = Desk::new();
        copy(&sound().path("run"), &desk.path("run"));
        copy(&sound().path("run"), &desk.path("outside"));
        let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        for folder in ["", "histograms", "consoles", "requests"] {
            let folder = desk.path("outside").join(folder);
            inotify::add_watch(&watch, folder, TOUCHES).unwrap();
        }
        Scene { desk, watch }
    }

    fn within(&self, file: impl AsRef<Path>) -> PathBuf {
        self.desk.path("run").join(file)
    }

    fn outside(&self, file: impl AsRef<Path>) -> PathBuf {
        self.desk.path("outside").join(file)
    }

    /// Ends with its code, without waiting for anything, and touches nothing outside.
    fn say(&self, arguments: &[&str]) -> Said {
        let mut command = Command::new("timeout");
        command.arg("60").arg(env!("CARGO_BIN_EXE_fsderby")).args(arguments);
        let said = run(command.env("NO_COLOR", "1").current_dir(self.desk.path("")));
        assert!(!said.err.contains("panicked"), "{said:#?}");
        assert_eq!(self.touched(), Vec::<String>::new(), "{arguments:?}: {said:#?}");
        said
    }

    /// All that happened to the files outside.
    fn touched(&self) -> Vec<String> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.watch, &mut buffer);
        let mut events = Vec::new();
        while let Ok(event) = reader.next() {
            // Whoever lists or opens a folder has read nothing of a file yet; a file's own events name it.
            if !event.events().contains(ReadFlags::ISDIR) {
                events.push(format!("{:?} {:?}", event.events(), event.file_name()));
            }
        }
        events
    }

    /// Every command ends with exit code 5 and says where and why.
    fn is_damaged(&self, words: &[&str]) {
        for (command, _) in COMMANDS {
            let said = self.say(command);
            let text = format!("{} {}", said.out, said.err);
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(said.code, DAMAGED, "{command:?}: {said:#?}");
            assert!(words.iter().all(|word| text.contains(word)), "{command:?}: {words:?} in {text}");
        }
    }
}

/// Puts something in the place of each file in turn. What a report was written to is no part of the run, and only replaced.
fn each_replaced(why: &str, page: i32, put: impl Fn(&Scene, &Path)) {
    for file in files() {
        let scene = Scene::new();
        fs::remove_file(scene.within(&file)).unwrap();
        put(&scene, &file);
        scene.touched();
        if file != Path::new(PAGE) {
            scene.is_damaged(&[file.to_str().unwrap(), why]);
            continue;
        }
        for (command, code) in COMMANDS {
            let code = if command.contains(&"--resume") { page } else { code };
            assert_eq!(scene.say(command).code, code, "{command:?}");
        }
        let about = fs::symlink_metadata(scene.within(PAGE)).unwrap();
        assert_eq!(about.is_file(), page == OK, "{about:?}");
    }
}

fn node(scene: &Scene, file: &Path, kind: FileType, device: u64) {
    mknodat(CWD, scene.within(file), kind, Mode::RUSR | Mode::WUSR, device).unwrap();
}

#[test]
fn a_sound_run_is_read_and_gone_on_with() {
    let scene = Scene::new();
    for (command, code) in COMMANDS {
        let said = scene.say(command);
        assert_eq!(said.code, code, "{command:?}: {said:#?}");
    }
}

#[test]
fn a_link_is_not_followed_though_what_it_leads_to_is_the_very_same() {
    each_replaced("it is a symbolic link", OK, |scene, file| {
        symlink(scene.outside(file), scene.within(file)).unwrap();
    });
}

#[test]
fn a_fifo_is_not_waited_for() {
    each_replaced("it is a FIFO", OK, |scene, file| node(scene, file, FileType::Fifo, 0));
}

#[test]
fn a_device_is_not_read() {
    let probe = tempfile::tempdir().unwrap();
    let zero = makedev(1, 5);
    if mknodat(CWD, probe.path().join("zero"), FileType::CharacterDevice, Mode::RUSR, zero).is_err() {
        return skipped("devices in a run's folder", "making one needs root");
    }
    each_replaced("it is a device", OK, |scene, file| node(scene, file, FileType::CharacterDevice, zero));
}

#[test]
fn a_folder_is_no_file() {
    each_replaced("it is a folder", MISSING, |scene, file| fs::create_dir(scene.within(file)).unwrap());
}

#[test]
fn ten_gibibytes_of_nothing_are_not_read() {
    each_replaced("it has 10 GiB; the limit for such a file is", OK, |scene, file| {
        File::create(scene.within(file)).unwrap().set_len(10 << 30).unwrap();
    });
}

#[test]
fn a_file_of_another_run_is_damage() {
    let other = made("2");
    for file in files().iter().filter(|file| *file != Path::new(PAGE)) {
        let scene = Scene::new();
        let bytes = match file.to_str() {
            // Both were made on this machine.
            Some("machine.json") => serde_json::to_vec_pretty(&Machine::default()).unwrap(),
            _ => fs::read(other.path("run").join(file)).unwrap(),
        };
        if fs::read(scene.within(file)).unwrap() == bytes {
            // Of one candidate alone both found the same: nothing.
            assert_eq!(file, Path::new("verdict.json"));
            continue;
        }
        fs::write(scene.within(file), bytes).unwrap();
        scene.touched();
        let words = match file.to_str().unwrap() {
            "plan.toml" | "machine.json" | "trials.jsonl" => {
                vec!["line 1 does not continue plan.toml and machine.json"]
            }
            "seal.json" => vec!["has changed since the run ended and was sealed"],
            other => vec![other, "was altered"],
        };
        scene.is_damaged(&words);
    }
}

#[test]
fn a_folder_that_is_a_link_is_not_entered() {
    for folder in ["histograms", "consoles", "requests"] {
        let scene = Scene::new();
        fs::remove_dir_all(scene.within(folder)).unwrap();
        symlink(scene.outside(folder), scene.within(folder)).unwrap();
        scene.touched();
        scene.is_damaged(&[folder, "cannot be read: the path's parent is not a folder"]);
    }
}

/// A stranger can write any record with its checksum, and name any file in it with that one's hash.
#[test]
fn a_record_that_names_a_file_outside_is_damage() {
    let secret = |scene: &Scene| scene.outside("plan.toml").display().to_string();
    let paths: [&dyn Fn(&Scene) -> String; 4] = [
        &|_| "../outside/plan.toml".into(),
        &|_| "histograms/../../outside/plan.toml".into(),
        &|scene| secret(scene),
        &|scene| format!("/proc/self/root{}", secret(scene)),
    ];
    for path in paths {
        let scene = Scene::new();
        let path = path(&scene);
        let blake3 = blake3::hash(&fs::read(scene.outside("plan.toml")).unwrap()).to_hex().to_string();
        let file = FileRef { path: path.clone(), blake3, what: "work".into() };
        let (mut folder, run) = Folder::open(&scene.desk.path("run")).unwrap();
        let last = run.records.last().unwrap().clone();
        let record = Record { attempt: last.attempt + 1, histograms: vec![file], ..last };
        folder.append(record, &Attached::default()).unwrap();
        drop(folder);
        scene.touched();
        scene.is_damaged(&[&path, "its path leads out of the run's folder"]);
    }
}

/// The sound run's folder anew, checksums and chain included, with its plan changed.
fn with_plan(change: impl FnOnce(&mut Plan)) -> Scene {
    let scene = Scene::new();
    let run = store::read(&scene.desk.path("run")).unwrap();
    let mut plan = run.plan.clone();
    change(&mut plan);
    fs::remove_dir_all(scene.desk.path("run")).unwrap();
    let mut folder = Folder::create(&scene.desk.path("run"), &plan, &run.machine).unwrap();
    for record in run.records {
        let record = Record { histograms: Vec::new(), console: None, requests: None, ..record };
        folder.append(record, &Attached::default()).unwrap();
    }
    drop(folder);
    scene.touched();
    scene
}

type Change = dyn Fn(&mut Plan);

#[test]
fn a_plan_that_no_experiment_gives_is_damage() {
    let changes: [(&Change, &str); 5] = [
        (&|plan| plan.testbed = "/dev/sda".into(), "/dev/sda can be another disk"),
        (
            &|plan| plan.candidates[0].variant.mkfs = vec!["/dev/sda".into()],
            "mkfs options have no effect on a directory",
        ),
        (&|plan| plan.testbed = "loop".into(), "unknown filesystem"),
        (&|plan| plan.workloads[0].work.engine = "sh".into(), "no workload sh"),
        (&|plan| plan.workloads[0].label = "a/../b".into(), "cannot label a workload"),
    ];
    for (change, why) in changes {
        let scene = with_plan(|plan| {
            plan.candidates[0].kind = "made-up".into();
            plan.candidates[0].label = "made-up, as mounted".into();
            change(plan);
        });
        scene.is_damaged(&["plan.toml: this plan does not come from an experiment", why]);
        let said = scene.say(&["run", "run/plan.toml", "--output", "again"]);
        assert_eq!(said.code, DAMAGED, "{said:#?}");
        assert!(
            said.err.contains("run/plan.toml is damaged: this plan does not come from an experiment"),
            "{}",
            said.err
        );
        assert!(!scene.desk.path("again").exists());
    }
}

/// `mkfs` of a stranger's plan would run on this machine, as root.
#[test]
fn only_what_was_in_virtual_time_is_run_again_whatever_its_records_claim() {
    let desk = Desk::new();
    let run = store::read(&sound().path("run")).unwrap();
    let text = "name = 'x'\nworkloads = ['postmark-quick']\nrounds = 1\nseed = 1\nscale = '1/16'\n\
                [[filesystem]]\nkind = 'ext4'\nmkfs = ['-z', 'OUT']";
    let out = desk.path("out").display().to_string();
    let plan =
        Experiment::parse(&text.replace("OUT", &out), "test").unwrap().plan(desk.testbed(), 1).unwrap();
    let mut folder = Folder::create(&desk.path("run"), &plan, &Machine::default()).unwrap();
    let trial = plan.round(1).next().unwrap();
    let mut record = run.records.last().unwrap().clone();
    (record.trial, record.attempt) = (trial.name(), 1);
    (record.filesystem, record.kind) = ("ext4".into(), "ext4".into());
    record.clock = ClockKind::Virtual;
    record.works[0].work = plan.workloads[0].work.clone();
    record.works[0].params_hash = record.works[0].work.hash();
    record.provenance.insert("kernel".into(), "00".into());
    record.metrics = metrics::all(&record, &metrics::parsed(&record).unwrap());
    (record.histograms, record.console, record.requests) = (Vec::new(), None, None);
    folder.append(record, &Attached::default()).unwrap();
    drop(folder);
    for command in [&["verify", "run"][..], &["verify", "run", "--rerun"]] {
        let said = desk.say(command);
        assert_eq!(said.code, DAMAGED, "{said:?}");
        assert!(said.out.contains("the trial's clock is not the clock of its testbed"), "{}", said.out);
    }
    assert!(!desk.path("out").exists());
}

/// Gives it to somebody else, without following a link.
fn give(path: &Path, uid: u32) {
    if fs::symlink_metadata(path).unwrap().is_dir() {
        fs::read_dir(path).unwrap().flatten().for_each(|entry| give(&entry.path(), uid));
    }
    lchown(path, Some(uid), Some(uid)).unwrap();
}

#[test]
fn what_a_stranger_wrote_is_carried_out_only_when_they_are_trusted() {
    if !is_root() {
        return skipped("folders of another user", "giving one away needs root");
    }
    for part in ["", "plan.toml", "histograms"] {
        let scene = Scene::new();
        let given = scene.within(part);
        give(&given, NOBODY);
        let words = [part, "belongs to user 65534", "try: fsderby verify run", "--trust"];
        for command in [&["run", "--resume", "run"][..], &["verify", "run", "--rerun"]] {
            scene.desk.refuses(command, USAGE, &words);
        }
        assert_eq!(scene.say(&["verify", "run"]).code, OK, "nothing is carried out");
        assert_eq!(scene.say(&["report", "run"]).code, OK);
        assert_eq!(scene.say(&["run", "--resume", "run", "--quiet", "--trust"]).code, OK);
        let said = scene.say(&["verify", "run", "--rerun", "--trust"]);
        assert!(said.code == USAGE && said.err.contains("in virtual time"), "{said:#?}");
    }
}

/// Who may write it could have put another plan in place of the user's.
#[test]
fn what_others_may_write_is_carried_out_only_when_they_are_trusted() {
    let group = rustix::process::geteuid().as_raw() + 1;
    for (part, mode, who) in [
        ("", 0o777, "can be written by every user"),
        ("", 0o1777, "can be written by every user"),
        ("plan.toml", 0o666, "can be written by every user"),
        ("trials.jsonl", 0o602, "can be written by every user"),
        ("histograms", 0o757, "can be written by every user"),
        ("plan.toml", 0o664, "can be written by group"),
        ("", 0o775, "can be written by group"),
    ] {
        let scene = Scene::new();
        let given = scene.within(part);
        if who.contains("group") && lchown(&given, None, Some(group)).is_err() {
            skipped("a folder that a group may write", "giving it to a group needs root");
            continue;
        }
        fs::set_permissions(&given, fs::Permissions::from_mode(mode)).unwrap();
        for command in [&["run", "--resume", "run"][..], &["verify", "run", "--rerun"]] {
            scene.desk.refuses(command, USAGE, &[part, who, "--trust"]);
        }
        assert_eq!(scene.say(&["verify", "run"]).code, OK, "nothing is carried out");
        assert_eq!(scene.say(&["run", "--resume", "run", "--quiet", "--trust"]).code, OK, "{part} {mode:o}");
    }
    let own = Scene::new();
    fs::set_permissions(own.within("plan.toml"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(own.say(&["run", "--resume", "run", "--quiet"]).code, OK, "all may read it");
}

#[test]
fn pages_of_the_manual_overwrite_nothing_and_follow_no_link() {
    let desk = Desk::new();
    desk.file("victim", "precious");
    for (page, is_link) in [("fsderby.1", true), ("fsderby-run.1", true), ("fsderby-list.1", false)] {
        fs::create_dir(desk.path("man")).unwrap();
        match is_link {
            true => symlink(desk.path("victim"), desk.path("man").join(page)).unwrap(),
            false => fs::write(desk.path("man").join(page), "own").unwrap(),
        }
        desk.refuses(&["man", "--output", "man"], USAGE, &[page, "already exists and is not overwritten"]);
        assert_eq!(fs::read_dir(desk.path("man")).unwrap().count(), 1, "nothing else was written");
        assert_eq!(fs::read_to_string(desk.path("victim")).unwrap(), "precious");
        fs::remove_dir_all(desk.path("man")).unwrap();
    }
    symlink(desk.path("created"), desk.path("dangling")).unwrap();
    fs::create_dir(desk.path("man")).unwrap();
    symlink(desk.path("created"), desk.path("man/fsderby-verify.1")).unwrap();
    desk.refuses(&["man", "--output", "man"], USAGE, &["fsderby-verify.1"]);
    assert!(!desk.path("created").exists());
    assert_eq!(desk.say(&["man", "--output", "fresh"]).code, OK);
    let page = fs::read_to_string(desk.path("fresh/fsderby-run.1")).unwrap();
    assert!(
        page.contains(".TH \"FSDERBY-RUN\" 1") && desk.path("fresh/fsderby-disk-validate.1").exists(),
        "{page}"
    );
}

#[test]
fn a_key_that_is_no_file_is_refused_and_not_waited_for() {
    let desk = Desk::new();
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, desk.path("pipe"), FileType::Fifo, mode, 0).unwrap();
    fs::create_dir(desk.path("folder")).unwrap();
    for key in ["pipe", "folder"] {
        let run = ["run", "quick", "--rounds", "1", "--on", "directory:.", "--sign", key, "--output", "out"];
        desk.refuses(&run, USAGE, &[key, "not a regular file"]);
    }
    let scene = Scene::new();
    mknodat(CWD, scene.desk.path("pipe"), FileType::Fifo, mode, 0).unwrap();
    let said = scene.say(&["verify", "run", "--key", "pipe"]);
    assert!(said.code == USAGE && said.err.contains("not a regular file"), "{said:?}");
}

#[test]
fn a_file_that_we_may_not_read_is_a_missing_right_and_no_damage() {
    if !is_root() {
        return skipped("files that may not be read", "changing the user needs root");
    }
    for file in ["plan.toml", "machine.json", "trials.jsonl", ""] {
        let scene = Scene::new();
        let program = scene.desk.path("fsderby");
        copy_program(&program);
        fs::set_permissions(scene.within(file), fs::Permissions::from_mode(0o000)).unwrap();
        for (command, _) in COMMANDS {
            let mut child = Command::new(&program);
            let said = run(child.args(command).current_dir(scene.desk.path("")).uid(NOBODY).gid(NOBODY));
            // What is gone on with is opened for writing first, which nobody may either.
            let (what, file) = match command.contains(&"--resume") && !file.is_empty() {
                true => ("could not resume run", "trials.jsonl"),
                false => ("could not open run", file),
            };
            let words = [what, file, "Permission denied", "try: as the user who owns the run"];
            scene.desk.refused(&said, MISSING, &words);
        }
    }
}

/// A neighbour can put the link there while nobody looks; root must not write through it.
#[test]
fn records_and_files_beside_them_are_never_written_through_a_link() {
    let scene = Scene::new();
    let (mut folder, run) = Folder::open(&scene.desk.path("run")).unwrap();
    let last = run.records.last().unwrap().clone();
    let next = Record { attempt: last.attempt + 1, ..last };
    let old = next.histograms[0].path.clone();
    let new = old.replace(&format!(".{}.", next.attempt - 1), &format!(".{}.", next.attempt));
    symlink(scene.outside(&old), scene.within(&new)).unwrap();
    fs::remove_dir_all(scene.within("consoles")).unwrap();
    symlink(scene.outside("consoles"), scene.within("consoles")).unwrap();
    scene.touched();
    let histograms = run.histograms(&next).unwrap();
    let beside = Attached { histograms, ..Attached::default() };
    folder.append(Record { console: None, requests: None, ..next.clone() }, &beside).unwrap();
    assert!(fs::symlink_metadata(scene.within(&new)).unwrap().is_file(), "the link made way");
    let console = Attached { console: "x".into(), ..Attached::default() };
    let error = folder.append(next, &console).unwrap_err().to_string();
    assert!(error.contains("could not store consoles/") && error.contains("is not a folder"), "{error}");
    assert_eq!(scene.touched(), Vec::<String>::new());
}

#[test]
fn the_requests_of_a_trial_are_printed_as_they_were_stored() {
    let scene = Scene::new();
    let (mut folder, run) = Folder::open(&scene.desk.path("run")).unwrap();
    let last = run.records.last().unwrap().clone();
    let one = Served {
        arrived_ns: 1_000,
        done_ns: 9_500,
        sector: 2048,
        sectors: 8,
        op: Op::Write,
        fua: true,
        from_cache: false,
        depth: 3,
        seek_ns: 5_000,
        rotation_ns: 2_000,
        transfer_ns: 1_000,
        overhead_ns: 500,
        disk: 0,
        life: 0,
    };
    let flush = Served {
        op: Op::Flush,
        fua: false,
        from_cache: true,
        sector: 0,
        sectors: 0,
        disk: 4,
        life: 1,
        ..one
    };
    let requests = [one, flush].map(Served::to_bytes).concat();
    let attached = Attached { requests, ..Attached::default() };
    let bare = Record { histograms: Vec::new(), console: None, requests: None, ..last.clone() };
    folder.append(Record { attempt: last.attempt + 1, ..bare.clone() }, &attached).unwrap();
    let path = folder.read().unwrap().records.last().unwrap().requests.clone().unwrap().path;
    let trial = last.trial.as_str();
    let said = scene.say(&["report", "run", "--requests", trial]);
    assert_eq!(said.code, OK, "{said:#?}");
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines.len(), 3, "{said:#?}");
    assert_eq!(lines[1], "0,0,1000,9500,8500,write,1,0,2048,8,3,5000,2000,1000,500");
    assert_eq!(lines[2], "1,4,1000,9500,8500,flush,0,1,0,0,3,5000,2000,1000,500");
    let columns = |line: &str| line.split(',').count();
    assert!(lines.iter().all(|line| columns(line) == columns(lines[0])));
    let misspelt = format!("{trial}x");
    let refused = |words: &[&str], trial: &str, code| {
        scene.desk.refuses(&["report", "run", "--requests", trial], code, words);
    };
    refused(&["unknown trial", &format!("did you mean '{trial}'?")], &misspelt, USAGE);
    fs::write(scene.within(&path), "altered").unwrap();
    refused(&[&path, "differs from the file that was stored"], trial, DAMAGED);
    folder.append(Record { attempt: last.attempt + 2, ..bare }, &Attached::default()).unwrap();
    refused(&["has no list of requests", "modelled disk", "try:"], trial, USAGE);
    scene.desk.refuses(&["report", "run", "--requests", trial, "--all"], USAGE, &["--all"]);
    let said = scene.say(&["verify", "run", "--rerun", trial]);
    assert_eq!(said.code, DAMAGED, "the run is verified first: {said:#?}");
}

#[test]
fn nothing_that_a_stranger_wrote_steers_the_terminal() {
    const STEERS: &str = "\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\u{7f}";
    let scene = Scene::new();
    let (mut folder, run) = Folder::open(&scene.desk.path("run")).unwrap();
    let last = run.records.last().unwrap().clone();
    let file = FileRef { path: format!("../{STEERS}"), blake3: String::new(), what: STEERS.into() };
    let reason = Some(Reason::Skipped { text: STEERS.into() });
    let hostile = Record { trial: format!("r01/{STEERS}/x"), scenario: STEERS.into(), reason, ..last };
    let hostile = Record { outcome: Outcome::Skipped, histograms: vec![file], ..hostile };
    folder.append(hostile, &Attached::default()).unwrap();
    drop(folder);
    let shown = |arguments: &[&str]| {
        let said = scene.say(arguments);
        let text = said.out + &said.err;
        let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!text.contains(steers) && text.contains("]0;x"), "{arguments:?}: {text:?}");
    };
    let commands = COMMANDS.iter().map(|(command, _)| *command);
    let more: [&[&str]; 2] = [&["verify", "run", "--json"], &["report", "run", "--json"]];
    commands.chain(more).for_each(shown);
    fs::write(scene.within("plan.toml"), format!("schema = 4\nname = '{STEERS}")).unwrap();
    COMMANDS.iter().for_each(|(command, _)| shown(command));
}
