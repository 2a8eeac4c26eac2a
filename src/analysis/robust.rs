//! Whether what holds in all samples of a modelled disk holds where it is likeliest not to: with other seeds of the work, where an
//! instruction costs one of the two more and the other less, and in the corner of what is not known about the disk at which the ratio
//! is expected to be worst.
//!
//! Twelve corners are no sample of 2048. Where they agree, another corner may say otherwise, so the main effects foretell which, and
//! that one is tried as well.

use std::array;
use std::collections::{BTreeMap, BTreeSet};

use fsderby_diskmodel::{COLUMNS, Factor, Level, Point};
use fsderby_stats::screening::{Effects, RUNS, Row, fit};

use super::dataset::{Series, Work, log_ratio};
use super::floor::Excess;
use crate::schema::finding::{Chaos, Corner, Costs, Decider, Found, Refuted};
use crate::schema::job::{Purpose, RESEEDED};
use crate::schema::record::Record;
use crate::schema::setup::Sampled;
use crate::schema::units::Percent;

/// Two candidates in one metric of one scenario.
pub struct Pair<'w> {
    pub work: &'w Work<'w>,
    pub series: &'w Series,
    pub a: &'w str,
    pub b: &'w str,
    /// By the columns of the design, what was varied for either.
    pub factors: [Vec<Factor>; COLUMNS],
    pub excess: Excess,
    pub seeded: &'w BTreeMap<&'w str, Seeded>,
    /// A logarithm.
    pub margin: f64,
}

/// What was tried beyond the samples, and what of it stands against them.
#[derive(Default)]
pub struct Tried {
    pub chaos: Option<Chaos>,
    pub costs: Option<Costs>,
    pub corner: Option<Corner>,
    pub refuted: Option<Refuted>,
}

/// Of what holds in all samples; nothing where they disagree.
pub fn tried(pair: &Pair<'_>, samples: &[(Sampled, f64)], holds: Found) -> Tried {
    let (chaos, costs) = (pair.chaos(), pair.costs());
    if holds == Found::CannotTell {
        return Tried { chaos, costs, ..Tried::default() };
    }
    let corner = pair.corner(samples, holds);
    let in_corner = corner.as_ref().and_then(|corner| pair.holds_in(corner.point, holds));
    let [seeds, at_costs] = pair.withstands(chaos.as_ref(), costs.as_ref(), holds);
    let refuted = match (seeds, at_costs, in_corner) {
        (Some(false), ..) => Some(Refuted::Chaos),
        (_, Some(false), _) => Some(Refuted::Cost),
        (.., Some(false)) => Some(Refuted::Corner),
        (None, ..) | (_, None, _) | (.., None) => Some(Refuted::Untried),
        (Some(true), Some(true), Some(true)) => None,
    };
    // Where the others refute it the corner is not asked for.
    let is_asked = !matches!(refuted, Some(Refuted::Chaos | Refuted::Cost));
    let corner = corner.filter(|corner| corner.ratio.is_some() || is_asked);
    Tried { chaos, costs, corner, refuted }
}

/// Which factor decides, the one that decides most first; none without all rows of the design.
pub fn deciders(samples: &[(Sampled, f64)], factors: &[Vec<Factor>; COLUMNS]) -> Vec<Decider> {
    let both_halves = effects(samples, 2 * RUNS);
    let Some(effects) = both_halves.or_else(|| effects(samples, RUNS)) else { return Vec::new() };
    let Some(shares) = effects.shares() else { return Vec::new() };
    let decider = |column: usize| Decider {
        factors: factors[column].clone(),
        share: shares[column],
        ratios: [-1.0, 1.0].map(|level| (effects.mean + level * effects.columns[column]).exp()),
    };
    let mut all: Vec<Decider> =
        (0..COLUMNS).filter(|column| !factors[*column].is_empty()).map(decider).collect();
    all.sort_by(|a, b| b.share.total_cmp(&a.share));
    all
}

/// By the first so many samples that are not nominal.
fn effects(samples: &[(Sampled, f64)], rows: usize) -> Option<Effects> {
    let row = |point: Point| -> Option<Row> {
        (!point.is_nominal()).then(|| array::from_fn(|column| point.level(column) == Some(Level::High)))
    };
    let of_rows = samples.iter().filter_map(|(sampled, log)| Some((row(sampled.sample.point)?, *log)));
    fit(&of_rows.take(rows).collect::<Vec<_>>())
}

/// What six seeds of the work do to one candidate on the first round's disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Seeded {
    /// Of its figure with each seed, turned so that larger is better.
    logs: Vec<f64>,
    /// From the least to the most of them, each less the mean of all candidates with that seed: another seed is other work, which
    /// moves all of them alike.
    spread: f64,
}

/// Of each candidate that was tried with all seeds.
pub fn seeded<'w>(work: &'w Work<'_>, series: &Series) -> BTreeMap<&'w str, Seeded> {
    let logs = |label: &str| -> Option<Vec<f64>> {
        let record = |seed: u8| match seed {
            0 => work.of_round(label, 1),
            n => work.extra(label, Purpose::Reseeded(n)),
        };
        let log = |seed: u8| Some(log_ratio(series.better, series.value_in(record(seed)?)?, 1.0));
        (0..=RESEEDED).map(log).collect()
    };
    let labels: BTreeSet<&str> = work.extras.iter().map(|record| record.filesystem.as_str()).collect();
    let all: BTreeMap<&str, Vec<f64>> =
        labels.into_iter().filter_map(|label| Some((label, logs(label)?))).collect();
    let mean = |seed: usize| all.values().map(|logs| logs[seed]).sum::<f64>() / all.len() as f64;
    let means: Vec<f64> = (0..=usize::from(RESEEDED)).map(mean).collect();
    let spread = |logs: &[f64]| {
        let beside: Vec<f64> = logs.iter().zip(&means).map(|(log, mean)| log - mean).collect();
        fsderby_stats::range(&beside).map_or(0.0, |(least, most)| most - least)
    };
    all.iter().map(|(label, logs)| (*label, Seeded { logs: logs.clone(), spread: spread(logs) })).collect()
}

impl Pair<'_> {
    /// The logarithm of how many times better `a` was in these two trials, and the CPU's speed.
    fn log(&self, a: Option<&Record>, b: Option<&Record>) -> Option<(f64, u32)> {
        let (a, b) = (a?, b?);
        let log = log_ratio(self.series.better, self.series.value_in(a)?, self.series.value_in(b)?);
        Some((log, a.sampled()?.mips))
    }

    /// Whether a ratio says so whatever the disk's server does to it.
    fn says(&self, holds: Found, (log, mips): (f64, u32)) -> bool {
        let slack = self.excess.slack(mips);
        let (least, most) = (log + slack.least, log + slack.most);
        match holds {
            Found::Better => least > self.margin,
            Found::Worse => most < -self.margin,
            Found::Equivalent => least >= -self.margin && most <= self.margin,
            Found::CannotTell => false,
        }
    }

    /// With the first round's seed and with each further one; `None` where one has not been tried.
    pub fn chaos(&self) -> Option<Chaos> {
        let [a, b] = [self.seeded.get(self.a)?, self.seeded.get(self.b)?];
        let ratios = a.logs.iter().zip(&b.logs).map(|(a, b)| (a - b).exp()).collect();
        Some(Chaos { ratios, spreads: [a.spread.exp(), b.spread.exp()] })
    }

    /// Where an instruction costs `a` more and `b` less, and the other way round; `None` where one has not been tried.
    pub fn costs(&self) -> Option<Costs> {
        let ratio = |a: Purpose, b: Purpose| {
            let (a, b) = (self.work.extra(self.a, a), self.work.extra(self.b, b));
            self.log(a, b).map(|(log, _)| log.exp())
        };
        Some(Costs {
            a_dear: ratio(Purpose::Dear, Purpose::Cheap)?,
            b_dear: ratio(Purpose::Cheap, Purpose::Dear)?,
        })
    }

    /// Whether it holds with all seeds, and at both costs of an instruction; `None` of what has not been tried.
    fn withstands(&self, chaos: Option<&Chaos>, costs: Option<&Costs>, holds: Found) -> [Option<bool>; 2] {
        [
            chaos.and_then(|chaos| self.survives(chaos, holds)),
            costs.and_then(|costs| self.bears(costs, holds)),
        ]
    }

    /// Whether a corner is to be tried: nothing else stands against what holds in all samples.
    pub fn awaits_its_corner(&self, holds: Found) -> bool {
        self.withstands(self.chaos().as_ref(), self.costs().as_ref(), holds) == [Some(true); 2]
    }

    /// Whether it holds whoever of the two pays more for an instruction.
    fn bears(&self, costs: &Costs, holds: Found) -> Option<bool> {
        // Of the slower CPU, on which the disk's server may do the most to a ratio.
        let mips = self.work.extra(self.a, Purpose::Dear)?.sampled()?.mips;
        Some([costs.a_dear, costs.b_dear].iter().all(|ratio| self.says(holds, (ratio.ln(), mips))))
    }

    /// Whether it holds with every seed, and is larger than what they do to it.
    fn survives(&self, chaos: &Chaos, holds: Found) -> Option<bool> {
        let mips = self.work.of_round(self.a, 1)?.sampled()?.mips;
        let logs: Vec<f64> = chaos.ratios.iter().map(|ratio| ratio.ln()).collect();
        let (least, most) = fsderby_stats::range(&logs)?;
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let is_beyond = holds == Found::Equivalent || mean.abs() > most - least;
        Some(is_beyond && logs.iter().all(|log| self.says(holds, (*log, mips))))
    }

    /// Where the main effects of the first dozen rows expect the ratio nearest to the other side, or farthest from equality.
    pub fn worst(&self, samples: &[(Sampled, f64)], holds: Found) -> Option<(Point, f64)> {
        let effects = effects(samples, RUNS)?;
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

    /// What those columns that a factor stands in do to a ratio there.
    fn moved(&self, effects: &Effects, row: &Row) -> f64 {
        let columns = (0..COLUMNS).filter(|column| !self.factors[*column].is_empty());
        columns
            .map(|column| if row[column] { effects.columns[column] } else { -effects.columns[column] })
            .sum()
    }

    fn corner(&self, samples: &[(Sampled, f64)], holds: Found) -> Option<Corner> {
        let (point, expected) = self.worst(samples, holds)?;
        let ratio = self.in_corner(point).map(|(log, _)| log.exp());
        Some(Corner { point, expected: expected.exp(), ratio })
    }

    fn in_corner(&self, point: Point) -> Option<(f64, u32)> {
        let [a, b] = [self.a, self.b].map(|label| self.work.extra(label, Purpose::Corner(point)));
        self.log(a, b)
    }

    fn holds_in(&self, point: Point, holds: Found) -> Option<bool> {
        self.in_corner(point).map(|log| self.says(holds, log))
    }
}

/// As a logarithm.
pub fn log_margin(margin: Percent) -> f64 {
    (margin.0 / 100.0).ln_1p()
}
