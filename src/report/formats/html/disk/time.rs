//! Time of the work and its sync by activity, from the disk's counters.

use crate::probes::{self, cpu};
use crate::schema::job::StepName;
use crate::schema::record::Record;

/// One trial's time in nanoseconds. The mechanism's four parts and its idle time add up to the wall time; controller and CPU work
/// in parallel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spent {
    /// Elapsed time of the work and its sync.
    pub wall_ns: f64,
    /// Number of RAID members or flash dies. The disk's counters are sums over these units; times of activities are these sums ÷
    /// this number.
    pub at_once: u64,
    pub seek_ns: f64,
    pub rotation_ns: f64,
    /// Time of reading and writing requested data.
    pub transfer_ns: f64,
    /// Time of flash garbage collection: copying and erasing.
    pub copy_ns: f64,
    pub idle_ns: f64,
    pub overhead_ns: f64,
    /// CPU time of the whole machine, including the disk-model server.
    pub cpu_ns: Option<f64>,
    /// By how much completions were later than the model specifies, summed.
    pub late_ns: f64,
}

/// One trial's time by activity. `members` is the number of units that work in parallel in this disk; if it is not known, it is
/// guessed from the counters. `None` if no disk was modelled, or if the work did not end.
pub fn spent(record: &Record, members: Option<u64>) -> Option<Spent> {
    let counted = probes::sum(record.measured());
    let counter = |name: &str| Some(*counted.get("disk")?.get(name)? as f64);
    let step = |step: StepName| record.step_ns(step).unwrap_or(0) as f64;
    let wall_ns = record.step_ns(StepName::Work)? as f64 + step(StepName::Sync);
    // Older records lack this counter.
    let copy_ns = counter("copy_ns").unwrap_or(0.0);
    let parts = [counter("seek_ns")?, counter("rotation_ns")?, counter("transfer_ns")? - copy_ns, copy_ns];
    let busy: f64 = parts.iter().sum();
    // The counters also run while the probes are opened and closed.
    let watched = wall_ns + step(StepName::ProbesOn) + step(StepName::ProbesOff);
    let guessed = ((busy + counter("idle_ns")?) / watched.max(1.0)).round().max(1.0);
    let at_once = members.map_or(guessed, |n| n as f64);
    // Activity that began before the work may make the sum slightly larger than the wall time.
    let fits = (wall_ns / (busy / at_once).max(1.0)).min(1.0);
    let [seek_ns, rotation_ns, transfer_ns, copy_ns] = parts.map(|part| part / at_once * fits);
    Some(Spent {
        wall_ns,
        at_once: at_once as u64,
        seek_ns,
        rotation_ns,
        transfer_ns,
        copy_ns,
        idle_ns: (wall_ns - seek_ns - rotation_ns - transfer_ns - copy_ns).max(0.0),
        overhead_ns: counter("overhead_ns")?,
        late_ns: counter("late_ns").unwrap_or(0.0),
        cpu_ns: counted.get("cpu").and_then(cpu::machine_ns).map(|ns| ns as f64),
    })
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::report::examples;
    use crate::schema::event::Stepped;

    fn record(counters: &[(&str, u64)]) -> Record {
        let mut record = examples::rounds(1).run.records.pop().expect("an example has records");
        let step = |step: StepName, ns: u64| Stepped { step, ns, ..Stepped::default() };
        record.steps =
            vec![step(StepName::ProbesOn, 50), step(StepName::Work, 900), step(StepName::Sync, 100)];
        let raw = counters.iter().map(|(name, ns)| ((*name).to_owned(), *ns)).collect();
        record.stages[0].probes = [("disk".to_owned(), raw)].into();
        record
    }

    #[test]
    fn a_single_mechanism_fills_the_wall_time() {
        let one = [
            ("seek_ns", 300),
            ("rotation_ns", 200),
            ("transfer_ns", 100),
            ("idle_ns", 450),
            ("overhead_ns", 70),
        ];
        let spent = spent(&record(&one), None).unwrap();
        assert_eq!((spent.wall_ns, spent.at_once, spent.idle_ns), (1000.0, 1, 400.0));
        assert_eq!((spent.seek_ns, spent.overhead_ns, spent.cpu_ns), (300.0, 70.0, None));
    }

    #[test]
    fn copying_is_taken_out_of_the_transfer() {
        let flash = [
            ("seek_ns", 0),
            ("rotation_ns", 0),
            ("transfer_ns", 900),
            ("copy_ns", 700),
            ("idle_ns", 150),
            ("overhead_ns", 0),
        ];
        let spent = spent(&record(&flash), Some(1)).unwrap();
        assert_eq!((spent.transfer_ns, spent.copy_ns, spent.idle_ns), (200.0, 700.0, 100.0));
    }

    #[test]
    fn sums_over_members_are_divided_by_them() {
        // Four members are watched for 1050 ns each, which is 4200 ns in total.
        let four = [
            ("seek_ns", 400),
            ("rotation_ns", 0),
            ("transfer_ns", 800),
            ("idle_ns", 3000),
            ("overhead_ns", 0),
        ];
        let spent = spent(&record(&four), None).unwrap();
        assert_eq!(
            (spent.at_once, spent.seek_ns, spent.transfer_ns, spent.idle_ns),
            (4, 100.0, 200.0, 700.0)
        );
    }

    #[test]
    fn parts_never_exceed_the_whole() {
        let more = [
            ("seek_ns", 1050),
            ("rotation_ns", 0),
            ("transfer_ns", 0),
            ("idle_ns", 0),
            ("overhead_ns", 2000),
        ];
        let spent = spent(&record(&more), Some(1)).unwrap();
        assert_eq!((spent.seek_ns, spent.idle_ns), (1000.0, 0.0));
    }

    #[test]
    fn a_disk_that_is_not_modelled_says_nothing() {
        let example = examples::rounds(1);
        assert!(example.run.records.iter().all(|r| spent(r, None).is_none()));
    }
}
