//! Judges a paper's claims by runs of its experiments, and puts its tables beside them.
//!
//! ```text
//! runs ── one column per testbed and era ──▶ for each claim: its comparisons, each with a range of `analysis::range`
//!                                    ──▶ gates ──▶ `papers::here`: holds, does not hold, cannot tell
//! ```

mod gates;
mod places;
mod ranges;
mod reasons;

use fsderby_stats::agreement;

use self::places::{Full, Place, Where};
use self::ranges::Runs;
use self::reasons::{Reason, Reasons, Sentence, Takes, by_claims, clause, flat, joined, once, together};
use super::known::Known;
use super::published::Ours;
use super::sections;
use crate::analysis::dataset::Dataset;
use crate::analysis::{metrics, verdict};
use crate::papers::here::{self, Here, Leg};
use crate::papers::{Claim, Paper, Table};
use crate::report::view::entry::Entry;
use crate::report::view::number::{count, list};
use crate::report::view::published::{Compared, Line};
use crate::report::view::reproduced::{
    ClaimShown, Column, Counts, Offer, Order, Ran, RangeShown, Reproduced,
};
use crate::report::view::row::Row;
use crate::schema::declared::{self, Declared};
use crate::schema::finding::Verdict;
use crate::schema::plan::Candidate;
use crate::schema::units::Scale;
use crate::store::Run;
use crate::workloads;

const PARTLY: &str = "lies partly inside and partly outside of the limits of the claim.";

/// More rounds than this are no advice.
const MOST_ROUNDS: f64 = 1000.0;

/// The page of a paper.
///
/// # Errors
/// If none of the runs has a workload and a filesystem of the paper: what each run has instead.
pub fn of(
    named: &str,
    paper: &Paper,
    runs: &[Run],
    known: Known,
    is_why: bool,
) -> Result<Reproduced, String> {
    let asked = asked(paper);
    let datasets: Vec<Dataset<'_>> = runs.iter().map(Dataset::of).collect();
    let verdicts: Vec<Verdict> =
        runs.iter().zip(&datasets).map(|(run, data)| verdict::of(run, data)).collect();
    let full = Full::of(paper);
    let mut columns: Vec<(Where, Vec<Place<'_>>)> = Vec::new();
    for ((run, dataset), verdict) in runs.iter().zip(&datasets).zip(&verdicts) {
        let places = Where::all(&run.plan).into_iter().map(|column| {
            let place = Place::of(paper, run, dataset, verdict, (&column, &asked));
            (column, place)
        });
        let (of_paper, others): (Vec<_>, Vec<_>) =
            places.partition(|(_, place)| !place.works.is_empty() && !place.candidates.is_empty());
        if let (true, Some((_, place))) = (of_paper.is_empty(), others.first()) {
            return Err(nothing_of(paper, place));
        }
        for (column, place) in of_paper {
            match columns.iter_mut().find(|(known, _)| *known == column) {
                Some((_, places)) => places.push(place),
                None => columns.push((column, vec![place])),
            }
        }
    }
    let columns = columns.into_iter().map(|(column, places)| {
        let here = Runs { paper, full: &full, places };
        here.column(column.title(), known)
    });
    let offer = |why: &crate::papers::Why| Offer { change: why.change.clone(), command: why.command.clone() };
    Ok(Reproduced {
        schema_version: 1,
        paper: named.to_owned(),
        title: format!("{}, {}", paper.title, paper.year),
        columns: columns.collect(),
        why: paper.reproduction.why.iter().filter(|_| is_why).map(offer).collect(),
        command: String::new(),
    })
}

fn nothing_of(paper: &Paper, place: &Place<'_>) -> String {
    let folder = place.run.folder.display();
    let works: Vec<String> = place.run.plan.workloads.iter().map(|work| work.label.clone()).collect();
    let kinds: Vec<String> = place.run.plan.candidates.iter().map(|c| c.label.clone()).collect();
    let has = if place.works.is_empty() { ("workload", works) } else { ("filesystem", kinds) };
    let experiments: Vec<&str> = paper.reproduction.runs.iter().map(|run| run.experiment.as_str()).collect();
    let experiments =
        if experiments.is_empty() { "its experiments".to_owned() } else { experiments.join(" or ") };
    format!(
        "{folder} has no {} of the paper; it has {}\n  try: a run of {experiments}, at any scale 1/N, with the experiment's \
         filesystems and options",
        has.0,
        list(&has.1)
    )
}

/// The metrics of all claims.
fn asked(paper: &Paper) -> Vec<&str> {
    let tests = paper.claims.iter().flat_map(|claim| &claim.tests);
    tests.flat_map(|test| test.metrics.iter().chain(&test.than_metric)).map(String::as_str).collect()
}

impl Runs<'_> {
    fn column(&self, title: String, known: Known) -> Column {
        let claims = self.paper.claims.iter().enumerate();
        let (claims, reasons): (Vec<ClaimShown>, Vec<Reasons>) =
            claims.map(|(at, claim)| self.claim(at + 1, claim, known)).unzip();
        let numbered = |of: fn(&Reasons) -> &Vec<Sentence>| {
            let of_claims = reasons.iter().enumerate().map(|(at, reasons)| (at + 1, of(reasons)));
            by_claims(of_claims.flat_map(|(number, all)| all.iter().map(move |one| (number, one.clone()))))
        };
        let (because, takes) = (numbered(|all| &all.because), numbered(|all| &all.takes));
        let (tables, missing) = self.tables(known);
        let margin = self.places.first().map_or(0.0, |place| place.run.plan.margin.0 / 100.0);
        let agreement = tables.iter().fold(Order::default(), |sum, table| added(sum, table, margin));
        let counts = claims.iter().fold(Counts::default(), |mut counts, claim| {
            *match claim.verdict {
                Some(Here::Holds) => &mut counts.holds,
                Some(Here::DoesNotHold) => &mut counts.does_not_hold,
                Some(Here::CannotTell) => &mut counts.cannot_tell,
                None => &mut counts.untested,
            } += 1;
            counts
        });
        let runs = self.places.iter().map(Place::said).collect();
        Column { title, runs, counts, claims, because, takes, tables, missing, agreement }
    }

    /// The claim, and for the column's lists why it has no verdict.
    fn claim(&self, number: usize, claim: &Claim, known: Known) -> (ClaimShown, Reasons) {
        let legs = claim.legs(self);
        let here = here::together(&legs);
        let partly: Vec<_> =
            legs.iter().filter(|leg| leg.here == Here::CannotTell && leg.seen.is_ok()).collect();
        let (summed, mut own) = match &claim.untested {
            Some(why) => (None, Reasons { because: vec![flat(why).into()], takes: Vec::new() }),
            None if here == Here::CannotTell => {
                let reasons: Vec<&Reason> = legs.iter().filter_map(|leg| leg.seen.as_ref().err()).collect();
                let of_partly = partly.iter().filter_map(|leg| self.to_tell(leg));
                let takes = reasons.iter().flat_map(|reason| reason.takes.clone()).chain(of_partly).collect();
                let because = joined(reasons.iter().flat_map(|reason| reason.because.clone()));
                (summed(&legs, here, known), Reasons { because, takes: together(takes) })
            }
            None => (summed(&legs, here, known), Reasons::default()),
        };
        let texts = |all: &[Sentence]| all.iter().map(Sentence::text).collect::<Vec<_>>();
        let shown = ClaimShown {
            number,
            says: claim.says.clone(),
            place: claim.place.clone(),
            verdict: claim.untested.is_none().then_some(here),
            because: summed.into_iter().chain(texts(&own.because)).collect(),
            takes: texts(&own.takes),
            contradicted: claim.contradicted.as_deref().map(flat),
            ranges: legs.iter().map(|leg| shown(leg, known)).collect(),
        };
        if here == Here::CannotTell && !partly.is_empty() {
            own.because.insert(0, format!("A range {PARTLY}").into());
        }
        (shown, own)
    }

    /// What it would take for a range that lies partly outside of its claim.
    fn to_tell(&self, leg: &Leg<Reason>) -> Option<Takes> {
        let [low, high] = leg.seen.as_ref().ok()?.map(f64::ln);
        if self.places.iter().any(Place::is_modelled) {
            let is_scaled = !metrics::is_before_work(&leg.metric)
                && self.places.iter().any(|place| place.works.iter().any(|(.., scale)| scale.shrinks()));
            let text = "a difference larger than the model's uncertainty, because further rounds do not narrow this range";
            return Some(match is_scaled {
                true => Takes::OrScale(format!("a larger scale, or {text}")),
                false => Takes::Other(text.into()),
            });
        }
        let (middle, half) = ((low + high) / 2.0, (high - low) / 2.0);
        let ends = leg.allowed.map(f64::ln);
        let near = ends.iter().filter(|end| end.is_finite()).map(|end| (middle - end).abs());
        let near = near.fold(f64::INFINITY, f64::min);
        let n = self.places.iter().map(|place| f64::from(place.verdict.basis.complete())).fold(0.0, f64::max);
        let rounds = (n * (half / near).powi(2)).ceil();
        Some(Takes::Other(Sentence::from(match rounds <= MOST_ROUNDS {
            true => format!("about {rounds:.0} rounds at the noise of this run"),
            false => format!("more than {MOST_ROUNDS:.0} rounds at the noise of this run"),
        })))
    }

    /// The paper's tables with figures of these runs, and those without, each with the reason.
    fn tables(&self, known: Known) -> (Vec<Compared>, Vec<String>) {
        let (mut tables, mut missing) = (Vec::new(), Vec::new());
        for table in &self.paper.tables {
            let named = || format!("{} ({})", table.place, table.workloads().collect::<Vec<_>>().join(", "));
            if let Some(why) = &table.unmatched {
                once(&mut missing, format!("{}: {}.", named(), clause(why)));
            } else if table.figures.is_empty() {
                once(&mut missing, format!("{}: the paper prints no figures.", named()));
            } else if !table.is_comparable() {
                once(
                    &mut missing,
                    format!("{}: no single workload of fsderby measures all these figures.", named()),
                );
            } else {
                let found = self.places.iter().filter_map(|place| self.table(place, table, known));
                let before = tables.len();
                tables.extend(found);
                if tables.len() == before {
                    once(&mut missing, format!("{}: no run of this workload.", named()));
                }
            }
        }
        for candidate in &self.paper.candidates {
            missing.extend(candidate.missing.as_ref().map(|why| {
                let printed = candidate.printed.as_ref().unwrap_or(&candidate.name);
                format!("{printed} cannot be run here: {}.", clause(why))
            }));
        }
        (tables, missing)
    }

    fn table(&self, place: &Place<'_>, table: &Table, known: Known) -> Option<Compared> {
        let (label, scale) = place.work(&table.workload)?;
        let work = place.dataset_of(label)?;
        let declared = declared_of(&table.workload, known);
        let sections = sections::of(&work.series, &declared, place.is_modelled());
        let rows: Vec<&Row> = sections.iter().flat_map(|section| &section.rows).collect();
        let entry =
            |candidate: &&Candidate| Entry { is_plain: true, ..super::entry(place.run, &candidate.label) };
        let compared: Vec<Entry> = place.candidates.iter().map(entry).collect();
        let (averages, margin) = (self.paper.averages, place.run.plan.margin);
        let ours = Ours { rows: &rows, compared: &compared, declared: &declared, averages, margin };
        let mut compared = ours.beside(table.clone()).filter(|compared| compared.is_measured)?;
        if scale.shrinks() {
            compared.sentences.insert(
                0,
                format!("This run did {scale} of the paper's work, so times and counts of the work differ."),
            );
        }
        Some(compared)
    }
}

impl Place<'_> {
    /// `scale 1/16, 32 MiB of memory, 13 rounds, Linux 6.12`
    fn said(&self) -> Ran {
        let mut scales: Vec<String> = self
            .works
            .iter()
            .map(
                |(_, _, Scale { of, by })| {
                    if of == by { "full size".to_owned() } else { format!("scale {of}/{by}") }
                },
            )
            .collect();
        scales.sort();
        scales.dedup();
        let setup = self.candidates.first().map(|candidate| self.run.plan.setup(candidate));
        let memory = setup.and_then(|setup| setup.memory).map(|memory| format!("{memory} of memory"));
        let rounds = count(self.verdict.basis.complete() as usize, "complete round");
        let kernels = self.run.machine.setups.iter().map(|setup| format!("Linux {}", setup.kernel));
        let mut said = scales;
        said.extend(memory);
        said.push(rounds);
        kernels.for_each(|kernel| once(&mut said, kernel));
        Ran { folder: self.run.folder.display().to_string(), said: said.join(", ") }
    }
}

/// How many comparisons lie inside, outside, or neither.
fn summed(legs: &[Leg<Reason>], here: Here, known: Known) -> Option<String> {
    let number = |wanted| legs.iter().filter(|leg| leg.here == wanted).count();
    let all = count(legs.len(), "comparison");
    match here {
        Here::Holds if legs.len() == 1 => Some("The range lies within the limits of the claim.".into()),
        Here::Holds => Some(format!("The ranges of all {all} lie within the limits of the claim.")),
        Here::DoesNotHold => {
            let first = legs.iter().find(|leg| leg.here == here)?;
            let [_, metric, what, range, claimed, _] = shown(first, known).cells();
            let example = format!("{metric}: {what}: {range} here, {claimed} claimed.");
            Some(match legs.len() {
                1 => format!("The range lies wholly outside of the limits of the claim: {example}"),
                _ => format!(
                    "The range of {} of {all} lies wholly outside of the limits of the claim. First such comparison: \
                     {example}",
                    number(here)
                ),
            })
        }
        Here::CannotTell => {
            let open = legs.iter().filter(|leg| leg.here == here && leg.seen.is_ok()).count();
            (open > 0).then(|| format!("The range of {open} of {all} {PARTLY}"))
        }
    }
}

fn shown(leg: &Leg<Reason>, known: Known) -> RangeShown {
    let declared = declared_of(&leg.workload, known);
    let found = declared::find(&declared, &leg.metric);
    let title = found.map_or(leg.metric.clone(), |declared| declared.heading().to_owned());
    let unit = found.map(|declared| declared.unit).filter(|unit| !unit.is_empty());
    // A ratio has no end at 0, and no value is infinite.
    let open = |end: f64| Some(end).filter(|end| end.is_finite() && *end != 0.0);
    let is_ratio = leg.what.contains('÷');
    RangeShown {
        workload: leg.workload.clone(),
        metric: leg.metric.clone(),
        title: match unit.filter(|_| !is_ratio) {
            Some(unit) => format!("{title}, {unit}"),
            None => title,
        },
        what: leg.what.clone(),
        allowed: leg.allowed.map(|end| if is_ratio { open(end) } else { Some(end) }),
        range: leg.seen.as_ref().ok().copied(),
        unusable: leg.seen.as_ref().err().and_then(|reason| reason.range).map(|ends| match is_ratio {
            true => ends.map(f64::exp),
            false => ends,
        }),
        verdict: leg.here,
    }
}

fn declared_of(workload: &str, known: Known) -> Vec<&'static Declared> {
    workloads::find(workload).map(|(engine, _)| (known.metrics)(engine.name())).unwrap_or_default()
}

/// The pairs of this table by their order.
fn added(sum: Order, table: &Compared, margin: f64) -> Order {
    let mut all = sum;
    for metric in 0..table.titles.len() {
        let figure = |line: &Line| {
            let figure = &line.figures[metric];
            figure.here.map(|here| (line.kind.clone(), figure.published, here))
        };
        let figures: Vec<(String, f64, f64)> = table.lines.iter().filter_map(figure).collect();
        for (at, a) in figures.iter().enumerate() {
            for b in figures[at + 1..].iter().filter(|b| b.0 != a.0) {
                *match agreement::order([a.1, b.1], [a.2, b.2], margin) {
                    agreement::Order::Same => &mut all.same,
                    agreement::Order::Opposite => &mut all.opposite,
                    agreement::Order::Tied => &mut all.tied,
                } += 1;
            }
        }
    }
    all
}
