//! A reproduction as a kit: another build, with another cache, finds the same; an altered byte is found.

use std::fs;

use crate::support::desk::{Desk, run};
use crate::support::known_cells::{a_cache, another_build, elsewhere};
use crate::support::quiet::has_guests;
use fsderby::exit;

const EXPERIMENT: &str = r#"
name = "made up"
on = "model:samsung-pm9a3-1920"
size = "512m"
memory = "64m"
workloads = ["maildir-quick"]
filesystems = ["ext4", "xfs", "btrfs"]
scale = "1/32"
rounds = 2
seed = 7
"#;

const PAPER: &str = r#"
title = 'A. Author, "Two filesystems"'
year = 2020
published = "Nowhere."
story = "It is made up."
disk = "a disk"
machine = "a machine"

[environment]
memory = "64 MB"

[[claim]]
says = "ext4 delivers faster than XFS."
place = "section 1"
workloads = ["maildir-quick"]
tests = [{ metrics = ["transactions.rate"], of = ["ext4"], than = ["xfs"], relation = "more" }]

[reproduction]
run = [{ experiment = "own.toml", filesystems = ["ext4", "xfs"] }]
"#;

#[test]
fn a_kit_is_found_equal_by_another_build_elsewhere_and_an_altered_byte_is_found() {
    if !has_guests("a kit") {
        return;
    }
    let desk = Desk::new();
    let here = a_cache(&desk, "here");
    let at_home = |words: &[&str]| run(desk.fsderby(words).env("XDG_CACHE_HOME", &here));
    let built = at_home(&["guest", "build"]);
    assert_eq!(built.code, 0, "{built:?}");
    let listed = at_home(&["guest", "list"]);
    let id = listed.out.split_whitespace().next().unwrap_or_else(|| panic!("{listed:?}")).to_owned();
    fs::create_dir(desk.path("own")).unwrap();
    desk.file("own/paper.toml", PAPER);
    desk.file("own/own.toml", EXPERIMENT);
    assert_eq!(at_home(&["key", "a.key"]).code, 0);
    let without = at_home(&["reproduce", "own/paper.toml", "--column", "then", "--kit", "a.kit"]);
    desk.refused(&without, i32::from(exit::USAGE), &["no guest bundle is named", "fsderby guest build"]);
    // Whatever number of rounds the experiment has.
    let fitting = ["reproduce", "own/paper.toml", "--column", "then", "--budget", "1h", "--dry-run"];
    let fitting = at_home(&fitting);
    assert!(fitting.out.contains("2 filesystems (ext4, xfs)"), "{fitting:#?}");
    assert!(fitting.out.contains("at least 13 rounds, each with 2 trials"), "{fitting:#?}");
    let made = at_home(
        &[
            &["reproduce", "own/paper.toml", "--column", "then", "--rounds", "1", "--output", "made"][..],
            &["--guest", &id, "--kit", "a.kit", "--sign", "a.key"],
        ]
        .concat(),
    );
    assert_eq!(made.code, 0, "{made:#?}");
    assert!(made.err.contains("made/then/own: The whole run takes about "), "{made:#?}");
    let again = at_home(&["reproduce", "own/paper.toml", "--from", "made/then/own", "--kit", "a.kit"]);
    desk.refused(&again, i32::from(exit::USAGE), &["a.kit already exists and is not overwritten"]);

    let schema = |name: &str| serde_json::from_str(&at_home(&["schema", name]).out).unwrap();
    let mut archive = tar::Archive::new(fs::File::open(desk.path("a.kit")).unwrap());
    let manifest = archive.entries().unwrap().next().unwrap().unwrap();
    let bundle = fs::read_dir(here.join("fsderby/guests")).unwrap().next().unwrap().unwrap().path();
    for (name, value) in [
        ("kit.json", serde_json::from_reader(manifest).unwrap()),
        ("manifest.json", serde_json::from_slice(&fs::read(bundle.join("manifest.json")).unwrap()).unwrap()),
    ] {
        let of: Result<(), _> = jsonschema::validate(&schema(name), &value);
        assert!(of.is_ok(), "{name}: {of:?}");
    }

    let other = another_build(&desk);
    let there = desk.path("there");
    fs::create_dir(&there).unwrap();
    // The runs' own folder plays no part in it.
    fs::rename(desk.path("made"), desk.path("gone")).unwrap();
    let check = |file: &str, more: &[&str]| {
        elsewhere(&desk, &other, &there, &[&["reproduce", "--check", file, "--seed", "5"], more].concat())
    };
    let said = check("a.kit", &["--key", "a.key.pub", "--share", "2", "--jobs", "2"]);
    assert_eq!(said.code, 0, "{said:#?}");
    for words in [
        "1 run packed by fsderby",
        "the signature matches",
        "1 claim, each as on the page",
        "chosen at random by --seed 5",
        "rerun: 2 identical, 0 different, 0 not comparable",
        "OK: the kit holds what it states",
    ] {
        assert!(said.out.contains(words), "'{words}' is missing: {said:#?}");
    }

    let bytes = fs::read(desk.path("a.kit")).unwrap();
    let place = |text: &[u8]| bytes.windows(text.len()).rposition(|window| window == text).unwrap();
    let mut altered = bytes.clone();
    altered[place(b"\"outcome\":\"done\"") + 12] ^= 1;
    desk.file("altered.kit", &altered);
    desk.refused(&check("altered.kit", &[]), i32::from(exit::DAMAGED), &["differs from the manifest"]);
    desk.file("cut.kit", &bytes[..bytes.len() / 2]);
    desk.refused(&check("cut.kit", &[]), i32::from(exit::DAMAGED), &["could not check the kit"]);
    assert_eq!(at_home(&["key", "b.key"]).code, 0);
    let wrong = check("a.kit", &["--key", "b.key.pub"]);
    desk.refused(&wrong, i32::from(exit::DAMAGED), &["signature does not match this key"]);
    desk.refused(&check("own/paper.toml", &[]), i32::from(exit::DAMAGED), &["is not a kit"]);
}
