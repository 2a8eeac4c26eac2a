//! Charts: where bars, points and ticks lie. The templates draw them as inline SVG.
//!
//! Why our own: the report is one file that must open from disk in ten years, follow the reader's light or dark setting,
//! fit a phone, and show every trial as a point over the bar of its median. The chart libraries tried write fixed colours
//! (no CSS variables, so no dark setting), scale their text with the picture (unreadable on a phone), or need a script. So
//! lengths here are shares of the width, text keeps its size, colours are classes of the style sheet, and all text goes
//! through the template's escaping. The output is the same, byte for byte, for the same run.
//!
//! Colours are Okabe and Ito's palette (M. Okabe, K. Ito, "Color Universal Design", 2008), which people with any
//! kind of colour vision can tell apart; from the ninth filesystem on they return with stripes. Nothing is told by colour
//! alone: bars stand in the order of the legend, and each names itself.

use super::spread::{POINTS_MOST, Spread, middle_half};
use crate::report::view::number::{self, Scale, percent};
use crate::report::view::row::{Cell, Row, Value, range};

/// Distinct looks: eight colours, plain and striped. A seventeenth filesystem looks like the first again.
pub const LOOKS: usize = 16;
/// An upright bar is so many pixels wide, at least and at most, and a letter of its group's title at most so many.
const BAR_LEAST: usize = 13;
const BAR_MOST: usize = 96;
const LETTER: usize = 9;

/// One metric: a horizontal bar for each filesystem.
pub struct Bars {
    pub title: String,
    pub unit: String,
    pub direction: &'static str,
    pub ticks: Vec<Tick>,
    pub bars: Vec<Bar>,
    /// Whether any has more than one trial.
    pub has_ranges: bool,
}

/// Several metrics of one unit: a group of upright bars for each.
pub struct Grouped {
    pub title: String,
    pub unit: String,
    pub direction: &'static str,
    pub ticks: Vec<Tick>,
    pub groups: Vec<Group>,
    /// Under this width in pixels bars can no longer be told apart or titles run into each other, and the chart scrolls.
    pub least_width: usize,
    /// Over this one few bars would be as wide as a house.
    pub most_width: usize,
}

pub struct Group {
    pub title: String,
    /// Groups have equal widths.
    pub width: String,
    pub bars: Vec<Bar>,
}

/// Lengths are percents of the chart's width (horizontal) or height (upright), as SVG takes them: `12.345%`.
pub struct Bar {
    pub label: String,
    /// 0 to [`LOOKS`] − 1.
    pub look: usize,
    pub length: String,
    /// For upright bars: where it begins, how wide it is, and where it ends, from the top.
    pub left: String,
    pub middle: String,
    pub width: String,
    pub top: String,
    /// The median as it stands beside the bar; empty where there is no value.
    pub value: String,
    /// `6 trials, 1,704 to 1,960`.
    pub range: String,
    /// All of it in words, for tooltips and for those who listen.
    pub words: String,
    /// Of few trials each is a point; of many all are one picture.
    pub points: Vec<Point>,
    pub spread: Option<Spread>,
}

/// One trial.
pub struct Point {
    /// Along the scale: from the left, or for upright bars from the top.
    pub along: String,
    /// Across the bar, in the order of the rounds: in pixels from a horizontal bar's middle, as `along` for an upright one.
    pub across: String,
    pub words: String,
}

pub struct Tick {
    pub at: String,
    /// The same from the other end, for upright charts.
    pub from_top: String,
    pub text: String,
    /// How the text stands at its tick: `start` for the first, so that nothing hangs over the edge.
    pub anchor: &'static str,
}

/// One metric over all filesystems; `None` where no trial has it.
pub fn bars(row: &Row) -> Option<Bars> {
    let top = scale_end(row.values())?;
    let scale = row.scale();
    let bar = |(at, cell)| {
        let bar = horizontal(at, cell, top, &scale);
        // A headline has the width for it.
        let spread = bar.spread.map(|s| if row.headline { s.with_dots(cell, |v| share(v, top)) } else { s });
        Bar { spread, ..bar }
    };
    Some(Bars {
        has_ranges: row.cells.iter().any(|cell| cell.n > 1),
        title: row.title.clone(),
        unit: scale.unit.clone(),
        direction: row.direction(),
        ticks: ticks(top, &scale, 4),
        bars: row.cells.iter().enumerate().map(bar).collect(),
    })
}

/// Splits metrics of one unit into charts in which none is too small to be seen: the largest value of each is at least
/// a fifth of its chart's largest.
pub fn by_size(rows: Vec<&Row>) -> Vec<Vec<&Row>> {
    let largest = |row: &Row| row.values().fold(0.0, f64::max);
    let mut charts = Vec::new();
    let mut rest = rows;
    while !rest.is_empty() {
        let most = rest.iter().map(|row| largest(row)).fold(0.0, f64::max);
        let (seen, small) = rest.into_iter().partition(|row| largest(row) * 5.0 >= most);
        charts.push(seen);
        rest = small;
    }
    charts
}

/// Metrics that share a unit, in one chart; `None` where no trial has any of them.
pub fn grouped(title: &str, rows: &[&Row]) -> Option<Grouped> {
    let top = scale_end(rows.iter().flat_map(|r| r.values()))?;
    let first = rows.first()?;
    let width = 100.0 / rows.len() as f64;
    let group = |(at, row): (usize, &&Row)| Group {
        title: row.title.clone(),
        width: percent(width),
        bars: upright(row, at as f64 * width, width, top),
    };
    let words = rows.iter().flat_map(|row| row.title.split_whitespace());
    let longest = words.map(|word| word.chars().count()).max().unwrap_or(0);
    let least_width = rows.len() * (first.cells.len() * BAR_LEAST + 16).max(longest * LETTER + 12);
    let scale = Scale::of(&first.unit, rows.iter().flat_map(|r| r.values()));
    Some(Grouped {
        title: title.to_owned(),
        unit: scale.unit.clone(),
        direction: first.direction(),
        ticks: ticks(top, &scale, 6),
        groups: rows.iter().enumerate().map(group).collect(),
        least_width,
        most_width: least_width.max(rows.len() * (first.cells.len() * BAR_MOST + 64)),
    })
}

fn horizontal(at: usize, cell: &Cell, top: f64, scale: &Scale) -> Bar {
    let n = cell.values.len();
    let point = |(place, value): (usize, &Value)| Point {
        along: percent(share(value.value, top)),
        across: format!("{:.1}", spread(place, n, -5.5, 5.5)),
        words: format!("{}, round {}: {}", cell.filesystem, value.round, scale.with_unit(value.value)),
    };
    let spread = Spread::of(cell, |value| share(value, top));
    let drawn = if spread.is_none() { &cell.values[..] } else { &[] };
    let points = drawn.iter().enumerate().map(point).collect();
    Bar {
        points,
        spread,
        length: percent(cell.median.map_or(0.0, |m| share(m, top))),
        ..bar(at, cell, scale)
    }
}

/// The bars of one group: side by side, with a margin of a sixth of the group.
fn upright(row: &Row, left: f64, width: f64, top: f64) -> Vec<Bar> {
    let scale = row.scale();
    let each = width * (1.0 - 1.0 / 6.0) / row.cells.len() as f64;
    let one = |(at, cell): (usize, &Cell)| {
        let from = left + width / 12.0 + at as f64 * each;
        let n = cell.values.len();
        let point = |(place, value): (usize, &Value)| Point {
            along: percent(100.0 - share(value.value, top)),
            across: percent(spread(place, n, from + each * 0.2, from + each * 0.8)),
            words: format!(
                "{}, {}, round {}: {}",
                row.title,
                cell.filesystem,
                value.round,
                scale.with_unit(value.value)
            ),
        };
        let height = cell.median.map_or(0.0, |m| share(m, top));
        let spread = Spread::of(cell, |value| 100.0 - share(value, top));
        let drawn = if spread.is_none() { &cell.values[..] } else { &[] };
        Bar {
            left: percent(from + each * 0.06),
            width: percent(each * 0.88),
            top: percent(100.0 - height),
            length: percent(height),
            middle: percent(from + each * 0.5),
            points: drawn.iter().enumerate().map(point).collect(),
            spread,
            words: format!("{}, {}", row.title, words(cell, &scale)),
            ..bar(at, cell, &scale)
        }
    };
    row.cells.iter().enumerate().map(one).collect()
}

fn bar(at: usize, cell: &Cell, scale: &Scale) -> Bar {
    Bar {
        label: cell.filesystem.clone(),
        look: at % LOOKS,
        length: String::new(),
        left: String::new(),
        middle: String::new(),
        width: String::new(),
        top: String::new(),
        value: cell.median.map(|m| scale.number(m)).unwrap_or_default(),
        range: range(cell, scale),
        words: words(cell, scale),
        points: Vec::new(),
        spread: None,
    }
}

fn words(cell: &Cell, scale: &Scale) -> String {
    match (cell.median, cell.min, cell.max) {
        (Some(median), Some(min), Some(max)) => format!(
            "{}: median {} of {}, from {} to {}{}",
            cell.filesystem,
            scale.with_unit(median),
            number::count(cell.n, "trial"),
            scale.number(min),
            scale.number(max),
            half(cell, scale)
        ),
        _ => format!("{}: no trial is counted", cell.filesystem),
    }
}

/// `, half of them from 1,704 to 1,960`, where they are not drawn one by one.
fn half(cell: &Cell, scale: &Scale) -> String {
    match middle_half(cell).filter(|_| cell.n > POINTS_MOST) {
        Some([from, to]) => format!(", half of them from {} to {}", scale.number(from), scale.number(to)),
        None => String::new(),
    }
}

/// The `place`th of `n` between two ends; one alone stands in the middle.
fn spread(place: usize, n: usize, from: f64, to: f64) -> f64 {
    if n < 2 { (from + to) / 2.0 } else { from + (to - from) * place as f64 / (n - 1) as f64 }
}

fn share(value: f64, top: f64) -> f64 {
    (value / top * 100.0).clamp(0.0, 100.0)
}

/// Where the scale ends: a little above the largest value. `None` without any value.
fn scale_end(values: impl Iterator<Item = f64>) -> Option<f64> {
    let largest = values.fold(None, |most: Option<f64>, v| Some(most.map_or(v, |m| m.max(v))))?;
    Some(if largest > 0.0 { largest * 1.04 } else { 1.0 })
}

/// At most so many steps from 0, and at least half as many.
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

/// 1, 2 or 5 times a power of ten of the unit that is shown.
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
                bars(row).expect("each row has values").bars.iter().map(|b| b.points.len()).sum();
            assert_eq!(drawn, row.values().count(), "{}", row.title);
        }
    }

    #[test]
    fn nothing_lies_outside_the_chart() {
        let example = examples::example();
        let summary = example.report().summary;
        let rows: Vec<&Row> = summary.workloads[0].sections[1].rows.iter().collect();
        let chart = grouped("files", &rows).expect("the section has values");
        let number = |text: &str| text.trim_end_matches('%').parse::<f64>().expect("a percentage");
        for bar in chart.groups.iter().flat_map(|g| &g.bars) {
            assert!(number(&bar.left) + number(&bar.width) <= 100.0);
            assert!(bar.points.iter().all(|p| (0.0..=100.0).contains(&number(&p.along))));
        }
    }
}
