//! Answers a shell that completes, or parses the command line, runs the command, prints the error if there is one, and returns the exit code.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    fsderby::cli::answer_shell();
    let limits = fsderby::host::own_limits::meet();
    match limits.and_then(|()| fsderby::cli::Cli::parse().run()) {
        Ok(code) => code,
        Err(error) => {
            fsderby::cli::say(&format!("fsderby: {error:#}"));
            ExitCode::from(fsderby::exit::code(&error))
        }
    }
}
