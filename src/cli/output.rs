//! Standard output and standard error; either may be a pipe without a reader.

use std::io::{ErrorKind, IsTerminal, Write};

use anyhow::Context;
use serde::Serialize;

use crate::report::formats::lines::wrapped;
use crate::text::visible::{visible, visible_json};

/// Width of the report in columns, if standard output is no terminal.
const WIDTH: u16 = 80;
/// Running text is no wider.
const WIDEST: usize = 100;

/// Prints the result of a command. It may hold colours; text from other sources must be [`visible`] already. A closed pipe, as in
/// `fsderby list | head -1`, is not an error.
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
    let _ = writeln!(anstream::stderr().lock(), "{}", for_terminal(&visible(line)));
}

/// On a terminal, the text wrapped between words. An indented line may be a command and stays as it is, so that it can be copied.
pub fn for_terminal(text: &str) -> String {
    if !std::io::stderr().is_terminal() {
        return text.to_owned();
    }
    let width = usize::from(terminal_width()).min(WIDEST);
    let line = |line: &str| match line.starts_with(' ') || line.is_empty() {
        true => line.to_owned(),
        false => wrapped(line, width).join("\n"),
    };
    text.split('\n').map(line).collect::<Vec<String>>().join("\n")
}

/// Columns of the terminal; 80 if there is none, or if it does not know (a serial line, a build server's).
pub fn terminal_width() -> u16 {
    comfy_table::Table::new().width().filter(|width| *width > 0).unwrap_or(WIDTH)
}

/// Writes to standard output; a closed pipe is not an error.
pub fn print_with(write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let written = write(&mut out).and_then(|()| Ok(out.flush()?));
    let is_unread = |e: &anyhow::Error| {
        e.chain()
            .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
            .any(|e| e.kind() == ErrorKind::BrokenPipe)
    };
    match written {
        // That nobody reads on is no error.
        Err(e) if !is_unread(&e) => Err(e.context("could not write to standard output")),
        _ => Ok(()),
    }
}
