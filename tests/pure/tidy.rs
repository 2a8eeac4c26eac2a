//! What must not be known, and what every file must have.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::imports::{self, Sources};
use crate::support::{project, skipped};
use fsderby::testbeds::model;
use fsderby::{filesystems, papers, probes, runner, testbeds, workloads};

const LONG: usize = 700;
const TOO_LONG: usize = 800;

/// All files below, as paths from the project's root, sorted.
fn files(below: &str, extension: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![project().join(below)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path.strip_prefix(project()).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

fn sources() -> Vec<String> {
    ["src", "crates", "tests", "benches"].iter().flat_map(|below| files(below, "rs")).collect()
}

fn text(file: &str) -> String {
    fs::read_to_string(project().join(file)).unwrap()
}

/// Numbered lines of what is compiled into the program: up to a file's own tests, and none of a file of tests.
fn program(file: &str) -> Vec<(usize, String)> {
    if is_for_tests(file) {
        return Vec::new();
    }
    let whole = text(file);
    let lines = (1..).zip(whole.lines().map(str::to_owned));
    lines
        .take_while(|(_, line)| !line.starts_with("#[cfg(test)]") || !whole.contains("mod tests {"))
        .collect()
}

/// Whether the module above declares it, or the folder that it is in, under `#[cfg(test)]`.
fn is_for_tests(file: &str) -> bool {
    let path = Path::new(file);
    let (Some(name), Some(folder)) = (path.file_stem(), path.parent()) else { return false };
    let name = name.to_string_lossy();
    let above = fs::read_to_string(project().join(folder).join("mod.rs")).unwrap_or_default();
    let lines: Vec<&str> = above.lines().collect();
    let is_declared_so = lines.windows(2).any(|pair| {
        pair[0] == "#[cfg(test)]"
            && pair[1].trim_start_matches("pub ").trim_start_matches("(crate) ") == format!("mod {name};")
    });
    is_declared_so || folder.parent().is_some() && is_for_tests(&folder.to_string_lossy())
}

/// Whether a word stands there by itself, in either case.
fn has_word(line: &str, word: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(inside) && !after.is_some_and(inside)
    })
}

/// `file:line: word`, for every one of these words in the program's lines of these files.
fn mentions<'a>(files: &[String], words: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        for (number, line) in program(file) {
            let known = words.clone().filter(|word| has_word(&line, word));
            found.extend(known.map(|word| format!("{file}:{number}: {word}")));
        }
    }
    found
}

fn kinds() -> impl Iterator<Item = &'static str> + Clone {
    // Families whose kinds have longer names.
    filesystems::TABLE.iter().map(|kind| kind.name()).chain(["ext3", "fat", "vfat", "ntfs3", "nilfs"])
}

#[test]
fn words_are_found_by_themselves_only() {
    assert!(has_word("mkfs of ext4, say", "ext4") && has_word("EXT4", "ext4"));
    assert!(!has_word("ext42", "ext4") && !has_word("my_ext4", "ext4") && !has_word("ext3-journal", "ext3"));
}

#[test]
fn no_part_but_filesystems_names_a_kind() {
    for folder in
        ["src/runner", "src/agent", "src/report", "src/analysis", "src/store", "src/probes", "src/testbeds"]
    {
        assert_eq!(mentions(&files(folder, "rs"), kinds()), Vec::<String>::new());
    }
}

#[test]
fn a_workload_knows_neither_filesystem_nor_testbed() {
    let sets = files("src/workloads", "toml");
    let files = files("src/workloads", "rs");
    assert_eq!(mentions(&files, kinds()), Vec::<String>::new());
    let in_sets = |file: &String| kinds().find(|kind| has_word(&text(file), kind));
    assert!(!sets.is_empty() && sets.iter().all(|file| in_sets(file).is_none()), "a set names a kind");
    assert_eq!(
        mentions(
            &files,
            ["crate::testbeds", "crate::filesystems", "crate::runner", "crate::agent"].into_iter()
        ),
        Vec::<String>::new()
    );
}

#[test]
fn a_filesystem_knows_no_workload_and_no_testbed() {
    // Where programs are run, engines and sets have names that are words.
    let runs_programs = |engine: &&&dyn workloads::Workload| {
        engine
            .sets()
            .iter()
            .any(|set| engine.parse(&set.file().parameters).is_ok_and(|work| work.needs().programs))
    };
    let engines = || workloads::TABLE.iter().filter(|engine| !runs_programs(engine));
    let sets = engines().flat_map(|engine| engine.sets()).map(|set| set.name);
    let engines = engines().map(|engine| engine.name());
    let parts = ["crate::workloads", "crate::testbeds", "crate::runner", "crate::agent"].into_iter();
    assert_eq!(
        mentions(&files("src/filesystems", "rs"), engines.chain(sets).chain(parts)),
        Vec::<String>::new()
    );
}

#[test]
fn every_file_with_an_implementation_has_a_row() {
    for (folder, implements) in [
        ("src/filesystems", "impl Filesystem for "),
        ("src/imports", "impl Tool for "),
        ("src/probes", "impl Probe for "),
        ("src/report/formats", "impl Format for "),
        ("src/stages", "impl StageKind for "),
        ("src/states", "impl StateKind for "),
        ("src/storage", "impl Storage for "),
        ("src/storage/layers", "impl LayerKind for "),
        ("src/testbeds", "impl TestbedKind for "),
        ("src/workloads", "impl Workload for "),
    ] {
        let table = text(&format!("{folder}/mod.rs"));
        let table =
            table.split_once("pub static TABLE").and_then(|(_, t)| t.split_once("];")).unwrap().0.to_owned();
        for file in files(folder, "rs").iter().filter(|f| text(f).contains(implements)) {
            let inside = Path::new(file).strip_prefix(folder).unwrap();
            let module = inside.with_extension("").iter().next().unwrap().to_string_lossy().into_owned();
            assert!(
                table.contains(&format!("{module}::")),
                "{file} has no row in the TABLE of {folder}/mod.rs"
            );
        }
    }
    assert!(!filesystems::TABLE.is_empty() && !probes::TABLE.is_empty() && !testbeds::TABLE.is_empty());
}

/// What each folder of the program may import of the others: what lies below it. Whoever may import a folder may import what that
/// one may.
const BELOW: &[(&str, &[&str])] = &[
    ("text", &[]),
    ("host", &[]),
    ("config", &["host"]),
    ("devices", &["host"]),
    ("filesystems", &[]),
    ("workloads", &[]),
    ("storage", &["devices"]),
    ("probes", &["storage", "host"]),
    ("guest", &["config"]),
    ("stages", &["filesystems", "host"]),
    ("agent", &["stages", "workloads", "probes", "storage"]),
    ("testbeds", &["agent", "guest"]),
    ("dropins", &["workloads", "host"]),
    ("store", &["host"]),
    ("analysis", &["store", "filesystems", "workloads", "probes"]),
    ("papers", &["filesystems", "workloads", "host"]),
    ("imports", &["workloads", "store"]),
    ("states", &["workloads"]),
    ("runner", &["testbeds", "analysis", "states"]),
    ("report", &["runner", "papers", "imports"]),
    ("cli", &["report", "dropins"]),
];
/// Leaves that everybody may import.
const LEAVES: [&str; 4] = ["schema", "exit", "text", "version"];

fn may_import(folder: &str) -> BTreeSet<&'static str> {
    let own = BELOW.iter().find(|(name, _)| *name == folder).map_or(&[][..], |(_, below)| below);
    own.iter().flat_map(|below| may_import(below).into_iter().chain([*below])).collect()
}

/// Of `a::b`, `a`; of `{a::b, c}`, both.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    match path.strip_prefix('{') {
        None => vec![name(path)],
        Some(list) => list.split_once('}').map_or(list, |(inside, _)| inside).split(',').map(name).collect(),
    }
}

#[test]
fn imports_go_downwards_only() {
    let mut found = Vec::new();
    for (folder, _) in BELOW {
        let below = may_import(folder);
        for file in files(&format!("src/{folder}"), "rs") {
            for (number, line) in program(&file) {
                for used in line.split("crate::").skip(1).flat_map(first_names) {
                    let is_known = BELOW.iter().any(|(name, _)| *name == used);
                    let is_leaf = LEAVES.contains(&used.as_str());
                    if is_known && !is_leaf && used != *folder && !below.contains(used.as_str()) {
                        found.push(format!("{file}:{number}: {used}"));
                    }
                    assert!(
                        is_known || is_leaf || used.starts_with(char::is_uppercase),
                        "{file}:{number}: nothing says who may import {used}"
                    );
                }
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    let folders = fs::read_dir(project().join("src")).unwrap().flatten().filter(|e| e.path().is_dir());
    assert!(folders.count() == BELOW.len(), "a folder has no place in the order of imports");
}

/// The rooms of `src/runner` in the order of its `mod.rs`: what each may import of the others.
const ROOMS: &[(&str, &[&str])] = &[
    ("plan", &[]),
    ("preflight", &["plan"]),
    ("experiment", &["preflight", "plan"]),
    ("execute", &["preflight", "plan"]),
    ("verify", &["execute", "preflight", "plan"]),
    ("merge", &["execute", "preflight", "plan"]),
];

#[test]
fn the_runners_rooms_import_what_comes_before_them() {
    let mut found = Vec::new();
    for (room, before) in ROOMS {
        for file in files(&format!("src/runner/{room}"), "rs") {
            for (number, line) in program(&file) {
                for used in line.split("runner::").skip(1).flat_map(first_names) {
                    let is_room = ROOMS.iter().any(|(name, _)| *name == used);
                    assert!(is_room, "{file}:{number}: {used} is no room of the runner");
                    if used != *room && !before.contains(&used.as_str()) {
                        found.push(format!("{file}:{number}: {used}"));
                    }
                }
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    let folders = fs::read_dir(project().join("src/runner")).unwrap().flatten();
    let rooms: BTreeSet<String> =
        folders.filter(|e| e.path().is_dir()).map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(rooms, ROOMS.iter().map(|(name, _)| (*name).to_owned()).collect());
}

#[test]
fn no_file_stands_in_a_circle_of_imports() {
    let files = ["src", "crates"].iter().flat_map(|below| files(below, "rs"));
    let lines = |file: &str| program(file).into_iter().map(|(_, line)| line + "\n").collect::<String>();
    let sources = Sources(files.map(|file| (file.clone(), lines(&file))).collect());
    assert_eq!(imports::circles(&sources), Vec::<Vec<String>>::new());
}

#[test]
fn a_circle_of_imports_is_found_and_a_table_of_children_is_none() {
    let circles = |files: &[(&str, &str)]| {
        imports::circles(&Sources(files.iter().map(|(f, t)| ((*f).into(), (*t).into())).collect()))
    };
    let table = [
        (
            "src/a/mod.rs",
            "mod b;\nmod c;\npub use b::{B, inner::{self as within}};\nstatic T: &[&dyn X] = &[&c::C];\n",
        ),
        ("src/a/b.rs", "use super::X;\n"),
        ("src/a/c.rs", "use super::{\n    B,\n    X,\n};\nuse std::io;\n"),
    ];
    assert_eq!(circles(&table), Vec::<Vec<String>>::new());
    let [b, c] = ["src/a/b.rs", "src/a/c.rs"];
    let round = [table[0], (b, "use crate::a::c::C;\n"), (c, "use super::B;\n")];
    assert_eq!(circles(&round), [vec![b.to_owned(), c.to_owned()]]);
    let written_out =
        [table[0], (b, "fn f() {\n    super::c::g();\n}\n"), (c, "fn g(b: crate::a::b::B) {}\n")];
    assert_eq!(circles(&written_out), [vec![b.to_owned(), c.to_owned()]]);
    let own = [table[0], (b, "pub(crate) use super::c::{self, C as D};\n"), (c, "use fsderby_b::B;\n")];
    assert_eq!(circles(&own), Vec::<Vec<String>>::new());
}

/// Elsewhere a text that names nothing could become a shorter trial, where it is an error.
#[test]
fn texts_of_a_plan_are_understood_in_one_place() {
    let of_texts =
        ["workloads::parsed(", "layers::parse(", "testbeds::parse(", "stages::find(", "states::parse("];
    let of_texts = of_texts.iter().chain(&["Place::parse(", "Place::asked("]);
    // What takes an experiment's texts, of which a testbed is made before there is a plan.
    let allowed = [("src/runner/experiment/crossing.rs", "testbeds::parse(")];
    // An experiment has no plan yet, an engine names stages of its own, and two runs are compared before their plans are resolved.
    let may_ask = [
        "experiment/mod",
        "experiment/options/rounds",
        "experiment/planned",
        "experiment/scaled",
        "plan/resolved",
        "plan/scenarios",
        "verify/comparable",
    ]
    .map(|of| format!("src/runner/{of}.rs"));
    let mut found = Vec::new();
    for file in files("src/runner", "rs").into_iter().filter(|file| file != "src/runner/plan/values.rs") {
        for (number, line) in program(&file) {
            let is_allowed = |of: &str| allowed.iter().any(|(f, a)| *f == file && *a == of);
            let understands = of_texts.clone().any(|of| line.contains(of) && !is_allowed(of));
            if understands || line.contains("values::") && !may_ask.contains(&file) {
                found.push(format!("{file}:{number}: {}", line.trim()));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

/// Measuring code tells by events; only the agent's last words, and a worker's first and that it is over, go to its own streams.
#[test]
fn measuring_code_prints_nothing() {
    let allowed = [
        ("src/agent/supervisor.rs", "eprintln!(\"the agent could not continue"),
        ("src/agent/supervisor.rs", "eprintln!(\"could not kill the agent"),
        ("src/agent/worker.rs", "println!(\"{READY}\")"),
        ("src/agent/worker.rs", "println!(\"{OVER}\")"),
    ];
    let mut found = Vec::new();
    for file in ["src/agent", "src/runner", "src/probes", "src/testbeds", "src/workloads"]
        .iter()
        .flat_map(|f| files(f, "rs"))
    {
        for (number, line) in program(&file) {
            let prints = line.contains("print!(") || line.contains("println!(") || line.contains("dbg!(");
            if prints && !allowed.iter().any(|(f, l)| *f == file && line.contains(l)) {
                found.push(format!("{file}:{number}: {}", line.trim()));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

/// What lies below a run's folder is reached through its door, which takes no path that leads out.
#[test]
fn a_runs_folder_is_opened_by_its_door_alone() {
    let before_there_is_a_run = [
        ("src/store/folder.rs", "fs::create_dir_all(parent)"),
        ("src/store/folder.rs", "fs::remove_dir(p)"),
        ("src/store/merge.rs", "std::fs::create_dir_all(parent)"),
        ("src/store/mod.rs", "File::open(folder)"),
    ];
    let mut found = Vec::new();
    for file in ["src/store", "src/analysis", "src/report"].iter().flat_map(|below| files(below, "rs")) {
        // A key lies in no run's folder.
        let may_open = ["door", "keys", "unready", "unnamed"].map(|name| format!("src/store/{name}.rs"));
        if may_open.contains(&file) || file.contains("/examples/") {
            continue;
        }
        for (number, line) in program(&file).into_iter().filter(|(_, line)| !line.starts_with("use ")) {
            let opens = ["fs::", "File::", "OpenOptions::"].iter().any(|way| line.contains(way));
            if opens && !before_there_is_a_run.iter().any(|(f, l)| *f == file && line.contains(l)) {
                found.push(format!("{file}:{number}: {}", line.trim()));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

/// `println!` panics where nobody reads on.
#[test]
fn commands_print_through_what_bears_a_broken_pipe() {
    let files = files("src/cli", "rs");
    let prints = |line: &str| line.contains("println!(") || line.contains("print!(");
    let found: Vec<String> =
        files.into_iter().filter(|f| program(f).iter().any(|(_, l)| prints(l))).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_source_begins_with_what_it_is_for_and_is_not_too_long() {
    for file in sources() {
        let text = text(&file);
        assert!(text.starts_with("//! "), "{file} does not begin with //!");
        let length = text.lines().count();
        assert!(length <= TOO_LONG, "{file} has {length} lines");
        if length > LONG {
            eprintln!("{file} has {length} lines, which is long");
        }
    }
}

#[test]
fn no_test_is_ignored_and_unsafe_stands_in_one_crate() {
    let ignore = ["#[ig", "nore"].concat();
    let unsafes = ["{", "fn", "impl", "extern"].map(|what| ["uns", "afe ", what].concat());
    for file in sources() {
        let text = text(&file);
        assert!(!text.contains(&ignore), "{file} ignores a test");
        let has_unsafe = unsafes.iter().any(|u| text.contains(u));
        assert!(!has_unsafe || file.starts_with("crates/sys/"), "{file} has unsafe code");
    }
}

#[test]
fn each_dependency_says_why_it_is_there() {
    let manifest = text("Cargo.toml");
    let mut within = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            within = line.contains("dependencies");
        } else if within && line.contains(" = ") && !line.starts_with('#') {
            assert!(line.contains(" # "), "no reason given: {line}");
        }
    }
}

#[test]
fn every_experiment_is_shipped_and_parses() {
    let mut names = Vec::new();
    for file in files("experiments", "toml") {
        let name = Path::new(&file).file_stem().unwrap().to_string_lossy().into_owned();
        let shipped = runner::experiment::SHIPPED.iter().find(|(n, _)| *n == name);
        let (_, shipped) = shipped.unwrap_or_else(|| panic!("{file} is not in SHIPPED"));
        assert_eq!(*shipped, text(&file));
        let experiment = runner::experiment::Experiment::parse(shipped, &file).unwrap();
        assert!(!experiment.analysis.trim().is_empty(), "{file} does not say what it is for");
        experiment.plan("loop".into(), 1).unwrap();
        names.push(name);
    }
    assert_eq!(names.len(), runner::experiment::SHIPPED.len());
}

#[test]
fn every_profile_of_needs_is_shipped_and_parses() {
    let shipped = runner::experiment::profiles::TABLE;
    for file in files("profiles", "toml") {
        let name = Path::new(&file).file_stem().unwrap().to_string_lossy().into_owned();
        let row = shipped.iter().find(|(n, _)| *n == name);
        let (_, text_of_row) =
            row.unwrap_or_else(|| panic!("{file} is not in the TABLE of src/runner/experiment/profiles.rs"));
        assert_eq!(*text_of_row, text(&file));
        runner::experiment::profiles::find(&name).unwrap();
    }
    assert_eq!(files("profiles", "toml").len(), shipped.len());
}

#[test]
fn every_era_is_shipped() {
    let shipped = runner::experiment::eras::TABLE;
    for file in files("eras", "toml") {
        let name = Path::new(&file).file_stem().unwrap().to_string_lossy().into_owned();
        let row = shipped.iter().find(|(n, _)| *n == name);
        let (_, text_of_row) =
            row.unwrap_or_else(|| panic!("{file} is not in the TABLE of src/runner/experiment/eras.rs"));
        assert_eq!(*text_of_row, text(&file));
    }
    assert_eq!(files("eras", "toml").len(), shipped.len());
}

#[test]
fn every_machine_is_shipped_and_every_disk_names_one() {
    let rows = model::machines::TABLE;
    for file in files("machines", "toml") {
        let name = Path::new(&file).file_stem().unwrap().to_string_lossy().into_owned();
        let row = rows.iter().find(|(n, _)| *n == name);
        let (_, text_of_row) =
            row.unwrap_or_else(|| panic!("{file} is not in the TABLE of src/testbeds/model/machines.rs"));
        assert_eq!(*text_of_row, text(&file));
        assert_eq!(model::machines::Machine::parse(text_of_row).unwrap().name, name);
    }
    assert_eq!(files("machines", "toml").len(), rows.len());
    for (name, disk) in model::disks::TABLE {
        let disk = model::disks::Spec::parse(disk).unwrap();
        let machine = disk.machine().unwrap_or_else(|| panic!("disks/{name}.toml names no machine"));
        assert!(rows.iter().any(|(name, _)| *name == machine), "{name} stands in {machine}");
    }
}

#[test]
fn every_paper_is_shipped_and_parses() {
    for file in files("papers", "toml") {
        let name = Path::new(&file).file_stem().unwrap().to_string_lossy().into_owned();
        let shipped = papers::TABLE.iter().find(|(n, _)| *n == name);
        let (_, shipped) =
            shipped.unwrap_or_else(|| panic!("{file} is not in the TABLE of src/papers/mod.rs"));
        assert_eq!(*shipped, text(&file));
        assert!(papers::find(&name).is_some_and(|paper| !paper.story.trim().is_empty()), "{file}");
    }
    assert_eq!(files("papers", "toml").len(), papers::TABLE.len());
}

#[test]
fn each_exit_code_has_one_meaning() {
    let constants = text("src/exit.rs").lines().filter(|line| line.starts_with("pub const ")).count();
    let codes: BTreeSet<u8> = fsderby::exit::MEANINGS.iter().map(|(code, _)| *code).collect();
    assert_eq!((codes.len(), fsderby::exit::MEANINGS.len()), (constants, constants));
}

/// A file of the project speaks of the project alone, and of no place that only one machine has.
#[test]
fn no_file_names_a_place_of_one_machine() {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(project()).output();
    let Some(listed) = listed.ok().filter(|o| o.status.success()) else {
        return skipped("names of places", "this is no clone");
    };
    let places = [["/wo", "rk/"], ["sha", "red/"], ["/ho", "me/"], ["/tmp", "/wt"], ["crates", ".io"]];
    let places = places.map(|parts| parts.concat());
    for file in
        String::from_utf8(listed.stdout).unwrap().split('\0').filter(|f| !f.is_empty() && *f != "Cargo.lock")
    {
        let text = String::from_utf8_lossy(&fs::read(project().join(file)).unwrap_or_default()).into_owned();
        let found = (1..).zip(text.lines()).find(|(_, line)| places.iter().any(|place| line.contains(place)));
        assert!(found.is_none(), "{file}: {found:?}");
    }
}
