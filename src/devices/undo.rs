//! The journal of layers on claimed disks: a file for each claim with the commands that take down what a trial builds, written before it
//! is built and removed when it is down. Whoever comes next can finish what a killed process left.
//!
//! A command runs only if its device lies on nothing but windows of claims of this machine.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::disk::attribute;
use super::marks::Mark;
use super::registry;
use crate::host::programs;
use crate::schema::setup::Argv;

/// A program such as udev may look at a device for an instant.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);
const MAPPER: &str = "/dev/mapper/";

/// A device that a layer made, and the command that removes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// `/dev/md1234`, `/dev/mapper/fsderby-…`
    pub device: String,
    pub argv: Argv,
}

impl Undo {
    /// Whether the device exists.
    pub fn is_present(&self) -> bool {
        self.present().is_some()
    }

    /// The kernel's name of the device, while it exists.
    fn present(&self) -> Option<String> {
        match self.device.strip_prefix(MAPPER) {
            Some(given) => fs::read_dir("/sys/block").ok()?.flatten().find_map(|block| {
                let is_it = attribute(&block.path().join("dm/name")).as_deref() == Some(given);
                is_it.then(|| block.file_name().to_string_lossy().into_owned())
            }),
            None => {
                let name = Path::new(&self.device).file_name()?.to_string_lossy().into_owned();
                // A stopped array keeps its name for a while, with state `clear`.
                let state = attribute(&Path::new("/sys/block").join(&name).join("md/array_state"));
                state.filter(|state| state != "clear").map(|_| name)
            }
        }
    }
}

/// Notes what is about to be built, last first; an empty list says that everything is down.
///
/// # Errors
/// If the journal cannot be written: then nothing may be built.
pub fn note(mark: &Mark, undo: &[Undo]) -> io::Result<()> {
    let file = registry::journal(mark);
    match undo {
        [] => match fs::remove_file(file) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        },
        some => {
            let new = file.with_extension("undo-new");
            fs::write(&new, serde_json::to_vec(some)?)?;
            fs::File::open(&new)?.sync_all()?;
            fs::rename(new, file)
        }
    }
}

/// What a trial that ended without a word left on this disk, last first; nothing if the journal cannot be read, which
/// [`finish`] says.
pub fn left(mark: &Mark) -> Vec<Undo> {
    noted(mark).unwrap_or_default()
}

fn noted(mark: &Mark) -> io::Result<Vec<Undo>> {
    let noted: Vec<Undo> = match fs::read(registry::journal(mark)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => serde_json::from_slice(&read?)?,
    };
    Ok(noted.into_iter().filter(|undo| undo.present().is_some()).collect())
}

/// Takes down what is left. The lock of the claim must be held, or the trial's agent have ended.
///
/// # Errors
/// What could not be removed, with the commands.
pub fn finish(mark: &Mark) -> Result<(), String> {
    let windows = windows();
    let left = noted(mark).map_err(|e| {
        let journal = registry::journal(mark).display().to_string();
        format!("could not read {journal}, which says what a killed run left: {e}\n  try: dmsetup ls; mdadm --detail --scan")
    })?;
    for undo in left {
        let is_ours = |name: &str| lies_on(name, &windows);
        if !undo.present().is_some_and(|name| is_ours(&name)) {
            return Err(format!("{} lies on something that is not ours; it was left alone", undo.device));
        }
        let gone = (0..TRIES).any(|tried| {
            if tried > 0 {
                thread::sleep(PAUSE);
            }
            run(&undo.argv);
            undo.present().is_none()
        });
        if !gone {
            return Err(format!("{} is still there\n  try: {}", undo.device, undo.argv.join(" ")));
        }
    }
    note(mark, &[]).map_err(|e| format!("could not remove {}: {e}", registry::journal(mark).display()))
}

fn run(argv: &[String]) {
    let Some((program, arguments)) = argv.split_first() else { return };
    let Some(path) = programs::find(program) else { return };
    let quiet = || Stdio::null();
    let mut command = Command::new(path);
    command.args(arguments).env_clear().env("PATH", programs::FOLDERS.join(":"));
    // Whether it worked is seen by the device.
    let _ = command.stdin(quiet()).stdout(quiet()).stderr(quiet()).status();
}

/// UUIDs of the windows on claimed disks.
fn windows() -> BTreeSet<String> {
    registry::all().iter().map(|mark| format!("fsderby-{}", mark.claim)).collect()
}

/// Whether the device of this number lies on nothing but windows on claimed disks of this machine.
pub fn is_on_windows(number: u64) -> bool {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let place = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}"));
    let name = place.ok().and_then(|place| Some(place.file_name()?.to_string_lossy().into_owned()));
    name.is_some_and(|name| lies_on(&name, &windows()))
}

/// Whether the device lies on nothing but these windows, by their UUIDs.
fn lies_on(name: &str, windows: &BTreeSet<String>) -> bool {
    let place = Path::new("/sys/block").join(name);
    if attribute(&place.join("dm/uuid")).is_some_and(|uuid| windows.contains(&uuid)) {
        return true;
    }
    // A device below that cannot be seen is not ours.
    let read = fs::read_dir(place.join("slaves")).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let Ok(entries) = read else { return false };
    let below: Vec<String> =
        entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    !below.is_empty() && below.iter().all(|name| lies_on(name, windows))
}
