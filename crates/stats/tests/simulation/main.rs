//! What the tests of a verdict really do: simulated false alarms, power and coverage.
//!
//! Every seed is fixed, so each rate is the same on every machine. All rates are printed:
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

/// Studies behind each rate in the gate: one of 5 % is then known to within 0.44 % (one deviation). `make nightly PART=simulation` has
/// four times as many.
const STUDIES: usize = 2500;

/// Says in place of [`STUDIES`] how many.
const VARIABLE: &str = "FSDERBY_STUDIES";

fn studies() -> usize {
    std::env::var(VARIABLE).map_or(STUDIES, |text| text.parse().unwrap())
}

/// By how much a rate of 5 %, seen in so many studies, is off by chance: two and a half deviations.
fn slack() -> f64 {
    2.5 * (0.05 * 0.95 / studies() as f64).sqrt()
}

/// Patterns of signs for each study, in place of 10,000. A p is then coarser by 0.7 % (one deviation at 5 %), which over ten
/// thousand studies comes to nothing; it costs a little power.
const PATTERNS: usize = 1000;

fn share(n: usize, of: usize) -> f64 {
    n as f64 / of as f64
}
