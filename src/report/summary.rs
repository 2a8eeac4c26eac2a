//! The model that all formats share: per workload, metric and filesystem the median, the range and every single value.
//! Pure: a run goes in, nothing is printed.

use serde::Serialize;

use super::absent::{self, Absent, Skips};
use super::capabilities::{self, Kind};
use super::ensemble;
use super::heading::{self, Heading};
use super::latency::{Latency, Merge};
use super::published::{self, Beside};
use super::sections::{self, Drawing, Shown};
use super::validity;
use super::{Known, number};
use crate::analysis::ensemble::Pair;
use crate::declared::{self, Declared};
use crate::schema::job::Purpose;
use crate::schema::metric::{Better, Metric, Of};
use crate::schema::units::{Bytes, Percent};
use crate::schema::work::Amount;
use crate::store::Run;
use crate::store::record::{Held, Outcome, Record};
use crate::workloads;

/// Of a metric with more dimensions than this, such as a sweep over sizes, none is drawn.
const ALIKE_DRAWN: usize = 12;

/// The shape of the JSON report.
pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    pub heading: Heading,
    /// Within it a difference does not matter.
    pub margin: Percent,
    /// Those that took part, in the order of the plan, which gives each its place and colour in every table and chart.
    pub filesystems: Vec<Entry>,
    pub workloads: Vec<WorkloadSummary>,
    /// What could not take part, and why.
    pub skips: Vec<Skips>,
    /// Trials that do not count, and why.
    pub absent: Vec<Absent>,
    /// The kinds behind the filesystems that took part, each once.
    pub kinds: Vec<Kind>,
    /// What is damaged or could not be read, one sentence each.
    pub damage: Vec<String>,
    /// Records that were not written to their end, one sentence each: their trials are lost, nothing else.
    pub torn: Vec<String>,
}

/// A filesystem as it was entered, and as it was mounted.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    pub label: String,
    pub kind: String,
    /// Further arguments of mkfs and mount; empty for the kind's defaults.
    pub options: String,
    /// Type, driver and options that the kernel showed; empty where nothing was mounted.
    pub mounted: String,
    /// Whether mkfs and mount had the kind's own arguments alone, however it came about.
    #[serde(skip)]
    pub is_plain: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct WorkloadSummary {
    pub label: String,
    pub engine: String,
    /// One line each: `transactions = 50000`.
    pub parameters: Vec<String>,
    /// What the set is for; empty for a user's own parameters.
    pub story: String,
    pub amount: Amount,
    /// Page cache and workload together: the limit, or the machine's.
    pub memory: Bytes,
    /// Rounds in which every filesystem that can do this work has a trial that counts.
    pub rounds: usize,
    /// Why all of this is about the page cache and the processor; empty where it is about the disk.
    pub page_cache: String,
    pub labels: Vec<Label>,
    pub sections: Vec<SectionSummary>,
    pub latencies: Vec<Latency>,
    /// What holds of each pair's headline metrics whatever the modelled disk is like.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ensemble: Vec<Pair>,
    /// What a paper printed for this very work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Beside>,
}

/// What must be said beside a filesystem's figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    pub filesystem: String,
    /// What a validity check saw and in how many trials, or how much of what was written reached the device.
    pub text: String,
    /// Whether it means "page cache and CPU".
    pub page_cache: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct SectionSummary {
    pub title: &'static str,
    pub note: &'static str,
    pub drawing: Drawing,
    pub rows: Vec<Row>,
}

/// One metric of one workload, over all filesystems.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub name: String,
    /// `file_bytes=4096, phase=write`; empty where the name says all.
    pub dimensions: String,
    pub title: String,
    /// What it means; empty where nobody declares it.
    pub explained: &'static str,
    pub unit: String,
    pub of: Of,
    pub better: Better,
    pub headline: bool,
    /// Measured once, in the integrity check, and not in the rounds.
    pub once: bool,
    #[serde(skip)]
    declared: Option<&'static Declared>,
    /// Whether it is drawn as well as listed.
    #[serde(skip)]
    pub is_drawn: bool,
    pub cells: Vec<Cell>,
}

/// One metric of one workload on one filesystem.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    pub filesystem: String,
    pub n: usize,
    pub median: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// In the order of the rounds.
    pub values: Vec<Value>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Value {
    pub trial: String,
    pub round: u32,
    pub value: f64,
}

impl Row {
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.cells.iter().flat_map(|c| &c.values).map(|v| v.value)
    }

    /// How these values are written.
    pub fn scale(&self) -> number::Scale {
        number::Scale::of(&self.unit, self.values())
    }

    /// Heads a narrow column.
    pub fn short(&self) -> &str {
        self.declared.map_or(self.title.as_str(), |d| d.heading())
    }

    /// Whether it stands beside the headline in narrow tables.
    pub fn is_key(&self) -> bool {
        !self.headline && self.declared.is_some_and(|d| d.key)
    }

    /// What must stand under a narrow table, because the heading does not say it.
    pub fn footnote(&self) -> Option<String> {
        let declared = self.declared.filter(|d| d.footnote)?;
        Some(format!("{}: {}", declared.heading().replace('\n', " "), declared.explained))
    }

    /// `higher is better`; empty for neither.
    pub fn direction(&self) -> &'static str {
        match self.better {
            Better::Higher => "higher is better",
            Better::Lower => "lower is better",
            Better::Neither => "",
        }
    }
}

impl WorkloadSummary {
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.sections.iter().flat_map(|s| &s.rows)
    }

    /// The declared headline metrics; where none is declared or shown, what reached the device, or the first there is.
    pub fn headlines(&self) -> Vec<&Row> {
        let declared: Vec<&Row> = self.rows().filter(|r| r.headline).collect();
        let first = || self.rows().find(|r| r.of == Of::Bytes).or_else(|| self.rows().next());
        if declared.is_empty() { first().into_iter().collect() } else { declared }
    }

    /// Most that is live at one time.
    pub fn peak(&self) -> Bytes {
        Bytes(self.amount.bytes_peak)
    }

    /// Whether this filesystem's figures, and not those of all, are about the page cache and the processor.
    pub fn marked(&self, filesystem: &str) -> bool {
        self.page_cache.is_empty() && self.labels.iter().any(|l| l.page_cache && l.filesystem == filesystem)
    }

    /// How much is live beside how much memory, and what that makes of the figures.
    pub fn setting(&self) -> String {
        match self.page_cache.as_str() {
            "" => {
                format!("at most {} of files live at one time, beside {} of memory", self.peak(), self.memory)
            }
            why => format!("page cache and CPU: {why}"),
        }
    }

    /// What must be said with the figures, one sentence each, the page cache first.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let marked: Vec<String> =
            self.labels.iter().filter(|l| l.page_cache && self.page_cache.is_empty()).map(said).collect();
        if !marked.is_empty() {
            let text = "page cache and CPU: less than half of the written bytes reached the device by the end of the \
                        sync";
            notes.push(format!("{text}: {}", number::list(&marked)));
        }
        notes.extend(
            self.labels.iter().filter(|l| !l.page_cache).map(|l| format!("{}: {}", l.filesystem, l.text)),
        );
        notes
    }
}

impl Summary {
    pub(super) fn of(run: &Run, known: Known) -> Self {
        let planned = filesystem_labels(run);
        let labels: Vec<String> = planned.iter().filter(|label| compared(run, label)).cloned().collect();
        let mut damage = run.damage.clone();
        let workloads: Vec<WorkloadSummary> =
            workload_labels(run).iter().map(|w| workload(run, w, &labels, known, &mut damage)).collect();
        let absent = absent::of(run, &planned, &workloads);
        Summary {
            heading: heading::of(run, &planned, &workloads),
            margin: run.plan.margin,
            filesystems: entries(run, &labels),
            kinds: kinds_of(run, &labels, known),
            skips: absent::skips(run, workloads.len()),
            workloads,
            absent,
            damage,
            torn: run.torn.iter().map(|what| format!("{what}; that trial is lost, nothing else")).collect(),
        }
    }
}

/// `label (31 %)`
fn said(label: &Label) -> String {
    format!("{} ({})", label.filesystem, label.text)
}

/// Whether it was ever begun with; a filesystem that is skipped everywhere has no place in the tables.
fn compared(run: &Run, label: &str) -> bool {
    run.records.iter().any(|r| r.filesystem == label && r.outcome != Outcome::Skipped)
}

/// The labels in the order of the plan; a stray one that only records know comes last.
fn filesystem_labels(run: &Run) -> Vec<String> {
    let planned = run.plan.candidates.iter().map(|e| &e.label);
    each_once(planned.chain(run.records.iter().map(|r| &r.filesystem)))
}

fn workload_labels(run: &Run) -> Vec<String> {
    let planned = run.plan.workloads.iter().map(|w| &w.label);
    each_once(planned.chain(run.records.iter().map(|r| &r.workload)))
}

fn each_once<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::new();
    for name in names {
        if !once.contains(name) {
            once.push(name.clone());
        }
    }
    once
}

/// The trials that count: measured, done, and the last attempt.
pub fn counted(run: &Run) -> Vec<&Record> {
    run.current()
        .into_iter()
        .filter(|r| r.purpose == Purpose::Measure && r.outcome == Outcome::Done)
        .collect()
}

fn kinds_of(run: &Run, labels: &[String], known: Known) -> Vec<Kind> {
    let names = each_once(run.plan.candidates.iter().filter(|e| labels.contains(&e.label)).map(|e| &e.kind));
    names.iter().filter_map(|name| (known.kind)(name)).map(capabilities::of).collect()
}

fn entries(run: &Run, labels: &[String]) -> Vec<Entry> {
    labels.iter().map(|label| entry(run, label)).collect()
}

fn entry(run: &Run, label: &str) -> Entry {
    let record = || run.records.iter().find(|r| r.filesystem == label);
    let (kind, variant) = match run.plan.candidates.iter().find(|e| e.label == label) {
        Some(candidate) => (candidate.kind.clone(), candidate.variant.clone()),
        None => record().map(|r| (r.kind.clone(), r.variant.clone())).unwrap_or_default(),
    };
    let mut options = Vec::new();
    if !variant.mkfs.is_empty() {
        options.push(format!("mkfs {}", variant.mkfs.join(" ")));
    }
    if !variant.mount.is_empty() {
        options.push(format!("mount -o {}", variant.mount.join(",")));
    }
    if variant.conversion {
        options.push("by conversion".to_owned());
    }
    let mounted = run.records.iter().filter(|r| r.filesystem == label).find_map(|r| r.mounted.as_ref());
    let mounted = mounted.map(|m| format!("{} by {}: {}", m.fstype, m.driver, m.options.join(",")));
    let is_plain = variant.mkfs.is_empty() && variant.mount.is_empty();
    let (options, mounted) = (options.join("; "), mounted.unwrap_or_default());
    Entry { label: label.to_owned(), kind, options, mounted, is_plain }
}

fn workload(
    run: &Run,
    label: &str,
    filesystems: &[String],
    known: Known,
    damage: &mut Vec<String>,
) -> WorkloadSummary {
    let mine: Vec<&Record> = run.records.iter().filter(|r| r.workload == label).collect();
    let counted: Vec<&Record> = counted(run).into_iter().filter(|r| r.workload == label).collect();
    let spec = run.plan.workloads.iter().find(|w| w.label == label).map(|w| &w.work);
    let spec = spec.or(mine.first().map(|r| &r.work));
    let amount = mine.iter().map(|r| r.amount).max_by_key(|v| v.bytes_peak).unwrap_or_default();
    let memory = mine.iter().find_map(|r| r.memory).or(run.plan.memory).unwrap_or(run.machine.memory);
    let declared = spec.map(|s| (known.metrics)(&s.engine)).unwrap_or_default();
    let sections = sections_of(rows_of(run, &counted, label, filesystems, &declared), &declared);
    let mut labels = control_labels(run, label, filesystems);
    labels.extend(device_cells(&sections).iter().filter_map(device_label));
    let page_cache = everything_in_memory(amount, memory, &counted, device_cells(&sections));
    let rows: Vec<&Row> = sections.iter().flat_map(|s| &s.rows).collect();
    let ensemble = ensemble::pairs(&rows, &counted, label, run.plan.margin);
    let published =
        spec.and_then(|spec| published::of(run, spec, &rows, &entries(run, filesystems), &declared));
    WorkloadSummary {
        label: label.to_owned(),
        engine: spec.map(|s| s.engine.clone()).unwrap_or_default(),
        parameters: spec.map(|s| parameters(&s.parameters)).unwrap_or_default(),
        story: workloads::find(label).map(|(_, set)| set.file().story).unwrap_or_default(),
        amount,
        memory,
        rounds: heading::complete_rounds(&counted),
        page_cache,
        labels,
        sections,
        latencies: latencies(run, &counted, filesystems, damage),
        ensemble,
        published,
    }
}

fn parameters(table: &toml::Table) -> Vec<String> {
    table.iter().map(|(key, value)| format!("{key} = {value}")).collect()
}

/// The live data fits into memory, or of every filesystem less than half reached the device; not where all of it was read from
/// the device after a cold start.
fn everything_in_memory(amount: Amount, memory: Bytes, counted: &[&Record], device: &[Cell]) -> String {
    let is_cold = |r: &&Record| r.validity.iter().any(|c| c.name == "cold start" && c.held == Held::Yes);
    if counted.iter().all(is_cold) {
        return String::new();
    }
    let little =
        |r: &&Record| device.iter().any(|c| c.filesystem == r.filesystem && c.median.is_none_or(|m| m < 0.5));
    if amount.bytes_peak > 0 && amount.bytes_peak <= memory.0 {
        let peak = Bytes(amount.bytes_peak);
        let fits = format!("at most {peak} of files live at one time and fit into {memory} of memory");
        let all_written = counted.iter().all(|r| !little(r));
        let but = if all_written { "; what was written reached the device all the same" } else { "" };
        return fits + but;
    }
    if counted.iter().all(little) {
        return "less than half of the written bytes reached the device on every filesystem".to_owned();
    }
    String::new()
}

fn device_cells(sections: &[SectionSummary]) -> &[Cell] {
    let ratio = sections.iter().flat_map(|s| &s.rows).find(|r| r.name == "device.written_ratio");
    ratio.map(|r| r.cells.as_slice()).unwrap_or_default()
}

/// In some trial under half of what the work wrote reached the device by the end of the sync.
fn device_label(cell: &Cell) -> Option<Label> {
    let little = cell.values.iter().filter(|v| v.value < 0.5).count();
    let median = cell.median.filter(|_| little > 0)? * 100.0;
    let text = match cell.n {
        n if n == little => format!("{median:.0} %"),
        n => format!("{median:.0} %, under half in {little} of {n} trials"),
    };
    Some(Label { filesystem: cell.filesystem.clone(), text, page_cache: true })
}

/// ValidityChecks that do not void a trial but must be said with its figures, integrity checks included. What the validity check `device` has to
/// say, the ratio says better.
fn control_labels(run: &Run, workload: &str, filesystems: &[String]) -> Vec<Label> {
    let mine = |r: &&Record| r.workload == workload && r.outcome == Outcome::Done;
    let records: Vec<&Record> = run.current().into_iter().filter(mine).collect();
    let lines = validity::lines(&records);
    let of = |filesystem: &String| {
        let notable = lines.iter().filter(|l| l.is_label() && l.name != "device");
        let mine = notable.filter(|l| l.filesystems.contains(filesystem));
        let label = |line| Label {
            filesystem: filesystem.clone(),
            text: validity::ValidityLine::said(line),
            page_cache: false,
        };
        mine.map(label).collect::<Vec<Label>>()
    };
    filesystems.iter().flat_map(of).collect()
}

/// Every metric of the rounds, then those that only the integrity check has.
fn rows_of(
    run: &Run,
    counted: &[&Record],
    workload: &str,
    filesystems: &[String],
    declared: &[&'static Declared],
) -> Vec<Row> {
    let is_integrity =
        |r: &&Record| r.purpose == Purpose::Integrity && r.outcome == Outcome::Done && r.workload == workload;
    let checked: Vec<&Record> = run.current().into_iter().filter(is_integrity).collect();
    let mut rows = rows(counted, filesystems, declared, false);
    for row in self::rows(&checked, filesystems, declared, true) {
        if !rows.iter().any(|r| r.name == row.name && r.dimensions == row.dimensions) {
            rows.push(row);
        }
    }
    rows
}

/// Each row in its section, in the order in which they are declared.
fn sections_of(mut rows: Vec<Row>, declared: &[&'static Declared]) -> Vec<SectionSummary> {
    rows.sort_by_key(|row| {
        let own = declared.iter().position(|d| row.declared == Some(*d));
        (sections::place(row.declared.map(|d| d.section)), own)
    });
    let mut out: Vec<SectionSummary> = Vec::new();
    for row in rows {
        let Shown { title, note, drawing } = sections::shown(row.declared.map(|d| d.section));
        match out.iter_mut().find(|s| s.title == title) {
            Some(section) => section.rows.push(row),
            None => out.push(SectionSummary { title, note, drawing, rows: vec![row] }),
        }
    }
    out
}

/// One row for each name and set of dimensions, in the order in which they first appear.
fn rows(records: &[&Record], filesystems: &[String], declared: &[&'static Declared], once: bool) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for metric in records.iter().flat_map(|r| r.metrics.iter().filter(|m| r.says(m))) {
        let dimensions = dimensions(metric);
        if !rows.iter().any(|r| r.name == metric.name && r.dimensions == dimensions) {
            let cells = filesystems.iter().map(|label| cell(metric, records, label)).collect();
            rows.push(row(metric, dimensions, declared::find(declared, &metric.name), once, cells));
        }
    }
    let names: Vec<String> = rows.iter().map(|r| r.name.clone()).collect();
    for row in &mut rows {
        let alike = names.iter().filter(|name| **name == row.name).count();
        row.is_drawn = alike <= ALIKE_DRAWN && row.declared.is_none_or(|d| d.drawn);
    }
    rows
}

/// `file_bytes=4096, phase=write`.
pub fn dimensions(metric: &Metric) -> String {
    let pairs: Vec<String> = metric.dimensions.iter().map(|(k, v)| format!("{k}={v}")).collect();
    pairs.join(", ")
}

fn row(
    metric: &Metric,
    dimensions: String,
    declared: Option<&'static Declared>,
    once: bool,
    cells: Vec<Cell>,
) -> Row {
    let title = declared.map_or_else(|| metric.name.clone(), |d| d.title_of(&metric.name));
    let title = if dimensions.is_empty() { title } else { format!("{title} ({dimensions})") };
    let title = if once { format!("{title}, once, in the integrity check") } else { title };
    Row {
        name: metric.name.clone(),
        dimensions,
        title,
        explained: declared.map_or("", |d| d.explained),
        unit: metric.unit.clone(),
        of: metric.of,
        better: metric.better,
        headline: metric.headline,
        once,
        declared,
        is_drawn: true,
        cells,
    }
}

fn cell(like: &Metric, records: &[&Record], filesystem: &str) -> Cell {
    let same = |m: &&Metric| m.name == like.name && m.dimensions == like.dimensions;
    let mut values: Vec<Value> = Vec::new();
    for record in records.iter().filter(|r| r.filesystem == filesystem) {
        if let Some(metric) = record.metrics.iter().find(same).filter(|m| m.value.is_finite()) {
            values.push(Value { trial: record.trial.clone(), round: record.round, value: metric.value });
        }
    }
    values.sort_by_key(|v| v.round);
    let plain: Vec<f64> = values.iter().map(|v| v.value).collect();
    let range = fsderby_stats::range(&plain);
    Cell {
        filesystem: filesystem.to_owned(),
        n: values.len(),
        median: fsderby_stats::median(&plain),
        min: range.map(|r| r.0),
        max: range.map(|r| r.1),
        values,
    }
}

/// A histogram that cannot be read is told, and the rest of the report stands.
fn latencies(
    run: &Run,
    counted: &[&Record],
    filesystems: &[String],
    damage: &mut Vec<String>,
) -> Vec<Latency> {
    let mut merge = Merge::default();
    for filesystem in filesystems {
        let timed = |r: &&&Record| r.filesystem == *filesystem && r.fidelity.times_count();
        for record in counted.iter().filter(timed) {
            match run.histograms(record) {
                Ok(all) => all.iter().for_each(|histogram| merge.add(filesystem, histogram)),
                Err(error) => {
                    damage.push(format!("The latencies of {} are missing: {error:#}", record.trial))
                }
            }
        }
    }
    merge.done()
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::super::example_letters::SEALING;
    use super::super::terminal::{self, Detail};
    use super::super::{html, markdown};
    use super::*;

    #[test]
    fn the_last_attempt_counts_and_failed_trials_do_not() {
        let example = example::example();
        let summary = example.report().summary;
        let headline = summary.workloads[0].headlines()[0];
        let n = |label: &str| headline.cells.iter().find(|c| c.filesystem == label).map(|c| c.n);
        assert_eq!((n("alderfs"), n("cedarfs"), n("maplefs")), (Some(6), Some(6), Some(5)));
    }

    #[test]
    fn an_integrity_check_gives_only_what_no_round_gives() {
        let example = example::example();
        let summary = example.report().summary;
        let steps: Vec<&Row> = summary.workloads[0].rows().filter(|r| r.name.ends_with(".time")).collect();
        let filled =
            steps.iter().find(|r| r.name == "check-filled.time").expect("the integrity check has it");
        assert!(filled.once && filled.cells[0].n == 1);
        let mkfs = steps.iter().find(|r| r.name == "mkfs.time").expect("each trial has it");
        assert!(!mkfs.once && mkfs.values().all(|v| v < 1.0));
    }

    #[test]
    fn where_little_reached_the_device_the_row_says_page_cache() {
        let mut example = example::example();
        for record in example.run.records.iter_mut().filter(|r| r.filesystem == "birchfs") {
            let ratio = record.metrics.iter_mut().find(|m| m.name == "device.written_ratio");
            ratio.into_iter().for_each(|m| m.value = 0.2);
        }
        let summary = example.report().summary;
        let work = &summary.workloads[0];
        assert!(work.page_cache.is_empty() && work.marked("birchfs") && !work.marked("alderfs"));
        assert!(work.notes()[0].ends_with("by the end of the sync: birchfs (20 %)"));
    }

    #[test]
    fn one_trial_of_which_little_reached_the_device_is_told_too() {
        let mut example = example::example();
        let one = example.run.records.iter_mut().find(|r| r.filesystem == "birchfs" && r.round == 2);
        let ratio = one.and_then(|r| r.metrics.iter_mut().find(|m| m.name == "device.written_ratio"));
        ratio.expect("every trial has it").value = 0.01;
        let note = &example.report().summary.workloads[0].notes()[0];
        assert!(note.contains("birchfs (13") && note.ends_with("under half in 1 of 6 trials)"), "{note}");
    }

    #[test]
    fn a_filesystem_that_raced_nowhere_has_no_row_and_is_listed_once() {
        let mut example = example::example();
        let run = &mut example.run;
        run.records.retain(|r| r.filesystem != "maplefs");
        let skipped =
            example::skipped(&run.plan, &[("maplefs", 0), ("maplefs", 1)], "this kernel has no maplefs");
        run.records.extend(skipped);
        let summary = example.report().summary;
        assert!(summary.workloads.iter().flat_map(|w| w.rows()).all(|r| r.cells.len() == 7));
        assert!(summary.filesystems.iter().all(|f| f.label != "maplefs"));
        assert!(summary.kinds.iter().all(|k| k.name != "maplefs"));
        assert_eq!(summary.skips.iter().filter(|s| s.who() == "maplefs").count(), 1);
        assert!(summary.heading.sentences[0].starts_with("7 of 8 filesystems"));
    }

    #[test]
    fn where_everything_fits_into_memory_the_heading_says_page_cache() {
        let example = example::example();
        let summary = example.report().summary;
        assert!(summary.workloads[1].page_cache.contains("210 MiB"));
        assert!(summary.heading.sentences.iter().any(|s| s.contains("page cache and CPU")));
    }

    #[test]
    fn a_new_workloads_metrics_stand_in_their_sections_with_their_words() {
        let example = example::example();
        let report = example.report();
        let titles: Vec<&str> = report.summary.workloads[0].sections.iter().map(|s| s.title).collect();
        assert_eq!(titles[..4], ["Headline", SEALING, "Files", "Throughput"]);
        let own = &report.summary.workloads[0].sections[1];
        assert_eq!(
            (own.note, own.rows[0].title.as_str()),
            ("Every letter is sealed.", "sealing (phase seal)")
        );
        let page = html::page(&report).expect("the page renders");
        assert!(page.contains("title=\"Time to seal all letters.\""));
        for text in [terminal::text(&report, 200, Detail::Glance), markdown::text(&report)] {
            assert!(text.contains("seal") && text.contains("seal: Time to seal all letters."), "{text}");
        }
        let in_other = |w: &WorkloadSummary| w.rows().filter(|r| r.explained.is_empty()).count();
        assert_eq!(in_other(&report.summary.workloads[0]), 10, "letters explains but one of its own");
    }

    #[test]
    fn a_metric_that_nobody_knows_is_shown_with_its_dimensions() {
        let example = example::example();
        let summary = example.report().summary;
        let other = summary.workloads[1].sections.last().expect("there are sections");
        assert_eq!(
            (other.title, other.rows[0].title.as_str()),
            ("Other", "seeks.random.rate (file_bytes=4096)")
        );
    }

    #[test]
    fn lost_histograms_are_told_and_the_rest_stands() {
        let mut example = example::example();
        let lost = example.run.records.iter_mut().find(|r| !r.histograms.is_empty());
        lost.expect("trials have histograms").histograms[0].path = "nowhere.jsonl".into();
        let summary = example.report().summary;
        assert_eq!(summary.damage.len(), 1);
        assert!(!summary.workloads[0].latencies.is_empty());
    }
}
