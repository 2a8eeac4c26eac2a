//! The init of a guest in which a person looks at the disk that a trial left.

use std::fs::OpenOptions;
use std::process::Command;

use anyhow::{Context, ensure};
use rustix::process::{ioctl_tiocsctty, setsid};

use super::init::bring_up;
use super::power::power_off;
use crate::host::programs;

/// The guest's serial port, which is the user's terminal.
const TERMINAL: &str = "/dev/ttyS0";

/// Runs one interactive shell on the terminal, and ends the machine with it.
///
/// # Errors
/// If the guest cannot be brought up, or has no shell.
pub fn main() -> anyhow::Result<()> {
    ensure!(rustix::process::getpid().is_init(), "only PID 1 of a guest can be its init");
    let _port = bring_up()?;
    // The kernel's log is read by dmesg.
    let _ = std::fs::write("/proc/sys/kernel/printk", "1");
    // Without a controlling terminal, the shell has no job control and no interrupts. The first process may lead a session already.
    let _ = setsid();
    let terminal = OpenOptions::new().read(true).write(true).open(TERMINAL).context("no terminal")?;
    ioctl_tiocsctty(&terminal).context("the guest's terminal cannot be controlled")?;
    std::fs::create_dir_all("/mnt").context("could not create /mnt")?;
    let end = || terminal.try_clone().context("the guest's terminal cannot be used");
    let shell = programs::find("sh").context("the guest has no shell")?;
    let mut command = Command::new(shell);
    command.arg("-i").stdin(end()?).stdout(end()?).stderr(end()?).current_dir("/mnt");
    command.env_clear().env("PATH", programs::FOLDERS.join(":")).env("HOME", "/").env("PS1", "guest # ");
    let ended = command.status().context("could not start the guest's shell");
    rustix::fs::sync();
    ended.map(drop)?;
    power_off()
}
