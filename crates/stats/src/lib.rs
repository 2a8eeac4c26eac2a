//! Pure mathematics on slices: no I/O, no clock; random numbers come from a seed argument. Each function documents its formula,
//! its source and when it misleads.

pub mod agreement;
pub mod credible;
pub mod discovery;
pub mod ensemble;
pub mod family;
mod flips;
pub mod floor;
pub mod guard;
pub mod instructions;
pub mod looks;
pub mod power;
pub mod random;
pub mod ranks;
pub mod redrawn;
pub mod resampled;
pub mod robust;
pub mod screening;
mod table;
pub mod two_runs;
mod variance;

/// The quantile `q` (0 to 1): the share `q` of the values lies below it; linear between neighbours.
///
/// With the values sorted as x₀ … xₙ₋₁ and h = q·(n−1): x⌊h⌋ + (h − ⌊h⌋)·(x⌊h⌋₊₁ − x⌊h⌋). This is definition 7 of
/// R. J. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50 (1996), 361–365;
/// R, NumPy and Excel use it by default. `None` for no values.
///
/// Misleads in the tails with few values. The 0.99 quantile of ten trials is interpolated next to the largest of them and says
/// nothing about one trial in a hundred.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    debug_assert!((0.0..=1.0).contains(&q), "a quantile needs a share between 0 and 1, not {q}");
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let h = q * last as f64;
    let below = (h.floor() as usize).min(last);
    let above = (below + 1).min(last);
    Some(sorted[below] + (h - h.floor()) * (sorted[above] - sorted[below]))
}

/// The middle value or the mean of the two middle ones: the 0.5 [`quantile`]. `None` for no values.
///
/// Misleads where the values form two groups, for example with a cache that sometimes holds everything. The median then names one
/// group or a value between them that never occurred. Always show the individual values too.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The smallest and the largest value. `None` for no values.
///
/// Misleads: the range grows with the number of values, so ranges of five and of fifty trials cannot be compared. It is not an
/// interval for the median.
pub fn range(values: &[f64]) -> Option<(f64, f64)> {
    let low = values.iter().copied().min_by(f64::total_cmp)?;
    let high = values.iter().copied().max_by(f64::total_cmp)?;
    Some((low, high))
}

/// The quantile `q` (0 to 1) of a histogram: the share `q` of all counts lies at or below it.
///
/// `buckets` holds (highest value of the bucket, count), rising. With N counts in all, the result is the highest value of the
/// first bucket whose running count reaches max(1, ⌈q·N⌉): the nearest-rank definition, number 1 of Hyndman and Fan, also used
/// by HdrHistogram. `None` for an empty histogram.
///
/// Misleads: the result is the upper end of a bucket, so it is too high by up to the bucket's width. With fewer than 1/(1−q)
/// operations it is simply the slowest.
pub fn quantile_of_counts(buckets: &[(u64, u64)], q: f64) -> Option<u64> {
    debug_assert!((0.0..=1.0).contains(&q), "a quantile needs a share between 0 and 1, not {q}");
    debug_assert!(buckets.is_sorted_by_key(|(highest, _)| highest), "the buckets of a histogram rise");
    // Counts come from a file, so their sum saturates.
    let all = buckets.iter().fold(0_u64, |all, (_, count)| all.saturating_add(*count));
    let rank = ((q * all as f64).ceil() as u64).clamp(1, all.max(1));
    let mut counted = 0_u64;
    buckets.iter().find_map(|(highest, count)| {
        counted = counted.saturating_add(*count);
        (counted >= rank).then_some(*highest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `quantile(c(2, 4, 4, 5, 7, 9), c(0, .1, .25, .5, .9, 1), type = 7)` in R.
    #[test]
    fn quantiles_are_those_of_r() {
        let x = [9.0, 4.0, 2.0, 7.0, 5.0, 4.0];
        for (q, known) in [(0.0, 2.0), (0.1, 3.0), (0.25, 4.0), (0.5, 4.5), (0.9, 8.0), (1.0, 9.0)] {
            let ours = quantile(&x, q).expect("six values have quantiles");
            assert!((ours - known).abs() < 1e-12, "{q}: {ours} is not {known}");
        }
    }

    #[test]
    fn a_median_is_the_middle_or_between_the_two_middle_ones() {
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_range_is_the_smallest_and_the_largest() {
        assert_eq!(range(&[3.0, -1.0, 2.0]), Some((-1.0, 3.0)));
        assert_eq!(range(&[]), None);
    }

    #[test]
    fn a_histogram_is_read_by_nearest_rank() {
        let counts = [(10, 50), (20, 40), (30, 9), (1000, 1)];
        assert_eq!(quantile_of_counts(&counts, 0.0), Some(10));
        assert_eq!(quantile_of_counts(&counts, 0.5), Some(10));
        assert_eq!(quantile_of_counts(&counts, 0.51), Some(20));
        assert_eq!(quantile_of_counts(&counts, 0.99), Some(30));
        assert_eq!(quantile_of_counts(&counts, 0.999), Some(1000));
        assert_eq!(quantile_of_counts(&counts, 1.0), Some(1000));
        assert_eq!(quantile_of_counts(&[], 0.5), None);
        assert_eq!(quantile_of_counts(&[(5, 0)], 0.5), None);
        assert_eq!(quantile_of_counts(&[(5, u64::MAX), (9, 1)], 1.0), Some(5));
    }
}
