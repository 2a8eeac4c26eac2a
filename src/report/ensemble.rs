//! What the verdict over an ensemble of modelled disks says, in words and rows for every format.

use fsderby_diskmodel::{CpuSpeed, SHIPPED, Spec};
use serde::Serialize;

use super::chart::percent;
use super::number::{count, list};
use super::summary::{Row, WorkloadSummary, dimensions};
use crate::analysis::ensemble::{self, AGREEMENT, Decider, Finding, Pair, SAMPLES_NEEDED, sampled};
use crate::schema::setup::Sampled;
use crate::schema::units::{Bytes, Percent};
use crate::store::Run;
use crate::store::record::Record;

/// One filesystem and one headline metric of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Standings {
    pub filesystem: String,
    pub better_than: Vec<String>,
    pub equivalent_to: Vec<String>,
    pub cannot_tell: Vec<String>,
}

/// All findings on one workload's headline metrics; empty where no disk was modelled.
pub fn pairs(rows: &[&Row], counted: &[&Record], workload: &str, margin: Percent) -> Vec<Pair> {
    if !counted.iter().any(|r| sampled(r).is_some()) {
        return Vec::new();
    }
    let of = |row: &&&Row| {
        let same = |m: &&crate::schema::metric::Metric| m.name == row.name && dimensions(m) == row.dimensions;
        let value = |record: &Record| Some(record.metrics.iter().find(same)?.value);
        let filesystems: Vec<String> = row.cells.iter().map(|c| c.filesystem.clone()).collect();
        ensemble::pairs((workload, &row.title), row.better, &filesystems, counted, margin, value)
    };
    rows.iter().filter(|row| row.headline).flat_map(|row| of(&row)).collect()
}

/// How many samples the workload that has the fewest complete ones was done in; `None` where no disk was modelled.
pub fn samples(run: &Run, counted: &[&Record]) -> Option<usize> {
    run.records.iter().find_map(sampled)?;
    Some(ensemble::samples(counted))
}

/// Whether the findings are findings, and not a look at a few samples.
pub fn is_verdict(workloads: &[WorkloadSummary]) -> bool {
    let mut pairs = workloads.iter().flat_map(|w| &w.ensemble).peekable();
    pairs.peek().is_some() && pairs.all(|pair| pair.finding != Finding::Look)
}

/// The verdict in three sentences.
pub fn sentences(workloads: &[WorkloadSummary], margin: Percent) -> Vec<String> {
    let pairs: Vec<&Pair> = workloads.iter().flat_map(|w| &w.ensemble).collect();
    let n = |finding: &[Finding]| pairs.iter().filter(|p| finding.contains(&p.finding)).count();
    let robust = n(&[Finding::ABetter, Finding::BBetter]);
    let (alike, open) = (n(&[Finding::Equivalent]), n(&[Finding::DependsOnModel]));
    let samples = pairs.iter().map(|p| p.samples).min().unwrap_or(0);
    let second = format!(
        "Of {}, {robust} {} by more than {margin} to the same side in at least {:.0} % of {samples} samples of disk, position and CPU, {alike} {} \
         equivalent, and of {open} one cannot tell: {} on the model.",
        count(pairs.len(), "comparison"),
        if robust == 1 { "differs" } else { "differ" },
        AGREEMENT * 100.0,
        if alike == 1 { "is" } else { "are" },
        if open == 1 { "it depends" } else { "they depend" },
    );
    vec![best(workloads), second, decides(&pairs)]
}

/// Who is better than all others, at which work.
fn best(workloads: &[WorkloadSummary]) -> String {
    let mut winners = Vec::new();
    let mut none = Vec::new();
    for (workload, metric) in metrics(workloads) {
        let standings = standings(workload, metric);
        let about = format!("{} ({metric})", workload.label);
        match standings.iter().find(|s| s.better_than.len() + 1 == standings.len()) {
            Some(winner) => winners.push(format!("{} at {about}", winner.filesystem)),
            None => none.push(about),
        }
    }
    let won = format!("Better than all others, robust to the disk model: {}", list(&winners));
    let lost = format!("no filesystem is better than all others at {}", list(&none));
    match (winners.is_empty(), none.is_empty()) {
        (false, true) => format!("{won}."),
        (false, false) => format!("{won}; {lost}."),
        _ => format!("Robust to the disk model, {lost}."),
    }
}

/// What the undecided pairs go with.
fn decides(pairs: &[&Pair]) -> String {
    let open: Vec<&&Pair> = pairs.iter().filter(|p| p.finding == Finding::DependsOnModel).collect();
    let mut first: Vec<(&'static str, usize)> = Vec::new();
    for title in open.iter().filter_map(|p| p.deciders.first()).map(|d| d.parameter.title()) {
        match first.iter_mut().find(|(t, _)| *t == title) {
            Some((_, n)) => *n += 1,
            None => first.push((title, 1)),
        }
    }
    first.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    match first.as_slice() {
        [] if open.is_empty() => "No pair depends on what is not known about the disk.".to_owned(),
        [] => "What decides them is none of the parameters that were varied.".to_owned(),
        [(title, 1)] if open.len() == 1 => format!("Its ratio goes most with {title}."),
        parts => {
            let parts: Vec<String> =
                parts.iter().map(|(title, n)| format!("{title} ({n} of {})", open.len())).collect();
            format!("Their ratios go most with {}.", list(&parts))
        }
    }
}

/// Each workload's headline metrics that were judged.
pub fn metrics(workloads: &[WorkloadSummary]) -> Vec<(&WorkloadSummary, &str)> {
    workloads.iter().flat_map(|w| judged(w).into_iter().map(move |metric| (w, metric))).collect()
}

pub fn judged(work: &WorkloadSummary) -> Vec<&str> {
    let mut titles: Vec<&str> = work.ensemble.iter().map(|p| p.metric.as_str()).collect();
    titles.dedup();
    titles
}

/// The findings on one metric, from the side of each filesystem.
pub fn standings(work: &WorkloadSummary, metric: &str) -> Vec<Standings> {
    let pairs: Vec<&Pair> = work.ensemble.iter().filter(|p| p.metric == metric).collect();
    let mut filesystems: Vec<&String> = Vec::new();
    for label in pairs.iter().flat_map(|p| [&p.a, &p.b]) {
        if !filesystems.contains(&label) {
            filesystems.push(label);
        }
    }
    let of = |label: &&String| {
        let others = |wanted: [Finding; 2]| {
            let other = |pair: &&&Pair| match (pair.a == **label, pair.b == **label) {
                (true, _) => pair.finding == wanted[0],
                (_, true) => pair.finding == wanted[1],
                _ => false,
            };
            let name = |pair: &&Pair| if pair.a == **label { pair.b.clone() } else { pair.a.clone() };
            pairs.iter().filter(other).map(name).collect::<Vec<String>>()
        };
        Standings {
            filesystem: (*label).clone(),
            better_than: others([Finding::ABetter, Finding::BBetter]),
            equivalent_to: others([Finding::Equivalent; 2]),
            cannot_tell: others([Finding::DependsOnModel; 2]),
        }
    };
    filesystems.iter().map(of).collect()
}

/// Heads the columns of [`Standings`].
pub const COLUMNS: [&str; 3] = ["better than", "equivalent to", "cannot tell: depends on the model"];

impl Standings {
    pub fn cells(&self) -> [String; 3] {
        let say = |others: &[String]| if others.is_empty() { "–".to_owned() } else { others.join(", ") };
        [say(&self.better_than), say(&self.equivalent_to), say(&self.cannot_tell)]
    }
}

/// What heads the table of findings.
pub fn caption(metric: &str, margin: Percent) -> String {
    format!(
        "{metric}: what at least {:.0} % of the samples agree on, with a margin of {margin}",
        AGREEMENT * 100.0
    )
}

/// A pair as the HTML report shows it.
pub struct PairShown<'r> {
    pub pair: &'r Pair,
    pub finding: String,
    /// `1.21 (0.95 – 1.60)`
    pub ratio: String,
    pub deciders: Vec<DeciderShown>,
}

pub struct DeciderShown {
    pub title: &'static str,
    pub share: String,
    pub width: String,
    /// `as specified 1.31, half 1.22, write-through 0.84`
    pub levels: String,
}

/// All pairs of one metric; those that depend on the model first, the widest spread at the top.
pub fn shown<'r>(work: &'r WorkloadSummary, metric: &str) -> Vec<PairShown<'r>> {
    let mut pairs: Vec<&Pair> = work.ensemble.iter().filter(|p| p.metric == metric).collect();
    let spread = |p: &Pair| p.ratio_most / p.ratio_least;
    pairs.sort_by(|a, b| {
        let open = |p: &Pair| p.finding == Finding::DependsOnModel;
        open(b).cmp(&open(a)).then(spread(b).total_cmp(&spread(a)))
    });
    pairs.into_iter().map(pair_shown).collect()
}

impl PairShown<'_> {
    pub fn is_open(&self) -> bool {
        self.pair.finding == Finding::DependsOnModel
    }
}

fn pair_shown(pair: &Pair) -> PairShown<'_> {
    let Pair { a, b, samples, a_better, within_margin, b_better, .. } = pair;
    let finding = match pair.finding {
        Finding::ABetter => format!("{a} is better ({a_better} of {samples} samples)"),
        Finding::BBetter => format!("{b} is better ({b_better} of {samples} samples)"),
        Finding::Equivalent => format!("equivalent ({within_margin} of {samples} samples)"),
        Finding::DependsOnModel => format!(
            "cannot tell: depends on the model ({a} better in {a_better}, {b} in {b_better}, equal in {within_margin})"
        ),
        Finding::Look => format!("{samples} samples are no verdict"),
    };
    PairShown {
        pair,
        finding,
        ratio: format!("{} ({} – {})", ratio(pair.ratio), ratio(pair.ratio_least), ratio(pair.ratio_most)),
        deciders: pair.deciders.iter().map(decider).collect(),
    }
}

fn decider(decider: &Decider) -> DeciderShown {
    let level = |l: &ensemble::Level| format!("{} {}", l.name, ratio(l.ratio));
    DeciderShown {
        title: decider.parameter.title(),
        share: format!("{:.0} %", 100.0 * decider.share),
        width: percent(100.0 * decider.share),
        levels: decider.levels.iter().map(level).collect::<Vec<String>>().join(", "),
    }
}

/// Three digits: `0.95`, `12.3`.
fn ratio(value: f64) -> String {
    match value {
        v if v < 0.1 => format!("{v:.3}"),
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// Why so many samples are none, and what would give them.
pub fn look(complete: usize, is_fixed: bool) -> String {
    let them = format!(
        "This is a look at the model, not a verdict: {} of the {SAMPLES_NEEDED} that a verdict needs {} complete.",
        count(complete, "sample"),
        if complete == 1 { "is" } else { "are" },
    );
    if is_fixed {
        let why = "The samples are off, so every round has the same disk and no number of rounds makes a verdict; a run without samples=off does.";
        return format!("{them} {why}");
    }
    them
}

/// The disk by its title, and the part of it that was used.
pub fn disk(run: &Run) -> Option<String> {
    let modelled = nominal(run)?;
    let title = SHIPPED.iter().find(|(name, _)| *name == modelled.disk);
    let title = title.and_then(|(_, text)| Spec::parse(text).ok()).map(|spec| spec.title().to_owned());
    let title = title.unwrap_or_else(|| modelled.disk.clone());
    let begin = match modelled.offset.0 {
        0 => "its beginning".to_owned(),
        _ => modelled.offset.to_string(),
    };
    let away = |m: Sampled| Bytes(m.offset.0.abs_diff(modelled.offset.0));
    let moved = match run.records.iter().filter_map(sampled).map(away).max() {
        None | Some(Bytes(0)) => String::new(),
        Some(most) => format!(", moved by up to {most} over the samples"),
    };
    Some(format!("a modelled disk ({title}; {} from {begin} on{moved})", run.plan.size))
}

/// `one modelled CPU of 500 million instructions a second (250 to 1,000 over the samples)`
pub fn cpu(run: &Run) -> Option<String> {
    let speeds = || run.records.iter().filter_map(sampled).map(|m| m.mips);
    let nominal = nominal(run)?.mips;
    let (least, most) = (speeds().min()?, speeds().max()?);
    let is_fastest =
        run.records.iter().filter_map(sampled).any(|m| m.sample.cpu == CpuSpeed::Double && m.mips == nominal);
    let ceiling = if is_fastest { ", none faster, as no faster one can be counted" } else { "" };
    let varied =
        if least == most { String::new() } else { format!(" ({least} to {most} over the samples{ceiling})") };
    Some(format!(
        "one modelled CPU of {nominal} million instructions a second{varied}, without caches or latency of memory"
    ))
}

fn nominal(run: &Run) -> Option<Sampled> {
    let records = || run.records.iter().filter_map(|r| Some((r.round, sampled(r)?)));
    records().min_by_key(|(round, _)| *round).map(|(_, modelled)| modelled)
}

/// What virtual time leaves out.
pub const LIMITS: &str = "Times are virtual: exact for the model, the same on every host, and no machine's own. An instruction always takes the same \
     time, as if it were a cycle.";

#[cfg(test)]
mod tests {
    use super::super::example_model;
    use super::super::heading::Standing;
    use super::*;
    use crate::schema::setup::Fidelity;

    #[test]
    fn twelve_draws_give_a_verdict_in_three_sentences() {
        let example = example_model::samples(12);
        let summary = example.report().summary;
        assert_eq!(summary.heading.standing, Standing::Verdict);
        let said = &summary.heading.sentences;
        assert_eq!(
            said[0],
            "Better than all others, robust to the disk model: cedarfs at letters-quick (transactions)."
        );
        assert!(said[1].contains("Of 6 comparisons, 5 differ by more than 3%"), "{}", said[1]);
        assert_eq!(said[2], "Its ratio goes most with the write cache.");
        assert!(summary.heading.brief.len() == 4 && summary.heading.next.is_none());
        let all = said.join(" ");
        assert!(
            all.contains("in virtual time on one modelled CPU of 500 million")
                && all.contains("without caches or latency")
        );
        assert!(
            !all.contains("image:") && !all.contains("Example 3000") && !all.contains("significant"),
            "{all}"
        );
    }

    #[test]
    fn a_cpu_that_no_draw_could_double_is_said_to_be_one() {
        let mut example = example_model::samples(12);
        assert!(!cpu(&example.run).is_some_and(|said| said.contains("faster")));
        for record in &mut example.run.records {
            example_model::change(record, |m| m.mips = [1000, 500, 1000][m.sample.cpu as usize]);
        }
        let said = cpu(&example.run).expect("a CPU");
        assert!(said.contains("1000 million") && said.contains("none faster"), "{said}");
    }

    #[test]
    fn eleven_draws_are_a_look_with_the_command_that_brings_the_twelfth() {
        let example = example_model::samples(11);
        let heading = example.report().summary.heading;
        assert_eq!(heading.title, "A look at the model, not a verdict");
        let next = heading.next.expect("a command");
        assert!(next.command.ends_with("--rounds 12"), "{}", next.command);
    }

    #[test]
    fn rounds_without_draws_never_make_a_verdict() {
        let mut example = example_model::samples(12);
        let first = example.run.records[0].clone();
        for record in &mut example.run.records {
            (record.storage, record.volume) = (first.storage.clone(), first.volume);
        }
        let heading = example.report().summary.heading;
        assert_eq!((heading.standing, heading.next), (Standing::Look, None));
        assert!(heading.sentences.last().is_some_and(|s| s.contains("samples=off")));
        let mut example = example_model::samples(1);
        assert!(example.report().summary.heading.next.is_some());
        example.run.records.iter_mut().for_each(|r| example_model::change(r, |m| m.ensemble = false));
        assert_eq!(example.report().summary.heading.next, None, "after the first round, too");
    }

    #[test]
    fn a_floor_bound_disk_ranks_nobody_by_time_and_says_why() {
        let mut example = example_model::samples(12);
        example.run.records.iter_mut().for_each(|r| r.fidelity = Fidelity::FloorBound);
        let summary = example.report().summary;
        assert!(summary.heading.sentences[0].starts_with("This disk is floor-bound"));
        assert!(summary.workloads[0].ensemble.is_empty());
        assert!(summary.workloads[0].rows().all(|row| row.of != crate::schema::metric::Of::Time));
    }

    #[test]
    fn each_sees_the_pair_from_its_side() {
        let example = example_model::samples(12);
        let summary = example.report().summary;
        let standings = standings(&summary.workloads[0], "transactions");
        let of = |label: &str| standings.iter().find(|s| s.filesystem == label).map(Standings::cells);
        assert_eq!(of("rowanfs"), Some(["–", "–", "–"].map(str::to_owned)));
        assert_eq!(of("birchfs"), Some(["rowanfs", "–", "alderfs"].map(str::to_owned)));
        let shown = shown(&summary.workloads[0], "transactions");
        assert!(shown[0].is_open() && !shown[1].is_open());
        assert_eq!(shown[0].deciders[0].title, "the write cache");
        assert!(shown[0].deciders[0].levels.contains("write-through 1.2"), "{}", shown[0].deciders[0].levels);
    }
}
