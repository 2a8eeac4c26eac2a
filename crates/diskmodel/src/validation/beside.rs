//! The same jobs in a guest, compared with the model alone and with published figures.

use std::fmt::Write;

use super::asks::Taken;
use super::jobs::{JOBS, Job};
use super::table::{figure, heading, sum};
use super::{Cell, Compared, published};
use crate::{SHIPPED, Spec};

/// Head of the document, with the meaning of the columns.
const HEAD: &str = "# The modelled disks in a guest against real ones

A guest with one CPU runs the jobs of [validation.md](validation.md) in virtual time. Each job accesses the guest's block device by io_uring with
direct I/O, without a filesystem. The table compares the guest's figures with those of the model alone in the same job, and with published
figures. Jobs that finish quickly on flash are shortened here and use 256 MiB, so the model's figures differ slightly from those in validation.md.
*Guest ÷ alone* is the figure in the guest divided by that of the model without a guest. It shows the overhead of the guest's kernel and of the
disk server, which runs the disk model. Drives marked with * are held out: their disk files were written before any comparison.
";

/// Explanation of the errors in the table of all drives.
pub const MISSES: &str = "
## What the errors say

- **On slow disks the guest adds nothing.** On hard disks and the cloud volume every figure of the guest is within 3 % of the model alone. Errors
  on slow disks come from the model; [validation.md](validation.md) explains them.
- **A request takes 20,000 to 26,000 instructions of the guest's CPU**, for the kernel and the disk server. This overhead is 5 to 6 µs at 4000
  million instructions a second (on the machine `server-2024`, with the NVMe drives and the PM883), and 10 µs at 2400 million (on `server-2012`,
  with the other SATA drives). A write with its flush has this overhead twice, which adds 20 to 50 % if write and flush take 10 to 70 µs. The
  published figures also include some µs of a kernel. So the guest's figure is nearer to the published one than the model's for the PM9A3 (14.3
  µs published, 10.6 µs by the model alone, 16.2 µs in the guest), but further away for the PM883.
- **Many requests at a time** are limited by the guest's one CPU: to about 200,000 requests of 4 KiB or 4 GB a second at 4000 million
  instructions a second, and to 80,000 requests at 2400 million. The guest does not reach the rates of faster drives; real machines have more
  CPUs. So on an NVMe drive with deep queues, the guest measures its CPU and not the drive. Comparisons of filesystems allow for this overhead by
  the [floor](../method/modelled-disks.md#the-floor-disk-model-overhead).
- **A reader beside a writer that flushes**, on the 850 EVO: the error comes from the model and not from the missing kernel, because a guest,
  which has a kernel, completes as many reads.
";

/// A job for a drive, with its published figure.
pub struct Planned {
    pub drive: String,
    pub job: &'static Job,
    cell: Option<Cell>,
    is_held_out: bool,
}

/// The result of a planned job.
pub struct Beside {
    planned: Planned,
    /// Results of the model alone and in the guest.
    alone: f64,
    guest: f64,
}

/// Every shipped drive with published figures.
pub fn drives() -> Vec<String> {
    let mut drives: Vec<String> = published().cell.into_iter().map(|cell| cell.disk).collect();
    drives.retain(|drive| SHIPPED.iter().any(|(name, _)| name == drive));
    drives.dedup();
    drives
}

/// Jobs that do not run in a guest: each turn of garbage collection takes so many writes that some disks would need hours.
const TOO_LONG: &str = "write-steady";

/// All jobs for a drive of this kind: the usual jobs, and jobs with published figures.
pub fn planned(spec: &Spec) -> Vec<Planned> {
    let published = published();
    let is_held_out = published.held_out.iter().any(|drive| drive == spec.name());
    let mut cells: Vec<Cell> = published.cell.into_iter().filter(|cell| cell.disk == spec.name()).collect();
    let planned = JOBS.iter().filter(|job| job.name != TOO_LONG).filter_map(|job| {
        let at = cells.iter().position(|cell| cell.job == job.name);
        let cell = at.map(|at| cells.remove(at));
        let drive = spec.name().to_owned();
        (cell.is_some() || is_usual(job.name, spec)).then_some(Planned { drive, job, cell, is_held_out })
    });
    planned.collect()
}

fn is_usual(job: &str, spec: &Spec) -> bool {
    match job {
        "read-1" | "read-32" | "stream-read" | "stream-write" | "write-32" | "sync" | "read-beside-sync" => {
            true
        }
        "flush-8" | "flush-64" => spec.is_rotational() && spec.needs_flushes(),
        _ => false,
    }
}

impl Planned {
    /// The published figure of this job, and the figure of the model alone, which serves all requests of the job.
    pub(super) fn compared(&self, spec: &Spec) -> (f64, Option<Compared>) {
        let (job, is_held_out) = (self.job, self.is_held_out);
        let ours = job.value(spec);
        (ours, self.cell.clone().map(|cell| Compared { cell, job, is_held_out, ours }))
    }

    /// Adds the guest's result and computes that of the model alone.
    pub fn beside(self, spec: &Spec, guest: Taken) -> Beside {
        let value = |taken| self.job.unit.value(taken);
        let alone = self.job.in_guest(spec).alone(spec);
        Beside { alone: value(alone), guest: value(guest), planned: self }
    }
}

impl Beside {
    fn compared(&self) -> Option<Compared> {
        let Planned { job, cell, is_held_out, .. } = &self.planned;
        let (job, is_held_out) = (*job, *is_held_out);
        cell.clone().map(|cell| Compared { cell, job, is_held_out, ours: self.guest })
    }

    /// Time in the guest ÷ time of the model alone, whether the figure is a time or a rate.
    pub fn slower(&self) -> f64 {
        if self.planned.job.unit.is_time() { self.guest / self.alone } else { self.alone / self.guest }
    }
}

/// The whole table; `made` tells how it was measured and goes above it.
pub fn markdown(made: &str, all: &[Beside]) -> String {
    let mut text = format!(
        "{HEAD}\n{made}\n\n\
         | drive | job | published | | model alone | in a guest | guest ÷ published | guest ÷ alone |\n|---|---|---|---|---|---|---|---|\n"
    );
    all.iter().for_each(|beside| row(&mut text, beside));
    text.push('\n');
    let compared: Vec<Compared> = all.iter().filter_map(Beside::compared).collect();
    let evidence: Vec<&Compared> = compared.iter().filter(|c| c.is_evidence()).collect();
    let held_out: Vec<&Compared> = evidence.iter().copied().filter(|c| c.is_held_out).collect();
    sum(&mut text, "Evidence, in a guest", &evidence);
    sum(&mut text, "Of these, on held-out drives", &held_out);
    against_alone(&mut text, all);
    text
}

fn row(text: &mut String, beside: &Beside) {
    let Beside { planned: Planned { drive, job, is_held_out, .. }, alone, guest } = beside;
    let (title, unit) = (job.title, job.unit.name());
    let (published, what, ratio) = match beside.compared() {
        Some(compared) => {
            let (published, what) = heading(&compared);
            (format!("{published} {unit}"), what, format!("{:.2}", compared.ratio()))
        }
        None => ("–".to_owned(), "", "–".to_owned()),
    };
    let mark = if *is_held_out { " *" } else { "" };
    let (model, in_guest, to_alone) = (figure(*alone), figure(*guest), guest / alone);
    let _ = writeln!(
        text,
        "| {drive}{mark} | {title} | {published} | {what} | {model} {unit} | {in_guest} {unit} | {ratio} | {to_alone:.2} |"
    );
}

fn against_alone(text: &mut String, all: &[Beside]) {
    let off = |beside: &&Beside| beside.slower().ln().abs();
    let Some(worst) = all.iter().max_by(|a, b| off(a).total_cmp(&off(b))) else { return };
    let near = all.iter().filter(|beside| off(beside) <= 1.1_f64.ln()).count();
    let (figures, slower) = (all.len(), worst.slower());
    let (drive, job) = (&worst.planned.drive, worst.planned.job.title);
    let _ = writeln!(
        text,
        "Guest against model alone: {figures} figures, {near} of them within 10 %; in the figure that differs most, the guest takes \
         {slower:.2} times as long ({drive}, {job})."
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::table::figure;

    const TABLE: &str = include_str!("../../../../docs/measurements/validation-guest.md");

    fn shipped(name: &str) -> Spec {
        let (_, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name).unwrap();
        Spec::parse(text).unwrap()
    }

    /// The guest's figures were measured once; everything else in the table is recomputed here.
    #[test]
    fn the_table_of_the_guests_has_every_job_with_what_the_model_gives_today() {
        let rows: Vec<&str> = TABLE.lines().skip_while(|line| !line.starts_with("|---")).skip(1).collect();
        let mut rows = rows.into_iter().take_while(|line| line.starts_with("| "));
        for name in drives().iter().map(String::as_str).chain(["cloud-volume"]) {
            let spec = shipped(name);
            for planned in planned(&spec) {
                let title = planned.job.title;
                let shown = rows.next().unwrap_or_else(|| panic!("{name}, {title} is not in the table"));
                let beside = planned.beside(&spec, Taken { done: 1, ns: 1 });
                let mut today = String::new();
                row(&mut today, &beside);
                let until = format!("{} {} | ", figure(beside.alone), beside.planned.job.unit.name());
                let end = today.find(&until).unwrap() + until.len();
                assert!(shown.starts_with(&today[..end]), "is shown: {shown}\nis today: {today}");
            }
        }
        assert_eq!(rows.next(), None, "a row of a job that is none any more");
        assert!(TABLE.ends_with(MISSES));
    }

    #[test]
    fn a_drive_is_put_to_what_suits_it() {
        let names = |disk: &str| -> Vec<&str> {
            planned(&shipped(disk)).iter().map(|planned| planned.job.name).collect()
        };
        let hard = names("hdd-16tb");
        assert!(hard.contains(&"flush-64") && !hard.contains(&"read-256"));
        let flash = names("samsung-pm9a3-1920");
        assert!(flash.contains(&"read-256") && !flash.contains(&"flush-8") && !flash.contains(&TOO_LONG));
        assert!(names("cloud-volume").contains(&"write-32"));
    }
}
