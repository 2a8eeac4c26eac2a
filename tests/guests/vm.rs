//! Guests: every filesystem in one, and what becomes of a trial whose guest dies, hangs or is killed. As any user.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::support::carry::cut;
use crate::support::quiet::{Quiet, has_guests};
use crate::support::scripted::machine;
use crate::support::{copy_program, fsderby, image_folder, skipped};
use fsderby::agent::Mishap;
use fsderby::filesystems::KernelNeed;
use fsderby::guest::kernel;
use fsderby::probes;
use fsderby::runner::execute::rounds::Runner;
use fsderby::runner::experiment::Experiment;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::runner::preflight::skips::skips;
use fsderby::runner::verify::verify;
use fsderby::schema::event::Event;
use fsderby::schema::job::{Job, Purpose, StepName};
use fsderby::schema::plan::{Plan, Rounds};
use fsderby::schema::reason::Outcome;
use fsderby::schema::record::Record;
use fsderby::schema::setup::{Named, Volume};
use fsderby::store::{self, Folder};
use fsderby::testbeds::vm::Vm;
use fsderby::testbeds::{
    Ended, Launched, Missing, Need, Next, Stamped, StorageRequest, Testbed, TestbedTraits, Testbeds,
};

/// Guests one after another: two at a time would only wait for each other, and a test finds its guest by there being one.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The right to start guests; `None`, and said, where there can be none.
fn guests(what: &str) -> Option<MutexGuard<'static, ()>> {
    has_guests(what).then(|| ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner))
}

fn vm(images: &Path) -> Vm {
    let mut vm: Vm = format!("images={}", images.display()).parse().unwrap();
    vm.starts.agent = env!("CARGO_BIN_EXE_fsderby").into();
    vm
}

/// A small go on this testbed: these filesystems, one workload.
fn plan(filesystems: &str, testbed: &dyn Testbed) -> Plan {
    let text = format!(
        "name = \"vm\"\nsize = \"512m\"\nmemory = \"64m\"\nworkloads = [\"maildir-durable\"]\nfilesystems = [{filesystems}]\n\
         rounds = 1\nseed = 7\nscale = \"1/64\"\n"
    );
    Experiment::parse(&text, "test").unwrap().plan(testbed.name(), 1).unwrap()
}

/// Each of these filesystems proved once on this testbed, and no round.
fn proved(filesystems: &str, testbed: &dyn Testbed) -> Vec<Record> {
    compared(Plan { rounds: Rounds::Exactly(0), ..plan(filesystems, testbed) }, testbed)
}

fn compared(plan: Plan, testbed: &dyn Testbed) -> Vec<Record> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let testbeds = Testbeds::one(testbed);
    let mut folder = Folder::create(&path, &plan, &machine(&plan, &testbeds)).unwrap();
    let before = store::read(&path).unwrap();
    let plan = Resolved::of(&plan).unwrap();
    testbed.ready(&fsderby::runner::plan::jobs::need(&plan)).unwrap();
    let skips = skips(&plan, &testbeds);
    let stop = AtomicBool::new(false);
    Runner {
        plan: &plan,
        testbeds: &testbeds,
        folder: &mut folder,
        skips: &skips,
        watch: &mut Quiet,
        jobs: 1,
        stop: &stop,
    }
    .run(&before)
    .unwrap();
    store::read(&path).unwrap().records
}

#[test]
fn after_a_power_cut_what_was_synced_is_there_and_the_filesystem_serves_again() {
    let Some(_guests) = guests("power cuts") else { return };
    let images = image_folder();
    let testbed = vm(images.path());
    // One that replays a journal, one that is repaired first, one that is served by a daemon.
    let plan = plan("\"ext4\", \"ext2\", \"ntfs-3g\"", &testbed);
    let records = compared(cut(plan, "80%"), &testbed);
    for record in records.iter().filter(|r| r.purpose == Purpose::Measure) {
        let (name, reason) = (&record.filesystem, &record.reason);
        assert_eq!(record.outcome, Outcome::Done, "{name}: {reason:?}");
        let seen = record.survivors.as_ref().unwrap();
        assert!(seen.files > 3 && seen.names_promised && seen.lost.is_empty(), "{name}: {seen:?}");
        let done: u64 = record.phases().map(|p| p.count("transactions")).sum();
        let created = record.phases().find(|p| p.name == "create").map(|p| p.count("created"));
        assert_eq!((created, done), (Some(14), 0), "{name}: 80 % of 14 files and 3 transactions");
        assert_eq!(record.step_ns(StepName::Repair).is_some(), name != "ext4");
        assert!(
            record.step_ns(StepName::MountAgain).is_some() && record.step_ns(StepName::FirstFile).is_some()
        );
        assert!(record.metric("recovery.time").is_some_and(|m| m.value > 0.0), "{name}");
        let drift_ms = record.circumstances.clock_drift_ns.abs() / 1_000_000;
        assert!(drift_ms < 1000, "two machines are not one clock: {drift_ms} ms");
    }
    assert_eq!(records.iter().filter(|r| r.purpose == Purpose::Measure).count(), 3, "{records:?}");
    assert!(std::fs::read_dir(images.path()).unwrap().next().is_none(), "an image was left");
}

/// A testbed on which some filesystems' guests come to grief.
struct Perilous {
    well: Vm,
    panics: Vm,
    hangs: Vm,
}

impl Perilous {
    fn meets(&self, job: &Job) -> (&Vm, bool) {
        match job.trial.rsplit('/').next() {
            Some("exfat") => (&self.panics, false),
            Some("ext2") => (&self.hangs, false),
            Some("fat32") => (&self.well, true),
            _ => (&self.well, false),
        }
    }
}

impl Testbed for Perilous {
    fn name(&self) -> String {
        self.well.name()
    }
    fn traits(&self) -> TestbedTraits {
        self.well.traits()
    }
    fn ready(&self, need: &Need) -> Result<(), Missing> {
        self.well.ready(need)
    }
    fn serves(&self, kernel: &KernelNeed) -> Result<(), Missing> {
        self.well.serves(kernel)
    }
    fn tool(&self, program: &str) -> Result<(), Missing> {
        self.well.tool(program)
    }
    fn storage(&self, request: &StorageRequest) -> (Named, Volume) {
        self.well.storage(request)
    }
    fn folder(&self) -> &Path {
        self.well.folder()
    }
    fn launch(&self, job: &Job) -> anyhow::Result<Box<dyn Launched>> {
        let (vm, is_killed) = self.meets(job);
        let launched = vm.launch(job)?;
        Ok(if is_killed { Box::new(Killed(launched)) } else { launched })
    }
}

/// Its QEMU is killed when the work begins.
struct Killed(Box<dyn Launched>);

impl Launched for Killed {
    fn next(&mut self, wait: Duration) -> Next {
        let next = self.0.next(wait);
        if let Next::Event(Stamped { event: Event::Step { step, .. }, .. }) = &next
            && *step == StepName::Work
        {
            let qemu = qemu_of(std::process::id()).expect("a QEMU of ours");
            let pid = rustix::process::Pid::from_raw(qemu.cast_signed()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        next
    }
    fn provenance(&self) -> BTreeMap<String, String> {
        self.0.provenance()
    }
    fn stop(&mut self) {
        self.0.stop();
    }
    fn end(self: Box<Self>) -> Ended {
        self.0.end()
    }
}

/// The QEMU that this process started.
fn qemu_of(parent: u32) -> Option<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut pids = processes.filter_map(|p| p.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let Some((name, rest)) = stat.rsplit_once(')') else { return false };
        name.contains("(qemu-system") && rest.split_whitespace().nth(1) == Some(&parent.to_string())
    })
}

#[test]
fn a_guest_that_panics_fails_one_that_hangs_or_is_killed_is_void_and_the_rest_goes_on() {
    let Some(_guests) = guests("guests that come to grief") else { return };
    let images = image_folder();
    let mut testbed =
        Perilous { well: vm(images.path()), panics: vm(images.path()), hangs: vm(images.path()) };
    testbed.panics.mishap = Some(Mishap::Panic);
    testbed.hangs.mishap = Some(Mishap::Hang);
    testbed.hangs.silence = Duration::from_secs(20);
    let records = proved("\"exfat\", \"ext2\", \"fat32\", \"ext4\"", &testbed);
    for (label, outcome, attempts, words) in [
        ("exfat", Outcome::Failed, 1, "during work: kernel message in the guest: "),
        ("exfat", Outcome::Failed, 1, "Kernel panic"),
        ("ext2", Outcome::Void, 3, "during work: the guest hung: no output for 20 s"),
        ("fat32", Outcome::Void, 3, "during work: QEMU exited: signal: 9"),
        ("ext4", Outcome::Done, 1, ""),
    ] {
        let tried: Vec<&Record> = records.iter().filter(|r| r.filesystem == label).collect();
        assert_eq!(tried.len(), attempts, "{label}");
        for record in tried {
            assert_eq!(record.outcome, outcome, "{label}: {}", record.why());
            assert!(record.why().contains(words), "{label}: {}", record.why());
        }
    }
}

#[test]
fn a_killed_run_takes_its_guest_along() {
    let Some(_guests) = guests("a killed run with a guest") else { return };
    let (images, results) = (image_folder(), tempfile::tempdir().unwrap());
    let mut run = small_run(fsderby(), images.path(), &results.path().join("run")).spawn().unwrap();
    let qemu = wait_for(|| qemu_of(run.id()));
    run.kill().unwrap();
    run.wait().unwrap();
    if let Some(qemu) = qemu {
        wait_for(|| (!Path::new(&format!("/proc/{qemu}")).exists()).then_some(())).expect("QEMU lives on");
    }
    assert!(qemu.is_some(), "no guest was started");
    assert!(std::fs::read_dir(images.path()).unwrap().next().is_none(), "an image was left");
}

fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(30) {
        if let Some(found) = look() {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

fn small_run(mut command: std::process::Command, images: &Path, output: &Path) -> std::process::Command {
    command.args([
        "run",
        "quick",
        "--filesystems",
        "ext4",
        "--workloads",
        "postmark-quick",
        "--scale",
        "1/64",
    ]);
    // With other seeds so small a PostMark may run out of files, and in less memory a build for tests does not start as init.
    command.args(["--memory", "48m", "--rounds", "1", "--seed", "3", "--size", "256m", "--quiet", "--on"]);
    command.arg(format!("vm:images={}", images.display())).arg("--output").arg(output);
    command
}

/// As root this becomes nobody, with a copy of the cache that nobody can read.
#[test]
fn an_ordinary_user_races_in_a_guest() {
    let Some(_guests) = guests("a guest of an ordinary user") else { return };
    let folder = tempfile::Builder::new().prefix("fsderby-test-").tempdir_in("/var/tmp").unwrap();
    let mut command = fsderby();
    if crate::support::is_root() {
        let Some(program) = for_nobody(folder.path()) else { return };
        command = std::process::Command::new(program);
        command.uid(NOBODY).gid(NOBODY).env("XDG_CACHE_HOME", folder.path());
    }
    let output = small_run(command, folder.path(), &folder.path().join("run")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let run = store::read(&folder.path().join("run")).unwrap();
    let whys: Vec<String> = run.records.iter().map(Record::why).collect();
    // On a busy machine a trial may be void and repeated.
    assert!(run.current().iter().all(|r| r.outcome == Outcome::Done), "{whys:?} {errors}");
}

const NOBODY: u32 = 65534;

/// A copy of the program and of the newest kernel, and all of it nobody's.
fn for_nobody(folder: &Path) -> Option<PathBuf> {
    let kernel = kernel::find(None)?;
    let from = kernel.image().parent()?.to_owned();
    let to = folder.join("fsderby/kernels").join(&kernel.index.release);
    std::fs::create_dir_all(to.join("modules")).unwrap();
    for part in ["image", "index.json", "index.blake3"] {
        std::fs::copy(from.join(part), to.join(part)).unwrap();
    }
    for module in std::fs::read_dir(from.join("modules")).unwrap().flatten() {
        std::fs::copy(module.path(), to.join("modules").join(module.file_name())).unwrap();
    }
    let program = folder.join("program");
    copy_program(&program);
    for path in [folder, &folder.join("fsderby")] {
        std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    Some(program)
}

#[test]
fn without_a_kernel_the_error_says_what_brings_one() {
    let empty = tempfile::tempdir().unwrap();
    let output = fsderby().args(["run", "--on", "vm"]).env("XDG_CACHE_HOME", empty.path()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("fsderby kernel fetch") || errors.contains("qemu-system-x86"), "{errors}");
}

#[test]
fn what_is_no_package_does_not_enter_the_cache() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernel.deb");
    std::fs::write(&file, "this is no package").unwrap();
    let mut command = fsderby();
    command.args(["kernel", "fetch"]).arg(&file).env("XDG_CACHE_HOME", folder.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let kept = std::fs::read_dir(folder.path().join("fsderby/kernels")).unwrap().count();
    assert_eq!(kept, 0);
}

/// Whether a kernel of each of these series is in the cache; says which is not.
fn has_kernels(series: &[&str]) -> bool {
    let missing = series.iter().find(|series| kernel::find(Some(series)).is_none());
    if let Some(series) = missing {
        skipped(
            "two kernels in one run",
            &format!("there is no kernel {series} (fsderby kernel fetch {series})"),
        );
    }
    missing.is_none()
}

#[test]
fn a_kernel_that_is_written_in_two_ways_is_one_candidate() {
    let Some(newest) = kernel::find(None).filter(|_| has_guests("kernels by series and by release")) else {
        return;
    };
    let release = newest.index.release;
    let series = release.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    let mut command = fsderby();
    command.args(["run", "quick", "--filesystems", "ext4", "--on", "vm", "--dry-run"]);
    let output = command.args(["--kernel", &series, "--kernel", &release]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("would be the same candidate twice") && errors.contains(&release), "{errors}");
}

#[test]
fn two_kernels_with_cpus_of_their_own_take_turns_in_one_run() {
    let Some(_guests) = guests("two kernels in one run") else { return };
    if !has_kernels(&["6.1", "6.12"]) {
        return;
    }
    // No guest gets more than this machine has.
    let cpus = std::thread::available_parallelism().map_or(1, usize::from).min(2) as u32;
    let (images, folder) = (image_folder(), tempfile::tempdir().unwrap());
    let path = folder.path().join("run");
    let mut command = fsderby();
    command.args(["run", "quick", "--filesystem", "ext4 label=old kernel=6.1", "--filesystem"]);
    command.arg(format!("ext4 label=new kernel=6.12 cpus={cpus}"));
    command.args(["--workloads", "maildir-durable", "--scale", "1/64", "--rounds", "2", "--size", "256m"]);
    command
        .args(["--memory", "64m", "--quiet", "--on"])
        .arg(format!("vm:images={}", images.path().display()));
    let output = command.arg("--output").arg(&path).output().unwrap();
    // The report on stdout names the trials that did not count.
    assert!(output.status.success(), "{output:?}");
    let run = store::read(&path).unwrap();
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
    assert_eq!(run.machine.setups.len(), 2, "{:?}", run.machine.setups);
    for record in run.current() {
        let (series, own) = if record.filesystem == "old" { ("6.1.", None) } else { ("6.12.", Some(cpus)) };
        assert_eq!((record.outcome, record.cpus), (Outcome::Done, own), "{}: {}", record.trial, record.why());
        assert!(record.kernel.starts_with(series), "{}: {}", record.trial, record.kernel);
        // The guest's own count of its CPUs' time over that of the work.
        let [began, ended] = record.window_ns().unwrap();
        let seen = probes::counted(record, "cpu", "machine_cpus_ns").unwrap() as f64 / (ended - began) as f64;
        assert!((seen - f64::from(own.unwrap_or(1))).abs() < 0.5, "{}: {seen} CPUs", record.trial);
    }
    for round in [1, 2] {
        let turns = run.records.iter().filter(|r| r.round == round).map(|r| r.filesystem.as_str());
        assert_eq!(turns.collect::<std::collections::BTreeSet<_>>().len(), 2, "round {round} has both");
    }
    let text = String::from_utf8_lossy(&output.stdout);
    for words in ["Differences between the candidates", "6.1.0-", "6.12."] {
        assert!(text.contains(words), "{words} in {text}");
    }
}
