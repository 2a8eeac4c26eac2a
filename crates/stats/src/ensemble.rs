//! Counts on which side of a margin the samples of an ensemble lie.

/// Number of samples on each side of a margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Number of samples above the margin.
    pub above: usize,
    /// Number of samples within the margin, ends included.
    pub within: usize,
    /// Number of samples below the margin.
    pub below: usize,
}

/// Counts logarithms of ratios above, within and below ±`margin`, also a logarithm: ln(1 + 3 %).
///
/// Misleads: the count has no weights. An implausible sample counts as much as the most likely one.
pub fn divide(logs: &[f64], margin: f64) -> Division {
    let above = logs.iter().filter(|log| **log > margin).count();
    let below = logs.iter().filter(|log| **log < -margin).count();
    Division { above, within: logs.len() - above - below, below }
}

/// Like [`divide`] for intervals (minimum, maximum). An interval counts where it lies entirely; one that crosses a border counts
/// nowhere.
///
/// Misleads with wide intervals: few count, and the sum of the three is far below their number.
pub fn divide_intervals(logs: &[(f64, f64)], margin: f64) -> Division {
    let count = |is: &dyn Fn(f64, f64) -> bool| logs.iter().filter(|(least, most)| is(*least, *most)).count();
    Division {
        above: count(&|least, _| least > margin),
        within: count(&|least, most| least >= -margin && most <= margin),
        below: count(&|_, most| most < -margin),
    }
}

/// The geometric mean of the ratios with these logarithms. `None` for none.
pub fn mean_ratio(logs: &[f64]) -> Option<f64> {
    mean(logs).map(f64::exp)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
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
    fn a_mean_of_ratios_is_geometric() {
        assert_eq!(mean_ratio(&[2_f64.ln(), 0.5_f64.ln()]).map(|r| (r * 1e9).round() / 1e9), Some(1.0));
        assert_eq!(mean_ratio(&[]), None);
    }
}
