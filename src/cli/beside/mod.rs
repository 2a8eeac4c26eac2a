//! Commands that stand beside the comparison of filesystems: the old tools' command lines, and modelled disks beside real ones.
//! The feature `full` has them; nothing else needs them.

mod bonnie;
mod disk;
mod iozone;
mod postmark;
mod steady;
mod twin;
mod validate;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Subcommand;

#[derive(Subcommand)]
pub enum Beside {
    /// Run a PostMark script, with the commands, operations and report of the original PostMark
    Postmark {
        /// The script; default: `.pmrc`
        script: Vec<OsString>,
    },
    /// Run IOzone's tests, with the options and tables of the original IOzone
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Iozone {
        /// Options of the original tool; `-h` lists them
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        options: Vec<OsString>,
    },
    /// Run Bonnie++'s tests, with the options, phases and output of the original Bonnie++
    #[command(disable_help_flag = true, override_usage = bonnie::USAGE, after_help = bonnie::HELP)]
    Bonnie {
        /// Options of the original tool
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<OsString>,
    },
    /// Compare the modelled disks with real ones
    #[command(subcommand)]
    Disk(disk::DiskCommand),
    /// Serve the disk of one trial in real time, for an agent
    #[command(hide = true)]
    Twin,
}

pub fn run(command: &Beside) -> anyhow::Result<ExitCode> {
    match command {
        Beside::Postmark { script } => postmark::run(script),
        Beside::Bonnie { options } => bonnie::run(options),
        Beside::Iozone { options } => iozone::run(options),
        Beside::Disk(command) => disk::run(command),
        Beside::Twin => Ok(ExitCode::from(crate::storage::twin::server_main()?)),
    }
}
