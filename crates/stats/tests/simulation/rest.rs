//! The candidate that entered twice, equivalence, geometric means, and quantiles.

use std::fmt::Write;

use fsderby_stats::family::{Table, across, judge_by};
use fsderby_stats::guard::same_twice;
use fsderby_stats::power::{Expected, Which};
use fsderby_stats::random::Random;

use crate::draw::{EQUAL, Machine, NONE, Order, Shape, Study, steady};
use crate::resampled::quantile_by_rounds;
use crate::{PATTERNS, STUDIES, share};

/// 0.1 % of 100,000 are 100, with a deviation of 10.
#[test]
fn a_candidate_that_entered_twice_voids_at_most_one_good_run_in_a_thousand() {
    const RUNS: usize = 100_000;
    let mut shown = String::from(
        "\nA/A pair over four metrics, p < 0.001: runs that are voided\nshape    rounds  good runs  one copy 20 % slower\n",
    );
    let mut random = Random::new(9);
    for (shape, called) in [(Shape::Normal, "normal"), (Shape::Heavy, "heavy"), (Shape::Stalls, "stalls")] {
        for rounds in [10, 14, 20] {
            let mut voided = [0; 2];
            for (effects, voided) in [[0.0, 0.0], [0.2, 0.0]].iter().zip(&mut voided) {
                let study = Study { noise: &[0.05, 0.05], effects, machine: Machine::Steady, shape };
                let runs = if effects[0] == 0.0 { RUNS } else { RUNS / 50 };
                *voided =
                    (0..runs).filter(|_| judged(&study, rounds, &mut random) < 0.001).count() * (RUNS / runs);
            }
            let [good, slowed] = voided.map(|voided| share(voided, RUNS));
            writeln!(shown, "{called:<8} {rounds:<7} {good:<10.5} {slowed:.3}").unwrap();
            assert!(good <= 0.0013 && slowed > 0.5, "{shown}");
        }
    }
    println!("{shown}");
}

fn judged(study: &Study<'_>, rounds: usize, random: &mut Random) -> f64 {
    let differences = (0..4).map(|_| {
        let values = study.values(rounds, Order::Rounds, random);
        values[0].iter().zip(&values[1]).map(|(a, b)| a - b).collect()
    });
    same_twice(&differences.collect::<Vec<Vec<f64>>>())
}

/// Within 3 % at 5 % noise it takes about a hundred rounds, as was planned; fewer give nothing.
#[test]
fn identical_candidates_are_called_equivalent_after_as_many_rounds_as_were_planned() {
    const STUDIES: usize = 400;
    let (margin, which) = (1.03_f64.ln(), Which { table: 0, a: 0, b: 1 });
    let rounds = Expected::equal(1, 8, 0.05).rounds_to_be_equivalent(which, margin, 0.8).unwrap();
    let mut random = Random::new(10);
    let mut rate = |rounds| {
        let equivalent = |_: &usize| {
            let family = judge_by(&[steady(&EQUAL, &NONE).table(rounds, &mut random)], 0.05, PATTERNS, 0);
            family.tables[0].pairs[0].equivalent(margin)
        };
        share((0..STUDIES).filter(equivalent).count(), STUDIES)
    };
    let (few, planned) = (rate(10), rate(rounds));
    println!(
        "\nequivalent within 3 % at 5 % noise, 28 pairs: {few:.3} at 10 rounds, {planned:.3} at {rounds}, planned for 0.8\n"
    );
    assert!((0.72..=0.88).contains(&planned) && few < 0.01, "{planned} at {rounds}, {few}");
}

#[test]
fn intervals_of_geometric_means_hold_together() {
    let mut random = Random::new(11);
    let (effects, mut hold) = ([0.3, 0.0, 0.1, 0.0], 0);
    for _ in 0..STUDIES {
        let tables: Vec<Table> = [1.0, 0.5, -1.2]
            .map(|by| steady(&EQUAL[..4], &effects.map(|e| e * by)).table(10, &mut random))
            .to_vec();
        let mean = across(&tables).unwrap();
        let family = judge_by(&[mean], 0.05, PATTERNS, 0);
        // The mean of 1, 0.5 and −1.2 is 0.1.
        hold += usize::from(family.tables[0].pairs.iter().all(|pair| {
            let truth = 0.1 * (effects[pair.a] - effects[pair.b]);
            pair.interval.is_some_and(|interval| interval.low <= truth && truth <= interval.high)
        }));
    }
    let hold = share(hold, STUDIES);
    println!(
        "\ngeometric means over three tables, four candidates, ten rounds: all six intervals hold in {hold:.4}\n"
    );
    assert!(hold >= 0.945, "{hold}");
}

/// Latencies of a log-normal kind whose middle moves by 10 % from round to round.
#[test]
fn intervals_of_quantiles_hold_in_nearly_ninety_five_per_cent() {
    const STUDIES: usize = 500;
    let mut shown = String::from(
        "\nquantiles of merged histograms, 95 % intervals that hold\nquantile  10 rounds  20 rounds\n",
    );
    let mut random = Random::new(12);
    for (q, z) in [(0.5, 0.0), (0.99, 2.326_347_874_040_841)] {
        write!(shown, "{q:<9}").unwrap();
        for rounds in [10, 20] {
            // Both the round's and the operation's part are normal, so all together have the deviation sqrt(0.5² + 0.1²).
            let truth = (10.0 + z * (0.25_f64 + 0.01).sqrt()).exp();
            let holds = |_: &usize| {
                let histograms: Vec<Vec<(u64, u64)>> = (0..rounds).map(|_| histogram(&mut random)).collect();
                let (low, high) = quantile_by_rounds(&histograms, q, 0.95, 1).unwrap().interval.unwrap();
                // A bucket stands for what lies down to the bucket before, 1 % lower.
                low as f64 / 1.01 <= truth && truth <= high as f64 * 1.01
            };
            let hold = share((0..STUDIES).filter(holds).count(), STUDIES);
            write!(shown, " {hold:<10.3}").unwrap();
            assert!(hold >= 0.90, "{shown}{hold}");
        }
        shown.push('\n');
    }
    println!("{shown}");
}

/// A thousand operations in buckets of 1 %.
fn histogram(random: &mut Random) -> Vec<(u64, u64)> {
    let middle = 10.0 + 0.1 * random.normal();
    let mut buckets = std::collections::BTreeMap::new();
    for _ in 0..1000 {
        let bucket = ((middle + 0.5 * random.normal()) / 1.01_f64.ln()).ceil();
        *buckets.entry(1.01_f64.powf(bucket).round() as u64).or_insert(0) += 1;
    }
    buckets.into_iter().collect()
}
