//! What a run was made on: `machine.json`, the host and each setup on it.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub fsderby: Build,
    /// The host's `uname -r` and `uname -v`.
    pub kernel: String,
    pub kernel_build: String,
    pub architecture: String,
    pub cpu: String,
    pub cpus: u32,
    pub memory: Bytes,
    /// Empty where it is not said or not virtual.
    pub hypervisor: String,
    /// 1, 2, or 0 where no memory limit can be set.
    pub memory_groups: u32,
    /// What trials happened in, in the order of the candidates.
    pub setups: Vec<OnMachine>,
    pub tools: Vec<Tool>,
}

impl Machine {
    pub fn setup(&self, name: &str) -> Option<&OnMachine> {
        self.setups.iter().find(|setup| setup.name == name)
    }
}

/// What a setup is on this machine. Setups that differ in nothing that is looked at here, such as a memory limit, are one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OnMachine {
    /// As [`crate::candidate::setup_name`] has it; records name it.
    pub name: String,
    /// `uname -r`; of the guest's kernel, where there is a guest.
    pub kernel: String,
    /// `uname -v`, or the hash of what a guest boots.
    pub kernel_build: String,
    pub cpu: String,
    pub cpus: u32,
    /// Below the images or the folder.
    pub disk: Disk,
    /// The ID of the bundle that guests start from; empty where they start from what is on the host.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub guest: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Build {
    pub version: String,
    /// BLAKE3 of the running binary.
    pub blake3: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    /// As the kernel names it: `vda`.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// The kind that needs it.
    pub kind: String,
    pub program: String,
    pub path: String,
    pub version: String,
    pub blake3: String,
}
