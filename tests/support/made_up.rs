//! One new file and one row, with a `mod` line for what is a program: nothing else adds anything that has a table.
//!
//! The listings of [`PAGES`], as they stand there, go into one copy of the project; it is built, and the commands that prove
//! them (blocks marked `sh made-up`) are run in it as they are written. The copy and its build stay in the target folder, below
//! the project's own `.cargo`, and share its built libraries: a build takes seconds, not minutes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::documents::{self, Block};
use super::quiet::has_guests;
use super::{has_loop, project, skipped};
use fsderby::exit;
use fsderby::host::programs;
use fsderby::schema::reason::Outcome;
use fsderby::schema::record::Record;
use fsderby::store;

/// Files by their path in the project.
type Tree = BTreeMap<PathBuf, Vec<u8>>;

/// Commands of the second look at what those of the first have added.
const PAGES: [&str; 2] = ["CONTRIBUTING.md", "docs/adding.md"];

/// What is added, and the table that has its row.
const ADDED: [(&str, &str); 14] = [
    ("src/filesystems/tinyfs.rs", "src/filesystems/mod.rs"),
    ("src/workloads/touch.rs", "src/workloads/mod.rs"),
    ("src/probes/interrupts.rs", "src/probes/mod.rs"),
    ("src/storage/shm.rs", "src/storage/mod.rs"),
    ("src/storage/layers/linear.rs", "src/storage/layers/mod.rs"),
    ("src/stages/pause.rs", "src/stages/mod.rs"),
    ("src/states/littered.rs", "src/states/mod.rs"),
    ("src/testbeds/shm.rs", "src/testbeds/mod.rs"),
    ("src/report/formats/outcomes.rs", "src/report/formats/mod.rs"),
    ("experiments/touch-shm.toml", "src/runner/experiment/mod.rs"),
    ("disks/made-up-volume.toml", "crates/diskmodel/src/shipped.rs"),
    ("machines/made-up-board.toml", "src/testbeds/model/machines.rs"),
    ("papers/made-up.toml", "src/papers/mod.rs"),
    ("profiles/archive.toml", "src/runner/experiment/profiles.rs"),
];

/// The files that a made-up option touches, at most five, and the lines that each gets.
const OPTION: [(&str, usize); 5] = [
    ("crates/schema/src/plan.rs", 3),
    ("docs/reference/experiment.md", 1),
    ("src/runner/experiment/mod.rs", 1),
    ("src/runner/experiment/options/trial.rs", 19),
    ("src/runner/plan/steps.rs", 1),
];

/// The listings fit into the project as it is now, and add a file and a row each. Nothing is built.
pub fn is_a_file_and_a_row_each() {
    with_the_listings(&blocks());
}

/// All that is made up, added, built and proved.
pub fn works() {
    let blocks = blocks();
    let after = with_the_listings(&blocks);
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("made-up");
    fs::create_dir_all(&place).unwrap();
    let lock = File::create(place.join("lock")).unwrap();
    lock.lock().unwrap();
    let copy = Copy { project: place.join("project"), target: place.join("target") };
    copy.become_like(&after);
    copy.share_libraries();
    copy.is_formatted();
    copy.sh("cargo build --offline --locked --quiet");
    let listed =
        ["tinyfs", "touch-quick", "interrupts", "linear", "pause", "littered", "touch-shm", "made-up-volume"];
    copy.fsderby("list").contains(&listed);
    copy.fsderby("run --help").contains(&["`shm`", "--settles <N>"]);
    // Where there is no kernel to boot, nothing can take part. A disk that is not known ends with another code.
    copy.fsderby(&format!("run --on model:made-up-volume --dry-run || [ $? = {} ]", exit::MISSING));

    let loops = has_loop("the made-up filesystem on the testbed loop");
    let lines = blocks.iter().filter(|b| b.info == "sh made-up").flat_map(|b| b.text.lines());
    for line in lines {
        let needs_loop = line.contains(" run quick ");
        match line.split(' ').find(|word| word.starts_with("results/")) {
            Some(_) if needs_loop && !loops => drop(copy.sh(&format!("{line} --dry-run"))),
            Some(folder) if !line.contains("--output") && !copy.project.join(folder).exists() => {
                skipped(line, "there is no run to look at");
            }
            _ => drop(copy.sh(line)),
        }
    }
    if has_guests("the made-up layer") && programs::find("dmsetup").is_some() {
        let small = "--filesystems ext4 --workloads postmark-quick --scale 1/64 --size 64m --memory 64m --rounds 1 --seed 3";
        copy.fsderby(&format!("run quick --on vm --layer linear {small} --quiet --output results/linear"));
        copy.compared("results/linear", "ext4", "postmark-quick", "device.writes");
    }
    copy.compared("results/touch-shm", "tmpfs, as mounted", "touch-quick", "interrupts.machine");
    copy.settled("results/settled", 3);
    copy.fsderby("report results/touch-shm --outcomes").contains(&["touch-quick/tmpfs, as mounted done"]);
    if loops {
        copy.compared("results/tinyfs", "tinyfs", "postmark-quick", "transactions.rate");
        copy.compared("results/touch", "ext2", "touch-quick", "touch.rate");
        copy.fsderby("report results/paper")
            .contains(&["comparison with the published figures", "Empty files compared"]);
    }
}

fn blocks() -> Vec<Block> {
    PAGES.iter().flat_map(|page| documents::document(page).blocks).collect()
}

/// The project with what the listings add, and nothing else.
fn with_the_listings(blocks: &[Block]) -> Tree {
    let before = tree(&project());
    let after = added(&before, blocks);
    nothing_else_differs(&before, &after);
    after
}

/// Everything that is not made by building or running.
fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            let inside = path.strip_prefix(root).unwrap().to_owned();
            let left_out = [".git", ".cargo", "results"].iter().any(|name| inside.starts_with(name));
            if left_out || path.join("CACHEDIR.TAG").exists() {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                tree.insert(inside, fs::read(&path).unwrap());
            }
        }
    }
    tree
}

/// The tree with what the listings add.
fn added(before: &Tree, blocks: &[Block]) -> Tree {
    let mut after = before.clone();
    for block in blocks {
        if let Some(path) = block.title("rust").or_else(|| block.title("toml")) {
            let is_new = after.insert(path.into(), block.text.clone().into_bytes()).is_none();
            assert!(is_new, "{}: {path} is there already", block.place);
        }
        if let Some(path) = block.title("diff") {
            let text = String::from_utf8(after[Path::new(path)].clone()).unwrap();
            after.insert(path.into(), insert(&text, block).into_bytes());
        }
    }
    after
}

/// Puts each line that begins with `+` behind the line that stands before it in the block.
fn insert(text: &str, block: &Block) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let mut behind = None;
    for line in block.text.lines() {
        if let Some(new) = line.strip_prefix('+') {
            let at: usize = behind.unwrap_or_else(|| panic!("{}: behind which line?", block.place)) + 1;
            lines.insert(at, new);
            behind = Some(at);
        } else {
            let context = line.strip_prefix(' ').unwrap_or(line);
            let mut places = lines.iter().enumerate().filter(|(_, l)| **l == context).map(|(i, _)| i);
            behind = places.next();
            assert!(behind.is_some() && places.next().is_none(), "{}: not once: '{context}'", block.place);
        }
    }
    lines.join("\n") + "\n"
}

fn nothing_else_differs(before: &Tree, after: &Tree) {
    let new: Vec<&PathBuf> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    let mut wanted = ADDED;
    wanted.sort_unstable();
    assert_eq!(new, wanted.map(|(file, _)| Path::new(file)).to_vec());
    let changed: Vec<&PathBuf> =
        before.iter().filter(|(path, bytes)| after[*path] != **bytes).map(|(path, _)| path).collect();
    // A row, and the mod line of what is a program.
    let rows = ADDED.map(|(file, table)| (table, if file.ends_with(".rs") { 2 } else { 1 }));
    let mut lines = BTreeMap::<&Path, usize>::new();
    for (file, more) in rows.into_iter().chain(OPTION) {
        *lines.entry(Path::new(file)).or_default() += more;
    }
    let count = |tree: &Tree, path: &Path| String::from_utf8_lossy(&tree[path]).lines().count();
    let is = changed.iter().map(|path| (path.as_path(), count(after, path) - count(before, path)));
    assert_eq!(is.collect::<BTreeMap<_, _>>(), lines);
}

struct Copy {
    project: PathBuf,
    target: PathBuf,
}

impl Copy {
    /// Only what differs is written, so that cargo builds again only what is changed.
    fn become_like(&self, wanted: &Tree) {
        let results = self.project.join("results");
        if results.exists() {
            fs::remove_dir_all(results).unwrap();
        }
        fs::create_dir_all(&self.project).unwrap();
        let there = tree(&self.project);
        for path in there.keys().filter(|path| !wanted.contains_key(*path)) {
            fs::remove_file(self.project.join(path)).unwrap();
        }
        for (path, bytes) in wanted.iter().filter(|(path, bytes)| there.get(*path) != Some(bytes)) {
            let to = self.project.join(path);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            // A copy keeps the right to be executed.
            match project().join(path) {
                from if from.exists() => drop(fs::copy(from, &to).unwrap()),
                _ => {}
            }
            fs::write(to, bytes).unwrap();
        }
    }

    /// Links what cargo has built of others' libraries, so that it need not be built again. Where that fails, cargo builds.
    fn share_libraries(&self) {
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let (Some(above), Some(triple)) = (built.parent(), built.file_name()) else { return };
        if self.target.exists() {
            return;
        }
        for part in ["deps", "build", ".fingerprint"].map(|part| Path::new("debug").join(part)) {
            link_all(&built.join(&part), &self.target.join(triple).join(&part));
            link_all(&above.join(&part), &self.target.join(&part));
        }
    }

    fn is_formatted(&self) {
        let mut rustfmt = Command::new("rustfmt");
        let programs = ADDED.iter().map(|(file, _)| *file).filter(|file| file.ends_with(".rs"));
        rustfmt.args(["--edition", "2024", "--check"]).args(programs).current_dir(&self.project);
        match rustfmt.output() {
            Err(e) => skipped("the listings' format", &format!("rustfmt: {e}")),
            Ok(output) => assert!(output.status.success(), "{}", said(&output)),
        }
    }

    /// Runs a line, which must end well.
    fn sh(&self, line: &str) -> Said {
        let cargo = Path::new(env!("CARGO")).parent().unwrap();
        let path = format!("{}:{}", cargo.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(&self.project).env("PATH", path).env("NO_COLOR", "1");
        shell.env("CARGO_TARGET_DIR", &self.target).env("CARGO_NET_OFFLINE", "true");
        // Built once and never debugged.
        shell.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
        // What it makes up, and none of the others again.
        shell.env("FSDERBY_KIND", "tinyfs");
        let output = shell.output().unwrap();
        assert!(output.status.success(), "'{line}' ended with {}:\n{}", output.status, said(&output));
        Said(said(&output))
    }

    fn fsderby(&self, arguments: &str) -> Said {
        self.sh(&format!("cargo run --offline --locked --quiet -- {arguments}"))
    }

    /// Every trial waited so many times, and the run says so. Its plan and records are read as text: this test's own program knows
    /// no such option.
    fn settled(&self, folder: &str, times: usize) {
        let text = |file: &str| fs::read_to_string(self.project.join(folder).join(file)).unwrap();
        let waits = |record: &str| record.matches(r#""step":"settle""#).count();
        let waited: Vec<usize> = text("trials.jsonl").lines().map(waits).collect();
        // A scenario whose first stage makes no measured work waits behind it too.
        let is_settled = |waits: &usize| *waits > 0 && waits.is_multiple_of(times);
        assert!(!waited.is_empty() && waited.iter().all(is_settled), "{waited:?}");
        for said in [format!("settles = {times}"), "with other waits for the disk".to_owned()] {
            assert!(text("plan.toml").contains(&said), "{said}");
        }
        self.fsderby(&format!("report {folder} --json")).contains(&[&format!("--settles {times}")]);
        let refused = format!("run --resume {folder} --settles 2 || [ $? = {} ]", exit::USAGE);
        self.fsderby(&refused).contains(&["cannot be used with"]);
    }

    /// All trials were done, and the filesystem has a headline figure and this metric.
    fn compared(&self, folder: &str, filesystem: &str, workload: &str, metric: &str) {
        let run = store::read(&self.project.join(folder)).unwrap();
        let current = run.current();
        assert!(current.iter().all(|r| r.outcome == Outcome::Done), "{folder}");
        let is_wanted = |r: &&&Record| r.round == 1 && r.filesystem == filesystem && r.scenario == workload;
        let measured = current.iter().find(is_wanted).unwrap();
        assert!(measured.metrics.iter().any(|m| m.headline && m.value > 0.0), "{folder}");
        assert!(measured.metrics.iter().any(|m| m.name == metric && m.value > 0.0), "{folder}: {metric}");
    }
}

/// Hard links keep the times by which cargo sees that nothing changed. What is ours is left out: the copy has its own.
fn link_all(from: &Path, to: &Path) {
    let _ = fs::create_dir_all(to);
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().trim_start_matches("lib").starts_with("fsderby") {
            continue;
        }
        if entry.path().is_dir() {
            link_all(&entry.path(), &to.join(name));
        } else {
            let _ = fs::hard_link(entry.path(), to.join(name));
        }
    }
}

struct Said(String);

impl Said {
    fn contains(&self, words: &[&str]) {
        for word in words {
            assert!(self.0.contains(word), "'{word}' does not stand in:\n{}", self.0);
        }
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()).into_owned()
}
