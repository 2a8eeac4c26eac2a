//! What it costs a trial's figures that its tools and its worker are bounded: another program's agent, one from before that
//! for instance, and ours carry the same job out in turns, and each step's time is compared as a ratio.
//!
//! Half of the pairs begin with ours. A ratio is ours to the other's; its median and its quartiles are printed. Needs root, as
//! `loop` does.
//!
//! `cargo bench --bench sandbox -- PROGRAM [ROUNDS]`

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail, ensure};
use fsderby::agent::channel::decode;
use fsderby::runner::experiment::Experiment;
use fsderby::runner::jobs;
use fsderby::schema::event::Event;
use fsderby::schema::job::Job;
use fsderby::testbeds;

const OURS: &str = env!("CARGO_BIN_EXE_fsderby");
const ROUNDS: usize = 20;
const KINDS: [&str; 3] = ["ext4", "xfs", "btrfs"];
/// mkfs and mount, what the work does, and what follows: all that a sandbox could make slower.
const STEPS: [&str; 6] = ["make", "mount", "work", "sync", "unmount", "check-emptied"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            println!("sandbox bench: not run, as no other program is named");
            Ok(())
        }
        [other] => bench(Path::new(other), ROUNDS),
        [other, rounds] => rounds
            .parse()
            .context("the number of rounds is no number")
            .and_then(|n| bench(Path::new(other), n)),
        _ => Err(anyhow::anyhow!("write a program, and how many rounds")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sandbox bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench(other: &Path, rounds: usize) -> anyhow::Result<()> {
    println!("ours ÷ {}, {rounds} pairs: median (quartiles)", other.display());
    for kind in KINDS {
        let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for round in 0..rounds {
            let job = job(kind, round)?;
            let (ours, theirs) = if round % 2 == 0 {
                let ours = times(Path::new(OURS), &job)?;
                (ours, times(other, &job)?)
            } else {
                let theirs = times(other, &job)?;
                (times(Path::new(OURS), &job)?, theirs)
            };
            for step in STEPS {
                let (ours, theirs) = (ours.get(step), theirs.get(step));
                let (ours, theirs) =
                    ours.zip(theirs).with_context(|| format!("{kind} has no step {step}"))?;
                ratios.entry(step).or_default().push(*ours as f64 / *theirs as f64);
            }
        }
        for step in STEPS {
            let Some(ratios) = ratios.get_mut(step) else { bail!("there are no rounds") };
            ratios.sort_by(f64::total_cmp);
            let at = |share: f64| ratios[((ratios.len() - 1) as f64 * share).round() as usize];
            println!("{kind:6} {step:14} {:.3} ({:.3} to {:.3})", at(0.5), at(0.25), at(0.75));
        }
    }
    Ok(())
}

fn job(kind: &str, round: usize) -> anyhow::Result<Job> {
    let experiment = format!(
        "workloads = ['postmark-quick']\nsize = '512m'\nfilesystems = ['{kind}']\nseed = {round}\nmemory = '24m'"
    );
    let plan = Experiment::parse(&experiment, "bench")?.plan("loop".into(), 1)?;
    let testbed = testbeds::parse("loop").map_err(anyhow::Error::msg)?;
    let trial = plan.round(1).next().context("the plan has no trial")?;
    Ok(jobs::job(&plan, &trial, 1, &*testbed, &format!("{}-{round:032x}", std::process::id())))
}

/// Nanoseconds of each step.
fn times(program: &Path, job: &Job) -> anyhow::Result<BTreeMap<String, u64>> {
    let mut agent =
        Command::new(program).arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut lifeline = agent.stdin.take().context("the agent has no input")?;
    writeln!(lifeline, "{}", serde_json::to_string(job)?)?;
    let mut times = BTreeMap::new();
    for (line, number) in
        BufReader::new(agent.stdout.take().context("the agent says nothing")?).lines().zip(0..)
    {
        match decode(&line?, number).map_err(anyhow::Error::msg)? {
            Event::Stepped(stepped) => {
                times.insert(stepped.step.to_string(), stepped.ns);
            }
            Event::Failed { text, .. } => bail!("{} failed: {text}", program.display()),
            _ => {}
        }
    }
    ensure!(agent.wait()?.success(), "{} did not end well", program.display());
    Ok(times)
}
