//! `fsderby disk twin`: the same workload on the same modelled disk in virtual time and in real time.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::Args;
use fsderby_stats::median;

use crate::cli::output::print;
use crate::cli::own_run;
use crate::exit;
use crate::host::caller::create_folder;
use crate::probes;
use crate::runner::experiment::Experiment;
use crate::schema::job::Purpose;
use crate::schema::reason::Outcome;
use crate::schema::record::Record;

/// The workload and its scale; a hard disk needs some seconds to a minute for this workload.
const WORK: [(&str, &str); 3] =
    [("maildir-quick", "1/4"), ("postmark-quick", "1"), ("coldread-quick", "1/4")];

#[derive(Args)]
pub struct Twin {
    /// A hard disk of `fsderby list disks`, or a disk file
    #[arg(long, default_value = "hdd-16tb")]
    disk: String,
    /// Filesystems of this machine's kernel, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "ext4,xfs,btrfs")]
    filesystems: Vec<String>,
    /// Number of rounds in virtual time; as many rounds then run in real time
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Million instructions per second in virtual time; with the default, the disk is the bottleneck
    #[arg(long, default_value_t = 8000)]
    mips: u32,
    /// Folder for the runs; it is created
    #[arg(long, default_value = "twin")]
    output: PathBuf,
}

pub fn run(twin: &Twin) -> anyhow::Result<ExitCode> {
    create_folder(&twin.output)
        .with_context(|| format!("could not create the folder {}", twin.output.display()))?;
    measure(twin).inspect_err(|_| {
        // A refused command leaves no folder; one with runs in it is not removed.
        let _ = std::fs::remove_dir(&twin.output);
    })
}

fn measure(twin: &Twin) -> anyhow::Result<ExitCode> {
    let mut all = Rows::new();
    for (workload, scale) in WORK {
        for (side, on) in twin.sides().into_iter().enumerate() {
            let name = format!("{workload}-{}", on.split(':').next().unwrap_or_default());
            let records = twin.records(workload, scale, &on, &twin.output.join(name))?;
            collect(&mut all, &records, side);
        }
    }
    let text = table(&all);
    ensure!(!text.is_empty(), "nothing was measured both in virtual and in real time\n  try: fsderby doctor");
    print(&text)?;
    Ok(ExitCode::from(exit::OK))
}

impl Twin {
    /// Virtual and real time.
    fn sides(&self) -> [String; 2] {
        let Twin { disk, mips, .. } = self;
        [format!("model:{disk},mips={mips},samples=off"), format!("twin:{disk}")]
    }

    /// Results of this workload.
    fn records(&self, workload: &str, scale: &str, on: &str, folder: &Path) -> anyhow::Result<Vec<Record>> {
        let quoted: Vec<String> = self.filesystems.iter().map(|name| format!("{name:?}")).collect();
        let text = format!(
            "name = 'twin'\non = {on:?}\nsize = '1g'\nmemory = '256m'\nscale = '{scale}'\nworkloads = ['{workload}']\nfilesystems = [{}]\n\
             rounds = {}\nseed = 7\n",
            quoted.join(", "),
            self.rounds
        );
        own_run::records(&Experiment::parse(&text, "twin")?, on, folder)
    }
}

/// The figures of each round, first in virtual time, then in real time.
type Sides = [BTreeMap<u32, f64>; 2];

/// Results, sorted by workload and metric, then by filesystem.
type Rows = BTreeMap<(String, String), BTreeMap<String, Row>>;

#[derive(Default)]
struct Row {
    unit: String,
    values: Sides,
    requests: Sides,
    /// Nanoseconds of seeks and rotation.
    moves: Sides,
    /// In real time: number of late completions, and their total delay in nanoseconds.
    late: [f64; 2],
}

fn collect(all: &mut Rows, records: &[Record], side: usize) {
    let measured = records.iter().filter(|r| r.purpose == Purpose::Measure && r.outcome == Outcome::Done);
    for record in measured {
        let disk = |counter| probes::counted(record, "disk", counter).unwrap_or(0) as f64;
        for metric in record.metrics.iter().filter(|metric| metric.headline) {
            let key = (record.scenario.clone(), metric.name.clone());
            let row = all.entry(key).or_default().entry(record.filesystem.clone()).or_default();
            row.unit.clone_from(&metric.unit);
            row.values[side].insert(record.round, metric.value);
            row.requests[side].insert(record.round, disk("reads") + disk("writes") + disk("flushes"));
            let moves = disk("seek_ns") + disk("rotation_ns") + disk("transfer_ns");
            row.moves[side].insert(record.round, moves);
            if side == 1 {
                row.late = [row.late[0] + disk("late"), row.late[1] + disk("late_ns")];
            }
        }
    }
}

/// The results as Markdown; empty if nothing was measured both in virtual and in real time.
fn table(all: &Rows) -> String {
    let mut text = String::new();
    for ((workload, metric), rows) in all {
        for (filesystem, row) in rows {
            let [Some(rates), Some(requests), Some(moves)] =
                [&row.values, &row.requests, &row.moves].map(ratios)
            else {
                continue;
            };
            let answers: f64 = row.requests[1].values().sum();
            let late_us = row.late[1] / row.late[0].max(1.0) / 1000.0;
            let _ = writeln!(
                text,
                "| {workload} | {metric} | {filesystem} | {} | {} {} | {:.2} ({:.2} to {:.2}) | {:.2} | {:.2} | {:.0} %, {late_us:.0} µs |",
                shown(middle(row.values[0].values())),
                shown(middle(row.values[1].values())),
                row.unit,
                middle(rates.iter()),
                rates.first().unwrap_or(&0.0),
                rates.last().unwrap_or(&0.0),
                middle(requests.iter()),
                middle(moves.iter()),
                100.0 * row.late[0] / answers.max(1.0),
            );
        }
    }
    if text.is_empty() {
        return text;
    }
    "| workload | metric | filesystem | virtual | real | real ÷ virtual (rounds) | requests | seeks and rotation \
     | late completions, by |\n|---|---|---|---|---|---|---|---|---|\n"
        .to_owned()
        + &text
}

/// Real-time ÷ virtual-time value of each round that both runs have, in ascending order.
fn ratios([there, here]: &Sides) -> Option<Vec<f64>> {
    let of = |(round, real): (&u32, &f64)| {
        there.get(round).filter(|value| **value > 0.0).map(|value| real / value)
    };
    let mut all: Vec<f64> = here.iter().filter_map(of).collect();
    all.sort_by(f64::total_cmp);
    (!all.is_empty()).then_some(all)
}

fn middle<'a>(all: impl Iterator<Item = &'a f64>) -> f64 {
    median(&all.copied().collect::<Vec<f64>>()).unwrap_or(0.0)
}

fn shown(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rounds_of_both_sides_are_compared() {
        let sides = |there: &[(u32, f64)], here: &[(u32, f64)]| -> Sides {
            [there, here].map(|side| side.iter().copied().collect())
        };
        let both = sides(&[(1, 10.0), (2, 20.0), (3, 5.0)], &[(1, 11.0), (2, 10.0), (4, 7.0)]);
        assert_eq!(ratios(&both), Some(vec![0.5, 1.1]));
        assert_eq!(ratios(&sides(&[(1, 1.0)], &[(2, 1.0)])), None);
        let row = Row {
            unit: "1/s".into(),
            values: both.clone(),
            requests: both.clone(),
            moves: both,
            late: [2.0, 9000.0],
        };
        let all = Rows::from([(("w".into(), "m".into()), BTreeMap::from([("f".into(), row)]))]);
        let text = table(&all);
        assert!(
            text.contains("| w | m | f | 10.0 | 10.0 1/s | 0.80 (0.50 to 1.10) | 0.80 | 0.80 | 7 %, 4 µs |"),
            "{text}"
        );
        assert!(table(&Rows::new()).is_empty());
    }
}
