//! The options of `run` that give a program of the user's own as the workload.

use std::path::PathBuf;

use clap::Args;

use crate::exit::Failure;
use crate::runner::experiment::entry::WorkloadEntry;
use crate::runner::experiment::own_command::{self, Asked};

#[derive(Args)]
pub struct Commands {
    /// A command line of your own as the workload, run by `sh -c` in the filesystem under test: 'tar xf
    /// $INPUT/src.tar'; repeat for several; replaces the experiment's workloads
    #[arg(long = "command", value_name = "COMMAND", conflicts_with = "workloads")]
    commands: Vec<String>,
    /// Command line to run before each --command; it is not measured, and the filesystem is synced after it
    #[arg(long, value_name = "COMMAND", requires = "commands")]
    prepare: Option<String>,
    /// File or folder for the commands to read, as $INPUT/NAME; repeat for several, which must have the same parent
    /// folder
    #[arg(long, value_name = "PATH", requires = "commands")]
    input: Vec<PathBuf>,
    /// Job file of fio as the workload, run by this machine's fio in the filesystem under test; repeat for several;
    /// replaces the experiment's workloads
    #[arg(long = "fio", value_name = "FILE", conflicts_with = "workloads")]
    fio: Vec<PathBuf>,
    /// Count a trial as valid even if its --command exits with an error
    #[arg(long, requires = "commands")]
    ignore_failure: bool,
}

impl Commands {
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.fio.is_empty()
    }

    /// The workloads: those of the commands, then those of fio.
    ///
    /// # Errors
    /// If an input cannot be read, or a command is empty.
    pub fn entries(&self) -> Result<Vec<WorkloadEntry>, Failure> {
        let of = |command: &String| {
            own_command::entry(&Asked {
                command,
                prepare: self.prepare.as_deref(),
                input: &self.input,
                ignores_failure: self.ignore_failure,
            })
        };
        let commands = self.commands.iter().map(of);
        commands.chain(self.fio.iter().map(|path| own_command::of_job(path))).collect()
    }
}
