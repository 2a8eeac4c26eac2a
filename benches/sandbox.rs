//! What it costs a trial's figures that its tools and its worker are bounded: another program's agent, one from before that
//! for instance, and ours carry the same job out in turns, and each step's time is compared as a ratio.
//!
//! Half of the pairs begin with ours. A ratio is ours to the other's; its median and its quartiles are printed, and those of
//! the CPU time where a step has one: other load on the machine moves the first more than the second. Needs root, as `loop` does.
//!
//! `cargo bench --bench sandbox -- PROGRAM [PAIRS [KIND [STEP]]]`: with a step, trials end after it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail, ensure};
use fsderby::agent::channel::decode;
use fsderby::runner::experiment::Experiment;
use fsderby::runner::plan::jobs;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::schema::event::{Event, Stepped};
use fsderby::schema::job::Job;
use fsderby::testbeds;

const OURS: &str = env!("CARGO_BIN_EXE_fsderby");
const PAIRS: usize = 20;
const KINDS: [&str; 3] = ["ext4", "xfs", "btrfs"];
/// mkfs and mount, what the work does, and what follows: all that a sandbox could make slower.
const STEPS: [&str; 6] = ["make", "mount", "work", "sync", "unmount", "check-emptied"];

/// What is compared with what, and how much of it.
struct Bench<'a> {
    other: &'a Path,
    pairs: usize,
    kinds: &'a [&'a str],
    /// Trials end after this step.
    last: Option<&'a str>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            println!("sandbox bench: not run, as no other program is named");
            Ok(())
        }
        [other, ref more @ ..] if more.len() <= 3 => bench(other, more),
        _ => Err(anyhow::anyhow!("write a program, how many pairs, a kind and a step")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sandbox bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench(other: &str, more: &[&str]) -> anyhow::Result<()> {
    let pairs = more.first().map_or(Ok(PAIRS), |pairs| pairs.parse());
    let pairs = pairs.context("the number of pairs is no number")?;
    let kinds = if more.len() > 1 { &more[1..2] } else { &KINDS };
    let bench = Bench { other: Path::new(other), pairs, kinds, last: more.get(2).copied() };
    println!("ours ÷ {other}, {pairs} pairs: median (quartiles) of the time, and of the CPU time");
    for kind in bench.kinds {
        bench.compare(kind)?;
    }
    Ok(())
}

impl Bench<'_> {
    fn compare(&self, kind: &str) -> anyhow::Result<()> {
        let mut ratios: BTreeMap<&str, Ratios> = BTreeMap::new();
        for round in 0..self.pairs {
            let job = self.job(kind, round)?;
            let (ours, theirs) = if round % 2 == 0 {
                let ours = costs(Path::new(OURS), &job)?;
                (ours, costs(self.other, &job)?)
            } else {
                let theirs = costs(self.other, &job)?;
                (costs(Path::new(OURS), &job)?, theirs)
            };
            for step in self.steps() {
                let (ours, theirs) = (ours.get(*step), theirs.get(*step));
                let (ours, theirs) =
                    ours.zip(theirs).with_context(|| format!("{kind} has no step {step}"))?;
                ratios.entry(step).or_default().add(ours, theirs);
            }
        }
        for step in self.steps() {
            let Some(ratios) = ratios.get_mut(step) else { bail!("there are no pairs") };
            println!("{kind:6} {step:14} {}", ratios.said());
        }
        Ok(())
    }

    fn steps(&self) -> &[&str] {
        let last = STEPS.iter().position(|step| Some(*step) == self.last);
        &STEPS[..last.map_or(STEPS.len(), |last| last + 1)]
    }

    fn job(&self, kind: &str, round: usize) -> anyhow::Result<Job> {
        let experiment = format!(
            "workloads = ['postmark-quick']\nsize = '512m'\nfilesystems = ['{kind}']\nseed = {round}\nmemory = '24m'"
        );
        let plan = Experiment::parse(&experiment, "bench")?.plan("loop".into(), 1)?;
        let testbed = testbeds::parse("loop").map_err(anyhow::Error::msg)?;
        let trial = plan.round(1).next().context("the plan has no trial")?;
        let mut job = jobs::job(
            &Resolved::of(&plan)?,
            &trial,
            1,
            &*testbed,
            &format!("{}-{round:032x}", std::process::id()),
        );
        if let Some(last) = self.last {
            let at = job.steps.iter().position(|step| step.name().to_string() == last);
            job.steps.truncate(at.with_context(|| format!("{kind} has no step {last}"))? + 1);
        }
        Ok(job)
    }
}

/// Of one step, over all pairs.
#[derive(Default)]
struct Ratios {
    time: Vec<f64>,
    cpu: Vec<f64>,
}

impl Ratios {
    fn add(&mut self, ours: &Stepped, theirs: &Stepped) {
        let cpu = |step: &Stepped| (step.user_ns + step.sys_ns) as f64;
        self.time.push(ours.ns as f64 / theirs.ns as f64);
        if cpu(theirs) > 0.0 {
            self.cpu.push(cpu(ours) / cpu(theirs));
        }
    }

    fn said(&mut self) -> String {
        let cpu = if self.cpu.is_empty() { "-".to_owned() } else { quartiles(&mut self.cpu) };
        format!("{}   {cpu}", quartiles(&mut self.time))
    }
}

fn quartiles(ratios: &mut [f64]) -> String {
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios[((ratios.len() - 1) as f64 * share).round() as usize];
    format!("{:.3} ({:.3} to {:.3})", at(0.5), at(0.25), at(0.75))
}

/// What each step cost.
fn costs(program: &Path, job: &Job) -> anyhow::Result<BTreeMap<String, Stepped>> {
    let mut agent =
        Command::new(program).arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut lifeline = agent.stdin.take().context("the agent has no input")?;
    writeln!(lifeline, "{}", serde_json::to_string(job)?)?;
    let mut costs = BTreeMap::new();
    for (line, number) in
        BufReader::new(agent.stdout.take().context("the agent says nothing")?).lines().zip(0..)
    {
        match decode(&line?, number).map_err(anyhow::Error::msg)? {
            Event::Stepped(stepped) => {
                costs.insert(stepped.step.to_string(), stepped);
            }
            Event::Failed { text, .. } => bail!("{} failed: {text}", program.display()),
            _ => {}
        }
    }
    ensure!(agent.wait()?.success(), "{} did not end well", program.display());
    Ok(costs)
}
