//! The validation table as Markdown.

use std::fmt::Write;

use super::coverage::{Coverage, Covered};
use super::{Compared, Kind, Role, compare};
use crate::{Access, Class, DRIVES_NEEDED, SHIPPED};

const HEAD: &str = "# The modelled disks against real ones

Printed by `fsderby disk validate`. The table compares published figures of real drives with the model's. *Input*: the drive's file was written
from this figure. *Fitted*: a value of the file was adjusted to it. Neither says anything about the model. **Evidence** is a measured figure
that was not used for the file. The jobs call the model directly, without a kernel. The published figures include a kernel, which takes some
microseconds per request.

The files of held-out drives (*) were written before any comparison, and none of their values has changed since. Their author knew the
figures, so the comparison is not blind; their fitted values were fitted from the beginning. `crates/diskmodel/src/validation/measured.toml`
has the sources. The last ten drives are SCSI disks of the nineties, used for validation only. Their figures are means over the traces with
which DiskSim was validated. No data sheet of theirs was available, so their three seek times come from the measured seek curve. Their errors
therefore show the effect of the curve's shape, the controller and the rotation, but not of a data sheet that promises too much.

| drive | job | published | | ours | ours ÷ published |
|---|---|---|---|---|---|
";

const MISSES: &str = "
## What the errors say

- **The BarraCuda's seeks** take a third longer than its data sheet promises. They were measured on a nearly full disk, through another
  system's filesystem. A deep queue makes the drive 1.7 times as fast. It speeds up the model more, because the model always takes the nearest
  request. For the same reason flushes are too fast in the model: the drive's firmware writes in nearly the order of arrival. A file that fits
  this drive would need slower seeks and no reordering; the shipped file follows the data sheet.
- **Steady random writes** depend on the spare flash: copying is proportional to one over it. All these files have 9 %; no drive's value is
  published. The job begins in steady state (`preconditioned`), on a sixteenth of the disk with blocks of a sixteenth.
- **A reader beside a writer that flushes** gets one read between two flushes in the model and two on the drive. In a guest, with a kernel, it
  gets as many as in the model ([validation-guest.md](validation-guest.md)). Alone, the reader makes 11,000 reads a second. The difference comes
  from the SATA flush, which makes all other requests wait. Nothing was fitted to it.
- **Sequential writes to the Micron** are not limited by its dies: they could program more than its data sheet promises. The limit is
  probably power.
";

const HELD: &str = "
## Whether the samples of a run hold the drives

A run varies the unknown properties of a disk. It has thirteen samples, and in twelve of them each factor is at one of its extremes. A figure
is *held* if it lies between the smallest and the largest value of the model in these samples, or within 3 % of that range (the margin of a
finding). Three sets of extremes are judged. *Estimated* ones were set before any comparison. *Left out* ones are fitted to all drives except
the judged one. *Run* ones are fitted to all drives, and runs use them. Only *left out* predicts the result for a new drive. A class of drives,
or a kind of access, with fewer than three drives is *untested*: a new value lies in the range of n values with a probability of
(n − 1)/(n + 1), which for two values is only 1/3.

Wider samples hold more figures and find fewer differences. *Width* is the ratio of a figure's largest to its smallest value in the samples,
as geometric mean. *Least ratio* is the smallest detectable ratio of two filesystems if one of them spends a quarter more of its time on this
access: the margin, times the fourth root of the ratio by which the samples move a figure from the nominal disk's. Both columns list
*estimated, left out, run*.

| class | access | drives | figures | worst miss | held, estimated | held, left out | held, run | width | least ratio |
|---|---|---|---|---|---|---|---|---|---|
";

const BY_DRIVE: &str = "
The extremes that each drive requires. *Seek times*: the factor at which the model's single reads take the measured time. *Oldest*: the number
of oldest requests among which the firmware may choose, so that queued requests are not faster than measured. *Further in*: how much further
in the tracks must lie, so that streams are not faster than measured.

| drive | figures | held, estimated | left out | run | seek times | oldest | further in |
|---|---|---|---|---|---|---|---|
";

const RANGES: &str = "
All eleven columns of the design are used. So two extremes of hard disks were widened, and a third factor was added to an existing column:

- **The seek time** varies from 0.85 to 1.65 times the file's value, before from 0.85 to 1.15. Shingled disks and arrays have the same arms and
  the same range.
- **The firmware's order** shares the column of the time that a request waits for nearer ones. At one extreme the wait is ×1/4 and the next
  request is one of the seven oldest. At the other the wait is ×4 and all requests are candidates. The wait alone held queued reads, but not
  writes. In arrays the column of the controller's entries also varies the members' order.
- **The partition's position** varies from 100 ‰ further out to 300 ‰ further in, before by 100 ‰ either way. Tracks further in are slower;
  this covers a rate that is overstated by as much.

Two hard disks have a file from a data sheet only. Extremes fitted without the judged drive hold all figures of one of them, and three of seven
figures of the BarraCuda: no other measured drive is so far from its file. Extremes fitted to all drives hold both, at the width above.

The extremes of SSDs already held all measured figures and were not changed. Classes without a measured drive kept theirs, except for factors
that they share with hard disks. On such classes a verdict holds on the model only.

## How a verdict uses the worst errors

Each ratio of times is compared with the *worst miss* on the nominal disk: the largest error of the accesses in which the two filesystems
differ ([the error of the model](../method/modelled-disks.md#the-error-of-the-model)). If the model's errors could explain a ratio, no order
is called. If an access was not measured in a class, the worst error of the same access on the same kind of disk (platters, flash) is used;
else that of all accesses on this kind; else that of all disks.
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
            let _ = writeln!(text, "| {} | | 0 | 0 | – | on the model only | | | | |", class.title());
        }
    }
    text.push_str(BY_DRIVE);
    for covered in coverage.by_drive() {
        let drive = &covered.drives[0];
        let [estimated, without, run] = covered.by.map(|held| held.cells);
        let fit = coverage.fits.by_drive.get(drive).copied();
        let asked = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
        let _ = writeln!(
            text,
            "| {drive} | {} | {estimated} | {without} | {run} | {} | {} | {} |",
            covered.cells,
            asked(fit.and_then(|fit| fit.seeks).map(|n| format!("{:.2}", n as f64 / 20.0))),
            asked(fit.and_then(|fit| fit.oldest).map(|n| n.to_string())),
            asked(fit.and_then(|fit| fit.further_in).map(|permille| format!("{permille} ‰"))),
        );
    }
    text.push_str(RANGES);
}

fn covered_row(text: &mut String, class: Class, access: Option<Access>, covered: &Covered) {
    let is_tested = covered.drives.len() >= DRIVES_NEEDED as usize;
    let held = covered.by.map(|held| match is_tested {
        true => format!("{} of {}", held.cells, covered.cells),
        false => "untested".to_owned(),
    });
    let three = |of: &dyn Fn(usize) -> f64| [0, 1, 2].map(|by| format!("{:.2}", of(by))).join(", ");
    let access = access.map_or("all", Access::title);
    let _ = writeln!(
        text,
        "| {} | {access} | {} | {} | {:.2} | {} | {} | {} | {} | {} |",
        class.title(),
        covered.drives.len(),
        covered.cells,
        covered.worst,
        held[0],
        held[1],
        held[2],
        three(&|by| covered.width(by)),
        three(&|by| covered.least_found(by))
    );
}

fn row(text: &mut String, compared: &Compared) {
    let Compared { cell, job, is_held_out, ours } = compared;
    let (published, what) = heading(compared);
    let mark = if *is_held_out { " *" } else { "" };
    let (ours, ratio) = (figure(*ours), compared.ratio());
    let (title, unit) = (job.title, job.unit.name());
    let _ = writeln!(
        text,
        "| {}{mark} | {title} | {published} {unit} | {what} | {ours} {unit} | {ratio:.2} |",
        cell.disk
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
    let _ = writeln!(
        text,
        "{title}: {} cells, {near} of them within 25 %; off by a factor of {mean:.2} in the geometric mean, and by {:.2} at worst ({}, {}).",
        compared.len(),
        off(worst).exp(),
        worst.cell.disk,
        worst.job.title
    );
}
