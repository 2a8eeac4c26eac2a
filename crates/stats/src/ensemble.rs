//! Judging over an ensemble: what holds in nearly all samples, and what decides where it does not.

/// How the samples of an ensemble divide about a margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Beyond the margin, upwards.
    pub above: usize,
    /// Within the margin, its ends included.
    pub within: usize,
    /// Beyond the margin, downwards.
    pub below: usize,
}

/// Counts logarithms of ratios above, within and below ±`margin`, itself a logarithm: ln(1 + 3 %).
///
/// Misleads: a count has no weights. A sample that nobody's disk could be counts as much as the likeliest one.
pub fn divide(logs: &[f64], margin: f64) -> Division {
    let above = logs.iter().filter(|log| **log > margin).count();
    let below = logs.iter().filter(|log| **log < -margin).count();
    Division { above, within: logs.len() - above - below, below }
}

/// The same of intervals, least and most: one counts above or below where all of it is, and within where all of it is; one that
/// reaches over a border counts nowhere.
///
/// Misleads where the intervals are wide: then next to nothing counts, and the sum of the three says little of how many there are.
pub fn divide_intervals(logs: &[(f64, f64)], margin: f64) -> Division {
    let count = |is: &dyn Fn(f64, f64) -> bool| logs.iter().filter(|(least, most)| is(*least, *most)).count();
    Division {
        above: count(&|least, _| least > margin),
        within: count(&|least, most| least >= -margin && most <= margin),
        below: count(&|_, most| most < -margin),
    }
}

/// Whether `n` of `all` are at least the share `q`: 95 of 100, and with q = 0.95 twelve of twelve.
pub fn at_least(n: usize, all: usize, q: f64) -> bool {
    // A little less than the product, so that 19 of 20 are 95 % in floating point too.
    all > 0 && n as f64 >= q * all as f64 - 1e-9
}

/// The share of the values' variance that goes with their group, adjusted for the number of groups: with n values in k
/// groups, 1 − (S_within ÷ (n − k)) ÷ (S_total ÷ (n − 1)), and 0 where that is negative.
///
/// This is ε² of T. L. Kelley, "An unbiased correlation ratio measure", PNAS 21 (1935), 554–559. Unadjusted, twelve values
/// of pure noise in three groups give 2 ÷ 11 = 18 % on average; adjusted, about nothing. `None` where no group has a
/// second value, where there is but one group, or where all values are the same.
///
/// Misleads: with a dozen values it is good to a tenth or two, no better; what two factors decide together counts for neither.
pub fn share_by_group(groups: &[usize], values: &[f64]) -> Option<f64> {
    assert_eq!(groups.len(), values.len(), "each value has a group");
    let mut kinds: Vec<usize> = groups.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    let (n, k) = (values.len(), kinds.len());
    if k < 2 || n <= k {
        return None;
    }
    let of = |kind: usize| groups.iter().zip(values).filter(move |(g, _)| **g == kind).map(|(_, v)| *v);
    let within: f64 = kinds.iter().map(|kind| squares(&of(*kind).collect::<Vec<f64>>())).sum();
    adjusted(within, squares(values), n, k)
}

/// The share of the values' variance that goes with `x` in a straight line: the adjusted R² of the least-squares line,
/// 1 − (S_residual ÷ (n − 2)) ÷ (S_total ÷ (n − 1)), and 0 where that is negative (M. Ezekiel, 1929).
///
/// `None` for fewer than three values, or where all `x` or all values are the same. Misleads as [`share_by_group`] does, and
/// where the effect has a bend: half a parabola is a line, a whole one is nothing.
pub fn share_by_line(x: &[f64], values: &[f64]) -> Option<f64> {
    assert_eq!(x.len(), values.len(), "each value has its x");
    let (mean_x, mean_y) = (mean(x)?, mean(values)?);
    let products: f64 = x.iter().zip(values).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let (all_x, all_y) = (squares(x), squares(values));
    if values.len() < 3 || all_x == 0.0 {
        return None;
    }
    adjusted((all_y - products * products / all_x).max(0.0), all_y, values.len(), 2)
}

/// The geometric mean of the ratios behind these logarithms. `None` for none.
pub fn mean_ratio(logs: &[f64]) -> Option<f64> {
    mean(logs).map(f64::exp)
}

fn adjusted(left: f64, all: f64, n: usize, parameters: usize) -> Option<f64> {
    if all == 0.0 || n <= parameters {
        return None;
    }
    Some((1.0 - (left / (n - parameters) as f64) / (all / (n - 1) as f64)).clamp(0.0, 1.0))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The sum of squares about the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values).unwrap_or(0.0);
    values.iter().map(|v| (v - mean) * (v - mean)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_divide_about_the_margin() {
        let logs = [0.1, 0.031, 0.03, 0.0, -0.03, -0.5];
        assert_eq!(divide(&logs, 0.03), Division { above: 2, within: 3, below: 1 });
    }

    #[test]
    fn an_interval_counts_only_where_all_of_it_lies() {
        let logs = [(0.04, 0.05), (0.02, 0.05), (-0.03, 0.03), (-0.04, 0.01), (-0.9, -0.04), (-0.5, 0.5)];
        assert_eq!(divide_intervals(&logs, 0.03), Division { above: 1, within: 1, below: 1 });
        let points: Vec<(f64, f64)> = [0.1, 0.03, -0.5].map(|log| (log, log)).to_vec();
        assert_eq!(divide_intervals(&points, 0.03), divide(&[0.1, 0.03, -0.5], 0.03));
    }

    #[test]
    fn of_a_dozen_all_are_needed_and_of_twenty_one_may_differ() {
        assert!(at_least(12, 12, 0.95) && !at_least(11, 12, 0.95));
        assert!(at_least(19, 20, 0.95) && !at_least(18, 20, 0.95));
        assert!(!at_least(0, 0, 0.95));
    }

    /// `summary(lm(c(1,2,4,3,6,5,8,9,7) ~ factor(c(0,0,0,1,1,1,2,2,2))))$adj.r.squared`: S_within = 11.333, S_total = 60.
    #[test]
    fn groups_explain_what_adjusted_r_squared_says() {
        let groups = [0, 0, 0, 1, 1, 1, 2, 2, 2];
        let values = [1.0, 2.0, 4.0, 3.0, 6.0, 5.0, 8.0, 9.0, 7.0];
        let share = share_by_group(&groups, &values).unwrap();
        // Within the groups: 14/3 + 14/3 + 2.
        let known = 1.0 - ((14.0 / 3.0 + 14.0 / 3.0 + 2.0) / 6.0) / (60.0 / 8.0);
        assert!((share - known).abs() < 1e-12, "{share}");
    }

    #[test]
    fn what_decides_alone_explains_all_of_it() {
        assert_eq!(share_by_group(&[0, 1, 0, 1], &[2.0, 5.0, 2.0, 5.0]), Some(1.0));
        let share = share_by_line(&[1.0, 2.0, 3.0, 4.0], &[10.0, 8.0, 6.0, 4.0]).unwrap();
        assert!((share - 1.0).abs() < 1e-12);
    }

    /// `summary(lm(c(2,4,5,4,5) ~ c(1,2,3,4,5)))$adj.r.squared` in R is 0.4666667.
    #[test]
    fn a_line_explains_what_adjusted_r_squared_says() {
        let share = share_by_line(&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 4.0, 5.0, 4.0, 5.0]).unwrap();
        assert!((share - 0.466_666_7).abs() < 1e-6, "{share}");
    }

    #[test]
    fn what_does_not_vary_explains_nothing_and_says_so() {
        assert_eq!(share_by_line(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(share_by_line(&[1.0, 2.0], &[1.0, 2.0]), None);
        assert_eq!(share_by_group(&[1, 1, 1], &[1.0, 2.0, 3.0]), None);
        assert_eq!(share_by_group(&[0, 0, 1, 1], &[3.0, 3.0, 3.0, 3.0]), None);
        assert_eq!(share_by_group(&[0, 1], &[1.0, 2.0]), None);
    }

    /// A thousand ensembles of twelve samples of noise: a share that shows as much as a half must be rare, and the mean small.
    #[test]
    fn noise_is_seldom_explained() {
        let mut state = 1_u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let groups: Vec<usize> = (0..12).map(|n| n % 3).collect();
        let shares: Vec<f64> = (0..1000)
            .map(|_| share_by_group(&groups, &(0..12).map(|_| noise()).collect::<Vec<f64>>()).unwrap())
            .collect();
        let much = shares.iter().filter(|share| **share >= 0.5).count();
        assert!(much < 30, "{much} of 1000");
        assert!(mean(&shares).unwrap() < 0.12);
    }

    #[test]
    fn a_mean_of_ratios_is_geometric() {
        assert_eq!(mean_ratio(&[2_f64.ln(), 0.5_f64.ln()]).map(|r| (r * 1e9).round() / 1e9), Some(1.0));
        assert_eq!(mean_ratio(&[]), None);
    }
}
