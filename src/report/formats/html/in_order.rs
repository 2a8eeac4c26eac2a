//! Values of a metric in measured order, relative to each candidate's median. A drift of the machine shows in the values of all
//! candidates, a drift of one candidate only in its own values. Each candidate is one path, however many values it has.

use std::fmt::Write;

use crate::report::view::entry::{self, Entry};
use crate::report::view::log_axis::LogAxis;
use crate::report::view::look::Look;
use crate::report::view::row::{Cell, Row};

/// The least number of rounds; fewer rounds show no trend.
const LEAST: usize = 4;
/// The chart's units, which the page stretches.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 100.0;
/// With more values than this, each point is the median of several neighbours.
const POINTS: usize = 50;

pub struct InOrder {
    pub title: String,
    pub rows: Vec<OrderRow>,
    /// The position of each median, from the top.
    pub middle: String,
    /// The ends of the chart's range: `0.9`, `1.1`.
    pub least: String,
    pub most: String,
    pub rounds: u32,
}

pub struct OrderRow {
    pub label: String,
    pub look: Look,
    /// All values of the candidate, as a line and as dots.
    pub line: String,
    pub dots: String,
    /// Change of the median from the earlier to the later half of the rounds: `−3.1 %`.
    pub later: String,
    pub words: String,
}

/// The chart; `None` if no candidate has enough rounds.
pub fn of(row: &Row, entries: &[Entry]) -> Option<InOrder> {
    let cells = || row.cells.iter().filter(|cell| cell.n >= LEAST && cell.median.is_some_and(|m| m > 0.0));
    let shares = |cell: &Cell| -> Vec<f64> {
        let median = cell.median.unwrap_or(1.0);
        cell.values.iter().map(|value| value.value / median).collect()
    };
    let axis = LogAxis::over(cells().flat_map(shares).chain([1.0]))?;
    let rounds = cells().flat_map(|cell| &cell.values).map(|value| value.round).max()?;
    let y = |share: f64| HEIGHT - axis.at(share) / 100.0 * HEIGHT;
    let x = |round: u32| (f64::from(round) - 0.5) / f64::from(rounds) * WIDTH;
    let one = |cell: &Cell| {
        let shares = shares(cell);
        let each = shares.len().div_ceil(POINTS);
        let groups = cell.values.chunks(each).zip(shares.chunks(each));
        let points: Vec<(f64, f64)> = groups
            .filter_map(|(values, shares)| {
                Some((x(values.get(values.len() / 2)?.round), y(fsderby_stats::median(shares)?)))
            })
            .collect();
        let later = later(&shares);
        OrderRow {
            label: cell.filesystem.clone(),
            look: entry::look(entries, &cell.filesystem),
            line: path(&points, "L", ""),
            dots: path(&points, "M", "h0"),
            words: format!(
                "{filesystem}: median of the later half of the rounds relative to the earlier half: {later}",
                filesystem = cell.filesystem
            ),
            later,
        }
    };
    let [least, most] =
        [cells().flat_map(shares).fold(1.0, f64::min), cells().flat_map(shares).fold(1.0, f64::max)];
    Some(InOrder {
        title: row.title.clone(),
        rows: cells().map(one).collect(),
        middle: format!("{:.1}", y(1.0)),
        least: format!("{:.0} %", 100.0 * least),
        most: format!("{:.0} %", 100.0 * most),
        rounds,
    })
}

fn path(points: &[(f64, f64)], next: &str, each: &str) -> String {
    let mut out = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let command = if at == 0 { "M" } else { next };
        write!(out, "{command}{x:.1} {y:.1}{each}").unwrap_or_default();
    }
    out
}

/// Change of the median from the earlier to the later half of the values.
fn later(shares: &[f64]) -> String {
    let (earlier, later) = shares.split_at(shares.len() / 2);
    match (fsderby_stats::median(earlier), fsderby_stats::median(later)) {
        (Some(earlier), Some(later)) if earlier > 0.0 => {
            let change = 100.0 * (later / earlier - 1.0);
            let sign = if change < -0.05 { "−" } else { "+" };
            format!("{sign}{:.1} %", change.abs())
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples;

    #[test]
    fn a_candidates_values_are_one_path_however_many_there_are() {
        let example = examples::example();
        let summary = example.report().summary;
        let row = summary.workloads[0].headlines()[0];
        let picture = of(row, &summary.filesystems).expect("there are six rounds");
        assert_eq!((picture.rows.len(), picture.rounds), (8, 6));
        assert_eq!(picture.rows[0].line.matches('L').count(), 5);
        let two = examples::rounds(2);
        assert!(of(two.report().summary.workloads[0].headlines()[0], &[]).is_none());
    }

    #[test]
    fn the_later_half_stands_beside_the_earlier_one() {
        assert_eq!(later(&[1.0, 1.0, 1.0, 0.9, 0.9, 0.9]), "−10.0 %");
        assert_eq!(later(&[1.0, 1.0]), "+0.0 %");
    }
}
