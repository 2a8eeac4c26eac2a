//! `fsderby postmark`: the drop-in.

use std::ffi::OsString;
use std::process::ExitCode;

pub fn run(_script: &[OsString]) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not written yet")
}
