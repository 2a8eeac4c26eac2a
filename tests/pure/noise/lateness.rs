//! The engine that plants delays is late by what it says, on any machine.

use std::cell::Cell;

use super::workloads::late::{Late, LateClock, share};
use super::workloads::{Clock, Workload};

/// Each reading takes 20 ns, and each hundredth finds that somebody else had the CPU for 4 ms.
struct Busy {
    now_ns: Cell<u64>,
    readings: Cell<u64>,
    is_shared: bool,
}

impl Busy {
    fn alone() -> Self {
        Busy { now_ns: Cell::new(1_000), readings: Cell::new(0), is_shared: false }
    }

    fn pass(&self, ns: u64) {
        self.now_ns.set(self.now_ns.get() + ns);
    }
}

impl Clock for Busy {
    fn now_ns(&self) -> u64 {
        let readings = self.readings.replace(self.readings.get() + 1);
        self.pass(if self.is_shared && readings.is_multiple_of(100) { 4_000_000 } else { 20 });
        self.now_ns.get()
    }
}

/// How much longer it took than the work alone, whose operations take 10 µs each.
fn late_by(clock: &Busy, share: f64, operations: u64) -> f64 {
    let late = LateClock::new(clock, share);
    let begin_ns = late.now_ns();
    let mut worked_ns = 0;
    for _ in 0..operations {
        let asked_ns = late.now_ns();
        clock.pass(10_000);
        // The reading that ends an operation is its own.
        worked_ns += 10_000 + 20;
        assert!(late.now_ns() > asked_ns);
    }
    let all_ns = (late.now_ns() - begin_ns) as f64;
    // And so is one before each.
    all_ns / (worked_ns + 20 * operations) as f64 - 1.0
}

#[test]
fn it_is_late_by_its_share_of_the_work() {
    for share in [0.0, 0.01, 0.02, 0.05, 0.10] {
        let by = late_by(&Busy::alone(), share, 10_000);
        assert!((by - share).abs() < 0.002, "{by} in place of {share}");
    }
}

/// What others take while it burns is burnt, or a busy machine would make it later than it says. Half of the time is theirs.
#[test]
fn on_a_busy_machine_it_is_no_later() {
    let busy = || Busy { is_shared: true, ..Busy::alone() };
    let alone = late_by(&busy(), 0.0, 100_000);
    let by = (1.0 + late_by(&busy(), 0.10, 100_000)) / (1.0 + alone) - 1.0;
    assert!(alone > 1.0 && (by - 0.10).abs() < 0.01, "{by} beside {alone}");
}

#[test]
fn only_what_is_marked_is_late() {
    let fsid = |uuid: [u8; 16]| {
        let [first, last] = [0, 8].map(|at| u64::from_le_bytes(uuid[at..at + 8].try_into().unwrap()));
        first ^ last
    };
    let marked = |percent| fsid(*b"late\0\0\0\0\0\0\0\0\0\0\0\0") | u64::from(percent) << 56;
    assert_eq!([0, 1, 5, 10].map(|percent: u8| share(marked(percent))), [0.0, 0.01, 0.05, 0.1]);
    assert_eq!(share(fsid(*b"any other mark!!")), 0.0);
}

#[test]
fn its_sets_are_work() {
    for set in Late.sets() {
        let work = Late.parse(&set.file().parameters).unwrap();
        assert!(work.amount(1).bytes_written > 0 && Late.name() == "late", "{}", set.name);
    }
}
