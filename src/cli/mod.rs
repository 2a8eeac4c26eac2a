//! The command line: one file per subcommand.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod postmark;

#[derive(Parser)]
#[command(version, about, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a PostMark script as the original does: same commands, same operations, same reports
    Postmark {
        /// The script; `.pmrc` where absent
        script: Vec<OsString>,
    },
    /// Carry out one trial for another fsderby
    #[command(hide = true)]
    Agent,
    /// Do the work of one trial for an agent
    #[command(hide = true)]
    Worker,
}

impl Cli {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Postmark { script } => postmark::run(&script),
            Command::Agent => Ok(ExitCode::from(crate::agent::keeper_main()?)),
            Command::Worker => Ok(ExitCode::from(crate::agent::worker_main()?)),
        }
    }
}
