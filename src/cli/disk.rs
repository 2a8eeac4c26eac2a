//! `fsderby disk`: the modelled disks held against real ones.

use std::process::ExitCode;

use clap::Subcommand;
use fsderby_diskmodel::validation;

use super::output::print;
use super::twin;
use crate::exit;

#[derive(Subcommand)]
pub enum DiskCommand {
    /// Put the modelled disks to the usual jobs, and print the results beside what was published of the real ones, as Markdown
    Validate,
    /// Do the same work on a modelled disk in virtual time and in real time, and print the rates beside each other, as Markdown
    Twin(twin::Twin),
}

pub fn run(command: &DiskCommand) -> anyhow::Result<ExitCode> {
    match command {
        DiskCommand::Validate => {
            print(&validation::markdown())?;
            Ok(ExitCode::from(exit::OK))
        }
        DiskCommand::Twin(options) => twin::run(options),
    }
}
