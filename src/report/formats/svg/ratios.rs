//! Comparisons, one below the other: each candidate's ratio with its interval on a logarithmic axis, with rank and number.

use super::canvas::{Anchor, Canvas, Ink, Theme, cut};
use crate::report::view::comparison::{Comparison, Line, RATIO};
use crate::report::view::entry::{Entry, look};
use crate::report::view::log_axis::LogAxis;
use crate::report::view::number::ratio;

const WIDTH: f64 = 720.0;
const ROW: f64 = 24.0;
const HEAD: f64 = 52.0;
const FOOT: f64 = 30.0;
/// Start and end of the plot.
const PLOT: (f64, f64) = (210.0, 560.0);
const RANK: f64 = 10.0;
const NAME: f64 = 46.0;
const TICKS: usize = 5;

pub struct Panel<'c> {
    pub title: String,
    pub comparison: &'c Comparison,
}

/// The comparisons as one chart; `None` if there is nothing to compare.
pub fn stacked(panels: &[Panel<'_>], entries: &[Entry], theme: Theme) -> Option<String> {
    let mut canvas = Canvas::new(WIDTH);
    let mut top = 0.0;
    let mut titles = Vec::new();
    for panel in panels.iter().filter(|panel| panel.comparison.lines.len() > 1) {
        let Some(axis) = panel.comparison.axis() else { continue };
        top = drawn(&mut canvas, panel, &axis, entries, top);
        titles.push(panel.title.clone());
    }
    (!titles.is_empty()).then(|| canvas.done(top, &titles.join("; "), theme))
}

/// Draws a comparison and returns the top of the next one.
fn drawn(canvas: &mut Canvas, panel: &Panel<'_>, axis: &LogAxis, entries: &[Entry], top: f64) -> f64 {
    let comparison = panel.comparison;
    let x = |value: f64| PLOT.0 + axis.at(value) / 100.0 * (PLOT.1 - PLOT.0);
    let (begins, ends) = (top + HEAD, top + HEAD + ROW * comparison.lines.len() as f64);
    canvas.text((RANK, top + 22.0), Anchor::Start, Ink::Strong, &cut(&panel.title, WIDTH - 2.0 * RANK));
    let interval = if comparison.has_intervals() { ", with its interval" } else { "" };
    canvas.text(
        (RANK, top + 40.0),
        Anchor::Start,
        Ink::Soft,
        &cut(&format!("{}, {RATIO}{interval}", comparison.times()), WIDTH - 2.0 * RANK),
    );
    canvas.says(&format!(
        "{metric}: {relative_to}, {RATIO}{interval}, on a logarithmic axis.",
        metric = panel.title,
        relative_to = comparison.times()
    ));
    for tick in axis.ticks(TICKS, plain) {
        let at = x(tick.value);
        canvas.grid((at, begins), (at, ends));
        canvas.text((at, ends + 16.0), tick.anchor, Ink::Soft, &tick.text);
    }
    canvas.ink((x(1.0), begins - 4.0), (x(1.0), ends));
    for (at, line) in comparison.lines.iter().enumerate() {
        row(canvas, comparison, line, entries, begins + ROW * (at as f64 + 0.5), &x);
    }
    ends + FOOT
}

fn row(
    canvas: &mut Canvas,
    comparison: &Comparison,
    line: &Line,
    entries: &[Entry],
    middle: f64,
    x: &impl Fn(f64) -> f64,
) {
    if comparison.has_ranks() {
        canvas.text((RANK, middle + 4.0), Anchor::Start, Ink::Soft, &line.rank());
    }
    let name = format!("{}{}", line.candidate, comparison.dagger(&line.candidate));
    canvas.text((NAME, middle + 4.0), Anchor::Start, Ink::Normal, &cut(&name, PLOT.0 - NAME - 6.0));
    if let Some((low, high)) = line.low.zip(line.high) {
        canvas.ink((x(low), middle), (x(high), middle));
        for end in [low, high] {
            canvas.ink((x(end), middle - 4.0), (x(end), middle + 4.0));
        }
    }
    let is_open = comparison.is_preliminary || !line.mark().is_empty();
    canvas.mark((x(line.ratio), middle), look(entries, &line.candidate), is_open);
    let interval = match line.interval() {
        _ if line.candidate == comparison.to => String::new(),
        none if none.is_empty() => none,
        interval => format!(" ({interval})"),
    };
    let number = format!("{}{interval} {}", ratio(line.ratio), line.mark());
    canvas.text((PLOT.1 + 14.0, middle + 4.0), Anchor::Start, Ink::Normal, number.trim_end());
    let standing = if line.standing().is_empty() { String::new() } else { format!(", {}", line.standing()) };
    canvas.says(&format!("{name}: {}{interval}{standing}.", ratio(line.ratio)));
}

/// A number without trailing zeros: `0.8`, `1`, `20`.
fn plain(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
