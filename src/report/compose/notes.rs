//! Notes beside a workload's figures: validity checks that hold only in part, and page-cache measurements.

use super::compression::{self, Compressing};
use super::validity;
use crate::analysis::dataset::{Cell, Series, Work};
use crate::analysis::losses;
use crate::report::view::entry::Entry;
use crate::report::view::number;
use crate::report::view::validity::ValidityLine;
use crate::report::view::workload::Label;
use crate::schema::metric::Owner;
use crate::schema::reason::{Condition, Held, Outcome, in_words};
use crate::schema::record::Record;
use crate::schema::units::Bytes;
use crate::schema::work::Amount;
use crate::store::Run;

pub struct Notes {
    /// Why the workload measures page cache and CPU; empty if it measures the disk.
    pub page_cache: String,
    /// Why its figures describe only its beginning; empty if the work ran long enough.
    pub short: String,
    /// Whether every trial of the workload was too short.
    pub is_short: bool,
    /// How often other processes took its CPU time; empty if they did not.
    pub disturbed: String,
    /// The number of these trials, and of all that were checked.
    pub disturbed_trials: [usize; 2],
    pub labels: Vec<Label>,
}

pub fn of(run: &Run, work: &Work<'_>, filesystems: &[Entry], amount: Amount, memory: Option<Bytes>) -> Notes {
    let compressing = compression::of(run, &work.label, filesystems);
    let device = Device { of_works: device_ratios(work), compressing: &compressing };
    let mut labels = check_labels(run, &work.label, filesystems);
    labels.extend(compressing.iter().map(Compressing::label));
    labels.extend(filesystems.iter().filter_map(|entry| deferred_label(run, entry)));
    labels.extend(
        device
            .of_works
            .iter()
            .flat_map(|one| one.cells.iter().filter_map(|cell| device.label(&one.work, cell))),
    );
    labels.extend(loss_labels(run, work, filesystems));
    let noted = |condition| noted(&work.counted, condition);
    let stationary =
        || work.counted.iter().flat_map(|r| &r.validity).filter(|c| c.name == Condition::Stationary);
    let is_short = stationary().next().is_some() && stationary().all(|check| check.held == Held::Label);
    let short = noted(Condition::Stationary).map(|(trials, seen)| {
        let enough = "a trial is long enough if it writes twice its memory and lasts three commit intervals \
                      of its filesystem";
        let are = if trials.starts_with("1 of") { "is" } else { "are" };
        let seen = seen.replacen("short: ", "", 1).replacen(" in ", " written in ", 1);
        format!("{trials} {are} short, {seen} ({enough})")
    });
    let interference =
        || work.counted.iter().flat_map(|r| &r.validity).filter(|c| c.name == Condition::Interference);
    let disturbed_trials =
        [interference().filter(|check| check.held == Held::Label).count(), interference().count()];
    let disturbed = noted(Condition::Interference).map(|(trials, seen)| {
        format!(
            "in {trials}, other programs or virtual machines used more than a tenth of the workload's time, or heat slowed \
             the CPU, {}",
            in_words(&seen)
        )
    });
    Notes {
        page_cache: everything_in_memory(amount, memory, &work.counted, &device),
        short: short.unwrap_or_default(),
        is_short,
        disturbed: disturbed.unwrap_or_default(),
        disturbed_trials,
        labels,
    }
}

/// The live data fits into memory, or less than half reached the device on every filesystem. Excludes work that was read from the
/// device after a cold start.
fn everything_in_memory(
    amount: Amount,
    memory: Option<Bytes>,
    counted: &[&Record],
    device: &Device<'_>,
) -> String {
    let is_cold =
        |r: &&Record| r.validity.iter().any(|c| c.name == Condition::ColdStart && c.held == Held::Yes);
    if counted.iter().all(is_cold) {
        return String::new();
    }
    let of_each_work = |r: &Record| -> Vec<bool> {
        let cells = device.of_works.iter().flat_map(|one| &one.cells);
        let own = cells.filter(|cell| cell.filesystem == r.filesystem);
        own.map(|cell| cell.median.is_none_or(|median| device.is_little(cell, median))).collect()
    };
    let kept_some = |r: &&Record| of_each_work(r).contains(&true);
    let kept_most = |r: &&Record| kept_some(r) && !of_each_work(r).contains(&false);
    if let Some(memory) = memory.filter(|memory| (1..=memory.0).contains(&amount.bytes_peak)) {
        let peak = Bytes(amount.bytes_peak);
        let fits = format!("its files take at most {peak} at a time and fit into {memory} of memory");
        let all_written = !counted.iter().any(kept_some);
        let but = if all_written { ", but the written data reached the device" } else { "" };
        return fits + but;
    }
    if counted.iter().all(kept_most) {
        return "every filesystem sent less than half of the written bytes to the device".to_owned();
    }
    String::new()
}

/// The share of written bytes that reached the device, of each work.
fn device_ratios<'w>(work: &'w Work<'_>) -> Vec<&'w Series> {
    work.series.iter().filter(|series| series.name == "device.written_ratio").collect()
}

/// The share of written bytes that reached the device, and what compression accounts for.
struct Device<'a> {
    of_works: Vec<&'a Series>,
    compressing: &'a [Compressing],
}

impl Device<'_> {
    /// Whether less than half of the bytes to be stored reached the device: of compressed content, half of its compressed size. What
    /// a filesystem of unknown compression keeps in memory is unknown.
    fn is_little(&self, cell: &Cell, ratio: f64) -> bool {
        match self.compressing.iter().find(|one| one.filesystem == cell.filesystem) {
            None => ratio < 0.5,
            Some(one) => one.share.is_some_and(|share| ratio < 0.5 * share),
        }
    }

    /// Set if, in any trial, less than half of the written bytes reached the device by the end of the sync.
    fn label(&self, work: &Owner, cell: &Cell) -> Option<Label> {
        let little = cell.values.iter().filter(|v| self.is_little(cell, v.value)).count();
        let median = cell.median.filter(|_| little > 0)? * 100.0;
        let of = if work.is_empty() { String::new() } else { format!("{work}: ") };
        let text = match cell.n {
            n if n == little => format!("{of}{median:.0}%"),
            n => format!("{of}{median:.0}%, below 50% in {little} of {n} trials"),
        };
        Some(Label { filesystem: cell.filesystem.clone(), text, page_cache: true })
    }
}

/// For options that leave the filesystem's initialisation to the workload's time.
fn deferred_label(run: &Run, Entry { label, kind, .. }: &Entry) -> Option<Label> {
    let candidate = run.plan.candidates.iter().find(|candidate| candidate.label == *label)?;
    let text = crate::filesystems::find(kind)?.defers(&candidate.variant)?;
    Some(Label { filesystem: label.clone(), text, page_cache: false })
}

/// Notes on filesystems whose recovery is shown although trials lost synced files.
fn loss_labels(run: &Run, work: &Work<'_>, filesystems: &[Entry]) -> Vec<Label> {
    let losses = losses::of(run, &work.label);
    let label = |filesystem: &Entry| {
        let text = losses::said(work, &losses, &filesystem.label)?;
        Some(Label { filesystem: filesystem.label.clone(), text, page_cache: false })
    };
    filesystems.iter().filter_map(label).collect()
}

/// In how many trials this check held only with a note, and the first such observation.
fn noted(counted: &[&Record], condition: Condition) -> Option<(String, String)> {
    let checks =
        || counted.iter().flat_map(|record| &record.validity).filter(|check| check.name == condition);
    let notes: Vec<&str> =
        checks().filter(|c| c.held == Held::Label).map(|check| check.seen.as_str()).collect();
    let of = number::count(checks().count(), "trial");
    let trials = format!("{} of {of}", number::grouped(&notes.len().to_string()));
    let example = if notes.len() > 1 { "e.g. " } else { "" };
    notes.first().map(|seen| (trials, format!("{example}{seen}")))
}

/// Validity checks that get no note here: they are reported for all filesystems together, or by a figure.
const TOLD_ELSEWHERE: [Condition; 3] = [Condition::Device, Condition::Stationary, Condition::Interference];

/// Validity checks that do not void a trial but must be reported with its figures, including integrity checks. Omits `device`,
/// whose ratio says more.
fn check_labels(run: &Run, workload: &str, filesystems: &[Entry]) -> Vec<Label> {
    let mine = |r: &&Record| r.scenario == workload && r.outcome == Outcome::Done;
    let records: Vec<&Record> = run.current().into_iter().filter(mine).collect();
    let lines = validity::lines(&records);
    let of = |Entry { label: filesystem, .. }: &Entry| {
        let notable = lines.iter().filter(|l| l.is_label() && !TOLD_ELSEWHERE.contains(&l.name));
        let mine = notable.filter(|l| l.filesystems.contains(filesystem));
        let label = |line| Label {
            filesystem: filesystem.clone(),
            text: ValidityLine::said(line),
            page_cache: false,
        };
        mine.map(label).collect::<Vec<Label>>()
    };
    filesystems.iter().flat_map(of).collect()
}
