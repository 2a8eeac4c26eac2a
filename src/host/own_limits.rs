//! The limits of this process that the shell has set (`ulimit`): too little stack, and no files.

use anyhow::Context;
use fsderby_sys::process::survive_file_size_limit;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::exit::Failure;
use crate::schema::units::{KIB, MIB};

/// Least stack of the main thread. A dry run of the largest experiment uses less than a fifth.
const STACK: u64 = 4 * MIB;

/// Raises the stack's limit if it is too low, and makes the limit of file sizes an error of the write that exceeds it.
///
/// # Errors
/// If the stack is too small and cannot be raised.
pub fn meet() -> anyhow::Result<()> {
    survive_file_size_limit().context("could not ignore the signal of the file size limit")?;
    let Rlimit { current, maximum } = getrlimit(Resource::Stack);
    let Some(small) = current.filter(|current| *current < STACK) else { return Ok(()) };
    // Root may raise the hard limit too.
    let ways = [maximum, Some(STACK)].into_iter().filter(|maximum| maximum.is_none_or(|most| most >= STACK));
    let mut raised = ways.map(|maximum| setrlimit(Resource::Stack, Rlimit { current: Some(STACK), maximum }));
    if raised.any(|raised| raised.is_ok()) {
        return Ok(());
    }
    let text = format!(
        "the stack is limited to {} KiB, and fsderby needs {} KiB\n  try: ulimit -s {}",
        small / KIB,
        STACK / KIB,
        2 * STACK / KIB
    );
    Err(Failure::missing(text).into())
}
