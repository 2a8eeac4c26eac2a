//! `fsderby bonnie`: the drop-in.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

use crate::cli::output::say;
use crate::dropins::bonnie::{self, Console, Ended};
use crate::exit;

/// Bonnie++'s exit code for any error.
const FAILED: u8 = 1;
/// The exit code that a shell shows for a program killed by SIGPIPE.
const BROKEN_PIPE: u8 = 141;

/// Replaces clap's help, which does not know these options.
pub const USAGE: &str = "fsderby bonnie [-d DIRECTORY] [-s SIZE] [-n NUMBER] [OPTIONS]";

pub const HELP: &str = "\
Options of bonnie++:
  -d DIRECTORY                      directory to work in
  -s MIB[:CHUNK[:SEEKS[:SEEKERS]]]  size of the large file; 0 skips its tests
  -n NUMBER[:MAX[:MIN[:DIRECTORIES[:PIECE]]]]
                                    number of small files in units of 1024, and their sizes; with MAX -1 hard links,
                                    with -2 symbolic links; 0 skips these tests
  -f[MIB]                           MiB written by single characters; -f without a number skips these tests
  -b                                fsync after each write of the seek test, and fsync of each small file and its directory
  -D                                use O_DIRECT for the large file
  -r MIB                            memory size to assume; 0 allows data smaller than twice the memory
  -x TESTS                          number of runs; only CSV lines are printed
  -m NAME                           the machine's name in the output
  -q                                print no progress messages, and the table to standard error
  -z SEED                           seed of file names, file sizes and seek offsets
  -c CONCURRENCY                    concurrency to print; the check of the data size against memory uses it too
  -u USER[:GROUP], -g GROUP         owner of the files; required for root

fsderby only:
  --as VERSION                      behave and print like this version: 2.00a, 1.98 (same fields in the line),
                                    1.97, or 1.03 with its phases (default: 2.00a)";

/// Exit codes as in Bonnie++: 0 for success, 1 for any error, 5 when stopped by a signal.
pub fn run(words: &[OsString]) -> anyhow::Result<ExitCode> {
    if let [only] = words
        && (only == "--help" || only == "-h")
    {
        crate::cli::output::print_line(&format!(
            "Run Bonnie++ with its original options, phases and output\n\nUsage: {USAGE}\n\n{HELP}"
        ))?;
        return Ok(ExitCode::from(exit::OK));
    }
    let console = Console { out: &mut io::stdout(), err: &mut io::stderr() };
    match bonnie::run(words, console) {
        Ok(()) => Ok(ExitCode::from(exit::OK)),
        Err(Ended::Print(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::from(BROKEN_PIPE)),
        Err(ended) => {
            say(&format!("fsderby bonnie: {ended}"));
            Ok(ExitCode::from(FAILED))
        }
    }
}
