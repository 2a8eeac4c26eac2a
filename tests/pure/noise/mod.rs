//! The verdict on noise that was measured and not made up: false alarms on identical candidates, and how often a planted delay is
//! found beside how often a dry run says that it would be.
//!
//! `late.csv` and `busy.csv` are rounds of this project's own machine while others had all its CPUs. Their heads say how they were
//! made, and `measure.py` makes them anew.

mod lateness;
mod stored;
mod workloads;

use self::stored::{Stored, plan};
use fsderby::analysis::rounds::{self, ALPHA, Scatter};
use fsderby::schema::finding::{Found, Verdict};
use fsderby::schema::plan::Rounds;
use fsderby_stats::family::judge;
use fsderby_stats::looks::Looks;
use fsderby_stats::power::Which;
use fsderby_stats::random::Random;

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

/// Of the pairs of the late candidate and each of the identical ones: how often they are told apart, and how often it was foreseen.
struct Curve {
    found: f64,
    /// As the dry run has it of rounds that were measured before.
    foreseen: f64,
    /// The same of normal noise with the deviation of those rounds.
    of_deviation: f64,
    /// As the dry run has it of the difference that the studied rounds have, which is the delay and their chance.
    as_measured: f64,
}

const STUDIES: usize = 400;

/// Studies of `studied`, foreseen from the rounds of `before`.
fn curve(
    before: &Stored,
    studied: &Stored,
    (late, delay): (&str, f64),
    rounds: usize,
    random: &mut Random,
) -> Curve {
    let labels = [&IDENTICAL[..], &[late]].concat();
    let (before, studied) = (before.only(&labels), studied.only(&labels));
    let scatter = rounds::scatter(&plan(Rounds::Auto), &before.dataset()).unwrap();
    let (looks, last) = (Looks::once(rounds), IDENTICAL.len());
    let pairs: Vec<Which> = (0..last).map(|a| Which { table: 0, a, b: last }).collect();
    let foreseen = |scatter: &Scatter, log: f64| {
        mean(scatter.finds(&looks, &pairs, log).into_iter().map(|(_, power)| power))
    };
    let measured = mean(IDENTICAL.iter().map(|label| studied.mean(label))) - studied.mean(late);
    let mut told = 0;
    for _ in 0..STUDIES {
        let table = studied.redrawn(rounds, random).permuted(last, random).table();
        let pairs = &judge(&[table], ALPHA, 0).tables[0].pairs;
        told += pairs.iter().filter(|pair| pair.b == last && pair.direction() == 1).count();
    }
    Curve {
        found: told as f64 / (last * STUDIES) as f64,
        foreseen: foreseen(&scatter, delay.ln_1p()),
        as_measured: foreseen(&scatter, measured),
        of_deviation: foreseen(&Scatter { noise: None, ..scatter }, delay.ln_1p()),
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

/// The detection curve. With the delays, of which only that of 10 % is large beside the chance of a hundred rounds.
#[test]
fn a_planted_delay_is_found_as_often_as_the_dry_run_says() {
    let (all, mut random) = (late(), Random::new(2));
    println!(
        "\nwork that is late by so much, beside five that are not, {STUDIES} studies each: how often a pair is told apart\n\
         (as the dry run says of that delay; of normal noise; of the difference that all rounds together have)"
    );
    for rounds in [6, 8, 10, 14] {
        let mut line = format!("{rounds:>4} rounds  0%: {:.3}", alarms(&all, rounds, &mut random));
        for planted in LATE {
            let curve = curve(&all, &all, planted, rounds, &mut random);
            let Curve { found, foreseen, of_deviation, as_measured } = curve;
            line +=
                &format!("  {}: {found:.3} ({foreseen:.3}; {of_deviation:.3}; {as_measured:.3})", planted.0);
            let is_as_said = (found - foreseen).abs() <= 0.10;
            assert!(planted.1 < 0.1 || is_as_said, "{line}");
            assert!((found - as_measured).abs() <= 0.10, "{line}");
        }
        println!("{line}");
    }
}

/// What an earlier run has shown foresees a later one: from one half of the rounds, in turns, to the other. The deviation of fifty such
/// values is known to within a fifth or so, hence a single foresight to within twenty points; both together are better.
#[test]
fn one_half_of_the_rounds_foresees_what_is_found_in_the_other() {
    let (all, mut random) = (late(), Random::new(3));
    let halves = [all.every_second(0), all.every_second(1)];
    println!(
        "\n10 % found in one half of the rounds (as the dry run says by the other half, of the difference that they have)"
    );
    for rounds in [6, 8, 10, 14] {
        let of = |(before, studied): (usize, usize), random: &mut Random| {
            let curve = curve(&halves[before], &halves[studied], LATE[3], rounds, random);
            (curve.found, curve.as_measured)
        };
        let both = [(0, 1), (1, 0)].map(|halves| of(halves, &mut random));
        let line = both.map(|(found, foreseen)| format!("  {found:.3} ({foreseen:.3})")).concat();
        println!("{rounds:>4} rounds{line}");
        let off = mean(both.into_iter().map(|(found, foreseen)| found - foreseen));
        assert!(off.abs() <= 0.15, "{rounds} rounds: {line}");
    }
}

/// The share of studies of identical candidates in which any pair is told apart.
fn alarms(all: &Stored, rounds: usize, random: &mut Random) -> f64 {
    let set = all.only(&IDENTICAL);
    let alarms = (0..STUDIES).filter(|_| {
        let table = set.redrawn(rounds, random).permuted(IDENTICAL.len(), random).table();
        judge(&[table], ALPHA, 0).tables[0].pairs.iter().any(|pair| pair.direction() != 0)
    });
    let share = alarms.count() as f64 / STUDIES as f64;
    // 5 %, and two deviations of a rate that four hundred studies give.
    assert!(share <= 0.072, "{rounds} rounds: {share}");
    share
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
