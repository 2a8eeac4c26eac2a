//! The findings, by filesystem and by pair.

use serde::Serialize;

use super::beyond;
use super::floor::{Withheld, floor, share};
use super::number::{chance, count, named, ratio};
use super::row::Row;
use super::sentence::{Claim, Sentence};
use super::workload::WorkloadSummary;
use crate::analysis::ensemble::SAMPLES_NEEDED;
use crate::schema::finding::{Basis, Decider, Evidence, Finding, Found, Verdict};

/// The findings on one filesystem in one headline metric of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Standings {
    pub filesystem: String,
    pub better_than: Vec<String>,
    pub equivalent_to: Vec<String>,
    pub cannot_tell: Vec<String>,
}

/// The headline metrics that have findings.
pub fn judged(work: &WorkloadSummary) -> Vec<&Row> {
    work.rows().filter(|row| pairs(work, row).next().is_some()).collect()
}

/// The findings on one metric.
pub fn pairs<'w>(work: &'w WorkloadSummary, row: &Row) -> impl Iterator<Item = &'w Finding> {
    work.findings.iter().filter(|p| p.metric == row.name && p.dimensions == row.dimensions)
}

/// The findings on one metric, from the side of each filesystem.
pub fn standings(work: &WorkloadSummary, row: &Row) -> Vec<Standings> {
    let pairs: Vec<&Finding> = pairs(work, row).collect();
    let mut filesystems: Vec<&String> = Vec::new();
    for label in pairs.iter().flat_map(|p| [&p.a, &p.b]) {
        if !filesystems.contains(&label) {
            filesystems.push(label);
        }
    }
    let of = |label: &&String| {
        let others = |wanted: [Found; 2]| {
            let other = |pair: &&&Finding| match (pair.a == **label, pair.b == **label) {
                (true, _) => pair.finding == wanted[0],
                (_, true) => pair.finding == wanted[1],
                _ => false,
            };
            let name = |pair: &&Finding| if pair.a == **label { pair.b.clone() } else { pair.a.clone() };
            pairs.iter().filter(other).map(name).collect::<Vec<String>>()
        };
        Standings {
            filesystem: (*label).clone(),
            better_than: others([Found::Better, Found::Worse]),
            equivalent_to: others([Found::Equivalent; 2]),
            cannot_tell: others([Found::CannotTell; 2]),
        }
    };
    filesystems.iter().map(of).collect()
}

/// The headings of the columns of [`Standings`].
pub fn columns(verdict: &Verdict) -> [&'static str; 3] {
    match verdict.basis {
        Basis::Rounds { .. } => ["better than", "equivalent to", "not told apart from"],
        Basis::Samples { .. } => {
            ["better than", "equivalent to", "not told apart from: depends on the model"]
        }
    }
}

impl Standings {
    pub fn cells(&self) -> [String; 3] {
        let say = |others: &[String]| if others.is_empty() { "–".to_owned() } else { others.join(", ") };
        [say(&self.better_than), say(&self.equivalent_to), say(&self.cannot_tell)]
    }
}

/// The heading of the table of findings.
pub fn caption(row: &Row, verdict: &Verdict) -> String {
    let fewer = if row.stands_in { " (fewer is better; a ratio of 2 means half as many)" } else { "" };
    let (title, margin) = (format!("{}{fewer}", row.title), verdict.margin);
    match &verdict.basis {
        Basis::Rounds { alpha, .. } => format!(
            "{title}: findings over {rounds} rounds, smallest difference of interest {margin}, family-wise error rate {percent} %",
            rounds = verdict.basis.complete(),
            percent = (1000.0 * alpha).round() / 10.0
        ),
        Basis::Samples { .. } => {
            format!(
                "{title}: findings over all samples of the disk model, smallest difference of interest {margin}"
            )
        }
    }
}

/// A pair in the HTML report.
pub struct PairShown<'r> {
    pub pair: &'r Finding,
    pub finding: String,
    /// The ratio with its interval: `1.21 (0.95 – 1.60)`.
    pub ratio: String,
    /// The largest shift of the ratio by disk-model overhead.
    pub moved: String,
    /// How far other workload seeds shift the figure of each candidate.
    pub spreads: String,
    /// The lowest and the highest ratio over the instruction costs.
    pub costs: String,
    /// The worst corner: expected and measured.
    pub corner: String,
    pub deciders: Vec<DeciderShown>,
}

/// At most this many reasons are listed; the HTML report has the reasons of all pairs.
const REASONS: usize = 6;

/// At most this many factors are shown; factors on which the ratio was found to depend come first.
const DECIDERS_SHOWN: usize = 4;

pub struct DeciderShown {
    pub title: String,
    /// Whether the ratio was found to depend on this factor.
    pub is_named: bool,
    /// The ratio at the high level ÷ the ratio at the low level: `0.62 (0.55 – 0.70)`
    pub effect: String,
    /// The ratio at each level of the factor: `shorter 1.31, longer 0.84`.
    pub levels: String,
}

/// All pairs of one metric; pairs whose result depends on the model come first, ordered by descending spread.
pub fn shown<'r>(work: &'r WorkloadSummary, row: &Row) -> Vec<PairShown<'r>> {
    let mut pairs: Vec<&Finding> = pairs(work, row).collect();
    let spread = |p: &Finding| p.high.unwrap_or(p.ratio) / p.low.unwrap_or(p.ratio);
    pairs.sort_by(|a, b| {
        let open = |p: &Finding| p.finding == Found::CannotTell;
        open(b).cmp(&open(a)).then(spread(b).total_cmp(&spread(a)))
    });
    pairs.into_iter().map(pair_shown).collect()
}

impl PairShown<'_> {
    /// Whether the result depends on uncertain parameters of the disk.
    pub fn is_open(&self) -> bool {
        self.pair.finding == Found::CannotTell && Withheld::of(self.pair).is_none()
    }

    pub fn named(&self) -> impl Iterator<Item = &DeciderShown> {
        self.deciders.iter().filter(|decider| decider.is_named)
    }
}

fn pair_shown(pair: &Finding) -> PairShown<'_> {
    let finding = said(pair).text;
    let deciders = match &pair.evidence {
        Evidence::Samples { deciders, .. } => {
            let few = deciders.len().min(DECIDERS_SHOWN);
            &deciders[..few]
        }
        Evidence::Rounds { .. } => &[][..],
    };
    let moved = floor(pair).map_or_else(|| "–".to_owned(), |floor| share(floor.moves));
    let interval = match (pair.low, pair.high) {
        (Some(low), Some(high)) => format!(" ({} – {})", ratio(low), ratio(high)),
        _ => String::new(),
    };
    let ratio = format!("{}{interval}", ratio(pair.ratio));
    let (spreads, costs, corner) = (beyond::spreads(pair), beyond::costs(pair), beyond::corner(pair));
    let deciders = deciders.iter().map(decider).collect();
    PairShown { pair, finding, ratio, moved, spreads, costs, corner, deciders }
}

/// Why a pair is not told apart although its interval over the samples excludes 1; `None` for every other pair.
pub fn why_open(pair: &Finding) -> Option<String> {
    if !is_open_despite_interval(pair) {
        return None;
    }
    Withheld::of(pair).map(|withheld| withheld.why()).or_else(|| beyond::refuted(pair))
}

/// [`why_open`] in a few words.
pub fn why_open_briefly(pair: &Finding) -> Option<&'static str> {
    if !is_open_despite_interval(pair) {
        return None;
    }
    let withheld = Withheld::of(pair)
        .map(|_| "allowing for the disk model's overhead, the difference may lie within the margin");
    withheld.or_else(|| beyond::refuted_briefly(pair))
}

fn is_open_despite_interval(pair: &Finding) -> bool {
    let excludes_one = pair.low.is_some_and(|low| low > 1.0) || pair.high.is_some_and(|high| high < 1.0);
    pair.finding == Found::CannotTell && excludes_one
}

/// The reasons of one metric's pairs, a sentence each. If there are many, the last sentence gives the number of further reasons.
pub fn reasons(work: &WorkloadSummary, row: &Row) -> Vec<String> {
    let open: Vec<(&Finding, String)> =
        pairs(work, row).filter_map(|pair| Some((pair, why_open(pair)?))).collect();
    let said = |(pair, why): &(&Finding, String)| {
        let (low, high) = (pair.low.unwrap_or(pair.ratio), pair.high.unwrap_or(pair.ratio));
        let (a, b) = (named(&pair.a), named(&pair.b));
        format!(
            "The ratio {a} ÷ {b} ({low} to {high}) is no finding: {why}.",
            low = ratio(low),
            high = ratio(high)
        )
    };
    let mut reasons: Vec<String> = open.iter().take(REASONS).map(said).collect();
    if open.len() > REASONS {
        let more = count(open.len() - REASONS, "more pair");
        reasons.push(format!("The HTML report has the reasons for {more}."));
    }
    reasons
}

/// A finding in words, with its reason.
pub fn said(pair: &Finding) -> Sentence {
    let text = match &pair.evidence {
        Evidence::Samples { a_better, within_margin, b_better, .. } => match Withheld::of(pair) {
            Some(withheld) => format!("withheld: {}", withheld.why()),
            None => over_samples(pair, [*a_better, *within_margin, *b_better]),
        },
        Evidence::Rounds { p, smallest, rounds_to_equivalent } => {
            over_rounds(pair, *p, *smallest, *rounds_to_equivalent)
        }
    };
    Sentence::new(text, Vec::from_iter(Claim::of(pair)))
}

fn over_samples(pair: &Finding, [a_better, within_margin, b_better]: [u32; 3]) -> String {
    let Finding { a, b, n, .. } = pair;
    let held = |held: u32| {
        format!("held in {held} of {n} samples, at every CPU cost and on the least favourable disk")
    };
    if let Some(why) = beyond::refuted(pair) {
        return format!("not told apart: {why}");
    }
    match pair.finding {
        Found::Better => format!("{a} is better ({})", held(a_better)),
        Found::Worse => format!("{b} is better ({})", held(b_better)),
        Found::Equivalent => format!("equivalent ({})", held(within_margin)),
        Found::CannotTell if *n < SAMPLES_NEEDED as u32 => {
            format!("preliminary: {}", count(*n as usize, "sample"))
        }
        Found::CannotTell => format!(
            "not told apart: depends on the model (ratio above 1 in {a_better} samples, within the margin in {within_margin}, below 1 in {b_better})"
        ),
    }
}

/// A finding over rounds in words: `alderfs is better (p = 0.002)`.
fn over_rounds(pair: &Finding, p: Option<f64>, smallest: Option<f64>, to_equivalent: Option<u32>) -> String {
    let Finding { a, b, n, .. } = pair;
    let p = p.map_or_else(String::new, |p| format!(" ({})", chance(p)));
    let smallest = smallest.map_or_else(String::new, |times| {
        format!("; the smallest ratio detected with 80 % power is {ratio}", ratio = ratio(times))
    });
    let rounds =
        to_equivalent.map_or_else(String::new, |n| format!("; showing equivalence takes about {n} rounds"));
    match pair.finding {
        Found::Better => format!("{a} is better{p}"),
        Found::Worse => format!("{b} is better{p}"),
        Found::Equivalent => format!("equivalent in {n} rounds"),
        Found::CannotTell => format!("not told apart{p}{smallest}{rounds}"),
    }
}

fn decider(decider: &Decider) -> DeciderShown {
    let levels =
        decider.ends().into_iter().zip(decider.ratios).map(|(name, r)| format!("{name} {}", ratio(r)));
    DeciderShown {
        title: decider.title(),
        is_named: decider.is_named,
        effect: format!("{} ({} – {})", ratio(decider.effect), ratio(decider.low), ratio(decider.high)),
        levels: levels.collect::<Vec<String>>().join(", "),
    }
}
