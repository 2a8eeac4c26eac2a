//! Input and output of the drop-in, passed in for tests.

use std::io::{self, BufRead, Write};

pub struct Console<'c> {
    pub input: &'c mut dyn BufRead,
    pub out: &'c mut dyn Write,
    pub err: &'c mut dyn Write,
    /// Whole seconds since a fixed time.
    pub seconds: &'c mut dyn FnMut() -> i64,
}

impl Console<'_> {
    pub fn print(&mut self, text: impl AsRef<[u8]>) -> io::Result<()> {
        self.out.write_all(text.as_ref())
    }

    /// Prints `Error: …` to standard error, after flushing standard output.
    pub fn error(&mut self, text: &[u8]) -> io::Result<()> {
        self.out.flush()?;
        self.err.write_all(&[b"Error: ", text, b"\n"].concat())
    }

    pub fn now(&mut self) -> i64 {
        (self.seconds)()
    }
}
