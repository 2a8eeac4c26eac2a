//! `fsderby bonnie`: the drop-in.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

use super::output::say;
use crate::dropins::bonnie::{self, Console, Ended};
use crate::exit;

/// As the original ends when anything goes wrong.
const FAILED: u8 = 1;
/// As a shell shows a program that nobody reads from any more.
const BROKEN_PIPE: u8 = 141;

/// In place of clap's, which knows none of the options.
pub const USAGE: &str = "fsderby bonnie [-d DIRECTORY] [-s SIZE] [-n NUMBER] [OPTIONS]";

pub const HELP: &str = "\
Options, as bonnie++ has them:
  -d DIRECTORY                      where to work
  -s MIB[:CHUNK[:SEEKS[:SEEKERS]]]  the large file; 0 leaves it out
  -n NUMBER[:MAX[:MIN[:DIRECTORIES[:PIECE]]]]
                                    small files, in 1024, and their sizes; MAX -1: hard links, -2: symbolic links; 0 leaves them out
  -f[MIB]                           so many MiB of single characters, or none
  -b                                sync after each write of a seek, and each small file with its directory
  -D                                make the large file with O_DIRECT
  -r MIB                            take this for the memory; 0: do not ask for twice as much data
  -x TESTS                          so many runs, as lines of comma-separated values alone
  -m NAME                           the machine's name in the output
  -q                                no progress; the table goes to standard error
  -z SEED                           names, sizes and places of seeks follow from it
  -c CONCURRENCY                    only printed, and counted where data is compared with memory
  -u USER[:GROUP], -g GROUP         whose files are written; root must say it

And ours:
  --as VERSION                      print what this version prints, and do what it does: 2.00a, 1.98 (the line's fields at their places),
                                    1.97, or 1.03 with its own phases (default: 2.00a)";

/// Ends as the original does: 0, 1 when anything goes wrong, 5 when it is stopped.
pub fn run(words: &[OsString]) -> anyhow::Result<ExitCode> {
    if let [only] = words
        && (only == "--help" || only == "-h")
    {
        super::output::print_line(&format!(
            "Run Bonnie++ with its own options, phases and output\n\nUsage: {USAGE}\n\n{HELP}"
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
