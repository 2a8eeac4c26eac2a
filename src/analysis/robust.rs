//! Checks whether a result that holds in all samples of a modelled disk also holds where it is most likely to fail: with other
//! workload seeds, at other instruction costs, and at the corner of the disk-model parameters (each at one extreme) where the
//! ratio is expected to be worst.
//!
//! The twelve corners of the design do not represent all 2048 corners: even if the twelve agree, another corner may differ. The
//! main effect of each factor predicts which corner is worst, and that corner is tried too.

use std::array;

use fsderby_diskmodel::{COLUMNS, Factor, Level, Point};
use fsderby_stats::discovery::Estimated;
use fsderby_stats::instructions::{Timed, priced};
use fsderby_stats::robust::{self, Held, Side, Within};
use fsderby_stats::screening::{Effects, RUNS, Row, fit, folded};

use super::alike::are_of_one_kind;
use super::entrant::Entrant;
use super::floor::Excess;
use crate::filesystems;
use crate::schema::finding::{Chaos, Corner, Costs, Found, ModelError, Refuted};
use crate::schema::job::Purpose;
use crate::schema::record::Record;
use crate::schema::setup::Sampled;
use crate::schema::units::Percent;

/// Factor by which an instruction may cost more or less than the machine's file states: an estimate of how far kinds of
/// filesystems differ in cycles per instruction.
pub const COST: f64 = 1.3;
/// The same for a filesystem that is a program in user space: switches between it and the caller empty the CPU's caches. On the
/// one computer that was measured, an instruction took 2.3 times as long as the mean of five filesystems in the kernel.
pub const COST_IN_USER_SPACE: f64 = 2.5;

/// Two candidates, of one run or of two.
pub struct Pair<'w> {
    pub a: Entrant<'w>,
    pub b: Entrant<'w>,
    /// The factors varied for at least one of the two candidates, by column of the design.
    pub factors: [Vec<Factor>; COLUMNS],
    pub excess: Excess,
    pub model_error: Option<Box<ModelError>>,
    /// For each workload seed, the mean logarithm over all candidates compared with these two.
    pub means: &'w [f64],
    /// The margin as a logarithm.
    pub margin: f64,
    pub corners: Corners,
}

/// How the worst corner is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corners {
    /// A trial of both candidates at the corner, which must be in the run, decides.
    Tried,
    /// A trial at the corner decides if the run has one, otherwise the main effects. Used to compare two runs, neither of
    /// which tried the other's corners, and for metrics without corner trials.
    Expected,
}

/// The results of the checks beyond the samples, and which check refutes the finding.
#[derive(Default)]
pub struct Tried {
    pub chaos: Option<Chaos>,
    pub costs: Option<Costs>,
    pub corner: Option<Corner>,
    pub refuted: Option<Refuted>,
}

/// The trials that the range of a ratio lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// The nominal disk and each row of the design.
    Samples,
    /// Trials with more disk-model overhead.
    Floor,
    Seeds,
    Costs,
}

/// Makes the checks. If the samples disagree, uses no corner and refutes nothing.
pub fn tried(pair: &Pair<'_>, samples: &[(Sampled, f64)], holds: Found) -> Tried {
    let (chaos, costs) = (pair.chaos(), pair.costs());
    let Some(side) = side(holds) else { return Tried { chaos, costs, ..Tried::default() } };
    let corner = pair.corner(samples, holds);
    let in_corner = corner.as_ref().map_or(Held::NotTried, |corner| pair.holds_in(corner, side));
    let refuted = match (pair.withstands(side), in_corner) {
        ([Held::No, ..], _) => Some(Refuted::Chaos),
        ([_, Held::No, _], _) => Some(Refuted::Cost),
        ([.., Held::No], _) => Some(Refuted::ModelError),
        (_, Held::No) => Some(Refuted::Corner),
        ([Held::Yes, Held::Yes, Held::Yes], Held::Yes) => None,
        _ => Some(Refuted::Untried),
    };
    // If another check refutes the finding, the corner is not needed.
    let is_asked = !matches!(refuted, Some(Refuted::Chaos | Refuted::Cost | Refuted::ModelError));
    let corner = corner.filter(|corner| corner.ratio.is_some() || is_asked);
    Tried { chaos, costs, corner, refuted }
}

fn side(holds: Found) -> Option<Side> {
    match holds {
        Found::Better => Some(Side::Above),
        Found::Worse => Some(Side::Below),
        Found::Equivalent => Some(Side::Inside),
        Found::CannotTell => None,
    }
}

/// Each factor's effect on the log ratio, (high − low) ÷ 2, with its error; and the mean log ratio. `None` before the design and
/// its fold are complete, because twelve rows give no error estimate.
pub fn effects_with_error(samples: &[(Sampled, f64)]) -> Option<([Estimated; COLUMNS], f64)> {
    let (first, second) = (effects(samples, 0)?, effects(samples, 1)?);
    Some((folded(&first, &second), (first.mean + second.mean) / 2.0))
}

/// The effects from one half of the design: rounds 2 to 13 (`half` = 0), or the fold of these rounds (`half` = 1).
fn effects(samples: &[(Sampled, f64)], half: usize) -> Option<Effects> {
    let row = |point: Point| -> Option<Row> {
        (!point.is_nominal()).then(|| array::from_fn(|column| point.level(column) == Some(Level::High)))
    };
    let of_rows = samples.iter().filter_map(|(sampled, log)| Some((row(sampled.sample.point)?, *log)));
    fit(&of_rows.skip(half * RUNS).take(RUNS).collect::<Vec<_>>())
}

impl Pair<'_> {
    /// The log ratio of two trials (positive if `a` is better), and how far disk-model overhead may shift it. `None` unless both
    /// trials had the same work on the same sample.
    fn beside(&self, a: Option<&Record>, b: Option<&Record>) -> Option<Within> {
        let (a, b) = (a?, b?);
        let (ours, theirs) = (a.sampled()?, b.sampled()?);
        let at = |sampled: &Sampled| (sampled.sample.point, sampled.sample.seed);
        let is_one = a.workload_seed == b.workload_seed && at(&ours) == at(&theirs);
        is_one.then_some(())?;
        Some(self.within(self.a.log(a)? - self.b.log(b)?, ours.mips))
    }

    fn within(&self, log: f64, mips: u32) -> Within {
        let slack = self.excess.slack(mips);
        Within { log, least: log + slack.least, most: log + slack.most }
    }

    /// The pair's log ratio with each of the six workload seeds, beginning with the first round's seed. `None` if with one of the
    /// seeds a candidate has no trial, or the two trials cannot be compared.
    fn seeds(&self) -> Option<Vec<Within>> {
        let both = self.a.seeds()?.into_iter().zip(self.b.seeds()?);
        both.map(|(a, b)| self.beside(Some(a), Some(b))).collect()
    }

    pub fn chaos(&self) -> Option<Chaos> {
        let ratios = self.seeds()?.iter().map(|seed| seed.log.exp()).collect();
        let spread = |entrant: &Entrant<'_>| {
            let beside: Vec<f64> =
                entrant.seeded()?.iter().zip(self.means).map(|(log, mean)| log - mean).collect();
            fsderby_stats::range(&beside).map(|(least, most)| (most - least).exp())
        };
        Some(Chaos { ratios, spreads: [spread(&self.a)?, spread(&self.b)?] })
    }

    /// The ratio at other instruction costs. `None` if trials at other costs or with other seeds are missing, or if the metric is
    /// not a time.
    pub fn costs(&self) -> Option<Costs> {
        let (a, b, one_kind) = self.timed()?;
        let logs: Vec<f64> = priced(a, b, COST, self.only()?).iter().map(|log| -log).collect();
        let (low, high) = fsderby_stats::range(&logs)?;
        let share = |of: f64, whole: f64| if whole > 0.0 { of / whole } else { 0.0 };
        Some(Costs {
            low: low.exp(),
            high: high.exp(),
            moving: [share(a.moving, a.time), share(b.moving, b.time)],
            shared: [share(a.shared, a.time), share(b.shared, b.time)],
            one_kind,
        })
    }

    /// Factor for the instructions that only one of the two executes, for each.
    fn only(&self) -> Option<[f64; 2]> {
        Some([self.a.first()?, self.b.first()?].map(|record| match filesystems::find(&record.kind) {
            Some(kind) if kind.is_in_user_space() => COST_IN_USER_SPACE,
            _ => COST,
        }))
    }

    /// Both candidates' times, with the part spent on instructions that both execute. Two candidates of one kind share all
    /// instructions of the candidate that executes fewer; other pairs share at most the instructions of the workload itself.
    fn timed(&self) -> Option<(Timed, Timed, bool)> {
        let (first, other) = (self.a.first()?, self.b.first()?);
        self.seeds()?;
        let timed = [self.a.timed()?, self.b.timed()?];
        // The shared part consists of instructions, whose time depends on the speed of the CPU.
        let speeds = [first, other].map(|record| record.sampled().map(|sampled| f64::from(sampled.mips)));
        let speeds = [speeds[0]?, speeds[1]?];
        let least = |[a, b]: [f64; 2]| (a * speeds[0]).min(b * speeds[1]);
        let moving = least(timed.map(|one| one.moving));
        let one_kind = are_of_one_kind(first, other);
        let shared = match one_kind {
            true => moving,
            false => {
                let own = [self.a.own_share() * timed[0].time, self.b.own_share() * timed[1].time];
                moving.min(least(own))
            }
        };
        let [a, b] = timed;
        let with = |one: Timed, speed: f64| Timed { shared: (shared / speed).min(one.moving), ..one };
        Some((with(a, speeds[0]), with(b, speeds[1]), one_kind))
    }

    /// The extremes of the log ratio over these samples, all seeds, all instruction costs and both worst corners, each with and
    /// without disk-model overhead.
    ///
    /// # Errors
    /// The trials that are missing.
    pub fn extremes(&self, samples: &[(Sampled, f64)]) -> Result<[f64; 2], Lacking> {
        if self.excess == Excess::NotMeasured {
            return Err(Lacking::Floor);
        }
        let mut all: Vec<Within> = samples.iter().map(|(own, log)| self.within(*log, own.mips)).collect();
        all.extend(self.seeds().ok_or(Lacking::Seeds)?);
        if self.a.series.of.is_time() {
            all.extend(self.at_costs().ok_or(Lacking::Costs)?);
        }
        all.extend(self.both_corners(samples).ok_or(Lacking::Samples)?);
        let least = all.iter().map(|within| within.least).fold(f64::INFINITY, f64::min);
        let most = all.iter().map(|within| within.most).fold(f64::NEG_INFINITY, f64::max);
        Ok([least, most])
    }

    /// The ratio in the corners where it is expected to be lowest and highest: as measured there, otherwise as predicted.
    fn both_corners(&self, samples: &[(Sampled, f64)]) -> Option<[Within; 2]> {
        let effects = effects(samples, 0)?;
        let mips = self.a.first()?.sampled()?.mips;
        let varied = array::from_fn(|column| !self.factors[column].is_empty());
        Some([false, true].map(|up| {
            let row = effects.corner(&varied, up);
            let expected = effects.mean + self.moved(&effects, &row);
            self.in_corner(Point::corner(row)).unwrap_or_else(|| self.within(expected, mips))
        }))
    }

    /// Whether the result holds with all seeds, at every instruction cost, and within the disk's model error.
    fn withstands(&self, side: Side) -> [Held; 3] {
        [robust::survives(self.seeds().as_deref(), side, self.margin), self.bears(side), self.outdoes(side)]
    }

    /// Whether the worst corner of this pair must be tried, because no other check refutes the finding.
    pub fn awaits_its_corner(&self, holds: Found) -> bool {
        side(holds).is_some_and(|side| self.withstands(side) == [Held::Yes; 3])
    }

    /// Whether the result holds at every instruction cost. A count of requests or bytes does not depend on instruction cost.
    fn bears(&self, side: Side) -> Held {
        if !self.a.series.of.is_time() {
            return Held::Yes;
        }
        robust::all_lie(self.at_costs().as_deref(), side, self.margin)
    }

    /// Whether the ratio on the nominal disk holds when widened by the model error, with and without disk-model overhead. An
    /// unknown model error refutes nothing.
    fn outdoes(&self, side: Side) -> Held {
        let widened = || {
            let ModelError { ratio, times, .. } = self.model_error.as_deref()?;
            let within = self.within(ratio.ln(), self.a.first()?.sampled()?.mips);
            let error = times.ln();
            Some([Within { least: within.least - error, most: within.most + error, ..within }])
        };
        widened().map_or(Held::Yes, |widened| robust::all_lie(Some(&widened), side, self.margin))
    }

    /// The ratios at each instruction cost. Disk-model overhead also takes longer on a slower CPU.
    fn at_costs(&self) -> Option<Vec<Within>> {
        let (a, b, _) = self.timed()?;
        let usual = self.a.first()?.sampled()?.mips;
        let dear = self.a.extra(Purpose::Dear)?.sampled()?.mips.min(usual);
        Some(priced(a, b, COST, self.only()?).iter().map(|log| self.within(-log, dear)).collect())
    }

    /// The corner where, by the main effects of rounds 2 to 13, the ratio is nearest to the opposite finding (for an equivalence:
    /// farthest from 1), and the logarithm of that ratio.
    pub fn worst(&self, samples: &[(Sampled, f64)], holds: Found) -> Option<(Point, f64)> {
        let effects = effects(samples, 0)?;
        let varied = array::from_fn(|column| !self.factors[column].is_empty());
        let corner = |up: bool| {
            let row = effects.corner(&varied, up);
            (row, effects.mean + self.moved(&effects, &row))
        };
        let (row, expected) = match holds {
            Found::Better => corner(false),
            Found::Worse => corner(true),
            Found::Equivalent => {
                let (down, up) = (corner(false), corner(true));
                if down.1.abs() > up.1.abs() { down } else { up }
            }
            Found::CannotTell => return None,
        };
        Some((Point::corner(row), expected))
    }

    /// The summed effects of the varied columns at this corner.
    fn moved(&self, effects: &Effects, row: &Row) -> f64 {
        let columns = (0..COLUMNS).filter(|column| !self.factors[*column].is_empty());
        columns
            .map(|column| if row[column] { effects.columns[column] } else { -effects.columns[column] })
            .sum()
    }

    fn corner(&self, samples: &[(Sampled, f64)], holds: Found) -> Option<Corner> {
        let (point, expected) = self.worst(samples, holds)?;
        let ratio = self.in_corner(point).map(|within| within.log.exp());
        Some(Corner { point, expected: expected.exp(), ratio })
    }

    fn in_corner(&self, point: Point) -> Option<Within> {
        let [a, b] = [self.a, self.b].map(|one| one.extra(Purpose::Corner(point)));
        self.beside(a, b)
    }

    /// Whether the result holds at this corner, by a trial there or by the prediction of the main effects.
    fn holds_in(&self, corner: &Corner, side: Side) -> Held {
        let expected = || Some(self.within(corner.expected.ln(), self.a.first()?.sampled()?.mips));
        let there =
            self.in_corner(corner.point).or_else(|| expected().filter(|_| self.corners == Corners::Expected));
        robust::all_lie(there.map(|there| [there]).as_ref().map(|there| &there[..]), side, self.margin)
    }
}

/// The margin as a logarithm.
pub fn log_margin(margin: Percent) -> f64 {
    (margin.0 / 100.0).ln_1p()
}
