//! The only phase of a trial: writes file after file until the target is reached.

use std::fmt::Write as _;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;

use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;

use super::metrics::{self, PHASE};
use super::parameters::{Parameters, To, WHOLE};
use crate::schema::event::Phase;
use crate::schema::job::Portion;
use crate::schema::metric::Metric;
use crate::schema::units::KIB;
use crate::schema::work::{Amount, LiveFile};
use crate::workloads::kit::files::failed;
use crate::workloads::kit::{Latencies, Noise, files, random, sizes, tree, zeros};
use crate::workloads::{Clock, Log, Needs, OpError, Progress, Ready, Work};

const OPERATIONS: &[&str] = &["create"];
const CREATE: usize = 0;
/// Folders per parent folder.
const FAN: u32 = 16;
/// The share is met to within this fraction of the usable space: a thousandth.
const CLOSE: u64 = 1000;
/// If not even a file of this size fits, the filesystem is full.
const LEAST: u32 = 4 * KIB as u32;
/// The list of file sizes is allocated before the work, for at most this many files.
const MOST_KEPT: u64 = 1 << 24;

impl Work for Parameters {
    fn needs(&self) -> Needs {
        Needs {
            largest_file: sizes::largest(&self.sizes),
            whole_filesystem: true,
            preallocation: self.allocate,
            ..Needs::default()
        }
    }

    /// The amount of work depends on the filesystem and is not known before the run; the phase records it.
    fn amount(&self, _seed: u64) -> Amount {
        Amount::default()
    }

    /// Only one client: several clients would each write the missing amount.
    fn most_clients(&self) -> u64 {
        1
    }

    fn prepare(&self, seed: u64, portion: &Portion) -> Result<Box<dyn Ready>, String> {
        match portion {
            Portion { part: None, stop_after: None, .. } => {}
            Portion { part: Some(_), .. } => return Err("the workload has only one part".into()),
            Portion { .. } => return Err("this workload cannot be stopped at an operation".into()),
        }
        let place = here().map_err(|e| e.to_string())?;
        let usable = free(&place).map_err(|e| e.to_string())?;
        let files = (usable / sizes::mean(&self.sizes)).min(MOST_KEPT) as usize;
        Ok(Box::new(Filling {
            to: self.to,
            place,
            usable,
            draws: Draws {
                rows: self.sizes.clone(),
                whole: sizes::whole(&self.sizes),
                source: random(&["fill", "sizes"], seed),
            },
            files: Files {
                per_folder: self.per_folder,
                allocate: self.allocate,
                folders: 0,
                sizes: Vec::with_capacity(files),
                bytes: 0,
                noise: Noise::new(seed, random(&["fill", "content"], seed)),
                path: String::with_capacity(64),
                latencies: Latencies::new(OPERATIONS),
            },
        }))
    }

    fn metrics(&self, phases: &[Phase]) -> Vec<Metric> {
        metrics::metrics(phases)
    }

    fn metrics_version(&self) -> u32 {
        metrics::VERSION
    }
}

/// The bytes missing until this share of the usable space is used; `None` if close enough.
fn missing(usable: u64, free: u64, share: u64) -> u64 {
    let wanted = (u128::from(usable) * u128::from(share) / u128::from(WHOLE)) as u64;
    match wanted.saturating_sub(usable.saturating_sub(free)) {
        little if little <= usable / CLOSE => 0,
        missing => missing,
    }
}

fn here() -> Result<OwnedFd, OpError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, c".", flags, Mode::empty()).map_err(|e| failed("open the directory", ".", e))
}

/// Bytes that an ordinary user can still fill, after a sync: only then is written data allocated.
fn free(place: &OwnedFd) -> Result<u64, OpError> {
    rustix::fs::syncfs(place).map_err(|e| failed("sync", ".", e))?;
    let seen = rustix::fs::fstatvfs(place).map_err(|e| failed("get the free space of", ".", e))?;
    Ok(seen.f_bavail.saturating_mul(seen.f_frsize))
}

fn is_no_space(error: &OpError) -> bool {
    error.cause.errno() == Some(Errno::NOSPC.raw_os_error())
}

struct Filling {
    to: To,
    place: OwnedFd,
    /// Free space before the work.
    usable: u64,
    draws: Draws,
    files: Files,
}

struct Draws {
    rows: Vec<sizes::Row>,
    whole: u64,
    source: Xoshiro256PlusPlus,
}

impl Draws {
    fn size(&mut self) -> u32 {
        sizes::draw(&self.rows, self.whole, &mut self.source)
    }
}

impl Ready for Filling {
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError> {
        let start = clock.now_ns();
        match self.to {
            To::Share(share) => self.fill_share(share, clock, log.progress())?,
            To::Full => self.fill_all(clock, log.progress())?,
        }
        let free = free(&self.place)?;
        let ns = clock.now_ns() - start;
        let Files { folders, sizes, bytes, latencies, allocate, .. } = &mut self.files;
        let counts = [
            ("files", sizes.len() as u64),
            ("folders", u64::from(*folders)),
            (if *allocate { metrics::ALLOCATED } else { metrics::WRITTEN }, *bytes),
            ("bytes_usable", self.usable),
            ("bytes_free", free),
        ];
        let counts = counts.map(|(name, n)| (name.to_owned(), n)).into();
        log.phase(Phase { name: PHASE.to_owned(), ns, counts });
        latencies.report(PHASE, log);
        Ok(())
    }

    fn live(&self) -> Vec<LiveFile> {
        let files = &self.files;
        let mut path = String::new();
        let live = |(file, size): (u32, &u32)| {
            files.name(file, &mut path);
            let bytes = u64::from(*size);
            let crc32 = if files.allocate { zeros::crc32(bytes) } else { files.noise.crc32(file, bytes) };
            LiveFile::file(&path, bytes, crc32)
        };
        (0..).zip(&files.sizes).map(live).collect()
    }
}

impl Filling {
    /// The missing amount is measured only sometimes, so half of it is written between measurements.
    fn fill_share(&mut self, share: u64, clock: &dyn Clock, progress: &Progress) -> Result<(), OpError> {
        let mut missing = missing(self.usable, self.usable, share);
        let all = missing;
        progress.total.store(all, Relaxed);
        while missing > 0 {
            let before = self.files.bytes;
            while self.files.bytes - before < missing.div_ceil(2) {
                let left = missing - (self.files.bytes - before);
                let size = self.draws.size().min(u32::try_from(left).unwrap_or(u32::MAX));
                self.files.make(size, clock)?;
            }
            missing = self::missing(self.usable, free(&self.place)?, share);
            progress.done.store(all.saturating_sub(missing), Relaxed);
        }
        Ok(())
    }

    /// A file that does not fit is removed, and a smaller one tried.
    fn fill_all(&mut self, clock: &dyn Clock, progress: &Progress) -> Result<(), OpError> {
        progress.total.store(self.usable, Relaxed);
        let mut most = u32::MAX;
        loop {
            let size = self.draws.size().min(most);
            match self.files.make(size, clock) {
                Ok(()) => progress.done.store(self.files.bytes, Relaxed),
                Err(e) if is_no_space(&e) => {
                    self.files.take_back()?;
                    if size <= LEAST {
                        return Ok(());
                    }
                    most = size / 2;
                    // After a sync, space that was reserved for the written data may be free again.
                    free(&self.place)?;
                }
                Err(e) => return Err(e),
            }
        }
    }
}

/// The files created so far.
struct Files {
    per_folder: u32,
    allocate: bool,
    /// The number of folders created so far.
    folders: u32,
    sizes: Vec<u32>,
    bytes: u64,
    noise: Noise,
    path: String,
    latencies: Latencies,
}

impl Files {
    /// Creates the next file, and its folder if the folder is new.
    fn make(&mut self, size: u32, clock: &dyn Clock) -> Result<(), OpError> {
        let file = self.sizes.len() as u32;
        let folder = file / self.per_folder;
        if folder == self.folders {
            folder_name(folder, &mut self.path);
            files::mkdir(&self.path)?;
            self.folders += 1;
        }
        let begin = clock.now_ns();
        self.write(file, size)?;
        self.latencies.record(CREATE, clock.now_ns() - begin);
        self.sizes.push(size);
        self.bytes += u64::from(size);
        Ok(())
    }

    fn write(&mut self, file: u32, size: u32) -> Result<(), OpError> {
        let mut path = std::mem::take(&mut self.path);
        self.name(file, &mut path);
        self.path = path;
        if self.allocate {
            return files::make(&self.path, false, |opened| files::allocate(opened, &self.path, size.into()));
        }
        tree::make(&mut self.noise, &self.path, file, u64::from(size))
    }

    /// Removes a file that could not be written in full.
    fn take_back(&mut self) -> Result<(), OpError> {
        let file = self.sizes.len() as u32;
        let mut path = String::new();
        self.name(file, &mut path);
        match unlinkat(CWD, path.as_str(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(failed("unlink", &path, e)),
        }
    }

    fn name(&self, file: u32, path: &mut String) {
        folder_name(file / self.per_folder, path);
        let written = write!(path, "/f{file}");
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
    }
}

/// A folder's path consists of the digits of its number. Its parent has a smaller number, so the parent exists already.
fn folder_name(folder: u32, path: &mut String) {
    path.clear();
    let digits = (0..u32::BITS / FAN.ilog2()).rev().map(|digit| folder >> (digit * FAN.ilog2()) & (FAN - 1));
    for digit in digits.skip_while(|digit| *digit == 0).chain((folder == 0).then_some(0)) {
        let above = if path.is_empty() { "" } else { "/" };
        let written = write!(path, "{above}d{digit:x}");
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_folder_comes_after_the_one_above_it_and_no_two_have_one_name() {
        let name = |folder| {
            let mut path = String::new();
            folder_name(folder, &mut path);
            path
        };
        assert_eq!([0, 1, 15, 16, 0x1a2].map(name), ["d0", "d1", "df", "d1/d0", "d1/da/d2"]);
        let mut seen = BTreeSet::new();
        for folder in 0..600 {
            let path = name(folder);
            if let Some((above, _)) = path.rsplit_once('/') {
                assert!(seen.contains(above), "{path}");
            }
            assert!(seen.insert(path.clone()), "{path}");
        }
        let above = |path: &String| path.rsplit_once('/').map(|(above, _)| above.to_owned());
        for folder in &seen {
            assert!(seen.iter().filter(|path| above(path).as_ref() == Some(folder)).count() <= FAN as usize);
        }
    }

    #[test]
    fn what_is_missing_is_a_share_of_what_was_usable() {
        assert_eq!(missing(900_000, 900_000, 800_000), 720_000);
        assert_eq!(missing(900_000, 600_000, 800_000), 420_000);
        assert_eq!(missing(900_000, 180_500, 800_000), 0, "it is close");
        assert_eq!(missing(900_000, 100_000, 800_000), 0);
        assert_eq!(missing(900_000, 950_000, 800_000), 720_000, "somebody else has deleted something");
        assert_eq!(missing(u64::MAX, u64::MAX, WHOLE), u64::MAX);
    }
}
