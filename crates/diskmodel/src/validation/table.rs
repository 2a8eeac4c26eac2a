//! The table as Markdown.

use std::fmt::Write;

use super::{Compared, Kind, Role, compare};

const HEAD: &str = "# The modelled disks against real ones

Printed by `fsderby disk validate`. Each figure that was published of a drive whose file ships stands beside the model's. *Input*
is what the file was written from, *fitted* what one of its values was adjusted to; neither says anything about the model. Only
what somebody measured and nothing was taken from counts: **evidence**. The jobs go straight to the model: there is no kernel in
ours, and there was one in theirs, which is some microseconds a request.

The files of the drives that are held out (*) were written before any of them was compared, and no value in them has changed since.
Whoever wrote them knew the figures, so they are not blind, and what is fitted in them is so from the beginning. Sources stand in `crates/diskmodel/src/validation/measured.toml`.

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

/// All of `docs/validation.md`.
pub fn markdown() -> String {
    let compared = compare();
    let mut text = HEAD.to_owned();
    compared.iter().for_each(|c| row(&mut text, c));
    text.push('\n');
    let evidence: Vec<&Compared> = compared.iter().filter(|c| c.is_evidence()).collect();
    let held_out: Vec<&Compared> = evidence.iter().copied().filter(|c| c.is_held_out).collect();
    sum(&mut text, "Evidence", &evidence);
    sum(&mut text, "Of it on drives that are held out", &held_out);
    text.push_str(MISSES);
    text
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

/// What was published, and what that is to the file.
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

/// Three digits, or all of a whole number.
pub(super) fn figure(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// Geometric mean and worst of how far off they are, either way.
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
