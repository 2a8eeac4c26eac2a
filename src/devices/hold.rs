//! A claimed disk in use: a window on its range, which is all that tools and mounts see.
//!
//! The process of the run holds it from its first trial to its end. Agents find the window by its name and check the claim again. When the
//! run's process dies, the kernel removes the window as soon as nothing is mounted from it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use fsderby_sys::block_device;
use fsderby_sys::device_mapper::{Part, Window};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::disk::{self, Described};
use super::lvs::Answers;
use super::marks::{self, Found, Mark, Range};
use super::opened::Disk;
use super::refusal::{Check, Refusal};
use super::undo::{self, Undo};
use super::users::{is_unused, lock};
use super::{here, lvm, registry};
use crate::schema::event::Steady;
use crate::schema::units::{Bytes, KIB, MIB};

/// Where filesystems have what names them: the beginning, and copies of Btrfs.
const NAMED: [(u64, u64); 2] = [(0, MIB), (64 * MIB, 64 * KIB)];
/// And the end, where GPT, md 1.0 and ZFS look.
const END: u64 = MIB;

/// What a trial finds on its volume before mkfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reset {
    /// Zeros everywhere.
    Zeros,
    /// What the last trial left, but for the places by which filesystems are recognised.
    Leftovers,
    /// The whole volume was discarded.
    Discarded,
}

/// A disk whose claim is held by this process.
#[derive(Debug)]
pub struct Held {
    mark: Mark,
    window: Window,
    disk: Disk,
    _lock: File,
}

/// The disk of a claim, if its marks and this machine's copy agree.
///
/// # Errors
/// If the disk has gone, changed, or its marks are not those of this claim.
pub fn claimed(mark: &Mark) -> Result<Disk, Refusal> {
    let disk = named(mark)?;
    disk.is_unreserved()?;
    marks::agree(&disk.about.name, &found(&disk, mark)?, mark)?;
    Ok(disk)
}

pub(super) fn found(disk: &Disk, mark: &Mark) -> Result<Found, Refusal> {
    marks::read(disk.node(), mark.size).map_err(|e| Refusal::io(Check::Claim, "read", &disk.about.name, &e))
}

/// The disk that was claimed, whatever became of its marks.
///
/// # Errors
/// If the disk has gone or changed.
pub(super) fn named(mark: &Mark) -> Result<Disk, Refusal> {
    let about = identified(mark)?;
    if about.size != mark.size {
        return Err(match about.volume() {
            Some(name) => lvm::resized(&name, mark.size, about.size),
            None => another(mark, &about.name, "its size"),
        });
    }
    let disk = Disk::open(about)?;
    is_where_it_was(&disk, mark)?;
    Ok(disk)
}

/// The disk that was claimed, to give it back. LVM may have moved or extended a volume: each sector of a claim is still where it was in
/// it, and only a sector as the claim wrote it is removed.
///
/// # Errors
/// If the disk has gone or changed in any other way.
pub(super) fn named_to_release(mark: &Mark) -> Result<Disk, Refusal> {
    let about = identified(mark)?;
    if about.mapped.is_some() != mark.volume.is_some() {
        return Err(another(mark, &about.name, "whether it is an LVM volume"));
    }
    match about.volume() {
        Some(name) if about.size < mark.size => Err(lvm::resized(&name, mark.size, about.size)),
        None if about.size != mark.size => Err(another(mark, &about.name, "its size")),
        _ => Disk::open(about),
    }
}

fn another(mark: &Mark, name: &str, what: &str) -> Refusal {
    let text = format!("{name} is not the disk that was claimed as {}: {what} differs", mark.id);
    Refusal::new(Check::Identity, text, "fsderby device list; nothing was written")
}

/// The disk with the names of the mark.
fn identified(mark: &Mark) -> Result<Described, Refusal> {
    let all = disk::all();
    let about = match (&mark.volume, &mark.wwid) {
        (Some(placed), Some(uuid)) if all.iter().all(|disk| disk.wwid.as_ref() != Some(uuid)) => {
            return Err(lvm::missing(uuid, placed, &all));
        }
        _ => disk::find(&mark.id)?,
    };
    if about.serial != mark.serial || about.wwid != mark.wwid {
        return Err(another(mark, &about.name, "its serial number or world-wide name"));
    }
    about.is_one_of_a_kind(&all)?;
    Ok(about)
}

/// Whether a volume of LVM lies where it lay when it was claimed.
pub(super) fn is_where_it_was(disk: &Disk, mark: &Mark) -> Result<(), Refusal> {
    match (disk.laid(), &mark.volume) {
        (None, None) => Ok(()),
        (Some(laid), Some(placed)) => laid.is_as_claimed(placed),
        _ => Err(another(mark, &disk.about.name, "whether it is an LVM volume")),
    }
}

/// Whether a window of this length could be opened now. Writes nothing.
///
/// # Errors
/// As for [`Held::hold`].
pub fn is_ready(id: &str, length: Bytes) -> Result<(), Refusal> {
    here::is_whole_machine()?;
    let mark = registry::find(id)?;
    let _lock = registry::lock_if_there(&mark)?;
    examined(&mark, id, length).map(|_| ())
}

/// The lock of the claim must be held.
fn examined(mark: &Mark, id: &str, length: Bytes) -> Result<Disk, Refusal> {
    remove_left(mark)?;
    lvm::is_opened_by_us(&identified(mark)?, 0)?;
    let disk = claimed(mark)?;
    let Range { length: most, .. } = mark.range();
    if length > most {
        let what = format!("a volume of {length} does not fit on {id}, whose range has {most}");
        return Err(Refusal::new(Check::Claim, what, "a smaller --size"));
    }
    if !length.0.is_multiple_of(mark.sector) {
        let what = format!(
            "a volume of {} bytes does not end with a sector of {id}, which has {}",
            length.0, mark.sector
        );
        return Err(Refusal::new(Check::Claim, what, "a --size in MiB"));
    }
    is_offered(&disk)?;
    is_unused(&disk)?;
    if let Some(emptied) = registry::emptied(mark) {
        is_untouched(&disk, mark, emptied)?;
    }
    Ok(disk)
}

/// Whether LVM says of a volume that its user made it for this. Anything else that is claimed is no matter of LVM.
pub(super) fn is_offered(disk: &Disk) -> Result<(), Refusal> {
    disk.laid().map_or(Ok(()), |laid| Answers::now()?.offer(&disk.about, laid))
}

fn part(disk: &Disk, mark: &Mark, length: Bytes) -> Part {
    Part { disk: disk.about.number, offset: mark.range().offset.0, length: length.0 }
}

fn name(mark: &Mark) -> String {
    format!("fsderby-{}", &mark.claim[..16.min(mark.claim.len())])
}

/// Removes what a process that was killed left: its layers, and a window that it was about to open. The lock of the claim must be held:
/// then no run has it.
pub(super) fn remove_left(mark: &Mark) -> Result<(), Refusal> {
    undo::finish(mark).map_err(|why| Refusal::new(Check::Use, why, "fsderby doctor"))?;
    let _ = Window::remove_left(&name(mark));
    Ok(())
}

/// Removes from each claim that no run holds what a killed process left, as far as that is possible.
pub fn clear_left() {
    for mark in registry::all() {
        if let Ok(_lock) = registry::lock_if_there(&mark) {
            // Who uses the disk next tries again and says what cannot be removed.
            let _ = remove_left(&mark);
        }
    }
}

impl Held {
    /// Opens the window of this length on the claimed disk.
    ///
    /// # Errors
    /// If the claim is damaged, the disk another one, or somebody uses it or has written to it since the last run.
    pub fn hold(id: &str, length: Bytes) -> Result<Self, Refusal> {
        here::is_whole_machine()?;
        let mark = registry::find(id)?;
        let claim_lock = registry::lock(&mark)?;
        let disk = examined(&mark, id, length)?;
        lock(&disk)?;
        // Nobody may begin to use it between the look and the window: what this open excludes, the device mapper excludes too.
        drop(disk.exclusively()?);
        lvm::is_opened_by_us(&disk.about, 1)?;
        let fault = |e| Refusal::io(Check::Window, "open a window on", id, &e);
        let emptied = registry::emptied(&mark);
        registry::forget_steady(&mark);
        registry::set_used(&mark, length).and_then(|()| registry::set_emptied(&mark, None)).map_err(fault)?;
        let again = || is_still(&disk, &mark).map_err(io::Error::other);
        let uuid = format!("fsderby-{}", mark.claim);
        let opened = Window::open(&name(&mark), &uuid, part(&disk, &mark, length), again);
        let window = opened.map_err(|e| {
            let _ = registry::set_emptied(&mark, emptied);
            fault(e)
        })?;
        Ok(Held { mark, window, disk, _lock: claim_lock })
    }

    /// Whether it still is the claimed disk, with all its marks.
    ///
    /// # Errors
    /// What changed.
    pub fn is_still_claimed(&self) -> Result<(), Refusal> {
        is_still(&self.disk, &self.mark)
    }
}

fn is_still(disk: &Disk, mark: &Mark) -> Result<(), Refusal> {
    disk.is_still_itself()?;
    marks::agree(&disk.about.name, &found(disk, mark)?, mark)
}

impl Drop for Held {
    /// Leaves no filesystem behind that a desktop would mount.
    fn drop(&mut self) {
        // What changed or is reserved meanwhile is written to no more. The next run empties it.
        if self.is_still_claimed().is_err() {
            return;
        }
        let node = self.window.node();
        let emptied = empty_names(node).and_then(|length| node.sync_all().map(|()| length));
        // Without the note, the next run does not expect it to be empty.
        let _ = emptied.and_then(|length| registry::set_emptied(&self.mark, Some(length)));
    }
}

fn places(length: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = (length.saturating_sub(END), END.min(length));
    NAMED.into_iter().chain([end]).filter(move |(at, size)| at + size <= length)
}

fn empty_names(node: &File) -> io::Result<Bytes> {
    let length = Bytes(block_device::bytes(node)?);
    empty_names_at(node, 0, length).map(|()| length)
}

fn empty_names_at(node: &File, offset: u64, length: Bytes) -> io::Result<()> {
    // By writes: the device's own command for zeros may discard, which would undo what a drive was brought to.
    places(length.0).try_for_each(|(at, size)| node.write_all_at(&vec![0; size as usize], offset + at))
}

/// What names a filesystem that a killed run left, in the range of a claim whose marks agree. Where no run was killed, the range is as
/// the last run left it, and nothing is written.
pub(super) fn empty_names_of_killed(disk: &File, mark: &Mark) -> io::Result<()> {
    match (registry::emptied(mark), registry::used(mark)) {
        (None, Some(length)) if length <= mark.range().length => {
            empty_names_at(disk, mark.range().offset.0, length)
        }
        _ => Ok(()),
    }
}

/// Whether this length of the range still has no filesystem, as the claim or the last run left it.
fn is_untouched(disk: &Disk, mark: &Mark, length: Bytes) -> Result<(), Refusal> {
    let Range { offset, .. } = mark.range();
    for (at, size) in places(length.0) {
        let mut bytes = vec![0; size as usize];
        let read = disk.node().read_exact_at(&mut bytes, offset.0 + at);
        read.map_err(|e| Refusal::io(Check::Content, "read", &disk.about.name, &e))?;
        if bytes.iter().any(|byte| *byte != 0) {
            let what = format!("somebody has written to {} since it was claimed or last used", mark.id);
            return Err(Refusal::new(
                Check::Content,
                what,
                "look what it is; fsderby device release, then claim it anew",
            ));
        }
    }
    Ok(())
}

/// A claimed disk's window as an agent uses it, checked again for each trial.
#[derive(Debug)]
pub struct Volume {
    disk: Disk,
    mark: Mark,
    window: Window,
}

impl Volume {
    /// Finds the window that the run's process holds.
    ///
    /// # Errors
    /// If there is none, or the claim is no longer whole.
    pub fn find(id: &str, length: Bytes) -> Result<Self, Refusal> {
        let mark = registry::find(id)?;
        let disk = claimed(&mark)?;
        let found = Window::find(&name(&mark), part(&disk, &mark, length));
        let window = found.map_err(|e| Refusal::io(Check::Window, "find the window on", id, &e))?;
        disk.is_still_itself()?;
        Ok(Volume { disk, mark, window })
    }

    pub fn window(&self) -> &Window {
        &self.window
    }

    /// A short name of the claim, for what is built on it.
    pub fn short(&self) -> &str {
        self.mark.short()
    }

    /// Notes what is about to be built on the window; an empty list says that all of it is down.
    ///
    /// # Errors
    /// If the note cannot be written.
    pub fn note(&self, undo: &[Undo]) -> io::Result<()> {
        undo::note(&self.mark, undo)
    }

    /// What this run has preconditioned the drive to.
    pub fn conditioned(&self) -> Option<Steady> {
        registry::steady(&self.mark)
    }

    /// Notes that this run has preconditioned the drive.
    ///
    /// # Errors
    /// If the note cannot be written.
    pub fn note_conditioned(&self, steady: Steady) -> io::Result<()> {
        registry::set_steady(&self.mark, steady)
    }

    /// Removes what names a filesystem or a member of an array.
    ///
    /// # Errors
    /// If the disk reports an error.
    pub fn forget_names(&self) -> io::Result<()> {
        empty_names(self.window.node()).and_then(|_| self.window.node().sync_all())
    }

    /// Removes what names a filesystem on the layers above this window, which may show what an earlier trial left.
    ///
    /// # Errors
    /// If the device is used, or lies on something else than windows on claimed disks.
    pub fn forget_names_above(&self, top: &Path) -> io::Result<()> {
        let alone = OFlags::EXCL.bits().cast_signed();
        let node = OpenOptions::new().read(true).write(true).custom_flags(alone).open(top)?;
        if !undo::is_on_windows(node.metadata()?.rdev()) {
            return Err(io::Error::other("it does not lie on claimed disks alone"));
        }
        empty_names(&node)?;
        node.sync_all()?;
        fsderby_sys::loop_device::forget_cached(&node)
    }

    /// What happened to the disk below, after a trial that failed.
    pub fn fault(&self) -> Option<Refusal> {
        is_still(&self.disk, &self.mark).err()
    }

    /// Brings the volume into the state with which every trial begins.
    ///
    /// # Errors
    /// If the disk reports an error, or cannot discard, or somebody has mounted the window.
    pub fn reset(&self, how: Reset) -> io::Result<()> {
        let alone = (OFlags::EXCL | OFlags::NOFOLLOW).bits().cast_signed();
        OpenOptions::new().read(true).custom_flags(alone).open(self.window.path())?;
        let node = self.window.node();
        let length = block_device::bytes(node)?;
        match how {
            Reset::Zeros => block_device::zero(node, 0, length)?,
            Reset::Discarded => block_device::discard(node, 0, length)?,
            Reset::Leftovers => {}
        }
        if how != Reset::Zeros {
            empty_names(node)?;
        }
        node.sync_all()?;
        // What was written through the cache must not be read from it.
        fsderby_sys::loop_device::forget_cached(node)
    }
}
