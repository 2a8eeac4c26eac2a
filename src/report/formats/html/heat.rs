//! A heat map for each candidate, and a heat map of its ratio to a reference candidate.
//!
//! Colours have nine steps on a logarithmic scale common to all candidates. Each cell shows its number, so colour is not the only
//! cue. In a heat map of ratios there are two colours, for ratios above and below 1.

use crate::report::view::entry::{self, Entry};
use crate::report::view::heat_map::{Field, HeatMap};
use crate::report::view::look::Look;
use crate::report::view::number::{self, Scale};

/// Number of colour steps above the palest step.
const STEPS: f64 = 8.0;
/// The ratio from which a cell has the strongest colour, and the steps to it.
const STRONGEST: f64 = 4.0;
const RATIO_STEPS: f64 = 4.0;

/// All heat maps of one metric.
pub struct Heat {
    pub title: String,
    pub unit: String,
    pub direction: &'static str,
    pub explained: &'static str,
    /// The two axes in words: `file × record`.
    pub axes: String,
    /// Column headings.
    pub across: Vec<String>,
    pub fields: Vec<Shown>,
}

/// One heat map as a table.
pub struct Shown {
    pub label: String,
    /// The candidate's look, if the table shows the candidate's figures and not a ratio.
    pub look: Option<Look>,
    /// What the ratios mean: `times as good as alderfs, ratio of medians`; empty if the table shows figures.
    pub beside: String,
    /// Row headings and their cells.
    pub lines: Vec<(String, Vec<Step>)>,
}

pub struct Step {
    /// The CSS class of the colour: `h3`, `better2`, `worse4`; empty if there is no value.
    pub class: String,
    pub text: String,
}

pub fn of(map: &HeatMap, entries: &[Entry], to: Option<&str>) -> Heat {
    let scale = map.scale();
    let range = Range::of(map);
    let figures = |field: &Field| Shown {
        label: field.filesystem.clone(),
        look: Some(entry::look(entries, &field.filesystem)),
        beside: String::new(),
        lines: lines(map, field, |value| range.step(value, &scale)),
    };
    let to = map.compared_with(to).unwrap_or_default();
    let ratio = |field: &Field| Shown {
        label: field.filesystem.clone(),
        look: None,
        beside: format!("times as good as {to}, ratio of medians"),
        lines: lines(map, field, ratio),
    };
    Heat {
        title: map.title.clone(),
        unit: scale.unit.clone(),
        direction: map.direction,
        explained: map.explained,
        axes: map.axes(),
        across: map.across.values.iter().map(|value| map.across.shown(*value)).collect(),
        fields: map
            .fields
            .iter()
            .filter(|field| field.has_any())
            .map(figures)
            .chain(map.ratios(to).iter().map(ratio))
            .collect(),
    }
}

fn lines(map: &HeatMap, field: &Field, step: impl Fn(f64) -> Step) -> Vec<(String, Vec<Step>)> {
    let none = || Step { class: String::new(), text: "–".into() };
    let cells = |line: &Vec<Option<f64>>| line.iter().map(|value| value.map_or_else(none, &step)).collect();
    map.down.values.iter().map(|value| map.down.shown(*value)).zip(field.lines.iter().map(cells)).collect()
}

/// The range of the figures over all candidates.
struct Range {
    least: f64,
    most: f64,
}

impl Range {
    fn of(map: &HeatMap) -> Self {
        let values = || map.values().filter(|value| *value > 0.0);
        Range { least: values().fold(f64::INFINITY, f64::min), most: values().fold(0.0, f64::max) }
    }

    fn step(&self, value: f64, scale: &Scale) -> Step {
        let share = (value / self.least).ln() / (self.most / self.least).ln();
        let step = if share.is_finite() { (share.clamp(0.0, 1.0) * STEPS).round() } else { 0.0 };
        Step { class: format!("h{step}"), text: scale.number(value) }
    }
}

fn ratio(times: f64) -> Step {
    let steps = (times.ln() / STRONGEST.ln() * RATIO_STEPS).round().clamp(-RATIO_STEPS, RATIO_STEPS);
    let way = if steps < 0.0 { "worse" } else { "better" };
    Step { class: format!("{way}{}", steps.abs()), text: number::ratio(times) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_shares_of_the_logarithm() {
        let range = Range { least: 1.0, most: 256.0 };
        let scale = Scale::of("MiB/s", [1.0, 256.0]);
        let class = |value| range.step(value, &scale).class;
        assert_eq!([1.0, 2.0, 16.0, 256.0].map(class), ["h0", "h1", "h4", "h8"]);
        let one = Range { least: 3.0, most: 3.0 };
        assert_eq!(one.step(3.0, &scale).class, "h0", "all alike");
    }

    #[test]
    fn a_ratio_is_as_strong_both_ways() {
        let class = |times| ratio(times).class;
        assert_eq!(
            [1.0, 2.0, 0.5, 100.0, 0.01].map(class),
            ["better0", "better2", "worse2", "better4", "worse4"]
        );
    }
}
