//! The command line: one file per subcommand.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};

use crate::exit::Failure;
use crate::older::{self, Stood};

mod bonnie;
mod compare;
mod disk;
mod doctor;
mod dry_run;
mod explain;
mod foresight;
mod guest;
mod import;
mod iozone;
mod kernel;
mod key;
mod list;
mod machine;
mod output;
mod own_run;
mod postmark;
mod progress;
mod report;
mod run;
mod setups;
mod shell;
mod twin;
mod validate;
mod verify;

pub use output::say;

#[derive(Parser)]
#[command(version, about, propagate_version = true, after_help = exit_codes())]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn exit_codes() -> String {
    let line = |(code, meaning): &(u8, &str)| format!("{code:>5}  {}\n", meaning.replace('`', ""));
    "Exit codes:\n".to_owned() + &crate::exit::MEANINGS.iter().map(line).collect::<String>()
}

#[derive(Subcommand)]
enum Command {
    /// Compare filesystems: from an experiment to a report
    Run(Box<run::Arguments>),
    /// Run a PostMark script, with the commands, operations and report of the original
    Postmark {
        /// The script; without it `.pmrc`
        script: Vec<OsString>,
    },
    /// Run IOzone's tests, with the options and tables of the original
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Iozone {
        /// The original's options; `-h` lists them
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        options: Vec<OsString>,
    },
    /// Run Bonnie++ with its own options, phases and output
    #[command(disable_help_flag = true, override_usage = bonnie::USAGE, after_help = bonnie::HELP)]
    Bonnie {
        /// The original's options
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<OsString>,
    },
    /// Compare two runs of the same work: before and after a change, on two days
    Compare(compare::Arguments),
    /// Read figures that another program measured elsewhere, so that reports can show them
    Import(import::Arguments),
    /// Check a run: its files, its records against its plan, every number again from its raw values
    Verify(verify::Arguments),
    /// List filesystems, workloads, testbeds, probes, experiments, modelled disks, machines and metrics
    List(list::Arguments),
    /// Explain one of what `list` names: what it is, where it comes from, and what it does not measure
    Explain(explain::Arguments),
    /// Show what this machine can do, what is missing, and the command that installs it
    Doctor(doctor::Arguments),
    /// Fetch and list the kernels that virtual machines boot
    #[command(subcommand)]
    Kernel(kernel::Kernel),
    /// Build, list and pass on what guests start from, as one file: the same figures on every machine
    #[command(subcommand)]
    Guest(guest::Guest),
    /// Hold the modelled disks against real ones
    #[command(subcommand)]
    Disk(disk::DiskCommand),
    /// Measure this computer as a machine that modelled disks can stand in
    #[command(subcommand)]
    Machine(machine::MachineCommand),
    /// Make a key pair to sign runs with
    Key(key::Arguments),
    /// Print completions for a shell
    Completions { shell: clap_complete::Shell },
    /// Print the manual page, or write one for each command
    Man(shell::Man),
    /// Carry out one trial for another fsderby
    #[command(hide = true)]
    Agent,
    /// Carry out one trial as the init of a guest
    #[command(hide = true)]
    Init {
        mishap: Option<crate::agent::Mishap>,
        /// For its job, after the boot
        #[arg(long)]
        waits: bool,
    },
    /// Do the work of one trial for an agent
    #[command(hide = true)]
    Worker,
    /// Answer for the disk of one trial in real time, for an agent
    #[command(hide = true)]
    Twin,
    /// Show the report of a run in the terminal, or write it in another format
    Report(report::Options),
}

impl Cli {
    /// The process's own arguments. Help, and what clap refuses, end the process here.
    ///
    /// # Errors
    /// When an option is of an older version.
    pub fn from_arguments() -> anyhow::Result<Self> {
        Cli::try_parse().or_else(|error| {
            let unknown = match error.get(ContextKind::InvalidArg) {
                Some(ContextValue::String(flag)) => flag.as_str(),
                _ => "",
            };
            match older::instead(Stood::Flag, unknown) {
                Some(now) => Err(Failure::usage(now).into()),
                None => error.exit(),
            }
        })
    }

    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Postmark { script } => postmark::run(&script),
            Command::Bonnie { options } => bonnie::run(&options),
            Command::Iozone { options } => iozone::run(&options),
            Command::Run(arguments) => run::run(*arguments),
            Command::Compare(arguments) => compare::run(&arguments),
            Command::Import(arguments) => import::run(&arguments),
            Command::Verify(arguments) => verify::run(&arguments),
            Command::List(arguments) => list::run(&arguments),
            Command::Explain(arguments) => explain::run(&arguments),
            Command::Doctor(arguments) => doctor::run(&arguments),
            Command::Kernel(command) => kernel::run(&command),
            Command::Guest(command) => guest::run(&command),
            Command::Disk(command) => disk::run(&command),
            Command::Machine(command) => machine::run(&command),
            Command::Key(arguments) => key::run(&arguments),
            Command::Completions { shell } => shell::completions(shell),
            Command::Man(arguments) => shell::man(&arguments),
            Command::Agent => Ok(ExitCode::from(crate::agent::supervisor_main()?)),
            Command::Init { mishap, waits } => Ok(ExitCode::from(crate::agent::init_main(mishap, waits)?)),
            Command::Worker => Ok(ExitCode::from(crate::agent::worker_main()?)),
            Command::Twin => Ok(ExitCode::from(crate::storage::twin::server_main()?)),
            Command::Report(options) => report::run(&options),
        }
    }
}
