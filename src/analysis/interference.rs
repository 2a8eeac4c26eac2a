//! Whether other load disturbed a trial, judged by the time that the work lost. Pure.
//!
//! A loaded machine slows every program, by a different amount in each trial. Random order within rounds keeps the comparison fair,
//! and more load makes the intervals wider, so ordinary load is reported and voids nothing. A trial that mostly measures the
//! scheduler is void, because no interval repairs it.
//!
//! The effect is measured, not the load: the share of the work's runnable time in which another process had the work's CPU.

use super::steps;
use crate::probes::{self, cpu::machine_ns};
use crate::schema::event::{SUSPENDED_NS, Seen};
use crate::schema::job::{Purpose, StepName};
use crate::schema::reason::{Condition, Held, ValidityCheck};
use crate::schema::record::{Interference, Record};
use crate::schema::setup::ClockKind;
use crate::schema::units::sum;

/// Above this share the trial is void. With one other busy process per CPU, a fair scheduler leaves 1/2 of a CPU to work that never
/// sleeps; with three other processes 1/4, with five 1/6. So a build on all CPUs, or a test suite, may run at the same time and is
/// reported. With more than five the trial measures the scheduler, and no number of rounds repairs it.
const TOO_MUCH: f64 = 0.85;
/// Above this share the loss is reported. An undisturbed run loses less than 1 %.
const NOTABLE: f64 = 0.10;
/// A smaller loss does not count as interference, whatever its share: this is one period of a quota, or ten ticks of the clock that
/// counts CPU time.
const TRIFLE_NS: u64 = 100_000_000;

/// Judges a trial. `None` in virtual time (the host has no influence), on an emulated CPU (times do not count), and for incomplete
/// measurements.
pub fn check(record: &Record) -> Option<ValidityCheck> {
    let has_times = record.clock != ClockKind::Virtual && record.fidelity.times_count();
    let is_whole = record.measured().all(|stage| stage.window_ns.is_some());
    let is_measured = record.purpose == Purpose::Measure && record.measured().next().is_some();
    let seen = record.circumstances.interference.as_ref()?;
    if !has_times || !is_whole || !is_measured {
        return None;
    }
    let halted = halted(record);
    let losses = [others(record, seen), steal(record), quota(record, seen)];
    let most = losses.iter().flatten().map(Loss::share).fold(0.0, f64::max);
    let is_hot = seen.heat.is_some_and(|times| times > 0);
    let held = match most {
        _ if halted.is_some() => Held::No,
        share if share > TOO_MUCH => Held::No,
        share if share > NOTABLE || is_hot => Held::Label,
        _ => Held::Yes,
    };
    let losses = losses.iter().flatten().map(Loss::said);
    let said: Vec<String> = halted.into_iter().chain(losses).chain(heat(seen)).collect();
    let lost =
        if said.is_empty() { "this kernel says nothing of what it lost".to_owned() } else { said.join(", ") };
    Some(ValidityCheck {
        name: Condition::Interference,
        asked: format!(
            "at most {:.0}% of its time lost to others, noted from {:.0}% on",
            100.0 * TOO_MUCH,
            100.0 * NOTABLE
        ),
        seen: format!("{lost}; {}", machine(record, seen)),
        held,
    })
}

/// What stopped the trial's processes although they were ready to run.
fn halted(record: &Record) -> Option<String> {
    record.seen.iter().find_map(|seen| match *seen {
        Seen::Halted { suspended_ns, .. } if suspended_ns > SUSPENDED_NS => {
            Some(format!("the machine slept for {:.1} s", suspended_ns as f64 / 1e9))
        }
        Seen::Halted { continued: true, .. } => {
            Some("the work was stopped and continued by signals".to_owned())
        }
        Seen::Halted { asleep_ns, .. } => Some(format!(
            "all processes of the trial stood still for {:.1} s, as if stopped or frozen",
            asleep_ns as f64 / 1e9
        )),
        _ => None,
    })
}

/// Lost time, and the time of which it is a share.
struct Loss {
    to: &'static str,
    ns: u64,
    of_ns: u64,
}

impl Loss {
    fn share(&self) -> f64 {
        if self.ns < TRIFLE_NS { 0.0 } else { (self.ns as f64 / self.of_ns.max(1) as f64).min(1.0) }
    }

    fn said(&self) -> String {
        format!("{:.1}% lost to {}", 100.0 * self.ns as f64 / self.of_ns.max(1) as f64, self.to)
    }
}

/// The work's waits for a CPU, but at most the time in which other processes had a CPU: longer waits are waits for the work's own
/// clients and the filesystem's threads. A guest runs no other processes.
fn others(record: &Record, seen: &Interference) -> Option<Loss> {
    if record.clock != ClockKind::Host {
        return None;
    }
    let (mut waited, mut all) = (0_u64, 0_u64);
    for (of, work) in record.works.iter().enumerate().filter(|(_, work)| work.measured) {
        for step in steps::of_work(record, of, StepName::Work) {
            waited = waited.saturating_add(step.waited_ns?);
            all = all.saturating_add(step.ns.saturating_mul(work.clients.into()));
        }
    }
    Some(Loss { to: "other processes", ns: waited.min(seen.others_ns?), of_ns: all })
}

/// Steal time, as a share of the time in which a CPU had work, from the start of the work to the end of the sync.
fn steal(record: &Record) -> Option<Loss> {
    let counted = probes::sum(record.measured());
    let cpu = counted.get("cpu")?;
    let ns = cpu.get("machine_steal_ns").copied()?;
    Some(Loss { to: "the hypervisor", ns, of_ns: machine_ns(cpu)? })
}

/// Time lost to a CPU quota, as a share of the whole launch.
fn quota(record: &Record, seen: &Interference) -> Option<Loss> {
    Some(Loss { to: "a quota", ns: seen.quota_ns?, of_ns: record.circumstances.host_ns })
}

fn heat(seen: &Interference) -> Option<String> {
    seen.heat.filter(|times| *times > 0).map(|times| format!("slowed by heat {times} times"))
}

/// The state of the whole machine. It includes the trial's own waits, so it is only reported, not judged.
fn machine(record: &Record, seen: &Interference) -> String {
    let share = |ns: u64, of: u64| format!("{:.0}%", 100.0 * ns as f64 / of.max(1) as f64);
    let host_ns = record.circumstances.host_ns;
    let others =
        seen.others_ns.map(|ns| format!("others had {} of the CPUs", share(ns, sum_of_cpus(seen, host_ns))));
    let pressure = [
        ("a CPU", seen.pressure_cpu_ns),
        ("a disk", seen.pressure_io_ns),
        ("memory", seen.pressure_memory_ns),
    ];
    let pressure: Vec<String> = pressure
        .iter()
        .filter_map(|(what, ns)| Some(format!("for {what} {}", share((*ns)?, host_ns))))
        .collect();
    let pressure =
        (!pressure.is_empty()).then(|| format!("somebody waited {} of the trial", pressure.join(", ")));
    let clock = seen.khz.map(|[low, high]| format!("clocks of {} to {} MHz", low / 1000, high / 1000));
    let load = format!("load {:.2} before it", record.circumstances.load);
    [others, pressure, clock, Some(load)].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn sum_of_cpus(seen: &Interference, ns: u64) -> u64 {
    sum([ns.saturating_mul(seen.cpus.max(1))])
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;
    use crate::schema::event::Stepped;
    use crate::schema::record::StageRecord;
    use crate::schema::setup::Fidelity;

    const SECOND: u64 = 1_000_000_000;

    /// Ten seconds of work that waited `waited_ns` for a CPU, while other processes had a CPU for `others_ns`.
    fn record(waited_ns: Option<u64>, others_ns: u64) -> Record {
        let mut record = example::record();
        record.stages = vec![StageRecord { window_ns: Some([0, 10 * SECOND]), ..StageRecord::default() }];
        record.steps = vec![Stepped {
            step: StepName::Work,
            ns: 10 * SECOND,
            waited_ns,
            work: Some(0),
            ..Stepped::default()
        }];
        let seen = Interference { cpus: 2, others_ns: Some(others_ns), ..Interference::default() };
        record.circumstances.interference = Some(seen);
        record
    }

    fn held(record: &Record) -> Option<Held> {
        check(record).map(|check| check.held)
    }

    #[test]
    fn whatever_halted_the_trial_voids_it_and_is_named() {
        let halted = |asleep_ns, suspended_ns, continued| {
            let mut record = record(Some(0), 0);
            record.seen = vec![Seen::Halted { asleep_ns, suspended_ns, continued }];
            check(&record).map(|check| (check.held, check.seen)).unwrap()
        };
        for (asleep_ns, suspended_ns, continued, why) in [
            (8 * SECOND, 0, false, "stood still for 8.0 s"),
            (SECOND + 1, 0, false, "stood still for 1.0 s"),
            (0, 3 * SECOND, false, "the machine slept for 3.0 s"),
            (0, SUSPENDED_NS + 1, false, "the machine slept for 0.0 s"),
            (0, 0, true, "stopped and continued by signals"),
            (8 * SECOND, 3 * SECOND, true, "the machine slept for 3.0 s"),
            (8 * SECOND, SUSPENDED_NS, true, "stopped and continued by signals"),
        ] {
            let (held, seen) = halted(asleep_ns, suspended_ns, continued);
            assert!(held == Held::No && seen.contains(why), "{why}: {seen}");
        }
        assert_eq!(held(&record(Some(0), 0)), Some(Held::Yes));
    }

    #[test]
    fn what_others_took_from_the_work_is_said_and_too_much_of_it_voids() {
        for (waited, others, expected) in [
            (0, 0, Held::Yes),
            (SECOND - 1, 100 * SECOND, Held::Yes),
            (2 * SECOND, 100 * SECOND, Held::Label),
            (8 * SECOND, 100 * SECOND, Held::Label),
            (9 * SECOND, 100 * SECOND, Held::No),
        ] {
            assert_eq!(held(&record(Some(waited), others)), Some(expected), "{waited} {others}");
        }
    }

    #[test]
    fn a_work_that_waits_for_itself_is_not_disturbed() {
        assert_eq!(held(&record(Some(9 * SECOND), 0)), Some(Held::Yes));
        let mut clients = record(Some(18 * SECOND), 100 * SECOND);
        clients.works[0].clients = 2;
        assert_eq!(held(&clients), Some(Held::No), "18 of 20 s");
        clients.works[0].clients = 4;
        assert_eq!(held(&clients), Some(Held::Label), "18 of 40 s");
    }

    #[test]
    fn a_hypervisor_and_a_quota_take_time_too() {
        let mut stolen = record(None, 0);
        let cpu = |steal: u64| {
            [
                ("machine_cpus_ns", 20 * SECOND),
                ("machine_idle_ns", 10 * SECOND),
                ("machine_iowait_ns", 0),
                ("machine_steal_ns", steal),
            ]
        };
        let mut steal = |ns: u64| {
            let raw = cpu(ns).map(|(name, value)| (name.to_owned(), value)).into();
            stolen.stages[0].probes.insert("cpu".into(), raw);
            held(&stolen)
        };
        assert_eq!(
            [steal(0), steal(2 * SECOND), steal(9 * SECOND)],
            [Held::Yes, Held::Label, Held::No].map(Some)
        );
        let quota = |ns: u64| {
            let mut record = record(None, 0);
            record.circumstances.host_ns = 20 * SECOND;
            record.circumstances.interference.as_mut().unwrap().quota_ns = Some(ns);
            held(&record)
        };
        assert_eq!(
            [quota(SECOND), quota(4 * SECOND), quota(18 * SECOND)],
            [Held::Yes, Held::Label, Held::No].map(Some)
        );
    }

    #[test]
    fn heat_is_said_and_a_trifle_is_not_judged() {
        let mut hot = record(Some(0), 0);
        hot.circumstances.interference.as_mut().unwrap().heat = Some(3);
        let found = check(&hot).unwrap();
        assert!(found.held == Held::Label && found.seen.contains("slowed by heat 3 times"), "{found:?}");
        let mut brief = record(Some(TRIFLE_NS - 1), SECOND);
        brief.steps[0].ns = TRIFLE_NS;
        assert_eq!(held(&brief), Some(Held::Yes));
    }

    #[test]
    fn where_the_hosts_time_is_not_the_trials_nothing_is_judged() {
        let virtually = Record {
            clock: ClockKind::Virtual,
            fidelity: Fidelity::Model,
            ..record(Some(9 * SECOND), 100 * SECOND)
        };
        assert_eq!(held(&virtually), None);
        let emulated = Record {
            clock: ClockKind::Guest,
            fidelity: Fidelity::VmEmulated,
            ..record(Some(9 * SECOND), 100 * SECOND)
        };
        assert_eq!(held(&emulated), None);
        let guest = Record {
            clock: ClockKind::Guest,
            fidelity: Fidelity::VmKvm,
            ..record(Some(9 * SECOND), 100 * SECOND)
        };
        assert_eq!(held(&guest), Some(Held::Yes), "whom it waits for in its own machine is its own");
    }
}
