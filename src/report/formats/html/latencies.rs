//! The latencies of one operation as numbers.

use crate::report::view::entry::{self, Entry};
use crate::report::view::latency::{Latency, Row, VALUES};
use crate::report::view::look::Look;
use crate::report::view::number::{self, Scale};

pub struct Latencies {
    pub title: String,
    pub unit: &'static str,
    /// Notes on these latencies.
    pub notes: Vec<&'static str>,
    pub rows: Vec<Line>,
}

pub struct Line {
    pub filesystem: String,
    pub look: Look,
    pub n: String,
    /// The values of [`VALUES`], each with its interval. A missing value or interval is empty.
    pub values: Vec<(String, String)>,
}

impl Latencies {
    pub fn of(latency: &Latency, entries: &[Entry]) -> Latencies {
        let ns = latency.unit == "ns";
        let divisor = if ns { 1000.0 } else { 1.0 };
        let in_unit = |value: u64| value as f64 / divisor;
        let column = |at: usize| {
            let values = latency.rows.iter().filter_map(|row| row.values()[at]);
            Scale::of("", values.map(|(value, _)| in_unit(value)))
        };
        let scales: Vec<Scale> = (0..VALUES.len()).map(column).collect();
        let row = |row: &Row| {
            let shown = |(value, scale): (_, &Scale)| {
                let Some((value, ends)) = value else { return ("–".to_owned(), String::new()) };
                let number = |value: u64| scale.number(in_unit(value));
                let interval = |(low, high)| format!("{}–{}", number(low), number(high));
                (number(value), Option::map_or_else(ends, String::new, interval))
            };
            Line {
                filesystem: row.filesystem.clone(),
                look: entry::look(entries, &row.filesystem),
                n: number::grouped(&row.n.to_string()),
                values: row.values().into_iter().zip(&scales).map(shown).collect(),
            }
        };
        Latencies {
            title: latency.title(),
            unit: if ns { "µs" } else { "" },
            notes: latency.notes().collect(),
            rows: latency.rows.iter().map(row).collect(),
        }
    }

    pub fn columns(&self) -> [&'static str; 5] {
        VALUES
    }
}
