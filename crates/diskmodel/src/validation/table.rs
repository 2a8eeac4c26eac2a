//! The validation table as Markdown.

use std::fmt::Write;

use super::coverage::{Coverage, Covered};
use super::{Compared, Kind, Role, compare};
use crate::{Access, Class, DRIVES_NEEDED, SHIPPED};

const HEAD: &str = "# The modelled disks against real ones

Printed by `fsderby disk validate`. Each figure that was published of a drive whose file ships stands beside the model's. *Input*
is what the file was written from, *fitted* what one of its values was adjusted to; neither says anything about the model. Only
what somebody measured and nothing was taken from counts: **evidence**. The jobs go straight to the model: there is no kernel in
ours, and there was one in theirs, which is some microseconds a request.

The files of the drives that are held out (*) were written before any of them was compared, and no value in them has changed since.
Whoever wrote them knew the figures, so they are not blind, and what is fitted in them is so from the beginning. Sources stand in `crates/diskmodel/src/validation/measured.toml`.
The last ten drives are SCSI disks of the nineties, for validation only. Their figures are means over the traces that DiskSim was validated
with. Their files have the arm's three times from the measured seek curve, as no data sheet was at hand: a miss of theirs holds what the
shape of the curve, the controller and the turning platters do, but not what a data sheet promises too much.

| drive | job | published | | ours | ours ÷ published |
|---|---|---|---|---|---|
";

const MISSES: &str = "
## What the misses say

- **The Barracuda's arm** takes a third longer than its data sheet promises, on a disk that was nearly full and through another
  system's filesystem. From a deep queue it gains 1.7 times; the model, which always takes the nearest, gains more. The same makes
  flushes cheap here: its firmware writes in nearly the order in which it was asked. A file that is to be this disk needs slower
  seeks and no sorting; this one is its data sheet.
- **Steady random writing** hangs on the spare flash, which is 9 % in all these files and published for none of the drives: copying
  goes with one over it. It begins in steady state (`preconditioned`), on a sixteenth of the disk with blocks of a sixteenth.
- **A reader beside a writer that flushes** gets one read between two flushes here and two on the drive, and in a guest, with a kernel
  between them, as many as here ([validation-guest.md](validation-guest.md)). Alone the reader has 11,000 a second; that a flush of SATA
  has everything else wait makes the difference, and nothing was fitted to it.
- **Writing to the Micron in order** is limited by something else than its dies, as its data sheet has less than they could program;
  power, most likely.
";

const HELD: &str = "
## Whether the samples of a run hold the drives

A run varies what is not known of a disk: thirteen samples, in twelve of which each factor stands at one of its extremes. A figure is
*held* where it lies between the least and the most that the model gives in them, or within 3 % of it, which is the margin of a finding.
Three sets of extremes are judged: *estimated*, before a drive was compared; *left out*, fitted to all drives but the one that is judged;
*run*, fitted to all drives, which runs have. Only *left out* says how the next drive would fare. Below three drives a class or an access is
*untested*: the next value lies in the range of n values with a probability of (n − 1)/(n + 1).

Wider samples hold more and find less. *Width* is the most over the least of a figure in the samples, in the geometric mean. *Least ratio*
is what a pair of filesystems must differ by to be found, if one spends a quarter more of its time on this access than the other: the
margin, times the fourth root of how far the samples move a figure from the nominal disk's. Both are given by *estimated, left out, run*.

| class | access | drives | figures | worst miss | held, estimated | held, left out | held, run | width | least ratio |
|---|---|---|---|---|---|---|---|---|---|
";

const BY_DRIVE: &str = "
What each drive asks of the extremes: the multiple of its seek times at which single reads take what was measured; among how many of its
oldest requests its firmware may choose, so that queued requests are no faster than measured; by how much of the disk its tracks must lie
further in, so that streams are no faster.

| drive | figures | held, estimated | left out | run | seek times | oldest | further in |
|---|---|---|---|---|---|---|---|
";

const RANGES: &str = "
The design has eleven columns, and all are taken. So two extremes of hard disks were widened, and a third matter was put into a column that
was there:

- **The seek time** has 0.85 to 1.65 times the file's in place of 0.85 to 1.15, in shingled disks and arrays too, which have the same arms.
- **The order of the firmware** shares the column of how long a request waits for nearer ones: at one end it waits ×1/4 and the next request
  is one of the seven oldest, at the other it waits ×4 and all are candidates. Alone the waiting held queued reads and no writes. In
  arrays it is the members' order, in the column of the controller's entries.
- **The partition's position** has 100 ‰ further out to 300 ‰ further in, in place of 100 ‰ either way: tracks further in are slower by as
  much as a disk's rate may be overstated.

Of the two hard disks whose file is from a data sheet alone the extremes without them hold one, and the BarraCuda in three figures of seven:
no other drive that was measured is as far from its file. With it they hold both, at the width of above.

The extremes of SSDs held all that was measured before, and are as they were; so are those of classes of which nothing was measured, but for
what they share with hard disks. On those a verdict holds on the model only.

## What a verdict makes of the worst misses

Each ratio of times is held against the *worst miss* of the accesses in which its two filesystems differ, on the nominal disk: see [the error
of the model](../method/modelled-disks.md#the-error-of-the-model). If the model's errors could explain a ratio, no order is called. An access that was not
measured in a class has the worst miss of the same access on its kind of disk (platters, flash); then that of all accesses of its kind; and that of
all disks where no disk of its kind was measured.
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
    sum(&mut text, "Of it on drives that are held out", &held_out);
    let is_shipped = |c: &&Compared| SHIPPED.iter().any(|(name, _)| *name == c.cell.disk);
    let shipped: Vec<&Compared> = evidence.iter().copied().filter(is_shipped).collect();
    sum(&mut text, "Of it on drives whose file ships", &shipped);
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
