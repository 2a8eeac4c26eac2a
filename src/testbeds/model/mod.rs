//! `model:DISK`: real filesystems in a real kernel on a modelled disk, in virtual time.
//!
//! ```text
//! kernel, tools, job, disk ─▶ QEMU, its clock counting instructions, nothing of the host in reach
//!                               └─ guest: fsderby as init ─┬─ trial
//!                                                          └─ disk: a model, sectors in memory
//!                             memory: a file of ours ──▶ events and requests, read from outside
//! ```
//! A slow or busy host only prolongs the wait; it does not change results.

pub mod disks;
mod files;
mod guest;
mod launch;
mod machine;
pub mod machines;
mod memory;
mod monitor;
mod snapshot;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context;
use fsderby_diskmodel::{End, Factor, Point, Sample, Spec};
use fsderby_stats::screening;

use self::guest::Guest;
use self::launch::{Boot, Found, Parts};
use self::machines::Machine as Stands;
use self::memory::{has_room, memory};
use super::guests::{self, Guests, StartsFrom};
use super::power::PowerCut;
use super::vm;
use super::vm::machine::{PACKAGE, QEMU};
use super::{
    Fidelity, Kept, Launched, Missing, Need, StorageRequest, Testbed, TestbedKind, TestbedTraits, rehearsal,
};
use crate::agent::Mishap;
use crate::filesystems::KernelNeed;
use crate::guest::initramfs::{Bases, Origin};
use crate::guest::kernel::Kernel;
use crate::host::programs;
use crate::schema::description::Description;
use crate::schema::job::Job;
use crate::schema::request::MOST;
use crate::schema::setup::{ClockKind, Modelled, Named, Volume};
use crate::schema::units::{Bytes, MIB};
use crate::storage::disk;
use crate::storage::disk::handover;
use crate::storage::disk::layout::{ADDRESSES, Layout};
use crate::workloads::programs as programs_of_works;

/// The module that provides the disk.
const BOOT: [&str; 1] = ["ublk_drv"];

/// A guest that used this much host CPU without an event or a disk request spins.
const SPINS: Duration = Duration::from_secs(1800);

/// The default disk: a current disk, which is so slow that the CPU time of the disk server hardly matters.
const DISK: &str = "hdd-16tb";

/// The setting with which every round uses the same disk.
const SAMPLES_OFF: &str = "samples=off";

pub struct ModelKind;

impl TestbedKind for ModelKind {
    fn name(&self) -> &'static str {
        "model"
    }

    fn brought_by(&self) -> Option<(&'static str, &'static str)> {
        Some((QEMU, PACKAGE))
    }

    fn boots_with(&self) -> &'static [&'static str] {
        &BOOT
    }

    fn usage(&self) -> &'static str {
        "model[:DISK,disks=N,offset=SIZE,cache=write-through,machine=MACHINE,mips=N,samples=off,kernel=RELEASE,guest=ID]"
    }

    fn description(&self) -> Description {
        Description {
            what: "A virtual machine with a stock kernel and a simulated disk, in virtual time. The guest's clock is \
                   QEMU's instruction count; idle time is skipped. The disk model runs inside the guest. Two runs \
                   give identical figures, to the nanosecond, if both use x86-64, the same QEMU and the same guest \
                   bundle (kernel and programs); host load does not matter. DISK is a name from `fsderby list disks` \
                   (default hdd-16tb), or the path of a TOML file that describes a disk. The setting disks=N is the \
                   number of these disks (default: 1); offset=SIZE is where the volume begins on each disk. MACHINE \
                   is a name from `fsderby list machines`, or the path of a TOML file that describes a machine \
                   (default: the machine given in the disk's file); mips=N sets another CPU speed. Needs no root.",
            origin: "QEMU's -icount runs Debian's kernel 6.12, which `fsderby kernel fetch` downloads. The files \
                     disks/*.toml and machines/*.toml describe disks and machines, with the source of each value.",
            limits: "Some properties of the real disk are unknown. So by default each round uses another sample \
                     (variant) of the model. Samples differ in the disk's unknown properties, the volume's position \
                     and the CPU speed. Trust a difference only if it holds in all samples. In the model, every \
                     instruction takes the same time. CPU caches, memory latency and parallel CPUs are not modelled, \
                     and the disk model uses the guest's only vCPU. The CPU speed can be set to 100 to 8000 million \
                     instructions per second. Most samples run at half or twice the set speed, to show whether a finding \
                     depends on the CPU speed.",
        }
    }

    fn makes_filesystem(&self) -> bool {
        true
    }

    fn scatters(&self) -> bool {
        false
    }

    fn samples(&self, argument: Option<&str>) -> bool {
        argument.is_none_or(|argument| argument.split(',').all(|setting| setting != SAMPLES_OFF))
    }

    fn example(&self, _folder: &Path, disks: usize) -> Option<String> {
        Some(format!("model:{DISK},disks={disks}"))
    }

    fn machine(&self, argument: Option<&str>) -> Option<String> {
        let disk = argument.unwrap_or(DISK).split(',').next()?;
        let spec = Spec::parse(&disks::text(disk).ok()?).ok()?;
        Some(spec.machine().unwrap_or(machines::USUAL).to_owned())
    }

    fn with_machine(&self, argument: Option<&str>, machine: &str) -> Option<String> {
        let settings = argument.unwrap_or(DISK);
        let names_one = |setting: &str| setting.starts_with("machine=") || setting.starts_with("mips=");
        (!settings.split(',').any(names_one)).then(|| format!("{settings},machine={machine}"))
    }

    fn with(&self, argument: Option<&str>) -> Result<Box<dyn Testbed>, String> {
        Ok(Box::new(argument.unwrap_or(DISK).parse::<Model>()?))
    }
}

pub struct Model {
    /// The disk as the user wrote it: a shipped disk's name, or the path of a TOML file.
    disk: String,
    spec: Spec,
    text: String,
    disks: u32,
    offset: Bytes,
    /// Whether the disk's volatile cache is switched off.
    write_through: bool,
    /// The machine as the user wrote it; `None` for the machine that the disk's file names.
    machine: Option<String>,
    stands: Stands,
    /// A speed in million instructions per second, if it is not the machine's.
    mips: Option<u32>,
    /// Whether every round has another sample: another variant of the disk, the volume's position and the CPU's speed.
    samples: bool,
    /// A guest that used this much host CPU without an event spins.
    pub patience: Duration,
    /// A limit of virtual time for each step, instead of the job's.
    pub limit: Option<Duration>,
    pub mishap: Option<Mishap>,
    /// Where the disks of the next trial are kept.
    kept: Option<Arc<Kept>>,
    pub starts: StartsFrom,
    bases: Bases,
    found: OnceLock<Option<Found>>,
}

impl std::str::FromStr for Model {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let disk = parts
            .next()
            .filter(|d| !d.is_empty())
            .ok_or_else(|| format!("--on model needs a disk; write {}", ModelKind.usage()))?;
        let text = disks::text(disk)?;
        let spec = Spec::parse(&text).map_err(|e| format!("could not parse the disk {disk}: {e}"))?;
        let usual = spec.machine().unwrap_or(machines::USUAL).to_owned();
        let stands = Stands::find(&usual)
            .map_err(|e| format!("could not use the machine that the disk {disk} names: {e}"))?;
        let mut model = Model {
            disk: disk.to_owned(),
            spec,
            text,
            disks: 1,
            offset: Bytes(0),
            write_through: false,
            machine: None,
            stands,
            mips: None,
            samples: true,
            patience: SPINS,
            limit: None,
            mishap: None,
            kept: None,
            starts: StartsFrom::default(),
            bases: Bases::new(&BOOT),
            found: OnceLock::new(),
        };
        let (mut guest, mut kernel) = (None, None);
        for setting in parts {
            match setting.split_once('=') {
                Some(("offset", offset)) => {
                    model.offset = offset.parse().map_err(|e| format!("offset: {e}"))?
                }
                Some(("disks", disks)) => {
                    let number = disks.parse().ok().filter(|n| (1..=u32::from(MOST)).contains(n));
                    model.disks =
                        number.ok_or_else(|| format!("disks={disks}: a machine has 1 to {MOST} disks"))?;
                }
                Some(("cache", "write-through")) if !model.spec.has_volatile_cache() => {
                    return Err(format!("{setting}: the disk {disk} has no volatile cache to switch off"));
                }
                Some(("cache", "write-through")) => model.write_through = true,
                Some(("mips", mips)) => {
                    let number = mips.parse().map_err(|_| format!("mips={mips} is not a whole number"))?;
                    machines::check_speed(number)?;
                    model.mips = Some(number);
                }
                Some(("machine", machine)) => {
                    model.stands = Stands::find(machine)?;
                    model.machine = Some(machine.to_owned()).filter(|machine| *machine != usual);
                }
                _ if setting == SAMPLES_OFF => model.samples = false,
                Some(("samples", "on")) => {}
                Some(("kernel", release)) => kernel = Some(release),
                Some(("guest", id)) => guest = Some(id),
                _ => {
                    return Err(format!(
                        "--on model has no setting '{setting}'; write {}",
                        ModelKind.usage()
                    ));
                }
            }
        }
        if model.offset > model.disk() {
            return Err(format!("offset={} is beyond the end of the disk of {}", model.offset, model.disk()));
        }
        if !model.offset.0.is_multiple_of(MIB) {
            return Err(format!("offset={} is not a whole number of MiB", model.offset));
        }
        model.starts = StartsFrom::of(guest, kernel)?;
        Ok(model)
    }
}

impl Model {
    fn found(&self) -> Option<&Found> {
        let look = || {
            let qemu = programs::find(QEMU)?;
            let qemu_blake3 = blake3::hash(&std::fs::read(&qemu).ok()?).to_hex().to_string();
            Some(Found { qemu, qemu_blake3, kernel: self.starts.find_kernel()? })
        };
        self.found.get_or_init(look).as_ref()
    }

    /// A round's sample: the nominal disk, then the rows of the screening design, then the same folded, then all again with other
    /// seeds. A corner has the first round's seed.
    fn sample(&self, request: &StorageRequest) -> Sample {
        let n = if self.samples { request.round.saturating_sub(1) } else { 0 };
        let row = (n as usize % (2 * screening::RUNS + 1)).checked_sub(1);
        let of_round = row.map_or(Point::NOMINAL, |row| Point::corner(screening::row(row)));
        self.spec.sample(request.corner.unwrap_or(of_round), request.seed, n)
    }

    /// Whether the guest stops in the job's initial state: not for a power cut, which takes the disks as they are laid out from the
    /// start, nor for programs, for which a guest is furnished before its first step, nor if an older agent knows nothing of it.
    fn pauses(&self, job: &Job) -> bool {
        let starts_programs = job.works.iter().any(|work| programs_of_works::starts(&work.work));
        self.starts.pauses() && !job.loses_power() && !starts_programs
    }

    fn mips(&self) -> u32 {
        self.mips.unwrap_or(self.stands.values.mips.is)
    }

    /// The end of this factor's range in a sample; `None` for the nominal value.
    fn end(&self, sample: &Sample, factor: Factor) -> Option<End> {
        let level = sample.levels.of(factor)?;
        let factors = self.spec.factors();
        Some(factors.iter().find(|range| range.factor == factor)?.end(level))
    }

    fn speed(&self, sample: &Sample) -> u32 {
        match self.end(sample, Factor::Cpu) {
            Some(End::Times(times, of)) => (u64::from(self.mips()) * times / of) as u32,
            _ => self.mips(),
        }
    }

    /// The offset of a volume of this size, in whole mebibytes: shifted by a share of the disk, at most to its end.
    fn place(&self, sample: &Sample, volume: Bytes) -> Bytes {
        let Some(End::Moved(permille)) = self.end(sample, Factor::Position) else { return self.offset };
        let mebibytes = |bytes: u64| (bytes / MIB).cast_signed();
        let last = mebibytes(self.disk().0.saturating_sub(volume.0));
        let shift = mebibytes(self.disk().0) * i64::from(permille) / 1000;
        Bytes((mebibytes(self.offset.0) + shift).clamp(0, last.max(0)).unsigned_abs() * MIB)
    }

    fn disk(&self) -> Bytes {
        Bytes(self.spec.sectors() * 512)
    }
}

impl Guests for Model {
    fn starts(&self) -> &StartsFrom {
        &self.starts
    }

    fn starts_mut(&mut self) -> &mut StartsFrom {
        &mut self.starts
    }

    fn boots(&self) -> Option<&Kernel> {
        self.found().map(|found| &found.kernel)
    }
}

impl Testbed for Model {
    fn name(&self) -> String {
        let mut name = format!("model:{}", self.disk);
        let mut say = |text: String| name += &format!(",{text}");
        if self.disks != 1 {
            say(format!("disks={}", self.disks));
        }
        if self.offset.0 > 0 {
            say(format!("offset={}", self.offset.written()));
        }
        if self.write_through {
            say("cache=write-through".into());
        }
        if let Some(machine) = &self.machine {
            say(format!("machine={machine}"));
        }
        if let Some(mips) = self.mips.filter(|mips| *mips != self.stands.values.mips.is) {
            say(format!("mips={mips}"));
        }
        if !self.samples {
            say(SAMPLES_OFF.into());
        }
        if let Some(release) = &self.starts.kernel {
            say(format!("kernel={release}"));
        }
        if let Some(id) = self.starts.bundle_id() {
            say(format!("guest={id}"));
        }
        name
    }

    fn traits(&self) -> TestbedTraits {
        TestbedTraits {
            clock: ClockKind::Virtual,
            fidelity: Fidelity::Model,
            guest: true,
            limits_memory: true,
            loses_power: true,
        }
    }

    fn ready(&self, need: &Need) -> Result<(), Missing> {
        self.starts.find_bundle()?;
        let kernel = self.found().map(|found| &found.kernel);
        let disks = self.disks + u32::from(need.source);
        let layout = Layout::new(need.size, disks, need.power_cut);
        if !layout.is_addressable() {
            let twice = if need.power_cut { ", stored twice for a power cut," } else { "" };
            let what = format!(
                "the sectors of {disks} disks of {size} each{twice} exceed the {limit} that a guest can \
                 address",
                size = need.size,
                limit = Bytes(ADDRESSES)
            );
            return Err(Missing { what, try_this: "a smaller --size, or fewer disks".into() });
        }
        let machine = memory(need.memory, layout);
        vm::guest_ready("model", self.starts.kernel.as_deref(), kernel, need, machine)?;
        has_room(need.content, layout, Bytes(vm::available()))?;
        if let Some(index) = kernel.map(|kernel| &kernel.index)
            && let Err(lacks) = index.modules.chain(BOOT)
        {
            let what =
                format!("the kernel {kernel} cannot run the disk model: {lacks}", kernel = index.release);
            return Err(Missing {
                what,
                try_this: "--on vm, or a newer kernel (fsderby kernel fetch)".into(),
            });
        }
        let disk = self.disk();
        if self.offset.0.saturating_add(need.size.0) > disk.0 {
            let what = format!(
                "a volume of {} at offset {} does not fit on the disk of {disk}",
                need.size, self.offset
            );
            return Err(Missing { what, try_this: "a smaller --size or offset".into() });
        }
        Ok(())
    }

    fn serves(&self, need: &KernelNeed) -> Result<(), Missing> {
        guests::modules_missing(self.found().map(|found| &found.kernel), need)
    }

    fn tool(&self, program: &str) -> Result<(), Missing> {
        guests::tool(self.starts.bundle(), program)
    }

    fn disks(&self) -> usize {
        self.disks as usize
    }

    fn storage(&self, request: &StorageRequest) -> (Named, Volume) {
        let sample = self.sample(request);
        let modelled = Modelled {
            disk: self.spec.name().to_owned(),
            blake3: blake3::hash(self.text.as_bytes()).to_hex().to_string(),
            mips: request.cost.mips(self.speed(&sample)),
            sample,
            ensemble: self.samples,
            guest_seed: request.seed ^ u64::from(request.round) ^ (u64::from(request.reseeded) << 32),
            disks: self.disks,
            machine: self.stands.name.clone(),
            instructions: self.stands.values.instructions.is.clone(),
            source: request.source,
            server_work: request.server_work,
            write_through: self.write_through,
            preconditioned: request.preconditioned,
        };
        let volume = Volume { size: request.size, offset: self.place(&sample, request.size) };
        (disk::named(&modelled), volume)
    }

    fn kernel(&self) -> Option<(String, String)> {
        let index = &self.found()?.kernel.index;
        Some((index.release.clone(), format!("BLAKE3 {}", index.image_blake3)))
    }

    fn has_cpus(&self, cpus: u32) -> Result<(), Missing> {
        match cpus {
            1 => Ok(()),
            _ => Err(Missing {
                what: format!("--on model has one vCPU; {cpus} vCPUs are not possible"),
                try_this: "--on vm, or without --cpus".into(),
            }),
        }
    }

    fn preconditions(&self) -> Result<(), Missing> {
        match self.spec.preconditioned() {
            Some(_) => Ok(()),
            None => Err(Missing {
                what: format!(
                    "{disk} is not a flash disk with a mapping layer, so overwriting does not change its \
                     speed",
                    disk = self.disk
                ),
                try_this: "--on model:samsung-pm9a3-1920, or without --state preconditioned".into(),
            }),
        }
    }

    fn programs(&self) -> &'static [&'static str] {
        &[QEMU]
    }

    fn guests(&self) -> Option<&dyn Guests> {
        Some(self)
    }

    fn guests_mut(&mut self) -> Option<&mut dyn Guests> {
        Some(self)
    }

    fn keeps_disks(&self) -> Result<usize, Missing> {
        Ok(self.disks())
    }

    fn keep_disks(&mut self, kept: Arc<Kept>) {
        self.kept = Some(kept);
    }

    fn folder(&self) -> &Path {
        Path::new("/")
    }

    fn launch(&self, job: &Job) -> anyhow::Result<Box<dyn Launched>> {
        let modelled: Modelled = job.storage.settings().map_err(anyhow::Error::msg)?;
        let found = self.found().context("QEMU or the kernel is missing")?;
        // The guest must receive only data that is equal in every run; it sees its CPU itself.
        let mut job = job.for_guest();
        if let Some(limit) = self.limit {
            job.limits_seconds.values_mut().for_each(|seconds| *seconds = limit.as_secs());
        }
        job.storage =
            disk::named(&Modelled { machine: String::new(), instructions: Vec::new(), ..modelled.clone() });
        let origin = Origin::new(&found.kernel, &self.starts.agent, self.starts.bundle());
        let base = self.bases.base(origin, &job, rehearsal::copies(&job, &self.starts.agent)?.as_deref())?;
        let (before, after) = job.lives();
        let files = |job: &Job| {
            let job = ("/job.json".to_owned(), serde_json::to_string(job)?);
            handover::encode(&vec![(disk::SPEC.to_owned(), self.text.clone()), job])
        };
        let lives = [Some(before), after].into_iter().flatten();
        let first = if self.pauses(&job) { job.until_state() } else { None };
        let first = first.as_ref().map(files).transpose()?;
        let mut lives: Vec<Boot> = lives
            .map(|job| Ok(Boot { layout: Layout::of(&job, &modelled), first: None, files: files(&job)? }))
            .collect::<anyhow::Result<_>>()?;
        let parts = Parts {
            found: found.clone(),
            base,
            limit: job.memory,
            room: lives.first().context("a job has steps")?.layout,
            mips: modelled.mips,
            instructions: modelled.instructions,
            mishap: self.mishap,
            patience: self.patience,
            snapshot: OnceLock::new(),
            takes_states: !self.starts.from_scratch,
        };
        if let Some(life) = lives.first_mut() {
            life.first = first;
        }
        let provenance = parts.provenance(&lives)?;
        let parts = Arc::new(parts);
        let mut lives = lives.into_iter();
        let first = lives.next().context("a job has steps")?;
        let kept = self.kept.clone();
        let guest = parts.start(first, None)?.made_of(provenance);
        Ok(match lives.next() {
            None => Box::new(guest.kept(kept)),
            Some(next) => {
                let restart = move |before: &Guest| Ok(parts.start(next, Some(before.left()))?.kept(kept));
                Box::new(PowerCut::new(guest, Box::new(restart)))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fsderby_diskmodel::Level;

    use super::*;
    use crate::schema::job::Cost;
    use crate::schema::setup::ImageState;
    use crate::schema::units::GIB;

    const VOLUME: Bytes = Bytes(512 * MIB);

    fn first_round() -> StorageRequest {
        StorageRequest {
            image: ImageState::Sparse,
            size: VOLUME,
            round: 1,
            seed: 7,
            source: false,
            server_work: 1,
            preconditioned: false,
            corner: None,
            reseeded: 0,
            cost: Cost::Usual,
        }
    }

    fn sampled(testbed: &str, size: Bytes, round: u32) -> (Modelled, Volume) {
        let testbed: Model = testbed.parse().expect("a testbed");
        let (storage, volume) = testbed.storage(&StorageRequest { size, round, ..first_round() });
        (storage.settings().expect("a disk is modelled"), volume)
    }

    fn offsets(testbed: &str, size: Bytes) -> Vec<u64> {
        (1..=48).map(|round| sampled(testbed, size, round).1.offset.0).collect()
    }

    #[test]
    fn integrity_checks_and_the_first_round_are_as_the_file_says() {
        for round in [0, 1] {
            let (first, volume) = sampled("diamondmax-plus-8,offset=36g", VOLUME, round);
            assert_eq!((volume.offset, first.mips), (Bytes(36 * GIB), 950));
            assert_eq!(first.sample, Sample::nominal(7));
        }
        let (fixed, volume) = sampled("diamondmax-plus-8,offset=36g,samples=off", VOLUME, 5);
        assert_eq!((volume.offset, fixed.ensemble), (Bytes(36 * GIB), false));
    }

    #[test]
    fn an_instruction_costs_a_third_more_or_less_of_what_the_round_has_and_nothing_else_changes() {
        let testbed: Model = "diamondmax-plus-8".parse().expect("a testbed");
        let at = |cost: Cost| {
            let (storage, volume) = testbed.storage(&StorageRequest { cost, ..first_round() });
            (storage.settings::<Modelled>().expect("a disk is modelled"), volume)
        };
        let (usual, place) = at(Cost::Usual);
        for (cost, mips) in [(Cost::Dear, 731), (Cost::Cheap, 1235)] {
            assert_eq!(at(cost), (Modelled { mips, ..usual.clone() }, place), "of {}", usual.mips);
        }
    }

    #[test]
    fn one_disk_has_no_number_and_several_are_named_and_of_one_sample() {
        let name = |text: &str| text.parse::<Model>().map(|model| model.name());
        for text in ["model:ssd-sata", "model:ssd-sata,disks=5,mips=250"] {
            assert_eq!(name(text.trim_start_matches("model:")), Ok(text.to_owned()));
        }
        assert_eq!(name("ssd-sata,disks=1"), Ok("model:ssd-sata".to_owned()));
        let (five, alone) = (sampled("ssd-sata,disks=5", VOLUME, 3), sampled("ssd-sata", VOLUME, 3));
        assert_eq!((five.0.disks, alone.0.disks), (5, 1));
        assert_eq!((Modelled { disks: 1, ..five.0 }, five.1), alone);
    }

    #[test]
    fn after_the_first_round_the_cpu_of_a_dozen_rounds_is_halved_as_often_as_it_is_doubled() {
        let speeds = |mips: u32| {
            let testbed = format!("diamondmax-plus-8,mips={mips}");
            let all: Vec<u32> = (1..=13).map(|round| sampled(&testbed, VOLUME, round).0.mips).collect();
            [mips, mips / 2, mips * 2].map(|speed| all.iter().filter(|mips| **mips == speed).count())
        };
        for mips in [100, 333, 500, 8000] {
            assert_eq!(speeds(mips), [1, 6, 6], "{mips}");
        }
    }

    #[test]
    fn further_rounds_fold_the_design_and_then_come_again_with_other_seeds() {
        let sample = |round| sampled("samsung-870-evo", VOLUME, round).0.sample;
        for round in 2..=13 {
            let turned = |(factor, level): (Factor, Level)| {
                (factor, if level == Level::Low { Level::High } else { Level::Low })
            };
            let folded: Vec<_> = sample(round + 12).levels.all().collect();
            assert_eq!(sample(round).levels.all().map(turned).collect::<Vec<_>>(), folded, "{round}");
        }
        let (first, again) = (sample(1), sample(26));
        assert!(first.levels == again.levels && first.seed != again.seed, "{again:?}");
    }

    #[test]
    fn a_cache_is_switched_off_where_there_is_one_that_can_be() {
        let (off, _) = sampled("samsung-870-evo,cache=write-through", VOLUME, 1);
        assert!(off.write_through && !sampled("samsung-870-evo", VOLUME, 1).0.write_through);
        let name = "hdd-16tb,cache=write-through".parse::<Model>().map(|model| model.name());
        assert_eq!(name, Ok("model:hdd-16tb,cache=write-through".to_owned()));
        for none in ["cloud-volume", "samsung-pm9a3-1920", "zero"] {
            let refused = format!("{none},cache=write-through").parse::<Model>().err().unwrap_or_default();
            assert!(refused.contains("no volatile cache"), "{none}: {refused}");
        }
    }

    #[test]
    fn a_disk_stands_in_its_machine_unless_another_is_named() {
        let stands = |text: &str| {
            let (modelled, _) = sampled(text, VOLUME, 1);
            (modelled.machine, modelled.mips, modelled.instructions.contains(&"sse4.2".to_owned()))
        };
        assert_eq!(stands("diamondmax-plus-8"), ("pentium-4-2400".into(), 950, false));
        assert_eq!(stands("diamondmax-plus-8,machine=server-2012"), ("server-2012".into(), 2400, true));
        // In either order.
        for text in ["ssd-nvme,mips=777,machine=celeron-533", "ssd-nvme,machine=celeron-533,mips=777"] {
            assert_eq!(stands(text), ("celeron-533".into(), 777, false));
            let name = text.parse::<Model>().map(|model| model.name());
            assert_eq!(name, Ok("model:ssd-nvme,machine=celeron-533,mips=777".to_owned()));
        }
        let usual = "ssd-nvme,machine=server-2024,mips=4000".parse::<Model>().map(|model| model.name());
        assert_eq!(usual, Ok("model:ssd-nvme".to_owned()));
    }

    /// In the middle, at the start, at the end, and on a disk that the volume nearly fills.
    #[test]
    fn wherever_the_window_is_moved_it_stays_on_the_disk() {
        let disk = 80_293_248 * 512;
        for (testbed, size) in [
            ("diamondmax-plus-8,offset=18g", VOLUME),
            ("diamondmax-plus-8", VOLUME),
            ("diamondmax-plus-8,offset=37g", Bytes(GIB)),
            ("diamondmax-plus-8", Bytes(38 * GIB)),
        ] {
            let all = offsets(testbed, size);
            assert!(all.iter().all(|at| at + size.0 <= disk && at.is_multiple_of(MIB)), "{testbed}: {all:?}");
            let nominal = all[0];
            let (out, further_in) = (disk / 10, disk * 3 / 10);
            let is_near = |at: &u64| (nominal.saturating_sub(out)..=nominal + further_in).contains(at);
            assert!(all.iter().all(is_near), "{testbed}: {all:?}");
            let places: BTreeSet<u64> = all.into_iter().collect();
            assert!((2..=3).contains(&places.len()), "{testbed}: {places:?}");
        }
    }

    #[test]
    fn a_window_as_large_as_the_disk_is_not_moved() {
        let all = offsets("diamondmax-plus-8", Bytes(80_293_248 * 512));
        assert!(all.iter().all(|at| *at == 0));
    }
}
