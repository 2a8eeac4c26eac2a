//! A guest as a bundle: the known cells come out the same, times included, of another build on a machine whose tools are others.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::desk::{Desk, Said, run};
use super::quiet::has_guests;
use super::{copy_program, is_root, project, say};
use fsderby::filesystems;
use fsderby::guest::{cache, slim};
use fsderby::host::programs;
use fsderby::schema::job::Purpose;
use fsderby::schema::reason::Outcome;
use fsderby::schema::record::{FileRef, Record};
use fsderby::schema::request::Served;
use fsderby::store;
use fsderby_diskmodel::Op;

/// Six small cells whose outcome is known, for the kernel, the tools and the QEMU that stand beside them.
const KNOWN: &str = include_str!("known_cells.toml");
pub const DISKS: [&str; 2] = ["diamondmax-plus-8", "ssd-sata"];
const KINDS: [&str; 3] = ["ext4", "ntfs", "reiserfs"];

/// Those of these disks, here and on another machine.
pub fn come_out_as_they_did(disks: &[&str]) {
    if !has_guests("the known cells") {
        return;
    }
    let desk = Desk::new();
    let here = a_cache(&desk, "here");
    let guest = of_pinned_packages(&desk, &here);
    let seen = cells(&desk, disks, &here, guest.as_deref());
    if std::env::var_os("FSDERBY_KNOWN").is_some() {
        assert!(guest.is_some(), "known cells are those of the pinned packages");
        assert_eq!(disks, DISKS, "a file of all of them is written");
        return fs::write("tests/support/known_cells.toml", toml::to_string(&seen).unwrap()).unwrap();
    }
    are_as_known(&seen);
    match guest {
        Some(guest) => are_the_same_elsewhere(&desk, disks, &here, &guest),
        None => say("not compared: the known cells of another build, without a guest that it could be given"),
    }
}

/// The bundle of the packages that the known cells were made with; `None` where they are not to be had, which is said.
fn of_pinned_packages(desk: &Desk, cache: &Path) -> Option<String> {
    let pins = project().join("tests/support/known_guest.toml");
    let words = ["guest", "build", "--packages", pins.to_str().unwrap()];
    let said = run(desk.fsderby(&words).env("XDG_CACHE_HOME", cache));
    if said.code != 0 {
        let why = said.err.lines().next().unwrap_or_default();
        say(&format!("the known cells are tried with this machine's own tools: {why}"));
        return None;
    }
    assert!(said.err.is_empty(), "{}", said.err);
    said.out.split_whitespace().next().map(str::to_owned)
}

/// With the kernels of this machine's own.
pub fn a_cache(desk: &Desk, name: &str) -> PathBuf {
    let cache = desk.path(name);
    fs::create_dir_all(cache.join("fsderby")).unwrap();
    symlink(cache::folder("kernels").unwrap(), cache.join("fsderby/kernels")).unwrap();
    cache
}

/// What came of each, by disk and kind; the runs stay beside.
fn cells(
    desk: &Desk,
    disks: &[&str],
    cache: &Path,
    guest: Option<&str>,
) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut seen = BTreeMap::new();
    for disk in disks {
        let on = format!("model:{disk}");
        let own = ["run", "--on", &on, "--filesystems", &KINDS.join(","), "--output", disk, "--rounds", "1"];
        let work = ["--workloads", "maildir-quick", "--size", "512m", "--memory", "64m", "--scale", "1/32"];
        let mut words = [&own[..], &work, &["--seed", "7", "--quiet"]].concat();
        words.extend(guest.iter().flat_map(|id| ["--guest", *id]));
        let said = run(desk.fsderby(&words).env("XDG_CACHE_HOME", cache));
        let records =
            store::read(&desk.path(disk)).map(|run| run.records).unwrap_or_else(|e| panic!("{e:#} {said:?}"));
        for record in records.iter().filter(|record| record.purpose == Purpose::Integrity) {
            assert_eq!(record.outcome, Outcome::Done, "{}: {:?}", record.trial, record.reason);
            seen.insert(format!("{disk} {}", record.filesystem), cell(&desk.path(disk), record));
        }
    }
    assert_eq!(seen.len(), disks.len() * KINDS.len());
    seen
}

fn are_as_known(seen: &BTreeMap<String, BTreeMap<String, String>>) {
    let known: BTreeMap<String, BTreeMap<String, String>> = toml::from_str(KNOWN).unwrap();
    let all = DISKS.iter().flat_map(|disk| KINDS.map(|kind| format!("{disk} {kind}")));
    assert_eq!(known.keys().cloned().collect::<Vec<_>>(), all.collect::<Vec<_>>());
    for (name, seen) in seen {
        let known = &known[name];
        let differs =
            |keys: &[&'static str]| keys.iter().find(|key| known.get(**key) != seen.get(**key)).copied();
        if let Some(other) = differs(&["kernel", "qemu", "tools"]) {
            say(&format!("not compared: the known cell {name}, whose {other} is another here"));
            continue;
        }
        let remedy = "if that is meant: FSDERBY_KNOWN=write make nightly PART=known_cells";
        assert_eq!(differs(&["where"]), None, "{name}: {seen:#?}\n{remedy}");
        if differs(&["program", "job", "machine"]).is_some() {
            say(&format!("compared but for its times: the known cell {name}, as our own program is another"));
        } else {
            assert_eq!(differs(&["requests", "console"]), None, "{name}: {seen:#?}\n{remedy}");
        }
    }
}

/// Another build, a cache that holds nothing, and as root other tools: each cell again, from the runs' folders and the bundle's file.
fn are_the_same_elsewhere(desk: &Desk, disks: &[&str], here: &Path, guest: &str) {
    let file = desk.path("guest.tar");
    let exported = run(desk.fsderby(&["guest", "export", guest, "guest.tar"]).env("XDG_CACHE_HOME", here));
    assert_eq!(exported.code, 0, "{exported:?}");
    let other = another_build(desk);
    let there = desk.path("there");
    fs::create_dir(&there).unwrap();
    let without = elsewhere(desk, &other, &there, &["verify", disks[0], "--rerun", "1"]);
    desk.refused(&without, 3, &["is not in the cache", "fsderby guest import"]);
    for disk in disks {
        let words = ["verify", disk, "--rerun", "all", "--guest", file.to_str().unwrap()];
        let said = elsewhere(desk, &other, &there, &words);
        let all = format!("rerun: {} identical, 0 different, 0 not comparable", 2 * KINDS.len());
        assert!(said.code == 0 && said.out.contains(&all), "{said:#?}");
    }
    let again = desk.path("again.tar");
    let said = elsewhere(desk, &other, &there, &["guest", "export", guest, again.to_str().unwrap()]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(fs::read(&file).unwrap() == fs::read(&again).unwrap(), "the same guest is another file");
    let said = elsewhere(desk, &other, &there, &["guest", "remove", guest]);
    assert!(said.code == 0 && said.out.contains(guest), "{said:?}");
    let gone = elsewhere(desk, &other, &there, &["guest", "list", guest]);
    desk.refused(&gone, 3, &["is not in the cache"]);
}

/// Our own program with another text in it: another agent, were it one.
pub fn another_build(desk: &Desk) -> PathBuf {
    let path = desk.path("other-fsderby");
    copy_program(&path);
    let own = fs::read(&path).unwrap();
    let text = b"Compares filesystems under the same conditions";
    let mut other = own.clone();
    let places: Vec<usize> =
        own.windows(text.len()).enumerate().filter(|(_, w)| w == text).map(|(at, _)| at).collect();
    places.iter().for_each(|at| other[*at] = b'c');
    fs::write(&path, &other).unwrap();
    assert_ne!(slim::program(own).unwrap(), slim::program(other).unwrap(), "its agent is another");
    path
}

/// What that program says where each tool of the cells is a program that fails; that takes root.
pub fn elsewhere(desk: &Desk, program: &Path, cache: &Path, words: &[&str]) -> Said {
    let kinds = KINDS.iter().filter_map(|name| filesystems::find(name));
    let tools = kinds.flat_map(filesystems::tools).filter_map(|tool| programs::find(&tool));
    let hide: Vec<String> = tools
        .map(|tool| format!("mount --bind /bin/false {}", tool.canonicalize().unwrap().display()))
        .collect();
    let mut command = match is_root() {
        true => Command::new("unshare"),
        false => Command::new("sh"),
    };
    match is_root() {
        true => command.args(["--mount", "sh", "-ec", &format!("{}\nexec \"$@\"", hide.join("\n")), "sh"]),
        false => {
            say("the known cells elsewhere: with this machine's tools there too, as hiding them takes root");
            command.args(["-c", "exec \"$@\"", "sh"])
        }
    };
    command.arg(program).args(words).env("NO_COLOR", "1").env("XDG_CACHE_HOME", cache);
    run(command.current_dir(desk.path("")))
}

/// What decides a cell, and what came of it. `where` has no times and no order: on these filesystems another build of ours, which is
/// faster or slower, has the same.
fn cell(run: &Path, record: &Record) -> BTreeMap<String, String> {
    let mut cell = (*record.provenance).clone();
    let file = |file: &Option<FileRef>| file.as_ref().unwrap().clone();
    let (requests, console) = (file(&record.requests), file(&record.console));
    let bytes = fs::read(run.join(&requests.path)).unwrap();
    let (served, rest) = bytes.as_chunks();
    assert!(rest.is_empty());
    let served: Vec<Served> = served.iter().map(|bytes| Served::from_bytes(bytes).unwrap()).collect();
    cell.insert("where".into(), places(&served));
    cell.insert("requests".into(), requests.blake3);
    cell.insert("console".into(), console.blake3);
    cell
}

/// Which sectors were read, written and discarded, and how often the disk was flushed.
fn places(served: &[Served]) -> String {
    let mut all: Vec<String> = Vec::new();
    for (name, op) in [("read", Op::Read), ("write", Op::Write), ("discard", Op::Discard)] {
        let mut ranges: Vec<(u64, u64)> = served
            .iter()
            .filter(|s| s.op == op)
            .map(|s| (s.sector, s.sector + u64::from(s.sectors)))
            .collect();
        ranges.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (begin, end) in ranges {
            match joined.last_mut() {
                Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                _ => joined.push((begin, end)),
            }
        }
        all.push(format!("{name} {joined:?}"));
    }
    let flushes = served.iter().filter(|s| s.op == Op::Flush).count();
    all.push(format!("flush {flushes}"));
    blake3::hash(all.join("\n").as_bytes()).to_hex().to_string()
}
