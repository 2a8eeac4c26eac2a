//! Operations completed over time, and the longest time without any.

use super::{Counter, NotAvailable, Probe, Progress, Raw, Running, Site, Work};
use crate::host::monotonic_ns;
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::description::Description;
use crate::schema::event::Series;
use crate::schema::metric::Metric;

pub struct Pace;

/// Most points of a series; if there are more, two points are merged into one. 240 points are 24 s at ten samples per second, and
/// more than a chart shows on a phone.
const POINTS: usize = 240;
/// Least number of samples for a metric.
const LOOKS: u64 = 10;

static COUNTERS: [Counter; 2] = [Counter::difference("looks"), Counter::maximum("longest_still_ns")];

static STALL: Declared = Declared {
    name: "pace.stall",
    title: "longest stall",
    section: Section::Throughput,
    over: Over::Work,
    explained: "The longest time in which no client completed an operation, measured by ten samples per second. The \
                true stall lasts at least this long, and less than 0.2 s longer. The value 0 means that every stall \
                was shorter than 0.2 s (two sampling intervals).",
    drawn: false,
    ..Declared::SECONDS
};

impl Probe for Pace {
    fn name(&self) -> &'static str {
        "pace"
    }

    fn description(&self) -> Description {
        Description {
            what: "Operations completed in each tenth of a second, and the longest time without a completed \
                   operation.",
            origin: "Counters shared by clients and agent; the agent samples them ten times per second, and \
                     the workload itself reads no clock for these counters.",
            limits: "The workload engine defines what an operation is. At most 240 points are kept; for longer \
                     workloads two, four or more samples are merged into one point. With --on model (virtual time) \
                     there are no samples while the workload runs. A sample costs less than 0.1 µs plus the wake-up \
                     of the agent.",
        }
    }

    fn counters(&self) -> &'static [Counter] {
        &COUNTERS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        vec![&STALL]
    }

    fn metrics(&self, raw: &Raw, _work: &Work<'_>) -> Vec<Metric> {
        let has_looked = raw.get("looks").is_some_and(|looks| *looks >= LOOKS);
        let still = raw.get("longest_still_ns").filter(|_| has_looked);
        still.map(|ns| STALL.metric(*ns as f64 / 1e9)).into_iter().collect()
    }

    fn open(&self, site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable> {
        let why =
            || NotAvailable("not sampled in virtual time, where sampling would change the result".into());
        let progress = site.progress.ok_or_else(why)?.clone();
        Ok(Box::new(Open { progress, seen: Seen::default() }))
    }
}

struct Open {
    progress: Progress,
    seen: Seen,
}

impl Running for Open {
    fn start(&mut self) {
        self.seen = Seen { at_ns: monotonic_ns(), ..Seen::default() };
    }

    fn sample(&mut self) {
        self.seen.look(monotonic_ns(), self.progress.done());
    }

    fn work_ended(&mut self) {
        self.seen.end(monotonic_ns(), self.progress.done());
    }

    fn stop(&mut self) -> Raw {
        [("looks".to_owned(), self.seen.looks), ("longest_still_ns".to_owned(), self.seen.longest_still_ns)]
            .into()
    }

    fn series(&mut self) -> Series {
        std::mem::take(&mut self.seen.points)
    }
}

/// The samples of a workload so far.
#[derive(Default)]
struct Seen {
    looks: u64,
    /// Time of the last sample, and the operations completed by then.
    at_ns: u64,
    done: u64,
    /// Time of the first sample with this number of operations.
    since_ns: u64,
    longest_still_ns: u64,
    points: Series,
    /// Samples per point, and samples in the last point.
    looks_in_point: u32,
    in_last: u32,
}

impl Seen {
    fn look(&mut self, now_ns: u64, done: u64) {
        self.looks += 1;
        if done > self.done || self.looks == 1 {
            self.since_ns = now_ns;
        } else {
            self.longest_still_ns = self.longest_still_ns.max(now_ns.saturating_sub(self.since_ns));
        }
        self.add(now_ns, done);
    }

    /// Between its last operation and this call the worker sums up its results; that is not a stall.
    fn end(&mut self, now_ns: u64, done: u64) {
        if done > self.done {
            self.add(now_ns, done);
        }
    }

    fn add(&mut self, now_ns: u64, done: u64) {
        // Whole milliseconds; the remainder goes to the next point.
        let ms = now_ns.saturating_sub(self.at_ns) / 1_000_000;
        let point = [ms, done.saturating_sub(self.done)];
        (self.at_ns, self.done) = (self.at_ns + ms * 1_000_000, done);
        match self.points.last_mut().filter(|_| self.in_last < self.looks_in_point.max(1) && self.in_last > 0)
        {
            Some(last) => *last = [last[0] + point[0], last[1] + point[1]],
            None => {
                self.points.push(point);
                self.in_last = 0;
            }
        }
        self.in_last += 1;
        if self.points.len() >= POINTS && self.in_last >= self.looks_in_point.max(1) {
            self.coarsen();
        }
    }

    fn coarsen(&mut self) {
        let pairs = self.points.chunks(2);
        self.points = pairs.map(|pair| pair.iter().fold([0, 0], |a, b| [a[0] + b[0], a[1] + b[1]])).collect();
        self.looks_in_point = self.looks_in_point.max(1) * 2;
        self.in_last = self.looks_in_point;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_NS: u64 = 100_000_000;

    /// Looks every 0.1 s, and what was done by then.
    fn seen(done: impl IntoIterator<Item = u64>) -> Seen {
        let mut seen = Seen::default();
        (1..).zip(done).for_each(|(n, done)| seen.look(n * TICK_NS, done));
        seen
    }

    #[test]
    fn a_stall_goes_from_the_first_look_that_found_so_much_to_the_last() {
        let still = |done: &[u64]| seen(done.iter().copied()).longest_still_ns;
        assert_eq!(still(&[10, 20, 30]), 0);
        assert_eq!(still(&[10, 20, 20, 20, 30, 30]), 2 * TICK_NS);
        assert_eq!(still(&[0, 0, 0, 0, 9]), 3 * TICK_NS, "before the first operation too");
    }

    #[test]
    fn what_follows_the_last_operation_is_no_stall() {
        let mut seen = seen([10, 20]);
        seen.end(90 * TICK_NS, 20);
        assert_eq!((seen.longest_still_ns, seen.points.len()), (0, 2));
        seen.end(91 * TICK_NS, 25);
        assert_eq!(seen.points.last(), Some(&[8900, 5]));
    }

    #[test]
    fn a_long_series_keeps_its_time_and_its_operations_in_few_points() {
        for looks in [1, 239, 240, 241, 1000, 36_000_u64] {
            let seen = seen((1..=looks).map(|n| n * n));
            let sum = |at: usize| seen.points.iter().map(|point| point[at]).sum::<u64>();
            assert_eq!((sum(0), sum(1)), (looks * 100, looks * looks), "{looks}");
            assert!(
                seen.points.len() <= POINTS && seen.points.len() as u64 >= looks.min(POINTS as u64 / 2),
                "{looks}"
            );
            let widths: Vec<u64> = seen.points.iter().map(|point| point[0]).collect();
            let (last, whole) = widths.split_last().unwrap();
            assert!(whole.iter().all(|width| *width == whole[0] && last <= width), "{looks}: {widths:?}");
        }
    }
}
