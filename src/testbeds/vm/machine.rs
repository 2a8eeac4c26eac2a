//! The virtual machine: QEMU's command line, and files passed by descriptor, so that no name must be removed afterwards.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use fsderby_sys::inherit::Inherited;
use fsderby_sys::process::tied_command;
use rustix::fs::{MemfdFlags, OFlags, fcntl_getfl, fcntl_setfl, memfd_create};

use crate::agent::{Mishap, PORT};
use crate::schema::units::{Bytes, MIB};

/// The program, in Debian's package qemu-system-x86.
pub const QEMU: &str = "qemu-system-x86_64";
/// The Debian package that brings [`QEMU`].
pub const PACKAGE: &str = "qemu-system-x86";
/// The machine has 24 device slots; the event port takes one.
pub const MOST_DISKS: usize = 16;

/// The guest's disks in its kernel's names: `/dev/vda`.
pub fn disk(n: usize) -> String {
    let letter = (b'a'..=b'z').nth(n).map_or('a', char::from);
    format!("/dev/vd{letter}")
}

/// The guest's disks in QEMU's names. The order may differ from the kernel's: all disks of a machine are equal.
pub fn drive(n: usize) -> String {
    format!("disk{n}")
}

/// The CPU that executes the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpu {
    /// This machine's CPU.
    Kvm,
    /// QEMU's emulation.
    Emulated,
}

/// A machine ready to start.
pub struct Machine<'a> {
    pub qemu: &'a Path,
    pub kernel: PathBuf,
    pub initramfs: Vec<&'a [u8]>,
    pub memory: Bytes,
    /// An argument of the kernel for its first root, or none.
    pub root: &'a str,
    pub cpu: Cpu,
    pub cpus: u32,
    pub disks: &'a [File],
    /// The serial numbers of the first disks; the others have none.
    pub serials: &'a [String],
    /// QEMU's end of its monitor, if it is used.
    pub monitor: Option<&'a UnixStream>,
    /// The arguments of the guest's init.
    pub init: String,
}

/// Where the machine's output goes, in QEMU's words.
struct Ends<'a> {
    serial: String,
    events: &'a str,
}

/// A running machine. Its events are on the child's standard output.
pub struct Running {
    pub child: Child,
    /// Output of the guest's kernel.
    pub console: File,
    /// Output of QEMU.
    pub complaints: File,
}

impl Machine<'_> {
    pub fn start(&self) -> anyhow::Result<Running> {
        let console = in_memory("console")?;
        let complaints = in_memory("complaints")?;
        let mut initramfs = in_memory("initramfs")?;
        self.initramfs.iter().try_for_each(|part| initramfs.write_all(part)).context("not enough memory")?;
        let mut command = tied_command(self.qemu);
        let mut inherited = Inherited::default();
        let ends = Ends {
            serial: format!("file:{}", inherited.path(&console)?),
            events: "stdio,id=events,signal=off",
        };
        self.arguments(&mut command, &ends, &initramfs, &mut inherited)?;
        inherited.hand_to(&mut command);
        // Ctrl-C in a terminal is for fsderby alone, which then ends the trial as interrupted.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(complaints.try_clone()?);
        let child = command.spawn().with_context(|| format!("could not start {}", self.qemu.display()))?;
        Ok(Running { child, console, complaints })
    }

    /// Runs the machine with this process's terminal as its serial port, until it ends.
    ///
    /// # Errors
    /// If QEMU cannot be started, or fails.
    pub fn on_this_terminal(&self) -> anyhow::Result<()> {
        let mut initramfs = in_memory("initramfs")?;
        self.initramfs.iter().try_for_each(|part| initramfs.write_all(part)).context("not enough memory")?;
        let mut command = tied_command(self.qemu);
        let mut inherited = Inherited::default();
        command.args(["-chardev", "stdio,id=terminal,signal=off"]);
        let ends = Ends { serial: "chardev:terminal".to_owned(), events: "null,id=events" };
        self.arguments(&mut command, &ends, &initramfs, &mut inherited)?;
        inherited.hand_to(&mut command);
        let status = command.status().with_context(|| format!("could not start {}", self.qemu.display()))?;
        anyhow::ensure!(status.success(), "QEMU ended with {status}");
        Ok(())
    }

    fn arguments(
        &self,
        command: &mut Command,
        ends: &Ends<'_>,
        initramfs: &File,
        inherited: &mut Inherited,
    ) -> anyhow::Result<()> {
        command.args(["-M", "microvm,rtc=on", "-nodefaults", "-no-user-config", "-no-reboot"]);
        command.args(["-display", "none", "-monitor", "none", "-smp"]).arg(self.cpus.to_string());
        command.args(["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"]);
        command.arg("-m").arg(format!("{}M", self.memory.0.div_ceil(MIB)));
        match self.cpu {
            Cpu::Kvm => command.args(["-accel", "kvm", "-cpu", "host"]),
            // Emulated byte-wise string instructions, which these flags would select, take three times as long.
            Cpu::Emulated => command.args(["-accel", "tcg,thread=multi", "-cpu", "max,erms=off,fsrm=off"]),
        };
        command.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(inherited.path(initramfs)?);
        command.arg("-append").arg(self.kernel_arguments()?);
        command.arg("-serial").arg(&ends.serial);
        command.args(["-device", "virtio-serial-device,id=ports", "-chardev", ends.events]);
        command.arg("-device").arg(format!("virtserialport,bus=ports.0,chardev=events,name={PORT}"));
        if let Some(monitor) = self.monitor {
            let descriptor = inherited.descriptor(monitor)?;
            command.arg("-chardev").arg(format!("socket,id=monitor,fd={descriptor}"));
            command.args(["-mon", "chardev=monitor,mode=control"]);
        }
        for (n, disk) in self.disks.iter().enumerate() {
            let drive = drive(n);
            let cache = if is_direct(disk) { "none" } else { "writeback" };
            let settings = format!(
                "id={drive},file={},format=raw,if=none,cache={cache},aio=threads,discard=unmap",
                inherited.path(disk)?
            );
            let serial = self.serials.get(n).map_or(String::new(), |serial| format!(",serial={serial}"));
            command.arg("-drive").arg(settings).arg("-device");
            command.arg(format!("virtio-blk-device,drive={drive}{serial}"));
        }
        Ok(())
    }

    fn kernel_arguments(&self) -> anyhow::Result<String> {
        let mut text =
            "console=ttyS0 quiet panic=-1 oops=panic reboot=t mitigations=off rdinit=/init".to_owned();
        if self.cpu == Cpu::Emulated {
            // The guest sees this machine's counter and cannot calibrate it; otherwise it would use timer interrupts as clock,
            // and lose time when this machine is busy.
            let khz = fsderby_sys::tsc::khz().context("this machine's CPU has no time-stamp counter")?;
            text += &format!(" tsc_early_khz={khz} tsc=reliable");
        }
        Ok(format!("{text}{} -- {}", self.root, self.init))
    }
}

/// The arguments of our own program as init.
pub fn own_init(mishap: Option<Mishap>) -> String {
    format!("init{}", self::mishap(mishap))
}

/// The kernel argument that tells init of a mishap.
pub fn mishap(mishap: Option<Mishap>) -> String {
    use clap::ValueEnum;
    let named = mishap.and_then(|mishap| mishap.to_possible_value());
    named.map_or(String::new(), |value| format!(" {}", value.get_name()))
}

/// Makes I/O on this image bypass the host's page cache, if its filesystem allows it; returns whether.
pub fn make_direct(image: &File) -> bool {
    let set = fcntl_getfl(image).and_then(|flags| fcntl_setfl(image, flags | OFlags::DIRECT));
    set.is_ok() && is_direct(image)
}

fn is_direct(image: &File) -> bool {
    fcntl_getfl(image).is_ok_and(|flags| flags.contains(OFlags::DIRECT))
}

pub fn in_memory(what: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(format!("fsderby-{what}"), MemfdFlags::CLOEXEC)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::thread;

    /// The open files of a machine with this disk, as listed by `ls`.
    fn open_in(qemu: &Path, disk: File) -> String {
        let (_, monitor) = UnixStream::pair().unwrap();
        let machine = Machine {
            qemu,
            kernel: "/boot/vmlinuz".into(),
            initramfs: Vec::new(),
            memory: Bytes(MIB),
            root: "",
            cpu: Cpu::Kvm,
            cpus: 1,
            disks: &[disk],
            monitor: Some(&monitor),
            serials: &[],
            init: own_init(None),
        };
        let mut running = machine.start().unwrap();
        let mut said = String::new();
        running.child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        running.child.wait().unwrap();
        said
    }

    #[test]
    fn a_machine_gets_its_own_descriptors_and_none_of_one_that_starts_at_the_same_moment() {
        let folder = tempfile::tempdir().unwrap();
        let qemu = folder.path().join("qemu");
        // Written by a shell: our descriptor could survive in another test's child, and a file open for writing cannot be
        // executed.
        let write = r#"printf '#!/bin/sh\nexec ls -l /proc/self/fd\n' >"$0" && chmod +x "$0""#;
        assert!(Command::new("sh").arg("-c").arg(write).arg(&qemu).status().unwrap().success());
        let start_many = |row: usize| {
            for _ in 0..20 {
                let disk = in_memory(&format!("disk-{row}")).unwrap();
                let open = open_in(&qemu, disk);
                let has = |what: &str| open.matches(what).count();
                assert_eq!((has(&format!("fsderby-disk-{row} ")), has("fsderby-disk-")), (1, 1), "{open}");
                assert_eq!([has("fsderby-console"), has("fsderby-initramfs")], [1, 1], "{open}");
            }
        };
        thread::scope(|threads| {
            (0..8).for_each(|row| drop(threads.spawn(move || start_many(row))));
        });
    }
}
