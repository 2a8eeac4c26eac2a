//! `fsderby completions` and `fsderby man`.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Command, CommandFactory};
use clap_complete::env::Shells;

use super::Cli;
use super::output::print;
use crate::exit::Failure;

#[derive(Args)]
pub struct Man {
    /// Folder for the manual pages, one page per subcommand; default: print the main page
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Prints the lines that make a shell ask fsderby itself for completions.
pub fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let (name, mut script) = (shell.to_string(), Vec::new());
    let shells = Shells::builtins();
    let known = shells.completer(&name).with_context(|| format!("{name} has no completions"))?;
    known.write_registration("COMPLETE", "fsderby", "fsderby", "fsderby", &mut script)?;
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
        Some(folder) => write_pages(folder)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes one manual page per subcommand. The function overwrites no file and follows no link.
fn write_pages(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("could not create {}", folder.display()))?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    collect_pages(&command, &mut pages)?;
    let exists = |name: &String| folder.join(name).symlink_metadata().is_ok();
    if let Some((name, _)) = pages.iter().find(|(name, _)| exists(name)) {
        let path = folder.join(name);
        let text =
            format!("{} already exists and is not overwritten\n  try: an empty folder", path.display());
        return Err(Failure::usage(text).into());
    }
    for (name, page) in pages {
        let path = folder.join(name);
        let written = File::create_new(&path).and_then(|mut file| file.write_all(&page));
        written.with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(())
}

/// File names and manual pages of this command and its subcommands, as `clap_mangen` names them.
fn collect_pages(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> std::io::Result<()> {
    let below = command.get_subcommands().filter(|command| !command.is_hide_set());
    below.into_iter().try_for_each(|command| collect_pages(command, pages))?;
    let man = clap_mangen::Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    pages.push((man.get_filename(), page));
    Ok(())
}
