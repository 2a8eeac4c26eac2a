//! `fsderby disk validate`: benchmark jobs on the modelled disks, next to published results of real ones; the models
//! alone, or under a guest's kernel.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::Args;
use fsderby_diskmodel::validation::asks::Taken;
use fsderby_diskmodel::validation::beside::{self, Beside, Planned};
use fsderby_diskmodel::{Spec, validation};

use crate::cli::output::{print, say};
use crate::cli::signals;
use crate::exit::{self, Failure};
use crate::runner::execute::raw::{Done, Raw};
use crate::schema::units::Bytes;
use crate::testbeds::model::disks;
use crate::testbeds::{self, Testbed};
use crate::text::names;

/// Nothing is published about individual drives of this class.
const CLOUD: &str = "cloud-volume";
const SECTOR: u64 = 512;

#[derive(Args)]
pub struct Validate {
    /// Also run each job in a virtual machine with the modelled disk, through the kernel's scheduler and cache, and
    /// print this result next to the result of the model alone
    #[arg(long)]
    guest: bool,
    /// A disk of `fsderby list disks`, or a disk file; default: all disks with published results; with --guest a cloud volume
    /// is added
    #[arg(value_name = "DISK", add = crate::cli::complete::disks())]
    disks: Vec<String>,
    /// Run only this job, by its name in crates/diskmodel/src/validation/measured.toml; repeatable
    #[arg(long = "job", value_name = "JOB")]
    jobs: Vec<String>,
    /// A machine of `fsderby list machines`, or a machine file, instead of the machine that each disk's file names
    #[arg(long, requires = "guest", add = crate::cli::complete::machines())]
    machine: Option<String>,
}

pub fn run(options: &Validate) -> anyhow::Result<ExitCode> {
    if options.guest {
        in_guests(options)?;
    } else if options.disks.is_empty() && options.jobs.is_empty() {
        print(&validation::markdown())?;
    } else {
        let drives = options.drives()?.into_iter().map(|drive| (drive.spec, drive.planned));
        print(&validation::markdown_of(&drives.collect::<Vec<_>>()))?;
    }
    Ok(ExitCode::from(exit::OK))
}

fn in_guests(options: &Validate) -> anyhow::Result<()> {
    let drives: Vec<Drive> = options.drives()?;
    let stop = signals::stop()?;
    let (mut all, mut kernels) = (Vec::new(), BTreeSet::new());
    for drive in drives {
        for planned in drive.planned {
            say(&format!("{}: {}", planned.drive, planned.job.title));
            let guest = planned.job.in_guest(&drive.spec);
            let raw = Raw { work: guest.work, size: Bytes(guest.sectors * SECTOR) };
            let Done { taken, kernel } = raw.carry_out(&*drive.testbed, &|| stop.load(Ordering::Relaxed))?;
            kernels.insert(kernel);
            all.push(planned.beside(&drive.spec, Taken::all(&taken)));
        }
    }
    let kernels: Vec<String> = kernels.into_iter().collect();
    print(&options.text(&kernels.join(", "), &all))
}

/// A drive, its guest, and its jobs.
struct Drive {
    spec: Spec,
    testbed: Box<dyn Testbed>,
    planned: Vec<Planned>,
}

impl Validate {
    fn drives(&self) -> anyhow::Result<Vec<Drive>> {
        let usual = || beside::drives().into_iter().chain([CLOUD.to_owned()]).collect();
        let names: Vec<String> = if self.disks.is_empty() { usual() } else { self.disks.clone() };
        let mut drives: Vec<Drive> =
            names.iter().map(|name| self.drive(name)).collect::<anyhow::Result<_>>()?;
        if self.jobs.is_empty() {
            return Ok(drives);
        }
        let known: BTreeSet<&str> =
            drives.iter().flat_map(|drive| &drive.planned).map(|planned| planned.job.name).collect();
        if let Some(job) = self.jobs.iter().find(|job| !known.contains(job.as_str())) {
            return Err(Failure::usage(names::unknown("job of these disks", job, known)).into());
        }
        for drive in &mut drives {
            drive.planned.retain(|planned| self.jobs.iter().any(|job| job == planned.job.name));
        }
        Ok(drives)
    }

    fn drive(&self, name: &str) -> anyhow::Result<Drive> {
        let text = disks::text(name).map_err(Failure::usage)?;
        let spec = Spec::parse(&text);
        let spec = spec.map_err(|e| Failure::usage(format!("could not parse the disk {name}: {e}")))?;
        let machine = self.machine.as_ref().map(|machine| format!(",machine={machine}")).unwrap_or_default();
        let testbed =
            testbeds::parse(&format!("model:{name}{machine},samples=off")).map_err(Failure::usage)?;
        let planned = beside::planned(&spec);
        Ok(Drive { spec, testbed, planned })
    }

    /// The whole output, with its date.
    fn text(&self, kernels: &str, all: &[Beside]) -> String {
        let machine = match &self.machine {
            None => "the machine that the disk's file names".to_owned(),
            Some(machine) => format!("the machine {machine}"),
        };
        // In another build, agent and disk server execute different numbers of instructions.
        let build = if cfg!(debug_assertions) { "debug" } else { "release" };
        let day = jiff::Timestamp::now().strftime("%Y-%m-%d");
        let made = format!(
            "Printed by `fsderby {command}`, {build} build, Linux {kernels}, {day}. Machine of each disk: {machine}.",
            command = self.written()
        );
        let misses = if self.is_whole() { beside::MISSES } else { "" };
        beside::markdown(&made, all) + misses
    }

    /// Whether the output is the whole table that the documentation prints, because no option restricts it.
    fn is_whole(&self) -> bool {
        self.disks.is_empty() && self.jobs.is_empty() && self.machine.is_none()
    }

    fn written(&self) -> String {
        let mut words = vec!["disk validate --guest".to_owned()];
        words.extend(self.jobs.iter().map(|job| format!("--job {job}")));
        words.extend(self.machine.iter().map(|machine| format!("--machine {machine}")));
        words.extend(self.disks.iter().cloned());
        words.join(" ")
    }
}
