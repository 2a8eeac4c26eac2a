//! The engine as a trial uses it.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use fsderby::schema::event::Phase;
use fsderby::schema::job::Portion;
use fsderby::workloads::iozone::IoZone;
use fsderby::workloads::iozone::trial::FILE;
use fsderby::workloads::{Clock, Histogram, Log, OpError, Progress, Ready, Work, Workload};
use fsderby_sys::shared::SharedProgress;

const SEED: u64 = 11;
/// Two files, records of which one is no power of two, every test.
const EVERYTHING: &str = "tests = ['write', 'read', 'random', 'backward', 'record-rewrite', 'stride', 'fwrite', 'fread', 'mixed']\n\
    file_sizes = ['64k', '200k']\nrecord_sizes = [64, 960, '4k', '128k']\n";
const ONE: &str = "file_sizes = ['256k']\nrecord_sizes = ['4k']\n";

fn work(parameters: &str) -> Box<dyn Work> {
    IoZone.parse(&parameters.parse().unwrap()).unwrap()
}

/// A microsecond passes between two looks; at one of them something may be done.
#[derive(Default)]
struct Made {
    looks: Cell<u64>,
    at: u64,
    act: Option<fn()>,
}

impl Clock for Made {
    fn now_ns(&self) -> u64 {
        self.looks.set(self.looks.get() + 1);
        if let Some(act) = self.act.filter(|_| self.looks.get() == self.at) {
            act();
        }
        1000 * self.looks.get()
    }
}

struct Recorded {
    phases: Vec<Phase>,
    progress: SharedProgress,
    finished: bool,
}

impl Log for Recorded {
    fn phase(&mut self, phase: Phase) {
        self.phases.push(phase);
    }
    fn histogram(&mut self, _: &'static str, _: &str, _: &Histogram) {}
    fn progress(&self) -> &Progress {
        &self.progress
    }
    fn finished(&mut self) {
        self.finished = true;
    }
}

fn run_with(work: &dyn Work, portion: &Portion, clock: &Made) -> Result<(Recorded, Box<dyn Ready>), OpError> {
    let mut heard =
        Recorded { phases: Vec::new(), progress: SharedProgress::new().unwrap(), finished: false };
    let mut ready = work.prepare(SEED, portion).unwrap();
    ready.run(clock, &mut heard)?;
    let (done, total) = (heard.progress.done.load(Relaxed), heard.progress.total.load(Relaxed));
    assert_eq!(done, total, "{portion:?}");
    Ok((heard, ready))
}

fn run(work: &dyn Work, portion: &Portion) -> (Recorded, Box<dyn Ready>) {
    run_with(work, portion, &Made::default()).unwrap()
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

fn sum(heard: &Recorded, count: &str) -> u64 {
    heard.phases.iter().map(|phase| phase.count(count)).sum()
}

#[test]
fn a_run_moves_its_amount_counts_its_operations_and_leaves_nothing() {
    inside(|place| {
        for ways in ["", "fsync = true\n", "close = true\n", "fsync = true\nclose = true\nretest = false\n"] {
            let work = work(&format!("{EVERYTHING}{ways}"));
            let (heard, _) = run(&*work, &Portion::WHOLE);
            let amount = work.amount(SEED);
            assert_eq!(
                (sum(&heard, "bytes_read"), sum(&heard, "bytes_written")),
                (amount.bytes_read, amount.bytes_written),
                "{ways}"
            );
            assert_eq!(sum(&heard, "reads") + sum(&heard, "writes"), work.operations(), "{ways}");
            assert_eq!(fs::read_dir(place).unwrap().count(), 0, "all is deleted");
            let names: std::collections::BTreeSet<&str> =
                heard.phases.iter().map(|p| p.name.as_str()).collect();
            assert_eq!(names.len(), heard.phases.len(), "no two phases have one name");
        }
    });
}

#[test]
fn every_write_may_be_synced_by_itself() {
    inside(|_| {
        let work = work("file_sizes = ['64k']\nrecord_sizes = ['16k']\no_sync = true\n");
        let (heard, _) = run(&*work, &Portion::WHOLE);
        assert_eq!(sum(&heard, "bytes_written"), work.amount(SEED).bytes_written);
    });
}

#[test]
fn what_is_live_is_what_was_written() {
    inside(|place| {
        for parameters in [ONE, EVERYTHING, &format!("{ONE}tests = ['write', 'record-rewrite']")] {
            let (_, ready) = run(&*work(parameters), &Portion::KEEP_FILES);
            let [live] = &ready.live()[..] else { panic!("{parameters}: {:?}", ready.live()) };
            let content = fs::read(place.join(&live.path)).unwrap();
            assert_eq!(
                (content.len() as u64, crc32fast::hash(&content)),
                (live.bytes, live.crc32),
                "{parameters}"
            );
            fs::remove_file(place.join(FILE)).unwrap();
        }
    });
}

#[test]
fn parts_one_after_the_other_are_the_whole() {
    inside(|place| {
        let work = work(ONE);
        let (whole, _) = run(&*work, &Portion::WHOLE);
        let mut phases = Vec::new();
        for name in &IoZone.parts()[..8] {
            let (heard, _) = run(&*work, &Portion::part(name));
            phases.extend(heard.phases);
            assert_eq!(place.join(FILE).exists(), *name != "fread", "{name}: the last one deletes it");
        }
        let counted =
            |phases: &[Phase]| phases.iter().map(|p| (p.name.clone(), p.counts.clone())).collect::<Vec<_>>();
        assert_eq!(counted(&phases), counted(&whole.phases));
    });
    let several = work(EVERYTHING).prepare(SEED, &Portion::part("read")).map(drop);
    assert!(several.is_err_and(|e| e.contains("one file size and one record size")));
}

#[test]
fn it_stops_at_its_operation_and_what_must_survive_is_what_is_there() {
    inside(|place| {
        let work = work(&format!("{ONE}tests = ['write', 'read', 'random']"));
        // 64 records: write, rewrite, read, reread, random read, random write.
        for (stop, is_promised) in [
            (1, false),
            (64, false),
            (100, false),
            (128, false),
            (129, true),
            (300, true),
            (321, false),
            (384, false),
        ] {
            let (heard, _) = run(&*work, &Portion::stop_after(stop));
            assert!(heard.finished, "{stop}");
            assert_eq!(sum(&heard, "reads") + sum(&heard, "writes"), stop);
            let durable = work.durable(SEED, stop);
            assert_eq!(durable.files.len(), usize::from(is_promised), "{stop}");
            assert!(!durable.named, "nobody syncs the folder");
            for file in durable.files {
                let content = fs::read(place.join(&file.path)).unwrap();
                assert_eq!(
                    (content.len() as u64, crc32fast::hash(&content)),
                    (file.bytes, file.crc32),
                    "{stop}"
                );
            }
            fs::remove_file(place.join(FILE)).unwrap();
        }
    });
}

/// Each pass looks at the clock twice, so the third look is the begin of the second pass.
fn spoiled(tests: &str, pass: u64, act: fn()) -> String {
    let mut said = String::new();
    inside(|_| {
        let clock = Made { at: 2 * pass - 1, act: Some(act), ..Made::default() };
        let parameters = format!("file_sizes = ['512k']\nrecord_sizes = ['256k']\ntests = {tests}");
        said = run_with(&*work(&parameters), &Portion::WHOLE, &clock).map(drop).unwrap_err().to_string();
    });
    said
}

fn at(offset: u64, bytes: &[u8]) {
    fs::OpenOptions::new().write(true).open(FILE).unwrap().write_all_at(bytes, offset).unwrap();
}

#[test]
fn what_is_read_and_was_not_written_ends_the_run_with_file_and_offset() {
    let other = |offset| {
        format!("read of '{FILE}' failed: at byte {offset}, the content differs from what was written")
    };
    let lost: fn() = || at(0, &[0; 100]);
    let within: fn() = || at(262_144 + 131_072, &[0; 4096]);
    for (tests, pass, act, offset) in [
        ("['write', 'read']", 3, lost, 0),
        ("['write', 'read']", 4, within, 393_216),
        ("['write', 'random']", 3, within, 393_216),
        ("['write', 'backward']", 3, lost, 0),
        ("['write', 'stride']", 3, lost, 0),
        ("['write', 'fread']", 3, within, 393_216),
        ("['write', 'mixed']", 3, lost, 0),
    ] {
        assert_eq!(spoiled(tests, pass, act), other(offset), "{tests}");
    }
    let short: fn() = || fs::OpenOptions::new().write(true).open(FILE).unwrap().set_len(300_000).unwrap();
    assert_eq!(
        spoiled("['write', 'read']", 3, short),
        format!("read of '{FILE}' failed: read 37856 bytes at 262144, but 262144 bytes were written")
    );
}

/// A write that the filesystem has lost leaves what an earlier pass wrote, which is found because each pass writes its own.
#[test]
fn a_lost_rewrite_is_found() {
    fn keep() {
        fs::copy(FILE, "before").unwrap();
    }
    fn bring_back() {
        let before = fs::read("before").unwrap();
        at(0, &before);
        fs::remove_file("before").unwrap();
    }
    inside(|_| {
        let parameters = "file_sizes = ['64k']\nrecord_sizes = ['4k']\ntests = ['write', 'read']";
        let mut looks = Made { at: 3, act: Some(keep), ..Made::default() };
        let work = work(parameters);
        let mut ready = work.prepare(SEED, &Portion::stop_after(32)).unwrap();
        let mut heard =
            Recorded { phases: Vec::new(), progress: SharedProgress::new().unwrap(), finished: false };
        ready.run(&looks, &mut heard).unwrap();
        bring_back();
        looks = Made::default();
        let mut ready = work.prepare(SEED, &Portion::part("read")).unwrap();
        let mut heard =
            Recorded { phases: Vec::new(), progress: SharedProgress::new().unwrap(), finished: false };
        let error = ready.run(&looks, &mut heard).unwrap_err().to_string();
        assert!(error.contains("at byte 0, the content differs from what was written"), "{error}");
    });
}
