//! A simulated modelled disk with known truth: how often the rules of a verdict are right.
//!
//! ```text
//! time = cpu · cost ÷ speed + flush · f + seek · s + transfer · t          f, s, t, speed: factors of the disk, each at an extreme
//!        × exp(σ · normal)                                                 chaos: every trial by itself
//! ```

use fsderby_stats::discovery::{Estimated, discover};
use fsderby_stats::instructions::{Timed, moving, priced};
use fsderby_stats::random::Random;
use fsderby_stats::robust::{Held, Side, Within, agree, all_lie, survives};
use fsderby_stats::screening::{COLUMNS, Effects, RUNS, Row, fit, folded, row};

pub const R: f64 = 1.3;
const FALSE_NAMES: f64 = 0.045;
/// As a logarithm: 3 %.
const MARGIN: f64 = 0.029_558_802_241_544_4;
const SEEDS: usize = 6;
/// Multipliers of each part of the time, low and high: flushes, seeks, transfer, CPU.
const EXTREMES: Extremes = [[1.0 / 3.0, 3.0], [0.85, 1.15], [0.5, 2.0], [2.0, 0.5]];
/// The same for a hard disk: flushes are arm movements, and the transfer rate is nearly known.
const OF_HARD: Extremes = [[0.85, 1.65], [0.85, 1.65], [0.9, 1.1], [2.0, 0.5]];
type Extremes = [[f64; 2]; PARTS];
const PARTS: usize = 4;
pub const FLUSH: usize = 0;
pub const SEEK: usize = 1;
pub const CPU: usize = 3;
/// Error factor of each part of a model, from validation: flushes, seeks, transfer; CPU, which is not part of the disk.
pub type Misses = [f64; PARTS];
pub const NONE: Misses = [1.0; PARTS];
/// Hard disks whose seeks are single reads.
pub const HARD: Misses = [1.514, 1.413, 1.249, 1.0];
/// Hard disks whose seeks are queued requests.
pub const QUEUED: Misses = [1.514, 2.772, 1.249, 1.0];
pub const FLASH: Misses = [1.349, 1.018, 1.034, 1.0];

/// Time of each part on the nominal disk, in any unit.
#[derive(Clone, Copy, Debug)]
pub struct Truth {
    pub parts: [f64; PARTS],
    extremes: Extremes,
}

impl Truth {
    /// This share of its time is CPU time; the rest is in equal parts.
    pub fn with_cpu(share: f64) -> Truth {
        let rest = (1.0 - share) / 3.0;
        Truth { parts: [rest, rest, rest, share], extremes: EXTREMES }
    }

    pub fn plus(mut self, part: usize, more: f64) -> Truth {
        self.parts[part] += more;
        self
    }

    fn time(&self, disk: Option<&Row>, cost: f64) -> f64 {
        let of = |(at, part): (usize, &f64)| {
            let factor = disk.map_or(1.0, |row| self.extremes[at][usize::from(row[at])]);
            part * factor * if at == CPU { cost } else { 1.0 }
        };
        self.parts.iter().enumerate().map(of).sum()
    }

    fn cpu(&self) -> f64 {
        self.parts[CPU]
    }

    /// The truth on a real disk, from which the model is off by these factors.
    fn on(mut self, off: &Misses) -> Truth {
        self.parts.iter_mut().zip(off).for_each(|(part, times)| *part *= times);
        self
    }

    fn shares(&self) -> [f64; PARTS] {
        self.parts.map(|part| part / self.time(None, 1.0))
    }
}

/// Logarithms of one candidate's times.
pub struct Measured {
    truth: Truth,
    /// The nominal disk, then the rows of the design.
    samples: Vec<f64>,
    seeds: Vec<f64>,
    dear: f64,
    cheap: f64,
    /// Shares of the time on the nominal disk, as counted; each part varies as much as the whole.
    shares: [f64; PARTS],
}

pub struct Study {
    pub random: Random,
    pub sigma: f64,
    /// Error factors that a ratio is compared with.
    pub misses: Misses,
    /// Random numbers for the shares only.
    counted: Random,
}

impl Study {
    pub fn new(seed: u64, sigma: f64) -> Study {
        Study { random: Random::new(seed), sigma, misses: NONE, counted: Random::new(seed + 1000) }
    }

    fn trial(&mut self, truth: &Truth, disk: Option<&Row>, cost: f64) -> f64 {
        truth.time(disk, cost).ln() + self.sigma * self.random.normal()
    }

    pub fn measure(&mut self, truth: Truth, rows: usize) -> Measured {
        let nominal = self.trial(&truth, None, 1.0);
        let mut samples = vec![nominal];
        samples.extend((0..rows).map(|n| self.trial(&truth, Some(&row(n)), 1.0)));
        let mut seeds = vec![nominal];
        seeds.extend((1..SEEDS).map(|_| self.trial(&truth, None, 1.0)));
        let (dear, cheap) = (self.trial(&truth, None, R), self.trial(&truth, None, 1.0 / R));
        let shares = truth.shares().map(|share| share * (self.sigma * self.counted.normal()).exp());
        Measured { truth, samples, seeds, dear, cheap, shares }
    }

    /// The side of the margin on which `a` is found relative to `b`, above being faster; `None` if undecided.
    pub fn judge(&mut self, a: &Measured, b: &Measured, shared: Shared) -> Option<Side> {
        let faster = |a: f64, b: f64| Within::exactly(b - a);
        let both =
            |a: &[f64], b: &[f64]| -> Vec<Within> { a.iter().zip(b).map(|(a, b)| faster(*a, *b)).collect() };
        let samples = both(&a.samples, &b.samples);
        let side = agree(&samples, MARGIN, 1 + RUNS)?;
        let held = [
            survives(Some(&both(&a.seeds, &b.seeds)), side, MARGIN),
            all_lie(Some(&costs(a, b, shared)), side, MARGIN),
        ];
        let error = error(a.shares, b.shares, &self.misses);
        let Within { log, .. } = samples[0];
        let widened = Within { log, least: log - error, most: log + error };
        if held != [Held::Yes; 2] || all_lie(Some(&[widened]), side, MARGIN) != Held::Yes {
            return None;
        }
        let corner = worst(&samples, side);
        let [ours, theirs] = [a, b].map(|one| self.trial(&one.truth, Some(&corner), 1.0));
        (all_lie(Some(&[faster(ours, theirs)]), side, MARGIN) == Held::Yes).then_some(side)
    }
}

/// Error bound of a ratio's logarithm: β of docs/method/modelled-disks.md, on the nominal disk.
fn error(a: [f64; PARTS], b: [f64; PARTS], misses: &Misses) -> f64 {
    let of = |(part, miss): (usize, &f64)| (a[part] - b[part]).abs() * miss.ln();
    misses.iter().enumerate().map(of).sum()
}

/// The instructions that two candidates share.
#[derive(Clone, Copy, Debug)]
pub enum Shared {
    /// All of the candidate with less CPU time: one kind.
    Kind,
    /// Only the workload's own, this much.
    Work(f64),
}

fn timed(of: &Measured) -> Timed {
    let time = (of.seeds.iter().sum::<f64>() / of.seeds.len() as f64).exp();
    Timed { time, moving: moving(time, of.dear.exp(), of.cheap.exp(), 2.0 * R.ln()), shared: 0.0 }
}

fn costs(a: &Measured, b: &Measured, shared: Shared) -> Vec<Within> {
    let (a, b) = (timed(a), timed(b));
    let least = a.moving.min(b.moving);
    let shared = match shared {
        Shared::Kind => least,
        Shared::Work(own) => least.min(own),
    };
    let with = |one: Timed| Timed { shared, ..one };
    priced(with(a), with(b), R, [R, R]).map(|log| Within::exactly(-log)).to_vec()
}

fn main_effects(samples: &[Within], half: usize) -> Effects {
    let rows = samples.iter().skip(1).enumerate().map(|(n, sample)| (row(n), sample.log));
    fit(&rows.skip(half * RUNS).take(RUNS).collect::<Vec<_>>()).unwrap()
}

fn worst(samples: &[Within], side: Side) -> Row {
    let effects = main_effects(samples, 0);
    let corner = |up: bool| effects.corner(&[true; COLUMNS], up);
    match side {
        Side::Above => corner(false),
        Side::Below => corner(true),
        Side::Inside => {
            let [down, up] = [false, true].map(corner);
            if effects.at(&down).abs() > effects.at(&up).abs() { down } else { up }
        }
    }
}

/// The smallest logarithm of `a`'s speed ratio to `b`, without chaos: over all corners, all costs of an instruction, and all
/// errors of the model.
pub fn least(a: &Truth, b: &Truth, shared: Shared, misses: &Misses) -> f64 {
    let on = |disk: Option<&Row>| b.time(disk, 1.0).ln() - a.time(disk, 1.0).ln();
    let corner = |bits: usize| -> Row { std::array::from_fn(|at| bits >> at & 1 == 1) };
    let corners = (0..1 << PARTS).map(|bits| on(Some(&corner(bits)))).chain([on(None)]);
    let common = match shared {
        Shared::Kind => a.cpu().min(b.cpu()),
        Shared::Work(own) => a.cpu().min(b.cpu()).min(own),
    };
    let timed = |one: &Truth| Timed { time: one.time(None, 1.0), moving: one.cpu(), shared: common };
    let costs = priced(timed(a), timed(b), R, [R, R]).map(|log| -log);
    let off = on(None) - error(a.shares(), b.shares(), misses);
    corners.chain(costs).chain([off]).fold(f64::INFINITY, f64::min)
}

/// Increases one part of `b` until `a` is faster by `least_ratio` at its least favourable end; `None` if no increase is enough.
pub fn planted(a: Truth, part: usize, least_ratio: f64, shared: Shared, misses: &Misses) -> Option<Truth> {
    let reaches = |more: f64| least(&a, &a.plus(part, more), shared, misses) >= least_ratio.ln();
    let (mut low, mut high) = (0.0, 64.0);
    if !reaches(high) {
        return None;
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if reaches(middle) { high = middle } else { low = middle }
    }
    Some(a.plus(part, high))
}

/// Of pairs of one kind that differ only by chaos: the share found equivalent, and the share called different.
pub fn of_equal_builds(n: usize, sigma: f64, cpu: f64, misses: Misses, seed: u64) -> (f64, f64) {
    let mut study = Study { misses, ..Study::new(seed, sigma) };
    let found: Vec<Option<Side>> = (0..n)
        .map(|_| {
            let [a, b] = [0, 1].map(|_| study.measure(Truth::with_cpu(cpu), RUNS));
            study.judge(&a, &b, Shared::Kind)
        })
        .collect();
    let share =
        |is: &dyn Fn(&Option<Side>) -> bool| found.iter().filter(|one| is(one)).count() as f64 / n as f64;
    (share(&|one| *one == Some(Side::Inside)), share(&|one| matches!(one, Some(Side::Above | Side::Below))))
}

/// A planted difference of one part: its base, and the error factors of the model for choosing the difference and for judging it.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    pub a: Truth,
    pub part: usize,
    pub reckoned: Misses,
    pub judged: Misses,
}

/// The share in which a candidate is found faster that is faster by `least_ratio` at its least favourable end.
pub fn power(n: usize, sigma: f64, of: Planted, least_ratio: f64, shared: Shared, seed: u64) -> Option<f64> {
    let Planted { a, part, reckoned, judged } = of;
    let b = planted(a, part, least_ratio, shared, &reckoned)?;
    let mut study = Study { misses: judged, ..Study::new(seed, sigma) };
    let found = (0..n).filter(|_| {
        let [a, b] = [a, b].map(|truth| study.measure(truth, RUNS));
        study.judge(&a, &b, shared) == Some(Side::Above)
    });
    Some(found.count() as f64 / n as f64)
}

/// The share of reports, with eight candidates and two metrics, that find any of 56 pairs in the wrong direction. Times differ
/// by about `spread`; a third of the candidates are equal. Each report's real disk differs from the model by up to `off` in
/// each part, either way. The verdict compares its findings with `judged`, or with nothing if that is `NONE`.
pub fn wrong(n: usize, sigma: f64, spread: f64, off: Misses, judged: Misses, seed: u64) -> f64 {
    let mut study = Study { misses: judged, ..Study::new(seed, sigma) };
    let report = |_: &usize| {
        let mut is_wrong = false;
        let real = off.map(|most| ((2.0 * study.random.share() - 1.0) * most.ln()).exp());
        for _ in 0..2 {
            let all: Vec<Measured> = (0..8)
                .map(|at| {
                    let extremes = if off == NONE || off == FLASH { EXTREMES } else { OF_HARD };
                    let mut truth = Truth { extremes, ..Truth::with_cpu(0.3 + 0.5 * study.random.share()) };
                    if at % 3 != 0 {
                        truth
                            .parts
                            .iter_mut()
                            .for_each(|part| *part *= (spread * study.random.normal()).exp());
                    }
                    study.measure(truth, RUNS)
                })
                .collect();
            for a in 0..all.len() {
                for b in a + 1..all.len() {
                    let [ours, theirs] = [a, b].map(|at| all[at].truth.on(&real).time(None, 1.0).ln());
                    let truly = theirs - ours;
                    is_wrong |= match study.judge(&all[a], &all[b], Shared::Work(0.1)) {
                        Some(Side::Above) => truly <= 0.0,
                        Some(Side::Below) => truly >= 0.0,
                        Some(Side::Inside) | None => false,
                    };
                }
            }
        }
        is_wrong
    };
    (0..n).filter(report).count() as f64 / n as f64
}

/// The share of reports of 25 rounds, with eight candidates and two metrics, that name a factor; and of the named, the share
/// without effect. `deviations` are those of the candidates; `effect` is the first candidate's, on the first column.
pub fn named(n: usize, deviations: [f64; 8], effect: f64, seed: u64) -> (f64, f64) {
    let mut random = Random::new(seed);
    let (mut reports, mut false_names, mut names) = (0, 0.0, 0);
    for _ in 0..n {
        let mut estimated: Vec<Estimated> = Vec::new();
        let mut is_real: Vec<bool> = Vec::new();
        for _ in 0..2 {
            let all: Vec<Vec<f64>> = deviations
                .iter()
                .enumerate()
                .map(|(who, deviation)| {
                    (0..2 * RUNS)
                        .map(|n| {
                            let level = if row(n)[0] { 1.0 } else { -1.0 };
                            let own = if who == 0 { effect * level } else { 0.0 };
                            own + deviation * random.normal()
                        })
                        .collect()
                })
                .collect();
            for a in 0..all.len() {
                for b in a + 1..all.len() {
                    let samples: Vec<Within> = std::iter::once(0.0)
                        .chain(all[a].iter().zip(&all[b]).map(|(a, b)| a - b))
                        .map(Within::exactly)
                        .collect();
                    estimated.extend(folded(&main_effects(&samples, 0), &main_effects(&samples, 1)));
                    is_real.extend((0..COLUMNS).map(|column| a == 0 && column == 0 && effect != 0.0));
                }
            }
        }
        let found = discover(&estimated, FALSE_NAMES);
        let of = |real: bool| found.iter().zip(&is_real).filter(|(f, is)| f.is_named && **is == real).count();
        let (right, wrong) = (of(true), of(false));
        reports += usize::from(right + wrong > 0);
        names += usize::from(right > 0);
        false_names += wrong as f64 / (right + wrong).max(1) as f64;
    }
    let any = if effect == 0.0 { reports } else { names };
    (any as f64 / n as f64, false_names / n as f64)
}

/// All rates, with `n` studies each: name and value.
#[allow(dead_code, reason = "printed by examples/modelled.rs, which has this file as well")]
pub fn all(n: usize) -> Vec<(String, f64)> {
    let mut rates = Vec::new();
    for sigma in [0.0025, 0.005, 0.01] {
        for cpu in [0.1, 0.5, 0.9] {
            let (equivalent, different) = of_equal_builds(n, sigma, cpu, QUEUED, 1);
            let what = format!("one kind, nothing differs, σ {:.2} %, CPU share {cpu}", 100.0 * sigma);
            rates.push((format!("{what}: equivalent"), equivalent));
            rates.push((format!("{what}: called different"), different));
        }
    }
    for (part, name) in [(CPU, "CPU"), (FLUSH, "flushes"), (SEEK, "seeks")] {
        for (kinds, shared) in [("one kind", Shared::Kind), ("unlike kinds", Shared::Work(0.1))] {
            for cpu in [0.05, 0.5] {
                let queued = "held against queued requests of hard disks";
                let reckoned = format!("{queued}, which are reckoned with");
                for (held, reckoned, judged) in [
                    ("", NONE, NONE),
                    ("held against single reads of hard disks", NONE, HARD),
                    (queued, NONE, QUEUED),
                    (&reckoned, QUEUED, QUEUED),
                ] {
                    // For unlike kinds the cost of an instruction may require more than this does.
                    if judged != NONE && !matches!(shared, Shared::Kind) {
                        continue;
                    }
                    let of = Planted { a: Truth::with_cpu(cpu), part, reckoned, judged };
                    let held = if held.is_empty() { String::new() } else { format!(", {held}") };
                    let what = format!(
                        "{kinds}, CPU share {cpu}, {name} that make 1.05 at their least favourable end, σ 0.50 %{held}: found"
                    );
                    rates.extend(power(n, 0.005, of, 1.05, shared, 2).map(|rate| (what, rate)));
                }
            }
        }
    }
    for sigma in [0.005, 0.02, 0.1] {
        for spread in [0.02, 0.2] {
            let what = format!(
                "reports of 56 with a wrong direction, σ {:.1} %, times that differ by {:.0} %",
                100.0 * sigma,
                100.0 * spread
            );
            rates.push((what, wrong(n, sigma, spread, NONE, NONE, 3)));
        }
    }
    for (disks, off) in [("SSDs", FLASH), ("hard disks", HARD), ("hard disks with queued work", QUEUED)] {
        for spread in [0.2, 1.0] {
            let what = format!(
                "reports with a wrong direction for the real disk, {disks}, times that differ by {:.0} %",
                100.0 * spread
            );
            rates.push((
                format!("{what}, the error not held against them"),
                wrong(n, 0.005, spread, off, NONE, 7),
            ));
            rates.push((format!("{what}, held against them"), wrong(n, 0.005, spread, off, off, 7)));
        }
    }
    let unequal = [0.01, 0.01, 0.02, 0.02, 0.03, 0.05, 0.07, 0.07];
    let one_noisy = [0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.07];
    for (what, deviations) in [("equal", [0.02; 8]), ("unequal", unequal), ("one noisy", one_noisy)] {
        rates.push((format!("no effect, {what} noise: a factor is named"), named(n, deviations, 0.0, 4).0));
        let (found, false_names) =
            named(n, deviations, std::f64::consts::SQRT_2 * deviations[0] * 2.0_f64.sqrt(), 5);
        rates.push((format!("an effect of √2 of the least pair's noise, {what} noise: named"), found));
        rates.push((format!("the same, {what} noise: of the names false"), false_names));
    }
    rates
}
