//! IOzone as a trial: every pair of sizes, every test, with all reads checked.

use std::sync::atomic::Ordering::Relaxed;

use super::content::{Content, Written};
use super::matrix::Pair;
use super::metrics;
use super::parameters::Parameters;
use super::passes::{self, Passes, Turns, written_by};
use super::table::{Pass, Test};
use crate::schema::event::Phase;
use crate::schema::job::Portion;
use crate::schema::metric::Metric;
use crate::schema::units::{Bytes, sum};
use crate::schema::work::{Amount, LiveFile};
use crate::workloads::{Clock, Durable, Log, Needs, OpError, Ready, Work};

/// The number of records that must fit into a trial's memory.
const RECORDS: u64 = 5;

/// The file's name in IOzone.
pub const FILE: &str = "iozone.tmp";

impl Work for Parameters {
    fn needs(&self) -> Needs {
        // Memory holds a record in the buffer, and in the page cache the written data that waits for a journal. With records of
        // 16 MiB a data-journalling filesystem needs 96 MiB; 64 MiB are too few.
        let record = self.pairs.iter().map(|pair| pair.record).max().unwrap_or_default();
        Needs {
            largest_file: Bytes(self.largest()),
            memory: Bytes(record.saturating_mul(RECORDS)),
            ..Needs::default()
        }
    }

    fn amount(&self, _seed: u64) -> Amount {
        let moved = |of: fn((u64, u64)) -> u64| {
            let of_pair = |pair: &Pair| {
                let passes = self.all_passes().map(|pass| of(pass.split(pair.records())));
                sum(passes).saturating_mul(pair.record)
            };
            sum(self.pairs.iter().map(of_pair))
        };
        Amount {
            files_peak: 1,
            bytes_read: moved(|(reads, _)| reads),
            bytes_written: moved(|(_, writes)| writes),
            bytes_peak: self.largest(),
        }
    }

    fn prepare(&self, seed: u64, portion: &Portion) -> Result<Box<dyn Ready>, String> {
        let Portion { part, stop_after, keep_files } = portion;
        let part = part.as_deref().map(|name| self.part(name)).transpose()?;
        let last = self.pairs.len().saturating_sub(1);
        let pairs = if *keep_files { self.pairs[last..].to_vec() } else { self.pairs.clone() };
        let parameters = Parameters { pairs, ..self.clone() };
        let tests = part.map_or_else(|| self.tests.clone(), |test| vec![test]);
        let ends = part.is_none_or(|test| self.tests.last() == Some(&test));
        let one: u64 = sum(tests.iter().map(|test| self.passes(*test).count() as u64));
        let all = sum(parameters.pairs.iter().map(|pair| pair.records().saturating_mul(one)));
        Ok(Box::new(Trial {
            seed,
            written: part.and_then(|test| parameters.written_before(test)),
            steps: stop_after.map_or(all, |last| last.min(all)),
            stops: stop_after.is_some(),
            removes: ends && !keep_files,
            parameters,
            tests,
            left: Vec::new(),
        }))
    }

    fn operations(&self) -> u64 {
        let passes = self.all_passes().count() as u64;
        sum(self.pairs.iter().map(|pair| pair.records().saturating_mul(passes)))
    }

    /// Each writing pass ends with a sync. While another pass overwrites the file, its content is not durable.
    fn durable(&self, seed: u64, operations: u64) -> Durable {
        let mut left = operations;
        for pair in &self.pairs {
            let mut synced = None;
            for pass in self.all_passes() {
                if left <= pair.records() {
                    let files = synced.filter(|_| left > 0 && !pass.writes());
                    let live = files.map(|written| live(*pair, seed, written));
                    return Durable { files: live.into_iter().collect(), named: false };
                }
                left -= pair.records();
                synced = Some(written_by(pass, synced.unwrap_or_default()));
            }
        }
        Durable::default()
    }

    fn metrics(&self, phases: &[Phase]) -> Vec<Metric> {
        metrics::metrics(phases)
    }

    fn metrics_version(&self) -> u32 {
        metrics::VERSION
    }
}

impl Parameters {
    fn largest(&self) -> u64 {
        self.pairs.iter().map(|pair| pair.bytes()).max().unwrap_or(0)
    }

    /// A test that runs as a part uses the file that earlier tests left, so there may be only one file with one record size.
    fn part(&self, name: &str) -> Result<Test, String> {
        let test = Test::find(name).filter(|test| self.tests.contains(test));
        let test = test.ok_or_else(|| {
            format!("the workload has no part {name}, because its tests do not include {name}")
        })?;
        match self.pairs.len() {
            1 => Ok(test),
            n => Err(format!(
                "a part of the workload needs one file size and one record size, but {n} pairs of sizes are \
                 given"
            )),
        }
    }

    /// The content that earlier tests wrote.
    fn written_before(&self, test: Test) -> Option<Written> {
        let before = self.tests.iter().take_while(|other| **other != test);
        let passes = before.flat_map(|test| self.passes(*test));
        passes.fold(None, |written, pass| Some(written_by(pass, written.unwrap_or_default())))
    }
}

fn live(pair: Pair, seed: u64, written: Written) -> LiveFile {
    let crc32 = Content::new(seed, pair.record as usize).crc32(pair.records(), written);
    LiveFile::file(FILE, pair.bytes(), crc32)
}

struct Trial {
    parameters: Parameters,
    /// The tests of this portion.
    tests: Vec<Test>,
    seed: u64,
    /// The content of the existing file.
    written: Option<Written>,
    /// The number of operations to do.
    steps: u64,
    /// Whether the run stops after the last of these operations.
    stops: bool,
    removes: bool,
    /// The files that remain, with their content; set when the work is done.
    left: Vec<(Pair, Written)>,
}

impl Ready for Trial {
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError> {
        log.progress().total.store(self.steps, Relaxed);
        if self.steps == 0 {
            log.finished();
            return Ok(());
        }
        for pair in self.parameters.pairs.clone() {
            if !self.on_one_file(pair, clock, log)? {
                break;
            }
        }
        Ok(())
    }

    fn live(&self) -> Vec<LiveFile> {
        self.left.iter().map(|(pair, written)| live(*pair, self.seed, *written)).collect()
    }
}

impl Trial {
    /// Runs the tests on one file. Returns whether the work goes on.
    fn on_one_file(&mut self, pair: Pair, clock: &dyn Clock, log: &mut dyn Log) -> Result<bool, OpError> {
        let mut file = Passes::new(FILE.into(), pair, self.parameters.ways, self.seed, self.written);
        let tests = self.tests.clone();
        for pass in tests.iter().flat_map(|test| self.parameters.passes(*test)) {
            if pass == Pass::Write {
                passes::create(FILE.as_ref())?;
            }
            let left = self.steps - log.progress().done.load(Relaxed);
            let left = if self.stops { left } else { u64::MAX };
            let mut turns = Turns { left, progress: Some(log.progress()) };
            let took = file.run(pass, clock, &mut turns)?;
            let is_over = turns.is_over();
            if is_over {
                log.finished();
            }
            log.phase(metrics::phase(pass, pair, took));
            if is_over {
                return Ok(false);
            }
        }
        if self.removes {
            passes::remove(FILE.as_ref())?;
        } else {
            self.left.extend(file.written().map(|written| (pair, written)));
        }
        Ok(true)
    }
}
