//! `fsderby key`: makes a key pair to sign runs with.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::output::print_line;
use crate::exit;
use crate::store::keys;

#[derive(Args)]
pub struct Arguments {
    /// File for the secret key; the public key is written to FILE.pub
    file: PathBuf,
}

pub fn run(Arguments { file }: &Arguments) -> anyhow::Result<ExitCode> {
    let public = keys::make(file)?;
    let (secret, public) = (file.display(), public.display());
    print_line(&format!(
        "{secret} signs runs and has no password: keep it private\n{public} verifies them: publish it\n\n  \
         fsderby run --sign {secret}\n  fsderby verify RUN --key {public}"
    ))?;
    Ok(ExitCode::from(exit::OK))
}
