//! Parses the command line, runs the command, prints the error if there is one, and returns the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    let limits = fsderby::host::own_limits::meet();
    match limits.and_then(|()| fsderby::cli::Cli::from_arguments()).and_then(|cli| cli.run()) {
        Ok(code) => code,
        Err(error) => {
            fsderby::cli::say(&format!("fsderby: {error:#}"));
            ExitCode::from(fsderby::exit::code(&error))
        }
    }
}
