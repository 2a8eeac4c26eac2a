//! `fsderby postmark`: the drop-in.

use std::ffi::OsString;
use std::io::{self, BufWriter, ErrorKind};
use std::process::ExitCode;
use std::time::SystemTime;

use crate::dropins::postmark::console::Console;
use crate::dropins::postmark::{Refused, Session};
use crate::exit;

/// The exit code that a shell shows for a program killed by SIGPIPE.
const BROKEN_PIPE: u8 = 141;

/// Returns exit code 0, as in PostMark, or 2 after a run that would have crashed PostMark.
pub fn run(script: &[OsString]) -> anyhow::Result<ExitCode> {
    let script = match script {
        [only] => Some(only.as_os_str()),
        _ => None,
    };
    // Only a file takes what is printed in large pieces: `Stdout` alone would write line by line.
    let mut out = BufWriter::new(io::stdout());
    let console = Console {
        input: &mut io::stdin().lock(),
        out: &mut out,
        err: &mut io::stderr(),
        seconds: &mut whole_seconds,
    };
    match Session::new(console).start(script) {
        Ok(Refused(false)) => Ok(ExitCode::from(exit::OK)),
        Ok(Refused(true)) => Ok(ExitCode::from(exit::USAGE)),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::from(BROKEN_PIPE)),
        Err(error) => Err(anyhow::Error::new(error).context("could not print")),
    }
}

fn whole_seconds() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |time| i64::try_from(time.as_secs()).unwrap_or(i64::MAX))
}
