//! Simulated machines and their measurements.

use fsderby_stats::family::Table;
use fsderby_stats::random::Random;

/// Spreads like those of the README's first table, from 3 % (Btrfs) to 22 % (ext3-journal). The first two are the pair under
/// test.
pub const README: [f64; 8] = [0.05, 0.05, 0.03, 0.22, 0.07, 0.09, 0.12, 0.13];

pub const EQUAL: [f64; 8] = [0.05; 8];

/// One of the eight is seven times as noisy.
pub const SEVENFOLD: [f64; 8] = [0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.35];

/// ln 1.1, between the first and each of the others.
pub const TEN_PER_CENT: [f64; 8] = [0.095_310_179_804_324_87, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];

pub const NONE: [f64; 8] = [0.0; 8];

/// Half of them are 65 % faster than the other half.
pub const HALVES: [f64; 8] = [0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.5];

/// Four groups of two.
pub const TWOS: [f64; 8] = [0.0, 0.0, 0.4, 0.4, 0.8, 0.8, 1.2, 1.2];

#[derive(Clone, Copy, PartialEq)]
pub enum Machine {
    Steady,
    /// 10 % over the session, and autocorrelated noise (AR(1), 0.9 from trial to trial) of 5 %.
    Drifting,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Shape {
    Normal,
    /// One value in ten deviates three times as far.
    Heavy,
    /// Exponential: occasional stalls.
    Stalls,
}

#[derive(Clone, Copy)]
pub enum Order {
    /// Rounds, each in random order.
    Rounds,
    /// All trials of one candidate, then all of the next.
    OneAfterTheOther,
}

/// A study: `effects` are true logarithms, `noise` deviations of single values.
#[derive(Clone, Copy)]
pub struct Study<'a> {
    pub noise: &'a [f64],
    pub effects: &'a [f64],
    pub machine: Machine,
    pub shape: Shape,
}

pub fn steady<'a>(noise: &'a [f64], effects: &'a [f64]) -> Study<'a> {
    Study { noise, effects, machine: Machine::Steady, shape: Shape::Normal }
}

impl Study<'_> {
    /// Values of each candidate, in the order of its trials.
    pub fn values(&self, rounds: usize, order: Order, random: &mut Random) -> Vec<Vec<f64>> {
        let k = self.noise.len();
        let trials = match order {
            Order::Rounds => (0..rounds).flat_map(|_| shuffled(k, random)).collect(),
            Order::OneAfterTheOther => (0..k * rounds).map(|trial| trial / rounds).collect::<Vec<usize>>(),
        };
        let mut values = vec![Vec::with_capacity(rounds); k];
        let mut hangs_on = random.normal();
        for (at, of) in trials.iter().enumerate() {
            let mut log = self.effects[*of] + self.noise[*of] * self.unit(random);
            if self.machine == Machine::Drifting {
                log += 0.05 * hangs_on + 0.1 * at as f64 / trials.len() as f64;
                hangs_on = 0.9 * hangs_on + (1.0_f64 - 0.81).sqrt() * random.normal();
            }
            values[*of].push(log);
        }
        values
    }

    pub fn table(&self, rounds: usize, random: &mut Random) -> Table {
        let values = self.values(rounds, Order::Rounds, random);
        first(&values, rounds)
    }

    /// Deviation 1, mean 0.
    fn unit(&self, random: &mut Random) -> f64 {
        match self.shape {
            Shape::Normal => random.normal(),
            // 0.9 + 0.1·9 = 1.8 is the variance.
            Shape::Heavy if random.share() < 0.1 => 3.0 * random.normal() / 1.8_f64.sqrt(),
            Shape::Heavy => random.normal() / 1.8_f64.sqrt(),
            Shape::Stalls => 1.0 + (1.0 - random.share()).ln(),
        }
    }
}

/// A table of the first `rounds` rounds.
pub fn first(values: &[Vec<f64>], rounds: usize) -> Table {
    let mut table = Table::new(values.len());
    for round in 0..rounds {
        let row: Vec<f64> = values.iter().map(|of| of[round]).collect();
        assert!(table.push(round as u32, &row));
    }
    table
}

fn shuffled(k: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..k).collect();
    for last in (1..k).rev() {
        order.swap(last, random.below(last + 1));
    }
    order
}
