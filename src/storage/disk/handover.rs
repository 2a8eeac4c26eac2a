//! What a guest is handed after its boot: files, in its memory, so that machines that differ in their job alone can have booted once.
//!
//! ```text
//! init ── all modules loaded ── stops its machine                    the host keeps it, as a snapshot
//!                                     └─ goes on, again and again ── reads the files that the host has put there
//! ```

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use anyhow::Context;

use super::layout::JOB;
use super::map;

/// Where QEMU's device `pvpanic` listens, and what it takes for a panic. QEMU then stops the machine, at this very instruction.
const PANIC_PORT: u64 = 0x505;
const PANICKED: [u8; 1] = [1];

/// Files by their path in the guest's first root.
pub type Files = Vec<(String, String)>;

/// As the host puts them there: eight bytes for the length of what follows.
///
/// # Errors
/// When they are too large.
pub fn encode(files: &Files) -> anyhow::Result<Vec<u8>> {
    let text = serde_json::to_vec(files)?;
    anyhow::ensure!(text.len() <= JOB.length - 8, "the job is too large for the memory shared with the host");
    Ok([&(text.len() as u64).to_le_bytes()[..], &text].concat())
}

/// Stops this machine, and when it goes on takes over what was handed to it.
///
/// # Errors
/// When there is no such device, or nothing was handed over.
pub fn wait_for_files() -> anyhow::Result<()> {
    let mut memory = map(JOB).context("could not map the memory for the job")?;
    // Seen by the host, who then asks whether the machine has stopped.
    memory.publish(u64::MAX);
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
