//! Whether guests really run on this machine's CPU. That /dev/kvm opens proves nothing: on some hosts the guest then hangs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use procfs::{CpuInfo, Current};

use super::BOOT;
use super::guest::Guest;
use super::machine::{Cpu, Machine};
use crate::guest::initramfs;
use crate::guest::kernel::{Kernel, cache};
use crate::schema::event::Event;
use crate::schema::units::{Bytes, MIB};
use crate::testbeds::{Launched, Next};

/// A real CPU brings a guest up in about a second.
const PATIENCE: Duration = Duration::from_secs(15);

/// The CPU to run guests on. A guest is started once to find out; the answer is kept for this host's kernel, CPU, QEMU and
/// guest kernel.
pub fn cpu(qemu: &Path, kernel: &Kernel, agent: &Path) -> Cpu {
    if rustix::fs::access("/dev/kvm", rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK).is_err() {
        return Cpu::Emulated;
    }
    let kept = answer_file(qemu, kernel);
    let runs = match fs::read_to_string(&kept).as_deref() {
        Ok("yes") => true,
        Ok("no") => false,
        _ => {
            let runs = guest_runs(qemu, kernel, agent);
            let _ = fs::create_dir_all(kept.parent().unwrap_or(Path::new("/")));
            let _ = fs::write(&kept, if runs { "yes" } else { "no" });
            runs
        }
    };
    if runs { Cpu::Kvm } else { Cpu::Emulated }
}

fn answer_file(qemu: &Path, kernel: &Kernel) -> PathBuf {
    let uname = rustix::system::uname();
    let changed = fs::metadata(qemu).and_then(|m| m.modified()).ok();
    let cpus = CpuInfo::current().ok();
    let model = cpus.as_ref().and_then(|cpus| cpus.model_name(0)).unwrap_or_default();
    let asked = format!("{:?} {model} {qemu:?} {changed:?} {}", uname.version(), kernel.index.image_blake3);
    cache().join("kvm").join(&blake3::hash(asked.as_bytes()).to_hex()[..16])
}

fn guest_runs(qemu: &Path, kernel: &Kernel, agent: &Path) -> bool {
    let Ok(archive) = initramfs::idle(kernel, agent, &BOOT) else { return false };
    let machine = Machine {
        qemu,
        kernel: kernel.image(),
        initramfs: vec![&archive],
        memory: Bytes(256 * MIB),
        cpu: Cpu::Kvm,
        disk: None,
        monitor: None,
        mishap: None,
    };
    let Ok(mut guest) = machine.start().and_then(|running| Guest::new(running, PATIENCE)) else {
        return false;
    };
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        match guest.next(Duration::from_millis(100)) {
            Next::Event(stamped) if matches!(stamped.event, Event::Bye { .. }) => return true,
            Next::Ended | Next::Damaged(_) => return false,
            _ => {}
        }
    }
    false
}
