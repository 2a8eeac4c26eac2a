//! This machine's copies of claims: one file each, which only root can write, beside a lock and a note of what a run left.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::marks::Mark;
use super::refusal::{Check, Refusal};

const FOLDER: &str = "/var/lib/fsderby/devices";
const MARK: &str = "json";
/// Exists from the first write of a run into the range until the range's beginning is empty again.
const USED: &str = "used";
const LOCK: &str = "lock";

fn file(claim: &str, extension: &str) -> PathBuf {
    Path::new(FOLDER).join(claim).with_extension(extension)
}

/// All claims of this machine.
pub fn all() -> Vec<Mark> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten().map(|entry| entry.path());
    let marks = entries.filter(|path| path.extension().is_some_and(|e| e == MARK));
    marks.filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok()).collect()
}

/// The claim of the disk with this serial number or world-wide name.
///
/// # Errors
/// If there is none.
pub fn find(id: &str) -> Result<Mark, Refusal> {
    let found = all().into_iter().find(|mark| mark.id == id || mark.wwid.as_deref() == Some(id));
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
    for extension in [USED, LOCK] {
        let _ = fs::remove_file(file(&mark.claim, extension));
    }
    Ok(())
}

/// The lock of a claim, which the kernel frees when its holder ends.
///
/// # Errors
/// If another run holds it.
pub fn lock(mark: &Mark) -> Result<File, Refusal> {
    let path = file(&mark.claim, LOCK);
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let lock = opened.map_err(|e| Refusal::io(Check::Claim, "open", &path.display().to_string(), &e))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(_) => Err(Refusal::new(
            Check::Use,
            format!("another run of fsderby uses {}", mark.id),
            "wait for its end",
        )),
    }
}

/// Whether a run may have left something in the range.
pub fn is_used(mark: &Mark) -> bool {
    file(&mark.claim, USED).exists()
}

/// # Errors
/// If the note cannot be written.
pub fn set_used(mark: &Mark, used: bool) -> io::Result<()> {
    let note = file(&mark.claim, USED);
    match used {
        true => OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(note)?.sync_all(),
        false => fs::remove_file(note),
    }
}
