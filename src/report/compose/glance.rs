//! The table of the opening: one line for each candidate, from the comparisons.

use std::collections::BTreeSet;

use crate::report::view::comparison::Comparison;
use crate::report::view::glance::{Cell, Column, Counted, Counts, Glance, Line};
use crate::report::view::number::{list, percents, ratio};
use crate::report::view::row::Row;
use crate::report::view::workload::WorkloadSummary;
use crate::schema::declared::Over;
use crate::schema::metric::Of;

/// With more workloads, the metrics that the answer leaves out are not named.
const NAMED: usize = 3;
/// A ratio nearer to 1 is no example for ratios below 1.
const CLEAR: f64 = 0.97;

/// `None` if nothing is compared. Ranked candidates come first, by mean place. `is_on_models`: counts come before times.
pub fn of(workloads: &[WorkloadSummary], is_on_models: bool) -> Option<Glance> {
    let all: Vec<(&WorkloadSummary, &Comparison)> =
        workloads.iter().flat_map(|work| work.comparisons.iter().map(move |c| (work, c))).collect();
    if all.is_empty() {
        return None;
    }
    let mut labels: Vec<&str> = Vec::new();
    for line in all.iter().flat_map(|(_, comparison)| &comparison.lines) {
        if !labels.contains(&line.candidate.as_str()) {
            labels.push(&line.candidate);
        }
    }
    let is_unequal = |label: &str| all.iter().any(|(_, comparison)| comparison.is_unequal(label));
    let line = |label: &str| {
        let cells = all.iter().map(|(work, comparison)| cell(work, comparison, label)).collect();
        let own: Vec<f64> = all
            .iter()
            .filter_map(|(_, c)| c.line(label))
            .map(|line| f64::from(line.best + line.worst))
            .collect();
        let mean = own.iter().sum::<f64>() / own.len().max(1) as f64;
        (mean, Line { candidate: label.to_owned(), is_unequal: is_unequal(label), cells })
    };
    let mut lines: Vec<(f64, Line)> = labels.into_iter().map(line).collect();
    lines.sort_by(|(a, one), (b, other)| one.is_unequal.cmp(&other.is_unequal).then(a.total_cmp(b)));
    let column = |(work, c): &(&WorkloadSummary, &Comparison)| Column {
        scenario: c.scenario.clone(),
        title: c.title.clone(),
        median: row_of(work, c).map(Row::median_of).unwrap_or_default(),
        mean: c.mean_of(),
    };
    let columns = all.iter().map(column).collect();
    let lines: Vec<Line> = lines.into_iter().map(|(_, line)| line).collect();
    let counted = workloads.iter().filter(|work| is_on_models && !work.comparisons.is_empty());
    let counts = counted.filter_map(|work| counts(work, &lines)).collect();
    let note = [note(&all, &lines, is_on_models), unanswered(workloads)].join(" ").trim_end().to_owned();
    Some(Glance { columns, lines, counts, note })
}

/// Medians of requests, then of bytes; omits counters that are 0 for all candidates.
fn counts(work: &WorkloadSummary, lines: &[Line]) -> Option<Counts> {
    let mut rows: Vec<&Row> = work.rows().filter(|row| row.declared.is_some_and(|d| d.stands_in)).collect();
    rows.retain(|row| row.cells.iter().any(|cell| cell.median.is_some_and(|median| median > 0.0)));
    rows.sort_by_key(|row| row.of != Of::Count);
    let of_one = |row: &Row, label: &str| {
        let median = row.cells.iter().find(|cell| cell.filesystem == label).and_then(|cell| cell.median);
        median.map_or_else(|| "–".to_owned(), |median| row.scale().number(median))
    };
    let line = |line: &Line| Counted {
        candidate: line.candidate.clone(),
        cells: rows.iter().map(|row| of_one(row, &line.candidate)).collect(),
    };
    let first = rows.first()?;
    Some(Counts {
        scenario: work.label.clone(),
        of: first.median_of(),
        columns: rows.iter().map(|row| counted_in(row)).collect(),
        lines: lines.iter().map(line).collect(),
    })
}

/// A count needs no unit.
fn counted_in(row: &Row) -> String {
    if row.of == Of::Count { row.title.clone() } else { row.scale().heading(&row.title) }
}

/// The operations that are measured in other phases than the answer's: `create and delete in postmark-quick`.
fn unanswered(workloads: &[WorkloadSummary]) -> String {
    let left = |work: &WorkloadSummary| {
        let titles = uncompared(work);
        (!titles.is_empty()).then(|| (work.label.clone(), titles))
    };
    let mut all: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for (label, titles) in workloads.iter().filter_map(left) {
        match all.iter_mut().find(|(known, _)| *known == titles) {
            Some((_, labels)) => labels.push(label),
            None => all.push((titles, vec![label])),
        }
    }
    let which = match all.as_slice() {
        [] => return String::new(),
        few if few.len() <= NAMED => {
            let each =
                few.iter().map(|(titles, labels)| format!("{} (workload {})", list(titles), list(labels)));
            each.collect::<Vec<String>>().join("; ")
        }
        many => {
            let n = many.iter().map(|(_, labels)| labels.len()).sum::<usize>();
            format!("the other operations of {n} workloads")
        }
    };
    format!("Measured, but not compared here: {which}.")
}

/// The operations of this workload that are measured in other phases than the compared ones.
pub fn uncompared(work: &WorkloadSummary) -> Vec<String> {
    let phase = |row: &Row| match row.declared.map(|declared| declared.over) {
        Some(Over::Phase(phase)) => Some(phase),
        _ => None,
    };
    let is_compared =
        |row: &Row| work.comparisons.iter().any(|c| c.metric == row.name && c.dimensions == row.dimensions);
    let answered: BTreeSet<&str> = work.rows().filter(|row| is_compared(row)).filter_map(phase).collect();
    let is_left = |row: &&Row| {
        !answered.is_empty() && row.of == Of::Time && phase(row).is_some_and(|own| !answered.contains(own))
    };
    let mut titles: Vec<String> = Vec::new();
    for row in work.rows().filter(is_left) {
        let title = row.title.split_once(" (").map_or(row.title.as_str(), |(title, _)| title);
        if !titles.iter().any(|known| known == title) {
            titles.push(title.to_owned());
        }
    }
    titles
}

fn cell(work: &WorkloadSummary, comparison: &Comparison, label: &str) -> Cell {
    let Some(line) = comparison.line(label) else { return Cell::default() };
    let row = row_of(work, comparison);
    let own = row.and_then(|row| row.cells.iter().find(|cell| cell.filesystem == label));
    let shown = |value: Option<f64>| row.zip(value).map(|(row, value)| row.scale().with_unit(value));
    let median = shown(own.and_then(|cell| cell.median));
    let mean = shown(line.mean);
    let is_ranked = comparison.has_ranks() && !comparison.is_unequal(label);
    let interval = line.low.zip(line.high).filter(|_| label != comparison.to);
    Cell {
        median: median.unwrap_or_default(),
        mean: mean.unwrap_or_default(),
        rank: if is_ranked { line.rank() } else { String::new() },
        times: ratio(line.ratio),
        interval: interval.map(|(low, high)| format!("{}–{}", ratio(low), ratio(high))).unwrap_or_default(),
        is_reference: label == comparison.to && comparison.has_intervals(),
    }
}

fn row_of<'w>(work: &'w WorkloadSummary, comparison: &Comparison) -> Option<&'w Row> {
    work.rows().find(|row| row.name == comparison.metric && row.dimensions == comparison.dimensions)
}

fn note(all: &[(&WorkloadSummary, &Comparison)], lines: &[Line], is_on_models: bool) -> String {
    let first = all[0].1;
    let is_same = all.iter().all(|(_, c)| (&c.to, c.times_as) == (&first.to, first.times_as));
    let has_intervals = all.iter().any(|(_, comparison)| comparison.has_intervals());
    let interval = match (has_intervals, is_on_models) {
        (false, _) => "",
        (true, true) => ", in brackets the smallest and the largest ratio instead of a confidence interval",
        // A terminal has no room for the intervals of many columns.
        (true, false) if all.len() > 2 => ", in brackets its interval (omitted in wide tables)",
        (true, false) => ", in brackets its interval",
    };
    let times = match is_same {
        true => format!("how many times as {} as {} each candidate is", first.times_as, first.to),
        false if all.iter().any(|(_, c)| c.is_of_amounts()) => {
            "candidate ÷ the column's reference; for amounts, fewer is better".to_owned()
        }
        false => "candidate ÷ the column's reference; more is better".to_owned(),
    };
    let ranks = lines.iter().flat_map(|line| &line.cells).find(|cell| cell.rank.contains('–'));
    let ranks = ranks.map_or_else(String::new, |cell| {
        format!(
            " Candidates that share a rank such as {} were not told apart (undecided), or are equivalent.",
            cell.rank
        )
    });
    let unequal =
        if lines.iter().any(|line| line.is_unequal) { " ‡ weaker durability, so not ranked." } else { "" };
    let speed = less_speed(all, lines);
    let over = match is_on_models {
        true => "samples (variants of the drive, the volume's position and the CPU's speed)",
        false => "rounds",
    };
    format!("Ratio of geometric means over the {over}{interval}: {times}.{speed}{ranks}{unequal}")
}

/// The meaning of a ratio below 1 in a table of speeds, by one that is shown: ` 0.52 means 48 % less speed.`.
fn less_speed(all: &[(&WorkloadSummary, &Comparison)], lines: &[Line]) -> String {
    let is_speed = |(work, comparison): &(&WorkloadSummary, &Comparison)| {
        row_of(work, comparison).is_some_and(|row| row.of == Of::Time && !row.stands_in)
    };
    let cells = lines.iter().flat_map(|line| &line.cells);
    let shown = cells.filter_map(|cell| Some((cell.times.as_str(), cell.times.parse::<f64>().ok()?)));
    let least = shown.min_by(|(_, a), (_, b)| a.total_cmp(b)).filter(|(_, least)| *least <= CLEAR);
    match least {
        Some((shown, least)) if all.iter().all(is_speed) => {
            format!(" {shown} means {} less speed.", percents(1.0 - least, 1.0 - least))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::report::examples::{self, Example, model};
    use crate::report::view::glance::Glance;

    fn table(example: &Example) -> Glance {
        example.report().summary.heading.table.expect("something is compared")
    }

    #[test]
    fn on_a_modelled_disk_counts_come_first_and_elsewhere_there_are_none() {
        assert!(table(&examples::rounds(12)).counts.is_empty());
        let glance = table(&model::samples(13));
        let [counts] = glance.counts.as_slice() else { panic!("one workload: {:?}", glance.counts) };
        let all = [
            "write requests",
            "read requests",
            "flushes",
            "written to the device, GiB",
            "read from the device, MiB",
        ];
        assert_eq!(
            (counts.of.as_str(), counts.columns.as_slice()),
            ("median of 13", &all.map(str::to_owned)[..])
        );
        let candidates = |of: Vec<&String>| of.into_iter().cloned().collect::<Vec<String>>();
        assert_eq!(
            candidates(counts.lines.iter().map(|line| &line.candidate).collect()),
            candidates(glance.lines.iter().map(|line| &line.candidate).collect())
        );
        assert!(counts.lines.iter().all(|line| line.cells.len() == all.len()));
    }

    #[test]
    fn what_is_measured_and_not_in_the_answer_is_named() {
        let note = table(&model::samples(13)).note;
        assert!(
            note.ends_with(
                "Measured, but not compared here: sealing, create and delete (workload letters-quick)."
            ),
            "{note}"
        );
    }
}
