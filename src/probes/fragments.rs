//! Fragmentation: the number of extents of the files that the workload left.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fsderby_sys::extents::pieces;
use rustix::fs::{Dir, DirEntry, FileType, Mode, OFlags, lstat};
use rustix::io::Errno;

use super::{Counter, NotAvailable, Probe, Raw, Running, Site, Work};
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::description::Description;
use crate::schema::metric::Metric;

pub struct Fragments;

/// Most files examined. From more files, this many are chosen at equal distances in path order, so they are the same on every
/// filesystem.
const FILES: usize = 256;
/// Most names read in the search for files.
const NAMES: usize = 20_000;

static COUNTERS: [Counter; 4] = [
    Counter::level("files_found"),
    Counter::level("files_seen"),
    Counter::level("fragments"),
    Counter::level("fragments_max"),
];

const EACH: Declared =
    Declared { section: Section::Capacity, over: Over::Moment, drawn: false, ..Declared::count("fragments") };

static MEAN: Declared = Declared {
    name: "fragments.mean",
    title: "mean fragments per file",
    explained: "Mean number of extents per file, over at most 256 of the files that the workload left. 1 means a \
                contiguous file.",
    ..EACH
};

static MOST: Declared = Declared {
    name: "fragments.max",
    title: "fragments of the most fragmented file",
    explained: "Number of extents of the most fragmented file. At most 256 files are examined.",
    ..EACH
};

impl Probe for Fragments {
    fn name(&self) -> &'static str {
        "fragments"
    }

    fn description(&self) -> Description {
        Description {
            what: "Number of extents per file, for up to 256 of the files that the workload left.",
            origin: "Uses FIEMAP (Documentation/filesystems/fiemap.rst) after the sync, when all measuring \
                     has ended.",
            limits: "A workload that deletes its files leaves none to examine; files of PostMark are examined in the \
                     integrity check. A compressed extent counts as a continuation of the previous extent if it begins \
                     where the previous extent may end on the device. Few filesystems report the exact end of a \
                     compressed extent, and only to root. Examining a file caches its metadata, so a later deletion \
                     finds the metadata in memory. Examining 256 files takes 1.5 ms.",
        }
    }

    fn counters(&self) -> &'static [Counter] {
        &COUNTERS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        vec![&MEAN, &MOST]
    }

    fn metrics(&self, raw: &Raw, _work: &Work<'_>) -> Vec<Metric> {
        let counter = |name: &str| raw.get(name).copied();
        let files = counter("files_seen").filter(|files| *files > 0);
        let mean = files.zip(counter("fragments")).map(|(files, all)| MEAN.metric(all as f64 / files as f64));
        let most = files.and(counter("fragments_max")).map(|most| MOST.metric(most as f64));
        mean.into_iter().chain(most).collect()
    }

    fn open(&self, site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable> {
        let place = site.place.ok_or_else(|| NotAvailable("no directory to examine".into()))?;
        Ok(Box::new(Open(place.to_owned())))
    }
}

struct Open(PathBuf);

impl Running for Open {
    fn start(&mut self) {}

    fn stop(&mut self) -> Raw {
        Raw::new()
    }

    fn look_at_files(&mut self) -> Result<Raw, NotAvailable> {
        let fault = |e: io::Error| NotAvailable(format!("could not examine the files: {e}"));
        let found = files(&self.0).map_err(fault)?;
        let (mut files, mut all, mut most) = (0, 0, 0);
        for path in chosen(&found) {
            match opened(path, OFlags::empty()).map_err(io::Error::from).and_then(|file| pieces(&file.into()))
            {
                // The file is empty.
                Ok(0) => {}
                Ok(n) => (files, all, most) = (files + 1, all + n, most.max(n)),
                Err(e) if says_no(&e) => {
                    return Err(NotAvailable("this filesystem does not support FIEMAP".into()));
                }
                Err(e) => return Err(fault(e)),
            }
        }
        let raw = [
            ("files_found", found.len() as u64),
            ("files_seen", files),
            ("fragments", all),
            ("fragments_max", most),
        ];
        Ok(raw.map(|(name, value)| (name.to_owned(), value)).into())
    }
}

fn says_no(error: &io::Error) -> bool {
    let no = [Errno::OPNOTSUPP, Errno::NOTTY].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|code| no.contains(&code))
}

/// Every regular file below this directory, by path.
fn files(place: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![place.to_owned()];
    let mut names = 0;
    while let Some(folder) = folders.pop() {
        for entry in Dir::new(opened(&folder, OFlags::DIRECTORY)?)? {
            let entry = entry?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            let path = folder.join(OsStr::from_bytes(entry.file_name().to_bytes()));
            match kind(&entry, &path)? {
                FileType::Directory => folders.push(path),
                FileType::RegularFile => found.push(path),
                _ => {}
            }
            names += 1;
            if names >= NAMES {
                folders.clear();
                break;
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Some filesystems do not report the type in directory entries.
fn kind(entry: &DirEntry, path: &Path) -> io::Result<FileType> {
    match entry.file_type() {
        FileType::Unknown => Ok(FileType::from_raw_mode(lstat(path)?.st_mode)),
        known => Ok(known),
    }
}

fn chosen(found: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    let n = found.len().min(FILES);
    (0..n).map(move |at| &found[at * found.len() / n])
}

/// Follows no link and does not block on a FIFO. Where permitted, the access time is not updated, because the unmount would
/// write it.
fn opened(path: &Path, more: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | more;
    match rustix::fs::open(path, flags | OFlags::NOATIME, Mode::empty()) {
        Err(Errno::PERM) => rustix::fs::open(path, flags, Mode::empty()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::super::Devices;
    use super::*;

    #[test]
    fn at_most_so_many_are_chosen_from_first_to_last() {
        let found = |n: usize| (0..n).map(|n| PathBuf::from(format!("{n:05}"))).collect::<Vec<_>>();
        for n in [0, 1, 255, 256, 257, 10_000] {
            let all = found(n);
            let chosen: Vec<&PathBuf> = chosen(&all).collect();
            assert_eq!(chosen.len(), n.min(FILES));
            assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]), "{n}");
        }
    }

    #[test]
    fn files_of_all_folders_are_seen_and_links_are_not() {
        let place = tempfile::tempdir_in("/var/tmp").unwrap();
        fs::create_dir(place.path().join("s0")).unwrap();
        for (name, bytes) in [("s0/1", 5000), ("2", 9000), ("empty", 0)] {
            let path = place.path().join(name);
            fs::write(&path, vec![7; bytes]).unwrap();
            File::open(&path).unwrap().sync_all().unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", place.path().join("link")).unwrap();
        let devices = Devices::default();
        let site = Site { place: Some(place.path()), ..Site::new(&devices) };
        let mut running = Fragments.open(&site).unwrap();
        running.start();
        assert!(running.stop().is_empty());
        match running.look_at_files() {
            Ok(raw) => {
                assert_eq!((raw["files_found"], raw["files_seen"]), (3, 2));
                assert!(raw["fragments"] >= 2 && raw["fragments_max"] <= raw["fragments"]);
            }
            Err(e) => assert!(e.0.contains("not support FIEMAP"), "{e}"),
        }
    }
}
