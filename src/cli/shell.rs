//! `fsderby completions`.

use std::process::ExitCode;

use anyhow::Context;
use clap_complete::env::Shells;

use super::output::print;

/// Prints the lines that make a shell ask fsderby itself for completions.
pub fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let (name, mut script) = (shell.to_string(), Vec::new());
    let shells = Shells::builtins();
    let known = shells.completer(&name).with_context(|| format!("{name} has no completions"))?;
    known.write_registration("COMPLETE", "fsderby", "fsderby", "fsderby", &mut script)?;
    print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
