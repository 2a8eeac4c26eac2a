//! A modelled disk in one round: its time by activity, and each filesystem's requests over time and position.

mod picture;
mod requests;
mod time;

use fsderby_diskmodel::{SHIPPED, Spec};

use self::picture::Picture;
use self::time::Spent;
use super::chart::{self, Tick};
use crate::analysis::dataset::counted;
use crate::analysis::ensemble::sampled;
use crate::report::view::look::Look;
use crate::report::view::number::{Scale, count, list, percent};
use crate::report::view::workload::WorkloadSummary;
use crate::schema::record::Record;
use crate::store::Run;

/// At most this many charts are visible without a click: two rows.
const UNFOLDED: usize = 4;
/// If late completions add up to less than this share of the time, no note mentions them.
const LATE: f64 = 0.02;

/// The CSS classes of the bars' parts, and the labels of the parts.
pub const LEGEND: [(&str, &str); 8] = [
    ("seek", "seeking"),
    ("rotation", "rotating to the sector"),
    ("transfer", "transferring"),
    ("copy", "copying and erasing"),
    ("idle", "idle"),
    ("held", "a request outstanding"),
    ("overhead", "command overhead"),
    ("cpu", "CPU"),
];

/// The CSS classes of the charts' parts, and the labels of the parts.
pub const REQUESTS: [(&str, &str); 3] = [("write", "writes"), ("read", "reads"), ("flush", "flushes")];

/// A workload's charts, all from one round, in which all filesystems had the same disk.
pub struct DiskUse {
    /// The round in words, such as `round 1, with the disk as its file describes it`.
    pub round: String,
    pub spent: Times,
    pub pictures: Vec<Figure>,
    pub unfolded: bool,
}

/// One stacked bar for each filesystem.
pub struct Times {
    pub unit: String,
    pub ticks: Vec<Tick>,
    pub rows: Vec<TimeRow>,
    /// What the parts mean on this disk.
    pub notes: Vec<String>,
}

pub struct TimeRow {
    pub label: String,
    /// The activities of the disk's mechanism, which never overlap, as parts of one bar.
    pub parts: Vec<Part>,
    /// Activities parallel to the mechanism; each is a thin bar.
    pub beside: Vec<Part>,
    pub value: String,
    pub words: String,
}

pub struct Part {
    pub class: &'static str,
    pub left: String,
    pub width: String,
    pub words: String,
}

pub struct Figure {
    pub label: String,
    pub look: Look,
    /// The picture of the requests, or why it is missing.
    pub picture: Result<Picture, String>,
}

/// The disk charts of a workload; `None` if no disk was modelled. `looks` gives each filesystem its colour.
pub fn of(run: &Run, work: &WorkloadSummary, looks: impl Fn(&str) -> Look) -> Option<DiskUse> {
    let records = nominal(run, &work.label);
    let modelled = sampled(records.first()?)?;
    let round = records[0].round;
    let sample = match round {
        1 => "with the disk as its file describes it",
        _ => "with another sample of the disk, because every earlier round has fewer valid trials",
    };
    let figure = |record: &&Record| Figure {
        label: record.filesystem.clone(),
        look: looks(&record.filesystem),
        picture: picture::of(run, record, modelled.offset),
    };
    let pictures: Vec<Figure> = records.iter().map(figure).collect();
    let members = members(&modelled.disk).map(|members| members * u64::from(modelled.disks));
    let spent = records.iter().zip(&pictures).filter_map(|(record, figure)| {
        let held_ns = figure.picture.as_ref().ok().and_then(|p| p.held_ns);
        Some(Trial { record, spent: time::spent(record, members)?, held_ns: held_ns.map(|ns| ns as f64) })
    });
    Some(DiskUse {
        round: format!("round {round}, {sample}"),
        spent: times(&spent.collect::<Vec<Trial<'_>>>())?,
        pictures,
        unfolded: records.len() <= UNFOLDED,
    })
}

/// The trials of one round in plan order. Of the rounds with the most counted trials, the first is taken.
fn nominal<'r>(run: &'r Run, workload: &str) -> Vec<&'r Record> {
    let all: Vec<&Record> = counted(run).into_iter().filter(|r| r.scenario == workload).collect();
    let n = |round: u32| all.iter().filter(|r| r.round == round).count();
    let best = all.iter().map(|r| r.round).max_by_key(|round| (n(*round), std::cmp::Reverse(*round)));
    let mut records: Vec<&Record> = all.into_iter().filter(|r| Some(r.round) == best).collect();
    let place = |r: &&Record| run.plan.candidates.iter().position(|e| e.label == r.filesystem);
    records.sort_by_key(place);
    records
}

/// A trial's time by the disk's counters, and how long the disk held requests.
struct Trial<'r> {
    record: &'r Record,
    spent: Spent,
    held_ns: Option<f64>,
}

/// Number of RAID members or flash dies of a shipped disk; 1 for other types.
fn members(disk: &str) -> Option<u64> {
    let (_, text) = SHIPPED.iter().find(|(name, _)| *name == disk)?;
    let spec = Spec::parse(text).ok()?;
    let value = spec.values().iter().find(|v| v.key == "members" || v.key == "dies");
    Some(value.and_then(|v| v.value.parse().ok()).unwrap_or(1))
}

fn times(trials: &[Trial<'_>]) -> Option<Times> {
    let longest = trials.iter().map(|t| t.spent.wall_ns).fold(0.0, f64::max);
    let top = longest * 1.04 / 1e9;
    let scale = Scale::of("s", [top]);
    (longest > 0.0).then(|| Times {
        ticks: chart::ticks(top, &scale, 4),
        rows: trials.iter().map(|trial| row(trial, longest * 1.04)).collect(),
        notes: notes(trials),
        unit: scale.unit.clone(),
    })
}

fn row(trial: &Trial<'_>, full_ns: f64) -> TimeRow {
    let Trial { record, spent, held_ns } = trial;
    let label = &record.filesystem;
    let seconds = |ns: f64| Scale::of("s", [spent.wall_ns / 1e9]).with_unit(ns / 1e9);
    let say = |ns: f64| format!("{} ({:.0}%)", seconds(ns), 100.0 * ns / spent.wall_ns);
    let mut left_ns = 0.0;
    let mut part = |class: &'static str, name: &str, ns: f64| {
        let left = percent(left_ns / full_ns * 100.0);
        left_ns += ns;
        let width = percent(ns / full_ns * 100.0);
        Part { class, left, width, words: format!("{label}: {name} {}", say(ns)) }
    };
    let parts = vec![
        part("seek", "seeking", spent.seek_ns),
        part("rotation", "rotating to the sector", spent.rotation_ns),
        part("transfer", "transferring", spent.transfer_ns),
        part("copy", "copying and erasing", spent.copy_ns),
        part("idle", "idle", spent.idle_ns),
    ];
    let beside = |class: &'static str, name: &str, ns: f64| Part {
        class,
        left: percent(0.0),
        width: percent(ns.min(spent.wall_ns) / full_ns * 100.0),
        words: format!("{label}: {name} {}", say(ns)),
    };
    let words: Vec<String> = parts.iter().map(|p| p.words.clone()).collect();
    TimeRow {
        label: label.to_owned(),
        beside: [
            held_ns.map(|ns| beside("held", "a request outstanding", ns)),
            Some(beside("overhead", "command overhead", spent.overhead_ns)),
            spent.cpu_ns.map(|ns| beside("cpu", "CPU", ns)),
        ]
        .into_iter()
        .flatten()
        .collect(),
        value: seconds(spent.wall_ns),
        words: words.join("; "),
        parts,
    }
}

/// Notes on reading the bars that apply to this disk.
fn notes(trials: &[Trial<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    let most = trials.iter().map(|t| t.spent.at_once).max().unwrap_or(1);
    if most > 1 {
        notes.push(format!(
            "This disk has {units} (RAID members or flash dies) that work in parallel. The disk's counters are \
             sums over these units, divided here by {most}: the bar is the average of one unit. While one \
             unit works, the others may be idle.",
            units = count(most as usize, "unit")
        ));
    }
    if trials.iter().all(|t| t.spent.seek_ns + t.spent.rotation_ns == 0.0) {
        notes.push(
            "The disk has no moving parts. Transferring means reading and programming requested data; \
             copying and erasing are garbage collection."
                .to_owned(),
        );
    }
    let late = |t: &Trial<'_>| {
        let share = t.spent.late_ns / t.spent.wall_ns;
        (share > LATE).then(|| format!("{} by {:.0}%", t.record.filesystem, 100.0 * share))
    };
    let late: Vec<String> = trials.iter().filter_map(late).collect();
    if !late.is_empty() {
        notes.push(format!(
            "Completions reached the guest later than the model specifies, by these shares of the whole \
             time: {shares}. Late completions may account for time that neither disk nor CPU explains.",
            shares = list(&late)
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples::model;

    fn used(run: &Run) -> DiskUse {
        let summary = crate::report::Report::of(run).summary;
        of(run, &summary.workloads[0], |_| Look::default()).expect("the disk was modelled")
    }

    #[test]
    fn every_filesystem_of_the_nominal_round_has_a_bar_and_a_picture() {
        let example = model::samples(2);
        let used = used(&example.run);
        assert_eq!(
            (used.round.as_str(), used.unfolded),
            ("round 1, with the disk as its file describes it", true)
        );
        assert_eq!((used.spent.rows.len(), used.pictures.len()), (4, 4));
        let picture = used.pictures[0].picture.as_ref().expect("the requests are there");
        assert_eq!(picture.counts, "1,800 writes, 180 reads, 20 flushes");
        // The bar is 35 % of the longest bar, which ends 4 % before the end of the chart.
        assert_eq!(used.spent.rows[0].parts[0].width, "33.65%");
    }

    #[test]
    fn a_list_that_is_missing_or_altered_gives_a_sentence() {
        let mut example = model::samples(1);
        let files: Vec<String> =
            example.run.records.iter().filter_map(|r| Some(r.requests.as_ref()?.path.clone())).collect();
        let folder = example.folder();
        std::fs::remove_file(folder.join(&files[0])).unwrap();
        std::fs::write(folder.join(&files[1]), "others").unwrap();
        example.run.records[2].requests = None;
        let said: Vec<String> =
            used(&example.run).pictures.into_iter().filter_map(|p| p.picture.err()).collect();
        let said = said.join(" ");
        for why in ["No such file", "differs from the file that was stored", "was not kept"] {
            assert!(said.contains(why), "{said}");
        }
    }
}
