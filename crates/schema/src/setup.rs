//! What may be compared: how a filesystem is made and mounted, what it lies on, where trials happen.

use std::collections::BTreeMap;

use fsderby_diskmodel::Sample;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::units::Bytes;

/// In a command line: the device, which the agent knows only when the testbed is there.
pub const DEVICE: &str = "{device}";
/// In a command line: the folder to mount on.
pub const MOUNTPOINT: &str = "{mountpoint}";

/// A command and its arguments, not yet tied to a device: see [`DEVICE`] and [`MOUNTPOINT`].
pub type Argv = Vec<String>;

/// How a kind is entered into an experiment, beyond its defaults. A user's variant is data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Further arguments of mkfs, after the kind's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mkfs: Vec<String>,
    /// Further mount options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount: Vec<String>,
    /// Made as another kind first and then converted; only where the kind's capabilities say so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub conversion: bool,
}

/// How to mount it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mount {
    /// By the kernel's own call.
    Syscall { fstype: String, options: Vec<String> },
    /// By a program, with [`DEVICE`] and [`MOUNTPOINT`] in it; a FUSE daemon stays behind. `fstype` and `options` are
    /// what is asked for, to compare with what is seen.
    Command { argv: Argv, fstype: String, options: Vec<String> },
}

impl Mount {
    pub fn fstype(&self) -> &str {
        match self {
            Mount::Syscall { fstype, .. } | Mount::Command { fstype, .. } => fstype,
        }
    }

    pub fn options(&self) -> &[String] {
        match self {
            Mount::Syscall { options, .. } | Mount::Command { options, .. } => options,
        }
    }
}

/// What *was* mounted, from mountinfo, and who serves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mounted {
    pub source: String,
    pub fstype: String,
    /// The module or kernel driver that serves this type, as far as it can be seen.
    pub driver: String,
    /// Mount options and superblock options of mountinfo, joined.
    pub options: Vec<String>,
}

/// A check and what its exit codes mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub argv: Argv,
    /// Exit codes that say "consistent".
    pub clean: Vec<i32>,
    pub depth: Depth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// Every structure is walked.
    Full,
    /// Only a few are looked at; a clean answer says little.
    Shallow,
}

/// What the tools of a kind need beside the trial's own device; see [`Sandbox`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Privileges {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
    /// Paths of device nodes: `/dev/fuse`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
}

impl Privileges {
    pub fn is_empty(&self) -> bool {
        self.capabilities.is_empty() && self.devices.is_empty()
    }
}

/// A right of root, capabilities(7), that a tool may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Capability {
    #[serde(rename = "CAP_SYS_ADMIN")]
    SysAdmin,
    #[serde(rename = "CAP_SETUID")]
    SetUid,
    #[serde(rename = "CAP_SETGID")]
    SetGid,
}

/// What bounds the tools of a trial on this machine's own kernel. A tool that could not be bounded like that was not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// All nodes of its /dev.
    pub devices: Vec<String>,
    pub capabilities: Vec<Capability>,
    /// The version of Landlock that held all but the programs that mount; absent where the kernel has none.
    pub landlock: Option<u32>,
    /// Whether a control group kept agent and tools from all other devices by their numbers.
    pub device_group: bool,
}

/// Who a worker was. It had no capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub uid: u32,
    pub gid: u32,
}

/// A row of one of the tables, by its name, with settings that only its own part understands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    pub name: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, Value>,
}

impl Named {
    /// Panics where the settings are no struct: they are part of the program.
    pub fn new(name: &str, settings: &impl Serialize) -> Self {
        match serde_json::to_value(settings) {
            Ok(Value::Object(settings)) => {
                Named { name: name.to_owned(), settings: settings.into_iter().collect() }
            }
            other => panic!("the settings of {name} are no struct: {other:?}"),
        }
    }

    /// The settings as the part of that name understands them.
    ///
    /// # Errors
    /// Names the setting that it does not understand.
    pub fn settings<T: DeserializeOwned>(&self) -> Result<T, String> {
        let settings = Value::Object(self.settings.clone().into_iter().collect());
        serde_json::from_value(settings).map_err(|e| format!("{}: {e}", self.name))
    }
}

/// The part of the storage that mkfs is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    pub size: Bytes,
    /// Where it begins on the storage.
    pub offset: Bytes,
}

/// A modelled disk with the machine that it belongs to: the settings of its storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Modelled {
    pub disk: String,
    /// Of the disk's file.
    pub blake3: String,
    /// Million instructions a second.
    pub mips: u32,
    /// What is taken of the ensemble.
    pub sample: Sample,
    /// Whether other rounds take other samples.
    pub ensemble: bool,
    /// Of the guest's random numbers.
    pub guest_seed: u64,
    /// How many of that disk the machine has, each with platters that turn by themselves.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub disks: u32,
    /// The name of the machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub machine: String,
    /// Which its CPU has beyond those of the first 64-bit ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<String>,
    /// Whether there is one more, which work copies from.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub source: bool,
    /// How often the program that plays the disk does its own work; more than once only to see what that work adds to the figures.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub server_work: u32,
    /// Whether the disk's volatile cache is switched off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub write_through: bool,
    /// Whether the disks begin as ones that were filled and overwritten at random for long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preconditioned: bool,
}

impl Modelled {
    /// All that the machine has.
    pub fn all_disks(&self) -> u32 {
        self.disks + u32::from(self.source)
    }
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

/// The modelled disk that a trial was made on, and where on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampled {
    pub disk: String,
    pub mips: u32,
    pub sample: Sample,
    pub ensemble: bool,
    pub disks: u32,
    /// Of the volume.
    pub offset: Bytes,
    pub machine: String,
}

/// In which state each trial finds its image; it shifts results up to 1.6 times, so it is stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageState {
    /// Nothing allocated on the host.
    Sparse,
    /// All of it reserved on the host, nothing written: a full host cannot pass for a full filesystem.
    #[default]
    Allocated,
    /// All of it written once.
    Written,
}

impl ImageState {
    pub const ALL: [ImageState; 3] = [ImageState::Sparse, ImageState::Allocated, ImageState::Written];

    pub fn name(self) -> &'static str {
        match self {
            ImageState::Sparse => "sparse",
            ImageState::Allocated => "allocated",
            ImageState::Written => "written",
        }
    }
}

/// Whose clock the nanoseconds are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockKind {
    Host,
    /// A virtual machine's, compared with the host's over each launch.
    Guest,
    /// A virtual machine's that counts instructions: no other clock is in its reach.
    Virtual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fidelity {
    /// This machine's own CPU and kernel; the disk is a file on the host's filesystem.
    Loop,
    /// This machine's own CPU, kernel and disk, with whatever else uses them.
    Directory,
    /// A virtual machine on this machine's own CPU, with a kernel of its own; the disk is a file on the host's filesystem.
    VmKvm,
    /// The same on an emulated CPU, on which no time says anything about a real one.
    VmEmulated,
    /// A modelled disk in virtual time: times are those of the model, the same on every machine.
    Model,
    /// This machine's own CPU and kernel on a modelled disk that answers in real time.
    Twin,
}

impl Fidelity {
    /// Whose clock times such a trial.
    pub fn clock(self) -> ClockKind {
        match self {
            Fidelity::Loop | Fidelity::Directory | Fidelity::Twin => ClockKind::Host,
            Fidelity::VmKvm | Fidelity::VmEmulated => ClockKind::Guest,
            Fidelity::Model => ClockKind::Virtual,
        }
    }

    /// Whether a filesystem is made for each trial, or one is taken as it is.
    pub fn makes_filesystem(self) -> bool {
        match self {
            Fidelity::Directory => false,
            Fidelity::Loop | Fidelity::VmKvm | Fidelity::VmEmulated | Fidelity::Model | Fidelity::Twin => {
                true
            }
        }
    }

    /// Whether times measured there say anything about a real machine.
    pub fn times_count(self) -> bool {
        self != Fidelity::VmEmulated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_back_and_others_are_refused() {
        let (sample, ensemble) = (Sample::NOMINAL, true);
        let modelled = Modelled {
            disk: "d".into(),
            blake3: String::new(),
            mips: 250,
            sample,
            ensemble,
            guest_seed: u64::MAX,
            disks: 5,
            machine: "m".into(),
            instructions: vec!["sse4.2".into()],
            source: true,
            server_work: 1,
            write_through: false,
            preconditioned: true,
        };
        let alone = Named::new("disk", &Modelled { disks: 1, ..modelled.clone() });
        assert!(!alone.settings.contains_key("disks"));
        assert_eq!(alone.settings::<Modelled>().map(|modelled| modelled.disks), Ok(1));
        let named = Named::new("disk", &modelled);
        assert_eq!(named.settings(), Ok(modelled));
        assert!(Named::new("other", &Volume::default()).settings::<Modelled>().is_err());
        let text = serde_json::to_string(&named).expect("it is written");
        assert_eq!(serde_json::from_str::<Named>(&text).expect("it is read"), named);
    }
}
