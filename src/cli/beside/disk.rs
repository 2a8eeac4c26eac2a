//! `fsderby disk`: compares the modelled disks with real ones.

use std::process::ExitCode;

use super::{steady, twin, validate};
use clap::Subcommand;

#[derive(Subcommand)]
pub enum DiskCommand {
    /// Run standard jobs on the modelled disks and print the results next to published results of the real disks, as
    /// Markdown
    Validate(validate::Validate),
    /// Overwrite a modelled flash disk at random, once from its initial state and once preconditioned (already overwritten
    /// until its speed was steady); print rates and write amplification as Markdown
    Steady(steady::Steady),
    /// Run the same workload on a modelled disk in virtual time (testbed model) and in real time (testbed twin), and print both
    /// rates as Markdown
    Twin(twin::Twin),
}

pub fn run(command: &DiskCommand) -> anyhow::Result<ExitCode> {
    match command {
        DiskCommand::Validate(options) => validate::run(options),
        DiskCommand::Steady(options) => steady::run(options),
        DiskCommand::Twin(options) => twin::run(options),
    }
}
