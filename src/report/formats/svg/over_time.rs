//! The rate of a work over its duration: a row of steps for each candidate, scaled to its highest rate.

use super::canvas::{Anchor, Canvas, Ink, Theme, cut};
use crate::analysis::over_time::{Course, OverTime};
use crate::report::view::entry::{Entry, look};
use crate::report::view::number::grouped;

const WIDTH: f64 = 720.0;
const ROW: f64 = 48.0;
const STEPS: f64 = 40.0;
const HEAD: f64 = 54.0;
const FOOT: f64 = 14.0;
const PLOT: (f64, f64) = (190.0, 570.0);
const EDGE: f64 = 10.0;
/// The smallest drawn width of a stall.
const NARROWEST: f64 = 2.0;

pub fn of(workload: &str, courses: &OverTime, entries: &[Entry]) -> Option<String> {
    let rows: Vec<&Course> = courses.rows.iter().filter(|course| !course.rates.is_empty()).collect();
    if rows.is_empty() {
        return None;
    }
    let mut canvas = Canvas::new(WIDTH);
    let which = if courses.work.is_empty() { String::new() } else { format!(" of {}", courses.work) };
    let title = format!("{workload}: operations{which} over time");
    canvas.text((EDGE, 22.0), Anchor::Start, Ink::Strong, &cut(&title, WIDTH - 2.0 * EDGE));
    let note = "each curve over its own duration, scaled to its own maximum; band: longest stall";
    canvas.text((EDGE, 40.0), Anchor::Start, Ink::Soft, &cut(note, WIDTH - 2.0 * EDGE));
    canvas.says(&format!("Operations per second, medians over the rounds; {note}."));
    for (at, course) in rows.iter().enumerate() {
        row(&mut canvas, course, entries, HEAD + ROW * at as f64);
        let stall = course.stall.map_or_else(String::new, |stall| {
            format!(
                ", longest stall {length} in round {round}",
                length = seconds(stall.seconds),
                round = stall.round
            )
        });
        let most = course.rates.iter().copied().fold(0.0, f64::max);
        let most = grouped(&format!("{most:.0}"));
        let time = seconds(course.seconds);
        canvas.says(&format!(
            "{filesystem}: {time}, at most {most} operations per second{stall}.",
            filesystem = course.filesystem
        ));
    }
    Some(canvas.done(HEAD + ROW * rows.len() as f64 + FOOT, &title, Theme::Readers))
}

fn row(canvas: &mut Canvas, course: &Course, entries: &[Entry], top: f64) {
    let (ground, wide) = (top + STEPS, PLOT.1 - PLOT.0);
    let most = course.rates.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let parts = course.rates.len() as f64;
    let step =
        |(at, rate): (usize, &f64)| (PLOT.0 + (at + 1) as f64 / parts * wide, ground - rate / most * STEPS);
    let steps: Vec<(f64, f64)> = course.rates.iter().enumerate().map(step).collect();
    canvas.steps(PLOT.0, ground, &steps, look(entries, &course.filesystem));
    if let Some(stall) = course.stall {
        let width = ((stall.to - stall.from) * wide).max(NARROWEST);
        let from = (PLOT.0 + stall.from * wide).min(PLOT.1 - width);
        canvas.stall((from, top), (width, STEPS));
    }
    canvas.grid((PLOT.0, ground), (PLOT.1, ground));
    let middle = top + STEPS / 2.0 + 4.0;
    canvas.text((EDGE, middle), Anchor::Start, Ink::Normal, &cut(&course.filesystem, PLOT.0 - EDGE - 6.0));
    let still = course.stall.map(|stall| format!("stalled for {}", seconds(stall.seconds)));
    let at = if still.is_some() { middle - 7.0 } else { middle };
    canvas.text((PLOT.1 + 12.0, at), Anchor::Start, Ink::Normal, &seconds(course.seconds));
    if let Some(still) = still {
        canvas.text((PLOT.1 + 12.0, middle + 8.0), Anchor::Start, Ink::Soft, &still);
    }
}

/// Seconds with three digits: `0.42 s`, `12.3 s`, `310 s`.
fn seconds(seconds: f64) -> String {
    let decimals = if seconds < 10.0 { 2 } else { usize::from(seconds < 100.0) };
    format!("{seconds:.decimals$} s")
}
