//! The virtual machine: a command line for QEMU, and what is handed to it by descriptor, so that nothing has a name that
//! would have to be removed.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use fsderby_sys::process::tied_command;
use rustix::fs::{MemfdFlags, OFlags, fcntl_getfl, fcntl_setfl, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};

use crate::agent::{Mishap, PORT};
use crate::units::{Bytes, MIB};

/// The program, of Debian's package qemu-system-x86.
pub const QEMU: &str = "qemu-system-x86_64";
/// The guest's disk as its kernel names it.
pub const DISK: &str = "/dev/vda";
/// The same as QEMU names it.
pub const DRIVE: &str = "disk0";

/// Who executes the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpu {
    /// This machine's CPU.
    Kvm,
    /// QEMU.
    Emulated,
}

/// One machine, ready to be started.
pub struct Machine<'a> {
    pub qemu: &'a Path,
    pub kernel: PathBuf,
    pub initramfs: Vec<&'a [u8]>,
    pub memory: Bytes,
    pub cpu: Cpu,
    pub disk: Option<&'a File>,
    /// QEMU's end of its monitor, where somebody will ask.
    pub monitor: Option<&'a UnixStream>,
    pub mishap: Option<Mishap>,
}

/// A machine that runs. Its events come from the child's standard output.
pub struct Running {
    pub child: Child,
    /// What the guest's kernel wrote.
    pub console: File,
    /// What QEMU wrote.
    pub complaints: File,
}

impl Machine<'_> {
    pub fn start(&self) -> anyhow::Result<Running> {
        let console = in_memory("console")?;
        let complaints = in_memory("complaints")?;
        let mut initramfs = in_memory("initramfs")?;
        self.initramfs
            .iter()
            .try_for_each(|part| initramfs.write_all(part))
            .context("there is too little memory")?;
        let mut command = tied_command(self.qemu);
        self.arguments(&mut command, &shown(&console), &shown(&initramfs))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(complaints.try_clone()?);
        let inherited: Vec<&File> = [&console, &initramfs].into_iter().chain(self.disk).collect();
        let inherited = inherited.iter().map(|file| file.as_fd()).chain(self.monitor.map(AsFd::as_fd));
        let inherited: Vec<BorrowedFd<'_>> = inherited.collect();
        inherited.iter().try_for_each(|file| fcntl_setfd(file, FdFlags::empty()))?;
        let child = command.spawn();
        inherited.iter().try_for_each(|file| fcntl_setfd(file, FdFlags::CLOEXEC))?;
        let child = child.with_context(|| format!("could not start {}", self.qemu.display()))?;
        Ok(Running { child, console, complaints })
    }

    fn arguments(&self, command: &mut Command, console: &str, initramfs: &str) -> anyhow::Result<()> {
        command.args(["-M", "microvm,rtc=on", "-nodefaults", "-no-user-config", "-no-reboot"]);
        command.args(["-display", "none", "-monitor", "none", "-smp", "1"]);
        command.args(["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"]);
        command.arg("-m").arg(format!("{}M", self.memory.0.div_ceil(MIB)));
        match self.cpu {
            Cpu::Kvm => command.args(["-accel", "kvm", "-cpu", "host"]),
            // Byte-wise string instructions, which a CPU with these flags prefers, take three times as long emulated.
            Cpu::Emulated => command.args(["-accel", "tcg,thread=multi", "-cpu", "max,erms=off,fsrm=off"]),
        };
        command.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(initramfs);
        command.arg("-append").arg(self.kernel_arguments()?);
        command.arg("-serial").arg(format!("file:{console}"));
        command.args(["-device", "virtio-serial-device,id=ports", "-chardev", "stdio,id=events,signal=off"]);
        command.arg("-device").arg(format!("virtserialport,bus=ports.0,chardev=events,name={PORT}"));
        if let Some(monitor) = self.monitor {
            let descriptor = monitor.as_fd().as_raw_fd();
            command.arg("-chardev").arg(format!("socket,id=monitor,fd={descriptor}"));
            command.args(["-mon", "chardev=monitor,mode=control"]);
        }
        if let Some(disk) = self.disk {
            let cache = if is_direct(disk) { "none" } else { "writeback" };
            let settings = format!(
                "id={DRIVE},file={},format=raw,if=none,cache={cache},aio=threads,discard=unmap",
                shown(disk)
            );
            command
                .arg("-drive")
                .arg(settings)
                .arg("-device")
                .arg(format!("virtio-blk-device,drive={DRIVE}"));
        }
        Ok(())
    }

    fn kernel_arguments(&self) -> anyhow::Result<String> {
        let mut text =
            "console=ttyS0 quiet panic=-1 oops=panic reboot=t mitigations=off rdinit=/init".to_owned();
        if self.cpu == Cpu::Emulated {
            // The guest sees this machine's counter and has nothing to calibrate it by; left to itself it would take its
            // timer's interrupts for a clock, and lose time whenever this machine is busy.
            let khz = fsderby_sys::tsc::khz().context("this machine's CPU has no time-stamp counter")?;
            text += &format!(" tsc_early_khz={khz} tsc=reliable");
        }
        text += " -- init";
        Ok(text + &mishap(self.mishap))
    }
}

/// What tells a guest's init of a mishap.
pub fn mishap(mishap: Option<Mishap>) -> String {
    use clap::ValueEnum;
    let named = mishap.and_then(|mishap| mishap.to_possible_value());
    named.map_or(String::new(), |value| format!(" {}", value.get_name()))
}

/// Has reads and writes of this image go past the host's page cache, where its filesystem allows that; says whether.
pub fn make_direct(image: &File) -> bool {
    let set = fcntl_getfl(image).and_then(|flags| fcntl_setfl(image, flags | OFlags::DIRECT));
    set.is_ok() && is_direct(image)
}

fn is_direct(image: &File) -> bool {
    fcntl_getfl(image).is_ok_and(|flags| flags.contains(OFlags::DIRECT))
}

/// The path by which a child that inherits it opens a file without a name.
pub fn shown(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}

pub fn in_memory(what: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(format!("fsderby-{what}"), MemfdFlags::CLOEXEC)?))
}
