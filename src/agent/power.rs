//! The end of a guest's machine.

use anyhow::{Context, ensure};
use rustix::system::{RebootCommand, reboot};

/// Ends the machine of this init.
///
/// # Errors
/// If this process is not the init of a guest.
pub fn power_off() -> anyhow::Result<()> {
    ensure!(rustix::process::getpid().is_init(), "only PID 1 of a guest can end it");
    reboot(RebootCommand::Restart).context("could not power off the guest")
}
