//! Parse, dispatch, print the one error, return the exit code.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match fsderby::cli::Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            fsderby::cli::say(&format!("fsderby: {error:#}"));
            ExitCode::from(fsderby::exit::code(&error))
        }
    }
}
