//! Robustness of a finding about two candidates on a modelled disk, over everything tried.
//!
//! ```text
//! samples   the disk as its file describes it, and the corners of a screening design
//! seeds     the same disk with other workload seeds
//! costs     the ratio at other costs of an instruction
//! corner    the corner at which the main effects predict the worst ratio
//! ```
//! Each value is the logarithm of the first candidate's ratio to the second (larger is better), with its error bounds.

use crate::ensemble::divide_intervals;

/// The logarithm of a ratio, and the interval in which it may lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Within {
    pub log: f64,
    pub least: f64,
    pub most: f64,
}

/// The side of the margin on which all values lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Above,
    /// Within the margin, ends included.
    Inside,
    Below,
}

/// Whether a result of all samples also holds elsewhere, or that this was not tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    Yes,
    No,
    NotTried,
}

impl Within {
    pub fn exactly(log: f64) -> Within {
        Within { log, least: log, most: log }
    }

    fn lies(&self, side: Side, margin: f64) -> bool {
        match side {
            Side::Above => self.least > margin,
            Side::Inside => self.least >= -margin && self.most <= margin,
            Side::Below => self.most < -margin,
        }
    }
}

/// The side on which all samples lie; `None` if they disagree or are fewer than `needed`.
///
/// Misleads: agreement of all corners of a design proves no share of all corners, see [`crate::screening`].
pub fn agree(samples: &[Within], margin: f64, needed: usize) -> Option<Side> {
    let ends: Vec<(f64, f64)> = samples.iter().map(|sample| (sample.least, sample.most)).collect();
    let (division, n) = (divide_intervals(&ends, margin), samples.len());
    match division {
        _ if n < needed.max(1) => None,
        d if d.above == n => Some(Side::Above),
        d if d.below == n => Some(Side::Below),
        d if d.within == n => Some(Side::Inside),
        _ => None,
    }
}

/// Whether all values lie on that side of the margin.
pub fn all_lie(values: Option<&[Within]>, side: Side, margin: f64) -> Held {
    match values {
        None => Held::NotTried,
        Some(values) if values.iter().all(|value| value.lies(side, margin)) => Held::Yes,
        Some(_) => Held::No,
    }
}

/// Whether the result holds with every workload seed. A difference must also exceed, in the mean over the seeds, their range.
pub fn survives(seeds: Option<&[Within]>, side: Side, margin: f64) -> Held {
    let held = all_lie(seeds, side, margin);
    let Some(seeds) = seeds.filter(|_| held == Held::Yes && side != Side::Inside) else { return held };
    let logs: Vec<f64> = seeds.iter().map(|seed| seed.log).collect();
    let Some((least, most)) = crate::range(&logs) else { return Held::NotTried };
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    if mean.abs() > most - least { Held::Yes } else { Held::No }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exactly(logs: &[f64]) -> Vec<Within> {
        logs.iter().copied().map(Within::exactly).collect()
    }

    #[test]
    fn all_samples_must_lie_on_one_side_with_all_that_they_may_be_wrong_by() {
        let of = |logs: &[f64]| agree(&exactly(logs), 0.03, 3);
        assert_eq!(of(&[0.04, 0.5, 0.031]), Some(Side::Above));
        assert_eq!(of(&[-0.04, -0.5, -0.031]), Some(Side::Below));
        assert_eq!(of(&[0.03, -0.03, 0.0]), Some(Side::Inside));
        assert_eq!((of(&[0.04, 0.5, 0.03]), of(&[0.5, 0.5])), (None, None));
        let wide = Within { log: 0.05, least: 0.02, most: 0.05 };
        assert_eq!(agree(&[wide; 3], 0.03, 3), None);
    }

    #[test]
    fn a_difference_must_be_larger_than_what_seeds_move_it_by() {
        let of = |logs: &[f64], side| survives(Some(&exactly(logs)), side, 0.03);
        assert_eq!(of(&[0.10, 0.12, 0.14], Side::Above), Held::Yes);
        assert_eq!(of(&[0.04, 0.12, 0.25], Side::Above), Held::No);
        assert_eq!(of(&[0.01, -0.02, 0.0], Side::Inside), Held::Yes);
        assert_eq!(of(&[0.01, -0.04, 0.0], Side::Inside), Held::No);
        assert_eq!(survives(None, Side::Above, 0.03), Held::NotTried);
    }
}
