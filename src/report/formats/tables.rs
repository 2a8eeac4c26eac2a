//! The terminal tables of the report: leaders, key figures, and every metric on demand.

use std::fmt::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, Table, Width};

use super::lines::{bar_of, interval_of, spark_of};
use crate::analysis::over_time::{OverTime, Stall};
use crate::report::view::comparison::{Comparison, Line, RATIO_NARROW};
use crate::report::view::heat_map::{HeatMap, common_unit};
use crate::report::view::latency::{self, Ends, Latency, VALUES};
use crate::report::view::log_axis::LogAxis;
use crate::report::view::number::{self, Scale};
use crate::report::view::published::Shown;
use crate::report::view::row::{Cell, Row, range};
use crate::report::view::setups::Setups;
use crate::report::view::workload::WorkloadSummary;
use crate::schema::metric::Owner;
use crate::text::visible::visible_line;

/// The least and the largest width of a bar, in columns.
const BAR: std::ops::RangeInclusive<usize> = 12..=48;
/// Width of the line that shows a work's rate over time, in columns.
const SPARK: usize = 20;
/// The largest width of a label: a longer label leaves no room for numbers in 80 columns.
pub const LABEL_MOST: u16 = 24;
/// Marks a row that measures page cache and CPU.
const MARK: &str = " †";

/// A column of figures beside the headline metric, in plan order.
#[derive(Clone)]
pub struct Column {
    heading: String,
    cells: Vec<String>,
}

/// The table of a comparison: leaders first, each candidate with its ratio to the best or the baseline.
fn compared_table(
    width: u16,
    work: &WorkloadSummary,
    row: &Row,
    comparison: &Comparison,
    beside: &[Column],
) -> Table {
    let scale = row.scale();
    let mut table = new_table();
    let (has_ranks, has_intervals) = (comparison.has_ranks(), comparison.has_intervals());
    let mut header = vec![String::new()];
    header.extend(has_ranks.then(|| "rank".to_owned()));
    header.extend([
        format!("{}\n{}", named(row, &scale), comparison.mean_of().replacen(" of ", "\nof ", 1)),
        RATIO_NARROW.to_owned(),
    ]);
    header.extend(has_intervals.then(|| ["interval".to_owned(), String::new()]).into_iter().flatten());
    header.push(direction(row));
    let drawn = header.len() - 1;
    header.extend(beside.iter().map(|column| column.heading.clone()));
    table.set_header(header);
    let axis = comparison.axis();
    let columns = interval_width(width, beside.len(), has_intervals);
    for at in order(work, row) {
        let cell = &row.cells[at];
        let one = comparison.line(&cell.filesystem);
        let dagger = comparison.dagger(&cell.filesystem);
        let mut line = vec![format!("{}{dagger}", label(work, &cell.filesystem))];
        line.extend(has_ranks.then(|| one.map(ranked).unwrap_or_default()));
        // A candidate that is not compared has only a median.
        let alone = || cell.median.map_or_else(|| "–".into(), |m| format!("median {}", scale.number(m)));
        line.push(one.and_then(|one| one.mean).map_or_else(alone, |mean| scale.number(mean)));
        if let (Some(one), Some(axis)) = (one, &axis) {
            line.push(number::ratio(one.ratio));
            let marks = has_intervals.then(|| [one.interval(), one.mark().to_owned()]);
            line.extend(marks.into_iter().flatten());
            line.push(drawn_on(axis, one, comparison.is_preliminary, columns));
        }
        line.resize(drawn + 1, String::new());
        line.extend(beside.iter().map(|column| column.cells[at].clone()));
        table.add_row(line);
    }
    align(&mut table, Some(drawn));
    if let Some(picture) = table.column_mut(drawn) {
        picture.set_constraint(ColumnConstraint::ContentWidth);
    }
    if let Some(rank) = table.column_mut(1).filter(|_| has_ranks) {
        rank.set_cell_alignment(CellAlignment::Left);
    }
    table
}

pub fn headline_table(width: u16, work: &WorkloadSummary, row: &Row, beside: &[Column]) -> Table {
    let same = |c: &&Comparison| c.metric == row.name && c.dimensions == row.dimensions;
    if let Some(comparison) = work.comparisons.iter().find(same) {
        return compared_table(width, work, row, comparison, beside);
    }
    let scale = row.scale();
    let most = row.values().fold(0.0, f64::max);
    let bar = bar_width(width, beside.len());
    let mut table = new_table();
    let heading = format!("{}\nmedian", named(row, &scale));
    let mut header = vec![String::new(), heading, "range".into(), "n".into(), direction(row)];
    header.extend(beside.iter().map(|column| column.heading.clone()));
    table.set_header(header);
    for (at, cell) in row.cells.iter().enumerate() {
        let range = range(cell, &scale);
        let median = cell.median.map_or_else(|| "–".into(), |m| scale.number(m));
        let drawn = cell.median.map_or_else(String::new, |m| bar_of(m, most, bar));
        let mut line = vec![label(work, &cell.filesystem), median, range, cell.n.to_string(), drawn];
        line.extend(beside.iter().map(|column| column.cells[at].clone()));
        table.add_row(line);
    }
    align(&mut table, Some(4));
    table
}

pub fn metric_table(work: &WorkloadSummary, row: &Row) -> Table {
    let scale = row.scale();
    let mut table = new_table();
    table.set_header(vec![named(row, &scale), "median".into(), "range".into(), "n".into(), direction(row)]);
    for cell in &row.cells {
        let median = cell.median.map_or_else(|| "–".into(), |m| scale.number(m));
        let range = range(cell, &scale);
        table.add_row(vec![label(work, &cell.filesystem), median, range, cell.n.to_string(), String::new()]);
    }
    align(&mut table, None);
    table
}

/// The table of metrics over two quantities. Each metric is a line with each candidate's geometric mean over all cells.
pub fn means_table(maps: &[HeatMap]) -> Option<Table> {
    let fields = &maps.first()?.fields;
    let mut table = new_table();
    let labels = fields.iter().map(|field| visible_line(&field.filesystem).into_owned());
    let unit = common_unit(maps);
    let of = unit.as_ref().map_or_else(String::new, |unit| format!(", {unit}"));
    let heading = format!("geometric mean of the medians of all {axes}{of}", axes = maps[0].axes());
    table.set_header([heading].into_iter().chain(labels));
    for map in maps {
        let scale = map.scale();
        let shown = |mean: Option<f64>| mean.map_or_else(|| "–".into(), |mean| scale.number(mean));
        table.add_row([map.named(unit.is_none())].into_iter().chain(map.means().into_iter().map(shown)));
    }
    align(&mut table, None);
    Some(table)
}

/// The table of a heat map, with one line for each cell.
pub fn cells_table(map: &HeatMap) -> Table {
    let scale = map.scale();
    let mut table = new_table();
    let labels = map.fields.iter().map(|field| visible_line(&field.filesystem).into_owned());
    table.set_header([format!("{}\n{}, medians", map.named(true), map.axes())].into_iter().chain(labels));
    for (place, values) in map.cells() {
        let shown = |value: Option<f64>| value.map_or_else(|| "–".into(), |value| scale.number(value));
        table.add_row([place].into_iter().chain(values.into_iter().map(shown)));
    }
    align(&mut table, None);
    table
}

pub fn latency_table(latency: &Latency) -> Table {
    let mut table = new_table();
    let ns = latency.unit == "ns";
    let title = format!("{}, {}", latency.title(), if ns { "µs" } else { &latency.unit });
    table.set_header([title.as_str(), "n"].into_iter().chain(VALUES));
    let number = |v: u64| number::grouped(&if ns { v.div_ceil(1000) } else { v }.to_string());
    let shown = |(value, ends): (u64, Option<Ends>)| match ends {
        Some((low, high)) => format!("{}\n{}–{}", number(value), number(low), number(high)),
        None => number(value),
    };
    for row in &latency.rows {
        let mut line = vec![visible_line(&row.filesystem).into_owned(), number::grouped(&row.n.to_string())];
        line.extend(row.values().map(|value| value.map_or_else(|| "–".to_owned(), shown)));
        table.add_row(line);
    }
    align(&mut table, None);
    table
}

/// The rate of the work over its duration.
pub fn over_time_table(courses: &OverTime) -> Table {
    let mut table = new_table();
    table.set_header([courses.work.as_str(), "operations over time", "s", "longest stall"]);
    for row in &courses.rows {
        let stall = |stall: Stall| {
            format!(
                "{length:.1} s in round {round}, at {begin:.1} s",
                length = stall.seconds,
                round = stall.round,
                begin = stall.from_s
            )
        };
        table.add_row([
            visible_line(&row.filesystem).into_owned(),
            spark_of(&row.rates, SPARK),
            format!("{:.1}", row.seconds),
            row.stall.map_or_else(|| "–".to_owned(), stall),
        ]);
    }
    align(&mut table, Some(1));
    table
}

/// The width that remains for bars beside label, median, range, n, and the key figures.
fn bar_width(width: u16, beside: usize) -> usize {
    let taken = 64 + beside * 9;
    usize::from(width).saturating_sub(taken).clamp(*BAR.start(), *BAR.end())
}

/// The width that remains for drawn intervals beside rank, ratio, interval and mark.
fn interval_width(width: u16, beside: usize, has_intervals: bool) -> usize {
    let taken = if has_intervals { 66 } else { 56 } + beside * 9;
    usize::from(width).saturating_sub(taken).clamp(*BAR.start(), *BAR.end())
}

/// A table of these factors for all candidates.
pub fn setups_table(setups: &Setups, factors: &[usize]) -> Table {
    let mut table = new_table();
    table.set_header([""].into_iter().chain(factors.iter().map(|at| setups.factors[*at])));
    for row in &setups.rows {
        let mut line = vec![visible_line(&row.filesystem).into_owned()];
        line.extend(factors.iter().map(|at| visible_line(&row.values[*at]).into_owned()));
        table.add_row(line);
    }
    align(&mut table, None);
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Left));
    table
}

pub fn published_table(shown: &Shown) -> Table {
    let mut table = new_table();
    let heading = shown.columns.iter().map(|c| format!("{}\n{}\n{}", c.metric, c.what, c.under));
    table.set_header(std::iter::once(String::new()).chain(heading));
    for (filesystem, cells) in &shown.lines {
        table.add_row(std::iter::once(filesystem.clone()).chain(cells.iter().cloned()));
    }
    align(&mut table, None);
    table
}

pub fn new_table() -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table
}

/// Sets the widths of the columns so that no word of a heading and no value is broken, if all columns then fit.
pub fn keep_words_whole(table: &mut Table, width: u16) {
    let mut longest: Vec<u16> = vec![0; table.column_count()];
    let heads = table.header().into_iter().flat_map(|header| header.cell_iter().map(|cell| cell.content()));
    let heads: Vec<Vec<String>> =
        heads.map(|head| head.split_whitespace().map(str::to_owned).collect()).collect();
    let values = table.row_iter().map(|row| row.cell_iter().map(|cell| vec![cell.content()]).collect());
    for row in values.chain([heads]) {
        let row: Vec<Vec<String>> = row;
        for (parts, longest) in row.iter().zip(&mut longest) {
            let most = parts.iter().map(|part| part.chars().count()).max();
            *longest = (*longest).max(most.unwrap_or(0) as u16 + PADDING);
        }
    }
    let contents = table.column_max_content_widths();
    // The columns of the label and the bar have other limits.
    let own = |at: usize| if at == 0 { contents[at].min(LABEL_MOST) } else { contents[at] } + PADDING;
    let is_free: Vec<bool> = table.column_iter().map(|column| column.constraint().is_none()).collect();
    let least = (0..longest.len()).map(|at| if is_free[at] { longest[at] } else { own(at) });
    if least.sum::<u16>() > width {
        return;
    }
    for (at, ((column, least), is_free)) in table.column_iter_mut().zip(longest).zip(is_free).enumerate() {
        if is_free {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
        } else if at == 0 {
            let upper = Width::Fixed(LABEL_MOST);
            let lower = Width::Fixed((contents[0] + 1).min(LABEL_MOST));
            column.set_constraint(ColumnConstraint::Boundaries { lower, upper });
        }
    }
}

/// Padding of a number column, both sides together.
const PADDING: u16 = 2;

/// Aligns the label and the bar to the left, numbers to the right.
pub fn align(table: &mut Table, bar: Option<usize>) {
    for (at, column) in table.column_iter_mut().enumerate() {
        let left = at == 0 || Some(at) == bar;
        column.set_cell_alignment(if left { CellAlignment::Left } else { CellAlignment::Right });
        column.set_padding(if at == 0 { (0, 1) } else { (1, 1) });
    }
    if let Some(column) = table.column_mut(0) {
        column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(LABEL_MOST)));
    }
}

pub fn fits(table: &Table, width: u16) -> bool {
    let paddings = table.column_iter().map(|c| c.padding_width());
    let contents = table.column_max_content_widths();
    let label = contents.first().copied().unwrap_or(0).min(LABEL_MOST);
    label + contents.iter().skip(1).sum::<u16>() + paddings.sum::<u16>() <= width
}

pub fn label(work: &WorkloadSummary, filesystem: &str) -> String {
    let mark = if work.marked(filesystem) { MARK } else { "" };
    format!("{}{mark}", visible_line(filesystem))
}

/// The rank with its part of a bracket: `2–3 ┐`.
fn ranked(line: &Line) -> String {
    let ties: String = line.ties.iter().map(|tie| tie.drawn()).collect();
    format!("{} {ties}", line.rank())
}

fn drawn_on(axis: &LogAxis, line: &Line, is_preliminary: bool, width: usize) -> String {
    let is_open = is_preliminary || !line.mark().is_empty();
    let mark = (axis.at(line.ratio), if is_open { '○' } else { '●' });
    let ends = line.low.zip(line.high).map(|(low, high)| (axis.at(low), axis.at(high)));
    interval_of(mark, ends, axis.at(1.0), width)
}

/// Figures of one owner: a work, or the steps of the trial. A block has one owner, so no table mixes figures of two works.
pub struct Block {
    pub owner: Owner,
    key: Vec<Column>,
    waits: Vec<Column>,
}

impl Block {
    /// Key figures and fsync latencies of each owner: first the trial's steps, then the works in the order of the scenario.
    pub fn all(work: &WorkloadSummary) -> Vec<Block> {
        let key = work.rows().filter(|row| row.is_key()).map(|row| &row.work);
        let waits =
            work.latencies.iter().filter(|latency| latency.is_of_fsync()).map(|latency| &latency.work);
        let mut owners: Vec<&Owner> = Vec::new();
        for owner in key.chain(waits) {
            if !owners.contains(&owner) {
                owners.push(owner);
            }
        }
        owners.into_iter().map(|owner| Block::of(work, owner)).collect()
    }

    fn of(work: &WorkloadSummary, owner: &Owner) -> Block {
        let key = work.rows().filter(|row| row.is_key() && row.work == *owner).map(column).collect();
        let like = work.rows().next();
        let waits = like.map(|like| waits(work, owner, like)).unwrap_or_default();
        Block { owner: owner.clone(), key, waits }
    }

    pub fn has_interval(&self) -> bool {
        self.waits.len() > 1
    }

    /// All figures of the block in one list.
    pub fn whole(&self) -> Vec<Column> {
        [self.key.as_slice(), &self.waits].concat()
    }

    /// The block as one table if it fits, otherwise as one table of key figures and one of latencies.
    pub fn tables(&self, work: &WorkloadSummary, like: &Row, width: u16) -> Vec<Table> {
        let whole = numbers_table(work, like, &self.whole());
        if fits(&whole, width) {
            return vec![whole];
        }
        let parts = [&self.key, &self.waits].into_iter().filter(|part| !part.is_empty());
        parts.map(|part| numbers_table(work, like, part)).collect()
    }
}

fn column(row: &Row) -> Column {
    Column { heading: short(row), cells: (0..row.cells.len()).map(|at| number(row, at)).collect() }
}

/// The owner's fsync latencies; empty if no candidate calls fsync often enough for p99. If several phases have fsyncs, the phase
/// with the most is shown, under its name.
fn waits(work: &WorkloadSummary, owner: &Owner, like: &Row) -> Vec<Column> {
    let own = || work.latencies.iter().filter(|latency| latency.is_of_fsync() && latency.work == *owner);
    let latency = own().max_by_key(|latency| latency.n()).filter(|latency| !latency.drawn().is_empty());
    let phase = |latency: &Latency| match own().count() {
        0 | 1 => "fsync\np99".to_owned(),
        _ => format!("fsync p99\n({})", latency.phase),
    };
    let column = |latency: &Latency| {
        let row = |cell: &Cell| latency.rows.iter().find(|row| row.filesystem == cell.filesystem);
        let cells = |said: fn(&latency::Row) -> Option<String>| {
            let said = |cell| row(cell).and_then(said).unwrap_or_else(|| "–".to_owned());
            like.cells.iter().map(said).collect()
        };
        let p99 = cells(|row| row.p99().map(number::duration));
        let ends = latency.has_intervals().then(|| cells(|row| row.around_p99().map(number::durations)));
        let ends = ends.map(|cells| Column { heading: "95 %\ninterval".to_owned(), cells });
        [Some(Column { heading: phase(latency), cells: p99 }), ends].into_iter().flatten()
    };
    latency.into_iter().flat_map(column).collect()
}

/// A table of these columns, with as many lines as the row `like` has cells.
fn numbers_table(work: &WorkloadSummary, like: &Row, columns: &[Column]) -> Table {
    let mut table = new_table();
    table.set_header([String::new()].into_iter().chain(columns.iter().map(|column| column.heading.clone())));
    for at in order(work, like) {
        let mut line = vec![label(work, &like.cells[at].filesystem)];
        line.extend(columns.iter().map(|column| column.cells[at].clone()));
        table.add_row(line);
    }
    align(&mut table, None);
    table
}

/// Indices of a row's cells, the best first; in plan order if nothing is compared.
fn order(work: &WorkloadSummary, row: &Row) -> Vec<usize> {
    let same = |c: &&Comparison| c.metric == row.name && c.dimensions == row.dimensions;
    let comparison = work.comparisons.iter().find(same).or(work.comparisons.first());
    let rank = |at: &usize| {
        let label = &row.cells[*at].filesystem;
        comparison
            .and_then(|c| c.lines.iter().position(|line| line.candidate == *label))
            .unwrap_or(usize::MAX)
    };
    let mut all: Vec<usize> = (0..row.cells.len()).collect();
    all.sort_by_key(rank);
    all
}

fn number(row: &Row, at: usize) -> String {
    row.cells[at].median.map_or_else(|| "–".into(), |m| row.scale().number(m))
}

fn named(row: &Row, scale: &Scale) -> String {
    scale.heading(&row.title)
}

fn direction(row: &Row) -> String {
    row.direction().to_owned()
}

/// The short title with its unit: `sync s`.
fn short(row: &Row) -> String {
    let mut text = row.short().to_owned();
    let unit = row.scale().unit;
    if !unit.is_empty() {
        write!(text, "\n{unit}").unwrap_or_default();
    }
    text
}
