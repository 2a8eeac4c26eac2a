//! The engine as a trial uses it: what it tells, what it leaves, and that it finds what is not as it was written.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fsderby::schema::event::Phase;
use fsderby::schema::job::Portion;
use fsderby::schema::work::LiveFile;
use fsderby::workloads::bonnie::Bonnie;
use fsderby::workloads::{Clock, Histogram, Log, OpError, Progress, Work, Workload};
use fsderby_sys::process::monotonic_ns;

/// Work happens in the current folder, of which a process has one.
static FOLDER: Mutex<()> = Mutex::new(());

struct Folder {
    path: tempfile::TempDir,
    _only: MutexGuard<'static, ()>,
}

impl Folder {
    fn enter() -> Self {
        let only = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
        let path = tempfile::tempdir().unwrap();
        std::env::set_current_dir(path.path()).unwrap();
        Folder { path, _only: only }
    }

    /// Sizes and checksums of all files.
    fn files(&self) -> BTreeMap<PathBuf, (u64, u32)> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.path.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let content = fs::read(&path).unwrap();
                    let sum = (content.len() as u64, crc32fast::hash(&content));
                    files.insert(path.strip_prefix(self.path.path()).unwrap().to_owned(), sum);
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

struct Real;

impl Clock for Real {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }
}

type Act = Box<dyn Fn()>;

/// What was told, and what is done behind a phase's end.
#[derive(Default)]
struct Recorded {
    progress: Progress,
    phases: Vec<Phase>,
    latencies: BTreeMap<String, u64>,
    after: Option<(&'static str, Act)>,
}

impl Log for Recorded {
    fn phase(&mut self, phase: Phase) {
        if let Some((_, act)) = self.after.iter().find(|(name, _)| *name == phase.name) {
            act();
        }
        self.phases.push(phase);
    }

    fn histogram(&mut self, phase: &'static str, operation: &str, latencies: &Histogram) {
        self.latencies.insert(format!("{phase} {operation}"), latencies.len());
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

fn work(text: &str) -> Box<dyn Work> {
    Bonnie.parse(&text.parse().unwrap()).unwrap()
}

fn run(work: &dyn Work, portion: &Portion, told: &mut Recorded) -> Result<Vec<LiveFile>, OpError> {
    let mut ready = work.prepare(7, portion).unwrap();
    ready.run(&Real, told).map(|()| ready.live())
}

const SECOND: &str = "semantics = '2.00'\nsize = '1m'\nchunk = '4k'\ncharacters = '20k'\nseeks = 300\nfiles = 50\n\
                      file_size = [0, 20000]\ndirectories = 3\n";
const CLASSIC: &str =
    "semantics = 'classic'\nsize = '1m'\nchunk = '4k'\nseeks = 300\nfiles = 50\nfile_size = [0, 20000]\n";
/// Eight of them fill the buffer of a stream.
const SMALL_CHUNKS: &str = "semantics = 'classic'\nsize = '100k'\nchunk = 512\nseeks = 300\n";
const NAMES: [&str; 12] = [
    "char-write",
    "block-write",
    "rewrite",
    "char-read",
    "block-read",
    "seek",
    "create-ordered",
    "stat-ordered",
    "delete-ordered",
    "create-random",
    "stat-random",
    "delete-random",
];

#[test]
fn every_phase_tells_what_it_did_and_nothing_is_left() {
    for text in [SECOND, CLASSIC] {
        let folder = Folder::enter();
        let (work, mut told) = (work(text), Recorded::default());
        run(&*work, &Portion::WHOLE, &mut told).unwrap();
        assert_eq!(told.phases.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), NAMES);
        let progress = (told.progress.done.into_inner(), told.progress.total.into_inner());
        assert_eq!(progress.0, progress.1, "all that was to be done is done");
        for phase in &told.phases {
            assert!(phase.ns > 0, "{phase:?}");
            for (operation, count) in Bonnie.timed(&phase.name) {
                let seen = told.latencies.get(&format!("{} {operation}", phase.name));
                assert_eq!(seen, Some(&phase.count(count)), "{}", phase.name);
            }
        }
        let sum = |count| told.phases.iter().map(|phase| phase.count(count)).sum::<u64>();
        let amount = work.amount(7);
        assert_eq!(sum("bytes_read"), amount.bytes_read);
        // Classic seekers share the tickets as they come, and each begins with an update.
        let least = amount.bytes_written;
        let most = if text == CLASSIC { least + 3 * 4096 } else { least };
        assert!((least..=most).contains(&sum("bytes_written")), "{} of {least}", sum("bytes_written"));
        assert_eq!(told.phases[5].count("seeks"), 300);
        assert_eq!(folder.files(), BTreeMap::new());
        assert_eq!(fs::read_dir(".").unwrap().count(), 0);
        assert!(work.metrics(&told.phases).len() == 24, "a rate and a CPU share of each phase");
    }
}

#[test]
fn a_stream_has_a_buffer_whatever_a_chunk_is() {
    let _folder = Folder::enter();
    let (work, mut told) = (work(SMALL_CHUNKS), Recorded::default());
    run(&*work, &Portion::WHOLE, &mut told).unwrap();
    let calls = |at: usize| (told.phases[at].count("characters"), told.phases[at].count("calls"));
    assert_eq!([calls(0), calls(3)], [(100 << 10, 25); 2]);
}

#[test]
fn a_part_that_the_parameters_leave_out_is_refused() {
    let work = work("semantics = '2.00'\nsize = '1m'\ncharacters = 0");
    for (part, words) in
        [("char-read", "disable its part"), ("files", "disable its part"), ("walk", "no part walk")]
    {
        let error = work.prepare(7, &Portion::part(part)).err().unwrap();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn parts_go_on_where_the_one_before_has_ended() {
    let folder = Folder::enter();
    let work = work(SECOND);
    let mut names = Vec::new();
    for part in Bonnie.parts() {
        let mut told = Recorded::default();
        run(&*work, &Portion::part(part), &mut told).unwrap();
        names.extend(told.phases.into_iter().map(|phase| phase.name));
    }
    assert_eq!((names, folder.files()), (NAMES.map(str::to_owned).to_vec(), BTreeMap::new()));
}

fn listed(live: Vec<LiveFile>) -> BTreeMap<PathBuf, (u64, u32)> {
    live.into_iter().map(|file| (file.path, (file.bytes, file.crc32))).collect()
}

#[test]
fn what_stays_is_what_the_engine_says() {
    for text in [SECOND, CLASSIC] {
        let folder = Folder::enter();
        let live = run(&*work(text), &Portion::KEEP_FILES, &mut Recorded::default()).unwrap();
        assert_eq!((live.len(), listed(live)), (51, folder.files()));
        assert_eq!(std::env::current_dir().unwrap(), folder.path.path().canonicalize().unwrap());
    }
}

#[test]
fn a_run_stops_after_any_operation_and_what_it_has_synced_is_there() {
    let synced = format!("{SECOND}fsync = true\n");
    for (text, expected) in [(SECOND, [1, 0, 1, 1, 51]), (&synced, [1, 0, 1, 21, 51]), (CLASSIC, [0; 5])] {
        let work = work(text);
        assert_eq!(work.operations(), 2 * 256 + 50);
        for (operations, files) in [256, 400, 512, 532, 562].into_iter().zip(expected) {
            let folder = Folder::enter();
            let mut told = Recorded::default();
            run(&*work, &Portion::stop_after(operations), &mut told).unwrap();
            assert_eq!(told.progress.done.into_inner(), operations);
            let durable = work.durable(7, operations);
            assert_eq!((durable.files.len(), durable.named), (files, files == 51));
            let there = folder.files();
            for (path, sum) in listed(durable.files) {
                assert_eq!(there.get(&path), Some(&sum), "{} after {operations}", path.display());
            }
            std::env::set_current_dir(folder.path.path()).unwrap();
        }
    }
}

/// A byte in the middle of a chunk that is looked at in full: the first of sixteen.
fn flip(path: &str, at: u64) {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x80], at).unwrap();
}

#[test]
fn a_changed_byte_is_found_with_its_file_and_place() {
    let (data, classic) = ("Bonnie", "Bonnie.000");
    for (text, file, after, at, during) in [
        (SECOND, data, "block-write", 16 * 4096 + 1000, "rewrite"),
        (SECOND, data, "rewrite", 5000, "char-read"),
        (SECOND, data, "char-read", 32 * 4096 + 77, "block-read"),
        (SECOND, data, "block-read", 0, "seek"),
        (CLASSIC, classic, "rewrite", 900_001, "char-read"),
        (SMALL_CHUNKS, classic, "rewrite", 70_001, "char-read"),
        (CLASSIC, classic, "block-read", 0, "seek"),
    ] {
        let _folder = Folder::enter();
        let mut told = Recorded::default();
        // All chunks are altered in the same way before they are met at random.
        let all = after == "block-read";
        let act = move || (0..256).filter(|n| all || *n == 0).for_each(|n| flip(file, at + n * 4096));
        told.after = Some((after, Box::new(act)));
        let error = run(&*work(text), &Portion::WHOLE, &mut told).unwrap_err();
        assert_eq!(told.phases.last().unwrap().name, after);
        assert_eq!(error.path, Path::new(file), "{during}");
        let words = error.to_string();
        assert!(words.contains("the content differs from what was written"), "{words}");
        let place: u64 =
            words.split("at byte ").nth(1).and_then(|rest| rest.split(',').next()).unwrap().parse().unwrap();
        assert!(if all { place.is_multiple_of(4096) } else { place == at }, "{words}, not at {at}");
    }
}

#[test]
fn a_changed_small_file_is_found() {
    let all_of = |act: fn(&Path)| {
        move || {
            for entry in ["00000", "00001", "00002"].iter().flat_map(|folder| fs::read_dir(folder).unwrap()) {
                act(&entry.unwrap().path());
            }
        }
    };
    let flipped = |path: &Path| {
        if fs::metadata(path).unwrap().len() > 9000 {
            flip(path.to_str().unwrap(), 8195);
        }
    };
    let longer =
        |path: &Path| fs::OpenOptions::new().append(true).open(path).unwrap().write_all_at(b"x", 0).unwrap();
    for (after, act, words) in [
        ("create-ordered", all_of(flipped), "at byte 8195, the content differs from what was written"),
        ("create-random", all_of(flipped), "at byte 8195, the content differs from what was written"),
        ("create-random", all_of(longer), "were written"),
        ("create-ordered", all_of(|path| fs::remove_file(path).unwrap()), "0 files, but 50 were created"),
        ("create-random", all_of(|path| fs::remove_file(path).unwrap()), "No such file"),
    ] {
        let _folder = Folder::enter();
        let mut told = Recorded { after: Some((after, Box::new(act))), ..Recorded::default() };
        let error = run(&*work(SECOND), &Portion::part("files"), &mut told).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(told.phases.last().unwrap().name, after);
    }
}
