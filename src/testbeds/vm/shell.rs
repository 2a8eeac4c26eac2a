//! A shell in a guest with the disks that a trial left, for a look at it with the kernel that wrote it.

use std::fs::File;
use std::path::PathBuf;

use anyhow::Context;

use super::machine::{Machine, QEMU, make_direct};
use super::{BOOT, kvm};
use crate::filesystems::{self, Filesystem};
use crate::guest::initramfs::Bare;
use crate::guest::kernel::Kernel;
use crate::host::programs;
use crate::schema::units::{Bytes, MIB};
use crate::testbeds::guests::Guests;

/// The first disk's name inside.
pub const DISK: &str = "/dev/vda";

/// For looking around; those that this machine lacks are left out.
const PROGRAMS: [&str; 21] = [
    "sh",
    "cat",
    "cmp",
    "cp",
    "df",
    "dmesg",
    "du",
    "find",
    "grep",
    "head",
    "ls",
    "mkdir",
    "mount",
    "od",
    "ps",
    "sha256sum",
    "stat",
    "sync",
    "tail",
    "umount",
    "uname",
];
/// A shell, and a check of the filesystem.
const MEMORY: Bytes = Bytes(512 * MIB);

/// What the guest is made of.
pub struct Shell<'g> {
    qemu: PathBuf,
    kernel: &'g Kernel,
    agent: &'g PathBuf,
    kind: &'static dyn Filesystem,
}

impl<'g> Shell<'g> {
    /// In a guest with the kernel of these.
    ///
    /// # Errors
    /// If the kernel or QEMU is missing.
    pub fn of(guests: &'g dyn Guests, kind: &'static dyn Filesystem) -> anyhow::Result<Self> {
        let qemu = programs::find(QEMU).context("QEMU is missing")?;
        let kernel = guests.boots().context("the kernel of the trial's guest is missing")?;
        Ok(Shell { qemu, kernel, agent: &guests.starts().agent, kind })
    }

    /// Boots the guest on this process's terminal, and waits until its shell has ended.
    ///
    /// # Errors
    /// If the guest cannot be made or started.
    pub fn open(&self, disks: &[File]) -> anyhow::Result<()> {
        let has = |program: &String| programs::find(program).is_some();
        let tools = PROGRAMS.map(str::to_owned).into_iter().chain(filesystems::tools(self.kind));
        let programs: Vec<String> = tools.filter(has).collect();
        let modules: Vec<String> =
            self.kind.kernel().modules.iter().map(|module| (*module).to_owned()).collect();
        let guest = Bare {
            kernel: self.kernel,
            init: self.agent,
            boot: &BOOT,
            modules: &modules,
            programs: &programs,
        };
        let archive = guest.archive()?;
        disks.iter().for_each(|disk| {
            make_direct(disk);
        });
        let machine = Machine {
            qemu: &self.qemu,
            kernel: self.kernel.image(),
            initramfs: vec![&archive],
            memory: MEMORY,
            root: "",
            cpu: kvm::cpu(&self.qemu, self.kernel, self.agent),
            cpus: 1,
            disks,
            serials: &[],
            monitor: None,
            init: "shell".to_owned(),
        };
        machine.on_this_terminal()
    }
}
