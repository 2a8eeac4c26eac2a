//! The recommendation, and speed against CPU time as a chart: points and ticks. The template draws them.
//!
//! As in the other charts, lengths are shares, text keeps its size, and colours are classes. Colour is never the only cue: each
//! point shows a number, which a line below the chart explains.

use askama::Template;

use super::chart::{self, Tick};
use crate::report::view::Summary;
use crate::report::view::look::Look;
use crate::report::view::needs::{Table, ToChoose};
use crate::report::view::number::{Scale, percent};
use crate::report::view::plane::{Plane, Point};
use crate::schema::metric::Better;

/// The end of an axis ÷ the largest value: slightly above 1, so that no point is on the edge.
const ROOM: f64 = 1.12;

#[derive(Template)]
#[template(path = "needs.html")]
pub struct Choosing<'r> {
    chosen: Option<Chosen<'r>>,
    planes: Vec<Drawn<'r>>,
}

struct Chosen<'r> {
    choose: &'r ToChoose,
    columns: Vec<String>,
    /// The table's lines, each with the look of its filesystem.
    lines: Vec<(Look, Vec<String>)>,
    weights: Table,
}

struct Drawn<'r> {
    plane: &'r Plane,
    title: String,
    speed_unit: String,
    cpu_unit: String,
    speeds: Vec<Tick>,
    cpus: Vec<Tick>,
    dots: Vec<Dot>,
}

struct Dot {
    number: usize,
    filesystem: String,
    look: Look,
    x: String,
    y: String,
    speed: String,
    cpu: String,
    words: String,
}

impl<'r> Choosing<'r> {
    pub fn of(summary: &'r Summary, look: impl Fn(&str) -> Look) -> Self {
        let chosen = summary.recommendation.as_ref().map(|choose| {
            let Table { columns, lines } = choose.ratios(&choose.judged());
            let looks = choose.found.ranking.iter().map(|place| look(&place.filesystem));
            Chosen { choose, columns, lines: looks.zip(lines).collect(), weights: choose.weights() }
        });
        Choosing { chosen, planes: summary.planes.iter().map(|plane| drawn(plane, &look)).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.chosen.is_none() && self.planes.is_empty()
    }

    /// The link target of the contents.
    pub fn anchor(&self) -> &'static str {
        if self.chosen.is_some() { "choose" } else { "speed-and-cpu" }
    }

    /// The link text of the contents.
    pub fn title(&self) -> &'static str {
        if self.chosen.is_some() { ToChoose::TITLE } else { Plane::TITLE }
    }
}

fn drawn<'r>(plane: &'r Plane, look: &impl Fn(&str) -> Look) -> Drawn<'r> {
    let (speeds, cpus) = (plane.speeds(), plane.cpus());
    let end = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max) * ROOM;
    let top = end(&mut plane.points.iter().map(|point| point.speed));
    let right = end(&mut plane.points.iter().map(|point| point.cpu));
    let at = |value: f64, end: f64| 100.0 * value / end;
    // A higher point is always faster, so the axis of a time is reversed.
    let falls = plane.speed.better == Better::Lower;
    let from_top = |speed: f64| percent(if falls { at(speed, top) } else { 100.0 - at(speed, top) });
    let upright = |tick: Tick| Tick { from_top: if falls { tick.at.clone() } else { tick.from_top }, ..tick };
    let dot = |(place, point): (usize, &Point)| Dot {
        number: place + 1,
        filesystem: point.filesystem.clone(),
        look: look(&point.filesystem),
        x: percent(at(point.cpu, right)),
        y: from_top(point.speed),
        speed: speeds.with_unit(point.speed),
        cpu: cpus.with_unit(point.cpu),
        words: format!(
            "{filesystem}: {speed} of {metric}, {cpu} of CPU time",
            filesystem = point.filesystem,
            speed = speeds.with_unit(point.speed),
            metric = plane.speed.title,
            cpu = cpus.with_unit(point.cpu)
        ),
    };
    Drawn {
        title: format!("{}: {} against {}", plane.workload, plane.speed.title, plane.cpu.title),
        speed_unit: unit(&speeds),
        cpu_unit: unit(&cpus),
        speeds: chart::ticks(top, &speeds, 5).into_iter().map(upright).collect(),
        cpus: chart::ticks(right, &cpus, 4),
        dots: plane.points.iter().enumerate().map(dot).collect(),
        plane,
    }
}

fn unit(scale: &Scale) -> String {
    if scale.unit.is_empty() { String::new() } else { format!(", {}", scale.unit) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples;

    #[test]
    fn up_is_faster_whether_that_is_a_rate_or_a_time() {
        let summary = examples::example().report().summary;
        let mut plane = summary.planes[0].clone();
        let look = |_: &str| summary.filesystems[0].look;
        let largest = (0..plane.points.len())
            .max_by(|a, b| plane.points[*a].speed.total_cmp(&plane.points[*b].speed))
            .unwrap();
        for (better, of_nothing) in [(Better::Higher, "100.00%"), (Better::Lower, "0.00%")] {
            plane.speed.better = better;
            let drawn = drawn(&plane, &look);
            let share = |dot: &Dot| dot.y.trim_end_matches('%').parse::<f64>().unwrap();
            let highest = drawn.dots.iter().map(share).fold(f64::INFINITY, f64::min);
            assert_eq!(share(&drawn.dots[largest]) <= highest, better == Better::Higher);
            assert_eq!(drawn.speeds[0].from_top, of_nothing);
        }
    }
}
