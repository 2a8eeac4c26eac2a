//! A metric over two quantities: a heat map for each candidate, on one colour scale. Each cell has its number, so colour is not
//! the only cue.

use super::canvas::{Anchor, Canvas, Ink, Theme, cut};
use crate::report::view::heat_map::{Field, HeatMap};
use crate::report::view::number::Scale;

const HEAD: f64 = 50.0;
/// Heights of a heat map: its name, its column headings, its foot.
const NAME: f64 = 20.0;
const COLUMNS: f64 = 18.0;
const FOOT: f64 = 14.0;
const LEFT: f64 = 10.0;
/// Width of the row headings.
const LINE: f64 = 86.0;
const CELL: (f64, f64) = (62.0, 22.0);
/// Smallest width of the chart; in a narrower chart the title would be cut.
const WIDTH_LEAST: f64 = 480.0;
/// Opacity of the palest and the strongest colour.
const SHARES: (f64, f64) = (0.04, 0.5);

/// The heat maps as one chart; `None` if nothing was measured.
pub fn of(workload: &str, map: &HeatMap) -> Option<String> {
    let fields: Vec<&Field> = map.fields.iter().filter(|field| field.has_any()).collect();
    if fields.is_empty() {
        return None;
    }
    let width = (2.0 * LEFT + LINE + CELL.0 * map.across.values.len() as f64).max(WIDTH_LEAST);
    let scale = map.scale();
    let mut canvas = Canvas::new(width);
    let title = format!("{workload}: {}", scale.heading(&map.title));
    let fits = width - 2.0 * LEFT;
    canvas.text((LEFT, 22.0), Anchor::Start, Ink::Strong, &cut(&title, fits));
    let direction = if map.direction.is_empty() { String::new() } else { format!("; {}", map.direction) };
    let note = format!("{axes}, medians{direction}; one colour scale for all filesystems", axes = map.axes());
    canvas.text((LEFT, 40.0), Anchor::Start, Ink::Soft, &cut(&note, fits));
    canvas.says(&format!("A heat map of {axes} for each filesystem. {note}.", axes = map.axes()));
    let share = shares(map);
    let mut top = HEAD;
    for field in fields {
        canvas.text((LEFT, top + 16.0), Anchor::Start, Ink::Normal, &cut(&field.filesystem, fits));
        canvas.says(&format!("{}: {}.", field.filesystem, in_words(map, field, &scale)));
        for (column, value) in map.across.values.iter().enumerate() {
            let x = LEFT + LINE + CELL.0 * (column as f64 + 0.5);
            canvas.text((x, top + NAME + 13.0), Anchor::Middle, Ink::Soft, &map.across.shown(*value));
        }
        for (line, (value, cells)) in map.down.values.iter().zip(&field.lines).enumerate() {
            let y = top + NAME + COLUMNS + CELL.1 * line as f64;
            let middle = y + CELL.1 / 2.0 + 4.0;
            canvas.text((LEFT + LINE - 8.0, middle), Anchor::End, Ink::Soft, &map.down.shown(*value));
            for (column, cell) in cells.iter().enumerate() {
                let x = LEFT + LINE + CELL.0 * column as f64;
                let centre = (x + CELL.0 / 2.0, middle);
                let Some(value) = cell else {
                    canvas.text(centre, Anchor::Middle, Ink::Soft, "–");
                    continue;
                };
                canvas.cell((x + 1.0, y + 1.0), (CELL.0 - 2.0, CELL.1 - 2.0), share(*value));
                canvas.text(centre, Anchor::Middle, Ink::Normal, &scale.number(*value));
            }
        }
        top += NAME + COLUMNS + CELL.1 * map.down.values.len() as f64 + FOOT;
    }
    Some(canvas.done(top, &title, Theme::Readers))
}

/// A function from a value to the strength of its colour: the position of its logarithm between the least and the largest value
/// of all candidates.
fn shares(map: &HeatMap) -> impl Fn(f64) -> f64 {
    let positive = || map.values().filter(|value| *value > 0.0);
    let (least, most) = (positive().fold(f64::INFINITY, f64::min), positive().fold(0.0, f64::max));
    move |value| {
        let share = (value / least).ln() / (most / least).ln();
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        SHARES.0 + share * (SHARES.1 - SHARES.0)
    }
}

/// The range of the values in words, for screen readers.
fn in_words(map: &HeatMap, field: &Field, scale: &Scale) -> String {
    let values = || field.lines.iter().flatten().flatten().copied();
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let cells = map.down.values.len() * map.across.values.len();
    format!(
        "{least} to {most} in {filled} of {cells} cells",
        least = scale.with_unit(least),
        most = scale.with_unit(most),
        filled = values().count()
    )
}
