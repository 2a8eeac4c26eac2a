//! Measures how much disk-model overhead is in a ratio of two candidates, and allows for it.
//!
//! ```text
//! log ratio   ·  1×: every round     ·  2×, 3×: one trial each, on the first round's disk
//!             └──────────────────────┴──▶ the line through them at 0×, and how far it may be wrong
//! ```

use fsderby_stats::floor::to_zero;

use super::dataset::log_ratio;
use super::entrant::Entrant;
use crate::schema::finding::Floor;
use crate::schema::job::Purpose;

/// The overhead of a pair.
#[derive(Clone, Debug, PartialEq)]
pub enum Excess {
    /// The metric is not a time, so its figures contain no overhead, or both figures contain the same overhead.
    None,
    NotMeasured,
    Measured {
        floor: Floor,
        /// Speed of the CPU on which the overhead was measured.
        mips: u32,
    },
}

/// How far a ratio may differ from its measured value, as logarithms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slack {
    pub least: f64,
    pub most: f64,
}

/// The overhead for two candidates in one metric of one scenario.
pub fn of(a: &Entrant<'_>, b: &Entrant<'_>) -> Excess {
    if !a.series.of.is_time() {
        return Excess::None;
    }
    let measured = || {
        let (ours, theirs) = (points(a)?, points(b)?);
        let logs: [f64; 3] =
            std::array::from_fn(|at| log_ratio(a.series.better, ours.values[at], theirs.values[at]));
        Some(Excess::Measured { floor: floor(logs), mips: ours.mips })
    };
    measured().unwrap_or(Excess::NotMeasured)
}

/// The overhead, from the log ratios with the disk server's work done once, twice and three times.
pub fn floor(logs: [f64; 3]) -> Floor {
    let found = to_zero(logs);
    let moved = found.at_zero - logs[0];
    Floor {
        ratios: logs.map(f64::exp),
        without: found.at_zero.exp(),
        bound: found.bound.exp_m1(),
        moves: (moved.abs() + found.bound).exp_m1(),
    }
}

impl Excess {
    /// How far the overhead may shift a ratio on a CPU of this speed. The disk server's instruction count is fixed, so the server
    /// takes longer on a slower CPU; how this affects the ratio depends on the CPU's other work. The slack spans the overhead at
    /// both speeds, and the measured ratio, because a finding must hold with and without the server.
    pub fn slack(&self, mips: u32) -> Slack {
        let Excess::Measured { floor, mips: measured } = self else { return Slack::default() };
        let moved = (floor.without / floor.ratios[0]).ln();
        let slower = f64::from(*measured) / f64::from(mips.max(1));
        let bound = floor.bound.ln_1p() * slower.max(1.0);
        let (here, there) = (moved, moved * slower);
        Slack { least: (here.min(there) - bound).min(0.0), most: (here.max(there) + bound).max(0.0) }
    }

    pub fn floor(&self) -> Option<Floor> {
        match self {
            Excess::Measured { floor, .. } => Some(floor.clone()),
            Excess::None | Excess::NotMeasured => None,
        }
    }
}

/// A candidate's value with the disk server's work done once, twice and three times.
struct Points {
    values: [f64; 3],
    mips: u32,
}

fn points(entrant: &Entrant<'_>) -> Option<Points> {
    let Entrant { work, series, label } = *entrant;
    let (doubled, tripled) = (work.extra(label, Purpose::Doubled)?, work.extra(label, Purpose::Tripled)?);
    let once = work.of_round(label, doubled.round)?;
    let values = [series.value_in(once)?, series.value_in(doubled)?, series.value_in(tripled)?];
    Some(Points { values, mips: once.sampled()?.mips })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(logs: [f64; 3]) -> Excess {
        Excess::Measured { floor: floor(logs), mips: 2000 }
    }

    #[test]
    fn what_the_server_adds_is_said_as_a_share_of_the_ratio() {
        let found = floor([0.10, 0.08, 0.06]);
        assert!((found.without.ln() - 0.12).abs() < 1e-12 && found.bound.abs() < 1e-12, "{found:?}");
        assert!((found.moves - 0.02_f64.exp_m1()).abs() < 1e-12, "{found:?}");
        let bent = floor([0.10, 0.08, 0.063]);
        assert!((bent.bound.ln_1p() - 0.01).abs() < 1e-12, "{bent:?}");
    }

    #[test]
    fn on_a_slower_cpu_it_may_be_as_many_times_larger_and_on_a_faster_one_is_not_taken_for_smaller() {
        let excess = measured([0.10, 0.08, 0.06]);
        let near = |slack: Slack, least: f64, most: f64| {
            assert!((slack.least - least).abs() < 1e-12 && (slack.most - most).abs() < 1e-12, "{slack:?}");
        };
        near(excess.slack(2000), 0.0, 0.02);
        near(excess.slack(1000), 0.0, 0.04);
        near(excess.slack(4000), 0.0, 0.02);
        near(measured([0.10, 0.12, 0.14]).slack(1000), -0.04, 0.0);
    }

    #[test]
    fn a_bend_counts_both_ways() {
        let slack = measured([0.10, 0.10, 0.103]).slack(2000);
        assert!(slack.least < -0.004 && slack.most > 0.002, "{slack:?}");
        assert_eq!(Excess::None.slack(500), Slack::default());
    }
}
