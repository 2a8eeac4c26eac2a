//! Charts: positions of bars, points and ticks. The templates draw them as inline SVG.
//!
//! Why there is no chart library: the report is one file that must open from disk in ten years, follow the reader's light or dark
//! setting, fit a phone, and show every trial as a point over the bar of the median. The libraries that we tried write fixed
//! colours (no CSS variables, so no dark setting), scale text with the chart (unreadable on a phone), or need a script. In these
//! charts lengths are shares of the width, text keeps its size, colours are classes of the style sheet, and the template escapes
//! all text. The same run always gives the same output, byte for byte.
//!
//! Colours begin with Okabe and Ito's palette (M. Okabe, K. Ito, "Color Universal Design", 2008), which is distinct for all kinds
//! of colour vision. A kind has the same colour in every report. Colour is never the only cue: each bar has its name, and kinds
//! that share a colour have different marks.

use super::spread::{POINTS_MOST, Spread, middle_half};
use crate::report::view::entry::{self, Entry};
use crate::report::view::look::Look;
use crate::report::view::number::{self, Scale, percent};
use crate::report::view::row::{Cell, Row, Value, range};

/// One metric: a horizontal bar for each filesystem.
pub struct Bars {
    pub title: String,
    pub unit: String,
    pub direction: &'static str,
    pub ticks: Vec<Tick>,
    pub bars: Vec<Bar>,
    /// Whether any bar has more than one trial.
    pub has_ranges: bool,
    /// The time span of the metric, if the title does not state it.
    pub over: String,
    pub explained: &'static str,
    /// Other metrics that this chart also shows; may be empty.
    pub alike: String,
}

/// Lengths are percents of the chart's width, as SVG takes them: `12.345%`.
pub struct Bar {
    pub label: String,
    pub look: Look,
    pub length: String,
    /// The median as text; empty if there is no value.
    pub value: String,
    /// Number of trials and range as text: `6 trials, 1,704 to 1,960`.
    pub range: String,
    /// The whole bar in words, for tooltips and screen readers.
    pub words: String,
    /// One point per trial if there are few; otherwise empty, and `spread` shows them.
    pub points: Vec<Point>,
    pub spread: Option<Spread>,
}

/// The value of one trial as a point.
pub struct Point {
    /// Position along the scale, from the left.
    pub along: String,
    /// Offset across the bar, in round order: pixels from its middle.
    pub across: String,
    pub words: String,
}

pub struct Tick {
    pub at: String,
    /// The tick's position from the top, for vertical scales.
    pub from_top: String,
    pub text: String,
    /// Text anchor at the tick: `start` for the first, so that it does not cross the edge.
    pub anchor: &'static str,
}

/// One metric over all filesystems; `None` if no trial has it.
pub fn bars(row: &Row, entries: &[Entry]) -> Option<Bars> {
    let top = scale_end(row.values())?;
    let scale = row.scale();
    let bar = |cell: &Cell| {
        let bar = bar(cell, entry::look(entries, &cell.filesystem), top, &scale);
        // Only the chart of a headline metric is wide enough for dots.
        let spread = bar.spread.map(|s| if row.headline { s.with_dots(cell, |v| share(v, top)) } else { s });
        Bar { spread, ..bar }
    };
    Some(Bars {
        has_ranges: row.cells.iter().any(|cell| cell.n > 1),
        title: row.title.clone(),
        unit: scale.unit.clone(),
        direction: row.direction(),
        ticks: ticks(top, &scale, 4),
        bars: row.cells.iter().map(bar).collect(),
        over: row.over(),
        explained: row.explained,
        alike: row.alike(),
    })
}

fn bar(cell: &Cell, look: Look, top: f64, scale: &Scale) -> Bar {
    let n = cell.values.len();
    let point = |(place, value): (usize, &Value)| Point {
        along: percent(share(value.value, top)),
        across: format!("{:.1}", spread(place, n, -5.5, 5.5)),
        words: format!("{}, round {}: {}", cell.filesystem, value.round, scale.with_unit(value.value)),
    };
    let spread = Spread::of(cell, |value| share(value, top));
    let drawn = if spread.is_none() { &cell.values[..] } else { &[] };
    Bar {
        label: cell.filesystem.clone(),
        look,
        length: percent(cell.median.map_or(0.0, |m| share(m, top))),
        value: cell.median.map(|m| scale.number(m)).unwrap_or_default(),
        range: range(cell, scale),
        words: words(cell, scale),
        points: drawn.iter().enumerate().map(point).collect(),
        spread,
    }
}

fn words(cell: &Cell, scale: &Scale) -> String {
    match (cell.median, cell.min, cell.max) {
        (Some(median), Some(min), Some(max)) => format!(
            "{filesystem}: median {median} of {trials}, from {min} to {max}{half}",
            filesystem = cell.filesystem,
            median = scale.with_unit(median),
            trials = number::count(cell.n, "trial"),
            min = scale.number(min),
            max = scale.number(max),
            half = half(cell, scale)
        ),
        _ => format!("{}: no valid trial", cell.filesystem),
    }
}

/// The middle half in words, if the values are not drawn one by one: `, the middle half from 1,704 to 1,960`.
fn half(cell: &Cell, scale: &Scale) -> String {
    match middle_half(cell).filter(|_| cell.n > POINTS_MOST) {
        Some([from, to]) => format!(", the middle half from {} to {}", scale.number(from), scale.number(to)),
        None => String::new(),
    }
}

/// Position `place` of `n` positions between two ends; a single position is in the middle.
fn spread(place: usize, n: usize, from: f64, to: f64) -> f64 {
    if n < 2 { (from + to) / 2.0 } else { from + (to - from) * place as f64 / (n - 1) as f64 }
}

fn share(value: f64, top: f64) -> f64 {
    (value / top * 100.0).clamp(0.0, 100.0)
}

/// The end of the scale: slightly above the largest value. `None` if there are no values.
fn scale_end(values: impl Iterator<Item = f64>) -> Option<f64> {
    let largest = values.fold(None, |most: Option<f64>, v| Some(most.map_or(v, |m| m.max(v))))?;
    Some(if largest > 0.0 { largest * 1.04 } else { 1.0 })
}

/// The ticks of a scale from 0 to `top`: at most `most` steps, and at least half as many.
pub fn ticks(top: f64, scale: &Scale, most: u32) -> Vec<Tick> {
    let step = step(top, scale, most);
    let scale = scale.for_ticks(step);
    let tick = |i: usize| {
        let value = i as f64 * step;
        let at = share(value, top);
        Tick {
            at: percent(at),
            from_top: percent(100.0 - at),
            text: if i == 0 { "0".to_owned() } else { scale.number(value) },
            anchor: match at {
                0.0 => "start",
                94.0.. => "end",
                _ => "middle",
            },
        }
    };
    (0..=(top / step).floor() as usize).map(tick).collect()
}

/// The distance between ticks: 1, 2 or 5 times a power of ten of the displayed unit.
fn step(top: f64, shown: &Scale, most: u32) -> f64 {
    let rough = top / f64::from(most) / shown.divisor;
    let power = 10.0_f64.powf(rough.log10().floor());
    let times = [1.0, 2.0, 5.0].into_iter().find(|times| times * power >= rough).unwrap_or(10.0);
    times * power * shown.divisor
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples;

    fn texts(top: f64, unit: &str) -> String {
        ticks(top, &Scale::of(unit, [top]), 4).into_iter().map(|t| t.text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(texts(2431.0, "1/s"), "0 1,000 2,000");
        assert_eq!(texts(0.0334, "s"), "0 10 20 30");
        assert_eq!(texts(1.2, "s"), "0 0.5 1.0");
        assert_eq!(texts(26.0, "%"), "0 10 20");
        assert_eq!(texts(3.2 * 1024.0 * 1024.0 * 1024.0, "bytes"), "0 1 2 3");
        assert_eq!(texts(1.0, ""), "0 0.5 1.0");
    }

    #[test]
    fn every_counted_trial_is_a_point() {
        let example = examples::example();
        for row in example.report().summary.workloads.iter().flat_map(|w| w.rows()) {
            let drawn: usize =
                bars(row, &[]).expect("each row has values").bars.iter().map(|b| b.points.len()).sum();
            assert_eq!(drawn, row.values().count(), "{}", row.title);
        }
    }
}
