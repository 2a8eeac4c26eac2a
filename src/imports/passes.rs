//! Passes of the same work on the same filesystem, which should agree.
//!
//! Two figures disagree where the larger is more than [`APART`] times the smaller, whatever each may have been within its printed
//! digits and its tool's clock: the least that the larger may be is held against the most that the smaller may be.
//!
//! Why 1.1: the comparisons that fsderby follows call filesystems different that lie 7 to 11 % apart (block writing, reading and
//! rewriting in the seeds' tables of Bonnie++). Passes farther apart than that could turn every such order around, so their figures
//! say nothing about it. It is no test: two passes have no spread to test with.

use crate::schema::import::Figure;

/// The larger by the smaller.
pub const APART: f64 = 1.1;

/// How far apart figures of one metric are at least, where that is more than [`APART`].
pub fn disagreement<'f>(figures: impl IntoIterator<Item = &'f Figure>) -> Option<f64> {
    let (mut highest_least, mut lowest_most) = (f64::NEG_INFINITY, f64::INFINITY);
    for figure in figures {
        let (least, most) = bounds(figure);
        highest_least = highest_least.max(least);
        lowest_most = lowest_most.min(most);
    }
    // Nothing is compared with a figure that has no upper bound, and a figure never with itself.
    let times = highest_least / lowest_most;
    (lowest_most > 0.0 && times.is_finite() && times > APART).then_some(times)
}

/// What it may have been.
fn bounds(figure: &Figure) -> (f64, f64) {
    let least = figure.least.or(figure.value).unwrap_or(0.0);
    let most = match (figure.most, figure.value, figure.least) {
        (Some(most), _, _) => most,
        // With a lower bound alone it has no upper one; a plain value is itself.
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
