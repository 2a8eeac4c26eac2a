//! The machine of a run, `machine.json`: the host and each setup on it.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Machine {
    pub fsderby: Build,
    /// The host's `uname -r` and `uname -v`.
    pub kernel: String,
    pub kernel_build: String,
    pub architecture: String,
    pub cpu: String,
    pub cpus: u32,
    pub memory: Bytes,
    /// The hypervisor; empty if it is unknown or the machine is not virtual.
    pub hypervisor: String,
    /// cgroup version: 1, 2, or 0 if no memory limit can be set.
    pub memory_groups: u32,
    /// The setups of the trials, in the order of the candidates.
    pub setups: Vec<OnMachine>,
    pub tools: Vec<Tool>,
    /// Name of the machine, if the run is a shard.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub node: String,
    /// The shards of which the run was merged; the machine is that of the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<Merged>,
}

/// A shard in a merged run. The run's folder holds the shard's own files below `folder`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Merged {
    /// `2/4`
    pub shard: String,
    pub folder: String,
    /// Its machine at its beginning.
    pub node: String,
    pub cpu: String,
    pub cpus: u32,
    pub memory: Bytes,
    pub kernel: String,
    pub records: usize,
    /// BLAKE3 of its `seal.json`.
    pub seal_blake3: String,
}

impl Machine {
    pub fn setup(&self, name: &str) -> Option<&OnMachine> {
        self.setups.iter().find(|setup| setup.name == name)
    }
}

/// A setup on this machine. Setups that differ only in values not listed here, such as a memory limit, are merged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct OnMachine {
    /// Name of the setup by [`crate::candidate::setup_name`]; records refer to this name.
    pub name: String,
    /// `uname -r`, of the guest's kernel if there is a guest.
    pub kernel: String,
    /// `uname -v`, or the hash of the guest's boot files.
    pub kernel_build: String,
    pub cpu: String,
    pub cpus: u32,
    /// The disk below the images or the directory.
    pub disk: Disk,
    /// ID of the bundle that guests boot from; empty if they boot from the host's files.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub guest: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Build {
    pub version: String,
    /// Of the sources, with `-dirty` if they differed from it; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// BLAKE3 of the running binary.
    pub blake3: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Disk {
    /// The kernel's name: `vda`.
    pub name: String,
    pub model: String,
    pub size: Bytes,
    pub rotational: bool,
    pub scheduler: String,
    /// The host's filesystem that holds the images.
    pub fstype: String,
    pub options: Vec<String>,
}

/// A program that trials run.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Tool {
    /// The kind of filesystem that needs this program.
    pub kind: String,
    pub program: String,
    pub path: String,
    pub version: String,
    pub blake3: String,
}
