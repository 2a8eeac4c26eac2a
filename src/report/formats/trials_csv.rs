//! CSV of trials in long form: one line per trial and metric, including every attempt, then the latencies over all rounds. On a
//! modelled disk each line states its sample, because a mean over samples describes no disk.

use std::collections::HashSet;
use std::io::Write;

use anyhow::Context;
use fsderby_diskmodel::{Factor, Level};

use super::{Format, Goes};
use crate::analysis::dataset::{counted, dimensions};
use crate::report::Report;
use crate::report::view::Summary;
use crate::report::view::imported::{Figure, Imported, Pass};
use crate::report::view::latency::{self, Latency, VALUES};
use crate::report::view::workload::WorkloadSummary;
use crate::schema::metric::{Better, Metric, Of};
use crate::schema::record::Record;
use crate::schema::setup::Sampled;
use crate::store::Run;
use crate::text::visible::visible;

/// The only column whose numbers may begin with a sign.
const VALUE: &str = "value";
/// Stands in the columns of purpose and outcome in lines of imported figures.
const IMPORTED: &str = "imported";
/// Stands in the columns of purpose and outcome in lines that belong to no single trial.
const TOGETHER: &str = "all rounds";
const COLUMNS: [&str; 29] = [
    "run",
    "trial",
    "attempt",
    "counts",
    "purpose",
    "round",
    "order",
    "workload",
    "filesystem",
    "kind",
    "testbed",
    "setup",
    "kernel",
    "size_bytes",
    "memory_bytes",
    "cpus",
    "workload_seed",
    "sample",
    "sample_seed",
    "factor_levels",
    "mips",
    "outcome",
    "reason",
    "metric",
    "dimensions",
    VALUE,
    "unit",
    "of",
    "better",
];

pub struct TrialsCsv;

impl Format for TrialsCsv {
    fn name(&self) -> &'static str {
        "csv-trials"
    }

    fn help(&self) -> &'static str {
        "Write CSV with a row for each trial and metric; with the seed and, on modelled disks, the variant of the disk \
            (sample and factor levels); - writes to standard output"
    }

    fn goes(&self) -> Goes {
        Goes::IntoFile
    }

    fn write(&self, report: &Report<'_>, to: &mut dyn Write) -> anyhow::Result<()> {
        write(report.run, to, &report.summary)
    }

    fn write_imported(&self, all: &[Imported], to: &mut dyn Write) -> anyhow::Result<()> {
        let all: Vec<&Imported> = all.iter().collect();
        let mut csv = ::csv::Writer::from_writer(to);
        csv.write_record(COLUMNS).context("write the CSV")?;
        write_imports(&mut csv, &all)?;
        csv.flush().context("write the CSV")
    }
}

/// Writes the trials. Column `counts` is `yes` if the statistics include the trial. A trial without metrics has one line with the
/// columns of the metric empty.
fn write(run: &Run, to: impl Write, summary: &Summary) -> anyhow::Result<()> {
    let counting: HashSet<(&str, u32)> = counted(run).iter().map(|r| (r.trial.as_str(), r.attempt)).collect();
    let mut csv = ::csv::Writer::from_writer(to);
    csv.write_record(COLUMNS).context("write the CSV")?;
    for record in &run.records {
        let counts = counting.contains(&(record.trial.as_str(), record.attempt));
        let trial = trial(run, record, counts);
        let metrics = record.metrics.iter().map(metric);
        let none = record.metrics.is_empty().then(Default::default);
        for metric in metrics.chain(none) {
            csv.write_record(trial.iter().chain(&metric).zip(COLUMNS).map(cell)).context("write the CSV")?;
        }
    }
    for work in &summary.workloads {
        for latency in &work.latencies {
            for row in latency.rows.iter().flat_map(|row| percentiles(run, work, latency, row)) {
                write_row(&mut csv, &row)?;
            }
        }
    }
    write_imports(&mut csv, &imports(summary))?;
    csv.flush().context("write the CSV")
}

/// Each percentile, with both ends of its interval if it has one.
fn percentiles(
    run: &Run,
    work: &WorkloadSummary,
    latency: &Latency,
    row: &latency::Row,
) -> Vec<Vec<(&'static str, String)>> {
    let own = if latency.work.is_empty() { String::new() } else { format!(";work={}", latency.work) };
    let dimensions = format!("operation={};phase={}{own}", latency.operation, latency.phase);
    let line = |name: String, value: u64| {
        vec![
            ("run", run.plan.name.clone()),
            ("counts", "no".to_owned()),
            ("purpose", TOGETHER.to_owned()),
            ("workload", work.label.clone()),
            ("filesystem", row.filesystem.clone()),
            ("outcome", TOGETHER.to_owned()),
            ("metric", name),
            ("dimensions", dimensions.clone()),
            (VALUE, value.to_string()),
            ("unit", latency.unit.clone()),
            ("of", of(Of::Time).to_owned()),
            ("better", better(Better::Lower).to_owned()),
        ]
    };
    let named = VALUES.iter().zip(row.values()).filter_map(|(name, value)| Some((name, value?)));
    let lines = named.flat_map(|(name, (value, ends))| {
        let ends = ends.map(|(low, high)| [(".low", low), (".high", high)]);
        let all = [("", value)].into_iter().chain(ends.into_iter().flatten());
        all.map(|(end, value)| line(format!("latency.{name}{end}"), value)).collect::<Vec<_>>()
    });
    lines.collect()
}

/// Writes one row; columns that `row` does not name are empty.
fn write_row(csv: &mut ::csv::Writer<impl Write>, row: &[(&str, String)]) -> anyhow::Result<()> {
    let text = |column: &&str| row.iter().find(|(known, _)| known == column).map_or("", |(_, text)| text);
    let cells = COLUMNS.iter().map(|column| cell((&text(column).to_owned(), column)));
    csv.write_record(cells).context("write the CSV")
}

fn imports(summary: &Summary) -> Vec<&Imported> {
    summary.workloads.iter().flat_map(|work| &work.imported).chain(&summary.imported).collect()
}

/// Writes imported figures. Purpose and outcome are `imported`, and column `counts` is `no`. A figure that the tool could not
/// measure has no value.
fn write_imports(csv: &mut ::csv::Writer<impl Write>, imports: &[&Imported]) -> anyhow::Result<()> {
    for imported in imports {
        for filesystem in &imported.filesystems {
            for pass in &filesystem.passes {
                for figure in &pass.figures {
                    write_row(csv, &foreign(imported, &filesystem.label, pass, figure))?;
                }
            }
        }
    }
    Ok(())
}

/// The columns of an imported figure.
fn foreign(imported: &Imported, label: &str, pass: &Pass, figure: &Figure) -> [(&'static str, String); 11] {
    let said = match (figure.value, figure.more_than, figure.less_than) {
        (Some(_), _, _) => String::new(),
        (None, Some(least), _) => format!("more than {least}"),
        (None, None, Some(most)) => format!("less than {most}"),
        (None, None, None) => "too fast to measure".to_owned(),
    };
    let apart = if figure.disagrees { "passes disagree" } else { "" };
    let reason =
        [said, apart.to_owned()].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ");
    [
        ("run", imported.import.clone()),
        ("trial", pass.from.clone()),
        ("counts", "no".to_owned()),
        ("purpose", IMPORTED.to_owned()),
        ("workload", imported.beside.clone().unwrap_or_default()),
        ("filesystem", label.to_owned()),
        ("outcome", IMPORTED.to_owned()),
        ("reason", reason),
        ("metric", figure.metric.clone()),
        (VALUE, figure.value.map(|value| value.to_string()).unwrap_or_default()),
        ("unit", figure.unit.clone()),
    ]
}

/// A cell of the CSV. Numbers are unchanged. Text is made [`visible`], with a leading `'` if a spreadsheet would take the text for
/// a formula.
fn cell((text, column): (&String, &str)) -> String {
    let is_formula = column != VALUE && text.starts_with(['=', '+', '-', '@']);
    format!("{}{}", if is_formula { "'" } else { "" }, visible(text))
}

fn trial(run: &Run, record: &Record, counts: bool) -> [String; 23] {
    let sampled = record.sampled();
    let of = |said: fn(&Sampled) -> String| sampled.as_ref().map(said).unwrap_or_default();
    [
        run.plan.name.clone(),
        record.trial.clone(),
        record.attempt.to_string(),
        if counts { "yes" } else { "no" }.to_owned(),
        record.purpose.to_string(),
        record.round.to_string(),
        record.order.to_string(),
        record.scenario.clone(),
        record.filesystem.clone(),
        record.kind.clone(),
        record.testbed.clone(),
        record.setup.clone(),
        record.kernel.clone(),
        record.volume.size.0.to_string(),
        record.memory.map(|m| m.0.to_string()).unwrap_or_default(),
        record.cpus.map(|cpus| cpus.to_string()).unwrap_or_default(),
        record.workload_seed.to_string(),
        of(point),
        of(|sampled| sampled.sample.seed.to_string()),
        of(levels),
        of(|sampled| sampled.mips.to_string()),
        record.outcome.name().to_owned(),
        record.why(),
    ]
}

/// The sample as text: `nominal`, or `corner ++-+`. Without the word `corner`, a spreadsheet would take the signs for a formula.
fn point(sampled: &Sampled) -> String {
    let point = sampled.sample.point;
    if point.is_nominal() { point.to_string() } else { format!("corner {point}") }
}

/// The levels of the factors: `seek=high;cache=low`; empty for the nominal disk.
fn levels(sampled: &Sampled) -> String {
    let one = |(factor, level): (Factor, Level)| {
        let name = serde_json::to_value(factor).ok().and_then(|name| Some(name.as_str()?.to_owned()));
        format!("{}={}", name.unwrap_or_default(), if level == Level::High { "high" } else { "low" })
    };
    sampled.sample.levels.all().map(one).collect::<Vec<String>>().join(";")
}

fn metric(metric: &Metric) -> [String; 6] {
    [
        metric.name.clone(),
        dimensions(metric),
        metric.value.to_string(),
        metric.unit.clone(),
        of(metric.of).to_owned(),
        better(metric.better).to_owned(),
    ]
}

fn of(of: Of) -> &'static str {
    match of {
        Of::Time => "time",
        Of::Count => "count",
        Of::Bytes => "bytes",
        Of::Share => "share",
        Of::ShareOfTime => "share-of-time",
    }
}

fn better(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Neither => "neither",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples;

    fn text(example: &examples::Example) -> String {
        let mut to = Vec::new();
        write(&example.run, &mut to, &example.report().summary).expect("a buffer takes everything");
        String::from_utf8(to).expect("CSV is text")
    }

    #[test]
    fn every_trial_has_a_line_for_each_metric() {
        let example = examples::example();
        let text = text(&example);
        let lines: usize = example.run.records.iter().map(|r| r.metrics.len().max(1)).sum();
        let rows = || ::csv::Reader::from_reader(text.as_bytes()).into_records().map(|row| row.unwrap());
        assert_eq!(rows().filter(|row| !row[1].is_empty()).count(), lines);
        let first_two: Vec<&str> = text.lines().filter(|l| l.contains("transactions.rate")).take(2).collect();
        let without_result: Vec<&str> =
            text.lines().filter(|l| l.contains(",no,") && !l.contains(TOGETHER)).collect();
        insta::assert_snapshot!(
            [vec![text.lines().next().unwrap()], first_two, without_result].concat().join("\n")
        );
    }

    #[test]
    fn latencies_come_after_the_trials_with_both_ends_of_their_intervals() {
        let latencies = |rounds| {
            let text = text(&examples::rounds(rounds));
            let rows = ::csv::Reader::from_reader(text.as_bytes()).into_records().map(|row| row.unwrap());
            let all: Vec<::csv::StringRecord> = rows.skip_while(|row| !row[1].is_empty()).collect();
            assert!(all.iter().all(|row| &row[3] == "no" && &row[4] == TOGETHER && !row[25].is_empty()));
            all.iter().map(|row| row[23].to_owned()).collect::<Vec<String>>()
        };
        // One of the example's candidates lacks a round.
        let (ten, nine) = (latencies(11), latencies(9));
        let of = |all: &[String], name: &str| all.iter().filter(|metric| *metric == name).count();
        assert!(of(&nine, "latency.p99") > 0 && of(&nine, "latency.p99.low") == 0);
        let with_ends = ["latency.p99", "latency.p99.low", "latency.p99.high"].map(|name| of(&ten, name));
        assert_eq!(with_ends, [of(&nine, "latency.p99"); 3]);
        assert_eq!(of(&ten, "latency.longest.low"), 0);
    }

    #[test]
    fn a_text_is_no_formula_and_steers_no_terminal_and_a_number_stays_one() {
        let mut example = examples::example();
        let record = example.run.records.iter_mut().find(|r| !r.metrics.is_empty()).unwrap();
        record.metrics[0].value = -1.5;
        record.filesystem = "=HYPERLINK(\"x\")".into();
        (record.kind, record.scenario) = ("-1+1".into(), "@\u{1b}[2J\tx".into());
        let text = text(&example);
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let mut rows = reader.records().map(|row| row.unwrap());
        let row = rows.find(|row| row[8].contains("HYPERLINK")).unwrap();
        assert_eq!(
            [&row[7], &row[8], &row[9], &row[25]],
            [r"'@\u{1b}[2J\tx", "'=HYPERLINK(\"x\")", "'-1+1", "-1.5"]
        );
    }

    #[test]
    fn on_a_modelled_disk_each_line_says_of_which_sample_it_is() {
        let text = text(&examples::model::samples(13));
        let rows: Vec<::csv::StringRecord> =
            ::csv::Reader::from_reader(text.as_bytes()).into_records().map(|row| row.unwrap()).collect();
        let of = |round: &str| rows.iter().find(|row| &row[5] == round && &row[3] == "yes").unwrap();
        assert_eq!([&of("1")[17], &of("1")[19], &of("1")[20]], ["nominal", "", "500"]);
        let second = of("2");
        assert!(second[17].starts_with("corner ") && second[19].contains("=high"), "{second:?}");
        assert!(!second[16].is_empty() && !second[18].is_empty());
    }

    #[test]
    fn labels_with_commas_and_quotes_stay_one_field() {
        let mut example = examples::example();
        example.run.records[0].filesystem = "a, \"b\"\nc".into();
        let text = text(&example);
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let first = reader.records().next().unwrap().unwrap();
        assert_eq!(&first[8], "a, \"b\"\nc");
        assert_eq!(first.len(), COLUMNS.len());
    }
}
