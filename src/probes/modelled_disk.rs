//! Counters of a guest's modelled disks together: time by mechanism, and amounts.

use fsderby_diskmodel::Access;
use serde_json::Value;

use super::{Counter, NotAvailable, Probe, Raw, Running, Site};
use crate::schema::description::Description;
use crate::storage::disk::{Totals, totals};

pub struct ModelledDisk;

static COUNTERS: [Counter; 38] = [
    Counter::difference("reads"),
    Counter::difference("writes"),
    Counter::difference("flushes"),
    Counter::difference("discards"),
    Counter::difference("sectors_read"),
    Counter::difference("sectors_written"),
    Counter::difference("read_hits"),
    Counter::difference("stream_hits"),
    Counter::difference("writes_cached"),
    Counter::difference("seek_ns"),
    Counter::difference("rotation_ns"),
    Counter::difference("transfer_ns"),
    Counter::difference("overhead_ns"),
    Counter::difference("idle_ns"),
    Counter::difference("media_reads"),
    Counter::difference("media_writes"),
    Counter::difference("media_sectors_read"),
    Counter::difference("media_sectors_written"),
    Counter::difference("sectors_read_ahead"),
    Counter::difference("sectors_destaged"),
    Counter::difference("member_reads"),
    Counter::difference("member_writes"),
    Counter::difference("stripes_whole"),
    Counter::difference("stripes_patched"),
    Counter::difference("bands_rewritten"),
    Counter::difference("units_written"),
    Counter::difference("units_programmed"),
    Counter::difference("units_copied"),
    Counter::difference("erases"),
    Counter::difference("copy_ns"),
    Counter::difference("waited_reads_ns"),
    Counter::difference("waited_queued_ns"),
    Counter::difference("waited_streams_ns"),
    Counter::difference("waited_flushes_ns"),
    Counter::difference("waited_copying_ns"),
    Counter::difference("late"),
    Counter::difference("late_ns"),
    Counter::difference("server_ns"),
];

impl Probe for ModelledDisk {
    fn name(&self) -> &'static str {
        "disk"
    }

    fn description(&self) -> Description {
        Description {
            what: "Counters of the modelled disk: time spent on seeks, rotation, transfers and command overhead, \
                   including background work; requests, sectors and cache hits; flash erases and page copies; \
                   time with a request outstanding, by access type; completions that were late because the \
                   guest's CPU was busy; CPU time of the threads that serve the disks.",
            origin: "The counters of the model itself (crates/diskmodel).",
            limits: "The counters describe a model, not a real disk. With several disks, all counters are \
                     sums over the disks; times of a RAID are sums over its members, times of flash sums \
                     over its dies.",
        }
    }

    fn counters(&self) -> &'static [Counter] {
        &COUNTERS
    }

    fn open(&self, _site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable> {
        match totals() {
            none if none.is_empty() => Err(NotAvailable("the disk is not a modelled one".into())),
            before => Ok(Box::new(Open(before))),
        }
    }
}

/// Time with a request of this type outstanding, over all disks. `None` for older records, made before it was counted.
pub fn waited_ns(raw: &Raw, access: Access) -> Option<u64> {
    let name = match access {
        Access::Reads => "waited_reads_ns",
        Access::Queued => "waited_queued_ns",
        Access::Streams => "waited_streams_ns",
        Access::Flushes => "waited_flushes_ns",
        Access::Copying => "waited_copying_ns",
    };
    raw.get(name).copied()
}

struct Open(Vec<Totals>);

impl Running for Open {
    fn start(&mut self) {
        self.0 = totals();
    }

    fn stop(&mut self) -> Raw {
        let (before, after) = (flat(&self.0), flat(&totals()));
        after
            .into_iter()
            // A movement is counted when it begins, so the remaining idle time can briefly decrease.
            .map(|(name, value)| (name.clone(), value.saturating_sub(*before.get(&name).unwrap_or(&0))))
            .collect()
    }
}

/// The counters by name, summed over the disks.
fn flat(disks: &[Totals]) -> Raw {
    let mut sums = Raw::new();
    for disk in disks {
        let counters = serde_json::to_value(disk);
        debug_assert!(matches!(counters, Ok(Value::Object(_))), "counters have names");
        let Ok(Value::Object(counters)) = counters else { continue };
        for (name, value) in counters {
            *sums.or_default(&name) += value.as_u64().unwrap_or(0);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_of_the_model_is_declared() {
        let given = flat(&[Totals { server_ns: Some(1), ..Totals::default() }]);
        let declared: Vec<&str> = COUNTERS.iter().map(|c| c.name).collect();
        assert!(given.keys().all(|name| declared.contains(&name.as_str())), "{given:?}");
        assert_eq!(given.len(), declared.len());
    }

    #[test]
    fn several_disks_are_counted_together() {
        let late = |late| Totals { late, late_ns: 10 * late, ..Totals::default() };
        let sums = flat(&[late(2), late(0), late(5)]);
        assert_eq!((sums["late"], sums["late_ns"], sums["reads"]), (7, 70, 0));
    }

    #[test]
    fn a_server_elsewhere_has_no_cpu_time_here() {
        assert!(!flat(&[Totals::default()]).contains_key("server_ns"));
    }

    #[test]
    fn what_was_waited_for_is_told_by_kind_of_access_and_not_where_it_was_not_counted() {
        let mut totals = Totals::default();
        totals.drive.waited_flushes_ns = 40;
        totals.drive.waited_copying_ns = 2;
        let raw = flat(&[totals, totals]);
        let waited = Access::ALL.map(|access| (access, waited_ns(&raw, access)));
        let of = |access, ns| (access, Some(ns));
        let known = [of(Access::Reads, 0), of(Access::Queued, 0), of(Access::Streams, 0)];
        assert_eq!(waited[..3], known);
        assert_eq!(waited[3..], [of(Access::Flushes, 80), of(Access::Copying, 4)]);
        assert_eq!(waited_ns(&Raw::new(), Access::Reads), None);
    }
}
