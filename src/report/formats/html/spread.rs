//! Many values in one bar: a line over all values, a box over their middle half, and if there is room a dot for each value in
//! measured order. All dots are one SVG element: ten thousand elements would make the page too slow to open.

use std::fmt::Write;

use crate::report::view::number::percent;
use crate::report::view::row::Cell;

/// Up to this many values, each value is drawn as a separate point that names its trial.
pub const POINTS_MOST: usize = 24;
/// With more values than this, each dot is the median of several neighbours.
const DOTS_MOST: usize = 500;
/// The dots' units, which the browser stretches over the bar.
pub const ACROSS: usize = 1000;
pub const DOWN: usize = 100;

/// Positions and lengths on the chart's scale, as SVG takes them: `12.34%`.
pub struct Spread {
    pub smallest: String,
    pub largest: String,
    pub half_from: String,
    pub half_length: String,
    /// The dots of a horizontal bar, from the first round at the top to the last, as an SVG path.
    pub dots: String,
}

impl Spread {
    /// The spread of a cell; `None` if each value is drawn as a point. `share` is a value's position on the scale, in percent.
    pub fn of(cell: &Cell, share: impl Fn(f64) -> f64) -> Option<Self> {
        if cell.values.len() <= POINTS_MOST {
            return None;
        }
        let [one, other] = middle_half(cell)?.map(&share);
        Some(Spread {
            smallest: percent(share(cell.min?)),
            largest: percent(share(cell.max?)),
            // On a vertical scale positions are counted from the top.
            half_from: percent(one.min(other)),
            half_length: percent((other - one).abs()),
            dots: String::new(),
        })
    }

    pub fn with_dots(self, cell: &Cell, share: impl Fn(f64) -> f64) -> Self {
        let values: Vec<f64> = cell.values.iter().map(|v| v.value).collect();
        let groups: Vec<&[f64]> = values.chunks(values.len().div_ceil(DOTS_MOST).max(1)).collect();
        let last = groups.len().saturating_sub(1).max(1);
        let mut dots = String::new();
        for (at, group) in groups.iter().enumerate() {
            let x = share(fsderby_stats::median(group).unwrap_or_default()) * ACROSS as f64 / 100.0;
            // A line of zero length with round ends is a dot. Writing to a string does not fail.
            let _ = write!(dots, "M{x:.0} {}h0", at * DOWN / last);
        }
        Spread { dots, ..self }
    }
}

/// The first and third quartile.
pub fn middle_half(cell: &Cell) -> Option<[f64; 2]> {
    let values: Vec<f64> = cell.values.iter().map(|v| v.value).collect();
    Some([fsderby_stats::quantile(&values, 0.25)?, fsderby_stats::quantile(&values, 0.75)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::row::Value;

    fn cell(n: u32) -> Cell {
        let value = |round| Value { trial: "one".into(), round, value: f64::from(round) };
        let values: Vec<Value> = (0..n).map(value).collect();
        let largest = Some(f64::from(n.saturating_sub(1)));
        Cell {
            filesystem: "a".into(),
            n: n as usize,
            median: largest.map(|l| l / 2.0),
            min: Some(0.0),
            max: largest,
            values,
        }
    }

    #[test]
    fn few_values_are_points_and_many_are_one_picture() {
        let share = |value| value;
        assert!(Spread::of(&cell(POINTS_MOST as u32), share).is_none());
        let many = Spread::of(&cell(101), share).expect("many").with_dots(&cell(101), share);
        let places = [&many.smallest, &many.half_from, &many.half_length, &many.largest];
        assert_eq!(places, ["0.00%", "25.00%", "50.00%", "100.00%"]);
        assert_eq!(many.dots.matches('M').count(), 101);
        assert!(
            many.dots.starts_with("M0 0h0M10 1h0") && many.dots.ends_with("M1000 100h0"),
            "{}",
            many.dots
        );
    }

    #[test]
    fn ten_thousand_dots_share_five_hundred() {
        let share = |value| value / 100.0;
        let most = Spread::of(&cell(10_000), share).expect("many").with_dots(&cell(10_000), share);
        assert_eq!(most.dots.matches('M').count(), DOTS_MOST);
        assert!(most.dots.len() < 8 * 1024);
    }
}
