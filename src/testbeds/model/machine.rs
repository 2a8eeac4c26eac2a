//! The virtual machine with an instruction-counting clock.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::RawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use fsderby_sys::inherit::Inherited;
use fsderby_sys::process::tied_command;
use serde_json::json;

use super::super::vm::guest::{lines, panic, text};
use super::super::vm::machine::{in_memory, mishap};
use super::machines::flags;
use super::monitor::Monitor;
use super::snapshot::{Snapshot, Stopped};
use crate::agent::Mishap;
use crate::schema::units::{Bytes, MIB};
use crate::storage::disk::handover::STOPPED;
use crate::storage::disk::layout::{JOB, LOW, Layout};
use crate::storage::image::copy_data;
use crate::testbeds::Fault;

pub struct Machine<'a> {
    pub qemu: &'a Path,
    pub kernel: PathBuf,
    pub initramfs: [&'a [u8]; 2],
    /// Memory for the guest's kernel.
    pub memory: Bytes,
    /// An argument of the kernel for its first root, or none.
    pub root: &'a str,
    pub layout: Layout,
    /// Reserved space: enough for the job's first boot, so that all its boots use equal machines.
    pub room: Layout,
    /// Million instructions per second.
    pub mips: u32,
    /// CPU instructions beyond those of the first 64-bit CPUs.
    pub instructions: &'a [String],
    pub mishap: Option<Mishap>,
}

/// A running machine.
pub struct Running {
    pub child: Child,
    pub memory: File,
    /// Output of the guest's kernel before it was continued.
    before: Vec<u8>,
    console: File,
    /// Output of QEMU.
    complaints: File,
    monitor: Monitor,
    /// QEMU's state of CPU and devices, and its descriptor in QEMU.
    state: (File, RawFd),
}

impl Machine<'_> {
    /// Boots until init waits for its job; QEMU then stops the machine.
    pub fn boot(&self) -> anyhow::Result<Running> {
        let memory = self.blank()?;
        self.start(memory, in_memory("state")?, false)
    }

    /// Continues from the snapshot of an equal machine, with these files, and with blank disks or those left by another machine's
    /// power cut.
    pub fn go_on(
        &self,
        snapshot: &Snapshot,
        files: &[u8],
        left: Option<(&File, Layout)>,
    ) -> anyhow::Result<Running> {
        let memory = self.blank()?;
        let booted = snapshot.fill(&memory)?;
        if let Some((left, layout)) = left {
            self.take_over(&memory, left, layout).context("the content of the disks could not be copied")?;
        }
        self.resume(memory, booted, files)
    }

    /// Continues an equal machine that has stopped itself, with its memory, and with these files.
    pub fn resume(&self, memory: File, stopped: Stopped, files: &[u8]) -> anyhow::Result<Running> {
        memory.write_all_at(files, JOB.in_file()).context("not enough memory")?;
        let mut state = in_memory("state")?;
        state.write_all(&stopped.state).and_then(|()| state.rewind()).context("not enough memory")?;
        Ok(Running { before: stopped.console, ..self.start(memory, state, true)? })
    }

    /// Memory for a machine.
    pub fn blank(&self) -> anyhow::Result<File> {
        let memory = in_memory("memory")?;
        memory.set_len(self.room.file().0).context("the guest's memory file could not be created")?;
        Ok(memory)
    }

    fn start(&self, memory: File, state: File, goes_on: bool) -> anyhow::Result<Running> {
        let [console, complaints] = [in_memory("console")?, in_memory("complaints")?];
        let mut initramfs = in_memory("initramfs")?;
        self.initramfs.iter().try_for_each(|part| initramfs.write_all(part)).context("not enough memory")?;
        let mut steady = in_memory("steady")?;
        let library = fsderby_sys::steady::LIBRARY.context("virtual time needs an x86-64 machine")?;
        steady.write_all(library).context("not enough memory")?;
        let mut command = tied_command(self.qemu);
        let mut inherited = Inherited::default();
        let mut shown = |file| inherited.path(file);
        let files = [shown(&console)?, shown(&initramfs)?, shown(&memory)?];
        command.env("LD_PRELOAD", shown(&steady)?);
        self.arguments(&mut command, &files)?;
        let (monitor, theirs) = Monitor::pair()?;
        let theirs = inherited.descriptor(theirs)?;
        command.arg("-chardev").arg(format!("socket,id=monitor,fd={theirs}"));
        command.args(["-mon", "chardev=monitor,mode=control"]);
        let number = inherited.descriptor(&state)?;
        if goes_on {
            command.args(["-incoming", "defer"]);
        }
        inherited.hand_to(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(complaints.try_clone()?);
        let child = command.spawn().with_context(|| format!("could not start {}", self.qemu.display()))?;
        // It holds the other end of the monitor, which must close if QEMU ends.
        drop(command);
        let before = Vec::new();
        let state = (state, number);
        let mut running = Running { child, memory, before, console, complaints, monitor, state };
        if let Err(e) = running.greet(goes_on) {
            let ended = ended(&mut running.child);
            let panic = match panic(&running.said()) {
                Some(Fault::Panic(why)) => Some(why),
                _ => None,
            };
            let said = panic.into_iter().chain(running.complained());
            let said: String = said.map(|line| format!(": {line}")).collect();
            return Err(e).with_context(|| format!("QEMU could not start{ended}{said}"));
        }
        Ok(running)
    }

    /// Takes over only the disks' content from the previous machine's memory.
    fn take_over(&self, memory: &File, left: &File, layout: Layout) -> io::Result<()> {
        for disk in 0..self.layout.disks {
            let from = layout
                .medium(disk)
                .ok_or_else(|| io::Error::other("the guest's memory is not laid out for a power cut"))?;
            let targets = [Some(self.layout.store(disk)), self.layout.medium(disk)];
            for to in targets.into_iter().flatten() {
                copy_data(left, from.in_file(), memory, to.in_file(), from.length as u64)?;
            }
        }
        Ok(())
    }

    fn arguments(
        &self,
        command: &mut Command,
        [console, initramfs, memory]: &[String; 3],
    ) -> anyhow::Result<()> {
        command.args(self.fixed()?);
        let size = self.room.file().0;
        command
            .arg("-object")
            .arg(format!("memory-backend-file,id=memory,size={size},mem-path={memory},share=on"));
        command.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(initramfs);
        command.arg("-serial").arg(format!("file:{console}"));
        Ok(())
    }

    /// The parts of the command line that the guest can observe.
    pub fn shape(&self) -> anyhow::Result<String> {
        Ok(self.fixed()?.join(" "))
    }

    fn fixed(&self) -> anyhow::Result<Vec<String>> {
        let memory = format!("{}M", self.room.file().0 / MIB);
        let cpu = self.cpu()?;
        let kernel = self.kernel_arguments();
        let words = [
            ["-M", "microvm,rtc=on,memory-backend=memory"],
            ["-m", &memory],
            ["-smp", "1"],
            ["-cpu", &cpu],
            ["-accel", "tcg"],
            // Each instruction is one tick of the CPU's time counter; the kernel is told its frequency.
            ["-icount", "shift=0,sleep=off"],
            ["-rtc", "base=2025-01-01T00:00:00,clock=vm"],
            ["-append", &kernel],
            ["-display", "none"],
            ["-monitor", "none"],
            // Seeds the values that QEMU leaves in guest memory as random numbers.
            ["-seed", "1"],
            // Lets the guest stop itself at a fixed instruction.
            ["-device", "pvpanic"],
            ["-action", "panic=pause"],
            // Timers of the host's clock, for announcing a migration; until one has run the CPU is idle.
            ["-global", "migration.announce-rounds=0"],
            ["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"],
        ];
        let plain = ["-nodefaults", "-no-user-config", "-no-reboot"];
        Ok(words.as_flattened().iter().chain(&plain).map(|word| (*word).to_owned()).collect())
    }

    /// A CPU without random-number instructions and with an always-running timer: otherwise the kernel wakes tasks only at its
    /// ticks, every 4 ms.
    fn cpu(&self) -> anyhow::Result<String> {
        let mut cpu = "qemu64,+arat".to_owned();
        for instruction in self.instructions {
            let flags =
                flags(instruction).with_context(|| format!("unknown CPU instruction {instruction}"))?;
            flags.iter().for_each(|flag| cpu += &format!(",+{flag}"));
        }
        Ok(cpu)
    }

    /// The kernel trusts the stated counter frequency, and bases all clocks and timers on the counter.
    fn kernel_arguments(&self) -> String {
        format!(
            "console=ttyS0 quiet panic=-1 oops=panic reboot=t mitigations=off rdinit=/init norandmaps \
             random.trust_cpu=off random.trust_bootloader=off tsc=reliable tsc_early_khz={}000 mem={}M{} -- init --waits{}",
            self.mips,
            self.memory.0 / MIB,
            self.root,
            mishap(self.mishap)
        )
    }
}

impl Running {
    /// Opens the monitor and, if the machine continues from a snapshot, loads the state into the machine.
    fn greet(&mut self, goes_on: bool) -> anyhow::Result<()> {
        self.monitor.tell("qmp_capabilities", &json!({}))?;
        // Its memory is our file and not part of the state.
        let capabilities =
            ["x-ignore-shared", "events"].map(|name| json!({"capability": name, "state": true}));
        self.monitor.tell("migrate-set-capabilities", &json!({"capabilities": capabilities}))?;
        if !goes_on {
            return Ok(());
        }
        self.monitor.tell("migrate-incoming", &json!({"uri": format!("fd:{}", self.state.1)}))?;
        self.monitor.wait_for("MIGRATION completed", "MIGRATION failed")?;
        self.monitor.tell("cont", &json!({})).map(drop)
    }

    /// Whether the machine has stopped itself.
    ///
    /// # Errors
    /// If the machine has ended.
    pub fn has_stopped(&mut self) -> anyhow::Result<bool> {
        // A query before this would give QEMU's main loop work that other boots do not have.
        let mut mark = [0; 8];
        self.memory.read_exact_at(&mut mark, JOB.in_file())?;
        Ok(mark == STOPPED.to_le_bytes()
            && self.monitor.tell("query-status", &json!({}))?["status"] == "guest-panicked")
    }

    /// Ends a machine that has stopped itself after its boot, and returns its snapshot.
    ///
    /// # Errors
    /// If QEMU cannot save its state.
    pub fn snapshot(&mut self) -> anyhow::Result<Snapshot> {
        let booted = Stopped { console: Vec::new(), ..self.stopped()? };
        // Saves the kernel's memory, without the blank disks behind it.
        Snapshot::of(&self.memory, LOW, &booted)
    }

    /// What the guest's kernel said.
    pub fn said(&mut self) -> Vec<String> {
        let mut said = lines(&self.before);
        said.extend(text(&mut self.console));
        said
    }

    /// What QEMU said.
    pub fn complained(&mut self) -> Vec<String> {
        text(&mut self.complaints)
    }

    /// Ends a machine that has stopped itself, and returns it without its memory.
    ///
    /// # Errors
    /// If QEMU cannot save its state.
    pub fn stopped(&mut self) -> anyhow::Result<Stopped> {
        // It holds the state from which the machine was continued.
        self.state.0.set_len(0)?;
        self.state.0.rewind()?;
        self.monitor.give("state", &self.state.0)?;
        self.monitor.tell("migrate", &json!({"uri": "fd:state"}))?;
        self.monitor.wait_for("MIGRATION completed", "MIGRATION failed")?;
        self.child.kill()?;
        self.child.wait()?;
        let mut state = Vec::new();
        self.state.0.rewind()?;
        self.state.0.read_to_end(&mut state).context("could not read the guest's device state")?;
        Ok(Stopped { state, console: self.said().join("\n").into_bytes() })
    }
}

/// How QEMU ended by itself, even if it said nothing; kills it otherwise.
fn ended(child: &mut Child) -> String {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(1) {
        if let Ok(Some(status)) = child.try_wait() {
            return format!(" ({status})");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_qemu_that_ends_without_a_word_is_told_by_its_status() {
        let shell = |line: &str| ended(&mut Command::new("sh").args(["-c", line]).spawn().unwrap());
        assert_eq!(shell("exit 7"), " (exit status: 7)");
        assert_eq!(shell("kill -BUS $$"), " (signal: 7 (SIGBUS))");
        assert_eq!(shell("sleep 100"), "", "ended by us");
    }

    #[test]
    fn a_cpu_has_its_instructions_and_what_they_need() {
        let instructions = ["sse4.2", "avx"].map(str::to_owned);
        let machine = Machine {
            qemu: Path::new("qemu"),
            kernel: PathBuf::new(),
            initramfs: [&[]; 2],
            memory: Bytes(64 * MIB),
            root: "",
            layout: Layout::new(Bytes(MIB), 1, false),
            room: Layout::new(Bytes(MIB), 1, false),
            mips: 333,
            instructions: &instructions,
            mishap: None,
        };
        let shape = machine.shape().unwrap();
        assert!(
            shape.contains("-cpu qemu64,+arat,+sse4.2,+xsave,+xsaveopt,+avx ")
                && shape.contains("tsc_early_khz=333000 ")
        );
        let unknown = Machine { instructions: &["rdrand".to_owned()], ..machine };
        assert!(unknown.shape().is_err());
    }
}
