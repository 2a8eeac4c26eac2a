//! What a run was made on: `machine.json`.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub fsderby: Build,
    /// `uname -r` and `uname -v`.
    pub kernel: String,
    pub kernel_build: String,
    pub architecture: String,
    pub cpu: String,
    pub cpus: u32,
    pub memory: Bytes,
    /// Empty where it is not said or not virtual.
    pub hypervisor: String,
    /// Below the images or the folder.
    pub disk: Disk,
    /// 1, 2, or 0 where no memory limit can be set.
    pub memory_groups: u32,
    pub tools: Vec<Tool>,
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
