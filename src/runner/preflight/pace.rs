//! The expected duration of a run, estimated from bytes, operations and fsyncs of its works; the first round gives a better estimate.

use std::time::Duration;

use super::skips::Skip;
use crate::runner::plan::extras;
use crate::runner::plan::resolved::Resolved;
use crate::runner::plan::written::{Amounts, Expected};
use crate::schema::job::Purpose;
use crate::schema::plan::{Plan, Trial};
use crate::schema::setup::Fidelity;
use crate::schema::units::MIB;
use crate::testbeds::Testbeds;

/// The basis of the estimate. docs/measurements/faults.md has the trials that it comes from.
#[derive(Debug, PartialEq)]
pub struct Pace {
    /// Bytes read and written by the work.
    pub mib_a_second: f64,
    /// The same of works that copy from a second disk, including the time in which that disk is filled.
    pub copied_mib_a_second: f64,
    pub operations_a_second: f64,
    /// On a disk with a volatile cache.
    pub fsyncs_a_second: f64,
    /// Files that an integrity check reads back, which it does twice.
    pub files_a_second: f64,
    /// Time of a trial without its work, such as for booting a guest.
    pub overhead: Duration,
}

pub const NATIVE: Pace = Pace {
    mib_a_second: 150.0,
    copied_mib_a_second: 120.0,
    operations_a_second: 20_000.0,
    fsyncs_a_second: 400.0,
    files_a_second: 3000.0,
    overhead: Duration::from_millis(800),
};
/// Guests with one CPU.
pub const EMULATED: Pace = Pace {
    mib_a_second: 64.0,
    copied_mib_a_second: 13.0,
    operations_a_second: 2500.0,
    fsyncs_a_second: 200.0,
    files_a_second: 1000.0,
    overhead: Duration::from_secs(5),
};

impl Pace {
    pub fn of(fidelity: Fidelity) -> &'static Pace {
        match fidelity {
            Fidelity::Loop | Fidelity::Directory | Fidelity::Twin | Fidelity::Device | Fidelity::VmKvm => {
                &NATIVE
            }
            Fidelity::VmEmulated | Fidelity::Model => &EMULATED,
        }
    }

    /// The expected duration of a trial. An integrity check reads all content twice.
    pub fn time(&self, purpose: Purpose, work: &Expected) -> Duration {
        let moved = |bytes: u64| bytes as f64 / (self.mib_a_second * MIB as f64);
        let all = work.bytes_read.saturating_add(work.bytes_written);
        let mut seconds = moved(all.saturating_sub(work.bytes_copied).saturating_add(work.filled));
        seconds += work.bytes_copied as f64 / (self.copied_mib_a_second * MIB as f64);
        seconds += work.operations as f64 / self.operations_a_second;
        seconds += work.syncs as f64 / self.fsyncs_a_second;
        if purpose == Purpose::Integrity {
            let all = work.bytes_peak.saturating_add(work.filled);
            seconds += 2.0 * (work.files_peak as f64 / self.files_a_second + moved(all));
        }
        let most = Duration::from_secs(u32::MAX.into());
        self.overhead + Duration::try_from_secs_f64(seconds).unwrap_or(most).min(most)
    }
}

/// The estimated durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// Duration of the integrity checks before the first round.
    pub checks: Duration,
    pub a_round: Duration,
}

impl Time {
    /// The expected duration of the integrity checks and this many rounds.
    pub fn of_rounds(&self, rounds: u32) -> Duration {
        self.a_round.saturating_mul(rounds).saturating_add(self.checks)
    }

    /// Adds a trial of the integrity checks or of one round.
    pub fn add(&mut self, purpose: Purpose, time: Duration) {
        let part = if purpose == Purpose::Integrity { &mut self.checks } else { &mut self.a_round };
        *part = part.saturating_add(time);
    }

    /// With so many trials in parallel.
    pub fn parallel(self, at_once: usize) -> Time {
        let at_once = u32::try_from(at_once).unwrap_or(u32::MAX).max(1);
        Time { checks: self.checks / at_once, a_round: self.a_round / at_once }
    }
}

/// The estimate for integrity checks and one round, with `at_once` trials in parallel.
pub fn guess(plan: &Resolved<'_>, testbeds: &Testbeds<'_>, skips: &[Skip], at_once: usize) -> Time {
    let (mut time, mut amounts) = (Time::default(), Amounts::default());
    for trial in plan.integrity_checks().chain(plan.round(1)).filter(|trial| !is_skipped(trial, skips)) {
        let pace = Pace::of(testbeds.of(plan, trial.candidate).traits().fidelity);
        time.add(trial.purpose, pace.time(trial.purpose, &amounts.of(plan, &trial)));
    }
    time.parallel(at_once)
}

pub fn is_skipped(trial: &Trial<'_>, skips: &[Skip]) -> bool {
    skips.iter().any(|s| s.filesystem == trial.candidate.label && s.scenario == trial.scenario.label)
}

/// A note if the plan's minimum number of rounds takes longer than the plan's budget.
pub fn beyond_budget(plan: &Plan, time: Time) -> Option<String> {
    let budget = plan.budget?;
    let rounds = plan.rounds.at_least();
    let least = time.of_rounds(rounds);
    (least > budget.0).then(|| {
        let minutes = least.as_secs().div_ceil(60);
        let fewer = (1..rounds).rev().find(|n| time.of_rounds(*n) <= budget.0);
        let fewer =
            fewer.map_or_else(String::new, |n| format!("--at-least {n} for a preliminary result, "));
        format!(
            "The budget of {budget} is too short: integrity checks and the minimum of {rounds} rounds take about \
             {minutes} min; fsderby runs them anyway. Try {fewer}fewer --filesystems, or a smaller --scale."
        )
    })
}

/// The number of extra trials without the worst corners; 0 in a run too short for findings.
pub fn extra_trials(plan: &Resolved<'_>, skips: &[Skip]) -> usize {
    let is_due = extras::are_due(plan.rounds.at_least());
    if is_due { extras::of_cells(plan).iter().filter(|trial| !is_skipped(trial, skips)).count() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::experiment::Experiment;

    #[test]
    fn bytes_operations_and_files_that_are_read_back_take_their_time() {
        let work = Expected {
            bytes_read: 100 * MIB,
            bytes_written: 220 * MIB,
            bytes_copied: 0,
            bytes_peak: 64 * MIB,
            files_peak: 3000,
            operations: 10_000,
            syncs: 0,
            filled: 0,
        };
        let seconds = |pace: &Pace, purpose| pace.time(purpose, &work).as_secs_f64();
        // 320/64 + 10,000/2500 + 5; 64/64 + 3000/1000 twice.
        assert_eq!(seconds(&EMULATED, Purpose::Measure), 14.0);
        assert_eq!(seconds(&EMULATED, Purpose::Integrity), 22.0);
        let native = [Purpose::Measure, Purpose::Integrity].map(|purpose| seconds(&NATIVE, purpose));
        assert!(native[0] < native[1] && native[1] < 8.0, "{native:?}");
        let synced = Expected { syncs: 1000, ..work };
        assert_eq!(EMULATED.time(Purpose::Measure, &synced).as_secs_f64(), 19.0);
        // Filled with 128 MiB at 64 MiB/s, which an integrity check reads back twice.
        let filled = Expected { filled: 128 * MIB, ..work };
        assert_eq!(EMULATED.time(Purpose::Measure, &filled).as_secs_f64(), 16.0);
        assert_eq!(EMULATED.time(Purpose::Integrity, &filled).as_secs_f64(), 28.0);
        // All of it copied from a second disk: 320/13 instead of 320/64.
        let copied = Expected { bytes_copied: 320 * MIB, ..work };
        assert_eq!(EMULATED.time(Purpose::Measure, &copied).as_secs(), 33);
        let endless = Expected { operations: u64::MAX, bytes_written: u64::MAX, ..work };
        assert!(EMULATED.time(Purpose::Measure, &endless) > Duration::from_secs(u32::MAX.into()));
    }

    #[test]
    fn a_budget_that_the_least_rounds_exceed_says_so_and_one_that_holds_them_does_not() {
        let said = |keys: &str, a_round: u64| {
            let text = format!("filesystems = ['ext4', 'xfs']\nworkloads = ['postmark-quick']\n{keys}");
            let plan = Experiment::parse(&text, "test").unwrap().plan("loop".into(), 7).unwrap();
            let [checks, a_round] = [a_round; 2].map(Duration::from_secs);
            beyond_budget(&plan, Time { checks, a_round })
        };
        // Seven times 43 s are 301 s.
        let over = said("budget = '5m'\nat_least = 6", 43).unwrap();
        assert!(
            over.contains("minimum of 6 rounds take about 6 min") && over.contains("--at-least 5 "),
            "{over}"
        );
        assert_eq!(said("budget = '5m'\nat_least = 6", 42), None);
        assert_eq!(said("rounds = 6", 1000), None, "without a budget there is none to exceed");
    }
}
