//! The engines of a file server's tasks, of sparse files, backups, news and sources, by themselves: what they do, find again, promise and do
//! not let pass; and on real filesystems.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use crate::support::desk::Desk;
use crate::support::has_loop;
use fsderby::schema::event::Phase;
use fsderby::schema::job::Portion;
use fsderby::schema::reason::Outcome;
use fsderby::schema::work::{Kind, LiveFile};
use fsderby::store;
use fsderby::workloads::{self, Clock, Histogram, Log, OpError, Progress, Ready, SOURCE, Work};
use fsderby_sys::shared::SharedProgress;

const SIZES: &str = "sizes = [{ up_to = '1k', weight = 1 }, { up_to = '300k', weight = 2 }]";
const SEED: u64 = 11;

/// Each engine, small, with all that it promises.
const WORKS: [(&str, &str); 5] = [
    ("tasks", "image = '500k'\nfiles = 12\nfolders = 5\ndeepest = 3\nsync_each = true"),
    ("sparse-files", "files = 3\nlength = '1m'\npieces = 3\npiece = '20k'\nfsync = true"),
    ("backup", "files = 9\nfolders = 4\ndeepest = 3\nupdates = 3\nchanged_permille = 250\nfsync = true"),
    ("news", "articles = 9\ngroups = 4\ndeepest = 3\nexpire_percent = 50\nfsync = true"),
    ("sources", "files = 9\nfolders = 4\ndeepest = 3\nfsync = true"),
];

fn work(at: usize) -> Box<dyn Work> {
    let (engine, own) = WORKS[at];
    let text = if engine == "sparse-files" { own.to_owned() } else { format!("{own}\n{SIZES}") };
    workloads::engine(engine).unwrap().parse(&text.parse().unwrap()).unwrap()
}

/// A microsecond passes between two looks.
struct Made(Cell<u64>);

impl Clock for Made {
    fn now_ns(&self) -> u64 {
        self.0.set(self.0.get() + 1000);
        self.0.get()
    }
}

struct Recorded {
    phases: Vec<Phase>,
    latencies: u64,
    finished: bool,
    progress: SharedProgress,
}

impl Recorded {
    fn count(&self, name: &str) -> u64 {
        self.phases.iter().map(|phase| phase.count(name)).sum()
    }
}

impl Log for Recorded {
    fn phase(&mut self, phase: Phase) {
        self.phases.push(phase);
    }
    fn histogram(&mut self, _: &'static str, _: &str, latencies: &Histogram) {
        self.latencies += latencies.len();
    }
    fn progress(&self) -> &Progress {
        &self.progress
    }
    fn finished(&mut self) {
        self.finished = true;
    }
}

/// A place to work in, and the second disk where there is one to copy from.
struct Place {
    place: tempfile::TempDir,
    source: Option<tempfile::TempDir>,
}

/// The work is done in the current folder, of which a process has only one.
fn inside(act: impl FnOnce()) {
    static ONE: Mutex<()> = Mutex::new(());
    let _guard = ONE.lock().unwrap_or_else(|broken| broken.into_inner());
    act();
    std::env::set_current_dir("/").unwrap();
}

impl Place {
    fn new(work: &dyn Work) -> Self {
        let place = tempfile::tempdir().unwrap();
        let source = work.needs().source.then(|| {
            let source = tempfile::tempdir().unwrap();
            std::env::set_current_dir(source.path()).unwrap();
            let mut filler = work.prepare(SEED, &Portion::part(SOURCE)).unwrap();
            filler.run(&Made(Cell::new(0)), &mut heard()).unwrap();
            source
        });
        Place { place, source }
    }

    fn run(&self, work: &dyn Work, portion: &Portion) -> Result<(Recorded, Box<dyn Ready>), OpError> {
        std::env::set_current_dir(self.place.path()).unwrap();
        let mut heard = heard();
        let mut ready = work.prepare(SEED, portion).unwrap();
        if let Some(source) = &self.source {
            ready.take_source(File::open(source.path()).unwrap().into());
        }
        ready.run(&Made(Cell::new(0)), &mut heard)?;
        let (done, total) = (heard.progress.done.load(Relaxed), heard.progress.total.load(Relaxed));
        assert_eq!((done, heard.finished), (total, true), "{portion:?}");
        Ok((heard, ready))
    }

    /// Every file and folder below, without the folder itself.
    fn found(&self) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        let mut folders = vec![self.place.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path.clone());
                }
                found.insert(path.strip_prefix(self.place.path()).unwrap().to_owned());
            }
        }
        found
    }

    fn has(&self, said: &LiveFile) {
        let path = self.place.path().join(&said.path);
        if said.kind == Kind::Folder {
            return assert!(path.is_dir(), "{}", path.display());
        }
        let content = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let seen = (content.len() as u64, crc32fast::hash(&content));
        assert_eq!(seen, (said.bytes, said.crc32), "{}", path.display());
    }
}

fn heard() -> Recorded {
    Recorded { phases: Vec::new(), latencies: 0, finished: false, progress: SharedProgress::new().unwrap() }
}

#[test]
fn what_is_done_is_what_was_said_to_be_done() {
    inside(|| {
        for (at, (engine, _)) in WORKS.into_iter().enumerate() {
            let work = work(at);
            let place = Place::new(&*work);
            let (heard, _) = place.run(&*work, &Portion::WHOLE).unwrap();
            assert_eq!(heard.progress.done.load(Relaxed), work.operations(), "{engine}");
            let amount = work.amount(SEED);
            // A listing has lines of some length, which nobody knows before.
            let listing =
                heard.phases.iter().find(|p| p.name == "list").map_or(0, |p| p.count("bytes_written"));
            let written = heard.count("bytes_written") - listing;
            // The copy of a sparse file finds its pieces in whole blocks of the filesystem.
            let pieces = if engine == "sparse-files" { 2 * 3 * 3 * 20 * 1024 } else { amount.bytes_written };
            assert!(written >= pieces && amount.bytes_written == pieces, "{engine}: {written}");
            if engine != "sparse-files" {
                assert_eq!(
                    (heard.count("bytes_read"), written),
                    (amount.bytes_read, amount.bytes_written),
                    "{engine}"
                );
            }
            let timed = workloads::engine(engine).unwrap();
            for phase in &heard.phases {
                for (_, count) in timed.timed(&phase.name) {
                    assert!(phase.count(count) > 0, "{engine}: {} has no {count}", phase.name);
                }
            }
            let metrics = work.metrics(&heard.phases);
            assert!(metrics.iter().any(|metric| metric.headline && metric.value > 0.0), "{engine}");
        }
    });
}

#[test]
fn what_lives_is_what_is_there_and_nothing_else() {
    inside(|| {
        for (at, (engine, _)) in WORKS.into_iter().enumerate() {
            let work = work(at);
            let place = Place::new(&*work);
            let (_, ready) = place.run(&*work, &Portion::KEEP_FILES).unwrap();
            let live = ready.live();
            live.iter().for_each(|said| place.has(said));
            let said: BTreeSet<PathBuf> = live.into_iter().map(|said| said.path).collect();
            assert_eq!(place.found(), said, "{engine}");
        }
    });
}

/// Stopped after each of its operations, as a power cut does: all that is promised is there, and it is what it was.
#[test]
fn what_is_promised_at_every_moment_is_there() {
    inside(|| {
        for (at, (engine, _)) in WORKS.into_iter().enumerate() {
            let work = work(at);
            let mut most = 0;
            for operations in 1..=work.operations() {
                let place = Place::new(&*work);
                let (heard, _) = place.run(&*work, &Portion::stop_after(operations)).unwrap();
                assert_eq!(heard.progress.done.load(Relaxed), operations, "{engine}");
                let durable = work.durable(SEED, operations);
                assert!(durable.named, "{engine}");
                durable.files.iter().for_each(|said| place.has(said));
                most = most.max(durable.files.len());
                // In which order a tree is deleted is the filesystem's own.
                let deletes = engine == "sources" && durable.files.is_empty() && most > 0;
                if engine != "tasks" && !deletes {
                    let files =
                        place.found().into_iter().filter(|path| place.place.path().join(path).is_file());
                    assert_eq!(files.count(), durable.files.len(), "{engine}: each one is promised at once");
                }
            }
            assert!(most > 2, "{engine} promises little");
        }
    });
}

#[test]
fn without_a_sync_nothing_is_promised() {
    for (engine, own) in WORKS {
        let own = own.replace("= true", "= false");
        let text = if engine == "sparse-files" { own } else { format!("{own}\n{SIZES}") };
        let work = workloads::engine(engine).unwrap().parse(&text.parse().unwrap()).unwrap();
        assert_eq!(work.durable(SEED, work.operations() / 2).files, Vec::new(), "{engine}");
    }
}

/// One byte of a stamp, in the middle of a file.
fn alter(path: &Path, at: u64) {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
}

#[test]
fn what_comes_from_the_second_disk_is_looked_at() {
    inside(|| {
        let work = work(0);
        for (path, at) in [("image", 2 * 128 * 1024), ("tree", 0)] {
            let place = Place::new(&*work);
            let source = place.source.as_ref().unwrap().path().join(path);
            let altered = if path == "tree" { first_file(&source) } else { source };
            alter(&altered, at);
            let failed = place.run(&*work, &Portion::WHOLE).err().unwrap().to_string();
            assert!(failed.contains("the content differs from what was written"), "{failed}");
        }
        let place = Place::new(&*work);
        fs::remove_file(first_file(&place.source.as_ref().unwrap().path().join("tree"))).unwrap();
        let failed = place.run(&*work, &Portion::WHOLE).err().unwrap().to_string();
        assert!(failed.contains("11 files, but 12 were created"), "{failed}");
    });
}

fn first_file(folder: &Path) -> PathBuf {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                return path;
            }
            folders.push(path);
        }
    }
    panic!("there is no file below {}", folder.display());
}

#[test]
fn without_a_second_disk_the_tasks_say_so_before_anything_runs() {
    let desk = Desk::new();
    let on = format!("directory:{}", desk.images().display());
    let said = desk.say(&["run", "quick", "--on", &on, "--workloads", "fileserver-2006", "--dry-run"]);
    assert!(said.code == 3 && said.err.contains("copies from a second disk"), "{said:#?}");
}

#[test]
fn all_of_them_are_done_and_read_back_on_loop() {
    if !has_loop("everyday tasks") {
        return;
    }
    let desk = Desk::new();
    let sets = "fileserver-2006,sparse-quick,backup-quick,news-quick";
    let work = ["run", "quick", "--workloads", sets, "--filesystems", "ext4,xfs", "--scale", "1/32"];
    let place = ["--on", &desk.testbed(), "--size", "320m", "--memory", "none", "--rounds", "1"];
    let said = desk.say(&[&work[..], &place, &["--seed", "7", "--output", "run", "--quiet"]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    desk.leaves_nothing(said.pid);
    assert_eq!(desk.say(&["verify", "run"]).code, 0);
    for record in &store::read(&desk.path("run")).unwrap().records {
        let name = &record.trial;
        assert_eq!(record.outcome, Outcome::Done, "{name}: {}", record.why());
        for tree in &record.trees {
            assert!(tree.files > 10 || name.contains("sparse"), "{name}: {tree:?}");
            assert_eq!(tree.expected.as_deref(), Some(tree.hash.as_str()), "{name}");
        }
        let metric = |of: &str| record.metrics.iter().find(|m| m.name == of).map(|m| m.value);
        if name.starts_with("r01/sparse") {
            assert!(metric("sparse.stored").is_some_and(|stored| stored < 2.0), "{name}: holes are kept");
            assert!(metric("sparse.copy.stored").is_some_and(|stored| stored < 2.0), "{name}: so do copies");
        }
        if name.starts_with("r01") && !name.contains("fileserver") {
            assert!(metric("fragments.mean").is_some_and(|n| n >= 1.0), "{name}: its files are still there");
        }
        if name.starts_with("r01/fileserver") {
            let steps: Vec<String> = record.steps.iter().map(|step| step.step.to_string()).collect();
            assert!(steps.windows(2).any(|pair| pair == ["source", "probes-on"]), "{name}: {steps:?}");
            // Nothing of the second disk was in memory, and what it gave is not counted as the tested disk's.
            assert!(metric("copy-tree.time").is_some_and(|t| t > 0.0), "{name}");
        }
    }
}
