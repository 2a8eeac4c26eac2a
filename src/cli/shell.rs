//! `fsderby completions`.

use std::process::ExitCode;

use anyhow::Context;
use clap_complete::env::Shells;

use super::complete::VARIABLE;
use super::output::print;

/// Names such as `model:ssd-nvme` contain characters at which Bash splits words.
const WHOLE_WORDS: &str = include_str!("whole_words.bash");

/// Prints the lines that make a shell ask fsderby itself for completions.
pub fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let (name, mut script) = (shell.to_string(), Vec::new());
    let shells = Shells::builtins();
    let known = shells.completer(&name).with_context(|| format!("{name} has no completions"))?;
    known.write_registration(VARIABLE, "fsderby", "fsderby", "fsderby", &mut script)?;
    let more = if shell == clap_complete::Shell::Bash { WHOLE_WORDS } else { "" };
    print(&(String::from_utf8(script)? + more))?;
    Ok(ExitCode::SUCCESS)
}
