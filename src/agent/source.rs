//! The second disk, from which a work copies: the same filesystem for every candidate, filled before timing starts and then
//! remounted read-only, so that none of its data is cached.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fsderby_sys::gate::SharedGate;
use rustix::fs::{Gid, Mode, OFlags, Uid};

use super::sandbox::Sandbox;
use super::work::{Start, Worker};
use super::worker::WorkerReport;
use super::{StepError, harmless, mounting, tools};
use crate::host::kernel_log::Log;
use crate::schema::job::{Portion, WorkJob};
use crate::schema::setup::{Argv, DEVICE, Identity, Mount};
use crate::storage::Device;
use crate::workloads::SOURCE;

/// Used in messages instead of its path, which means nothing to users.
const WHAT: &str = "the second disk";
const READ_ONLY: &str = "ro";

/// The second disk. Dropping this value unmounts the disk and detaches its device.
pub struct Source {
    device: Box<dyn Device>,
    mountpoint: PathBuf,
    mounted: bool,
    filled: bool,
}

/// How to fill the second disk: the filesystem, the work that creates the files, and the user.
pub struct Filling<'a> {
    pub work: &'a WorkJob,
    pub make: &'a [Argv],
    pub mount: &'a Mount,
    pub limit: Duration,
    pub sandbox: Option<&'a Sandbox>,
    pub worker: Option<Identity>,
}

impl Source {
    pub fn new(device: Box<dyn Device>, mountpoint: PathBuf) -> Result<Self, StepError> {
        fs::create_dir(&mountpoint).map_err(|e| StepError::io("make", &mountpoint, e))?;
        Ok(Source { device, mountpoint, mounted: false, filled: false })
    }

    /// The second disk's mount point, once the disk is filled.
    pub fn place(&self) -> Option<&Path> {
        self.filled.then_some(&*self.mountpoint)
    }

    /// Makes a filesystem on the second disk and fills it.
    pub fn fill(&mut self, filling: &Filling<'_>) -> Result<(), StepError> {
        self.filled = false;
        self.unmount()?;
        for argv in filling.make {
            self.tool(argv, filling)?;
        }
        self.mount(filling, None)?;
        self.work(filling)?;
        self.unmount()?;
        self.device.forget_cached().map_err(|e| StepError::io("drop the page cache of", WHAT, e))?;
        self.mount(filling, Some(READ_ONLY))?;
        self.filled = true;
        Ok(())
    }

    fn tool(&self, argv: &Argv, filling: &Filling<'_>) -> Result<(), StepError> {
        let device = self.device.path().display().to_string();
        let argv: Argv = argv.iter().map(|word| word.replace(DEVICE, &device)).collect();
        let ran = tools::run(&argv, filling.limit, filling.sandbox, false)?;
        match ran.status {
            0 => Ok(()),
            status => {
                let (command, said) = (argv.join(" "), ran.said);
                let text = format!("exit code {status} of '{command}': {said}");
                Err(StepError::new("format", WHAT, text))
            }
        }
    }

    fn mount(&mut self, filling: &Filling<'_>, more: Option<&str>) -> Result<(), StepError> {
        let mount = filling.mount;
        let mut options: Vec<String> =
            mount.options().iter().cloned().chain(more.map(str::to_owned)).collect();
        if filling.sandbox.is_some() {
            options = harmless::options(self.device.path(), mount.fstype(), &options)?;
        }
        let log = Log::from_now().ok();
        mounting::mount(self.device.path(), &self.mountpoint, mount.fstype(), &options, log.as_ref())?;
        self.mounted = true;
        Ok(())
    }

    fn unmount(&mut self) -> Result<(), StepError> {
        if std::mem::take(&mut self.mounted) {
            mounting::unmount(&self.mountpoint)?;
        }
        Ok(())
    }

    /// Runs the work's own part, as the user who will read the files.
    fn work(&self, filling: &Filling<'_>) -> Result<(), StepError> {
        let fault = |e: io::Error| StepError::io("fill", WHAT, e);
        let place = self.open(filling.worker).map_err(fault)?;
        let work = WorkJob { portion: Portion::part(SOURCE), clients: 1, ..filling.work.clone() };
        let gate = SharedGate::new().map_err(fault)?;
        let mut worker = Worker::start(Start {
            place: place.as_fd(),
            work: &work,
            seed: work.seed,
            gate: &gate,
            memory_group: None,
            process_group: None,
            identity: filling.worker,
            root: filling.sandbox.map(|sandbox| sandbox.root().to_owned()),
            says_over: false,
            source: None,
        })?;
        let begin = Instant::now();
        let done = gate.open().map_err(fault).and_then(|()| match worker.told(&mut || ())? {
            WorkerReport::Done { .. } => Ok(()),
            WorkerReport::Failed { operation, path, errno, text, blame } => {
                Err(StepError { operation, path: format!("{WHAT}: {path}"), errno, text, blame })
            }
        });
        if done.is_err() {
            worker.kill();
        }
        done.and(worker.ends(begin, filling.limit).map(drop))
    }

    fn open(&self, owner: Option<Identity>) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let place = rustix::fs::open(&self.mountpoint, flags, Mode::empty())?;
        if let Some(Identity { uid, gid }) = owner {
            rustix::fs::fchown(&place, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
        }
        Ok(place)
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let _ = self.unmount();
    }
}
