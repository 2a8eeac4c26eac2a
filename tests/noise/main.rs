//! The verdict on noise that was measured and not made up: false alarms on identical candidates, and how often a planted delay is
//! found beside how often a dry run says that it would be.
//!
//! `late.csv` and `busy.csv` are rounds of this project's own machine while others had all its CPUs. Their heads say how they were
//! made, and `measure.py` makes them anew.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod lateness;
mod stored;
mod workloads;

use fsderby::analysis::rounds;
// What late.rs finds in the project's own root.
#[allow(unused_imports, reason = "named by late.rs alone, as the root of the project")]
use fsderby::schema;
use fsderby::schema::finding::{Found, Verdict};
use fsderby::schema::plan::Rounds;
use fsderby_stats::looks::Looks;
use fsderby_stats::power::Which;
use fsderby_stats::random::Random;
use stored::{Stored, plan};

const IDENTICAL: [&str; 5] = ["a", "b", "c", "d", "e"];
const LATE: [(&str, f64); 4] = [("late 1%", 0.01), ("late 2%", 0.02), ("late 5%", 0.05), ("late 10%", 0.10)];

fn late() -> Stored {
    Stored::parse(include_str!("late.csv"))
}

fn busy() -> Stored {
    Stored::parse(include_str!("busy.csv"))
}

fn names_a_difference(verdict: &Verdict) -> bool {
    assert!(verdict.is_final() && !verdict.findings.is_empty());
    verdict.findings.iter().any(|f| matches!(f.finding, Found::Better | Found::Worse))
}

/// Permuting labels within rounds makes candidates identical that were so only nearly, as no two trials lie on the same place of the
/// disk; and it keeps the noise as it was, with what a round's minutes did to all.
#[test]
fn of_two_hundred_permutations_of_identical_candidates_at_most_sixteen_alarm() {
    let late = late().only(&IDENTICAL);
    let sets = [("late.csv, a to e", &late), ("busy.csv", &busy())];
    let mut random = Random::new(1);
    println!("\nlabels permuted within rounds, 200 times: how often a difference is reported");
    for (name, set) in sets {
        let identical = set.labels.len();
        let mut count = |draw: &dyn Fn(&mut Random) -> Verdict| {
            (0..200).filter(|_| names_a_difference(&draw(&mut random))).count()
        };
        let clone = || Stored { labels: set.labels.clone(), rounds: set.rounds.clone() };
        let all = count(&|random| clone().permuted(identical, random).verdict());
        let ten = count(&|random| set.drawn(10, random).permuted(identical, random).verdict());
        let looks = count(&|random| set.drawn(20, random).permuted(identical, random).verdict_by_looks());
        println!(
            "  {name:<17} all {} rounds: {all}; 10 of them: {ten}; looks after 10, 14 and 20: {looks}",
            set.rounds.len()
        );
        assert!(all.max(ten).max(looks) <= 16, "{name}: {all} {ten} {looks}");
        // A test that never says anything would pass.
        assert!(all + ten + looks > 0, "{name}");
    }
}

/// How often the pair of the late candidate and each of the identical ones is told apart, and how often the dry run says that it
/// would be: from the scatter of all rounds, which it is given as it is given an earlier run.
struct Curve {
    planned: f64,
    /// With the difference that the rounds really have, which is the delay and the chance of a hundred rounds.
    planned_as_measured: f64,
    found: f64,
}

const STUDIES: usize = 400;

fn curve(all: &Stored, of: &str, delay: f64, rounds: usize, random: &mut Random) -> Curve {
    let set = all.only(&[&IDENTICAL[..], &[of]].concat());
    let scatter = rounds::scatter(&plan(Rounds::Auto), &set.dataset()).unwrap().seen;
    let looks = Looks::once(rounds);
    let under = scatter.under(&looks);
    let pairs = (0..IDENTICAL.len()).map(|a| Which { table: 0, a, b: IDENTICAL.len() });
    let power = |log: f64| pairs.clone().map(|which| under.power(which, log)).sum::<f64>() / 5.0;
    let measured = IDENTICAL.iter().map(|label| set.mean(label)).sum::<f64>() / 5.0 - set.mean(of);
    let mut told = 0;
    for _ in 0..STUDIES {
        let verdict = set.drawn(rounds, random).permuted(IDENTICAL.len(), random).verdict();
        let is_worse = |label: &&&str| {
            let finding = verdict
                .findings
                .iter()
                .find_map(|f| (f.a == **label || f.b == **label).then(|| f.from_the_side_of(of)).flatten());
            finding.is_some_and(|finding| finding.finding == Found::Worse)
        };
        told += IDENTICAL.iter().filter(is_worse).count();
    }
    Curve {
        planned: power(delay.ln_1p()),
        planned_as_measured: power(measured),
        found: told as f64 / (5 * STUDIES) as f64,
    }
}

#[test]
fn a_planted_delay_is_found_as_often_as_the_dry_run_says() {
    let (all, mut random) = (late(), Random::new(2));
    println!(
        "\nwork that is late by so much, beside five that are not, {STUDIES} studies each: how often a pair is told apart\n\
         (as the dry run says of that delay; of the difference that all rounds together have)"
    );
    let mut shown = Vec::new();
    for rounds in [6, 8, 10, 14, 20] {
        let identical =
            Curve { planned: 0.0, planned_as_measured: 0.0, found: alarms(&all, rounds, &mut random) };
        let mut line = format!("{rounds:>4} rounds: 0%: {:.3}", identical.found);
        assert!(identical.found <= 0.05, "{rounds}: {}", identical.found);
        for (label, delay) in LATE {
            let curve = curve(&all, label, delay, rounds, &mut random);
            line += &format!(
                "   {:.0}%: {:.3} ({:.3}; {:.3})",
                100.0 * delay,
                curve.found,
                curve.planned,
                curve.planned_as_measured
            );
            shown.push((rounds, label, curve));
        }
        println!("{line}");
    }
    for (rounds, label, Curve { planned, planned_as_measured, found }) in shown {
        let is_as_planned = (found - planned).abs() <= 0.10;
        assert!(label != "late 10%" || is_as_planned, "{label}, {rounds} rounds: {found}, planned {planned}");
        // Of the smaller delays a hundred rounds have chance enough to be something else.
        let is_as_measured = (found - planned_as_measured).abs() <= 0.10;
        assert!(is_as_measured, "{label}, {rounds} rounds: {found}, {planned_as_measured} as measured");
    }
}

/// The share of studies of identical candidates in which any pair is told apart.
fn alarms(all: &Stored, rounds: usize, random: &mut Random) -> f64 {
    let set = all.only(&IDENTICAL);
    let alarm = |random: &mut Random| {
        names_a_difference(&set.drawn(rounds, random).permuted(IDENTICAL.len(), random).verdict())
    };
    (0..STUDIES).filter(|_| alarm(random)).count() as f64 / STUDIES as f64
}

/// The delays of the file are those that were planted: the mean of a hundred rounds is within three of its own errors.
#[test]
fn the_stored_delays_are_those_that_were_planted() {
    let all = late();
    for (label, delay) in LATE {
        let logs: Vec<f64> = all
            .rounds
            .iter()
            .map(|row| {
                let at = all.labels.iter().position(|known| known == label).unwrap();
                let others = row[..IDENTICAL.len()].iter().map(|value| value.ln()).sum::<f64>();
                others / IDENTICAL.len() as f64 - row[at].ln()
            })
            .collect();
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        let error = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
        println!("{label}: {:.2} % with an error of {:.2} %", 100.0 * mean.exp_m1(), 100.0 * error);
        assert!((mean - delay.ln_1p()).abs() < 3.0 * error, "{label}: {mean} ± {error}");
    }
}
