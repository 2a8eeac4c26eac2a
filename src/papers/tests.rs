//! Tests that every shipped paper must pass, and tests of how claims are judged.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::analysis::metrics;
use crate::filesystems;
use crate::schema::declared::{self, Declared};
use crate::schema::units::Scale;

/// Sets that papers name but that fsderby does not have yet. A named set that is neither in this list nor shipped is a mistake.
const AWAITED: [&str; 0] = [];

fn papers() -> impl Iterator<Item = (&'static str, Paper)> {
    TABLE.iter().map(|(name, _)| (*name, find(name).expect("it is in the table")))
}

fn all() -> impl Iterator<Item = (Paper, Table)> {
    papers().flat_map(|(_, paper)| paper.tables.clone().into_iter().map(move |table| (paper.clone(), table)))
}

fn claims() -> impl Iterator<Item = (&'static str, Paper, Claim)> {
    papers().flat_map(|(name, paper)| paper.claims.clone().into_iter().map(move |c| (name, paper.clone(), c)))
}

/// Each test of a claim with each of its workloads and metrics, including those with which it compares.
fn points(claim: &Claim) -> Vec<(&Test, &str, &str, &BTreeMap<String, String>)> {
    let mut points = Vec::new();
    for test in &claim.tests {
        for (workload, metric) in
            claim.workloads.iter().flat_map(|w| test.metrics.iter().map(move |m| (w, m)))
        {
            points.push((test, workload.as_str(), metric.as_str(), &test.at));
            let workload = test.than_workload.as_ref().unwrap_or(workload);
            let metric = test.than_metric.as_ref().unwrap_or(metric);
            points.push((test, workload, metric, test.than_at.as_ref().unwrap_or(&test.at)));
        }
    }
    points
}

/// The metrics that a trial of that set may have; `None` if fsderby does not have the set yet.
fn known(workload: &str) -> Option<Vec<&'static Declared>> {
    Some(metrics::declared_of(workloads::find(workload)?.0.name()))
}

#[test]
fn who_took_part_is_a_kind_or_it_is_said_why_not() {
    for (name, paper) in papers() {
        for candidate in &paper.candidates {
            let is_kind = filesystems::find(&candidate.name).is_some();
            assert_ne!(is_kind, candidate.missing.is_some(), "{name}: {}", candidate.name);
        }
        let names: BTreeSet<&str> = paper.candidates.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names.len(), paper.candidates.len(), "{name}: one has two rows");
        let model = |name: &String| fsderby_diskmodel::SHIPPED.iter().any(|(disk, _)| disk == name);
        assert!(paper.model.iter().all(model), "{name}: no such modelled disk");
    }
}

fn is_known_candidate(paper: &Paper, name: &str) -> bool {
    filesystems::find(name).is_some() || paper.candidate(name).is_some()
}

#[test]
fn what_is_published_is_of_known_candidates_and_has_a_figure_for_each_metric() {
    for (paper, Table { workload, figures, metrics, .. }) in all() {
        assert!(!metrics.is_empty(), "{workload}: a table of nothing");
        for (candidate, figures) in &figures {
            assert!(is_known_candidate(&paper, candidate), "{workload}: {candidate} is not known");
            assert_eq!(figures.len(), metrics.len(), "{workload}: {candidate}");
            assert!(figures.iter().all(|f| f.is_finite() && *f >= 0.0), "{workload}: {candidate}");
        }
    }
    assert!(all().filter(|(_, table)| table.is_comparable()).count() > 3);
}

#[test]
fn a_workload_is_shipped_or_known_to_be_still_to_come() {
    let of_tables = all().flat_map(|(_, table)| table.workloads().map(str::to_owned).collect::<Vec<_>>());
    let of_claims = claims().flat_map(|(_, _, claim)| {
        let elsewhere = claim.tests.iter().filter_map(|test| test.than_workload.clone());
        elsewhere.chain(claim.workloads.clone()).collect::<Vec<_>>()
    });
    for name in of_tables.chain(of_claims) {
        assert!(
            workloads::find(&name).is_some() || AWAITED.contains(&name.as_str()),
            "there is no set {name}"
        );
    }
}

#[test]
fn what_is_published_is_in_a_unit_that_the_workload_has_too() {
    for (_, table) in all() {
        for (workload, known) in table.workloads().filter_map(|w| Some((w, known(w)?))) {
            for name in &table.metrics {
                let declared = declared::find(&known, name);
                assert_eq!(declared.is_none(), table.unmatched.is_some(), "{workload}: who declares {name}?");
                let converts = |declared: &Declared| factor(declared.unit, &table.unit).is_some();
                assert!(declared.is_none_or(converts), "{workload}: {name} in {}", table.unit);
            }
        }
    }
}

#[test]
fn only_the_very_parameters_of_a_set_are_those_of_the_paper() {
    let comparable = all().filter(|(_, table)| table.is_comparable());
    let shipped =
        comparable.filter_map(|(_, table)| Some((workloads::find(&table.workload)?, table.workload)));
    let mut seen = 0;
    for ((engine, set), workload) in shipped {
        let parameters = set.file().parameters;
        let of = |engine: &str, parameters| of_work(engine, parameters).map(|(_, t)| t[0].workload.clone());
        assert_eq!(of(engine.name(), &parameters).as_ref(), Some(&workload));
        let half = engine.scale(&parameters, Scale { of: 1, by: 2 }).expect("it scales");
        assert!(of(engine.name(), &half).is_none() && of("another", &parameters).is_none());
        seen += 1;
    }
    assert!(seen >= 3, "the three tests of 2008");
}

#[test]
fn a_chart_without_figures_and_figures_of_no_metric_stand_beside_no_run() {
    for name in ["fileserver-2002-1", "mbox-2002-1"] {
        let (engine, set) = workloads::find(name).expect("it is shipped");
        assert!(all().any(|(_, table)| table.workload == name));
        assert!(of_work(engine.name(), &set.file().parameters).is_none(), "{name}");
    }
    let table = all().map(|(_, table)| table).find(|table| table.unmatched.is_some()).expect("there is one");
    assert!(!table.is_comparable());
}

/// If the paper has a table of a workload, a test must use a metric of that table; otherwise a metric that the workload declares.
#[test]
fn a_claim_is_of_metrics_and_candidates_that_exist() {
    for (name, paper, claim) in claims() {
        let says = &claim.says;
        for candidate in claim.tests.iter().flat_map(|test| test.of.iter().chain(&test.than)) {
            assert!(is_known_candidate(&paper, candidate), "{name}: {candidate}: {says}");
        }
        for (_, workload, metric, _) in points(&claim) {
            let of_it = || paper.tables.iter().filter(|t| t.workloads().any(|w| w == workload));
            let printed = of_it().any(|table| table.metrics.iter().any(|m| m == metric));
            let unmatched = of_it().any(|t| t.unmatched.is_some() && t.metrics.iter().any(|m| m == metric));
            let declared = known(workload).map(|known| declared::find(&known, metric).is_some());
            assert!(declared.unwrap_or(true) || unmatched, "{name}: nobody measures {metric} in {workload}");
            let is_papers = of_it().next().is_some();
            assert!(printed || !is_papers, "{name}: {metric} is in no table: {says}");
        }
    }
}

#[test]
fn a_claim_has_tests_or_says_why_not_and_each_test_has_its_sides() {
    for (name, _, claim) in claims() {
        let says = format!("{name}: {}", claim.says);
        assert_ne!(claim.tests.is_empty(), claim.untested.is_none(), "{says}");
        assert!(claim.tests.is_empty() || !claim.workloads.is_empty(), "{says}: in which workload?");
        for test in &claim.tests {
            assert!(!test.of.is_empty() && !test.metrics.is_empty(), "{says}");
            assert_eq!(test.has_others(), test.relation.is_of_pairs(), "{says}");
            assert!(test.of.iter().all(|one| !test.than.contains(one)), "{says}: compared with itself");
            assert!(
                test.relation.is_of_pairs() || test.of.len() > 1 || is_within(test),
                "{says}: of one alone"
            );
        }
    }
    assert!(claims().count() > 80);
}

fn is_within(test: &Test) -> bool {
    matches!(test.relation, Relation::Within(_))
}

/// A range in a claim has the unit in which the metric is declared, so that the values of a run can be compared with it.
#[test]
fn a_range_is_in_the_unit_of_its_metric() {
    for (name, paper, claim) in claims() {
        for (_, workload, metric, _) in points(&claim).into_iter().filter(|(test, ..)| is_within(test)) {
            let known = known(workload).unwrap_or_default();
            let Some(declared) = declared::find(&known, metric) else { continue };
            let units =
                paper.tables.iter().filter(|t| t.metrics.iter().any(|m| m == metric)).map(|t| &t.unit);
            assert!(units.clone().all(|unit| unit == declared.unit), "{name}: {metric}");
        }
    }
}

/// Some papers contradict themselves; the data must say so for exactly these claims.
#[test]
fn a_claim_says_so_exactly_where_the_papers_own_figures_contradict_it() {
    let mut seen = BTreeMap::new();
    for (name, paper, claim) in claims() {
        let standing = claim.judge(&|point| paper.printed(point));
        let is_contradicted = standing == Standing::Contradicted;
        assert_eq!(is_contradicted, claim.contradicted.is_some(), "{name}: {standing}: {}", claim.says);
        *seen.entry(standing.to_string()).or_insert(0) += 1;
    }
    assert_eq!(seen.len(), 3, "all that can become of a claim is seen: {seen:?}");
}

/// "Each sequence took about 7 minutes": the times of the tasks add up to that, within a tenth.
#[test]
fn the_times_of_the_eleven_tasks_add_up_to_what_is_said_of_all() {
    let paper = find("ivers-2006").expect("it is shipped");
    for kind in ["ext3-ordered", "reiserfs", "jfs", "xfs"] {
        let times = paper.tables.iter().filter(|table| table.unit == "s");
        let seconds: f64 = times.filter_map(|table| table.figures.get(kind)).flatten().sum();
        assert!((6.3..7.7).contains(&(seconds / 60.0)), "{kind}: {seconds} s");
    }
}

/// Every CPU share that Bonnie++ printed is a share of one CPU, so it is at most 100 %.
#[test]
fn a_share_is_at_most_all_of_it() {
    for (_, table) in all().filter(|(_, table)| table.unit == "%") {
        assert!(table.figures.values().flatten().all(|share| *share <= 100.0), "{}", table.place);
    }
}

#[test]
fn a_paper_fits_eighty_columns_and_shows_every_figure_and_every_claim() {
    for (name, paper) in papers() {
        let text = paper.shown();
        for line in text.lines() {
            assert!(line.chars().count() <= shown::WIDTH, "{name}: {line}");
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let figures = || paper.tables.iter().flat_map(|table| table.figures.values().flatten());
        for figure in figures() {
            assert!(words.contains(&figure.to_string().as_str()), "{name}: {figure} is not shown");
        }
        let flat = words.join(" ");
        let said = |c: &Claim| format!("{} ({}).", c.says.trim_end_matches('.'), c.place);
        assert!(paper.claims.iter().all(|c| flat.contains(&said(c))));
        assert_eq!(flat.matches("The paper's own figures ").count(), judged(&paper), "{name}");
    }
}

fn judged(paper: &Paper) -> usize {
    let standings = paper.claims.iter().map(|claim| claim.judge(&|point| paper.printed(point)));
    standings.filter(|standing| *standing != Standing::NotMeasured).count()
}

/// A claim with this test, parsed like the claims of papers.
fn claim(test: &str) -> Claim {
    let text = format!(
        "says = \"x\"\nplace = \"y\"\nworkloads = [\"w\"]\ntests = [{{ metrics = [\"m\"], {test} }}]"
    );
    toml::from_str(&text).unwrap_or_else(|e| panic!("{test}: {e}"))
}

/// The result of a test with made-up values: `a` is 3, `b` is 2 and `c` is 1, and in workload `v` they are twice as large. No other
/// candidate has a value.
fn standing(test: &str) -> Standing {
    claim(test).judge(&|point| {
        let value = match point.candidate {
            "a" => 3.0,
            "b" => 2.0,
            "c" => 1.0,
            _ => return None,
        };
        Some(if point.workload == "v" { 2.0 * value } else { value })
    })
}

#[test]
fn each_relation_holds_where_it_holds_and_is_contradicted_where_it_does_not() {
    let held = [
        r#"of = ["a"], than = ["b", "c"], relation = "more""#,
        r#"of = ["c"], than = ["a", "b"], relation = "less""#,
        r#"of = ["a"], than = ["b"], relation = { about = 1.4 }"#,
        r#"of = ["a"], than = ["b", "c"], relation = { ratio = [1.5, 3.0] }"#,
        r#"of = ["a"], than = ["c"], relation = { at_least = 3.0 }"#,
        r#"of = ["a", "b", "c"], relation = "falling""#,
        r#"of = ["c", "b", "a"], relation = "rising""#,
        r#"of = ["a", "b"], relation = { within = [2.0, 3.0] }"#,
        r#"of = ["a", "b"], relation = { similar = 1.5 }"#,
        r#"of = ["a", "b"], than = ["c"], relation = { highest = 2 }"#,
        r#"of = ["c"], than = ["a", "b"], relation = { lowest = 1 }"#,
        r#"of = ["a", "b"], than_workload = "v", relation = "less""#,
    ];
    let contradicted = [
        r#"of = ["a", "b"], than = ["b"], relation = "more""#,
        r#"of = ["c"], than = ["a", "c"], relation = "less""#,
        r#"of = ["a"], than = ["b"], relation = { about = 1.3 }"#,
        r#"of = ["a"], than = ["b", "c"], relation = { ratio = [1.6, 3.0] }"#,
        r#"of = ["a"], than = ["b"], relation = { at_least = 2.0 }"#,
        r#"of = ["a", "c", "b"], relation = "falling""#,
        r#"of = ["c", "b", "b"], relation = "rising""#,
        r#"of = ["a", "b"], relation = { within = [2.0, 2.9] }"#,
        r#"of = ["b", "a"], relation = { similar = 1.4 }"#,
        r#"of = ["b"], than = ["a", "c"], relation = { highest = 1 }"#,
        r#"of = ["b", "c"], than = ["a"], relation = { lowest = 1 }"#,
        r#"of = ["a", "b"], than_workload = "v", relation = "more""#,
    ];
    held.iter().for_each(|test| assert_eq!(standing(test), Standing::Held, "{test}"));
    contradicted.iter().for_each(|test| assert_eq!(standing(test), Standing::Contradicted, "{test}"));
}

#[test]
fn what_is_missing_holds_a_claim_open_unless_what_is_there_contradicts_it() {
    let open = [
        r#"of = ["a"], than = ["b", "nobody"], relation = "more""#,
        r#"of = ["a", "nobody"], relation = { within = [1.0, 5.0] }"#,
        r#"of = ["a"], than = ["nobody"], relation = { highest = 1 }"#,
        r#"of = ["nobody"], than = ["a"], relation = { lowest = 2 }"#,
        r#"of = ["a", "nobody", "b"], relation = "falling""#,
    ];
    open.iter().for_each(|test| assert_eq!(standing(test), Standing::NotMeasured, "{test}"));
    let settled = [
        r#"of = ["b"], than = ["a", "nobody"], relation = "more""#,
        r#"of = ["a", "nobody", "b"], relation = { within = [2.5, 5.0] }"#,
        r#"of = ["b"], than = ["a", "nobody"], relation = { highest = 1 }"#,
    ];
    settled.iter().for_each(|test| assert_eq!(standing(test), Standing::Contradicted, "{test}"));
    let untested = Claim { tests: Vec::new(), ..claim(settled[0]) };
    assert_eq!(untested.judge(&|_| Some(1.0)), Standing::NotMeasured);
}

#[test]
fn units_of_one_quantity_convert_and_others_do_not() {
    assert_eq!(factor("MiB/s", "KiB/s"), Some(1024.0));
    assert_eq!(factor("1/s", "1/s"), Some(1.0));
    assert_eq!(factor("1/s", "MiB/s"), None);
}
