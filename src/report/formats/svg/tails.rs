//! The latencies of one operation on a logarithmic axis: for each candidate p50, p99 with its interval, p99.9 and the longest
//! latency.

use super::canvas::{Anchor, Canvas, Ink, Theme, cut};
use crate::report::view::entry::{Entry, look};
use crate::report::view::latency::{Latency, Row};
use crate::report::view::log_axis::LogAxis;
use crate::report::view::look::Look;
use crate::report::view::number::{duration, durations, grouped};

const WIDTH: f64 = 720.0;
const ROW: f64 = 26.0;
const HEAD: f64 = 52.0;
const FOOT: f64 = 30.0;
const PLOT: (f64, f64) = (190.0, 560.0);
const EDGE: f64 = 10.0;
const TICKS: usize = 5;

/// The chart; `None` if too few operations were counted.
pub fn of(workload: &str, latency: &Latency, entries: &[Entry]) -> Option<String> {
    let rows = latency.drawn();
    let ends = rows.iter().flat_map(|row| [row.p50, row.max]).map(|value| value as f64);
    let axis = LogAxis::over(ends)?;
    let x = |value: u64| PLOT.0 + axis.at(value as f64) / 100.0 * (PLOT.1 - PLOT.0);
    let mut canvas = Canvas::new(WIDTH);
    let title = format!("{workload}: latency of {}", latency.title());
    canvas.text((EDGE, 22.0), Anchor::Start, Ink::Strong, &cut(&title, WIDTH - 2.0 * EDGE));
    let interval = if latency.has_intervals() { " with its 95 % interval" } else { "" };
    let note = format!(
        "circle p50; diamond p99{interval}, also as a number; cross p99.9; bar the longest; logarithmic"
    );
    canvas.text((EDGE, 40.0), Anchor::Start, Ink::Soft, &cut(&note, WIDTH - 2.0 * EDGE));
    canvas.says(&format!("Percentiles of latency over all rounds together, lower is better. {note}."));
    let (begins, ends) = (HEAD, HEAD + ROW * rows.len() as f64);
    for tick in axis.ticks(TICKS, |value| said(value.round() as u64, latency)) {
        let at = PLOT.0 + axis.at(tick.value) / 100.0 * (PLOT.1 - PLOT.0);
        canvas.grid((at, begins), (at, ends));
        canvas.text((at, ends + 16.0), tick.anchor, Ink::Soft, &tick.text);
    }
    for (at, row) in rows.into_iter().enumerate() {
        let middle = HEAD + ROW * (at as f64 + 0.5);
        drawn(&mut canvas, row, look(entries, &row.filesystem), middle, &x);
        let around = row.around_p99().filter(|_| latency.unit == "ns").map(durations);
        let around = around.map_or_else(String::new, |ends| format!(" ({ends})"));
        let p99 = format!("{}{around}", said(row.p99, latency));
        canvas.text(
            (PLOT.1 + 12.0, middle + 4.0),
            Anchor::Start,
            Ink::Normal,
            &cut(&p99, WIDTH - PLOT.1 - 14.0),
        );
        canvas.says(&format!(
            "{filesystem}: p50 {p50}, p99 {p99}, longest {longest}, of {operations} operations.",
            filesystem = row.filesystem,
            p50 = said(row.p50, latency),
            longest = said(row.max, latency),
            operations = grouped(&row.n.to_string())
        ));
    }
    Some(canvas.done(ends + FOOT, &title, Theme::Readers))
}

fn drawn(canvas: &mut Canvas, row: &Row, look: Look, middle: f64, x: &impl Fn(u64) -> f64) {
    canvas.text((EDGE, middle + 4.0), Anchor::Start, Ink::Normal, &cut(&row.filesystem, PLOT.0 - EDGE - 6.0));
    canvas.soft((x(row.p50), middle), (x(row.max), middle));
    canvas.ink((x(row.max), middle - 6.0), (x(row.max), middle + 6.0));
    if let Some((low, high)) = row.around_p99() {
        canvas.ink((x(low), middle), (x(high), middle));
        for end in [low, high] {
            canvas.ink((x(end), middle - 5.0), (x(end), middle + 5.0));
        }
    }
    if let Some(p999) = row.p999 {
        canvas.cross((x(p999), middle));
    }
    // The shape of a mark shows the percentile; the name beside it shows the candidate.
    canvas.mark((x(row.p99), middle), Look { mark: 2, ..look }, false);
    canvas.mark((x(row.p50), middle), Look { mark: 0, ..look }, false);
}

/// A latency as text: `1.2 ms`.
fn said(value: u64, latency: &Latency) -> String {
    if latency.unit == "ns" {
        duration(value)
    } else {
        format!("{} {}", grouped(&value.to_string()), latency.unit)
    }
}
