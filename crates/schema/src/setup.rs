//! What may be compared: how a filesystem is made and mounted, what it lies on, where trials happen.

use fsderby_diskmodel::Sample;
use serde::{Deserialize, Serialize};

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

/// The device in the agent's world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dev {
    /// A fresh image of ours in this folder, behind a loop device.
    Image { folder: String, state: ImageState },
    /// In a guest: the disk that its machine gave it, a fresh image of the host's in this folder. `direct`: the host's page cache
    /// is kept out.
    Block { path: String, folder: String, state: ImageState, direct: bool },
    /// In a guest: a part of a disk that is modelled there, in virtual time.
    Model(Modelled),
    /// No device: an existing folder, in which a site is made and removed.
    Folder { path: String },
}

impl Dev {
    /// Whether the job is for a machine of its own.
    pub fn is_guests(&self) -> bool {
        matches!(self, Dev::Block { .. } | Dev::Model(_))
    }
}

/// A part of a modelled disk, and the machine that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modelled {
    pub disk: String,
    /// Of the disk's file.
    pub blake3: String,
    /// Where the volume begins on the disk.
    pub offset: Bytes,
    /// Million instructions a second.
    pub mips: u32,
    /// What is taken of the ensemble.
    #[serde(rename = "draw")]
    pub sample: Sample,
    /// Of the guest's random numbers.
    pub guest_seed: u64,
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
    /// The same with a disk so fast that what its server costs on the guest's CPU passes for the disk's: no time is its own.
    FloorBound,
}

impl Fidelity {
    /// Whether times measured there say anything about a real machine.
    pub fn times_count(self) -> bool {
        !matches!(self, Fidelity::VmEmulated | Fidelity::FloorBound)
    }
}

#[cfg(test)]
mod tests {
    use fsderby_diskmodel::CachePolicy;

    use super::*;

    #[test]
    fn what_a_sample_does_not_say_is_nominal() {
        let text = r#"{"model":{"disk":"diamondmax-plus-8","blake3":"","offset":38654705664,"mips":250,"draw":{"seek_permille":-12,
                       "cache":"small","segments_permille":40,"seed":9},"guest_seed":7}}"#;
        let Dev::Model(modelled) = serde_json::from_str(text).expect("it is read") else { panic!("a model") };
        let cache = CachePolicy::Small;
        let sample = Sample { seek_permille: -12, cache, segments_permille: 40, seed: 9, ..Sample::NOMINAL };
        assert_eq!((modelled.sample, modelled.mips), (sample, 250));
    }
}
