//! Setups to compare: how a filesystem is made and mounted, its storage, its testbed.

use std::collections::BTreeMap;

use fsderby_diskmodel::Sample;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::units::Bytes;

/// Placeholder in a command line for the device, which the agent knows only once the testbed exists.
pub const DEVICE: &str = "{device}";
/// Placeholder in a command line for the mount point.
pub const MOUNTPOINT: &str = "{mountpoint}";

/// A command and its arguments, with the placeholders [`DEVICE`] and [`MOUNTPOINT`].
pub type Argv = Vec<String>;

/// How a kind is configured in an experiment, beyond its defaults. A user's variant is data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Additional arguments of mkfs, after the kind's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mkfs: Vec<String>,
    /// Additional mount options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount: Vec<String>,
    /// Made as another kind and then converted; only for kinds with that capability.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub conversion: bool,
}

/// How to mount a filesystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mount {
    /// A mount by system call.
    Syscall { fstype: String, options: Vec<String> },
    /// By a program, with [`DEVICE`] and [`MOUNTPOINT`] as placeholders; a FUSE daemon keeps running. `fstype` and `options`
    /// are the requested values, to be compared with the mounted ones.
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

/// The actual mount, from mountinfo, and the driver that serves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Mounted {
    pub source: String,
    pub fstype: String,
    /// The module or kernel driver that serves this type, as far as visible.
    pub driver: String,
    /// Mount options and superblock options of mountinfo, joined.
    pub options: Vec<String>,
}

/// A check, and the meaning of its exit codes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Check {
    pub argv: Argv,
    /// Exit codes for "consistent".
    pub clean: Vec<i32>,
    pub depth: Depth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// Checks every structure.
    Full,
    /// Checks only a few structures; a clean result says little.
    Shallow,
}

/// Privileges of a kind's tools besides access to the trial's device; see [`Sandbox`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
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

/// A capability, see capabilities(7), that a tool may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub enum Capability {
    #[serde(rename = "CAP_SYS_ADMIN")]
    SysAdmin,
    #[serde(rename = "CAP_SETUID")]
    SetUid,
    #[serde(rename = "CAP_SETGID")]
    SetGid,
}

/// Restrictions of a trial's tools on this machine's own kernel. A tool that could not be restricted was not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Sandbox {
    /// All device nodes in the sandbox's /dev.
    pub devices: Vec<String>,
    pub capabilities: Vec<Capability>,
    /// Landlock version that restricted all programs except those that mount; absent if the kernel has none.
    pub landlock: Option<u32>,
    /// Whether a cgroup denied agent and tools all other devices, by number.
    pub device_group: bool,
}

/// A worker's identity. It had no capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Identity {
    pub uid: u32,
    pub gid: u32,
}

/// A row of one of the tables, by name, with settings that only its own part interprets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Named {
    pub name: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, Value>,
}

impl Named {
    /// Panics if the settings are not a struct, which is a mistake in the program.
    pub fn new(name: &str, settings: &impl Serialize) -> Self {
        match serde_json::to_value(settings) {
            Ok(Value::Object(settings)) => {
                Named { name: name.to_owned(), settings: settings.into_iter().collect() }
            }
            other => panic!("the settings of {name} must be a struct, not {other:?}"),
        }
    }

    /// Parses the settings for the part of that name.
    ///
    /// # Errors
    /// Names the invalid setting.
    pub fn settings<T: DeserializeOwned>(&self) -> Result<T, String> {
        let settings = Value::Object(self.settings.clone().into_iter().collect());
        serde_json::from_value(settings).map_err(|e| format!("{}: {e}", self.name))
    }
}

/// The part of the storage given to mkfs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Volume {
    pub size: Bytes,
    /// Where this part starts on the storage.
    pub offset: Bytes,
}

/// A modelled disk and its machine: the settings of its storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Modelled {
    pub disk: String,
    /// Hash of the disk's file.
    pub blake3: String,
    /// Million instructions per second.
    pub mips: u32,
    /// The sample from the ensemble.
    pub sample: Sample,
    /// Whether other rounds use other samples.
    pub ensemble: bool,
    /// Seed of the guest's random numbers.
    pub guest_seed: u64,
    /// Number of identical disks, each with independently rotating platters.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub disks: u32,
    /// The name of the machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub machine: String,
    /// Instruction sets of its CPU beyond those of the first 64-bit CPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<String>,
    /// Whether there is a further disk from which work copies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub source: bool,
    /// How many times the disk-model program does its work; more than once only to measure its overhead.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub server_work: u32,
    /// Whether the disk's volatile cache is switched off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub write_through: bool,
    /// Whether the disks start preconditioned: filled and overwritten at random to steady state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preconditioned: bool,
}

impl Modelled {
    /// Number of disks, including the source disk.
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

/// The modelled disk of a trial, and the place on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampled {
    pub disk: String,
    pub mips: u32,
    pub sample: Sample,
    pub ensemble: bool,
    pub disks: u32,
    /// Offset of the volume.
    pub offset: Bytes,
    pub machine: String,
}

/// State of the image at the start of each trial. It changes results up to 1.6 times, so it is stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageState {
    /// The host allocates nothing for the image beforehand.
    Sparse,
    /// Fully allocated on the host but not written, so that a full host cannot look like a full filesystem.
    #[default]
    Allocated,
    /// The image is fully written once.
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

/// The clock that the nanoseconds refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockKind {
    Host,
    /// A virtual machine's clock, compared with the host's over each launch.
    Guest,
    /// A virtual machine's instruction-counting clock; the guest has access to no other.
    Virtual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fidelity {
    /// This machine's own CPU and kernel; the disk is a file on the host's filesystem.
    Loop,
    /// This machine's own CPU, kernel and disk, shared with other users.
    Directory,
    /// A virtual machine with its own kernel on this machine's CPU; the disk is a file on the host's filesystem.
    VmKvm,
    /// A virtual machine on an emulated CPU, whose times say nothing about a real one.
    VmEmulated,
    /// A modelled disk in virtual time: times are the model's, the same on every machine.
    Model,
    /// This machine's own CPU and kernel on a modelled disk that answers in real time.
    Twin,
    /// This machine's own CPU, kernel and disk; nothing else uses the disk.
    Device,
}

impl Fidelity {
    /// The clock of a trial with this fidelity.
    pub fn clock(self) -> ClockKind {
        match self {
            Fidelity::Loop | Fidelity::Directory | Fidelity::Twin | Fidelity::Device => ClockKind::Host,
            Fidelity::VmKvm | Fidelity::VmEmulated => ClockKind::Guest,
            Fidelity::Model => ClockKind::Virtual,
        }
    }

    /// Whether each trial makes a filesystem; otherwise it uses an existing one.
    pub fn makes_filesystem(self) -> bool {
        match self {
            Fidelity::Directory => false,
            Fidelity::Loop
            | Fidelity::VmKvm
            | Fidelity::VmEmulated
            | Fidelity::Model
            | Fidelity::Twin
            | Fidelity::Device => true,
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
