//! One trial's requests, ready to draw.

use std::fmt::Write;

use super::super::chart::{self, Tick};
use super::requests::{self, COLUMNS, DEPTHS, DISTANCES, Grid, ROWS, Seen, Window};
use crate::report::view::number::{Scale, grouped, percent};
use crate::schema::record::Record;
use crate::schema::units::Bytes;
use crate::store::Run;

/// Number of shades of one colour, on a logarithmic scale of the number of requests.
const SHADES: usize = 4;

pub struct Picture {
    /// The number of requests in words: `987 writes, no reads, 69 flushes`.
    pub counts: String,
    /// How long the disk held at least one request; `None` if the work's start and end are unknown.
    pub held_ns: Option<u64>,
    /// A note that the picture shows the whole trial, if the work's start and end are unknown; otherwise empty.
    pub note: &'static str,
    pub layers: Vec<Layer>,
    pub flushes: Vec<Layer>,
    pub times: Vec<Tick>,
    pub time_unit: String,
    pub places: Vec<Tick>,
    pub place_unit: String,
    pub distances: Vec<Column>,
    pub depths: Vec<Column>,
}

/// All cells of one kind and shade as a path: `M3 5h2` is two cells from column 3 on, in row 5 from the top.
#[derive(Clone)]
pub struct Layer {
    pub class: String,
    pub path: String,
}

/// A column of a small histogram, in percent of its chart.
pub struct Column {
    pub name: &'static str,
    pub left: String,
    pub middle: String,
    pub width: String,
    pub top: String,
    pub height: String,
    pub words: String,
}

impl Picture {
    pub fn viewbox(&self) -> String {
        format!("0 0 {COLUMNS} {ROWS}")
    }

    pub fn strip(&self) -> String {
        format!("0 0 {COLUMNS} 1")
    }
}

/// # Errors
/// One sentence that says why the list of requests is not available.
pub fn of(run: &Run, record: &Record, offset: Bytes) -> Result<Picture, String> {
    let served = run.requests(record).map_err(|e| format!("No picture: {e:#}."))?;
    let mut served = served.ok_or("No picture: the list of requests was not kept.")?;
    // The work ends before the power cut. Requests after the power cut have another clock, so they are left out.
    served.retain(|s| s.life == 0);
    let whole = || {
        let begin = served.iter().map(|s| s.arrived_ns).min().unwrap_or(0);
        [begin, served.iter().map(|s| s.arrived_ns + 1).max().unwrap_or(begin)]
    };
    let [begin_ns, end_ns] = record.window_ns().unwrap_or_else(whole);
    let window =
        Window { begin_ns, end_ns, first_sector: offset.0 / 512, sectors: record.volume.size.0 / 512 };
    let seen = requests::look(&served, window);
    let seconds = (end_ns.saturating_sub(begin_ns).max(1)) as f64 / 1e9;
    let size = record.volume.size.0 as f64;
    let (time, place) = (Scale::of("s", [seconds]), Scale::of("bytes", [size]));
    Ok(Picture {
        counts: counts(&seen),
        held_ns: record.window_ns().map(|_| seen.held_ns),
        note: match record.window_ns() {
            Some(_) => "",
            None => "the start and end of the workload are not recorded, so the whole trial is drawn",
        },
        layers: [layers("write", &seen.writes), layers("read", &seen.reads)].concat(),
        flushes: strip(&seen.flushes),
        times: chart::ticks(seconds, &time, 4),
        time_unit: time.unit,
        places: chart::ticks(size, &place, 3),
        place_unit: place.unit,
        distances: columns(
            &seen.distances,
            &DISTANCES.map(|(_, name)| name),
            "of reads and writes began at most this many bytes from the end of the previous request, but \
             farther than in the column to the left",
        ),
        depths: columns(
            &seen.depths,
            &DEPTHS.map(|(_, name)| name),
            "of requests arrived at a queue depth, including themselves, of at most this value, but more \
             than in the column to the left",
        ),
    })
}

fn counts(seen: &Seen) -> String {
    let say = |n: u64, one: &str, many: &str| match n {
        0 => format!("no {many}"),
        1 => format!("1 {one}"),
        _ => format!("{} {many}", grouped(&n.to_string())),
    };
    [
        say(seen.written, "write", "writes"),
        say(seen.read, "read", "reads"),
        say(seen.flushed, "flush", "flushes"),
    ]
    .join(", ")
}

/// The partition's start is at the bottom.
fn layers(kind: &str, grid: &Grid) -> Vec<Layer> {
    let most = grid.most();
    let rows: Vec<&[u32]> = grid.rows().collect();
    let layer = |shade: usize| {
        let mut path = String::new();
        for (y, row) in rows.iter().rev().enumerate() {
            runs(row, most, shade, y, &mut path);
        }
        Layer { class: format!("{kind} d{shade}"), path }
    };
    (1..=SHADES).map(layer).filter(|l| !l.path.is_empty()).collect()
}

fn strip(flushes: &[u32]) -> Vec<Layer> {
    let most = flushes.iter().copied().max().unwrap_or(0);
    let layer = |shade: usize| {
        let mut path = String::new();
        runs(flushes, most, shade, 0, &mut path);
        Layer { class: format!("flush d{shade}"), path }
    };
    (1..=SHADES).map(layer).filter(|l| !l.path.is_empty()).collect()
}

/// Draws one row of cells; adjacent cells of the same shade become one stroke.
fn runs(row: &[u32], most: u32, shade: usize, y: usize, path: &mut String) {
    let mut x = 0;
    for run in row.chunk_by(|a, b| self::shade(*a, most) == self::shade(*b, most)) {
        if self::shade(run[0], most) == shade {
            let _ = write!(path, "M{x} {y}h{}", run.len());
        }
        x += run.len();
    }
}

/// The shade for `n` requests: 0 for no request, then logarithmic, because one request must be visible beside thousands.
fn shade(n: u32, most: u32) -> usize {
    if n == 0 {
        return 0;
    }
    let share = f64::from(n).ln_1p() / f64::from(most).ln_1p();
    ((share * SHADES as f64).ceil() as usize).clamp(1, SHADES)
}

fn columns(counts: &[u64], names: &[&'static str], what: &str) -> Vec<Column> {
    let all: u64 = counts.iter().sum();
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let each = 100.0 / counts.len() as f64;
    let column = |(at, (n, name)): (usize, (&u64, &&'static str))| {
        let height = *n as f64 / most * 100.0;
        let share = 100.0 * *n as f64 / all.max(1) as f64;
        Column {
            name,
            left: percent(at as f64 * each + each * 0.1),
            middle: percent((at as f64 + 0.5) * each),
            width: percent(each * 0.8),
            top: percent(100.0 - height),
            height: percent(height),
            words: format!("{name}: {share:.1}% {what}"),
        }
    };
    counts.iter().zip(names).enumerate().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_is_seen_beside_thousands() {
        assert_eq!([0, 1, 30, 300, 5000].map(|n| shade(n, 5000)), [0, 1, 2, 3, 4]);
        assert_eq!(shade(1, 1), 4);
    }

    #[test]
    fn neighbours_of_one_shade_are_one_stroke() {
        let mut path = String::new();
        runs(&[0, 7, 7, 0, 7], 7, 4, 3, &mut path);
        assert_eq!(path, "M1 3h2M4 3h1");
    }

    #[test]
    fn the_tallest_column_fills_the_chart() {
        let columns = columns(&[10, 30], &["0", "more"], "did");
        assert_eq!((columns[1].top.as_str(), columns[0].height.as_str()), ("0.00%", "33.33%"));
        assert_eq!(columns[0].words, "0: 25.0% did");
    }
}
