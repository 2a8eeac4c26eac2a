//! Repeated passes of the same work on the same filesystem, which should agree.
//!
//! Two figures disagree if the larger is more than [`APART`] times the smaller. The comparison allows for printed digits and
//! the tool's clock: it uses the smallest possible value of the larger and the largest possible value of the smaller.
//!
//! Why 1.1: published comparisons call filesystems different that are 7 to 11 % apart (in Bonnie++'s block writes, reads and
//! rewrites). If passes differ by more than that, they could reverse such an order, so their figures cannot support it. This is not
//! a statistical test, because two passes are too few for a test.

use crate::schema::import::Figure;

/// Limit of the ratio of the larger figure to the smaller.
pub const APART: f64 = 1.1;

/// The minimum ratio between figures of one metric, if it exceeds [`APART`].
pub fn disagreement<'f>(figures: impl IntoIterator<Item = &'f Figure>) -> Option<f64> {
    let (mut highest_least, mut lowest_most) = (f64::NEG_INFINITY, f64::INFINITY);
    for figure in figures {
        let (least, most) = bounds(figure);
        highest_least = highest_least.max(least);
        lowest_most = lowest_most.min(most);
    }
    // No figure is compared with itself, and a figure without an upper bound is not compared.
    let times = highest_least / lowest_most;
    (lowest_most > 0.0 && times.is_finite() && times > APART).then_some(times)
}

/// The range of possible values.
fn bounds(figure: &Figure) -> (f64, f64) {
    let least = figure.least.or(figure.value).unwrap_or(0.0);
    let most = match (figure.most, figure.value, figure.least) {
        (Some(most), _, _) => most,
        // A figure with only a lower bound has no upper bound; a plain value is its own bound.
        (None, Some(value), None) => value,
        _ => f64::INFINITY,
    };
    (least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(value: f64, unit: f64) -> Figure {
        Figure { value: Some(value), least: Some(value), most: Some(value + unit), ..quick(None) }
    }

    fn quick(least: Option<f64>) -> Figure {
        Figure { metric: "m".into(), unit: "1/s".into(), value: None, least, most: None }
    }

    #[test]
    fn passes_agree_up_to_a_tenth_and_within_their_printed_digits() {
        assert_eq!(disagreement([&printed(100.0, 1.0), &printed(111.0, 1.0)]), None);
        assert_eq!(disagreement([&printed(9.0, 1.0), &printed(10.0, 1.0)]), None);
        let times = disagreement([&printed(1651.0, 1.0), &printed(9780.0, 1.0), &printed(1700.0, 1.0)]);
        assert!(times.is_some_and(|t| (5.9..5.95).contains(&t)), "{times:?}");
    }

    #[test]
    fn what_was_too_quick_disagrees_with_what_was_slower_than_that() {
        assert!(disagreement([&quick(Some(32768.0)), &printed(25493.0, 1.0)]).is_some());
        assert_eq!(disagreement([&quick(Some(32768.0)), &printed(31000.0, 1.0)]), None);
        assert_eq!(disagreement([&quick(Some(32768.0)), &quick(Some(32768.0))]), None);
        assert_eq!(disagreement([&quick(None), &printed(5.0, 1.0)]), None);
    }

    #[test]
    fn one_figure_agrees_with_itself_and_nothing_is_divided_by_nothing() {
        assert_eq!(disagreement([&printed(5.0, 1.0)]), None);
        assert_eq!(disagreement([&Figure { value: Some(0.0), ..quick(None) }, &printed(5.0, 1.0)]), None);
        assert_eq!(disagreement([] as [&Figure; 0]), None);
    }
}
