//! Known answers from `vectors.py`: a second implementation of the family test in Python, and SciPy's distributions.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

use fsderby_stats::family::{Family, Table, judge};
use fsderby_stats::guard::same_twice;

const VECTORS: &str = include_str!("vectors.txt");

/// A family as printed by `vectors.py`.
struct Known {
    name: String,
    alpha: f64,
    tables: Vec<Table>,
    critical: f64,
    /// Table, a, b, estimate, error, t, p.
    pairs: Vec<Vec<f64>>,
}

fn numbers<'a>(words: impl Iterator<Item = &'a str>) -> Vec<f64> {
    words.map(|word| word.parse().unwrap()).collect()
}

fn families() -> Vec<Known> {
    let mut families: Vec<Known> = Vec::new();
    for line in VECTORS.lines() {
        let mut words = line.split(' ');
        let kind = words.next().unwrap();
        if kind == "family" {
            let (name, alpha) = line["family ".len()..].rsplit_once(' ').unwrap();
            let (name, alpha) = (name.to_owned(), alpha.parse().unwrap());
            families.push(Known { name, alpha, tables: Vec::new(), critical: 0.0, pairs: Vec::new() });
            continue;
        }
        let Some(family) = families.last_mut() else { continue };
        match kind {
            "table" => family.tables.push(Table::new(words.next().unwrap().parse().unwrap())),
            "row" => {
                let round = words.next().unwrap().parse().unwrap();
                assert!(family.tables.last_mut().unwrap().push(round, &numbers(words)));
            }
            "critical" => family.critical = words.next().unwrap().parse().unwrap(),
            "pair" => family.pairs.push(numbers(words)),
            _ => {}
        }
    }
    families
}

fn near(ours: f64, known: f64) -> bool {
    (ours - known).abs() <= 1e-12 * known.abs().max(1.0)
}

fn agrees(ours: &Family, known: &Known) {
    let name = &known.name;
    let critical = ours.critical.unwrap();
    assert!(near(critical, known.critical), "{name}: critical |t| {critical}, not {}", known.critical);
    let pairs =
        ours.tables.iter().enumerate().flat_map(|(at, table)| table.pairs.iter().map(move |pair| (at, pair)));
    for ((at, pair), expected) in pairs.zip(&known.pairs) {
        let ours = [at as f64, pair.a as f64, pair.b as f64];
        let ours = [&ours[..], &[pair.estimate, pair.error, pair.t].map(Option::unwrap), &[pair.p]].concat();
        assert!(
            ours.iter().zip(expected).all(|(ours, known)| near(*ours, *known)),
            "{name}: {ours:?}, not {expected:?}"
        );
    }
}

#[test]
fn the_family_test_says_what_its_second_writing_in_python_says() {
    let families = families();
    assert_eq!(families.len(), 5);
    for known in &families {
        let ours = judge(&known.tables, known.alpha, 0);
        assert_eq!(ours.tables.iter().map(|table| table.pairs.len()).sum::<usize>(), known.pairs.len());
        agrees(&ours, known);
    }
}

#[test]
fn of_two_candidates_t_is_that_of_the_paired_test() {
    let line = VECTORS.lines().find_map(|line| line.strip_prefix("paired ")).unwrap();
    let [a, b, known] = &line.split(" | ").map(|part| numbers(part.split(' '))).collect::<Vec<_>>()[..]
    else {
        panic!("{line}");
    };
    let mut table = Table::new(2);
    a.iter().zip(b).zip(0..).for_each(|((a, b), round)| assert!(table.push(round, &[*a, *b])));
    assert!(near(judge(&[table], 0.05, 0).tables[0].pairs[0].t.unwrap(), known[0]));
    let p = same_twice(&[a.iter().zip(b).map(|(a, b)| a - b).collect()]);
    assert!((p - known[1]).abs() < 1e-12, "{p}");
}
