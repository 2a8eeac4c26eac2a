//! The values of a cloud volume.

use super::fields::Fields;
use super::{Attached, SpecError, UNLIMITED, Way, sectors};
use crate::request::wire_ns;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CloudSpec {
    pub sectors: u64,
    pub operations_per_s: u64,
    pub burst_operations: u64,
    /// Size of an operation; a longer request counts as several operations.
    pub operation_sectors: u64,
    pub throughput_kbps: u64,
    pub burst_sectors: u64,
    pub read_latency_ns: u64,
    pub write_latency_ns: u64,
    /// Latency is uniform within ± this around its mean.
    pub jitter_ns: u64,
    pub interface_kbps: u64,
    pub way: Way,
}

impl CloudSpec {
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, SpecError> {
        let spec = CloudSpec {
            sectors: sectors(fields)?,
            operations_per_s: fields.number("operations_per_s", "1/s", 1, 10_000_000)?,
            burst_operations: fields.number("burst_operations", "operations", 1, 1_000_000_000)?,
            operation_sectors: fields.number("operation_kib", "KiB", 4, 1 << 20)? * 2,
            throughput_kbps: fields.number("throughput_kbps", "kB/s", 1, 100_000_000)?,
            burst_sectors: fields.number("burst_kib", "KiB", 4, 1 << 30)? * 2,
            read_latency_ns: fields.number("read_latency_us", "µs", 1, 1_000_000)? * 1000,
            write_latency_ns: fields.number("write_latency_us", "µs", 1, 1_000_000)? * 1000,
            jitter_ns: fields.number("jitter_us", "µs", 0, 1_000_000)? * 1000,
            interface_kbps: fields.number("interface_kbps", "kB/s", 1, 100_000_000)?,
            way: Way::read(fields, Attached::Network, UNLIMITED)?,
        };
        if spec.jitter_ns > spec.read_latency_ns.min(spec.write_latency_ns) {
            return Err(SpecError::Contradiction {
                keys: "jitter_us, read_latency_us, write_latency_us".to_owned(),
                why: "a latency cannot be negative".to_owned(),
            });
        }
        Ok(spec)
    }

    pub fn service_4k_ns(&self) -> u64 {
        self.read_latency_ns + wire_ns(8, self.interface_kbps)
    }
}
