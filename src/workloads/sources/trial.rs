//! The phases of a trial.

use rustix::fs::{AtFlags, Timespec, Timestamps, futimens, statat, unlinkat};

use super::{Parameters, RATES, VERSION};
use crate::schema::metric::Metric;
use crate::workloads::kit::tree::Grown;
use crate::workloads::kit::visit::{Entry, Visitor, visit};
use crate::workloads::kit::{Latencies, Phases, Tree, Under, files, sizes};
use crate::workloads::{Amount, Clock, Durable, LiveFile, Log, Needs, OpError, Phase, Portion, Ready, Work};

/// The operations with recorded latencies, with their numbers.
const OPERATIONS: &[&str] = &["mkdir", "create", "stat", "unlink"];
const MKDIR: usize = 0;
const CREATE: usize = 1;
const STAT: usize = 2;
const UNLINK: usize = 3;

/// The timestamp of all archived files: 2020-01-01.
const PACKED: Timespec = Timespec { tv_sec: 1_577_836_800, tv_nsec: 0 };

impl Work for Parameters {
    fn needs(&self) -> Needs {
        Needs { largest_file: sizes::largest(&self.tree.sizes), ..Needs::default() }
    }

    fn amount(&self, seed: u64) -> Amount {
        let bytes = self.grown(seed).bytes();
        let files = self.tree.files.into();
        Amount { files_peak: files, bytes_written: bytes, bytes_peak: bytes, ..Amount::default() }
    }

    fn most_clients(&self) -> u64 {
        self.tree.files.into()
    }

    /// The number of operations: the creation and the stat of each entry, and the deletion of each file.
    fn operations(&self) -> u64 {
        let [folders, files] = [self.tree.folders, self.tree.files].map(u64::from);
        2 * (folders + files) + files
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
            archive: archive(&tree),
            operations: self.operations() - if portion.keep_files { self.tree.files.into() } else { 0 },
            fsync: self.fsync,
            portion: portion.clone(),
            latencies: Latencies::new(OPERATIONS),
            tree,
        }))
    }

    /// With `fsync = true`, every entry and its name are durable before the next entry. The filesystem determines the order of
    /// deletion, so no file is certain to exist during the delete phase.
    fn durable(&self, seed: u64, operations: u64) -> Durable {
        let entries = u64::from(self.tree.folders) + u64::from(self.tree.files);
        if !self.fsync {
            return Durable::default();
        }
        let unpacked = if operations <= 2 * entries { operations.min(entries) } else { 0 };
        let tree = self.grown(seed);
        let file = |Packed { path, file }: Packed| {
            file.map(|file| LiveFile::file(path, tree.size(file), tree.crc32(file)))
        };
        let files = archive(&tree).into_iter().take(unpacked as usize).filter_map(file).collect();
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
    archive: Vec<Packed>,
    operations: u64,
    fsync: bool,
    portion: Portion,
    latencies: Latencies,
    tree: Grown,
}

/// An entry of the archive.
struct Packed {
    path: String,
    /// The file's number; `None` for a directory.
    file: Option<u32>,
}

/// The entries in the order of tar: each directory, then its content.
fn archive(tree: &Grown) -> Vec<Packed> {
    let mut path = String::new();
    let files = (0..tree.files()).map(|n| (tree.path(n, &mut path).to_owned(), Some(n)));
    let files: Vec<(String, Option<u32>)> = files.collect();
    let folders = tree.folders().into_iter().map(|path| (path, None));
    let mut all: Vec<Packed> = folders.chain(files).map(|(path, file)| Packed { path, file }).collect();
    // Sorts by path components. In an order of plain text, other names could come between a directory and its files.
    all.sort_by(|a, b| a.path.split('/').cmp(b.path.split('/')));
    // The paths are copied so that they lie in memory in this order.
    all.iter().map(|Packed { path, file }| Packed { path: path.clone(), file: *file }).collect()
}

impl Ready for Trial {
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError> {
        let Trial { archive, operations, fsync, portion, latencies, tree } = self;
        let fsync = *fsync;
        let mut phases = Phases::new(clock, log, latencies, *operations).stop_after(portion.stop_after);
        phases.run("unpack", |under| {
            let mut bytes = 0;
            for Packed { path, file } in &*archive {
                match file {
                    None => under.time(MKDIR, || files::make_folder(path, fsync))?,
                    Some(file) => bytes += under.time(CREATE, || unpack(tree, *file, path, fsync))?,
                }
            }
            let all = u64::from(tree.files());
            Ok(vec![("folders", archive.len() as u64 - all), ("files", all), ("bytes_written", bytes)])
        })?;
        phases.run("list", |under| {
            let mut listing = Listing { under, tree, entries: 0 };
            visit(&mut listing)?;
            let (found, made) = (listing.entries, archive.len() as u64);
            all_found(found, made).map(|()| vec![("entries", found)])
        })?;
        if portion.keep_files {
            return Ok(());
        }
        phases.run("delete", |under| {
            let mut deleting = Deleting { under, files: 0 };
            visit(&mut deleting)?;
            Ok(vec![("files", deleting.files)])
        })
    }

    fn live(&self) -> Vec<LiveFile> {
        self.tree.folders().iter().map(LiveFile::folder).chain(self.tree.live()).collect()
    }
}

fn unpack(tree: &mut Grown, file: u32, path: &str, fsync: bool) -> Result<u64, OpError> {
    let size = tree.size(file);
    files::make(path, fsync, |opened| {
        tree.noise_mut().content(file, size, |chunk| files::write_all(opened, path, chunk))?;
        let packed = Timestamps { last_access: PACKED, last_modification: PACKED };
        futimens(opened, &packed).map_err(|e| files::failed("set the time of", path, e))
    })?;
    if fsync {
        files::sync_name(path)?;
    }
    Ok(size)
}

fn all_found(found: u64, made: u64) -> Result<(), OpError> {
    if found == made {
        return Ok(());
    }
    let text = format!("found {found} entries, but {made} were created");
    Err(files::differs("list", ".", text))
}

struct Listing<'a, 'b> {
    under: &'a mut Under<'b>,
    tree: &'a Grown,
    entries: u64,
}

impl Listing<'_, '_> {
    /// Calls stat on an entry and checks its size; returns the size.
    fn status(&mut self, entry: &Entry<'_>) -> Result<u64, OpError> {
        self.entries += 1;
        let about = self.under.time(STAT, || {
            let about = statat(entry.folder, entry.name, AtFlags::SYMLINK_NOFOLLOW);
            about.map_err(|e| entry.failed("stat", e))
        })?;
        Ok(about.st_size.unsigned_abs())
    }
}

impl Visitor for Listing<'_, '_> {
    fn enter(&mut self, folder: &Entry<'_>) -> Result<(), OpError> {
        self.status(folder).map(drop)
    }

    fn file(&mut self, entry: &Entry<'_>) -> Result<(), OpError> {
        let bytes = self.status(entry)?;
        let known = self.tree.named(entry.name.to_bytes()).map(|file| self.tree.size(file));
        if known == Some(bytes) {
            return Ok(());
        }
        let text = match known {
            Some(size) => format!("the file has {bytes} bytes, but {size} bytes were written"),
            None => "no file of that name was created".into(),
        };
        Err(entry.differs("stat", text))
    }
}

struct Deleting<'a, 'b> {
    under: &'a mut Under<'b>,
    files: u64,
}

impl Visitor for Deleting<'_, '_> {
    fn file(&mut self, entry: &Entry<'_>) -> Result<(), OpError> {
        self.files += 1;
        self.under.time(UNLINK, || {
            unlinkat(entry.folder, entry.name, AtFlags::empty()).map_err(|e| entry.failed("unlink", e))
        })
    }

    fn leave(&mut self, folder: &Entry<'_>) -> Result<(), OpError> {
        unlinkat(folder.folder, folder.name, AtFlags::REMOVEDIR).map_err(|e| folder.failed("rmdir", e))
    }
}

#[cfg(test)]
mod tests {
    use super::super::SETS;
    use super::*;

    #[test]
    fn an_archive_has_each_directory_before_what_is_in_it_and_its_files_together() {
        let parameters = Parameters::parse(&SETS[0].file().parameters).expect("a set");
        let tree = parameters.grown(3);
        let archive = archive(&tree);
        assert_eq!(archive.len(), 2400 + 360);
        let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(above, _)| above.to_owned());
        for (at, packed) in archive.iter().enumerate() {
            let above = folder(&packed.path);
            let before = &archive[..at];
            assert!(
                above.is_empty() || before.iter().any(|p| p.file.is_none() && p.path == above),
                "{above}"
            );
        }
        // A directory is never revisited after leaving it.
        let mut left: Vec<String> = Vec::new();
        let mut last = String::new();
        for packed in &archive {
            let inside = if packed.file.is_none() { packed.path.clone() } else { folder(&packed.path) };
            if !format!("{inside}/").starts_with(&format!("{last}/")) {
                left.push(last);
            }
            assert!(!left.contains(&packed.path), "{}", packed.path);
            last = inside;
        }
    }

    /// The set has the mean size that its `story` states, and about 28 MiB in total.
    #[test]
    fn the_quick_set_has_the_sizes_that_it_says() {
        let parameters = Parameters::parse(&SETS[0].file().parameters).expect("a set");
        let mean = parameters.amount(1).bytes_written / 2400;
        assert!((11 * 1024..13 * 1024).contains(&mean), "{mean}");
    }
}
