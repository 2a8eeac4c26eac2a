//! One metric: a bar for each candidate's median, and its trials as points.

use super::canvas::{Anchor, Canvas, Ink, Theme, cut};
use crate::report::view::entry::{Entry, look};
use crate::report::view::row::Row;

const WIDTH: f64 = 720.0;
const ROW: f64 = 26.0;
const HEAD: f64 = 52.0;
const PLOT: (f64, f64) = (190.0, 590.0);
const EDGE: f64 = 10.0;
/// If there are more trials than this, no points are drawn.
const POINTS: usize = 60;

/// The chart; `None` if no trial has this metric.
pub fn of(workload: &str, row: &Row, entries: &[Entry]) -> Option<String> {
    let most = row.values().fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let scale = row.scale();
    let mut canvas = Canvas::new(WIDTH);
    let title = format!("{workload}: {}", scale.heading(&row.title));
    canvas.text((EDGE, 22.0), Anchor::Start, Ink::Strong, &cut(&title, WIDTH - 2.0 * EDGE));
    let direction = row.direction();
    let note = if direction.is_empty() {
        "medians; points are trials".to_owned()
    } else {
        format!("medians; points are trials; {direction}")
    };
    canvas.text((EDGE, 40.0), Anchor::Start, Ink::Soft, &note);
    canvas.says(&format!("A bar for each filesystem: {note}."));
    let x = |value: f64| PLOT.0 + value.max(0.0) / most * (PLOT.1 - PLOT.0);
    for (at, cell) in row.cells.iter().enumerate() {
        let middle = HEAD + ROW * (at as f64 + 0.5);
        canvas.text(
            (EDGE, middle + 4.0),
            Anchor::Start,
            Ink::Normal,
            &cut(&cell.filesystem, PLOT.0 - EDGE - 6.0),
        );
        let Some(median) = cell.median else {
            canvas.text((PLOT.0, middle + 4.0), Anchor::Start, Ink::Soft, "–");
            continue;
        };
        canvas.bar((PLOT.0, middle - 8.0), (x(median) - PLOT.0, 16.0), look(entries, &cell.filesystem));
        let n = cell.values.len();
        for (place, value) in cell.values.iter().enumerate().filter(|_| n <= POINTS) {
            let across = if n > 1 { place as f64 / (n - 1) as f64 * 10.0 - 5.0 } else { 0.0 };
            canvas.dot((x(value.value), middle + across));
        }
        canvas.text((PLOT.1 + 12.0, middle + 4.0), Anchor::Start, Ink::Normal, &scale.number(median));
        canvas.says(&format!("{}: {} of {n}.", cell.filesystem, scale.with_unit(median)));
    }
    Some(canvas.done(HEAD + ROW * row.cells.len() as f64 + 14.0, &title, Theme::Readers))
}
