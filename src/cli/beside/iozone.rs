//! `fsderby iozone`: the drop-in.

use std::ffi::OsString;
use std::io::{self, BufWriter, ErrorKind};
use std::process::ExitCode;
use std::time::Instant;

use crate::dropins::iozone::{self, Outside};
use crate::workloads::Clock;

/// The exit code that a shell shows for a program killed by SIGPIPE.
const BROKEN_PIPE: u8 = 141;

/// Returns IOzone's exit codes where IOzone's codes are known, otherwise the codes that the help lists.
pub fn run(words: &[OsString]) -> anyhow::Result<ExitCode> {
    let date = jiff::Zoned::now().strftime("%a %b %e %H:%M:%S %Y").to_string();
    let mut out = BufWriter::new(io::stdout());
    let clock = Since(Instant::now());
    let mut outside = Outside { out: &mut out, err: &mut io::stderr(), clock: &clock, date: &date };
    match iozone::start(words, &mut outside) {
        Ok(code) => Ok(ExitCode::from(code)),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::from(BROKEN_PIPE)),
        Err(error) => Err(anyhow::Error::new(error).context("could not print")),
    }
}

struct Since(Instant);

impl Clock for Since {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
