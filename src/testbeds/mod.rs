//! Testbeds: one trait, one table.
//!
//! A testbed provides a storage for the agent, launches the agent, and ends it. Nothing else.

mod auto;
mod bundled;
mod device;
mod directory;
mod guests;
mod local;
mod loop_image;
pub mod model;
mod place;
mod power;
mod rehearsal;
mod several;
mod stream;
#[cfg(feature = "full")]
mod twin;
mod usual;
pub mod vm;

pub use auto::choose;
pub use guests::{Guests, Start, start_from};
pub use place::{Place, is_directory};
pub use several::{Made, Testbeds};
pub use usual::{Usual, written_out};

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fsderby_diskmodel::Point;

use crate::devices::Watch;
pub use crate::exit::Missing;
use crate::filesystems::KernelNeed;
use crate::guest::kernel::Index;
use crate::schema::description::Description;
use crate::schema::event::Event;
use crate::schema::job::{Cost, Job};
use crate::schema::reason::Reason;
use crate::schema::setup::{ClockKind, Fidelity, ImageState, Named, Volume};
use crate::schema::units::{Bytes, MIB};
use crate::storage::layers::Layer;

/// Least memory of a trial. In a guest with less memory, mkfs and fsck run out of memory. On this machine's kernel these tools are
/// not limited, but `--scale` uses the same minimum, so that an experiment has equal memory on every testbed.
pub const LEAST_MEMORY: Bytes = Bytes(16 * MIB);

/// Every kind of testbed.
pub static TABLE: &[&dyn TestbedKind] = &[
    // One row a line.
    &loop_image::LoopKind,
    &vm::VmKind,
    &model::ModelKind,
    &directory::DirectoryKind,
    #[cfg(feature = "full")]
    &twin::TwinKind,
    &device::DeviceKind,
];

/// A kind of testbed as named in an experiment: `loop`, `directory:PATH`.
pub trait TestbedKind: Sync {
    /// A program that trials on this testbed need on this machine, with the Debian package of the program.
    fn brought_by(&self) -> Option<(&'static str, &'static str)> {
        None
    }
    /// Modules that a guest's kernel must have to start here.
    fn boots_with(&self) -> &'static [&'static str] {
        &[]
    }
    fn name(&self) -> &'static str;
    /// The syntax, with its argument.
    fn usage(&self) -> &'static str;
    fn description(&self) -> Description;
    /// Whether a filesystem is created here, rather than an existing one used.
    fn makes_filesystem(&self) -> bool;
    /// Whether the argument must name something of the user's, which nobody else can know.
    fn needs_argument(&self) -> bool {
        false
    }
    /// A testbed of this kind, as an experiment names it, that works on every machine with its programs: with images in this
    /// folder, and so many disks. `None` if only the user can name one.
    fn example(&self, _folder: &Path, _disks: usize) -> Option<String> {
        Some(self.name().to_owned()).filter(|_| !self.needs_argument())
    }
    /// The argument with images in this folder; `None` if it names a folder, or there are no images.
    fn with_images(&self, _argument: Option<&str>, _folder: &str) -> Option<String> {
        None
    }
    /// The machine that a testbed with this argument has, unless it names one; `None` if this machine, or an unknown one.
    fn machine(&self, _argument: Option<&str>) -> Option<String> {
        None
    }
    /// The argument with this machine; `None` if it names a machine or its speed, or there is no choice.
    fn with_machine(&self, _argument: Option<&str>, _machine: &str) -> Option<String> {
        None
    }
    /// Whether repeating a trial gives different figures.
    fn scatters(&self) -> bool {
        true
    }
    /// Whether every run has a candidate twice, to show the smallest difference that is credible here.
    fn is_always_guarded(&self) -> bool {
        false
    }
    /// The least memory for page cache and workload in trials with one client.
    fn least_memory(&self) -> Bytes {
        LEAST_MEMORY
    }
    /// Whether a testbed with this argument samples its disk anew in each round.
    fn samples(&self, _argument: Option<&str>) -> bool {
        false
    }
    /// Whether this setting of an argument names a place on the host, such as a folder, mount or device. Runs that differ only
    /// there are comparable.
    fn is_on_host(&self, setting: &str) -> bool {
        setting.starts_with('/')
    }
    /// The testbed with its argument, the text after the colon. The error states what to write.
    fn with(&self, argument: Option<&str>) -> Result<Box<dyn Testbed>, String>;
}

pub trait Testbed: Sync {
    /// The name in records, including the argument.
    fn name(&self) -> String;
    fn traits(&self) -> TestbedTraits;
    /// Whether this testbed is usable on this machine for these needs.
    fn ready(&self, need: &Need) -> Result<(), Missing>;
    /// Whether a kind with these kernel needs can be compared here. Asked once per filesystem; a refusal skips only that
    /// filesystem.
    fn serves(&self, kernel: &KernelNeed) -> Result<(), Missing>;
    /// Whether this tool of a filesystem is available to trials on this testbed.
    fn tool(&self, program: &str) -> Result<(), Missing>;
    /// Number of disks of a trial's storage, each of the volume's size.
    fn disks(&self) -> usize {
        1
    }
    /// A trial's storage, and the part of it given to mkfs. Pure: inspection happens in [`Testbed::ready`].
    fn storage(&self, request: &StorageRequest) -> (Named, Volume);
    /// Release and build of the kernel, if it is not this machine's.
    fn kernel(&self) -> Option<(String, String)> {
        None
    }
    /// Free space for a trial's files, where the filesystem exists already.
    fn free(&self) -> Option<Bytes> {
        None
    }
    /// Why trials no longer run in the place where the run began; checked before and after each trial.
    fn changed(&self) -> Option<Reason> {
        None
    }
    /// Whether these layers can be built on the testbed's disks, which may be `preconditioned`; `None` if it builds none.
    fn builds(&self, layers: &[Box<dyn Layer>], _preconditioned: bool) -> Option<Result<(), Missing>> {
        self.guests().map(|guests| guests.carries(layers))
    }
    /// The part of device names that makes them unique on this machine; empty in guests.
    fn owner(&self) -> String {
        String::new()
    }
    /// Begins to watch the real drives below a trial; none if there are none of its own.
    fn watched(&self) -> Vec<Watch> {
        Vec::new()
    }
    /// Whether the testbed's machine can have this many CPUs. The CPUs of the host's own kernel cannot be limited reliably.
    fn has_cpus(&self, _cpus: u32) -> Result<(), Missing> {
        Err(Missing {
            what: format!("{} uses the CPUs of this machine; their number cannot be limited", self.name()),
            try_this: "--on vm, or without --cpus".into(),
        })
    }
    /// Whether the testbed's drive can start preconditioned (filled and overwritten at random). Behind a file or volume, a drive has areas
    /// that cannot be written from here.
    fn preconditions(&self) -> Result<(), Missing> {
        Err(Missing {
            what: format!(
                "{testbed} cannot precondition a drive: the drive holds other data, and only its firmware \
                 knows how much of the flash a volume uses",
                testbed = self.name()
            ),
            try_this: "--on model:DISK with a flash disk, such as model:samsung-pm9a3-1920".into(),
        })
    }
    /// The programs that the testbed uses.
    fn programs(&self) -> &'static [&'static str] {
        &[]
    }
    /// The guests of its trials, if it has guests.
    fn guests(&self) -> Option<&dyn Guests> {
        None
    }
    /// The guests of the testbed's trials, mutable, to set what they start from.
    fn guests_mut(&mut self) -> Option<&mut dyn Guests> {
        None
    }
    /// Number of disks that [`Testbed::keep_disks`] keeps. On this machine's kernel a trial ends by removing its storage, and a
    /// claimed disk is used again: only guests leave disks.
    fn keeps_disks(&self) -> Result<usize, Missing> {
        Err(Missing {
            what: format!(
                "--on {} keeps no image: only trials in guests leave disks of their own",
                self.name()
            ),
            try_this: "a run with --on vm or --on model:DISK".into(),
        })
    }
    /// Keeps the disks of the next trial that ends in these files.
    fn keep_disks(&mut self, _kept: Arc<Kept>) {}
    /// The host folder on the underlying disk.
    fn folder(&self) -> &Path;
    /// Starts an agent with this job.
    fn launch(&self, job: &Job) -> anyhow::Result<Box<dyn Launched>>;
}

#[derive(Clone, Copy, Debug)]
pub struct TestbedTraits {
    pub clock: ClockKind,
    pub fidelity: Fidelity,
    /// Whether the testbed's agent runs on a separate machine.
    pub guest: bool,
    /// Whether the memory limit can be enforced.
    pub limits_memory: bool,
    /// Whether the testbed's machine can lose its power during the work, and continue with the resulting disk.
    pub loses_power: bool,
}

/// Checks that the testbed is usable on this machine for these needs, including CPUs.
///
/// # Errors
/// If a requirement is missing.
pub fn usable(testbed: &dyn Testbed, need: &Need) -> Result<(), Missing> {
    need.cpus.map_or(Ok(()), |cpus| testbed.has_cpus(cpus))?;
    if need.preconditioned {
        testbed.preconditions()?;
    }
    testbed.ready(need)
}

#[derive(Clone, Copy, Debug)]
pub struct Need {
    pub size: Bytes,
    /// Bytes of the filesystem's initial content.
    pub content: Bytes,
    pub memory: Option<Bytes>,
    pub cpus: Option<u32>,
    /// Whether every trial begins with empty caches.
    pub cold: bool,
    /// Whether trials lose their power.
    pub power_cut: bool,
    /// Whether a work copies from a second disk.
    pub source: bool,
    /// Whether the testbed's drive must be preconditioned.
    pub preconditioned: bool,
}

/// The inputs to a trial's storage, beside the testbed.
#[derive(Clone, Copy, Debug)]
pub struct StorageRequest {
    pub image: ImageState,
    /// Size of the volume.
    pub size: Bytes,
    /// Number of the round; 0 for an integrity check.
    pub round: u32,
    /// The plan's seed.
    pub seed: u64,
    /// Whether there is a second disk of the same size, from which a work copies.
    pub source: bool,
    /// How often the disk-model server repeats its work.
    pub server_work: u32,
    /// Whether the testbed's drive is preconditioned.
    pub preconditioned: bool,
    /// A corner instead of the round's sample of a modelled disk.
    pub corner: Option<Point>,
    /// Number of the other workload seed, from 1; 0 for the round's own seed.
    pub reseeded: u8,
    /// Instruction cost, on a machine in virtual time.
    pub cost: Cost,
}

impl Need {
    /// Number of disks, including the second disk, if there is one.
    pub fn disks(&self, own: usize) -> usize {
        own + usize::from(self.source)
    }
}

impl StorageRequest {
    /// The volume that covers a whole storage of this size.
    pub fn volume(&self) -> Volume {
        Volume { size: self.size, offset: Bytes(0) }
    }
}

/// A file for each disk of a trial, and whether the disks were written to them.
pub struct Kept {
    pub files: Vec<File>,
    pub outcome: OnceLock<io::Result<()>>,
}

/// A running agent.
pub trait Launched {
    /// Waits for the next event; `None` when there will be no more.
    fn next(&mut self, wait: Duration) -> Next;
    /// BLAKE3 of the inputs of the agent's machine, by name; empty for this machine.
    fn provenance(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
    /// Whether the trial began in a kept machine whose filesystem was in its initial state.
    fn is_from_state(&self) -> bool {
        false
    }
    /// How far the agent's machine is, if its clock is not the host's.
    fn progress(&mut self) -> Option<Moved> {
        None
    }
    /// Asks the agent to stop, clean up and end.
    fn stop(&mut self);
    /// Waits for the agent's end and returns how the agent ended.
    fn end(self: Box<Self>) -> Ended;
}

/// How far a machine in virtual time is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Virtual time since the trial's first disk request.
    pub time: Duration,
    /// Bytes read and written by the disks.
    pub bytes: Bytes,
}

#[derive(Debug)]
pub enum Next {
    Event(Stamped),
    /// A damaged or misplaced line: the trial is void.
    Damaged(String),
    /// No event has arrived yet.
    Quiet,
    Ended,
}

/// An event with its arrival time on the host's monotonic clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Stamped {
    pub host_ns: u64,
    pub event: Event,
}

/// How an agent ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    pub fault: Option<Fault>,
    /// All lines of the agent's standard error, or of the guest's console.
    pub console: Vec<String>,
    /// The requests of a modelled disk; see [`crate::schema::request`].
    pub requests: Vec<u8>,
}

/// The fault of an agent's end, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `exit code 3`, `killed by signal 9`.
    Lost(String),
    /// The agent or its machine was silent or inactive for too long.
    Hung(String),
    /// The kernel of the agent's machine panicked.
    Panic(String),
    /// The agent's machine could not be started.
    Launch(String),
}

impl Ended {
    /// The last lines, for a message.
    pub fn last_lines(&self) -> &[String] {
        const LAST: usize = 12;
        &self.console[self.console.len().saturating_sub(LAST)..]
    }
}

/// The testbed that [`AUTO`] chooses wherever this testbed is usable.
pub const LOOP: &str = loop_image::NAME;
/// Chooses the best testbed for this machine.
pub const AUTO: &str = "auto";

/// The testbeds that cannot boot this kernel, each with the reason.
pub fn that_cannot_boot(kernel: &Index) -> Vec<String> {
    let lacks = |kind: &&dyn TestbedKind| {
        let lacks = kernel.modules.chain(kind.boots_with().iter().copied()).err()?;
        Some(format!("--on {testbed} cannot use this kernel: {lacks}", testbed = kind.name()))
    };
    TABLE.iter().filter_map(lacks).collect()
}

/// The first testbed of the table that boots this kernel.
///
/// # Errors
/// If there is none.
pub fn booting(release: &str) -> Result<Box<dyn Testbed>, String> {
    let found = first_that(|testbed| start_from(testbed, Start::Kernel(release)));
    found.ok_or_else(|| "no testbed boots a kernel".into())
}

/// The first testbed of the table whose guests can start from this bundle.
///
/// # Errors
/// If there is none.
pub fn starting_from(id: &str) -> Result<Box<dyn Testbed>, String> {
    let found = first_that(|testbed| start_from(testbed, Start::Bundle(id)));
    found.ok_or_else(|| {
        format!("no testbed of this run can start the guest {id}\n  try: one of fsderby guest list")
    })
}

fn first_that(takes: impl Fn(&mut dyn Testbed) -> Result<(), Missing>) -> Option<Box<dyn Testbed>> {
    TABLE.iter().find_map(|kind| {
        let mut testbed = kind.with(None).ok()?;
        takes(&mut *testbed).ok().map(|()| testbed)
    })
}

/// The testbed of an experiment's text: `directory:/mnt/test`; for [`AUTO`] the first one to try, see [`choose`].
pub fn parse(text: &str) -> Result<Box<dyn Testbed>, String> {
    Place::asked(text)?.testbed()
}

/// The testbed's name for this text.
///
/// # Errors
/// If there is none; [`AUTO`] is one only after it was chosen.
pub fn named(text: &str) -> Result<String, String> {
    Ok(Place::parse(text)?.testbed()?.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::modules::Module;

    /// Debian's 6.1 has no ublk driver, so `model` cannot boot it and `vm` can.
    #[test]
    fn a_kernel_that_a_testbed_cannot_boot_is_told_with_the_module_that_it_lacks() {
        let mut index = Index::default();
        let all: Vec<&str> = TABLE.iter().flat_map(|kind| kind.boots_with()).copied().collect();
        let load = |index: &mut Index, but: &str| {
            let loaded = all.iter().filter(|module| **module != but);
            index.modules.loadable = loaded.map(|module| ((*module).to_owned(), Module::default())).collect();
        };
        load(&mut index, "");
        assert_eq!(that_cannot_boot(&index), Vec::<String>::new());
        load(&mut index, "ublk_drv");
        let cannot = that_cannot_boot(&index);
        assert!(
            cannot.len() == 1 && cannot[0].contains("--on model") && cannot[0].contains("ublk_drv"),
            "{cannot:?}"
        );
        assert!(!all.is_empty() && that_cannot_boot(&Index::default()).len() > 1);
    }
}
