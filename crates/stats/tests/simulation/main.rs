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

/// Studies behind each rate: one of 5 % is then known to within 0.22 % (one deviation).
const STUDIES: usize = 10_000;

/// Patterns of signs for each study, in place of 10,000. A p is then coarser by 0.7 % (one deviation at 5 %), which over ten
/// thousand studies comes to nothing; it costs a little power.
const PATTERNS: usize = 1000;

fn share(n: usize, of: usize) -> f64 {
    n as f64 / of as f64
}
