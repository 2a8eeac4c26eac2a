//! `fsderby disk steady`: a flash disk that is overwritten until it is steady, by the model alone or in a guest.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::Args;
use fsderby_diskmodel::Spec;
use fsderby_diskmodel::validation::asks::{Asks, RawWork, Taken};
use fsderby_diskmodel::validation::rule::{self, WINDOW, rates, spread_and_slope, steady_from};
use fsderby_diskmodel::validation::steady;

use crate::cli::output::{print, say};
use crate::cli::report::write_file;
use crate::cli::signals;
use crate::exit::{self, Failure};
use crate::report::formats::svg::rounds;
use crate::runner::execute::raw::{Done, Raw};
use crate::schema::units::{Bytes, MIB};
use crate::testbeds;
use crate::testbeds::model::disks;

const SECTOR: u64 = 512;
/// A larger disk takes a guest hours.
const MOST: Bytes = Bytes(8 << 30);

#[derive(Args)]
pub struct Steady {
    /// A disk of `fsderby list disks`, or a disk file
    disk: String,
    /// Precondition the whole disk in a guest in virtual time, as `--state preconditioned` does with a claimed disk,
    /// and print the rate of each round next to the rate of the model alone. The disk must be small, such as 2 GiB
    #[arg(long)]
    guest: bool,
    /// Draw the rates of the rounds into this file
    #[arg(long, requires = "guest", value_name = "FILE")]
    svg: Option<PathBuf>,
}

pub fn run(options: &Steady) -> anyhow::Result<ExitCode> {
    let disk = &options.disk;
    let text = disks::text(disk).map_err(Failure::usage)?;
    let spec =
        Spec::parse(&text).map_err(|e| Failure::usage(format!("could not parse the disk {disk}: {e}")))?;
    let nothing = "is not a flash disk with a mapping layer, so overwriting does not change the speed\n  try: \
                   samsung-pm9a3-1920";
    let none = || Failure::usage(format!("{disk} {nothing}"));
    if options.guest {
        spec.preconditioned().ok_or_else(none)?;
        in_guest(options, &spec)?;
    } else {
        print(&steady::markdown(&spec).ok_or_else(none)?)?;
    }
    Ok(ExitCode::from(exit::OK))
}

fn in_guest(options: &Steady, spec: &Spec) -> anyhow::Result<()> {
    let (disk, size) = (&options.disk, Bytes(spec.sectors() * SECTOR / MIB * MIB));
    if size > MOST {
        let text = format!(
            "{disk} has {size}, and a guest takes hours to overwrite more than {MOST}\n  try: a disk file with fewer sectors, or \
             without --guest"
        );
        return Err(Failure::usage(text).into());
    }
    let testbed = testbeds::parse(&format!("model:{disk},samples=off")).map_err(Failure::usage)?;
    let stop = signals::stop()?;
    say(&format!("{name} is overwritten in a guest", name = spec.name()));
    let raw = Raw { work: RawWork { fill: false, asks: Asks::UntilSteady }, size };
    let Done { taken, kernel } = raw.carry_out(&*testbed, &|| stop.load(Ordering::Relaxed))?;
    let alone = steady::alone(spec);
    print(&markdown(spec, size, &kernel, &taken, &alone))?;
    if let Some(file) = &options.svg {
        let title = format!("{name}: rounds of preconditioning", name = spec.name());
        let rates = rates(&taken);
        let svg = rounds::of(&title, &rates, steady_from(&rates));
        write_file(file, |to| Ok(to.write_all(svg.as_bytes())?))?;
    }
    Ok(())
}

/// The rounds in a guest beside those of the model alone.
fn markdown(spec: &Spec, size: Bytes, kernel: &str, guest: &[Taken], alone: &[Taken]) -> String {
    let (writes, name) = (rule::round_writes(size.0 / SECTOR), spec.name());
    let mut text = format!(
        "# {name}: preconditioned in a guest, {size}\n\nThe disk is written {passes} times in order. Then each round makes {writes} random \
         writes of 4 KiB, 32 at a time, until five rounds in a row are steady by SNIA's rule, or for {most} rounds. Linux {kernel}.\n\n\
         | round | in the guest | the model alone |\n|---|---|---|\n",
        passes = rule::PASSES,
        most = rule::MOST_ROUNDS,
    );
    let shown = |of: &[f64], at: usize| of.get(at).map_or("".to_owned(), |rate| format!("{rate:.0} /s"));
    let (guest, alone) = (rates(guest), rates(alone));
    for at in 0..guest.len().max(alone.len()) {
        text += &format!("| {} | {} | {} |\n", at + 1, shown(&guest, at), shown(&alone, at));
    }
    for (which, rates) in [("In the guest", &guest), ("On the model alone", &alone)] {
        text += &match steady_from(rates) {
            None => format!("\n{which} the disk is not steady in any five rounds in a row.\n"),
            Some(from) => {
                let (spread, slope) = spread_and_slope(&rates[from..from + WINDOW]);
                format!(
                    "\n{which} the disk is steady from round {first} on: the rates lie within {spread:.0} % of their mean (20 % \
                     allowed), and the line through them changes by {slope:.0} % of it (10 % allowed).\n",
                    first = from + 1,
                    spread = spread * 100.0,
                    slope = slope * 100.0,
                )
            }
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use fsderby_diskmodel::SHIPPED;

    use super::*;

    #[test]
    fn rounds_stand_side_by_side_and_each_is_judged_by_itself() {
        let (_, text) = SHIPPED.iter().find(|(name, _)| *name == "ssd-sata").expect("shipped");
        let spec = Spec::parse(text).expect("a disk");
        let at = |rate: u64| Taken { done: rate, ns: 1_000_000_000 };
        let falling: Vec<Taken> = (1..=6).rev().map(|n| at(n * 100)).collect();
        let level = [at(900), at(100), at(101), at(99), at(100), at(100)];
        let text = markdown(&spec, Bytes(2 << 30), "6.12", &falling, &level[..]);
        assert!(text.contains("65536 random writes") && text.contains("| 1 | 600 /s | 900 /s |"), "{text}");
        assert!(text.contains("In the guest the disk is not steady"), "{text}");
        assert!(text.contains("On the model alone the disk is steady from round 2 on"), "{text}");
        let svg = rounds::of("a <disk>", &rates(&level), Some(1));
        assert!(svg.contains("a &lt;disk&gt;") && svg.contains("Round 6: 100 writes per second."), "{svg}");
    }
}
