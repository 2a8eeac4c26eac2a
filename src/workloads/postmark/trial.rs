//! PostMark as a trial: with times in nanoseconds, exact sums and latencies. A failed operation ends the trial.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use super::content::{self, Checksums};
use super::drive::{self, Ended, Extent};
use super::dry::{Totals, dry_run};
use super::expect;
use super::generator::{Generator, afford};
use super::kernel::Kernel;
use super::latencies::NAMES;
use super::metrics;
use super::names::Namer;
use super::parameters::Parameters;
use super::timed::{Timed, Tools};
use crate::schema::event::Phase;
use crate::schema::job::Portion;
use crate::schema::metric::Metric;
use crate::schema::units::Bytes;
use crate::schema::work::{Amount, LiveFile};
use crate::workloads::kit::Latencies;
use crate::workloads::{Clock, Durable, Log, Needs, OpError, Progress, Ready, Work};

/// An estimate of the work counts up to this many operations individually, which takes milliseconds.
const COUNTED: u64 = 200_000;

impl Work for Parameters {
    fn needs(&self) -> Needs {
        let largest = u64::from(self.rules.high);
        let request = u64::from(self.rules.read_block.min(self.rules.high));
        // The source of all content, and the read buffer.
        Needs { largest_file: Bytes(largest), memory: Bytes(largest + request), ..Needs::default() }
    }

    fn amount(&self, seed: u64) -> Amount {
        let run = dry_run(&self.rules_for(seed));
        Amount {
            files_peak: run.files_peak,
            bytes_read: run.totals.bytes_read,
            bytes_written: run.totals.bytes_written,
            bytes_peak: run.bytes_peak,
        }
    }

    fn expected(&self, seed: u64) -> Amount {
        if self.operations() > COUNTED { expect::amount(&self.rules) } else { self.amount(seed) }
    }

    fn most_clients(&self) -> u64 {
        u64::from(self.rules.number)
    }

    fn prepare(&self, seed: u64, portion: &Portion) -> Result<Box<dyn Ready>, String> {
        let rules = self.rules_for(seed);
        afford(&rules)?;
        let run = dry_run(&rules);
        if let Ended::OutOfFiles(transaction) = run.ended {
            return Err(format!(
                "no file is left after {transaction} of {all} transactions (number = {number}, seed = {seed}); raise number or \
                 bias_create, or lower transactions",
                all = rules.transactions,
                number = rules.number,
                seed = rules.seed
            ));
        }
        let pool = u64::from(rules.number) + u64::from(rules.transactions);
        let Portion { part, stop_after, keep_files } = portion;
        if part.is_some() {
            return Err("PostMark has only one part".into());
        }
        let steps = match *stop_after {
            Some(last) => last.min(pool),
            None => pool + if *keep_files { 0 } else { run.live },
        };
        let (generator, source) = Generator::new(&rules);
        let checksums = if *keep_files { Checksums::of_all(&generator) } else { Checksums::none() };
        Ok(Box::new(Trial {
            tools: Tools {
                kernel: Kernel::new(&rules, source),
                namer: Namer::new(&rules),
                stdio_buffer: self.stdio_buffer as usize,
                fsync: self.fsync,
                fsync_folder: self.fsync_folder,
                checksums,
            },
            generator,
            latencies: Latencies::new(NAMES),
            extent: stop_after.map_or(Extent::WHOLE, |last| Extent::first(last, &rules)),
            steps,
            deletes: stop_after.is_none() && !keep_files,
        }))
    }

    fn operations(&self) -> u64 {
        u64::from(self.rules.number) + u64::from(self.rules.transactions)
    }

    /// One file is written for each initial file and for about each transaction.
    fn syncs(&self) -> u64 {
        [self.fsync, self.fsync_folder].iter().filter(|is_on| **is_on).count() as u64 * self.operations()
    }

    /// With `fsync = true` every write is synced, so all existing files are durable.
    fn durable(&self, seed: u64, operations: u64) -> Durable {
        if !self.fsync {
            return Durable::default();
        }
        let rules = self.rules_for(seed);
        let files = content::after(&rules, Extent::first(operations, &rules));
        Durable { files, named: self.fsync_folder }
    }

    fn metrics(&self, phases: &[Phase]) -> Vec<Metric> {
        metrics::metrics(phases)
    }

    fn metrics_version(&self) -> u32 {
        metrics::VERSION
    }
}

struct Trial {
    generator: Generator,
    tools: Tools,
    latencies: Latencies,
    /// The number of steps for the progress: initial files, transactions and final deletions.
    steps: u64,
    deletes: bool,
    extent: Extent,
}

impl Ready for Trial {
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError> {
        log.progress().total.store(self.steps, Relaxed);
        let extent = self.extent;
        self.make_locations()?;
        self.untimed(clock, |g, files| drive::make_directories(g, files))?;
        self.phase("create", clock, log, |g, files, progress| {
            drive::create_pool(g, files, extent, || progress.step()).map(|()| 0)
        })?;
        self.phase("transactions", clock, log, |g, files, progress| {
            let mut done = 0;
            drive::transactions(g, files, extent, |_, _| {
                done += 1;
                progress.step();
            })?;
            Ok(done)
        })?;
        if !self.deletes {
            return Ok(());
        }
        self.phase("delete", clock, log, |g, files, progress| {
            drive::delete_pool(g, files, || progress.step()).map(|()| 0)
        })?;
        self.untimed(clock, |g, files| drive::remove_directories(g, files))?;
        self.remove_locations()
    }

    fn live(&self) -> Vec<LiveFile> {
        self.tools.checksums.live(&self.generator)
    }
}

impl Trial {
    fn timed<'a>(&'a mut self, clock: &'a dyn Clock) -> (&'a mut Generator, Timed<'a>) {
        let Trial { generator, tools, latencies, .. } = self;
        (generator, Timed { tools, latencies, clock, totals: Totals::default(), fsyncs: 0 })
    }

    /// Runs one phase; only `work` is timed. Returns the number of transactions done.
    fn phase(
        &mut self,
        name: &'static str,
        clock: &dyn Clock,
        log: &mut dyn Log,
        work: impl FnOnce(&mut Generator, &mut Timed<'_>, &Progress) -> Result<u64, OpError>,
    ) -> Result<(), OpError> {
        let all = self.steps;
        let (generator, mut files) = self.timed(clock);
        let start = clock.now_ns();
        let transactions = work(generator, &mut files, log.progress())?;
        let ns = clock.now_ns() - start;
        if log.progress().done.load(Relaxed) == all {
            log.finished();
        }
        let phase = metrics::phase(name, ns, &files.totals, files.fsyncs, transactions);
        log.phase(phase);
        self.latencies.report(name, log);
        Ok(())
    }

    fn untimed(
        &mut self,
        clock: &dyn Clock,
        work: impl FnOnce(&Generator, &mut Timed<'_>) -> Result<(), OpError>,
    ) -> Result<(), OpError> {
        let (generator, mut files) = self.timed(clock);
        work(generator, &mut files)
    }

    /// The locations and their parents, outermost first.
    fn folders(&self) -> Vec<PathBuf> {
        let locations = &self.generator.rules().locations;
        let mut folders: Vec<PathBuf> = locations
            .iter()
            .flat_map(|l| {
                PathBuf::from(OsStr::from_bytes(&l.path)).ancestors().map(PathBuf::from).collect::<Vec<_>>()
            })
            .filter(|folder| !folder.as_os_str().is_empty())
            .collect();
        folders.sort();
        folders.dedup();
        folders
    }

    fn make_locations(&self) -> Result<(), OpError> {
        let make = |path: &Path| {
            std::fs::create_dir(path)?;
            match path.parent().filter(|_| self.tools.fsync_folder) {
                Some(above) => std::fs::File::open(Path::new(".").join(above))?.sync_all(),
                None => Ok(()),
            }
        };
        let failed =
            |path: PathBuf, error: std::io::Error| OpError { operation: "mkdir", path, cause: error.into() };
        self.folders().into_iter().try_for_each(|path| make(&path).map_err(|error| failed(path, error)))
    }

    fn remove_locations(&self) -> Result<(), OpError> {
        self.folders().into_iter().rev().try_for_each(|path| {
            std::fs::remove_dir(&path).map_err(|error| OpError {
                operation: "rmdir",
                path,
                cause: error.into(),
            })
        })
    }
}
