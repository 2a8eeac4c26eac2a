//! The expected duration of work, estimated from its bytes; the first round gives a better estimate.

use std::time::Duration;

use super::extras;
use super::resolved::Resolved;
use super::skips::Skip;
use super::written::Amounts;
use crate::schema::plan::{Plan, Trial};
use crate::schema::setup::Fidelity;
use crate::schema::units::MIB;
use crate::testbeds::Testbeds;

/// The basis of the estimate.
#[derive(Debug, PartialEq)]
pub struct Pace {
    pub mib_a_second: f64,
    /// Time of a trial without its work, such as for booting a guest.
    pub overhead: Duration,
}

pub const NATIVE: Pace = Pace { mib_a_second: 100.0, overhead: Duration::from_millis(800) };
/// Guests of one CPU with small files: 4 to 7 MiB/s, with large ones more, and 4 to 6 s for the guest.
pub const EMULATED: Pace = Pace { mib_a_second: 8.0, overhead: Duration::from_secs(5) };

impl Pace {
    pub fn of(fidelity: Fidelity) -> &'static Pace {
        match fidelity {
            Fidelity::Loop | Fidelity::Directory | Fidelity::Twin | Fidelity::Device | Fidelity::VmKvm => {
                &NATIVE
            }
            Fidelity::VmEmulated | Fidelity::Model => &EMULATED,
        }
    }

    pub fn time(&self, bytes_written: u64) -> Duration {
        self.overhead + Duration::from_secs_f64(bytes_written as f64 / (self.mib_a_second * MIB as f64))
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
}

/// The estimate for integrity checks and one round, with `at_once` trials in parallel.
pub fn guess(plan: &Resolved<'_>, testbeds: &Testbeds<'_>, skips: &[Skip], at_once: usize) -> Time {
    let (mut time, mut amounts) = (Duration::ZERO, Amounts::default());
    for trial in plan.integrity_checks().chain(plan.round(1)).filter(|trial| !is_skipped(trial, skips)) {
        let testbed = testbeds.of(plan, trial.candidate);
        let written = amounts.of(plan, &trial);
        time = time.saturating_add(Pace::of(testbed.traits().fidelity).time(written));
    }
    halved(time / u32::try_from(at_once).unwrap_or(u32::MAX).max(1))
}

/// Splits the time into halves for the integrity checks and one round, because both do the same work.
pub fn halved(time: Duration) -> Time {
    Time { checks: time / 2, a_round: time / 2 }
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
        format!(
            "The budget of {budget} is too short: integrity checks and the minimum of {rounds} rounds take about \
             {minutes} min; they run anyway. Try --at-least 1 for a preliminary result, fewer --filesystems, or a \
             smaller --scale."
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
    fn an_emulated_cpu_takes_longer_over_the_same_bytes() {
        let [native, emulated] = [Fidelity::VmKvm, Fidelity::VmEmulated].map(|f| Pace::of(f).time(80 * MIB));
        assert_eq!((native, emulated), (Duration::from_millis(1600), Duration::from_secs(15)));
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
            over.contains("minimum of 6 rounds take about 6 min") && over.contains("--at-least 1"),
            "{over}"
        );
        assert_eq!(said("budget = '5m'\nat_least = 6", 42), None);
        assert_eq!(said("rounds = 6", 1000), None, "without a budget there is none to exceed");
    }
}
