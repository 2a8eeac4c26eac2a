//! The virtual machine whose clock counts its instructions.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use fsderby_sys::inherit::Inherited;
use fsderby_sys::process::tied_command;

use super::super::vm::machine::{in_memory, mishap};
use crate::agent::Mishap;
use crate::schema::units::{Bytes, MIB};
use crate::storage::disk::layout::Layout;

/// One instruction takes 2^shift nanoseconds.
pub const FASTEST: u32 = 1000;

/// The shift for so many million instructions a second.
pub fn shift(mips: u32) -> Result<u32, String> {
    let steps = || (0..=9).map(|shift| (shift, FASTEST >> shift));
    if let Some((shift, _)) = steps().find(|(_, speed)| *speed == mips) {
        return Ok(shift);
    }
    let above = steps().rev().find(|(_, speed)| *speed > mips).map(|(_, speed)| speed.to_string());
    let below = steps().find(|(_, speed)| *speed < mips).map(|(_, speed)| speed.to_string());
    let near = [below, above].into_iter().flatten().collect::<Vec<_>>().join(" and ");
    Err(format!(
        "mips={mips} cannot be counted, an instruction takes whole powers of 2 of nanoseconds; its neighbours are {near}"
    ))
}

pub struct Machine<'a> {
    pub qemu: &'a Path,
    pub kernel: PathBuf,
    pub initramfs: [&'a [u8]; 3],
    /// What the guest's kernel may use.
    pub memory: Bytes,
    pub layout: Layout,
    pub mips: u32,
    pub mishap: Option<Mishap>,
}

/// A machine that runs.
pub struct Running {
    pub child: Child,
    pub memory: File,
    /// What the guest's kernel wrote.
    pub console: File,
    /// What QEMU wrote.
    pub complaints: File,
}

impl Machine<'_> {
    pub fn start(&self) -> anyhow::Result<Running> {
        let [console, complaints, memory] =
            [in_memory("console")?, in_memory("complaints")?, in_memory("memory")?];
        let mut initramfs = in_memory("initramfs")?;
        self.initramfs
            .iter()
            .try_for_each(|part| initramfs.write_all(part))
            .context("there is too little memory")?;
        let mut steady = in_memory("steady")?;
        let library = fsderby_sys::steady::LIBRARY.context("virtual time needs an x86-64 machine")?;
        steady.write_all(library).context("there is too little memory")?;
        memory.set_len(self.layout.file().0).context("the guest's memory could not be made")?;
        let mut command = tied_command(self.qemu);
        let mut inherited = Inherited::default();
        let mut shown = |file| inherited.path(file);
        let files = [shown(&console)?, shown(&initramfs)?, shown(&memory)?];
        command.env("LD_PRELOAD", shown(&steady)?);
        self.arguments(&mut command, &files)?;
        inherited.hand_to(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(complaints.try_clone()?);
        let child = command.spawn().with_context(|| format!("could not start {}", self.qemu.display()))?;
        Ok(Running { child, memory, console, complaints })
    }

    fn arguments(
        &self,
        command: &mut Command,
        [console, initramfs, memory]: &[String; 3],
    ) -> anyhow::Result<()> {
        command.args(self.fixed()?);
        let size = self.layout.file().0;
        command
            .arg("-object")
            .arg(format!("memory-backend-file,id=memory,size={size},mem-path={memory},share=on"));
        command.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(initramfs);
        command.arg("-serial").arg(format!("file:{console}"));
        Ok(())
    }

    /// All of the command line that the guest can tell.
    pub fn shape(&self) -> anyhow::Result<String> {
        Ok(self.fixed()?.join(" "))
    }

    fn fixed(&self) -> anyhow::Result<Vec<String>> {
        let shift = shift(self.mips).map_err(anyhow::Error::msg)?;
        let memory = format!("{}M", self.layout.file().0 / MIB);
        let counter = format!("shift={shift},sleep=off");
        let kernel = self.kernel_arguments();
        let words = [
            ["-M", "microvm,rtc=on,memory-backend=memory"],
            ["-m", &memory],
            ["-smp", "1"],
            // A CPU without instructions that give random numbers, and with a timer that never stops: else its kernel wakes
            // nobody but at its ticks, four milliseconds apart.
            ["-cpu", "qemu64,+arat"],
            ["-accel", "tcg"],
            ["-icount", &counter],
            ["-rtc", "base=2025-01-01T00:00:00,clock=vm"],
            ["-append", &kernel],
            ["-display", "none"],
            ["-monitor", "none"],
            ["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"],
        ];
        let plain = ["-nodefaults", "-no-user-config", "-no-reboot"];
        Ok(words.as_flattened().iter().chain(&plain).map(|word| (*word).to_owned()).collect())
    }

    fn kernel_arguments(&self) -> String {
        format!(
            "console=ttyS0 quiet panic=-1 oops=panic reboot=t mitigations=off rdinit=/init norandmaps \
             random.trust_cpu=off random.trust_bootloader=off tsc=reliable tsc_early_khz=1000000 mem={}M -- init{}",
            self.memory.0 / MIB,
            mishap(self.mishap)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_a_whole_shift_or_names_its_neighbours() {
        assert_eq!([1000, 500, 250, 125].map(shift), [Ok(0), Ok(1), Ok(2), Ok(3)]);
        assert!(shift(300).unwrap_err().ends_with("250 and 500"));
        assert!(shift(5000).unwrap_err().ends_with("are 1000"));
        assert!(shift(0).unwrap_err().ends_with("are 1"));
    }
}
