//! `fsderby disk`: the modelled disks held against real ones.

use std::process::ExitCode;

use clap::Subcommand;
use fsderby_diskmodel::validation;

use super::output::print;
use crate::exit;

#[derive(Subcommand)]
pub enum DiskCommand {
    /// Put the modelled disks to the usual jobs, and print the results beside what was published of the real ones, as Markdown
    Validate,
}

pub fn run(command: &DiskCommand) -> anyhow::Result<ExitCode> {
    let DiskCommand::Validate = command;
    print(&validation::markdown())?;
    Ok(ExitCode::from(exit::OK))
}
