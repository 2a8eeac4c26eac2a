//! The chart of a comparison: each candidate's ratio to the best or the baseline, with its interval, on a logarithmic axis, and
//! brackets over candidates that are not told apart.

use crate::report::view::comparison::{Comparison, Line};
use crate::report::view::entry::{self, Entry};
use crate::report::view::log_axis::LogTick;
use crate::report::view::look::Look;
use crate::report::view::number::ratio;

const TICKS: usize = 6;

pub struct Ratios<'r> {
    pub comparison: &'r Comparison,
    pub title: String,
    pub ticks: Vec<Tick>,
    /// The position of 1.
    pub one: String,
    pub rows: Vec<Row<'r>>,
    /// The meaning of the marks beside the ratios; empty if there are no marks.
    pub marks: String,
}

pub struct Tick {
    pub at: String,
    pub text: String,
    pub anchor: &'static str,
}

pub struct Row<'r> {
    pub line: &'r Line,
    pub look: Look,
    pub at: String,
    /// Both ends of the interval; `None` if there is no interval.
    pub interval: Option<(String, String)>,
    pub ratio: String,
    pub words: String,
}

/// The chart of a comparison; `None` if there is nothing to compare.
pub fn of<'r>(comparison: &'r Comparison, title: String, entries: &[Entry]) -> Option<Ratios<'r>> {
    let axis = comparison.axis()?;
    let tick = |tick: LogTick| Tick { at: tick.at, text: tick.text, anchor: tick.anchor.name() };
    let row = |line: &'r Line| Row {
        line,
        look: entry::look(entries, &line.candidate),
        at: axis.x(line.ratio),
        interval: line.low.zip(line.high).map(|(low, high)| (axis.x(low), axis.x(high))),
        ratio: ratio(line.ratio),
        words: words(line, comparison),
    };
    (comparison.lines.len() > 1).then(|| Ratios {
        title,
        ticks: axis.ticks(TICKS, plain).into_iter().map(tick).collect(),
        one: axis.x(1.0),
        rows: comparison.lines.iter().map(row).collect(),
        marks: comparison.marks(),
        comparison,
    })
}

fn words(line: &Line, comparison: &Comparison) -> String {
    let interval = match line.interval() {
        none if none.is_empty() => String::new(),
        interval => format!(", interval {interval}"),
    };
    let standing = match line.standing() {
        "" => String::new(),
        standing => format!("; {standing}"),
    };
    let rank = match line.rank() {
        rank if comparison.has_ranks() && !rank.is_empty() => format!(", rank {rank}"),
        _ if comparison.is_unequal(&line.candidate) => ", weaker durability".to_owned(),
        _ => String::new(),
    };
    let Line { candidate, .. } = line;
    if *candidate == comparison.to {
        return format!("{candidate}{rank}: the reference of all ratios");
    }
    format!("{candidate}{rank}: {} {}{interval}{standing}", ratio(line.ratio), comparison.times())
}

/// A number without trailing zeros: `0.8`, `1`, `20`.
fn plain(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
