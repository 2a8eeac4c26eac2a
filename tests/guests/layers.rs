//! Layers for real, in guests: what they are built of, what reaches the disks below them, and what is left of one that fails.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::support::quiet::{Quiet, has_guests};
use crate::support::scripted::machine;
use crate::support::{image_folder, skipped};
use fsderby::filesystems::KernelNeed;
use fsderby::host::programs;
use fsderby::runner::execute::rounds::Runner;
use fsderby::runner::experiment::Experiment;
use fsderby::runner::plan::jobs;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::runner::verify::verify;
use fsderby::schema::event::Event;
use fsderby::schema::job::{At, Job, Purpose, StepName};
use fsderby::schema::plan::{Plan, Rounds};
use fsderby::schema::reason::{Held, Outcome};
use fsderby::schema::record::Record;
use fsderby::schema::setup::{Named, Volume};
use fsderby::schema::units::{Bytes, MIB};
use fsderby::storage::layers;
use fsderby::store::{self, Folder};
use fsderby::testbeds::model::Model;
use fsderby::testbeds::vm::Vm;
use fsderby::testbeds::{
    Ended, Guests, Launched, Missing, Need, Next, Stamped, StorageRequest, Testbed, TestbedTraits, Testbeds,
};

/// Two guests at a time would only wait for each other, and a test finds its guest's disk by there being one.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The right to start guests; `None`, and said, where there can be none with layers.
fn guests(what: &str) -> Option<MutexGuard<'static, ()>> {
    let lacks =
        layers::TABLE.iter().flat_map(|kind| kind.tools()).find(|tool| programs::find(tool).is_none());
    if let Some(tool) = lacks {
        skipped(what, &format!("there is no {tool}"));
        return None;
    }
    has_guests(what).then(|| ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner))
}

fn vm(images: &Path, disks: usize) -> Vm {
    let mut vm: Vm = format!("images={},disks={disks}", images.display()).parse().unwrap();
    vm.starts.agent = env!("CARGO_BIN_EXE_fsderby").into();
    vm
}

fn plan(more: &str, size: u64, layers: &[&str], testbed: &dyn Testbed) -> Plan {
    let text = format!(
        "name = \"layers\"\nsize = {size}\nmemory = \"64m\"\nimage = \"sparse\"\nworkloads = [\"maildir-durable\"]\n\
         layers = {layers:?}\nrounds = 1\nseed = 7\nscale = \"1/64\"\n{more}\n"
    );
    Experiment::parse(&text, "test").unwrap().plan(testbed.name(), 1).unwrap()
}

/// Integrity checks alone.
fn proved(filesystems: &str, size: u64, layers: &[&str], testbed: &dyn Testbed) -> Vec<Record> {
    let only = format!("filesystems = [{filesystems}]");
    compared(Plan { rounds: Rounds::Exactly(0), ..plan(&only, size, layers, testbed) }, testbed)
}

fn compared(plan: Plan, testbed: &dyn Testbed) -> Vec<Record> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let testbeds = Testbeds::one(testbed);
    let mut folder = Folder::create(&path, &plan, &machine(&plan, &testbeds)).unwrap();
    let before = store::read(&path).unwrap();
    let plan = Resolved::of(&plan).unwrap();
    jobs::carried(&plan, &plan.candidates[0], testbed).unwrap();
    testbed.ready(&jobs::need(&plan)).unwrap();
    let stop = AtomicBool::new(false);
    let testbeds = &testbeds;
    Runner {
        plan: &plan,
        testbeds,
        folder: &mut folder,
        skips: &[],
        watch: &mut Quiet,
        jobs: 1,
        stop: &stop,
    }
    .run(&before)
    .unwrap();
    let run = store::read(&path).unwrap();
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
    run.records
}

fn counted(record: &Record, probe: &str, name: &str) -> Option<u64> {
    record.stages.first().and_then(|stage| stage.probe(probe, name))
}

fn counter(record: &Record, probe: &str, name: &str) -> u64 {
    counted(record, probe, name).unwrap_or_else(|| panic!("{}: no {probe}.{name}", record.trial))
}

#[test]
fn every_level_of_raid_is_built_checked_and_counted_at_its_disks() {
    let Some(_guests) = guests("md in guests") else { return };
    let images = image_folder();
    const SIZE: u64 = 64 * MIB;
    for (layer, disks, copies) in [
        ("md:raid0,chunk=64k", 2, 1.0),
        ("md:raid1,bitmap=internal", 2, 2.0),
        ("md:raid5,chunk=64k", 5, 1.25),
        ("md:raid10", 4, 2.0),
    ] {
        let testbed = vm(images.path(), disks);
        let records = proved("\"ext4\"", SIZE, &[layer], &testbed);
        let [record] = &records[..] else { panic!("{layer}: {} trials", records.len()) };
        assert_eq!(record.outcome, Outcome::Done, "{layer}: {}", record.why());
        let stack = layers::of(&record.layers).unwrap();
        let expected = layers::top(&stack, &vec![Bytes(SIZE); disks]).unwrap();
        let top = record.top.as_ref().unwrap();
        assert_eq!((top.bytes, top.leaves.len()), (expected, disks), "{layer}");
        assert_eq!(record.mounted.as_ref().unwrap().source, "/dev/md0", "{layer}");
        let total = record.space.iter().find(|s| s.at == At::Fresh).unwrap().total;
        assert!(total < expected && total.0 > expected.0 * 8 / 10, "{layer}: {total} of {expected}");
        let below = counter(record, "block_io", "bytes_written") as f64;
        let top = counter(record, "block_io", "top_bytes_written") as f64;
        assert!(below >= top * copies, "{layer}: {top} written above, {below} below");
        // Every fsync is passed to each disk, which holds a part of the file or of the journal.
        let fsyncs: u64 = record.phases().map(|p| p.count("fsyncs")).sum();
        let flushes = counter(record, "block_io", "flushes");
        assert!(fsyncs > 5 && flushes >= fsyncs, "{layer}: {flushes} flushes for {fsyncs} fsyncs");
        for name in ["read-back", "flush", "host counters", "host cache"] {
            let check = record.validity.iter().find(|c| c.name.title() == name);
            assert!(check.is_some_and(|c| c.held == Held::Yes), "{layer}: {name}: {check:?}");
        }
        for at in [At::Filled, At::Emptied] {
            assert!(record.step_ns(StepName::Check(at)).is_some(), "{layer} was not checked");
        }
    }
    assert!(fs::read_dir(images.path()).unwrap().next().is_none(), "an image was left");
}

#[test]
fn after_a_power_cut_an_array_is_assembled_and_all_that_was_synced_is_there() {
    let Some(_guests) = guests("md and a power cut") else { return };
    let images = image_folder();
    let testbed = vm(images.path(), 3);
    let cut = "filesystems = ['ext4']\npower_cut = '80%'";
    let records = compared(plan(cut, 64 * MIB, &["md:raid5,chunk=64k", "crypt"], &testbed), &testbed);
    let record = records.iter().find(|r| r.purpose == Purpose::Measure).unwrap();
    assert_eq!(record.outcome, Outcome::Done, "{}", record.why());
    let seen = record.survivors.as_ref().unwrap();
    assert!(seen.files > 3 && seen.lost.is_empty(), "{seen:?}");
    assert!(record.step_ns(StepName::Restart).is_some() && record.top.is_some());
}

#[test]
fn an_array_of_modelled_disks_gives_the_same_requests_each_time() {
    let Some(_guests) = guests("md on modelled disks") else { return };
    let mut testbed: Model = "hdd-16tb,disks=5".parse().unwrap();
    testbed.starts.agent = env!("CARGO_BIN_EXE_fsderby").into();
    let once = || {
        let records = proved("\"ext4\"", 64 * MIB, &["md:raid5,chunk=64k"], &testbed);
        let [record] = &records[..] else { panic!("{} trials", records.len()) };
        assert_eq!(record.outcome, Outcome::Done, "{}", record.why());
        assert_eq!(record.top.as_ref().unwrap().leaves.len(), 5);
        assert!(counter(record, "block_io", "flushes") > 0);
        record.requests.as_ref().unwrap().blake3.clone()
    };
    assert_eq!(once(), once());
}

/// A testbed whose jobs are another's, and whose guests' first disk is read by another way as soon as the work is synced.
struct Watched {
    vm: Vm,
    alter: fn(&mut Job),
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Testbed for Watched {
    fn name(&self) -> String {
        self.vm.name()
    }
    fn traits(&self) -> TestbedTraits {
        self.vm.traits()
    }
    fn ready(&self, need: &Need) -> Result<(), Missing> {
        self.vm.ready(need)
    }
    fn serves(&self, kernel: &KernelNeed) -> Result<(), Missing> {
        self.vm.serves(kernel)
    }
    fn tool(&self, program: &str) -> Result<(), Missing> {
        self.vm.tool(program)
    }
    fn kernel(&self) -> Option<(String, String)> {
        self.vm.kernel()
    }
    fn disks(&self) -> usize {
        self.vm.disks()
    }
    fn guests(&self) -> Option<&dyn Guests> {
        self.vm.guests()
    }
    fn storage(&self, request: &StorageRequest) -> (Named, Volume) {
        self.vm.storage(request)
    }
    fn folder(&self) -> &Path {
        self.vm.folder()
    }
    fn launch(&self, job: &Job) -> anyhow::Result<Box<dyn Launched>> {
        let mut job = job.clone();
        (self.alter)(&mut job);
        let (launched, seen) = (self.vm.launch(&job)?, self.seen.clone());
        Ok(Box::new(Looking { launched, images: self.vm.images.clone(), seen }))
    }
}

struct Looking {
    launched: Box<dyn Launched>,
    images: PathBuf,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Launched for Looking {
    fn next(&mut self, wait: Duration) -> Next {
        let next = self.launched.next(wait);
        if let Next::Event(Stamped { event: Event::Stepped(stepped), .. }) = &next
            && stepped.step == StepName::ProbesOff
        {
            *self.seen.lock().unwrap() = image_of_ours(&self.images);
        }
        next
    }
    fn provenance(&self) -> BTreeMap<String, String> {
        self.launched.provenance()
    }
    fn stop(&mut self) {
        self.launched.stop();
    }
    fn end(self: Box<Self>) -> Ended {
        self.launched.end()
    }
}

/// The content of the image that this process holds, which has no name.
fn image_of_ours(folder: &Path) -> Vec<u8> {
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten().map(|entry| entry.path());
    let is_image = |path: &PathBuf| fs::read_link(path).is_ok_and(|target| target.starts_with(folder));
    let image = open.into_iter().find(is_image).expect("an image of ours");
    let mut bytes = Vec::new();
    File::open(image).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

fn has(bytes: &[u8], words: &[u8]) -> bool {
    bytes.windows(words.len()).any(|window| window == words)
}

#[test]
fn what_lies_on_an_encrypted_disk_is_not_what_was_written() {
    let Some(_guests) = guests("crypt in guests") else { return };
    let images = image_folder();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let testbed = Watched { vm: vm(images.path(), 1), alter: |_| (), seen: seen.clone() };
    // A folder's name, as every new filesystem of this kind has it.
    const NAME: &[u8] = b"lost+found";
    let size = 32 * MIB;
    for (layers, is_plain) in [(&[][..], true), (&["crypt"][..], false), (&["crypt:sector=4096"][..], false)]
    {
        let records = proved("\"ext4\"", size, layers, &testbed);
        // On a busy machine a trial may be void and repeated.
        let record = records.last().expect("a trial");
        assert_eq!(record.outcome, Outcome::Done, "{layers:?}: {}", record.why());
        let bytes = std::mem::take(&mut *seen.lock().unwrap());
        assert_eq!((bytes.len() as u64, has(&bytes, NAME)), (size, is_plain), "{layers:?}");
        let written = counter(record, "block_io", "bytes_written");
        let top = counted(record, "block_io", "top_bytes_written");
        // No byte more or less, and the same flushes.
        assert_eq!(top, (!is_plain).then_some(written), "{layers:?}");
        assert!(counter(record, "block_io", "flushes") > 0, "{layers:?}");
        assert_eq!(record.top.as_ref().map(|top| top.bytes), (!is_plain).then_some(Bytes(size)));
    }
}

/// Of two layers the second has no module in one of the guests: what the first has built is taken down, and the next trial has both.
#[test]
fn a_layer_that_fails_in_the_middle_fails_its_trial_alone_and_is_taken_down() {
    let Some(_guests) = guests("a layer that fails") else { return };
    let images = image_folder();
    let alter = |job: &mut Job| {
        if job.trial.ends_with("ext2") {
            job.modules.retain(|module| module != "dm-crypt");
        }
    };
    let testbed = Watched { vm: vm(images.path(), 2), alter, seen: Arc::default() };
    let records = proved("\"ext4\", \"ext2\"", 32 * MIB, &["md:raid1", "crypt"], &testbed);
    assert_eq!(records.len(), 2, "{records:?}");
    let [failed, done] = ["ext2", "ext4"].map(|name| records.iter().find(|r| r.filesystem == name).unwrap());
    assert_eq!((failed.outcome, done.outcome), (Outcome::Failed, Outcome::Done), "{}", done.why());
    let why = failed.why();
    assert!(
        why.contains("reset: build of the layer crypt:cipher=aes-xts-plain64,sector=512 failed"),
        "{why}"
    );
    assert!(why.contains("dmsetup create") && !why.contains("take down"), "{why}");
    assert!(failed.mounted.is_none() && failed.top.is_none());
    assert!(fs::read_dir(images.path()).unwrap().next().is_none(), "an image was left");
}
