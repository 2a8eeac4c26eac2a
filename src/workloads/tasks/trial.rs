//! The tasks of a trial, in order.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use fsderby_sys::process::own_usage;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};

use super::durable::{self, copied};
use super::look::{Finding, Listing, PATTERN, same};
use super::metrics;
use super::parameters::Parameters;
use super::source::{self, Filler, IMAGE, TREE};
use super::task::{COPIES, Counted, IMAGES, LISTING, TASKS, Task};
use crate::schema::metric::Metric;
use crate::schema::units::Bytes;
use crate::workloads::kit::files::{self, CHUNK, wrong};
use crate::workloads::kit::noise::{PAGE, other_content};
use crate::workloads::kit::tree::Grown;
use crate::workloads::kit::visit::{Entry, Visitor, visit_in};
use crate::workloads::kit::{Counts, Latencies, Phases, Tree, Under};
use crate::workloads::{
    Amount, Clock, Durable, LiveFile, Log, Needs, OpError, Phase, Portion, Ready, SOURCE, Work,
};

/// The operations with recorded latencies, with their numbers.
const OPERATIONS: &[&str] = &["copy", "unlink"];
const COPY: usize = 0;
const UNLINK: usize = 1;

/// The operations of a phase whose latencies are recorded, each with the name of its count.
pub fn timed(phase: &str) -> &'static [(&'static str, &'static str)] {
    match phase {
        "copy-tree" | "copy-tree-again" => &[("copy", "files")],
        "delete-trees" => &[("unlink", "files")],
        _ => &[],
    }
}

impl Work for Parameters {
    fn needs(&self) -> Needs {
        Needs { largest_file: Bytes(self.image), source: true, ..Needs::default() }
    }

    fn amount(&self, seed: u64) -> Amount {
        let tree = source::tree(self, seed).bytes();
        Amount {
            files_peak: 2 * u64::from(self.tree.files) + 1,
            bytes_read: 2 * (tree + self.image),
            bytes_written: 2 * (tree + self.image),
            // In the integrity check all copies exist at once.
            bytes_peak: 2 * (tree + self.image),
        }
    }

    /// Only one client, because there is only one disk to copy from.
    fn most_clients(&self) -> u64 {
        1
    }

    fn operations(&self) -> u64 {
        TASKS.into_iter().map(|task| task.operations(self.tree.files.into())).sum()
    }

    fn prepare(&self, seed: u64, portion: &Portion) -> Result<Box<dyn Ready>, String> {
        let tree = source::tree(self, seed);
        match portion.part.as_deref() {
            None => {}
            Some(SOURCE) => return Ok(Box::new(Filler { tree, image: self.image })),
            Some(other) => return Err(format!("the workload has no part {other}")),
        }
        let tasks = TASKS.into_iter().filter(|task| !(portion.keep_files && task.deletes()));
        Ok(Box::new(Trial {
            tasks: tasks.collect(),
            stop_after: portion.stop_after,
            sync_each: self.sync_each,
            latencies: Latencies::new(OPERATIONS),
            executor: Executor {
                tree,
                image: self.image,
                source: None,
                buffer: vec![0; CHUNK],
                listing: None,
            },
        }))
    }

    fn durable(&self, seed: u64, operations: u64) -> Durable {
        durable::after(self, seed, operations)
    }

    fn metrics(&self, phases: &[Phase]) -> Vec<Metric> {
        metrics::metrics(phases)
    }

    fn metrics_version(&self) -> u32 {
        metrics::VERSION
    }
}

struct Trial {
    tasks: Vec<Task>,
    stop_after: Option<u64>,
    sync_each: bool,
    latencies: Latencies,
    executor: Executor,
}

/// State and buffers that the tasks use.
struct Executor {
    tree: Grown,
    image: u64,
    source: Option<OwnedFd>,
    buffer: Vec<u8>,
    /// Length and checksum of the listing; `None` until the listing has been made.
    listing: Option<(u64, u32)>,
}

impl Ready for Trial {
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError> {
        let files = u64::from(self.executor.tree.files());
        let Trial { tasks, stop_after, sync_each, latencies, executor } = self;
        let operations = tasks.iter().map(|task| task.operations(files)).sum();
        let mut phases = Phases::new(clock, log, latencies, operations).stop_after(*stop_after);
        tasks.iter().try_for_each(|task| {
            phases.run(task.name(), |under| cost(*sync_each, under, |under| executor.task(*task, under)))
        })
    }

    fn take_source(&mut self, source: OwnedFd) {
        self.executor.source = Some(source);
    }

    fn live(&self) -> Vec<LiveFile> {
        let Executor { tree, image, listing, .. } = &self.executor;
        let images = IMAGES.into_iter().map(|copy| durable::image(tree, *image, copy));
        let listing = listing.map(|(bytes, crc32)| LiveFile::file(LISTING, bytes, crc32));
        COPIES.into_iter().flat_map(|copy| copied(tree, copy)).chain(images).chain(listing).collect()
    }
}

/// Runs a task and adds its CPU time and page faults as GNU time counts them, then the time until all data is on the disk.
fn cost(
    sync_each: bool,
    under: &mut Under<'_>,
    task: impl FnOnce(&mut Under<'_>) -> Result<Counted, OpError>,
) -> Result<Counts, OpError> {
    let (begin, before) = (under.clock.now_ns(), own_usage());
    let counted = task(under)?;
    let (used, ended) = (own_usage().since(before), under.clock.now_ns());
    let mut counts = vec![
        ("files", counted.files),
        ("folders", counted.folders),
        ("bytes_read", counted.bytes_read),
        ("bytes_written", counted.bytes_written),
        ("task_ns", ended - begin),
        ("user_ns", used.user_ns),
        ("sys_ns", used.sys_ns),
        ("minflt", used.minflt),
        ("majflt", used.majflt),
    ];
    if sync_each {
        files::sync_all()?;
        counts.push(("sync_ns", under.clock.now_ns() - ended));
    }
    Ok(counts)
}

impl Executor {
    fn task(&mut self, task: Task, under: &mut Under<'_>) -> Result<Counted, OpError> {
        match task {
            Task::CopyImage => {
                let from = openat(self.source()?, IMAGE, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
                let from = from.map_err(|e| files::failed("open on the second disk", IMAGE, e))?;
                self.copy_image(from, IMAGES[0], under)
            }
            Task::CopyImageAgain => self.copy_image(files::open(IMAGES[0])?, IMAGES[1], under),
            Task::DeleteImages => {
                IMAGES.iter().try_for_each(|copy| under.time(UNLINK, || files::unlink(copy)))?;
                Ok(Counted { files: 2, ..Counted::default() })
            }
            Task::CopyTree => {
                let from = files::open_folder(self.source()?, TREE)?;
                self.copy_tree(from, COPIES[0], under)
            }
            Task::CopyTreeAgain => self.copy_tree(files::open_folder(CWD, COPIES[0])?, COPIES[1], under),
            Task::List => self.list(under),
            Task::Find => self.find(under),
            Task::DeleteTrees => {
                let mut deleting = Deleting { under, counted: Counted::default() };
                for copy in COPIES {
                    visit_in(files::open_folder(CWD, copy)?, &mut deleting)?;
                    files::rmdir(copy)?;
                }
                Ok(deleting.counted)
            }
        }
    }

    fn source(&self) -> Result<&OwnedFd, OpError> {
        let missing = || std::io::Error::other("there is no second disk");
        self.source.as_ref().ok_or_else(|| files::failed("copy from the second disk", ".", missing()))
    }

    fn copy_image(&mut self, from: OwnedFd, to: &str, under: &mut Under<'_>) -> Result<Counted, OpError> {
        let Executor { tree, image, buffer, .. } = self;
        let number = tree.files();
        let bytes = under.time(COPY, || copy(tree, number, &from, to, buffer))?;
        is_whole(to, bytes, *image)?;
        Ok(Counted { files: 1, bytes_read: bytes, bytes_written: bytes, ..Counted::default() })
    }

    fn copy_tree(&mut self, from: OwnedFd, to: &str, under: &mut Under<'_>) -> Result<Counted, OpError> {
        files::mkdir(to)?;
        let made = u64::from(self.tree.files());
        let to = String::from(to);
        let mut copying =
            Copying { executor: self, under, path: to.clone(), top: to.len(), counted: Counted::default() };
        visit_in(from, &mut copying)?;
        let counted = copying.counted;
        same("copy the tree", "files", counted.files, made)?;
        Ok(counted)
    }

    fn list(&mut self, under: &mut Under<'_>) -> Result<Counted, OpError> {
        under.may()?;
        let mut listing = Listing::new(LISTING)?;
        visit_in(files::open_folder(CWD, COPIES[0])?, &mut listing)?;
        let counted = listing.counted;
        let (bytes, crc32) = listing.close()?;
        self.listing = Some((bytes, crc32));
        under.step();
        same("list", "files", counted.files, self.tree.files().into())?;
        same("list", "folders", counted.folders, self.tree.folders().len() as u64)?;
        Ok(Counted { bytes_written: bytes, ..counted })
    }

    fn find(&mut self, under: &mut Under<'_>) -> Result<Counted, OpError> {
        under.may()?;
        let mut finding = Finding::default();
        visit_in(files::open_folder(CWD, COPIES[0])?, &mut finding)?;
        under.step();
        let mut path = String::new();
        let ends = |name: &str| name.as_bytes().last() == Some(&PATTERN);
        let made = (0..self.tree.files()).filter(|file| ends(self.tree.path(*file, &mut path))).count();
        let made = made + self.tree.folders().iter().filter(|folder| ends(folder)).count();
        same("find", "matching names", finding.found, made as u64)?;
        Ok(finding.counted)
    }
}

/// Copies this file of the tree and checks its content on the way.
fn copy(tree: &Grown, file: u32, from: impl AsFd, to: &str, buffer: &mut [u8]) -> Result<u64, OpError> {
    files::copy(from, to, buffer, |at, came| {
        if at.is_multiple_of(PAGE) && !tree.noise().is_right(file, at, came) {
            return Err(wrong(to, format!("{} of the copied files", other_content(at))));
        }
        Ok(())
    })
}

fn is_whole(path: &str, came: u64, written: u64) -> Result<(), OpError> {
    if came == written {
        return Ok(());
    }
    Err(wrong(path, format!("read {came} bytes of the source, but {written} bytes were written")))
}

struct Copying<'a, 'b> {
    executor: &'a mut Executor,
    under: &'a mut Under<'b>,
    /// The destination of the next entry, below the copy's folder.
    path: String,
    top: usize,
    counted: Counted,
}

impl Copying<'_, '_> {
    fn goes_to(&mut self, path: &Path) {
        self.path.truncate(self.top);
        self.path.push('/');
        self.path.push_str(&path.to_string_lossy());
    }
}

impl Visitor for Copying<'_, '_> {
    fn enter(&mut self, folder: &Entry<'_>) -> Result<(), OpError> {
        self.goes_to(folder.path);
        self.counted.folders += 1;
        files::mkdir(&self.path)
    }

    fn file(&mut self, entry: &Entry<'_>) -> Result<(), OpError> {
        self.goes_to(entry.path);
        let Executor { tree, buffer, .. } = &mut *self.executor;
        let unknown = || entry.differs("copy", "no file of that name was created");
        let file = tree.named(entry.name.to_bytes()).ok_or_else(unknown)?;
        let bytes = self.under.time(COPY, || {
            let from = openat(entry.folder, entry.name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
            copy(tree, file, from.map_err(|e| entry.failed("open", e))?, &self.path, buffer)
        })?;
        is_whole(&self.path, bytes, tree.size(file))?;
        self.counted.files += 1;
        self.counted.bytes_read += bytes;
        self.counted.bytes_written += bytes;
        Ok(())
    }
}

struct Deleting<'a, 'b> {
    under: &'a mut Under<'b>,
    counted: Counted,
}

impl Visitor for Deleting<'_, '_> {
    fn file(&mut self, entry: &Entry<'_>) -> Result<(), OpError> {
        self.counted.files += 1;
        self.under.time(UNLINK, || {
            unlinkat(entry.folder, entry.name, AtFlags::empty()).map_err(|e| entry.failed("unlink", e))
        })
    }

    fn leave(&mut self, folder: &Entry<'_>) -> Result<(), OpError> {
        self.counted.folders += 1;
        unlinkat(folder.folder, folder.name, AtFlags::REMOVEDIR).map_err(|e| folder.failed("rmdir", e))
    }
}
