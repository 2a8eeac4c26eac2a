//! The rate of a work over its duration, one row per candidate, with its longest stall.

use std::fmt::Write;

use crate::analysis::over_time::{Course, OverTime as Courses, Stall};
use crate::report::view::entry::{self, Entry};
use crate::report::view::look::Look;
use crate::report::view::number::grouped;

/// The chart's units, which the page stretches.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 100.0;
/// The smallest drawn width of a stall.
const NARROWEST: f64 = 4.0;

pub struct OverTime {
    pub title: String,
    pub rows: Vec<CourseRow>,
}

pub struct CourseRow {
    pub label: String,
    pub look: Look,
    /// The area below the rate, and its upper edge.
    pub area: String,
    pub line: String,
    /// Start and width of the longest stall.
    pub stall: Option<[String; 2]>,
    /// The duration of the work, such as `2.1 s`, and of the longest stall, such as `still for 0.4 s`.
    pub time: String,
    pub still: String,
    pub words: String,
}

pub fn of(courses: &Courses, entries: &[Entry]) -> OverTime {
    let title = if courses.work.is_empty() {
        "operations".to_owned()
    } else {
        format!("operations of {}", courses.work)
    };
    OverTime { title, rows: courses.rows.iter().map(|course| row(course, entries)).collect() }
}

fn row(course: &Course, entries: &[Entry]) -> CourseRow {
    let line = line(&course.rates);
    let most = course.rates.iter().copied().fold(0.0, f64::max);
    let time = seconds(course.seconds);
    let still =
        course.stall.map_or_else(String::new, |stall| format!("stalled for {}", seconds(stall.seconds)));
    let stalled = course.stall.map_or_else(String::new, |stall| {
        format!(
            "; longest stall {length} in round {round}, {begin} after its start",
            length = seconds(stall.seconds),
            round = stall.round,
            begin = seconds(stall.from_s)
        )
    });
    CourseRow {
        label: course.filesystem.clone(),
        look: entry::look(entries, &course.filesystem),
        area: format!("{line}V{HEIGHT}H0z"),
        line,
        stall: course.stall.map(place),
        words: format!(
            "{filesystem}: {time}, at most {most} operations per second{stalled}",
            filesystem = course.filesystem,
            most = grouped(&format!("{most:.0}"))
        ),
        time,
        still,
    }
}

/// The rates as steps, one for each part of the time, from zero at the bottom to the highest rate at the top.
fn line(rates: &[f64]) -> String {
    let most = rates.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let mut out = String::new();
    for (at, rate) in rates.iter().enumerate() {
        let y = HEIGHT - rate / most * HEIGHT;
        let x = (at + 1) as f64 / rates.len() as f64 * WIDTH;
        let begin = if at == 0 { "M0 " } else { "V" };
        write!(out, "{begin}{y:.0}H{x:.0}").unwrap_or_default();
    }
    out
}

fn place(stall: Stall) -> [String; 2] {
    let width = ((stall.to - stall.from) * WIDTH).max(NARROWEST);
    [format!("{:.1}", (stall.from * WIDTH).min(WIDTH - width)), format!("{width:.1}")]
}

/// Seconds with three digits: `0.42 s`, `12.3 s`, `310 s`.
fn seconds(seconds: f64) -> String {
    let decimals = if seconds < 10.0 { 2 } else { usize::from(seconds < 100.0) };
    format!("{seconds:.decimals$} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(stall: Option<Stall>) -> Courses {
        let rates = vec![10.0, 0.0, 5.0, 20.0];
        let row = Course { filesystem: "alderfs".into(), n: 3, rates, seconds: 2.0, stall };
        Courses { work: String::new(), rows: vec![row] }
    }

    #[test]
    fn a_rate_is_a_step_and_the_fastest_touches_the_top() {
        let picture = of(&course(None), &[]);
        assert_eq!(picture.rows[0].line, "M0 50H250V100H500V75H750V0H1000");
        assert!(picture.rows[0].stall.is_none() && picture.rows[0].still.is_empty());
    }

    #[test]
    fn the_longest_stall_has_its_place_and_is_said() {
        let stall = Stall { round: 2, from_s: 0.5, seconds: 0.4, from: 0.25, to: 0.45 };
        let row = of(&course(Some(stall)), &[]).rows.remove(0);
        assert_eq!(row.stall, Some(["250.0".to_owned(), "200.0".to_owned()]));
        assert_eq!(
            row.words,
            "alderfs: 2.00 s, at most 20 operations per second; longest stall 0.40 s in round 2, 0.50 s after its start"
        );
        let short = Stall { from: 0.9995, to: 1.0, ..stall };
        assert_eq!(place(short), ["996.0", "4.0"].map(str::to_owned));
    }
}
