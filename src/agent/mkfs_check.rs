//! Lets an mkfs program check its options without making a filesystem. Some of these programs still create or truncate files that
//! their options name, so it runs as an unprivileged user to whom all files of this machine are read-only, on a sparse file in memory.

use std::fs::File;
use std::os::unix::fs::fchown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use fsderby_sys::process::{become_user, die_with_parent, own_mounts};
use fsderby_sys::sandbox;
use rustix::mount::{MountFlags, mount};
use rustix::thread::set_no_new_privs;

use super::sandbox::WORKER;
use crate::schema::setup::DEVICE;

/// Exit code if there is no sandbox on this machine, so that the program was not asked.
pub const NO_SANDBOX: u8 = 99;
const VOLUME: &str = "/tmp/volume";

/// The hidden role `check-mkfs`: becomes this program with these arguments, of which [`DEVICE`] stands for a sparse file of `size`
/// bytes.
///
/// # Errors
/// If the program cannot be started.
pub fn main(size: u64, program: &Path, arguments: &[String]) -> anyhow::Result<u8> {
    if enclose(size).is_err() {
        return Ok(NO_SANDBOX);
    }
    let arguments = arguments.iter().map(|word| word.replace(DEVICE, VOLUME));
    let error =
        Command::new(program).args(arguments).env_clear().env("LC_ALL", "C").current_dir("/tmp").exec();
    Err(error).with_context(|| format!("could not start {}", program.display()))
}

fn enclose(size: u64) -> anyhow::Result<()> {
    die_with_parent()?;
    if own_mounts().is_err() {
        become_user(WORKER.uid, WORKER.gid).and_then(|()| own_mounts())?;
    }
    sandbox::make_all_read_only().context("could not make the mounts read-only")?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", "/tmp", "tmpfs", flags, Some(c"size=64m,mode=777")).context("could not mount /tmp")?;
    let volume = File::create_new(VOLUME)?;
    volume.set_len(size)?;
    if rustix::process::geteuid().is_root() {
        fchown(&volume, Some(WORKER.uid), Some(WORKER.gid))?;
        sandbox::renounce(WORKER.uid, WORKER.gid)?;
    }
    // A device is no file of a read-only mount, and the user may have rights to one.
    set_no_new_privs(true)?;
    Ok(sandbox::confine(&[Path::new("/tmp")])?)
}

/// The command that starts this role. The first argument of mkfs is the flag with which it only checks.
pub fn command(size: u64, program: &Path, arguments: &[String]) -> std::io::Result<Command> {
    let own: PathBuf = std::env::current_exe()?;
    let mut command = Command::new(own);
    command.arg("check-mkfs").arg(size.to_string()).arg(program).arg("--").args(arguments);
    Ok(command)
}
