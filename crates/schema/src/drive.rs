//! A real drive during a trial: what it is, its settings and condition before and after, and what the kernel said about it.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Drive {
    /// The kernel's name: `sda`.
    pub name: String,
    pub model: String,
    /// Empty if the drive has none; a hash if the run names the drive by one.
    pub serial: String,
    pub firmware: String,
    pub rotates: bool,
    pub before: DriveState,
    /// Absent if the drive was gone at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<DriveState>,
    /// Errors, warnings and resets of the drive in the kernel's log during the trial; absent if the log could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Vec<String>>,
}

/// Settings and condition of a drive. What the kernel does not say is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct DriveState {
    /// `queue/scheduler`: the active one.
    pub scheduler: String,
    /// `queue/write_cache`: `write back` or `write through`.
    pub write_cache: String,
    /// Requests that the drive takes at once; for drives without such a number, `queue/nr_requests`.
    pub queue_depth: String,
    /// `power/runtime_status` of the device.
    pub power: String,
    /// `scaling_governor` of the CPUs, each once.
    pub governor: String,
    /// Absent without smartctl.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smart: Option<Smart>,
}

/// What `smartctl --json` says of the drive. A value that the drive does not report is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Smart {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub celsius: Option<i64>,
    /// Share of the rated endurance that is used up; can exceed 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wear_percent: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_cycles: Option<u64>,
    /// Data that the drive lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_errors: Option<u64>,
    /// Minutes in which the drive was too hot, which is when it throttles itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_hot_minutes: Option<u64>,
    /// Times that the drive throttled itself, as NVMe counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<u64>,
}
