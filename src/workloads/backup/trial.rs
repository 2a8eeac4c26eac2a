//! The phases of a trial.

use std::ops::ControlFlow;

use rustix::fs::{AtFlags, statat};

use super::parameters::Parameters;
use super::state::State;
use super::{RATES, VERSION};
use crate::schema::metric::Metric;
use crate::workloads::kit::files::{self, CHUNK, wrong};
use crate::workloads::kit::visit::{Entry, Visitor, visit};
use crate::workloads::kit::{Latencies, Phases, Tree, Under, sizes};
use crate::workloads::{Amount, Clock, Durable, LiveFile, Log, Needs, OpError, Phase, Portion, Ready, Work};

/// The operations whose latencies are recorded, with their numbers.
const OPERATIONS: &[&str] = &["replace", "read"];
const REPLACE: usize = 0;
const READ: usize = 1;

impl Work for Parameters {
    fn needs(&self) -> Needs {
        Needs { largest_file: sizes::largest(&self.tree.sizes), ..Needs::default() }
    }

    fn amount(&self, seed: u64) -> Amount {
        let mut sums = Sums::of(State::new(self, seed).tree.bytes());
        let state = self.each_change(seed, |before, now| {
            sums.change(before, now);
            ControlFlow::Continue(())
        });
        let restored: u64 = (0..self.tree.files).map(|file| state.size(file)).sum();
        Amount {
            files_peak: u64::from(self.tree.files) + 1,
            bytes_read: sums.read + restored,
            bytes_written: sums.written,
            bytes_peak: sums.peak,
        }
    }

    fn most_clients(&self) -> u64 {
        self.tree.files.into()
    }

    fn operations(&self) -> u64 {
        let [files, changed, updates] = [self.tree.files, self.changed(), self.updates].map(u64::from);
        2 * files + changed * updates
    }

    fn syncs(&self) -> u64 {
        let [files, changed, updates] = [self.tree.files, self.changed(), self.updates].map(u64::from);
        if self.fsync { 2 * (files + changed * updates) } else { 0 }
    }

    fn prepare(&self, seed: u64, portion: &Portion) -> Result<Box<dyn Ready>, String> {
        if portion.part.is_some() {
            return Err("the workload has only one part".into());
        }
        let executor = Executor {
            state: State::new(self, seed),
            parameters: self.clone(),
            path: String::with_capacity(256),
            temporary: String::with_capacity(256),
            buffer: vec![0; CHUNK],
        };
        let latencies = Latencies::new(OPERATIONS);
        Ok(Box::new(Trial { executor, latencies, stop_after: portion.stop_after }))
    }

    /// With `fsync = true`, every file and its name are durable before the next file is replaced.
    fn durable(&self, seed: u64, operations: u64) -> Durable {
        if !self.fsync {
            return Durable::default();
        }
        let all = u64::from(self.tree.files);
        let mut left = operations.saturating_sub(all);
        let state = self.each_change(seed, |_, _| match left.checked_sub(1) {
            None => ControlFlow::Break(()),
            Some(less) => {
                left = less;
                ControlFlow::Continue(())
            }
        });
        Durable { files: state.live(operations.min(all) as u32), named: true }
    }

    fn metrics(&self, phases: &[Phase]) -> Vec<Metric> {
        RATES.iter().filter_map(|rate| rate.metric(phases)).filter(|metric| metric.value > 0.0).collect()
    }

    fn metrics_version(&self) -> u32 {
        VERSION
    }
}

impl Parameters {
    /// Makes all changes of all updates in order, in memory. `each` receives a file's old and new size and may stop the loop.
    fn each_change(&self, seed: u64, mut each: impl FnMut(u64, u64) -> ControlFlow<()>) -> State {
        let mut state = State::new(self, seed);
        for _ in 0..self.updates {
            for file in state.next() {
                let (before, after) = (state.size(file), state.peek());
                if each(before, after).is_break() {
                    return state;
                }
                state.change(file);
            }
        }
        state
    }
}

/// Bytes read and written, and the largest amount of live data.
struct Sums {
    live: u64,
    peak: u64,
    read: u64,
    written: u64,
}

impl Sums {
    fn of(full: u64) -> Self {
        Sums { live: full, peak: full, read: 0, written: full }
    }

    /// A file's old and new content exist at the same time briefly, so the peak includes both.
    fn change(&mut self, before: u64, after: u64) {
        self.peak = self.peak.max(self.live + after);
        self.live = self.live + after - before;
        self.read += before;
        self.written += after;
    }
}

struct Trial {
    executor: Executor,
    latencies: Latencies,
    stop_after: Option<u64>,
}

/// State and buffers that the operations use.
struct Executor {
    state: State,
    parameters: Parameters,
    path: String,
    temporary: String,
    buffer: Vec<u8>,
}

impl Ready for Trial {
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError> {
        let Trial { executor, latencies, stop_after } = self;
        let (all, operations) = (u64::from(executor.parameters.tree.files), executor.parameters.operations());
        let mut phases = Phases::new(clock, log, latencies, operations).stop_after(*stop_after);
        phases.run("full", |under| {
            for folder in executor.state.tree.folders() {
                files::make_folder(&folder, executor.parameters.fsync)?;
            }
            let mut bytes = 0;
            for file in 0..executor.parameters.tree.files {
                bytes += under.time(REPLACE, || executor.put(file))?;
            }
            Ok(vec![("files", all), ("bytes_written", bytes)])
        })?;
        phases.run("update", |under| {
            let mut done = Updated::default();
            for _ in 0..executor.parameters.updates {
                executor.update(under, &mut done)?;
            }
            let Updated { entries, files, read, written } = done;
            Ok(vec![("entries", entries), ("files", files), ("bytes_read", read), ("bytes_written", written)])
        })?;
        phases.run("restore", |under| {
            let mut restoring = Restoring { executor, under, files: 0, bytes: 0 };
            visit(&mut restoring)?;
            let Restoring { files, bytes, .. } = restoring;
            there_are(files, all)?;
            Ok(vec![("files", files), ("bytes_read", bytes)])
        })
    }

    fn live(&self) -> Vec<LiveFile> {
        let Executor { state, parameters, .. } = &self.executor;
        let folders = state.tree.folders();
        folders.iter().map(LiveFile::folder).chain(state.live(parameters.tree.files)).collect()
    }
}

/// Sums over all updates.
#[derive(Default)]
struct Updated {
    entries: u64,
    files: u64,
    read: u64,
    written: u64,
}

fn there_are(found: u64, made: u64) -> Result<(), OpError> {
    if found == made {
        Ok(())
    } else {
        Err(wrong(".", format!("found {found} files, but {made} were created")))
    }
}

impl Executor {
    /// Writes the file's new content beside it and renames it into place.
    fn put(&mut self, file: u32) -> Result<u64, OpError> {
        let Executor { state, parameters, path, temporary, .. } = self;
        state.tree.path(file, path);
        state.temporary(file, temporary);
        let (number, size) = (state.number(file), state.size(file));
        files::make(temporary, parameters.fsync, |opened| {
            state.noise().content(number, size, |chunk| files::write_all(opened, temporary, chunk))
        })?;
        files::rename(temporary, path)?;
        if parameters.fsync {
            files::sync_name(path)?;
        }
        Ok(size)
    }

    /// Walks and compares everything, then replaces the changed files.
    fn update(&mut self, under: &mut Under<'_>, done: &mut Updated) -> Result<(), OpError> {
        under.may()?;
        let mut comparing = Comparing { state: &self.state, files: 0, entries: 0 };
        visit(&mut comparing)?;
        let Comparing { files, entries, .. } = comparing;
        there_are(files, self.parameters.tree.files.into())?;
        done.entries += entries;
        for file in self.state.next() {
            let (read, written) = under.time(REPLACE, || {
                let read = self.read(file)?;
                self.state.change(file);
                self.put(file).map(|written| (read, written))
            })?;
            done.files += 1;
            done.read += read;
            done.written += written;
        }
        Ok(())
    }

    fn read(&mut self, file: u32) -> Result<u64, OpError> {
        let Executor { state, path, buffer, .. } = self;
        let path = state.tree.path(file, path);
        let opened = files::open(path)?;
        let (number, size) = (state.number(file), state.size(file));
        let bytes = state.tree.noise().read_whole(number, size, &opened, path, buffer)?;
        files::close(opened, path)?;
        Ok(bytes)
    }
}

/// Calls stat on every entry and compares each file's size with the expected one.
struct Comparing<'a> {
    state: &'a State,
    files: u64,
    entries: u64,
}

impl Comparing<'_> {
    fn status(&mut self, entry: &Entry<'_>) -> Result<u64, OpError> {
        self.entries += 1;
        let about = statat(entry.folder, entry.name, AtFlags::SYMLINK_NOFOLLOW);
        about.map(|about| about.st_size as u64).map_err(|e| entry.failed("stat", e))
    }
}

impl Visitor for Comparing<'_> {
    fn enter(&mut self, folder: &Entry<'_>) -> Result<(), OpError> {
        self.status(folder).map(drop)
    }

    fn file(&mut self, entry: &Entry<'_>) -> Result<(), OpError> {
        let bytes = self.status(entry)?;
        let file = known(self.state, entry)?;
        if bytes != self.state.size(file) {
            let written = self.state.size(file);
            return Err(wrong(
                entry.path,
                format!("the file has {bytes} bytes, but {written} bytes were written"),
            ));
        }
        self.files += 1;
        Ok(())
    }
}

fn known(state: &State, entry: &Entry<'_>) -> Result<u32, OpError> {
    let unknown = || wrong(entry.path, "no file of that name was created");
    state.tree.named(entry.name.to_bytes()).ok_or_else(unknown)
}

struct Restoring<'a, 'b> {
    executor: &'a mut Executor,
    under: &'a mut Under<'b>,
    files: u64,
    bytes: u64,
}

impl Visitor for Restoring<'_, '_> {
    fn file(&mut self, entry: &Entry<'_>) -> Result<(), OpError> {
        let file = known(&self.executor.state, entry)?;
        self.bytes += self.under.time(READ, || self.executor.read(file))?;
        self.files += 1;
        Ok(())
    }
}
