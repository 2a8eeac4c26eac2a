//! The engine of cold reading by itself: what it makes, finds again, and does not let pass.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use fsderby::schema::event::Phase;
use fsderby::schema::job::Portion;
use fsderby::workloads::{self, Clock, Histogram, Log, OpError, Progress, Ready, Work};
use fsderby_sys::shared::SharedProgress;

const PARAMETERS: &str = "files = 60\nper_folder = 4\nlarge_files = 2\nlarge_size = '1m'\nreads = 100\n\
    sizes = [{ up_to = '1k', weight = 1 }, { up_to = '300k', weight = 2 }]";
const SEED: u64 = 11;
const PHASES: [&str; 6] = ["create", "walk", "read-ordered", "read-random", "pread-random", "delete"];

fn work() -> Box<dyn Work> {
    workloads::engine("coldread").unwrap().parse(&PARAMETERS.parse().unwrap()).unwrap()
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
    operations: u64,
    progress: SharedProgress,
}

impl Log for Recorded {
    fn phase(&mut self, phase: Phase) {
        self.phases.push(phase);
    }
    fn histogram(&mut self, _: &'static str, _: &str, latencies: &Histogram) {
        self.operations += latencies.len();
    }
    fn progress(&self) -> &Progress {
        &self.progress
    }
}

fn run(portion: &Portion) -> Result<(Recorded, Box<dyn Ready>), OpError> {
    let mut heard = Recorded { phases: Vec::new(), operations: 0, progress: SharedProgress::new().unwrap() };
    let mut ready = work().prepare(SEED, portion).unwrap();
    ready.run(&Made(Cell::new(0)), &mut heard)?;
    let (done, total) = (heard.progress.done.load(Relaxed), heard.progress.total.load(Relaxed));
    assert_eq!(done, total, "{portion:?}");
    Ok((heard, ready))
}

/// In a folder of its own: the work is done in the current one, of which a process has only one.
fn inside(act: impl FnOnce(&Path)) {
    static ONE: Mutex<()> = Mutex::new(());
    let _guard = ONE.lock().unwrap_or_else(|broken| broken.into_inner());
    let folder = tempfile::tempdir().unwrap();
    std::env::set_current_dir(folder.path()).unwrap();
    act(folder.path());
    std::env::set_current_dir("/").unwrap();
}

#[test]
fn each_part_does_its_own_and_together_they_are_the_volume() {
    inside(|place| {
        let work = work();
        let volume = work.amount(SEED);
        let (mut read, mut written) = (0, 0);
        assert_eq!(workloads::engine("coldread").unwrap().parts(), PHASES);
        for name in PHASES {
            let (heard, _) = run(&Portion::part(name)).unwrap();
            let [phase] = &heard.phases[..] else { panic!("{name}: {:?}", heard.phases) };
            assert_eq!(phase.name, name);
            read += phase.count("bytes_read");
            written += phase.count("bytes_written");
            let (expected, operations) = match name {
                "walk" => (("entries", 62 + 15 + 1 + 2), 62 + 15 + 1 + 2),
                "read-random" => (("files", 60), 60),
                "pread-random" => (("reads", 100), 100),
                _ => (("files", 62), 62),
            };
            assert_eq!((phase.count(expected.0), heard.operations), (expected.1, operations), "{name}");
        }
        assert_eq!((read, written), (volume.bytes_read, volume.bytes_written));
        assert_eq!(fs::read_dir(place).unwrap().count(), 0, "all is deleted");
    });
}

#[test]
fn what_is_live_is_what_was_written() {
    inside(|place| {
        let (heard, ready) = run(&Portion::KEEP_FILES).unwrap();
        assert_eq!(heard.phases.len(), 1);
        let live = ready.live();
        assert_eq!(live.len() as u64, work().amount(SEED).files_peak);
        for file in &live {
            let content = fs::read(place.join(&file.path)).unwrap();
            let seen = (content.len() as u64, crc32fast::hash(&content));
            assert_eq!(seen, (file.bytes, file.crc32), "{}", file.path.display());
        }
    });
}

#[test]
fn a_whole_run_in_one_process_has_all_phases() {
    inside(|_| {
        let (heard, _) = run(&Portion::WHOLE).unwrap();
        assert_eq!(heard.phases.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), PHASES);
    });
}

/// Damages a file of the tree and a large one, and expects each part to stop at it, by operation, path and reason.
#[test]
fn damage_ends_the_part_that_meets_it_with_its_path() {
    let altered =
        |path: &Path, at| drop(fs::File::options().write(true).open(path).unwrap().write_at(b"x", at));
    let cut = |path: &Path| fs::File::options().write(true).open(path).unwrap().set_len(0).unwrap();
    type Damage<'a> = &'a dyn Fn(&Path);
    let begin: Damage<'_> = &|path| altered(path, 0);
    let gone: Damage<'_> = &|path| fs::remove_file(path).unwrap();
    let cases: [(usize, &str, Damage<'_>, &str, &str); 8] = [
        (1, "tree/0/0/1", &cut, "tree/0/0/1", "0 bytes"),
        (1, "tree/0/0/1", gone, ".", "61 files, but 62 were created"),
        (2, "tree/0/0/1", &cut, "tree/0/0/1", "read 0 bytes"),
        (2, "large/61", begin, "large/61", "content differs"),
        (3, "tree/0/0/1", begin, "tree/0/0/1", "content differs"),
        (3, "tree/0/0/1", gone, "tree/0/0/1", "No such file"),
        (4, "large/60", &cut, "large/60", "read 0 bytes at"),
        (5, "large/60", gone, ".", "61 files, but 62 were created"),
    ];
    for (part, file, damage, path, words) in cases {
        inside(|place| {
            run(&Portion::part(PHASES[0])).unwrap();
            damage(&place.join(file));
            let error = run(&Portion::part(PHASES[part])).map(drop).unwrap_err();
            assert_eq!(error.path, Path::new(path), "part {part}: {error}");
            assert!(error.to_string().contains(words), "part {part}: {error}");
        });
    }
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_is() {
    let refused = |portion| work().prepare(SEED, &portion).err().unwrap();
    assert_eq!(refused(Portion::part("rewind")), "the workload has no part rewind");
    assert!(refused(Portion::stop_after(3)).contains("cannot be stopped"));
    assert_eq!(work().operations(), 0);
}
