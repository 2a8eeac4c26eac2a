//! `fsderby completions`.

use std::process::ExitCode;

use clap::CommandFactory;

use super::Cli;
use super::output::print;

pub fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "fsderby", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
