//! `device:ID`: a disk of this machine that its user claimed for this.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::{Fidelity, Launched, Missing, Need, StorageRequest, Testbed, TestbedKind, TestbedTraits, local};
use crate::devices::{self, Held, Refusal, Reset, Watch};
use crate::filesystems::KernelNeed;
use crate::host::programs;
use crate::schema::description::Description;
use crate::schema::job::Job;
use crate::schema::reason::Reason;
use crate::schema::setup::{ClockKind, Named, Volume};
use crate::schema::units::Bytes;
use crate::storage::device;
use crate::storage::layers::Layer;
use crate::text::names;

const RESETS: [(&str, Reset); 3] =
    [("zeros", Reset::Zeros), ("leftovers", Reset::Leftovers), ("discarded", Reset::Discarded)];

pub struct DeviceKind;

impl TestbedKind for DeviceKind {
    fn name(&self) -> &'static str {
        "device"
    }

    fn usage(&self) -> &'static str {
        "device:ID[,ID…][,reset=zeros|leftovers|discarded]"
    }

    fn description(&self) -> Description {
        Description {
            what: "A disk or LVM volume of this machine, named by its serial number or UUID. Before the first run, \
                   the command `fsderby device claim` must allow runs to format it. Layers such as RAID combine \
                   several disks. All candidates use the same part of the disk. Before each trial, this part is \
                   overwritten with zeros (the default), discarded, or left as the preceding trial left it. Needs \
                   root.",
            origin: "The kernel's driver of the disk. `fsderby device claim` writes two marks on the disk; a linear \
                     device-mapper target covers the part between them.",
            limits: "A verdict holds only for this disk, for the part that was used, and for the disk's \
                     present wear and temperature. The device mapper adds some CPU time to each request. A \
                     flash disk that was discarded or is nearly empty is faster than a full one.",
        }
    }

    fn makes_filesystem(&self) -> bool {
        true
    }

    fn needs_argument(&self) -> bool {
        true
    }

    fn is_always_guarded(&self) -> bool {
        true
    }

    fn is_on_host(&self, setting: &str) -> bool {
        !setting.contains('=')
    }

    fn with(&self, argument: Option<&str>) -> Result<Box<dyn Testbed>, String> {
        Ok(Box::new(Disk::parse(argument.unwrap_or_default())?))
    }
}

struct Disk {
    /// By which the disks are claimed.
    ids: Vec<String>,
    reset: Reset,
    /// Its node, for messages and the description of the machine; of nothing while it is not there.
    node: PathBuf,
    /// From the first trial to the end of the run, with the length of their windows.
    held: Mutex<Option<(Bytes, Vec<Held>)>>,
}

impl Disk {
    fn parse(text: &str) -> Result<Self, String> {
        let (settings, ids): (Vec<&str>, Vec<&str>) =
            text.split(',').filter(|word| !word.is_empty()).partition(|word| word.contains('='));
        let [id, ..] = ids[..] else {
            return Err(format!("a disk is missing; write {}", DeviceKind.usage()));
        };
        if let Some(node) = ids.iter().find(|id| id.starts_with("/dev/")) {
            return Err(format!(
                "{node} can be another disk after the next boot\n  try: fsderby device list, which shows serial numbers"
            ));
        }
        if let Some(twice) = ids.iter().enumerate().find(|(at, id)| ids[..*at].contains(id)) {
            return Err(format!("the disk {} is named twice", twice.1));
        }
        let mut reset = Reset::Zeros;
        for setting in settings {
            match setting.split_once('=') {
                Some(("reset", how)) => {
                    let found = RESETS.iter().find(|(name, _)| *name == how);
                    reset =
                        found.ok_or_else(|| names::unknown("reset", how, RESETS.map(|(name, _)| name)))?.1;
                }
                _ => return Err(names::unknown("setting", setting, ["reset=zeros"])),
            }
        }
        let claimed = devices::claimed(id).map_or_else(|_| id.to_owned(), |mark| mark.id);
        let node = devices::all()
            .into_iter()
            .find(|disk| [&disk.serial, &disk.wwid].into_iter().flatten().any(|own| *own == claimed));
        let node = node.map_or_else(|| "/dev".into(), |disk| disk.node());
        let ids = ids.into_iter().map(str::to_owned).collect();
        Ok(Disk { ids, reset, node, held: Mutex::new(None) })
    }

    fn hold(&self, length: Bytes) -> Result<(), Refusal> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.as_ref().is_some_and(|(has, _)| *has == length) {
            return Ok(());
        }
        *held = None;
        let all = self.ids.iter().map(|id| Held::hold(id, length)).collect::<Result<_, _>>()?;
        *held = Some((length, all));
        Ok(())
    }

    /// The refusal of the held disk, or, before it is held, of holding it.
    fn refusal(&self, length: Bytes) -> Option<Refusal> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match &*held {
            Some((_, held)) => held.iter().find_map(|held| held.is_still_claimed().err()),
            None => self.ids.iter().find_map(|id| devices::is_ready(id, length).err()),
        }
    }
}

impl Testbed for Disk {
    fn name(&self) -> String {
        let reset = RESETS.iter().find(|(_, reset)| *reset == self.reset && *reset != Reset::Zeros);
        format!(
            "device:{}{}",
            self.ids.join(","),
            reset.map_or(String::new(), |(name, _)| format!(",reset={name}"))
        )
    }

    fn traits(&self) -> TestbedTraits {
        TestbedTraits {
            clock: ClockKind::Host,
            fidelity: Fidelity::Device,
            guest: false,
            limits_memory: true,
            loses_power: false,
        }
    }

    fn ready(&self, need: &Need) -> Result<(), Missing> {
        if need.source {
            return Err(Missing {
                what: "--on device has one disk, but the workload copies from a second disk".into(),
                try_this: "--on loop, or another workload".into(),
            });
        }
        local::isolates()?;
        local::limits_memory(need.memory)?;
        let missing = |why: Refusal| Missing { what: why.what, try_this: why.try_this };
        self.refusal(need.size).map_or(Ok(()), |why| Err(missing(why)))
    }

    fn serves(&self, kernel: &KernelNeed) -> Result<(), Missing> {
        local::kernel_serves(kernel)
    }

    fn tool(&self, program: &str) -> Result<(), Missing> {
        local::has_tool(program)
    }

    fn preconditions(&self) -> Result<(), Missing> {
        match self.reset {
            Reset::Discarded => Err(Missing {
                what: "reset=discarded undoes what preconditioning brings the drive to".into(),
                try_this: "without reset=, or without --state preconditioned".into(),
            }),
            Reset::Zeros | Reset::Leftovers => Ok(()),
        }
    }

    fn disks(&self) -> usize {
        self.ids.len()
    }

    fn builds(&self, layers: &[Box<dyn Layer>], preconditioned: bool) -> Option<Result<(), Missing>> {
        let missing = |what: String, try_this: String| Some(Err(Missing { what, try_this }));
        for layer in layers {
            let (written, kind) = (layer.written(), layer.kind());
            if layer.needs_zeros() && preconditioned {
                let what = format!(
                    "{written} is created without a resync, so its disks must hold zeros, and preconditioned disks hold none"
                );
                return missing(what, "--layer md:raid0, or without --state preconditioned".into());
            }
            if layer.needs_zeros() && self.reset != Reset::Zeros {
                let what = format!("{written} is assembled as clean, which only disks of zeros are");
                return missing(what, "without reset=".into());
            }
            if let Some(tool) = kind.tools().iter().find(|tool| programs::find(tool).is_none()) {
                return missing(
                    format!("{written} needs {tool}"),
                    format!("apt-get install {}", kind.package()),
                );
            }
        }
        Some(Ok(()))
    }

    fn owner(&self) -> String {
        let mark = self.ids.first().and_then(|id| devices::claimed(id).ok());
        mark.map_or_else(String::new, |mark| mark.short().to_owned())
    }

    fn storage(&self, request: &StorageRequest) -> (Named, Volume) {
        // Zeros could be a discard to the drive.
        let reset = if request.preconditioned { Reset::Leftovers } else { self.reset };
        let (id, beside) =
            self.ids.split_first().map_or_else(Default::default, |(id, rest)| (id.clone(), rest.to_vec()));
        let settings = device::Settings { id, beside, reset, preconditioned: request.preconditioned };
        (settings.named(), request.volume())
    }

    fn changed(&self) -> Option<Reason> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, held) = held.as_ref()?;
        let changed = |(id, held): (&String, &Held)| {
            let why = held.is_still_claimed().err()?;
            Some(Reason::OtherDisk { why: devices::without_serial(id, why.what) })
        };
        self.ids.iter().zip(held).find_map(changed)
    }

    fn watched(&self) -> Vec<Watch> {
        self.ids.iter().filter_map(|id| Watch::begin(id)).collect()
    }

    fn folder(&self) -> &Path {
        &self.node
    }

    fn launch(&self, job: &Job) -> anyhow::Result<Box<dyn Launched>> {
        self.hold(job.volume.size)?;
        local::launch(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_named_as_it_is_written_and_never_by_a_letter() {
        for text in ["S1", "S1,S2", "S1,S2,reset=leftovers", "S1,reset=leftovers", "eui.0025,reset=discarded"]
        {
            assert_eq!(Disk::parse(text).unwrap().name(), format!("device:{text}"));
        }
        for (text, says) in [
            ("", "a disk is missing"),
            ("/dev/sdb1", "another disk after the next boot"),
            ("S1,reset=zeroes", "did you mean 'zeros'?"),
            ("S1,size=3", "reset=zeros"),
            ("S1,S2,S1", "S1 is named twice"),
            ("reset=zeros", "a disk is missing"),
        ] {
            assert!(Disk::parse(text).err().unwrap().contains(says), "{text}");
        }
    }
}
