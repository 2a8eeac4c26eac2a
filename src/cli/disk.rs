//! `fsderby disk`: the modelled disks held against real ones.

use std::process::ExitCode;

use clap::Subcommand;
use fsderby_diskmodel::{Spec, validation};

use super::output::print;
use super::{twin, validate};
use crate::exit::{self, Failure};
use crate::testbeds::model::disks;

#[derive(Subcommand)]
pub enum DiskCommand {
    /// Put the modelled disks to the usual jobs, and print the results beside what was published of the real ones, as Markdown
    Validate(validate::Validate),
    /// Overwrite a flash disk's model at random, as its file says and preconditioned, and print rates and amplification as Markdown
    Steady {
        /// One of `fsderby list disks`, or a file
        disk: String,
    },
    /// Do the same work on a modelled disk in virtual time and in real time, and print the rates beside each other, as Markdown
    Twin(twin::Twin),
}

pub fn run(command: &DiskCommand) -> anyhow::Result<ExitCode> {
    match command {
        DiskCommand::Validate(options) => validate::run(options),
        DiskCommand::Steady { disk } => steady(disk),
        DiskCommand::Twin(options) => twin::run(options),
    }
}

fn steady(disk: &str) -> anyhow::Result<ExitCode> {
    let text = disks::text(disk).map_err(Failure::usage)?;
    let spec =
        Spec::parse(&text).map_err(|e| Failure::usage(format!("the disk {disk} is not understood: {e}")))?;
    let nothing = "is no flash disk with a mapping, so nothing in it changes by overwriting\n  \
                   try: samsung-pm9a3-1920";
    let found =
        validation::steady::markdown(&spec).ok_or_else(|| Failure::usage(format!("{disk} {nothing}")))?;
    print(&found)?;
    Ok(ExitCode::from(exit::OK))
}
