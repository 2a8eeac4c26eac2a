//! Simulated false alarms, power and coverage of the tests behind a verdict.
//!
//! All seeds are fixed, so each rate is the same on every machine. To print all rates:
//! `cargo test -p fsderby-stats --test simulation -- --nocapture`

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod draw;
mod flips;
mod modelled;
mod others;
mod ours;
mod peers;
mod rates;
mod rest;
mod two_runs;

/// Studies per rate in the gate: a rate of 5 % is known to within 0.44 % (one standard deviation). `make nightly PART=simulation`
/// uses four times as many.
const STUDIES: usize = 2500;

/// Environment variable that overrides [`STUDIES`].
const VARIABLE: &str = "FSDERBY_STUDIES";

fn studies() -> usize {
    std::env::var(VARIABLE).map_or(STUDIES, |text| text.parse().unwrap())
}

/// Chance error of a rate of 5 % in this many studies: two and a half standard deviations.
fn slack() -> f64 {
    2.5 * (0.05 * 0.95 / studies() as f64).sqrt()
}

/// Sign patterns per study instead of 10,000. This makes p coarser by 0.7 % (one standard deviation at 5 %), which averages out
/// over ten thousand studies and costs a little power.
const PATTERNS: usize = 1000;

fn share(n: usize, of: usize) -> f64 {
    n as f64 / of as f64
}
