//! Where the drop-in reads its commands and prints: passed in, so that a test can hold it.

use std::io::{self, BufRead, Write};

pub struct Console<'c> {
    pub input: &'c mut dyn BufRead,
    pub out: &'c mut dyn Write,
    pub err: &'c mut dyn Write,
    /// Whole seconds since some fixed moment.
    pub seconds: &'c mut dyn FnMut() -> i64,
}

impl Console<'_> {
    pub fn print(&mut self, text: impl AsRef<[u8]>) -> io::Result<()> {
        self.out.write_all(text.as_ref())
    }

    /// `Error: …` on standard error, behind all that was printed before.
    pub fn error(&mut self, text: &[u8]) -> io::Result<()> {
        self.out.flush()?;
        self.err.write_all(&[b"Error: ", text, b"\n"].concat())
    }

    pub fn now(&mut self) -> i64 {
        (self.seconds)()
    }
}
