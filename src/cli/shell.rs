//! `fsderby completions` and `fsderby man`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, CommandFactory};

use super::Cli;
use super::output::print;

#[derive(Args)]
pub struct Man {
    /// Folder for the pages, one per subcommand; default: print the main page
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "fsderby", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

pub fn man(arguments: &Man) -> anyhow::Result<ExitCode> {
    match &arguments.output {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            print(&String::from_utf8(page)?)?;
        }
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("could not create {}", folder.display()))?;
            clap_mangen::generate_to(Cli::command(), folder).context("could not write the manual")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
