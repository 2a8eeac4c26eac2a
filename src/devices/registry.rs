//! This machine's copies of claims: one file each, which only root can write, beside a lock and a note of what a run left.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::marks::Mark;
use super::refusal::{Check, Refusal};
use crate::schema::event::Steady;
use crate::schema::units::Bytes;

const FOLDER: &str = "/var/lib/fsderby/devices";
const MARK: &str = "json";
/// Names the length at whose beginning and end no filesystem can be; absent from the first write of a run until these are empty again.
const EMPTY: &str = "empty";
const LOCK: &str = "lock";
const JOURNAL: &str = "undo";
/// Names the length of the volume of the last run.
const USED: &str = "used";
/// Says what this run has preconditioned the drive to.
const STEADY: &str = "steady";
const HASHED: &str = "hash-";

fn file(claim: &str, extension: &str) -> PathBuf {
    Path::new(FOLDER).join(claim).with_extension(extension)
}

/// All claims of this machine.
pub fn all() -> Vec<Mark> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = entries.filter(|path| path.extension().is_some_and(|e| e == MARK));
    let marks = files.filter_map(|path| {
        let mark: Mark = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
        (mark.is_sound() && path == file(&mark.claim, MARK)).then_some(mark)
    });
    marks.collect()
}

/// A name of a claimed disk that does not tell its serial number. Without the claim's random number nobody can try serial numbers until
/// one fits.
pub fn hash(mark: &Mark) -> String {
    let hash = blake3::hash(format!("{} {}", mark.claim, mark.id).as_bytes());
    format!("{HASHED}{}", &hash.to_hex()[..16])
}

/// Whether this names a disk without telling its serial number.
pub fn is_hash(id: &str) -> bool {
    id.starts_with(HASHED)
}

/// This text without the disk's serial number, world-wide name and name of its volume, if the disk was named by the hash.
pub fn without_serial(id: &str, text: String) -> String {
    let Some(mark) = find(id).ok().filter(|_| is_hash(id)) else { return text };
    [Some(mark.id), mark.serial, mark.wwid, mark.volume.map(|volume| volume.name)]
        .into_iter()
        .flatten()
        .fold(text, |text, own| text.replace(&own, id))
}

/// The claim of the disk with this serial number, world-wide name or hash.
///
/// # Errors
/// If there is none.
pub fn find(id: &str) -> Result<Mark, Refusal> {
    let found =
        all().into_iter().find(|mark| mark.id == id || mark.wwid.as_deref() == Some(id) || hash(mark) == id);
    found.ok_or_else(|| {
        let claimed: Vec<String> = all().into_iter().map(|mark| mark.id).collect();
        let try_this = match claimed.is_empty() {
            true => format!("fsderby device claim {id}, which checks that the disk is unused and empty"),
            false => format!("one of the claimed disks: {}", claimed.join(", ")),
        };
        Refusal::new(Check::Claim, format!("no disk {id} is claimed on this machine"), try_this)
    })
}

/// # Errors
/// If the folder cannot be written.
pub fn keep(mark: &Mark) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(FOLDER)?;
    let mut new =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(file(&mark.claim, MARK))?;
    new.write_all(&serde_json::to_vec_pretty(mark)?)?;
    new.sync_all()?;
    File::open(FOLDER)?.sync_all()
}

/// # Errors
/// If the copy cannot be removed.
pub fn forget(mark: &Mark) -> io::Result<()> {
    fs::remove_file(file(&mark.claim, MARK))?;
    for extension in [EMPTY, LOCK, JOURNAL, USED, STEADY] {
        let _ = fs::remove_file(file(&mark.claim, extension));
    }
    Ok(())
}

/// The journal of what was built on the disk.
pub fn journal(mark: &Mark) -> PathBuf {
    file(&mark.claim, JOURNAL)
}

/// The lock of a claim, which the kernel frees when its holder ends.
///
/// # Errors
/// If another run holds it.
pub fn lock(mark: &Mark) -> Result<File, Refusal> {
    let path = file(&mark.claim, LOCK);
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let lock = opened.map_err(|e| Refusal::io(Check::Claim, "open", &path.display().to_string(), &e))?;
    locked(mark, lock)
}

/// The same for a look, which makes no file: without one nobody has the lock.
///
/// # Errors
/// If a run holds it.
pub fn lock_if_there(mark: &Mark) -> Result<Option<File>, Refusal> {
    match File::open(file(&mark.claim, LOCK)) {
        Ok(lock) => locked(mark, lock).map(Some),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        // It could be held: whoever cannot see that must not take anything down.
        Err(e) => Err(Refusal::io(Check::Claim, "open the lock of", &mark.id, &e)),
    }
}

fn locked(mark: &Mark, lock: File) -> Result<File, Refusal> {
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(Errno::WOULDBLOCK) => Err(Refusal::new(
            Check::Use,
            format!("another run of fsderby uses {}", mark.id),
            "wait for its end",
        )),
        Err(e) => Err(Refusal::io(Check::Claim, "lock the claim of", &mark.id, &e.into())),
    }
}

/// The length of the range whose ends hold no filesystem; `None` if a run may have left something.
pub fn emptied(mark: &Mark) -> Option<Bytes> {
    fs::read_to_string(file(&mark.claim, EMPTY)).ok()?.parse().ok().map(Bytes)
}

/// The length of the volume that a run has or had.
pub fn used(mark: &Mark) -> Option<Bytes> {
    fs::read_to_string(file(&mark.claim, USED)).ok()?.parse().ok().map(Bytes)
}

/// # Errors
/// If the note cannot be written.
pub fn set_used(mark: &Mark, length: Bytes) -> io::Result<()> {
    set(file(&mark.claim, USED), &length.0.to_string())
}

/// What this run has preconditioned the drive to.
pub fn steady(mark: &Mark) -> Option<Steady> {
    serde_json::from_slice(&fs::read(file(&mark.claim, STEADY)).ok()?).ok()
}

/// # Errors
/// If the note cannot be written.
pub fn set_steady(mark: &Mark, steady: Steady) -> io::Result<()> {
    set(file(&mark.claim, STEADY), &serde_json::to_string(&steady)?)
}

/// A new run begins.
pub fn forget_steady(mark: &Mark) {
    let _ = fs::remove_file(file(&mark.claim, STEADY));
}

/// # Errors
/// If the note cannot be written.
pub fn set_emptied(mark: &Mark, length: Option<Bytes>) -> io::Result<()> {
    let note = file(&mark.claim, EMPTY);
    match length {
        None if !note.exists() => Ok(()),
        None => fs::remove_file(note),
        Some(Bytes(length)) => set(note, &length.to_string()),
    }
}

fn set(note: PathBuf, text: &str) -> io::Result<()> {
    let mut new = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(note)?;
    new.write_all(text.as_bytes())?;
    new.sync_all()
}

/// Where the copy of a claim is.
pub fn place(mark: &Mark) -> PathBuf {
    file(&mark.claim, MARK)
}
