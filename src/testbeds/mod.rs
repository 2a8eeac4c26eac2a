//! Where the work is done: one trait, one table.
//!
//! A testbed supplies a storage in the agent's world, a way to launch the agent, and its death. Nothing else.

mod auto;
mod bundled;
mod directory;
mod guests;
mod local;
mod loop_image;
pub mod model;
mod place;
mod power;
mod several;
mod stream;
mod twin;
pub mod vm;

pub use auto::choose;
pub use guests::{Guests, Start, start_from};
pub use place::Place;
pub use several::{Made, Testbeds};

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use fsderby_diskmodel::Point;

use crate::filesystems::KernelNeed;
use crate::schema::event::Event;
use crate::schema::job::{Cost, Job};
use crate::schema::setup::{ClockKind, Fidelity, ImageState, Named, Volume};
use crate::schema::story::Story;
use crate::schema::units::{Bytes, MIB};

/// In a guest the tools that make and check filesystems run out of memory with less. On this machine's kernel they are not limited, and a
/// scale goes no further down, so that an experiment has the same memory on every testbed.
pub const LEAST_MEMORY: Bytes = Bytes(16 * MIB);

/// Every kind of testbed.
pub static TABLE: &[&dyn TestbedKind] = &[
    // One row a line.
    &loop_image::LoopKind,
    &vm::VmKind,
    &model::ModelKind,
    &directory::DirectoryKind,
    &twin::TwinKind,
];

/// A kind of testbed, as an experiment names it: `loop`, `directory:PATH`.
pub trait TestbedKind: Sync {
    fn name(&self) -> &'static str;
    /// How it is written, with its argument.
    fn usage(&self) -> &'static str;
    fn story(&self) -> Story;
    /// Whether a filesystem is made here, or one is taken as it is.
    fn makes_filesystem(&self) -> bool;
    /// Whether the same trial gives other figures each time.
    fn scatters(&self) -> bool {
        true
    }
    /// The least memory for page cache and workload in which trials of one client are carried out.
    fn least_memory(&self) -> Bytes {
        LEAST_MEMORY
    }
    /// Whether every round of a testbed with this argument has another sample of its disk.
    fn samples(&self, _argument: Option<&str>) -> bool {
        false
    }
    /// Whether this setting of an argument names a place on the host, such as a folder, a mount or a device. Runs that differ in it
    /// alone can be compared.
    fn is_on_host(&self, setting: &str) -> bool {
        setting.starts_with('/')
    }
    /// The testbed with its argument, the text after the colon. The error says what to write.
    fn with(&self, argument: Option<&str>) -> Result<Box<dyn Testbed>, String>;
}

pub trait Testbed: Sync {
    /// As the record names it, argument included.
    fn name(&self) -> String;
    fn traits(&self) -> TestbedTraits;
    /// Whether this testbed can be used at all on this machine, for volumes of this size.
    fn ready(&self, need: &Need) -> Result<(), Missing>;
    /// Whether one kind can be compared here. Asked once per filesystem; a refusal skips that filesystem alone.
    fn serves(&self, kernel: &KernelNeed) -> Result<(), Missing>;
    /// Where the tools that a filesystem needs are looked for; `None` where it brings its own.
    fn tool(&self, program: &str) -> Result<(), Missing>;
    /// How many disks a trial's storage has, each of the volume's size.
    fn disks(&self) -> usize {
        1
    }
    /// The storage that a trial gets, and the part of it that mkfs is given. Pure: what must be looked at for it was when the
    /// testbed was asked whether it is [`Testbed::ready`].
    fn storage(&self, moment: &Moment) -> (Named, Volume);
    /// Release and build of the kernel where it is not this machine's.
    fn kernel(&self) -> Option<(String, String)> {
        None
    }
    /// Whether its machine can have so many CPUs. Of a kernel that others work on too, none can be taken away for certain.
    fn has_cpus(&self, _cpus: u32) -> Result<(), Missing> {
        Err(Missing {
            what: format!("{} uses the CPUs of this machine; their number cannot be limited", self.name()),
            try_this: "--on vm, or without --cpus".into(),
        })
    }
    /// Whether its drive can begin as one that was filled and overwritten at random. Below a file or a volume lies more of a drive
    /// than can be written from here.
    fn preconditions(&self) -> Result<(), Missing> {
        Err(Missing {
            what: format!(
                "{} cannot precondition a drive: it has other data on it, and only its firmware knows how much of \
                 the flash a volume uses",
                self.name()
            ),
            try_this: "--on model:DISK with a flash disk, such as model:samsung-pm9a3-1920".into(),
        })
    }
    /// The programs that the testbed itself is made with.
    fn programs(&self) -> &'static [&'static str] {
        &[]
    }
    /// The guests that its trials happen in, where they do.
    fn guests(&self) -> Option<&dyn Guests> {
        None
    }
    /// The same, to be given what they start from.
    fn guests_mut(&mut self) -> Option<&mut dyn Guests> {
        None
    }
    /// The host's folder whose disk stands below everything.
    fn folder(&self) -> &Path;
    /// Starts an agent with this job.
    fn launch(&self, job: &Job) -> anyhow::Result<Box<dyn Launched>>;
}

#[derive(Clone, Copy, Debug)]
pub struct TestbedTraits {
    pub clock: ClockKind,
    pub fidelity: Fidelity,
    /// Whether its agent runs on a machine of its own.
    pub guest: bool,
    /// Whether the experiment's memory limit can be kept.
    pub limits_memory: bool,
    /// Whether it can lose its power in the middle of the work, and go on from the disk as that left it.
    pub loses_power: bool,
}

/// Whether it can be used here for this, with its machine's CPUs.
///
/// # Errors
/// What is missing.
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
    /// What is on the filesystem before the work: so much of it has content.
    pub content: Bytes,
    pub memory: Option<Bytes>,
    pub cpus: Option<u32>,
    /// Whether every trial is to begin with empty caches.
    pub cold: bool,
    /// Whether trials are to lose their power.
    pub power_cut: bool,
    /// Whether work copies from a disk beside.
    pub source: bool,
    /// Whether its drive must have been filled and overwritten before.
    pub preconditioned: bool,
}

/// What a trial's storage may depend on, beside the testbed.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub image: ImageState,
    /// The volume's.
    pub size: Bytes,
    /// 0 for an integrity check.
    pub round: u32,
    /// The plan's.
    pub seed: u64,
    /// Whether there is a disk beside, of the same size, that work copies from.
    pub source: bool,
    /// How often the program that plays a disk does its own work.
    pub server_work: u32,
    /// Whether its drive was filled and overwritten before.
    pub preconditioned: bool,
    /// Another sample of a modelled disk than the round's.
    pub corner: Option<Point>,
    /// With which further seed of the work, from 1; 0 is the round's.
    pub reseeded: u8,
    /// Of an instruction, on a machine in virtual time.
    pub cost: Cost,
}

impl Need {
    /// With the disk beside, where there is one.
    pub fn disks(&self, own: usize) -> usize {
        own + usize::from(self.source)
    }
}

impl Moment {
    /// The whole of a storage that is made for it.
    pub fn volume(&self) -> Volume {
        Volume { size: self.size, offset: Bytes(0) }
    }
}

/// Something that is not here, and what brings it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n  try: {try_this}")]
pub struct Missing {
    pub what: String,
    pub try_this: String,
}

/// A running agent.
pub trait Launched {
    /// Waits for the next event; `None` when there will be no more.
    fn next(&mut self, wait: Duration) -> Next;
    /// BLAKE3 of what the agent's machine was started from, by name; empty where it is this machine.
    fn provenance(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
    /// Asks the agent to stop what it does, clean up and end.
    fn stop(&mut self);
    /// Waits for its end and says how it ended.
    fn end(self: Box<Self>) -> Ended;
}

#[derive(Debug)]
pub enum Next {
    Event(Stamped),
    /// A line that was damaged or out of order: the trial is void.
    Damaged(String),
    /// Nothing yet.
    Quiet,
    Ended,
}

/// An event with the moment of its arrival on the host's monotonic clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Stamped {
    pub host_ns: u64,
    pub event: Event,
}

/// How an agent ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    pub fault: Option<Fault>,
    /// All lines that it wrote to its standard error or console.
    pub console: Vec<String>,
    /// What a modelled disk did, request after request; see [`crate::schema::request`].
    pub requests: Vec<u8>,
}

/// What was wrong with an agent's end, in words for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `exit code 3`, `killed by signal 9`.
    Lost(String),
    /// It or its machine said or did nothing for too long.
    Hung(String),
    /// Its machine's kernel could not go on.
    Panic(String),
    /// Its machine could not be started.
    Launch(String),
}

impl Ended {
    /// The last lines, for a sentence.
    pub fn last_lines(&self) -> &[String] {
        const LAST: usize = 12;
        &self.console[self.console.len().saturating_sub(LAST)..]
    }
}

/// The testbed of [`AUTO`] wherever it can be used, as it is named.
pub const LOOP: &str = loop_image::NAME;
/// The testbed that this machine serves best.
pub const AUTO: &str = "auto";

/// The first testbed of the table that boots this kernel.
///
/// # Errors
/// When none does.
pub fn booting(release: &str) -> Result<Box<dyn Testbed>, String> {
    let found = first_that(|testbed| start_from(testbed, Start::Kernel(release)));
    found.ok_or_else(|| "no testbed boots a kernel".into())
}

/// The first testbed of the table whose guests start from this bundle.
///
/// # Errors
/// When none does.
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

/// A testbed from the experiment's text: `directory:/mnt/test`; for [`AUTO`] the one that is tried first, see [`choose`].
pub fn parse(text: &str) -> Result<Box<dyn Testbed>, String> {
    Place::asked(text)?.testbed()
}

/// The name of the testbed that a text names.
///
/// # Errors
/// When it names none; [`AUTO`] is one only where it has been chosen.
pub fn named(text: &str) -> Result<String, String> {
    Ok(Place::parse(text)?.testbed()?.name())
}
