//! Our random reads beside fio's, on one mounted filesystem: reads of 4 KiB a second, one at a time, of one file whose pages are not
//! cached, on ext4 over a loop device (as root).
//!
//! Both read the same file in turns, each as many blocks, with the kernel's read-ahead as it comes. What the ratio has above 1 is
//! what our engine costs beside fio. Promise: at most 5 % apart.
//!
//! `cargo bench --bench fio [-- ROUNDS]`

#[path = "support/ext4.rs"]
mod ext4;

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, ensure};
use ext4::Ext4;
use fsderby::schema::event::Phase;
use fsderby::schema::job::Portion;
use fsderby::workloads::{self, Clock, Histogram, Log, OpError, Progress, Work};
use fsderby_sys::process::monotonic_ns;
use rustix::fs::{Advice, fadvise};

const ROUNDS: usize = 25;
const LIMIT: f64 = 0.05;
/// Enough that what either does once (a thread, a map of blocks) is below a hundredth.
const READS: u64 = 16384;
const MIB: u64 = 256;
/// The file of the work, the only large one.
const FILE: &str = "large/1";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let rounds = arguments.first().map_or(Ok(ROUNDS), |text| text.parse().context("no number of rounds"));
    match rounds.and_then(bench) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fio bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench(rounds: usize) -> anyhow::Result<()> {
    let ext4 = Ext4::new()?;
    std::env::set_current_dir(ext4.mount())?;
    let done = compare(rounds);
    // Otherwise the filesystem cannot be unmounted.
    std::env::set_current_dir("/")?;
    done
}

fn compare(rounds: usize) -> anyhow::Result<()> {
    let parameters = format!(
        "files = 1\nper_folder = 1\nsizes = [{{ up_to = '4k', weight = 1 }}]\nlarge_files = 1\nlarge_size = '{MIB}m'\n\
         reads = {READS}"
    );
    let engine = workloads::engine("coldread").context("there is no engine coldread")?;
    let work = engine.parse(&parameters.parse()?).map_err(anyhow::Error::msg)?;
    ours(&*work, 1, "create")?;
    let mut rates = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        // Who begins changes.
        for turn in [round % 2, (round + 1) % 2] {
            forget()?;
            rates[turn].push(if turn == 0 { ours(&*work, 1, "pread-random")? } else { fios(round)? });
        }
    }
    let mut ratios: Vec<f64> = rates[0].iter().zip(&rates[1]).map(|(ours, fios)| ours / fios).collect();
    ratios.sort_by(f64::total_cmp);
    let ratio = ratios[ratios.len() / 2];
    let [ours, fios] = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    });
    println!(
        "Random reads of 4 KiB a second, medians of {rounds} rounds: ours {ours:.0}, fio {fios:.0}, ratio {ratio:.3}"
    );
    ensure!((ratio - 1.0).abs() <= LIMIT, "they are more than {:.0} % apart", 100.0 * LIMIT);
    println!("the promise is kept");
    Ok(())
}

/// Everything of the file that is cached.
fn forget() -> anyhow::Result<()> {
    let file = File::open(FILE).with_context(|| format!("could not open {FILE}"))?;
    file.sync_all()?;
    Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
}

/// Reads a second of this part of the work.
fn ours(work: &dyn Work, seed: u64, part: &str) -> anyhow::Result<f64> {
    let portion = Portion { part: Some(part.to_owned()), ..Portion::WHOLE };
    let mut ready = work.prepare(seed, &portion).map_err(anyhow::Error::msg)?;
    let mut log = Timed::default();
    ready.run(&Monotonic, &mut log).map_err(|e: OpError| anyhow::anyhow!("{e}"))?;
    Ok(READS as f64 / (log.ns as f64 / 1e9))
}

fn fios(round: usize) -> anyhow::Result<f64> {
    let options = [
        "--name=reads",
        "--rw=randread",
        "--bs=4k",
        "--ioengine=psync",
        "--invalidate=0",
        "--fadvise_hint=0",
        "--output-format=json",
        "--thread",
    ];
    let output = Command::new("fio")
        .args(options)
        .arg(format!("--filename={FILE}"))
        .args([format!("--size={MIB}m"), format!("--number_ios={READS}"), format!("--randseed={round}")])
        .output()
        .context("could not run fio")?;
    ensure!(output.status.success() && Path::new(FILE).exists(), "fio ended with {}", output.status);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let read = &json["jobs"][0]["read"];
    let number = |key: &str| read[key].as_f64().with_context(|| format!("fio reports no {key}"));
    ensure!(number("total_ios")? as u64 == READS, "fio read {} blocks", number("total_ios")?);
    number("iops")
}

struct Monotonic;

impl Clock for Monotonic {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }
}

/// Keeps the time of the last phase.
#[derive(Default)]
struct Timed {
    ns: u64,
    progress: Progress,
}

impl Log for Timed {
    fn phase(&mut self, phase: Phase) {
        self.ns = phase.ns;
    }

    fn histogram(&mut self, _phase: &'static str, _operation: &str, _latencies: &Histogram) {}

    fn progress(&self) -> &Progress {
        &self.progress
    }
}
