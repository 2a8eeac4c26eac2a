//! CSV of results: one row for each candidate and metric, as in the report's tables. A tested metric has a verdict against the
//! reference of its comparison; any other metric has a median, and its row says that the metric is not tested.

use std::io::Write;

use anyhow::Context;

use super::trials_csv::TrialsCsv;
use super::{Format, Goes};
use crate::report::Report;
use crate::report::view::comparison::{Comparison, Line};
use crate::report::view::imported::Imported;
use crate::report::view::row::{Cell, Row};
use crate::report::view::workload::WorkloadSummary;
use crate::schema::finding::Found;
use crate::schema::metric::Better;
use crate::text::visible::visible;

const COLUMNS: [&str; 22] = [
    "run",
    "standing",
    "workload",
    "metric",
    "dimensions",
    "title",
    "unit",
    "better",
    "headline",
    "filesystem",
    "kind",
    "n",
    "median",
    "min",
    "max",
    "reference",
    "ratio",
    "ratio_low",
    "ratio_high",
    "rank_best",
    "rank_worst",
    "verdict",
];

pub struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn help(&self) -> &'static str {
        "Write CSV with a row for each candidate and metric: median, ratio, interval, rank, verdict; - writes to \
            standard output"
    }

    fn goes(&self) -> Goes {
        Goes::IntoFile
    }

    fn write(&self, report: &Report<'_>, to: &mut dyn Write) -> anyhow::Result<()> {
        let mut csv = ::csv::Writer::from_writer(to);
        csv.write_record(COLUMNS).context("write the CSV")?;
        for work in &report.summary.workloads {
            for row in work.rows() {
                for cell in &row.cells {
                    csv.write_record(line(report, work, row, cell)).context("write the CSV")?;
                }
            }
        }
        csv.flush().context("write the CSV")
    }

    /// Imported figures have neither rounds nor findings, so both CSV formats write the same rows for them.
    fn write_imported(&self, all: &[Imported], to: &mut dyn Write) -> anyhow::Result<()> {
        TrialsCsv.write_imported(all, to)
    }
}

fn line(report: &Report<'_>, work: &WorkloadSummary, row: &Row, cell: &Cell) -> [String; 22] {
    let label = cell.filesystem.as_str();
    let is_of = |c: &&Comparison| c.metric == row.name && c.dimensions == row.dimensions;
    let comparison = work.comparisons.iter().find(is_of);
    let own = comparison.and_then(|comparison| comparison.line(label));
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let is_ranked = comparison.is_some_and(|c| c.has_ranks() && !c.is_unequal(label));
    let rank =
        |of: fn(&Line) -> u32| own.filter(|_| is_ranked).map(|line| of(line).to_string()).unwrap_or_default();
    let entry = report.summary.filesystems.iter().find(|entry| entry.label == label);
    let standing = serde_json::to_value(report.summary.heading.standing).ok();
    [
        text(&report.run.plan.name),
        standing.and_then(|standing| Some(standing.as_str()?.to_owned())).unwrap_or_default(),
        text(&work.label),
        text(&row.name),
        text(&row.dimensions),
        text(&row.title),
        text(&row.unit),
        match row.better {
            Better::Higher => "higher",
            Better::Lower => "lower",
            Better::Neither => "neither",
        }
        .to_owned(),
        if row.headline { "yes" } else { "no" }.to_owned(),
        text(label),
        text(entry.map(|entry| entry.kind.as_str()).unwrap_or_default()),
        cell.n.to_string(),
        number(cell.median),
        number(cell.min),
        number(cell.max),
        own.and(comparison).map(|comparison| text(&comparison.to)).unwrap_or_default(),
        number(own.map(|line| line.ratio)),
        number(own.and_then(|line| line.low)),
        number(own.and_then(|line| line.high)),
        rank(|line| line.best),
        rank(|line| line.worst),
        verdict(comparison, own, label).to_owned(),
    ]
}

/// The verdict on the candidate against the reference.
fn verdict(comparison: Option<&Comparison>, own: Option<&Line>, label: &str) -> &'static str {
    let Some(comparison) = comparison else { return "not tested" };
    match own.and_then(|line| line.finding) {
        _ if own.is_none() => "not compared",
        _ if comparison.to == label => "reference",
        _ if comparison.is_preliminary => "preliminary",
        Some(Found::Better) => "better",
        Some(Found::Worse) => "worse",
        Some(Found::Equivalent) => "equivalent",
        Some(Found::CannotTell) | None => "cannot tell",
    }
}

/// Prefixes `'` to text that a spreadsheet would take for a formula.
fn text(text: &str) -> String {
    format!("{}{}", if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" }, visible(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples::{self, verdict};

    fn rows(report: &Report<'_>) -> Vec<::csv::StringRecord> {
        let mut to = Vec::new();
        Csv.write(report, &mut to).expect("a buffer takes everything");
        ::csv::Reader::from_reader(to.as_slice()).into_records().map(|row| row.unwrap()).collect()
    }

    #[test]
    fn a_row_has_median_ratio_interval_rank_and_verdict() {
        let example = examples::rounds(12);
        let report = example.judged(verdict::of_one_workload(12), Some("birchfs"));
        let rows = rows(&report);
        let of = |label: &str, metric: &str| {
            let row = rows.iter().find(|row| &row[3] == metric && &row[9] == label).unwrap();
            row.iter().skip(15).map(str::to_owned).collect::<Vec<String>>()
        };
        let cedarfs = of("cedarfs", "transactions.rate");
        assert_eq!([&cedarfs[0], &cedarfs[4], &cedarfs[5], &cedarfs[6]], ["birchfs", "1", "1", "better"]);
        let [ratio, low, high] = [1, 2, 3].map(|at| cedarfs[at].parse::<f64>().unwrap());
        assert!(low < ratio && ratio < high && low > 1.0, "{cedarfs:?}");
        assert_eq!(of("birchfs", "transactions.rate")[6], "reference");
        assert_eq!(of("maplefs", "transactions.rate")[4..], ["4", "6", "cannot tell"]);
        assert_eq!(of("maplefs", "mkfs.time"), ["", "", "", "", "", "", "not tested"]);
        let cells: usize =
            report.summary.workloads.iter().flat_map(WorkloadSummary::rows).map(|row| row.cells.len()).sum();
        assert_eq!(rows.len(), cells);
    }

    #[test]
    fn a_text_is_no_formula() {
        assert_eq!(text("=1+1\u{1b}"), r"'=1+1\u{1b}");
        assert_eq!(text("ext4"), "ext4");
    }
}
