//! The validation table as Markdown.

use std::fmt::Write;

use super::coverage::{Coverage, Covered};
use super::{Compared, Kind, Role, compare};
use crate::{Access, Class, DRIVES_NEEDED, SHIPPED};

const HEAD: &str = "# The modelled disks against real ones

This page is the output of `fsderby disk validate`. The table compares published figures of real drives with the model's figures. *Input*: a
value in the drive's disk file was taken from this figure. *Fitted*: a value in the disk file was adjusted so that the model gives this figure.
Input and fitted figures say nothing about the model's accuracy. **Evidence** is a measured figure that was not used for the disk file. The jobs
call the model directly, without a kernel. The published figures include a kernel, which takes some microseconds per request.

The disk files of held-out drives (*) were written before any comparison, and none of their values has changed since. The comparison is not
blind, because the author of these files knew the published figures. Fitted values were already fitted in the first version of these files.
`crates/diskmodel/src/validation/measured.toml` has the sources. The last ten drives are SCSI disks of the nineties, used for validation only.
The figures of these SCSI disks are means over the traces with which DiskSim was validated. No data sheet of the SCSI disks was available, so
their three seek times come from the measured seek curve. The errors on the SCSI disks therefore show the effect of the seek curve's shape, the
controller and the rotation, but not of a data sheet that promises too much.

| drive | job | published | | model | model ÷ published |
|---|---|---|---|---|---|
";

const MISSES: &str = "
## What the errors say

- **The BarraCuda's seeks** take a third longer than its data sheet promises. These seeks were measured on a nearly full disk, through another
  operating system's filesystem. A deep queue makes the BarraCuda 1.7 times as fast. The model gains more from a deep queue, because the model
  always takes the nearest request. For the same reason flushes are too fast in the model: the BarraCuda's firmware writes nearly in the order of
  arrival. A disk file that fits the BarraCuda would need slower seeks and no reordering; the shipped disk file follows the data sheet.
- **Steady random writes** depend on the spare flash: garbage collection copies in inverse proportion to it. All flash disk files here have 9 %
  of spare flash; no drive's value is published. The job begins in steady state (`preconditioned`), on a sixteenth of the disk with blocks of a
  sixteenth of the size.
- **A reader beside a writer that flushes** (850 EVO) completes one read between two flushes in the model, and two on the real drive. In a guest,
  with a kernel, the reader completes as many reads as in the model ([validation-guest.md](validation-guest.md)). Without the writer, the reader
  completes 11,000 reads a second. The writer slows the reader by its SATA flushes, which make all other requests wait. No value was fitted to
  this figure.
- **Sequential writes to the Micron**: on the real drive, the flash dies are not the limit, because they could program more than the data sheet
  promises. What limits sequential writes to the real drive is probably electrical power, which the model does not have.
";

const HELD: &str = "
## Whether the samples of a run cover the real drives

A run varies the unknown properties of a disk. A run has thirteen samples of the disk. Twelve of them set every varied property to one of its
two extremes. A measured figure is *held* if it lies between the smallest and the largest value of the model in these samples, or within 3 % of
that range (the margin of a verdict). Three sets of extremes are compared. *Estimated* extremes were set before any comparison with measurements.
*Left out* extremes are fitted to all drives except the judged drive. *Run* extremes are fitted to all drives, and runs use them. Only the *left
out* extremes predict how well a new drive is covered. A class of drives, or a kind of access, with fewer than three drives is *untested*: a new
value lies in the range of n values with a probability of (n − 1)/(n + 1), which for two drives is only 1/3.

Samples with wider extremes hold more measured figures, but detect fewer differences between filesystems. *Width* is a figure's largest value in
the samples divided by its smallest, as a geometric mean over all figures. *Least ratio* is the smallest detectable ratio of two filesystems if
one of them spends a quarter more of its time on this access. The least ratio is the margin times the fourth root of the ratio by which the
samples move a figure from its value on the nominal disk. The columns *width* and *least ratio* have three values each: for *estimated*, *left
out* and *run* extremes.

| class | access | drives | figures | worst miss | held, estimated | held, left out | held, run | width | least ratio |
|---|---|---|---|---|---|---|---|---|---|
";

const BY_DRIVE: &str = "
The next table shows the extremes that each drive requires. *Seek times*: the factor on the seek times at which the model's single reads take the
measured time. *Oldest*: the number of oldest requests among which the firmware may choose, so that queued requests are not faster than measured.
*Further in*: how much further in the tracks must lie, so that sequential streams are not faster than measured.

| drive | figures | held, estimated | left out | run | seek times | oldest | further in |
|---|---|---|---|---|---|---|---|
";

const RANGES: &str = "
The samples at extremes follow a screening design: a table with one row per sample, in which each column varies one factor, or some factors together.
The table has eleven columns, and all are used. So two ranges of hard disks were widened, and a third factor was added to an existing column:

- **The seek time** varies from 0.85 to 1.65 times the disk file's value (before: 0.85 to 1.15). Shingled disks and arrays have the same arms as
  hard disks, and therefore the same range of seek times.
- **The firmware's request order** shares a column with the time that a request waits for nearer ones. At one extreme the wait is ×1/4, and the
  firmware chooses the next request among the seven oldest. At the other extreme the wait is ×4, and the firmware chooses among all requests.
  Varying only the wait covered the measured queued reads, but not the measured writes. In arrays, the column for the entries of the controller's
  cache also varies the member disks' request order.
- **The partition's position** varies from 100 ‰ of the disk further out to 300 ‰ further in (before: 100 ‰ either way). Tracks further in are
  slower; so this range also covers a data sheet that overstates the transfer rate.

The disk files of two hard disks come from a data sheet only. Extremes fitted without the judged drive hold all figures of one of these disks,
but only three of seven figures of the BarraCuda: no other measured drive differs so much from its disk file. Extremes fitted to all drives hold
the figures of both disks, at the width shown above.

The extremes of SSDs already held all measured figures and were not changed. Classes without a measured drive kept their extremes, except for
factors that they share with hard disks. For classes without a measured drive, a verdict holds on the model only.

## How a verdict uses the worst errors

The time ratio of two filesystems is compared with the *worst miss* on the nominal disk: the model's largest error in the kinds of access in
which the two filesystems differ ([the error of the model](../method/modelled-disks.md#the-error-of-the-model)). If the model's errors could
explain the time ratio, the verdict calls neither filesystem faster. If an access was not measured in a class of drives, the verdict uses the
worst error of the same access on the same kind of disk (platters or flash); else the worst error of all accesses on this kind of disk; else the
worst error on all disks.
";

/// The whole of `docs/measurements/validation.md`.
pub fn markdown() -> String {
    of(&compare(), &Coverage::of_all())
}

pub(super) fn of(compared: &[Compared], held: &Coverage) -> String {
    let mut text = HEAD.to_owned();
    compared.iter().for_each(|c| row(&mut text, c));
    text.push('\n');
    let evidence: Vec<&Compared> = compared.iter().filter(|c| c.is_evidence()).collect();
    let held_out: Vec<&Compared> = evidence.iter().copied().filter(|c| c.is_held_out).collect();
    sum(&mut text, "Evidence", &evidence);
    sum(&mut text, "Of these, on held-out drives", &held_out);
    let is_shipped = |c: &&Compared| SHIPPED.iter().any(|(name, _)| *name == c.cell.disk);
    let shipped: Vec<&Compared> = evidence.iter().copied().filter(is_shipped).collect();
    sum(&mut text, "Of these, on shipped drives", &shipped);
    text.push_str(MISSES);
    coverage(&mut text, held);
    text
}

/// Appends whether the samples of a run cover the drives.
fn coverage(text: &mut String, coverage: &Coverage) {
    text.push_str(HELD);
    let by_class = coverage.by_class();
    for class in Class::ALL.into_iter().filter(|class| *class != Class::Zero) {
        let accesses = [None].into_iter().chain(Access::ALL.map(Some));
        let rows: Vec<_> =
            accesses.filter_map(|access| Some((access, by_class.get(&(class, access))?))).collect();
        for (access, covered) in &rows {
            covered_row(text, class, *access, covered);
        }
        if rows.is_empty() {
            let class = class.title();
            let _ = writeln!(text, "| {class} | | 0 | 0 | – | on the model only | | | | |");
        }
    }
    text.push_str(BY_DRIVE);
    for covered in coverage.by_drive() {
        let drive = &covered.drives[0];
        let [held_estimated, held_left_out, held_run] = covered.by.map(|held| held.cells);
        let fit = coverage.fits.by_drive.get(drive).copied();
        let asked = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
        let figures = covered.cells;
        let seek_times = asked(fit.and_then(|fit| fit.seeks).map(|n| format!("{:.2}", n as f64 / 20.0)));
        let oldest_requests = asked(fit.and_then(|fit| fit.oldest).map(|n| n.to_string()));
        let further_in = asked(fit.and_then(|fit| fit.further_in).map(|permille| format!("{permille} ‰")));
        let _ = writeln!(
            text,
            "| {drive} | {figures} | {held_estimated} | {held_left_out} | {held_run} | {seek_times} | {oldest_requests} | {further_in} |"
        );
    }
    text.push_str(RANGES);
}

fn covered_row(text: &mut String, class: Class, access: Option<Access>, covered: &Covered) {
    let is_tested = covered.drives.len() >= DRIVES_NEEDED as usize;
    let [estimated, left_out, run] = covered.by.map(|held| match is_tested {
        true => format!("{} of {}", held.cells, covered.cells),
        false => "untested".to_owned(),
    });
    let three = |of: &dyn Fn(usize) -> f64| [0, 1, 2].map(|by| format!("{:.2}", of(by))).join(", ");
    let access = access.map_or("all", Access::title);
    let (class, drives, figures, worst) = (class.title(), covered.drives.len(), covered.cells, covered.worst);
    let (width, least) = (three(&|by| covered.width(by)), three(&|by| covered.least_found(by)));
    let _ = writeln!(
        text,
        "| {class} | {access} | {drives} | {figures} | {worst:.2} | {estimated} | {left_out} | {run} | {width} | {least} |"
    );
}

fn row(text: &mut String, compared: &Compared) {
    let Compared { cell, job, is_held_out, ours } = compared;
    let (published, what) = heading(compared);
    let mark = if *is_held_out { " *" } else { "" };
    let (ours, ratio) = (figure(*ours), compared.ratio());
    let (drive, title, unit) = (&cell.disk, job.title, job.unit.name());
    let _ = writeln!(
        text,
        "| {drive}{mark} | {title} | {published} {unit} | {what} | {ours} {unit} | {ratio:.2} |"
    );
}

/// The published figure, and its relation to the disk file.
pub(super) fn heading(compared: &Compared) -> (String, &'static str) {
    let Compared { cell, .. } = compared;
    let published: Vec<String> = cell.is.iter().map(|is| figure(*is)).collect();
    let what = match (cell.kind, cell.role) {
        (_, Role::Input) => "input",
        (_, Role::Fitted) => "fitted",
        (Kind::DataSheet, Role::Check) => "data sheet",
        (Kind::Measured, Role::Check) => "**evidence**",
    };
    (published.join(" to "), what)
}

/// Three digits, or all of an integer.
pub(super) fn figure(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// Appends the geometric mean and the maximum of the errors in either direction.
pub(super) fn sum(text: &mut String, title: &str, compared: &[&Compared]) {
    let off = |c: &Compared| c.ratio().ln().abs();
    let Some(worst) = compared.iter().max_by(|a, b| off(a).total_cmp(&off(b))) else { return };
    let mean = (compared.iter().map(|c| off(c)).sum::<f64>() / compared.len() as f64).exp();
    let near = compared.iter().filter(|c| off(c) <= 1.25_f64.ln()).count();
    let (figures, largest) = (compared.len(), off(worst).exp());
    let (drive, job) = (&worst.cell.disk, worst.job.title);
    let _ = writeln!(
        text,
        "{title}: {figures} figures, {near} of them within 25 % of the published ones; the geometric mean of the differences is a factor \
         of {mean:.2}, the largest is {largest:.2} ({drive}, {job})."
    );
}
