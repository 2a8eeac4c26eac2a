//! Rules of other tools under the same drift.

use std::fmt::Write;

use fsderby_stats::family::judge_by;
use fsderby_stats::random::Random;

use crate::draw::{EQUAL, Machine, NONE, Order, Shape, Study, TEN_PER_CENT, first};
use crate::others::{Sample, p_of, runs_of_phoronix, t_at};
use crate::{PATTERNS, share, studies};

/// Studies per number of rounds at equal error rate.
const FEWER: usize = 1000;

const LIMIT: usize = 60;

/// Strength of a rule's evidence for a difference: larger is stronger.
type Strength = fn(&Sample, &Sample) -> f64;

fn study(machine: Machine, effects: &[f64; 8]) -> Study<'_> {
    Study { noise: &EQUAL, effects, machine, shape: Shape::Normal }
}

fn pairs() -> impl Iterator<Item = (usize, usize)> {
    (0..8).flat_map(|a| (a + 1..8).map(move |b| (a, b)))
}

/// A rule as used: name, strength, threshold, order of trials.
struct Rule {
    name: &'static str,
    order: Order,
    strength: Strength,
    differs_at: fn(usize) -> f64,
}

const RULES: [Rule; 4] = [
    Rule {
        name: "Welch 5 %, one after the other",
        order: Order::OneAfterTheOther,
        strength: welch,
        differs_at: five,
    },
    Rule { name: "Welch 5 %, in rounds", order: Order::Rounds, strength: welch, differs_at: five },
    Rule {
        name: "95 % intervals apart, one after the other",
        order: Order::OneAfterTheOther,
        strength: apart,
        differs_at: t,
    },
    Rule { name: "95 % intervals apart, in rounds", order: Order::Rounds, strength: apart, differs_at: t },
];

fn welch(a: &Sample, b: &Sample) -> f64 {
    -p_of(a.welch(b))
}

fn five(_rounds: usize) -> f64 {
    -0.05
}

fn apart(a: &Sample, b: &Sample) -> f64 {
    a.apart(b)
}

fn t(rounds: usize) -> f64 {
    t_at(0.05, rounds as f64 - 1.0)
}

/// Each pair's strength in one study, and the runs per candidate.
type Ran = (Vec<f64>, f64);

fn ran(rule: &Rule, machine: Machine, effects: &[f64; 8], rounds: usize, random: &mut Random) -> Ran {
    let samples: Vec<Sample> =
        study(machine, effects).values(rounds, rule.order, random).iter().map(|of| Sample::of(of)).collect();
    (pairs().map(|(a, b)| (rule.strength)(&samples[a], &samples[b])).collect(), rounds as f64)
}

/// The stopping rule of the Phoronix Test Suite, one candidate after the other. fsderby does not run Phoronix, and Phoronix
/// tests no significance: the rule is simulated here with our Welch test.
fn phoronix(most: f64, limit: usize, machine: Machine, effects: &[f64; 8], random: &mut Random) -> Ran {
    let values = study(machine, effects).values(limit, Order::OneAfterTheOther, random);
    let runs: Vec<usize> = values.iter().map(|of| runs_of_phoronix(of, most, limit)).collect();
    let samples: Vec<Sample> = values.iter().zip(&runs).map(|(of, runs)| Sample::of(&of[..*runs])).collect();
    let mean = runs.iter().sum::<usize>() as f64 / 8.0;
    (pairs().map(|(a, b)| welch(&samples[a], &samples[b])).collect(), mean)
}

/// With the threshold set so that any of 28 pairs is wrong in 5 % of studies: the share of studies that find a true 10 %,
/// averaged over its seven pairs, and the runs per candidate.
fn at_equal_error(mut run: impl FnMut(&[f64; 8]) -> Ran) -> (f64, f64) {
    let mut strongest: Vec<f64> =
        (0..FEWER).map(|_| run(&NONE).0.into_iter().fold(f64::NEG_INFINITY, f64::max)).collect();
    strongest.sort_by(|x, y| y.total_cmp(x));
    let (threshold, mut found, mut runs) = (strongest[FEWER / 20], 0, 0.0);
    for _ in 0..FEWER {
        let (strengths, of_each) = run(&TEN_PER_CENT);
        found += strengths[..7].iter().filter(|strength| **strength > threshold).count();
        runs += of_each;
    }
    (share(found, 7 * FEWER), runs / FEWER as f64)
}

fn needed(found: impl IntoIterator<Item = (f64, f64)>) -> String {
    found
        .into_iter()
        .find(|(power, _)| *power >= 0.8)
        .map_or_else(|| format!("over {LIMIT}"), |(_, runs)| format!("{runs:.1}"))
}

#[test]
fn other_rules_are_shown_beside_ours_at_equal_error() {
    let mut shown = String::from(
        "\nother rules, 8 candidates, 5 % noise, ten rounds: false alarms per comparison on a steady and a drifting machine, and there\n\
         in any of 28 pairs; rounds to find 10 % (80 %) at equal error (5 % over all pairs), steady and drifting\n\
         rule                                       steady  drifting  any pair  rounds, steady  drifting\n",
    );
    let mut random = Random::new(8);
    let numbers = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 24, 28, 32, 40, 50, LIMIT];
    let mut sequential = 0.0;
    for rule in &RULES {
        let at = (rule.differs_at)(10);
        let [steady, drifting] =
            MACHINES.map(|machine| alarms(at, || ran(rule, machine, &NONE, 10, &mut random)));
        let needs = MACHINES.map(|machine| {
            let of = |rounds| at_equal_error(|effects| ran(rule, machine, effects, rounds, &mut random));
            needed(numbers.map(of))
        });
        sequential = if rule.name.starts_with("Welch 5 %, one") { drifting.each } else { sequential };
        shown.push_str(&row(rule.name, &steady, &drifting, &needs));
    }
    shown.push_str(&phoronix_row(&mut random));
    let needs = MACHINES.map(|machine| needed(numbers.map(|rounds| ours(machine, rounds, &mut random))));
    writeln!(shown, "{:<42} {:<7} {:<9} {:<9} {:<15} {}", "fsderby", "-", "-", "<= 0.05", needs[0], needs[1])
        .unwrap();
    println!("{shown}");
    // The reason for rounds: without them every second comparison of identical candidates is wrong.
    assert!(sequential > 0.3, "{shown}");
}

const MACHINES: [Machine; 2] = [Machine::Steady, Machine::Drifting];

/// Shares of comparisons and of studies with a false alarm, and the mean runs per candidate.
struct Alarms {
    each: f64,
    any: f64,
    runs: f64,
}

fn alarms(differs_at: f64, mut run: impl FnMut() -> Ran) -> Alarms {
    let (mut each, mut any, mut runs) = (0, 0, 0.0);
    for _ in 0..studies() {
        let (strengths, of_each) = run();
        let wrong = strengths.iter().filter(|strength| **strength > differs_at).count();
        each += wrong;
        any += usize::from(wrong > 0);
        runs += of_each;
    }
    Alarms { each: share(each, 28 * studies()), any: share(any, studies()), runs: runs / studies() as f64 }
}

fn row(name: &str, steady: &Alarms, drifting: &Alarms, needs: &[String; 2]) -> String {
    let [on_steady, on_drifting] = needs;
    let (each, any) = (drifting.each, drifting.any);
    format!("{name:<42} {:<7.3} {each:<9.3} {any:<9.3} {on_steady:<15} {on_drifting}\n", steady.each)
}

fn phoronix_row(random: &mut Random) -> String {
    let [steady, drifting] =
        MACHINES.map(|machine| alarms(-0.05, || phoronix(0.025, 12, machine, &NONE, random)));
    let needs = MACHINES.map(|machine| {
        let by = |most| at_equal_error(|effects| phoronix(most, LIMIT, machine, effects, random));
        needed([0.1, 0.07, 0.06, 0.055, 0.05, 0.045, 0.04, 0.035, 0.03].map(by))
    });
    row(
        &format!("stop below 2.5 % deviation, then Welch ({:.1} runs)", steady.runs),
        &steady,
        &drifting,
        &needs,
    )
}

fn ours(machine: Machine, rounds: usize, random: &mut Random) -> (f64, f64) {
    let mut found = 0;
    for _ in 0..FEWER {
        let values = study(machine, &TEN_PER_CENT).values(rounds, Order::Rounds, random);
        let family = judge_by(&[first(&values, rounds)], 0.05, PATTERNS, random.bits());
        found += family.tables[0].pairs[..7].iter().filter(|pair| pair.direction() == 1).count();
    }
    (share(found, 7 * FEWER), rounds as f64)
}
