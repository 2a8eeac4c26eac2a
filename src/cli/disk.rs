//! `fsderby disk`: compares the modelled disks with real ones.

use std::process::ExitCode;

use clap::Subcommand;
use fsderby_diskmodel::{Spec, validation};

use super::output::print;
use super::{twin, validate};
use crate::exit::{self, Failure};
use crate::testbeds::model::disks;

#[derive(Subcommand)]
pub enum DiskCommand {
    /// Run standard jobs on the modelled disks and print the results next to published results of the real disks, as
    /// Markdown
    Validate(validate::Validate),
    /// Overwrite a modelled flash disk at random, both from its initial state and preconditioned; print rates and write
    /// amplification as Markdown
    Steady {
        /// A disk of `fsderby list disks`, or a disk file
        disk: String,
    },
    /// Run the same workload on a modelled disk in virtual time and in real time, and print both rates as Markdown
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
        Spec::parse(&text).map_err(|e| Failure::usage(format!("could not parse the disk {disk}: {e}")))?;
    let nothing = "is not a flash disk with a mapping layer, so overwriting does not change the speed\n  try: \
                   samsung-pm9a3-1920";
    let found =
        validation::steady::markdown(&spec).ok_or_else(|| Failure::usage(format!("{disk} {nothing}")))?;
    print(&found)?;
    Ok(ExitCode::from(exit::OK))
}
