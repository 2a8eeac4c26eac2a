//! Quantiles of merged histograms, with intervals by resampling whole rounds.

/// A quantile with its interval, in the histogram's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantile {
    pub value: u64,
    pub low: u64,
    pub high: u64,
}

/// The quantile `q` of all rounds' histograms together, with an interval at `level`. Each round's buckets are as in
/// [`crate::quantile_of_counts`].
pub fn quantile_by_rounds(rounds: &[Vec<(u64, u64)>], q: f64, level: f64, seed: u64) -> Option<Quantile> {
    let _ = (rounds, q, level, seed);
    todo!()
}
