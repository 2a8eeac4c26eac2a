//! The engine as a trial uses it: strict, exact, and with integrity check of what it has written.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fsderby::schema::event::Phase;
use fsderby::schema::job::Portion;
use fsderby::schema::work::{Amount, LiveFile};
use fsderby::workloads::postmark::PostMark;
use fsderby::workloads::{Clock, Histogram, Log, OpError, Progress, Ready, Work, Workload};

/// Work happens in the current folder, of which a process has one.
static FOLDER: Mutex<()> = Mutex::new(());

struct Folder {
    path: tempfile::TempDir,
    _only: MutexGuard<'static, ()>,
}

impl Folder {
    fn enter() -> Self {
        let only = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
        let path = tempfile::tempdir().expect("a folder");
        std::env::set_current_dir(path.path()).expect("it is there");
        Folder { path, _only: only }
    }

    /// Sizes and checksums of all files.
    fn sums(&self) -> BTreeMap<PathBuf, (u64, u32)> {
        let sum = |content: Vec<u8>| (content.len() as u64, crc32fast::hash(&content));
        self.files().into_iter().map(|(path, content)| (path, sum(content))).collect()
    }

    /// All files, and none of the folders.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.path.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let content = std::fs::read(&path).expect("a file");
                    files.insert(path.strip_prefix(self.path.path()).expect("below").into(), content);
                }
            }
        }
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::env::set_current_dir("/");
    }
}

/// A clock that steps by a microsecond a look, and may do something at one of them.
#[derive(Default)]
struct Steps {
    looks: Cell<u64>,
    at: u64,
    act: Option<fn()>,
}

impl Clock for Steps {
    fn now_ns(&self) -> u64 {
        self.looks.set(self.looks.get() + 1);
        if let Some(act) = self.act.filter(|_| self.looks.get() == self.at) {
            act();
        }
        1000 * self.looks.get()
    }
}

#[derive(Default)]
struct Kept {
    phases: Vec<Phase>,
    histograms: Vec<(&'static str, String, u64)>,
    progress: Progress,
}

impl Log for Kept {
    fn phase(&mut self, phase: Phase) {
        self.phases.push(phase);
    }

    fn histogram(&mut self, phase: &'static str, operation: &str, latencies: &Histogram) {
        self.histograms.push((phase, operation.to_owned(), latencies.len()));
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

impl Kept {
    fn sum(&self, count: &str) -> u64 {
        self.phases.iter().map(|phase| phase.count(count)).sum()
    }
}

fn work(parameters: &str) -> Box<dyn Work> {
    PostMark.parse(&parameters.parse().expect("TOML")).expect("it parses")
}

fn run(work: &dyn Work, portion: &Portion) -> (Kept, Box<dyn Ready>) {
    let mut ready = work.prepare(7, portion).expect("it is prepared");
    let mut log = Kept::default();
    ready.run(&Steps::default(), &mut log).expect("it runs");
    (log, ready)
}

fn fails(parameters: &str, clock: Steps) -> OpError {
    let mut ready = work(parameters).prepare(7, &Portion::WHOLE).expect("it is prepared");
    ready.run(&clock, &mut Kept::default()).expect_err("it stops")
}

const EVERYTHING: [&str; 4] = [
    "number = 30\ntransactions = 200\nsize = [1, 9000]",
    "number = 30\ntransactions = 200\nbuffering = false\nread_block = 4096\nwrite_block = 1000",
    "number = 20\ntransactions = 100\nfsync = true\nstdio_buffer = 8192\nsize = [5, 20000]",
    "number = 30\ntransactions = 200\nsubdirectories = 3\nlocations = [{path='a/b', weight=2}, {path='c'}]",
];

#[test]
fn a_run_moves_its_volume_and_leaves_nothing() {
    for parameters in EVERYTHING {
        let folder = Folder::enter();
        let work = work(parameters);
        let (log, _) = run(&*work, &Portion::WHOLE);
        let Amount { bytes_read, bytes_written, .. } = work.amount(7);
        assert_eq!(
            [log.sum("bytes_read"), log.sum("bytes_written")],
            [bytes_read, bytes_written],
            "{parameters}"
        );
        assert_eq!(log.sum("created"), log.sum("deleted"), "{parameters}");
        let names: Vec<&str> = log.phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names, ["create", "transactions", "delete"]);
        assert_eq!(std::fs::read_dir(folder.path.path()).expect("the folder").count(), 0, "{parameters}");
        let Progress { done, total } = log.progress;
        assert_eq!(done.into_inner(), total.into_inner(), "{parameters}");
    }
}

#[test]
fn every_operation_has_its_latency() {
    let _folder = Folder::enter();
    let (log, _) = run(&*work(EVERYTHING[2]), &Portion::WHOLE);
    let counted = |phase: &str, operation: &str, count: u64| {
        (count > 0).then(|| (phase.to_owned(), operation.to_owned(), count))
    };
    let expected: Vec<(String, String, u64)> = log
        .phases
        .iter()
        .flat_map(|phase| {
            [
                ("create", "created"),
                ("append", "appended"),
                ("read", "read"),
                ("delete", "deleted"),
                ("fsync", "fsyncs"),
            ]
            .map(|(operation, count)| counted(&phase.name, operation, phase.count(count)))
        })
        .flatten()
        .collect();
    let kept: Vec<_> = log.histograms.iter().map(|(p, o, n)| (p.to_string(), o.clone(), *n)).collect();
    assert_eq!(kept, expected);
    assert_eq!(log.sum("fsyncs"), log.sum("created") + log.sum("appended"));
}

#[test]
fn the_live_files_are_what_was_written() {
    for parameters in EVERYTHING {
        let folder = Folder::enter();
        let (log, ready) = run(&*work(parameters), &Portion::KEEP_FILES);
        assert_eq!(log.phases.len(), 2);
        let live = sums(ready.live());
        assert!(live.len() > 5);
        assert_eq!(live, folder.sums(), "{parameters}");
    }
}

fn sums(files: Vec<LiveFile>) -> BTreeMap<PathBuf, (u64, u32)> {
    files.into_iter().map(|file| (file.path, (file.bytes, file.crc32))).collect()
}

#[test]
fn a_run_stops_after_exactly_so_many_operations_and_what_was_synced_is_known_without_it() {
    let synced = "number = 20\ntransactions = 100\nsize = [5, 20000]\nfsync = true\nfsync_folder = true\nsubdirectories = 3\n\
                  locations = [{path='a/b'}]";
    for operations in [1, 7, 20, 21, 63, 120] {
        let folder = Folder::enter();
        let work = work(synced);
        let (log, _) = run(&*work, &Portion::stop_after(operations));
        let done = log.phases[0].count("created") + log.phases[1].count("transactions");
        assert_eq!((done, work.operations()), (operations, 120));
        let durable = work.durable(7, operations);
        assert!(durable.named && !durable.files.is_empty());
        assert_eq!(sums(durable.files), folder.sums(), "after {operations}");
        let of_files = log.sum("created") + log.sum("appended");
        assert_eq!(log.sum("fsyncs"), of_files + log.sum("created"), "each name is synced too");
    }
    assert_eq!(work("number = 20").durable(7, 20).files, [], "nothing was synced");
}

#[test]
fn a_full_disk_stops_the_run_with_operation_and_path() {
    for buffering in [true, false] {
        let _folder = Folder::enter();
        std::os::unix::fs::symlink("/dev/full", "3").expect("a link");
        let error = fails(&format!("buffering = {buffering}"), Steps::default());
        assert_eq!((error.operation, error.path.as_path()), ("write", Path::new("3")));
        assert_eq!(error.cause.errno(), Some(28), "{error}");
        assert!(error.to_string().starts_with("write of '3' failed: No space left"), "{error}");
    }
}

#[test]
fn a_file_that_is_missing_or_short_stops_the_run() {
    let only_reads = "number = 1\nbias_read = 10\nbias_create = -1";
    for (act, operation) in [
        ((|| std::fs::remove_file("1").expect("it is there")) as fn(), "open"),
        (|| std::fs::write("1", "short").expect("it is there"), "read"),
    ] {
        let _folder = Folder::enter();
        // Behind the one creation: two looks of its phase, two of its own.
        let error = fails(only_reads, Steps { at: 5, act: Some(act), ..Steps::default() });
        assert_eq!((error.operation, error.path.as_path()), (operation, Path::new("1")));
    }
    let _folder = Folder::enter();
    let gone =
        Steps { at: 5, act: Some(|| std::fs::remove_file("1").expect("it is there")), ..Steps::default() };
    let error = fails("number = 1\ntransactions = 1\nbias_read = -1\nbias_create = 0", gone);
    assert_eq!((error.operation, error.path.as_path()), ("unlink", Path::new("1")));
}

#[test]
fn running_out_of_files_is_known_before_anything_is_run() {
    let error = work("number = 2\nbias_create = 3").prepare(1, &Portion::WHOLE).err().expect("it runs out");
    assert!(error.contains("raise number or bias_create, or lower transactions"), "{error}");
}

#[test]
fn an_engines_metrics_are_those_of_its_phases() {
    let _folder = Folder::enter();
    let work = work("number = 30\ntransactions = 100\nbias_read = 10");
    let (log, _) = run(&*work, &Portion::WHOLE);
    let metrics = work.metrics(&log.phases);
    let names: Vec<&str> = metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert!(names.contains(&"transactions.rate") && names.contains(&"work.time"));
    assert!(
        !names.contains(&"append.rate") && !names.contains(&"fsync.rate"),
        "nothing was appended or synced"
    );
}
