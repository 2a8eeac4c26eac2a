//! Checks by SNIA's rule whether a preconditioned disk is in steady state when the model overwrites it further.
//!
//! Here a round is a fixed number of random 4 KiB writes, 32 in flight, on the model alone, on a sixteenth of the disk with blocks of a
//! sixteenth.

use std::fmt::Write;

use super::asks::Taken;
use super::native::Host;
use super::rule::{WINDOW, mean, spread_and_slope, steady_from};
use crate::{Op, Spec};

const PART: u64 = 16;
const ROUNDS: usize = 8;
/// 234 MiB: less than the initially erased flash of any shipped disk, on a sixteenth of it.
const ROUND_WRITES: u64 = 60_000;

/// The rounds of a preconditioning of this disk, on the model alone.
pub fn alone(spec: &Spec) -> Vec<Taken> {
    Host::bare(spec).until_steady()
}

/// The result of one round.
#[derive(Clone, Copy, Debug)]
struct Round {
    per_second: f64,
    /// Units programmed per unit written.
    amplification: f64,
}

/// Rounds on a disk as its file describes it, and on a preconditioned one.
struct Both {
    fresh: Vec<Round>,
    preconditioned: Vec<Round>,
}

impl Both {
    /// `None` if the disk cannot be preconditioned.
    fn of(spec: &Spec) -> Option<Self> {
        spec.preconditioned()?;
        let (fresh, steady) = (spec.part(PART), spec.in_steady_state(PART));
        Some(Both { fresh: rounds(&fresh), preconditioned: rounds(&steady) })
    }
}

fn rounds(spec: &Spec) -> Vec<Round> {
    let mut host = Host::bare(spec);
    let mut before = host.counters();
    (0..ROUNDS)
        .map(|_| {
            let took_ns = host.keep(32, ROUND_WRITES, |host, _| host.block(Op::Write));
            let now = host.counters();
            let [programmed, written] =
                [now.units_programmed - before.units_programmed, now.units_written - before.units_written];
            before = now;
            Round {
                per_second: Taken { done: ROUND_WRITES, ns: took_ns }.rate() as f64 / 1000.0,
                amplification: programmed as f64 / written.max(1) as f64,
            }
        })
        .collect()
}

/// A disk's rounds as Markdown; `None` if it cannot be preconditioned.
pub fn markdown(spec: &Spec) -> Option<String> {
    let Both { fresh, preconditioned } = Both::of(spec)?;
    let name = spec.name();
    let mut text = format!(
        "# {name}: as described in its file, and preconditioned\n\nA round makes {ROUND_WRITES} random writes of 4 KiB, 32 at a time, on a sixteenth of \
         the disk with blocks of a sixteenth of the size.\nAmplification is the flash programmed ÷ the data written.\n\n\
         | round | as in its file | amplification | preconditioned | amplification |\n|---|---|---|---|---|\n"
    );
    for (number, (a, b)) in (1..).zip(fresh.iter().zip(&preconditioned)) {
        let (fresh, steady) = (a.per_second, b.per_second);
        let (fresh_amplification, steady_amplification) = (a.amplification, b.amplification);
        let _ = writeln!(
            text,
            "| {number} | {fresh:.0} /s | {fresh_amplification:.2} | {steady:.0} /s | {steady_amplification:.2} |"
        );
    }
    let rates: Vec<f64> = preconditioned.iter().map(|round| round.per_second).collect();
    let _ = match steady_from(&rates) {
        None => writeln!(
            text,
            "\nThe preconditioned disk is not steady by SNIA's rule in any five consecutive rounds."
        ),
        Some(from) => {
            let window = &rates[from..from + WINDOW];
            let (spread, slope) = spread_and_slope(window);
            let (first, spread, slope) = (from + 1, spread * 100.0, slope * 100.0);
            let slower = fresh[0].per_second / mean(window.iter().copied());
            writeln!(
                text,
                "\nThe preconditioned disk is steady by SNIA's rule from round {first} on: its rates lie within {spread:.0} % of their mean \
                 (20 % allowed), and the line through them changes by {slope:.0} % of the mean (10 % allowed). The \
                 preconditioned disk is slower by a factor of {slower:.2} than the same disk as described in its file in the first round."
            )
        }
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SHIPPED;
    use crate::spec::Model;

    fn shipped(name: &str) -> Spec {
        let (_, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name).unwrap();
        Spec::parse(text).unwrap()
    }

    /// With spare flash s relative to the disk's size, greedy garbage collection under random writes amplifies by about
    /// 1 ÷ 2s + ½ (P. Desnoyers, cited in `beginning.rs`): 6.1 at 90 ‰. A program operation takes its die equally long for host
    /// and copy, so the host's rate falls by that factor. It falls further, down to half of that, because dies also sense copied
    /// data, erase and wait for each other; more dies make this worse.
    #[test]
    fn a_preconditioned_disk_is_steady_and_slower_by_what_its_spare_flash_implies() {
        for name in ["ssd-sata", "samsung-pm9a3-1920"] {
            let spec = shipped(name);
            let Model::Flash(flash) = &spec.model else { panic!("{name}") };
            let Both { fresh, preconditioned } = Both::of(&spec).unwrap();
            let rates: Vec<f64> = preconditioned.iter().map(|round| round.per_second).collect();
            let from = steady_from(&rates).filter(|from| *from <= 1);
            let steady = mean(rates[from.unwrap_or_else(|| panic!("{name}: {rates:?}"))..].iter().copied());
            let amplification = mean(preconditioned.iter().map(|round| round.amplification));
            let known = 1.0 / (2.0 * flash.spare_permille as f64 / 1000.0) + 0.5;
            println!("{name}: preconditioned {steady:.0} writes/s, amplified by {amplification:.2}");
            assert!((amplification / known - 1.0).abs() < 0.15, "{name}: {amplification} for {known}");
            let dies = (flash.dies * flash.program_units) as f64 * 1e9 / flash.program_ns as f64;
            let share = steady * amplification / dies;
            assert!((0.45..=1.0).contains(&share), "{name}: {share} of what the dies can program");
            // While erased flash remains, only the host uses the dies, unless the controller limits the rate.
            let alone = dies.min(1e9 / flash.front.command_ns as f64);
            let Round { per_second, amplification } = fresh[0];
            assert!(amplification < 1.01 && (per_second / alone - 1.0).abs() < 0.1, "{name}: {:?}", fresh[0]);
        }
    }

    #[test]
    fn where_nothing_is_mapped_there_is_nothing_to_precondition() {
        for (name, _) in SHIPPED {
            let spec = shipped(name);
            let is_mapped = spec.discards() && *name != "sd-card";
            assert_eq!(spec.preconditioned().is_some(), is_mapped, "{name}");
        }
    }
}
