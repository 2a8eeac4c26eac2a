//! What a plan can find: the power of the family test before anything is measured.

use crate::looks::Looks;

/// What is expected of a family: for each table the noise of each candidate, as the standard deviation of a single value's
/// logarithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    pub tables: Vec<Vec<f64>>,
}

/// A pair of candidates of one of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Which {
    pub table: usize,
    pub a: usize,
    pub b: usize,
}

impl Expected {
    /// The same noise for all: `tables` tables of `candidates`.
    pub fn equal(tables: usize, candidates: usize, noise: f64) -> Expected {
        Expected { tables: vec![vec![noise; candidates]; tables] }
    }

    /// The probability that a true difference of this pair (a logarithm) is found at one of the looks.
    pub fn power(&self, which: Which, looks: &Looks, difference: f64) -> f64 {
        let _ = (which, looks, difference);
        todo!()
    }

    /// The true difference that is found with the probability `power`. `None` where there are too few rounds for any.
    pub fn detectable(&self, which: Which, looks: &Looks, power: f64) -> Option<f64> {
        let _ = (which, looks, power);
        todo!()
    }

    /// The rounds after which one look at α = 5 % finds this difference with the probability `power`. `None` above 1,000.
    pub fn rounds_to_find(&self, which: Which, difference: f64, power: f64) -> Option<usize> {
        let _ = (which, difference, power);
        todo!()
    }

    /// The rounds after which one look at α = 5 % calls two that do not differ equivalent within ±`margin`, with the
    /// probability `power`. `None` above 10,000.
    pub fn rounds_to_be_equivalent(&self, which: Which, margin: f64, power: f64) -> Option<usize> {
        let _ = (which, margin, power);
        todo!()
    }
}
