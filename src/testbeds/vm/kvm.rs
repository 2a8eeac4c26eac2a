//! Whether guests run on this machine's CPU. An accessible /dev/kvm is no proof: on some hosts guests then hang.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use procfs::{CpuInfo, Current};

use super::BOOT;
use super::guest::Guest;
use super::machine::{Cpu, Machine, own_init};
use crate::guest::cache;
use crate::guest::initramfs::Bare;
use crate::guest::kernel::Kernel;
use crate::schema::event::Event;
use crate::schema::units::{Bytes, MIB};
use crate::testbeds::{Launched, Next};

/// A real CPU boots a guest in about a second.
const PATIENCE: Duration = Duration::from_secs(15);

/// The CPU for guests. Determined by starting a guest once; the result is cached by host kernel, CPU, QEMU and guest kernel.
pub fn cpu(qemu: &Path, kernel: &Kernel, agent: &Path) -> Cpu {
    if rustix::fs::access("/dev/kvm", rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK).is_err() {
        return Cpu::Emulated;
    }
    let kept = cache::made("kvm").map(|folder| folder.join(answer_file(qemu, kernel)));
    let answer = kept.as_ref().ok().and_then(|kept| fs::read_to_string(kept).ok());
    let runs = match answer.as_deref() {
        Some("yes") => true,
        Some("no") => false,
        _ if !kernel.is_sound() => return Cpu::Emulated,
        _ => {
            let runs = guest_runs(qemu, kernel, agent);
            // What could not be tried may be possible the next time.
            if let (Some(runs), Ok(kept)) = (runs, kept) {
                let _ = fs::write(kept, if runs { "yes" } else { "no" });
            }
            runs == Some(true)
        }
    };
    if runs { Cpu::Kvm } else { Cpu::Emulated }
}

fn answer_file(qemu: &Path, kernel: &Kernel) -> String {
    let uname = rustix::system::uname();
    let changed = fs::metadata(qemu).and_then(|m| m.modified()).ok();
    let cpus = CpuInfo::current().ok();
    let model = cpus.as_ref().and_then(|cpus| cpus.model_name(0)).unwrap_or_default();
    let asked = format!("{:?} {model} {qemu:?} {changed:?} {}", uname.version(), kernel.index.image_blake3);
    blake3::hash(asked.as_bytes()).to_hex()[..16].to_owned()
}

/// `None` if it could not be tried.
fn guest_runs(qemu: &Path, kernel: &Kernel, agent: &Path) -> Option<bool> {
    let idle = Bare { kernel, init: agent, boot: &BOOT, modules: &[], programs: &[] };
    let archive = idle.archive().ok()?;
    let machine = Machine {
        qemu,
        kernel: kernel.image(),
        initramfs: vec![&archive],
        memory: Bytes(256 * MIB),
        root: "",
        cpu: Cpu::Kvm,
        cpus: 1,
        disks: &[],
        serials: &[],
        monitor: None,
        init: own_init(None),
    };
    let mut guest = machine.start().and_then(|running| Guest::new(running, PATIENCE)).ok()?;
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        match guest.next(Duration::from_millis(100)) {
            Next::Event(stamped) if matches!(stamped.event, Event::Bye { .. }) => return Some(true),
            Next::Ended | Next::Damaged(_) => return Some(false),
            _ => {}
        }
    }
    Some(false)
}
