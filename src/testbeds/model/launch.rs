//! The machines of one launch: each begins in a snapshot of its boot, or in a kept state of its filesystem.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::guest::{Guest, Then};
use super::machine::{Machine, Running};
use super::memory::memory;
use super::snapshot::{STATES, Snapshot};
use crate::agent::Mishap;
use crate::guest::initramfs::Base;
use crate::guest::kernel::Kernel;
use crate::schema::units::Bytes;
use crate::storage::disk::layout::Layout;

/// What the host has for a guest.
#[derive(Clone)]
pub struct Found {
    pub qemu: PathBuf,
    pub qemu_blake3: String,
    pub kernel: Kernel,
}

/// A guest from one boot to the machine's end.
pub struct Boot {
    pub layout: Layout,
    /// The job until its initial state, after which the machine stops itself.
    pub first: Option<Vec<u8>>,
    /// The trial's job and disk, as the guest gets them.
    pub files: Vec<u8>,
}

/// Shared by all machines of a launch.
pub struct Parts {
    pub found: Found,
    pub base: Arc<Base>,
    pub limit: Option<Bytes>,
    /// The memory layout of the first boot, at least as large as the layout of any other boot.
    pub room: Layout,
    pub mips: u32,
    pub instructions: Vec<String>,
    pub mishap: Option<Mishap>,
    pub patience: Duration,
    /// The machine after boot, equal for all boots.
    pub snapshot: OnceLock<Snapshot>,
    /// Whether trials begin in kept states.
    pub takes_states: bool,
}

impl Parts {
    fn machine(&self, layout: Layout) -> Machine<'_> {
        Machine {
            qemu: &self.found.qemu,
            kernel: self.found.kernel.image(),
            initramfs: [&self.base.tools.bytes, &self.base.program.bytes],
            memory: self.base.memory(memory(self.limit, self.room)),
            root: self.base.root(),
            layout,
            room: self.room,
            mips: self.mips,
            instructions: &self.instructions,
            mishap: self.mishap,
        }
    }

    /// Starts a machine on blank disks, or on the disks left by the previous one. Boots first if there is no cached snapshot.
    pub fn start(self: &Arc<Self>, life: Boot, left: Option<(&File, Layout)>) -> anyhow::Result<Guest> {
        let machine = self.machine(life.layout);
        let name = self.snapshot_name(&machine)?;
        if self.snapshot.get().is_none()
            && let Some(kept) = Snapshot::find(&name)
        {
            let _ = self.snapshot.set(kept);
        }
        if let Some(snapshot) = self.snapshot.get() {
            let Some(first) = life.first.as_ref().filter(|_| left.is_none()) else {
                let running = machine.go_on(snapshot, &life.files, left)?;
                return Ok(Guest::new(running, life.layout, self.patience));
            };
            if let Some(running) = self.begin_in_state(&machine, &name, first, &life)? {
                return Ok(Guest::new(running, life.layout, self.patience).begun_in_state());
            }
            let guest = Guest::new(machine.go_on(snapshot, first, None)?, life.layout, self.patience);
            return Ok(guest.then(self.after_state(name, life)));
        }
        anyhow::ensure!(left.is_none(), "the guest whose power was cut was not started by this testbed");
        let guest = Guest::new(machine.boot()?, life.layout, self.patience);
        let (parts, layout, of) = (self.clone(), life.layout, name.clone());
        let files = life.first.clone().unwrap_or_else(|| life.files.clone());
        let guest = guest.then(Box::new(move |booted: &mut Running| {
            let snapshot = booted.snapshot()?;
            // Without a cache each trial boots.
            let _ = snapshot.keep(&of);
            let snapshot = parts.snapshot.get_or_init(|| snapshot);
            parts.machine(layout).go_on(snapshot, &files, None)
        }));
        Ok(if life.first.is_some() { guest.then(self.after_state(name, life)) } else { guest })
    }

    /// Continues the kept machine whose filesystem is in the initial state that this first part of a job makes; `None` if there is
    /// none. A damaged one is made again.
    fn begin_in_state(
        &self,
        machine: &Machine<'_>,
        boot: &str,
        first: &[u8],
        life: &Boot,
    ) -> anyhow::Result<Option<Running>> {
        if !self.takes_states {
            return Ok(None);
        }
        let memory = machine.blank()?;
        match STATES.fill(&state_name(boot, first), &memory) {
            Ok(Some(stopped)) => machine.resume(memory, stopped, &life.files).map(Some),
            Ok(None) | Err(_) => Ok(None),
        }
    }

    /// Keeps a machine that has reached its filesystem's initial state, and continues an equal one with the whole job. A trial that
    /// begins in a kept state takes the same way, so that both give the same figures.
    fn after_state(self: &Arc<Self>, boot: String, life: Boot) -> Then {
        let parts = self.clone();
        Box::new(move |paused: &mut Running| {
            let stopped = paused.stopped()?;
            let memory = paused.memory.try_clone()?;
            // Without a cache, or with too large a filesystem, each trial makes its state.
            if let Some(first) = life.first.as_ref().filter(|_| parts.takes_states) {
                let _ = STATES.keep(&state_name(&boot, first), &memory, &stopped);
            }
            parts.machine(life.layout).resume(memory, stopped, &life.files)
        })
    }

    /// A hash of all inputs of a booted machine.
    fn snapshot_name(&self, machine: &Machine<'_>) -> anyhow::Result<String> {
        let mut hasher = blake3::Hasher::new();
        for (name, hash) in self.made_of() {
            hasher.update(name.as_bytes()).update(hash.as_bytes());
        }
        hasher.update(machine.shape()?.as_bytes());
        hasher.update(fsderby_sys::steady::LIBRARY.unwrap_or_default());
        Ok(hasher.finalize().to_hex().to_string())
    }

    fn made_of(&self) -> Vec<(&str, String)> {
        let own = [
            ("kernel", self.found.kernel.index.image_blake3.clone()),
            ("qemu", self.found.qemu_blake3.clone()),
        ];
        own.into_iter().chain(self.base.hashes()).collect()
    }

    /// Hashes of all inputs of the trial, over all boots.
    pub fn provenance(&self, lives: &[Boot]) -> anyhow::Result<BTreeMap<String, String>> {
        let (mut jobs, mut machines) = (blake3::Hasher::new(), blake3::Hasher::new());
        for life in lives {
            jobs.update(life.first.as_deref().unwrap_or_default()).update(&life.files);
            machines.update(self.machine(life.layout).shape()?.as_bytes());
        }
        let hashes = [("job", jobs.finalize()), ("machine", machines.finalize())];
        let hashes = hashes.map(|(name, hash)| (name, hash.to_hex().to_string()));
        let hashes = hashes.into_iter().chain(self.made_of());
        Ok(hashes.map(|(name, hash)| (name.to_owned(), hash)).collect())
    }
}

/// A hash of all inputs of a machine in an initial state: those of its boot, and the first part of a job.
fn state_name(boot: &str, first: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(boot.as_bytes()).update(first);
    hasher.finalize().to_hex().to_string()
}
