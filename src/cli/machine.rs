//! `fsderby machine`: measures this computer, for use as a machine of modelled disks.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::{Args, Subcommand};

use super::output::print_line;
use super::own_run;
use crate::analysis::robust::{COST, COST_IN_USER_SPACE};
use crate::exit::{self, Failure};
use crate::host::caller::write_new;
use crate::runner::experiment::Experiment;
use crate::schema::job::{Purpose, StepName};
use crate::schema::reason::Outcome;
use crate::schema::record::Record;
use crate::testbeds::model::machines::{INSTRUCTIONS, Machine, SPEEDS, Sourced, Values};

/// Path of this computer's RAM disk.
const HERE: &str = "loop:/dev/shm";
/// CPU speed given to the guest while its instructions are counted; it changes their duration, not their number.
const COUNTED_AT: u32 = 1000;
/// This workload runs in memory here and in the guest. Its CPU time is compared and not its elapsed time: here it also waits for
/// what threads of the kernel do on other CPUs.
const WORK: &str = "postmark-quick";

#[derive(Subcommand)]
pub enum MachineCommand {
    /// Measure how many instructions per second this computer executes in filesystem workloads, and write a machine
    /// file
    Measure(Measure),
}

#[derive(Args)]
pub struct Measure {
    /// Filesystems, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "ext2,ext4,xfs,btrfs")]
    filesystems: Vec<String>,
    /// Number of rounds on this computer; as many rounds then run in a guest
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Machine file to write; its name becomes the machine's name
    #[arg(long, default_value = "machine.toml")]
    output: PathBuf,
}

pub fn run(command: &MachineCommand) -> anyhow::Result<ExitCode> {
    let MachineCommand::Measure(measure) = command;
    let name = name_of(&measure.output)?;
    ensure_free(&measure.output)?;
    let desk = tempfile::tempdir().context("could not create a folder for the measurements")?;
    let instructions = own_instructions()?;
    // The guest's CPU gets this CPU's instructions; its speed is what the measurement finds.
    let counted = Machine::of("counted", COUNTED_AT, "only counted", &instructions);
    let file = desk.path().join("counted.toml");
    fs::write(&file, toml::to_string(&counted)?).context("could not write a file for the guest")?;
    let guest = format!("model:zero,machine={},samples=off", file.display());
    let there = times(measure, &guest, &desk.path().join("there"))?;
    let here = times(measure, HERE, &desk.path().join("here"))?;
    let speeds = speeds(&there, &here);
    ensure!(
        !speeds.is_empty(),
        "no filesystem was measured both here and in a guest\n  try: --filesystems ext4"
    );
    for (filesystem, all) in &speeds {
        print_line(&format!("{filesystem:<14} {}", said(all)))?;
    }
    let machine = Machine::of(&name, middle_of(&speeds)?, &source(&speeds), &instructions);
    write(&measure.output, &machine)?;
    let (mips, file) = (machine.values.mips.is, measure.output.display());
    print_line(&format!(
        "{spread}\n{mips} million instructions per second, written to {file}\n\n  fsderby run --on \
            model:hdd-16tb,machine=./{file}",
        spread = spread(&speeds)
    ))?;
    Ok(ExitCode::from(exit::OK))
}

/// The file's name is the machine's name.
fn name_of(output: &Path) -> anyhow::Result<String> {
    let stem = output.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if stem.is_empty() || !stem.chars().all(is_plain) {
        let what = format!("{} is not a machine's name: use letters, digits and hyphens", output.display());
        return Err(Failure::usage(format!("{what}\n  try: --output my-computer.toml")).into());
    }
    Ok(stem.to_owned())
}

fn ensure_free(output: &Path) -> anyhow::Result<()> {
    match output.exists() {
        true => Err(Failure::usage(format!(
            "{} already exists and is not overwritten\n  try: --output OTHER.toml",
            output.display()
        ))
        .into()),
        false => Ok(()),
    }
}

fn write(output: &Path, machine: &Machine) -> anyhow::Result<()> {
    let text = toml::to_string(machine)?;
    write_new(output, |file| file.write_all(text.as_bytes()))
        .with_context(|| format!("could not write {}", output.display()))
}

/// The instructions of [`INSTRUCTIONS`] that this computer's CPU has.
fn own_instructions() -> anyhow::Result<Vec<String>> {
    let info = fs::read_to_string("/proc/cpuinfo").context("could not read /proc/cpuinfo")?;
    Ok(known(&info))
}

fn known(info: &str) -> Vec<String> {
    let line = info.lines().find_map(|line| line.strip_prefix("flags")).unwrap_or_default();
    let has = |name: &str| line.split_whitespace().any(|flag| flag == name.replace('.', "_"));
    INSTRUCTIONS.iter().map(|(name, _)| *name).filter(|name| has(name)).map(str::to_owned).collect()
}

/// CPU time of the workload in nanoseconds, by filesystem and round.
type Times = BTreeMap<String, BTreeMap<u32, u64>>;

/// Runs the workload on this testbed and returns its CPU times.
fn times(measure: &Measure, on: &str, folder: &Path) -> anyhow::Result<Times> {
    let quoted: Vec<String> = measure.filesystems.iter().map(|name| format!("{name:?}")).collect();
    let text = format!(
        "name = 'machine'\non = {on:?}\nsize = '1g'\nscale = '1/4'\nworkloads = ['{WORK}']\nfilesystems = [{}]\n\
         rounds = {}\nseed = 1\n",
        quoted.join(", "),
        measure.rounds
    );
    let records = own_run::records(&Experiment::parse(&text, "machine")?, on, folder);
    Ok(of_work(&records.context("no machine file is written")?))
}

fn of_work(records: &[Record]) -> Times {
    let mut times = Times::new();
    let measured = records.iter().filter(|r| r.purpose == Purpose::Measure && r.outcome == Outcome::Done);
    for record in measured {
        let work = record.steps.iter().filter(|step| step.step == StepName::Work);
        times
            .entry(record.filesystem.clone())
            .or_default()
            .insert(record.round, work.map(|step| step.user_ns + step.sys_ns).sum());
    }
    times
}

/// Million instructions per second of each round measured both here and in a guest, in ascending order.
fn speeds(there: &Times, here: &Times) -> BTreeMap<String, Vec<u64>> {
    let mut speeds = BTreeMap::new();
    for (filesystem, counted) in there {
        let own = here.get(filesystem);
        let of_round = |(round, ns): (&u32, &u64)| {
            let own_ns = own?.get(round).filter(|ns| **ns > 0)?;
            Some(ns * u64::from(COUNTED_AT) / own_ns)
        };
        let mut all: Vec<u64> = counted.iter().filter_map(of_round).collect();
        all.sort_unstable();
        if !all.is_empty() {
            speeds.insert(filesystem.clone(), all);
        }
    }
    speeds
}

/// The speed of this computer: the median of the filesystems' median speeds.
///
/// # Errors If the speed is outside the range of modelled machines.
fn middle_of(speeds: &BTreeMap<String, Vec<u64>>) -> anyhow::Result<u32> {
    let mut medians: Vec<u64> = speeds.values().map(|all| all[all.len() / 2]).collect();
    medians.sort_unstable();
    let middle = u32::try_from(medians[medians.len() / 2])?;
    let (least, most) = SPEEDS.into_inner();
    ensure!(
        SPEEDS.contains(&middle),
        "measured {middle} million instructions per second, but a modelled machine must have {least} to {most}\n  try: an \
            idle computer"
    );
    Ok(middle)
}

/// How far the filesystems' speeds lie apart, beside what findings allow for; empty for a single filesystem.
fn spread(speeds: &BTreeMap<String, Vec<u64>>) -> String {
    let logs: Vec<f64> = speeds.values().map(|all| (all[all.len() / 2] as f64).ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
    let apart = logs.iter().map(|log| (log - mean).abs()).fold(0.0, f64::max).exp();
    match logs.len() {
        0 | 1 => String::new(),
        n => format!(
            "\nThe cost of an instruction differs from the mean of these {n} filesystems by a factor of up to \
             {apart:.2}; findings on modelled disks allow for {COST} ({COST_IN_USER_SPACE} in user space).\n"
        ),
    }
}

fn said(speeds: &[u64]) -> String {
    let (least, most) = (speeds.first().unwrap_or(&0), speeds.last().unwrap_or(&0));
    format!("{} ({least} to {most})", speeds[speeds.len() / 2])
}

fn source(speeds: &BTreeMap<String, Vec<u64>>) -> String {
    let each: Vec<String> = speeds.iter().map(|(name, speeds)| format!("{name} {}", said(speeds))).collect();
    format!(
        "measured by fsderby machine measure, {WORK}: instructions in a guest with a zero-latency disk, divided \
         by the CPU time here on an image in memory; median, minimum and maximum of {} rounds: {}",
        speeds.values().map(Vec::len).max().unwrap_or(0),
        each.join(", ")
    )
}

impl Machine {
    /// A machine with measured and looked-up values.
    fn of(name: &str, mips: u32, source: &str, instructions: &[String]) -> Machine {
        let sourced = |text: &str| Some(text.to_owned());
        Machine {
            name: name.to_owned(),
            title: "A measured computer".into(),
            story: "The computer that wrote this file. The model has one CPU.".into(),
            values: Values {
                mips: Sourced { is: mips, source: sourced(source), estimate: None },
                instructions: Sourced {
                    is: instructions.to_vec(),
                    source: sourced(
                        "/proc/cpuinfo of this computer, limited to instructions of the emulated CPU",
                    ),
                    estimate: None,
                },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_of_rounds_that_both_sides_have() {
        let times = |all: &[(&str, &[(u32, u64)])]| -> Times {
            all.iter().map(|(name, rounds)| ((*name).to_owned(), rounds.iter().copied().collect())).collect()
        };
        let there = times(&[("a", &[(1, 4000), (2, 6000), (3, 5000)]), ("b", &[(1, 100)])]);
        let here = times(&[("a", &[(1, 2000), (2, 2000)]), ("c", &[(1, 7)])]);
        let speeds = speeds(&there, &here);
        assert_eq!(speeds, BTreeMap::from([("a".to_owned(), vec![2000, 3000])]));
        assert_eq!(middle_of(&speeds).unwrap(), 3000);
        assert!(source(&speeds).ends_with("2 rounds: a 3000 (2000 to 3000)"));
        assert!(middle_of(&BTreeMap::from([("a".to_owned(), vec![9000])])).is_err());
    }

    #[test]
    fn what_is_written_is_a_machine() {
        let instructions = known("model name : M\nflags\t\t: fpu sse4_2 avx avx512f rdrand\n");
        assert_eq!(instructions, ["sse4.2", "avx"]);
        let machine = Machine::of("mine", 2345, &source(&BTreeMap::new()), &instructions);
        assert_eq!(Machine::parse(&toml::to_string(&machine).unwrap()), Ok(machine));
        assert_eq!(name_of(Path::new("a/my-computer.toml")).unwrap(), "my-computer");
        assert!(name_of(Path::new("a b.toml")).is_err());
    }
}
