//! The phases of a trial.

use super::{Parameters, RATES, VERSION};
use crate::schema::metric::Metric;
use crate::workloads::kit::files::{self, CHUNK};
use crate::workloads::kit::tree::Grown;
use crate::workloads::kit::{Latencies, Phases, Tree, sizes};
use crate::workloads::{Amount, Clock, Durable, LiveFile, Log, Needs, OpError, Phase, Portion, Ready, Work};

/// The operations with recorded latencies, with their numbers.
const OPERATIONS: &[&str] = &["mkdir", "create", "read", "unlink"];
const MKDIR: usize = 0;
const CREATE: usize = 1;
const READ: usize = 2;
const UNLINK: usize = 3;

impl Work for Parameters {
    fn needs(&self) -> Needs {
        Needs { largest_file: sizes::largest(&self.tree.sizes), ..Needs::default() }
    }

    fn amount(&self, seed: u64) -> Amount {
        let bytes = self.bytes(seed);
        Amount {
            files_peak: self.tree.files.into(),
            bytes_read: bytes,
            bytes_written: bytes,
            bytes_peak: bytes,
        }
    }

    fn most_clients(&self) -> u64 {
        self.tree.files.into()
    }

    fn operations(&self) -> u64 {
        let [folders, files] = [self.tree.folders, self.tree.files].map(u64::from);
        folders + 2 * files + u64::from(self.expired())
    }

    fn syncs(&self) -> u64 {
        let [folders, files] = [self.tree.folders, self.tree.files].map(u64::from);
        if self.fsync { folders + 2 * files } else { 0 }
    }

    fn prepare(&self, seed: u64, portion: &Portion) -> Result<Box<dyn Ready>, String> {
        if portion.part.is_some() {
            return Err("the workload has only one part".into());
        }
        let tree = self.grown(seed);
        Ok(Box::new(Trial {
            folders: tree.folders(),
            expired: if portion.keep_files { 0 } else { self.expired() },
            fsync: self.fsync,
            stop_after: portion.stop_after,
            latencies: Latencies::new(OPERATIONS),
            executor: Executor { tree, path: String::with_capacity(256), buffer: vec![0; CHUNK] },
        }))
    }

    /// With `fsync = true`, every article and its name are durable before the next article arrives.
    fn durable(&self, seed: u64, operations: u64) -> Durable {
        if !self.fsync {
            return Durable::default();
        }
        let [folders, all] = [self.tree.folders, self.tree.files].map(u64::from);
        let arrived = operations.saturating_sub(folders).min(all);
        let expired = operations.saturating_sub(folders + 2 * all);
        let mut files = self.grown(seed).live();
        files.truncate(arrived as usize);
        files.drain(..(expired as usize).min(files.len()));
        Durable { files, named: true }
    }

    fn metrics(&self, phases: &[Phase]) -> Vec<Metric> {
        RATES.iter().filter_map(|rate| rate.metric(phases)).filter(|metric| metric.value > 0.0).collect()
    }

    fn metrics_version(&self) -> u32 {
        VERSION
    }
}

struct Trial {
    folders: Vec<String>,
    expired: u32,
    fsync: bool,
    stop_after: Option<u64>,
    latencies: Latencies,
    executor: Executor,
}

/// State and buffers that the operations use.
struct Executor {
    tree: Grown,
    path: String,
    buffer: Vec<u8>,
}

impl Ready for Trial {
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError> {
        let Trial { folders, expired, fsync, stop_after, latencies, executor } = self;
        let (all, expired, fsync) = (executor.tree.files(), *expired, *fsync);
        let operations = folders.len() as u64 + 2 * u64::from(all) + u64::from(expired);
        let mut phases = Phases::new(clock, log, latencies, operations).stop_after(*stop_after);
        phases.run("groups", |under| {
            for folder in &*folders {
                under.time(MKDIR, || files::make_folder(folder, fsync))?;
            }
            Ok(vec![("folders", folders.len() as u64)])
        })?;
        phases.run("import", |under| {
            let mut bytes = 0;
            for file in 0..all {
                bytes += under.time(CREATE, || executor.take_in(file, fsync))?;
            }
            Ok(vec![("files", all.into()), ("bytes_written", bytes)])
        })?;
        phases.run("feed", |under| {
            let mut bytes = 0;
            for file in 0..all {
                bytes += under.time(READ, || executor.read(file))?;
            }
            Ok(vec![("files", all.into()), ("bytes_read", bytes)])
        })?;
        if expired == 0 {
            return Ok(());
        }
        phases.run("expire", |under| {
            for file in 0..expired {
                under.time(UNLINK, || files::unlink(executor.tree.path(file, &mut executor.path)))?;
            }
            Ok(vec![("files", expired.into())])
        })
    }

    fn live(&self) -> Vec<LiveFile> {
        let folders = self.folders.iter().map(LiveFile::folder);
        folders.chain(self.executor.tree.live().into_iter().skip(self.expired as usize)).collect()
    }
}

impl Executor {
    fn take_in(&mut self, file: u32, fsync: bool) -> Result<u64, OpError> {
        let size = self.tree.size(file);
        let path = self.tree.path(file, &mut self.path);
        files::make(path, fsync, |article| {
            self.tree.noise_mut().content(file, size, |chunk| files::write_all(article, path, chunk))
        })?;
        if fsync {
            files::sync_name(path)?;
        }
        Ok(size)
    }

    fn read(&mut self, file: u32) -> Result<u64, OpError> {
        let path = self.tree.path(file, &mut self.path);
        let article = files::open(path)?;
        let bytes =
            self.tree.noise().read_whole(file, self.tree.size(file), &article, path, &mut self.buffer)?;
        files::close(article, path)?;
        Ok(bytes)
    }
}
