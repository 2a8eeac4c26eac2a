//! Files that the host hands to a guest in its memory, so that guests that differ only in their job can use one snapshot.
//!
//! ```text
//! init ── all modules loaded ── stops its guest                    the host keeps it as a snapshot
//!                                     └─ continues for each trial ── reads the files that the host has put there
//!         filesystem in its state ── stops its guest               likewise
//!                                     └─ continues with the whole job
//! ```

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use anyhow::Context;

use super::layout::JOB;
use super::map;

/// Port of QEMU's device `pvpanic`, and the value that it takes for a panic. QEMU then stops the guest at exactly this
/// instruction.
const PANIC_PORT: u64 = 0x505;
const PANICKED: [u8; 1] = [1];

/// What stands in the memory for files when the guest stops.
pub const STOPPED: u64 = u64::MAX;

/// Files by their path in the guest's first root filesystem.
pub type Files = Vec<(String, String)>;

/// Encodes files for the guest's memory: eight bytes of length, then the content.
///
/// # Errors
/// If the files are too large.
pub fn encode(files: &Files) -> anyhow::Result<Vec<u8>> {
    let text = serde_json::to_vec(files)?;
    anyhow::ensure!(text.len() <= JOB.length - 8, "the job is too large for the memory shared with the host");
    Ok([&(text.len() as u64).to_le_bytes()[..], &text].concat())
}

/// Stops this guest; when it continues, reads the files that the host has put into its memory.
///
/// # Errors
/// If there is no such device, or no files were handed over.
pub fn wait_for_files() -> anyhow::Result<()> {
    let mut memory = map(JOB).context("could not map the memory for the job")?;
    // The host sees this byte, and then asks whether the guest has stopped.
    memory.publish(STOPPED);
    stop_machine().context("could not pause this machine")?;
    let mut length = [0; 8];
    memory.read_exact_at(&mut length, 0)?;
    let length = usize::try_from(u64::from_le_bytes(length))?;
    anyhow::ensure!((1..=JOB.length - 8).contains(&length), "the host sent no job");
    let mut text = vec![0; length];
    memory.read_exact_at(&mut text, 8)?;
    let files: Files = serde_json::from_slice(&text).context("the job from the host could not be parsed")?;
    for (path, text) in files {
        fs::write(&path, text).with_context(|| format!("could not write {path}"))?;
    }
    Ok(())
}

fn stop_machine() -> io::Result<()> {
    File::options().write(true).open("/dev/port")?.write_all_at(&PANICKED, PANIC_PORT)
}
