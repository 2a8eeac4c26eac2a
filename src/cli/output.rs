//! Standard output and standard error; either may be a pipe without a reader.

use std::io::{ErrorKind, Write};

use anyhow::Context;
use serde::Serialize;

use crate::visible::{visible, visible_json};

/// Prints the result of a command, which may hold colours; text from other sources is already [`visible`]. A closed
/// pipe, as in `fsderby list | head -1`, is no error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("could not write to standard output")
        }
        _ => Ok(()),
    }
}

/// Prints a line of the result.
pub fn print_line(text: &str) -> anyhow::Result<()> {
    print(&format!("{}\n", visible(text)))
}

pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(&format!("{}\n", visible_json(&serde_json::to_string_pretty(value)?)))
}

/// Prints a note to standard error. A closed pipe is ignored.
pub fn say(line: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{}", visible(line));
}
