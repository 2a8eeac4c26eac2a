//! The command line: one file per subcommand.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::version;

mod beforehand;
#[cfg(feature = "full")]
mod beside;
mod cite;
mod compare;
mod complete;
mod config;
mod device;
mod doctor;
mod dry_run;
mod explain;
mod foresight;
mod guest;
mod import;
mod kernel;
mod key;
mod kit;
mod list;
mod machine;
mod manual;
mod merge;
mod output;
mod own_program;
mod own_run;
mod pages;
mod progress;
mod report;
mod reproduce;
mod requests;
mod run;
mod schema;
mod setups;
mod shell;
mod signals;
mod slurm;
mod terms;
mod verify;

pub use complete::answer as answer_shell;
pub use output::say;

#[derive(Parser)]
#[command(version = version::line(), long_version = version::long(), about, propagate_version = true, after_help = exit_codes())]
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
    /// Compare filesystems: run an experiment and report the verdict
    Run(Box<run::Arguments>),
    /// Merge the shards of a plan, which several machines carried out, into one run
    Merge(merge::Arguments),
    /// Print, write or submit the Slurm jobs that carry out a plan on a cluster
    Slurm(Box<slurm::Arguments>),
    /// Compare two runs of the same workloads, such as before and after a change
    Compare(compare::Arguments),
    /// Judge a paper's tables and claims: run its experiments, or read runs that exist
    Reproduce(reproduce::Arguments),
    /// Import figures that another program measured, to show them in reports
    Import(import::Arguments),
    /// Verify a run: check its files and its records against the plan, and recompute every figure from the raw values
    Verify(verify::Arguments),
    /// Print a run as a reference: BibTeX, CITATION.cff, and an artifact appendix
    Cite(cite::Arguments),
    /// List filesystems, workloads, testbeds, probes, experiments, modelled disks, machines, metrics and more
    List(list::Arguments),
    /// Explain anything that `list` names: what it is, its source, its limits
    Explain(explain::Arguments),
    /// Show what this machine supports, what is missing, and the command that installs it
    Doctor(doctor::Arguments),
    /// Download and list kernels for virtual machines
    #[command(subcommand)]
    Kernel(kernel::Kernel),
    /// Build, list, export and import guest bundles: kernel, programs and agent in one file
    #[command(subcommand)]
    Guest(guest::Guest),
    /// List this machine's disks, and claim or release them; runs may format claimed disks
    #[command(subcommand)]
    Device(device::Device),
    #[cfg(feature = "full")]
    #[command(flatten)]
    Beside(beside::Beside),
    /// Measure this computer's speed, so that runs on modelled disks can assume a computer like it
    #[command(subcommand)]
    Machine(machine::MachineCommand),
    /// Show the configuration: defaults for options, from the environment and from files
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Print JSON Schemas of stored files, and of the output of commands with `--json`
    Schema(schema::Arguments),
    /// Create a key pair for signing runs
    Key(key::Arguments),
    /// Print shell completions
    Completions { shell: clap_complete::Shell },
    /// Print the manual page, or write one per command
    Man(manual::Man),
    /// Execute one trial for another fsderby process
    #[command(hide = true)]
    Agent,
    /// Execute one trial as the init of a guest
    #[command(hide = true)]
    Init {
        mishap: Option<crate::agent::Mishap>,
        /// Wait for the job after the boot
        #[arg(long)]
        waits: bool,
    },
    /// Open a shell as the init of a guest
    #[command(hide = true, name = "shell")]
    Inside,
    /// Execute the workload of one trial for an agent
    #[command(hide = true)]
    Worker,
    /// Run the programs of a work once, to learn which files they open
    #[command(hide = true)]
    Rehearse,
    /// Let mkfs check its options, and make nothing
    #[command(hide = true)]
    CheckMkfs {
        size: u64,
        program: PathBuf,
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Print the report of a run in the terminal, or write it in another format
    Report(report::Options),
}

impl Cli {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Run(arguments) => run::run(*arguments),
            Command::Slurm(arguments) => slurm::run(&arguments),
            Command::Merge(arguments) => merge::run(&arguments),
            Command::Compare(arguments) => compare::run(&arguments),
            Command::Reproduce(arguments) => reproduce::run(&arguments),
            Command::Import(arguments) => import::run(&arguments),
            Command::Verify(arguments) => verify::run(&arguments),
            Command::Cite(arguments) => cite::run(&arguments),
            Command::List(arguments) => list::run(&arguments),
            Command::Explain(arguments) => explain::run(&arguments),
            Command::Doctor(arguments) => doctor::run(&arguments),
            Command::Kernel(command) => kernel::run(&command),
            Command::Guest(command) => guest::run(&command),
            Command::Device(command) => device::run(&command),
            #[cfg(feature = "full")]
            Command::Beside(command) => beside::run(&command),
            Command::Machine(command) => machine::run(&command),
            Command::Config(command) => config::run(&command),
            Command::Schema(arguments) => schema::run(&arguments),
            Command::Key(arguments) => key::run(&arguments),
            Command::Completions { shell } => shell::completions(shell),
            Command::Man(arguments) => manual::run(&arguments),
            Command::Agent => Ok(ExitCode::from(crate::agent::supervisor_main()?)),
            Command::Inside => crate::agent::shell_main().map(|()| ExitCode::SUCCESS),
            Command::Init { mishap, waits } => Ok(ExitCode::from(crate::agent::init_main(mishap, waits)?)),
            Command::Worker => Ok(ExitCode::from(crate::agent::worker_main()?)),
            Command::Rehearse => Ok(ExitCode::from(crate::agent::rehearsal_main()?)),
            Command::CheckMkfs { size, program, arguments } => {
                Ok(ExitCode::from(crate::agent::mkfs_check::main(size, &program, &arguments)?))
            }
            Command::Report(options) => report::run(&options),
        }
    }
}
