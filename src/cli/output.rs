//! Standard output and standard error, either of which may be a pipe that nobody reads any more.

use std::io::{ErrorKind, Write};

use anyhow::Context;
use serde::Serialize;

use crate::visible::{visible, visible_json};

/// The result of a command, which may hold colours: what others wrote in it is [`visible`] already. That nobody reads on, as in `fsderby list | head -1`, is no error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("could not write to standard output")
        }
        _ => Ok(()),
    }
}

/// A line of the result.
pub fn print_line(text: &str) -> anyhow::Result<()> {
    print(&format!("{}\n", visible(text)))
}

pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(&format!("{}\n", visible_json(&serde_json::to_string_pretty(value)?)))
}

/// Said beside the result, on standard error. That nobody listens stops nothing.
pub fn say(line: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{}", visible(line));
}
