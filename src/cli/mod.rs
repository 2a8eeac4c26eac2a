//! The command line: one file per subcommand.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod postmark;
mod report;

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
    /// Show a run: medians, ranges and every trial, in the terminal or as HTML, Markdown, CSV or JSON
    Report(report::Options),
}

impl Cli {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Postmark { script } => postmark::run(&script),
            Command::Agent => Ok(ExitCode::from(crate::agent::keeper_main()?)),
            Command::Worker => Ok(ExitCode::from(crate::agent::worker_main()?)),
            Command::Report(options) => report::run(&options),
        }
    }
}
