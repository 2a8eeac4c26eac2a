//! SNIA's rule of steady state, and the rounds until it holds.
//!
//! The rule is in the Solid State Storage Performance Test Specification (SNIA, version 2.0.2, section 2.1.24). Over five
//! consecutive rounds the rates lie within 20 % of their mean, and their least-squares line changes by at most 10 % of it.

use super::asks::{BLOCK, Taken};

/// Rounds that the rule considers.
pub const WINDOW: usize = 5;
/// Of a preconditioning: passes in order over the whole device, before the rounds.
pub const PASSES: u32 = 2;
/// A round of a preconditioning writes this share of the device at random.
pub const ROUND: u64 = 8;
/// SNIA's limit of rounds.
pub const MOST_ROUNDS: usize = 25;

/// Writes of a preconditioning's round on a device of so many sectors.
pub fn round_writes(sectors: u64) -> u64 {
    (sectors / ROUND / u64::from(BLOCK)).max(1)
}

/// Rounds until five in a row are steady, or until there are [`MOST_ROUNDS`].
///
/// # Errors
/// If a round fails.
pub fn until_steady<E>(mut round: impl FnMut() -> Result<Taken, E>) -> Result<Vec<Taken>, E> {
    let mut done = Vec::new();
    while done.len() < MOST_ROUNDS && steady_from(&rates(&done)).is_none() {
        done.push(round()?);
    }
    Ok(done)
}

/// Requests per second of each round.
pub fn rates(done: &[Taken]) -> Vec<f64> {
    done.iter().map(|taken| taken.rate() as f64 / 1000.0).collect()
}

pub(super) fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let number = values.len() as f64;
    values.sum::<f64>() / number
}

/// Range of the rates ÷ mean, and change of their least-squares line ÷ mean.
pub fn spread_and_slope(rates: &[f64]) -> (f64, f64) {
    let middle = mean(rates.iter().copied());
    let (least, most) = rates.iter().fold((f64::MAX, 0.0_f64), |(l, m), r| (l.min(*r), m.max(*r)));
    let centre = (rates.len() as f64 - 1.0) / 2.0;
    let away = |at: usize| at as f64 - centre;
    let (over, under) = rates.iter().enumerate().fold((0.0, 0.0), |(over, under), (at, rate)| {
        (over + away(at) * (rate - middle), under + away(at) * away(at))
    });
    ((most - least) / middle, (over / under * 2.0 * centre / middle).abs())
}

fn is_steady(rates: &[f64]) -> bool {
    let (spread, slope) = spread_and_slope(rates);
    spread <= 0.2 && slope <= 0.1
}

/// Index of the first round of the first five consecutive steady rounds.
pub fn steady_from(rates: &[f64]) -> Option<usize> {
    rates.windows(WINDOW).position(is_steady)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_rates_are_steady_by_their_spread_and_by_their_line() {
        let close = |(spread, slope): (f64, f64), known: (f64, f64)| {
            assert!((spread - known.0).abs() < 1e-9 && (slope - known.1).abs() < 1e-9, "{spread} {slope}");
        };
        close(spread_and_slope(&[100.0, 100.0, 100.0, 100.0, 100.0]), (0.0, 0.0));
        // A line from 96 to 104 changes by 8 % of 100.
        close(spread_and_slope(&[96.0, 98.0, 100.0, 102.0, 104.0]), (0.08, 0.08));
        close(spread_and_slope(&[89.0, 111.0, 100.0, 111.0, 89.0]), (0.22, 0.0));
        assert!(is_steady(&[96.0, 98.0, 100.0, 102.0, 104.0]));
        assert!(!is_steady(&[94.0, 97.0, 100.0, 103.0, 106.0]), "its line changes by 12 %");
        assert!(!is_steady(&[89.0, 111.0, 100.0, 111.0, 89.0]), "they differ by 22 %");
    }
}
