//! Latencies of one operation on a logarithmic axis, because the longest latency may be a thousand times p50.

use super::ratios::Tick;
use crate::report::view::entry::{self, Entry};
use crate::report::view::latency::{Ends, Latency, Row};
use crate::report::view::log_axis::{LogAxis, LogTick};
use crate::report::view::look::Look;
use crate::report::view::number::{duration, durations, grouped};

const TICKS: usize = 4;

pub struct Tails {
    pub title: String,
    pub ticks: Vec<Tick>,
    pub rows: Vec<TailRow>,
}

pub struct TailRow {
    pub label: String,
    pub look: Look,
    pub p50: String,
    pub p99: String,
    /// Both ends of the interval of p99.
    pub around: Option<(String, String)>,
    /// Position of p99.9; `None` if there are too few operations for p99.9.
    pub p999: Option<String>,
    pub longest: String,
    /// p99 and its interval as text.
    pub value: String,
    pub interval: String,
    pub words: String,
}

pub fn of(latency: &Latency, entries: &[Entry]) -> Option<Tails> {
    let rows = latency.drawn();
    let all = rows.iter().flat_map(|row| [row.p50, row.max]).map(|v| v as f64);
    let axis = LogAxis::over(all)?;
    let x = |value: u64| axis.x(value as f64);
    let row = |row: &Row| TailRow {
        label: row.filesystem.clone(),
        look: entry::look(entries, &row.filesystem),
        p50: x(row.p50),
        p99: x(row.p99),
        around: row.around_p99().map(|(low, high)| (x(low), x(high))),
        p999: row.p999.map(x),
        longest: x(row.max),
        value: said(row.p99, latency),
        interval: row.around_p99().map_or_else(String::new, |ends| between(ends, latency)),
        words: words(row, latency),
    };
    let text = |value: f64| said(value.round() as u64, latency);
    let tick = |LogTick { at, text, anchor, .. }: LogTick| Tick { at, text, anchor: anchor.name() };
    Some(Tails {
        title: latency.title(),
        ticks: axis.ticks(TICKS, text).into_iter().map(tick).collect(),
        rows: rows.into_iter().map(row).collect(),
    })
}

/// A latency as text: `1.2 ms`.
fn said(value: u64, latency: &Latency) -> String {
    if latency.unit == "ns" {
        duration(value)
    } else {
        format!("{} {}", grouped(&value.to_string()), latency.unit)
    }
}

/// An interval as text: `1.1–1.4 ms`.
fn between(ends: Ends, latency: &Latency) -> String {
    if latency.unit == "ns" {
        return durations(ends);
    }
    let (low, high) = (said(ends.0, latency), said(ends.1, latency));
    if low == high { low } else { format!("{low}–{high}") }
}

fn words(row: &Row, latency: &Latency) -> String {
    let p999 = row.p999.map_or_else(String::new, |p999| format!(", p99.9 {}", said(p999, latency)));
    let around = row.around_p99().map(|ends| format!(" ({}, 95 %)", between(ends, latency)));
    format!(
        "{filesystem}: p50 {p50}, p99 {p99}{interval}{p999}, longest {longest}, of {operations} operations",
        filesystem = row.filesystem,
        p50 = said(row.p50, latency),
        p99 = said(row.p99, latency),
        interval = around.unwrap_or_default(),
        longest = said(row.max, latency),
        operations = grouped(&row.n.to_string())
    )
}
