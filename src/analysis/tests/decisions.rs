//! Decisions that publications drew from figures, stated as needs; and decisions that must not follow from figures.

use crate::analysis::criteria::{Missing, Need};
use crate::analysis::dataset::{Cell, Dataset, Series, Value, Work};
use crate::analysis::recommendation::*;
use crate::schema::finding::{self, Basis, Evidence, Finding, Found, Verdict};
use crate::schema::metric::{Better, Of, Owner};
use crate::schema::needs::{Aspect, Needs, Required};
use crate::schema::units::Percent;

/// A metric: its name, which direction is better, and a figure for each filesystem; 0 means no figure.
type Row<'r> = (&'r str, Better, &'r [f64]);

fn series((name, better, figures): &Row<'_>, filesystems: &[&str]) -> Series {
    let cell = |(filesystem, figure): (&&str, &f64)| {
        // A round scales all values by the same factor.
        let value = |round: u32| Value {
            trial: format!("r{round:02}/{name}/{filesystem}").into(),
            round,
            value: figure * (1.0 + 0.07 * f64::from(round)),
        };
        let values: Vec<Value> = if *figure > 0.0 { (1..=3).map(value).collect() } else { Vec::new() };
        let filesystem = (*filesystem).to_owned();
        Cell { filesystem, n: values.len(), median: None, min: None, max: None, values }
    };
    Series {
        name: (*name).to_owned(),
        dimensions: String::new(),
        quantities: Vec::new(),
        work: Owner::default(),
        unit: "s".into(),
        of: Of::Time,
        better: *better,
        headline: aspect_of(name).is_none(),
        stands_in: false,
        once: false,
        cells: filesystems.iter().zip(*figures).map(cell).collect(),
    }
}

fn dataset(filesystems: &[&str], works: &[(&str, &[Row<'_>])]) -> Dataset<'static> {
    let labels: Vec<String> = filesystems.iter().map(|label| (*label).to_owned()).collect();
    let work = |(label, rows): &(&str, &[Row<'_>])| Work {
        label: (*label).to_owned(),
        counted: Vec::new(),
        extras: Vec::new(),
        series: rows.iter().map(|row| series(row, filesystems)).collect(),
    };
    Dataset { planned: labels.clone(), filesystems: labels, workloads: works.iter().map(work).collect() }
}

fn aspect_of(metric: &str) -> Option<Aspect> {
    Aspect::ALL.into_iter().find(|aspect| aspect.name() == metric)
}

fn recommended(dataset: &Dataset<'_>, needs: &str) -> Recommendation {
    with_lacks(dataset, needs, &|_| Vec::new())
}

fn with_lacks(dataset: &Dataset<'_>, needs: &str, lacks: &dyn Fn(&str) -> Vec<Lack>) -> Recommendation {
    let needs: Needs = toml::from_str(needs).unwrap();
    let margin = Percent(3.0);
    let candidates = &dataset.filesystems;
    let asked = Asked { dataset, candidates, needs: &needs, margin, lacks, aspect_of: &aspect_of };
    recommend(&asked, &by_margin(margin))
}

fn chosen(recommendation: &Recommendation) -> &str {
    recommendation.choice.as_ref().map_or("", |choice| &choice.filesystem)
}

fn order(recommendation: &Recommendation) -> Vec<&str> {
    recommendation.ranking.iter().map(|place| place.filesystem.as_str()).collect()
}

const LESS: Better = Better::Lower;
const MORE: Better = Better::Higher;

/// A Celeron of 533 MHz with a disk of 160 GB and Linux 2.6.15: ext3, ReiserFS, JFS and XFS in everyday tasks.
fn old_hardware() -> Dataset<'static> {
    let capacity: Row<'_> = ("capacity", MORE, &[92.77, 99.83, 99.82, 99.95]);
    let mkfs: Row<'_> = ("mkfs", LESS, &[14.7, 2.2, 1.3, 0.7]);
    let mount: Row<'_> = ("mount", LESS, &[0.2, 2.3, 0.2, 0.5]);
    let unmount: Row<'_> = ("unmount", LESS, &[0.2, 0.4, 0.2, 0.2]);
    dataset(
        &["ext3", "reiserfs", "jfs", "xfs"],
        &[
            (
                "large files",
                &[
                    ("copy.time", LESS, &[38.2, 41.8, 35.1, 34.8]),
                    ("copy-again.time", LESS, &[37.3, 43.9, 39.4, 33.1]),
                    ("cpu", LESS, &[0.49, 0.51, 0.42, 0.48]),
                    capacity,
                    mkfs,
                    mount,
                    unmount,
                ],
            ),
            (
                "tree",
                &[
                    ("copy.time", LESS, &[158.3, 172.1, 180.1, 166.1]),
                    ("copy-again.time", LESS, &[120.0, 136.9, 151.0, 135.2]),
                    ("delete.time", LESS, &[22.0, 8.2, 12.5, 10.5]),
                    ("cpu", LESS, &[0.32, 0.45, 0.27, 0.36]),
                ],
            ),
            (
                "directories",
                &[
                    ("list.time", LESS, &[2.5, 1.4, 3.1, 1.8]),
                    ("find.time", LESS, &[4.6, 0.8, 5.0, 2.8]),
                    ("cpu", LESS, &[0.20, 0.54, 0.20, 0.40]),
                ],
            ),
        ],
    )
}

/// "XFS seems to be a good balance": the most of the disk, quick to make and mount, fast, with CPU use that an old machine bears.
#[test]
fn all_merits_together_give_the_balanced_one() {
    let needs = "workloads = 4\ncpu = 1\ncapacity = 1\nmkfs = 0.5\nmount = 0.5\nunmount = 0.5";
    let all = recommended(&old_hardware(), needs);
    assert_eq!(chosen(&all), "xfs", "{:?}", order(&all));
    assert_eq!(all.rounds, 3);
    // "JFS is the one that uses the least CPU": if the weight of CPU time is multiplied by the tipping factor, JFS is the choice.
    let cpu = all.needs.iter().find(|weighed| weighed.need == Need::Aspect(Aspect::Cpu)).unwrap();
    let more = cpu.more.as_ref().unwrap();
    assert_eq!(more.filesystem, "jfs");
    assert!(more.factor > 1.2 && more.factor < 10.0, "{more:?}");
    let tipped = format!("{needs}\n").replace("cpu = 1", &format!("cpu = {}", more.factor * 1.001));
    assert_eq!(chosen(&recommended(&old_hardware(), &tipped)), "jfs");
    let not_yet = format!("{needs}\n").replace("cpu = 1", &format!("cpu = {}", more.factor * 0.999));
    assert_eq!(chosen(&recommended(&old_hardware(), &not_yet)), "xfs");
}

/// "Fast and demanding (ReiserFS and XFS), slower with less CPU (ext3 and JFS)", of listing and finding.
#[test]
fn fast_and_demanding_and_slower_with_less_cpu_are_two_answers_to_two_needs() {
    let listing = |cpu: f64| {
        let needs = format!("cpu = {cpu}\n[workload]\ndirectories = {{ 'list.time' = 1, 'find.time' = 1 }}");
        recommended(&old_hardware(), &needs)
    };
    let fast = listing(0.5);
    assert_eq!(order(&fast)[..2], ["reiserfs", "xfs"]);
    let frugal = listing(20.0);
    assert_eq!(order(&frugal)[..2], ["ext3", "jfs"]);
    // Both groups have members in front, so each is the answer to some need; of the two slow ones ext3 is the faster.
    let in_front: Vec<&str> =
        fast.ranking.iter().filter(|p| p.behind.is_empty()).map(|p| p.filesystem.as_str()).collect();
    assert_eq!(in_front, ["reiserfs", "xfs", "ext3"]);
}

/// "The second place was a hard fight; in the end CPU use decided, which gave it to the economical XFS."
#[test]
fn cpu_time_decides_a_draw() {
    let three_in_a_draw = dataset(
        &["ext2", "ext3-journal", "reiserfs", "jfs", "xfs"],
        &[(
            "bonnie and iozone",
            &[
                ("throughput", MORE, &[47.2, 19.0, 48.0, 55.0, 47.6]),
                ("cpu", LESS, &[1.6, 1.5, 3.4, 1.1, 1.2]),
            ],
        )],
    );
    let with_draw = recommended(&three_in_a_draw, "workloads = 1\ndraw = 'cpu'");
    assert_eq!(order(&with_draw), ["jfs", "xfs", "ext2", "reiserfs", "ext3-journal"]);
    assert_eq!(with_draw.ranking[0].ratios[1], Some(1.0), "what decides is shown, though it has no weight");
    let speed_alone = recommended(&three_in_a_draw, "workloads = 1");
    assert_eq!(order(&speed_alone)[..2], ["jfs", "reiserfs"]);
    // Without the winner, the draw is about the choice itself, and the recommendation says so.
    let second = dataset(
        &["ext2", "reiserfs", "xfs"],
        &[(
            "bonnie and iozone",
            &[("throughput", MORE, &[47.2, 48.0, 47.6]), ("cpu", LESS, &[1.6, 3.4, 1.2])],
        )],
    );
    let choice = recommended(&second, "workloads = 1\ndraw = 'cpu'").choice.unwrap();
    assert_eq!((choice.filesystem.as_str(), choice.draw), ("xfs", Some(Aspect::Cpu)));
    assert_eq!((choice.drawn_with, choice.ties), (vec!["ext2".into(), "reiserfs".into()], vec![]));
    let ties = recommended(&second, "workloads = 1").choice.unwrap().ties;
    assert_eq!(ties, ["xfs", "ext2"], "within the margin of the fastest, and said to be");
}

#[test]
fn what_is_required_rules_out_whoever_lacks_it_however_good() {
    let lack = Lack { required: Required::Journal, said: String::new(), source: "its manual".into() };
    let two = dataset(&["fast", "safe"], &[("work", &[("rate", MORE, &[100.0, 40.0])])]);
    let lacks = |label: &str| if label == "fast" { vec![lack.clone()] } else { Vec::new() };
    let recommendation = with_lacks(&two, "workloads = 1\nrequire = ['journal']", &lacks);
    assert_eq!(chosen(&recommendation), "safe");
    assert_eq!(recommendation.ruled_out[0].filesystem, "fast");
    assert_eq!(recommendation.ranking[0].score, 1.0, "ratios are to the best of those that are left");
    let none = with_lacks(&two, "workloads = 1", &|_| vec![lack.clone()]);
    assert!(none.choice.is_none() && none.ruled_out.len() == 2);
}

#[test]
fn without_figures_there_is_no_recommendation_and_a_need_without_any_is_named() {
    let nothing = dataset(&["a", "b"], &[("work", &[("rate", MORE, &[0.0, 0.0])])]);
    let none = recommended(&nothing, "workloads = 1\ncpu = 1");
    assert!(none.choice.is_none() && none.ranking.is_empty());
    assert!(none.needs.iter().all(|weighed| weighed.missing == Some(Missing::NotMeasured)));
    let speed_alone = dataset(&["a", "b"], &[("work", &[("rate", MORE, &[2.0, 1.0])])]);
    let some = recommended(&speed_alone, "workloads = 1\nrecovery = 5");
    assert_eq!(chosen(&some), "a");
    let missing: Vec<&Need> = some.needs.iter().filter(|w| w.missing.is_some()).map(|w| &w.need).collect();
    assert_eq!(missing, [&Need::Aspect(Aspect::Recovery)]);
    assert_eq!(some.needs[0].share, 1.0, "what could be judged is the whole");
}

#[test]
fn who_has_no_figure_that_others_have_is_not_ranked() {
    let two = dataset(
        &["a", "b", "c"],
        &[("one", &[("rate", MORE, &[1.0, 2.0, 9.0])]), ("two", &[("rate", MORE, &[1.0, 2.0, 0.0])])],
    );
    let recommendation = recommended(&two, "workloads = 1");
    assert_eq!(order(&recommendation), ["b", "a"]);
    assert_eq!(recommendation.unjudged[0].filesystem, "c");
    assert_eq!(recommendation.unjudged[0].needs, [Need::Workload("two".into())]);
    assert_eq!(recommendation.ranking[1].behind, ["b"], "worse in everything");
    let figures = &recommendation.needs[0].judged_by[0].figures;
    assert!((figures[0].ratio - 0.5).abs() < 1e-12 && figures[1].ratio == 1.0);
}

/// Differences within the margin are equal, so three candidates can each be ahead of the next in a cycle. A candidate is behind
/// only if one ahead of it has a larger score.
#[test]
fn a_circle_of_small_differences_leaves_a_choice() {
    let circle = dataset(
        &["a", "b", "c"],
        &[(
            "work",
            &[
                ("x", MORE, &[104.0, 100.0, 102.0]),
                ("y", MORE, &[100.0, 102.0, 104.5]),
                ("z", MORE, &[102.0, 104.0, 100.0]),
            ],
        )],
    );
    let recommendation = recommended(&circle, "workloads = 1");
    let choice = recommendation.choice.as_ref().unwrap();
    assert!(recommendation.ranking[0].behind.is_empty());
    assert_eq!(choice.ties.len(), 2);
}

/// Where there are findings, a difference that may be chance dominates no candidate; without a finding the margin decides.
#[test]
fn the_findings_say_who_is_behind_where_there_are_any() {
    let two =
        dataset(&["a", "b"], &[("work", &[("rate", MORE, &[100.0, 90.0]), ("cpu", LESS, &[1.0, 1.2])])]);
    let behind = |found: Option<Found>| {
        let finding = |found| Finding {
            finding: found,
            scenario: "work".into(),
            metric: "rate".into(),
            dimensions: String::new(),
            a: "b".into(),
            b: "a".into(),
            ratio: 0.9,
            low: None,
            high: None,
            n: 3,
            evidence: Evidence::Rounds { p: None, smallest: None, rounds_to_equivalent: None },
        };
        let verdict = Verdict {
            schema: finding::SCHEMA,
            records: 6,
            basis: Basis::Rounds { complete: 3, needed: 10, alpha: 0.0, earlier: Vec::new() },
            margin: Percent(3.0),
            findings: found.map(finding).into_iter().collect(),
            ranks: Vec::new(),
            overall: Vec::new(),
            guard: None,
            cpu: Vec::new(),
            recommendation: None,
        };
        let needs: Needs = toml::from_str("workloads = 1\ncpu = 1").unwrap();
        let (lacks, candidates) = (|_: &str| Vec::new(), &two.filesystems);
        let asked = Asked {
            dataset: &two,
            candidates,
            needs: &needs,
            margin: Percent(3.0),
            lacks: &lacks,
            aspect_of: &aspect_of,
        };
        recommend(&asked, &by_findings(&verdict)).ranking[1].behind.clone()
    };
    assert_eq!(behind(Some(Found::Worse)), ["a"]);
    assert_eq!(behind(Some(Found::Equivalent)), ["a"], "it needs more CPU time");
    assert!(behind(Some(Found::CannotTell)).is_empty() && behind(Some(Found::Better)).is_empty());
    assert_eq!(behind(None), ["a"]);
}
