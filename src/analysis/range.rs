//! The range in which a ratio or a value lies, for the judgement of a published claim. It rests on the trials and intervals of the
//! findings: on modelled disks all samples, seeds, costs and corners, widened by the model error; elsewhere the simultaneous
//! interval of the run's last analysis.

use std::collections::BTreeMap;

use super::dataset::{Dataset, Series, Work};
use super::ensemble::{self, SAMPLES_NEEDED, Spanned};
use super::entrant::Entrant;
use super::robust::Lacking;
use super::rounds;
use crate::schema::finding::{Basis, Evidence, Finding, Verdict};
use crate::schema::metric::{Better, WORK};
use crate::store::Run;

/// A candidate's metric in a scenario of a run.
#[derive(Clone, Copy, Debug)]
pub struct Side<'s> {
    pub scenario: &'s str,
    pub metric: &'s str,
    pub at: &'s BTreeMap<String, String>,
    /// The candidate's label in the run.
    pub label: &'s str,
}

/// A range with its basis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Logarithms of a ratio, or a value in the metric's unit.
    pub ends: [f64; 2],
    /// Rounds or samples.
    pub n: usize,
    /// On a modelled disk: the model error, a logarithm, and whether it was assumed for all of the time.
    pub error: Option<(f64, bool)>,
    /// Whether the range narrows with further rounds.
    pub narrows: bool,
}

/// Why there is no range.
#[derive(Clone, Debug, PartialEq)]
pub enum Unknown {
    /// No valid trial has the metric.
    NotMeasured,
    /// The metric has this many combinations of dimensions, and the claim means their average.
    Averaged(usize),
    /// Fewer rounds or samples than needed.
    Few { has: usize, needed: usize },
    /// Extra trials on the modelled disk.
    Extras(Lacking),
    /// Two metrics or workloads, which only virtual time compares.
    NotPaired,
    /// The metrics have opposite directions.
    Opposed,
}

/// The ranges of one run. The non-headline metrics in `asked` form a family of tests of their own.
pub struct Ranges<'r> {
    run: &'r Run,
    dataset: &'r Dataset<'r>,
    basis: &'r Basis,
    findings: Vec<Finding>,
}

impl<'r> Ranges<'r> {
    pub fn of(run: &'r Run, dataset: &'r Dataset<'r>, verdict: &'r Verdict, asked: &[&str]) -> Self {
        let is_asked = |series: &Series| {
            series.better != Better::Neither
                && !series.once
                && !series.headline
                && asked.contains(&series.name.as_str())
        };
        let others = match (&verdict.basis, verdict.basis.looks().last()) {
            (Basis::Rounds { .. }, Some(look)) => rounds::findings_on(&run.plan, dataset, *look, &is_asked),
            _ => Vec::new(),
        };
        let findings = verdict.findings.iter().cloned().chain(others).collect();
        Ranges { run, dataset, basis: &verdict.basis, findings }
    }

    /// The range of the logarithm of value ÷ value, whichever way is better.
    ///
    /// # Errors
    /// What the run lacks.
    pub fn ratio(&self, of: &Side<'_>, than: &Side<'_>) -> Result<Range, Unknown> {
        let (a, b) = (self.entrant(of)?, self.entrant(than)?);
        if a.series.better != b.series.better {
            return Err(Unknown::Opposed);
        }
        let range = match self.basis {
            Basis::Samples { .. } => sampled(a, b, self.run)?,
            Basis::Rounds { .. } => self.by_rounds(&a, &b)?,
        };
        let ends = match a.series.better {
            Better::Lower => [-range.ends[1], -range.ends[0]],
            Better::Higher | Better::Neither => range.ends,
        };
        Ok(Range { ends, ..range })
    }

    /// The range of a value over all valid trials, extra trials included.
    ///
    /// # Errors
    /// What the run lacks.
    pub fn value(&self, of: &Side<'_>) -> Result<Range, Unknown> {
        let Entrant { work, series, label } = self.entrant(of)?;
        let own = || work.counted.iter().chain(&work.extras).filter(|record| record.filesystem == label);
        let metric = |record: &&&_| -> Option<f64> { value_of(series, record) };
        let values: Vec<f64> = own().filter_map(|record| metric(&record)).collect();
        let rounds = work.counted.iter().filter(|record| record.filesystem == label).count();
        let (needed, modelled) = match self.basis {
            Basis::Samples { .. } => (SAMPLES_NEEDED, true),
            Basis::Rounds { needed, .. } => (*needed as usize, false),
        };
        if rounds < needed {
            return Err(Unknown::Few { has: rounds, needed });
        }
        let (least, most) = fsderby_stats::range(&values).ok_or(Unknown::NotMeasured)?;
        let one = Entrant { work, series, label };
        let error = match modelled && series.of.is_time() {
            true => super::evidence::largest_of_all(&one, &one),
            false => 0.0,
        };
        let ends = [least.min(least * (-error).exp()), most.max(most * error.exp())];
        Ok(Range { ends, n: rounds, error: modelled.then_some((error, error > 0.0)), narrows: false })
    }

    fn entrant<'s>(&'s self, side: &Side<'s>) -> Result<Entrant<'s>, Unknown> {
        let work = self.dataset.workloads.iter().find(|work| work.label == side.scenario);
        let work: &Work<'_> = work.ok_or(Unknown::NotMeasured)?;
        let has = |series: &&Series| series.name == side.metric && is_at(series, side.at);
        let has_value =
            |series: &&Series| series.cells.iter().any(|cell| cell.filesystem == side.label && cell.n > 0);
        let all: Vec<&Series> = work.series.iter().filter(has).filter(has_value).collect();
        match all.as_slice() {
            [] => Err(Unknown::NotMeasured),
            [series] => Ok(Entrant { work, series, label: side.label }),
            many => Err(Unknown::Averaged(many.len())),
        }
    }

    fn by_rounds(&self, a: &Entrant<'_>, b: &Entrant<'_>) -> Result<Range, Unknown> {
        let same = a.work.label == b.work.label
            && (&a.series.name, &a.series.dimensions) == (&b.series.name, &b.series.dimensions);
        if !same {
            return Err(Unknown::NotPaired);
        }
        let needed = self.basis.needed() as usize;
        let found = self
            .findings
            .iter()
            .filter(|finding| finding.is_of(&a.work.label, &a.series.name, &a.series.dimensions));
        let found = found.filter_map(|finding| finding.from_the_side_of(a.label));
        let found = found.into_iter().find(|finding| finding.b == b.label);
        let n = || a.work.complete_rounds();
        let found = found.ok_or_else(|| Unknown::Few { has: n(), needed })?;
        let few = Unknown::Few { has: found.n as usize, needed };
        let [Some(low), Some(high)] = [found.low, found.high] else { return Err(few) };
        debug_assert!(matches!(found.evidence, Evidence::Rounds { .. }));
        Ok(Range { ends: [low.ln(), high.ln()], n: found.n as usize, error: None, narrows: true })
    }
}

fn sampled(a: Entrant<'_>, b: Entrant<'_>, run: &Run) -> Result<Range, Unknown> {
    let unknown = |(has, lacking)| match lacking {
        Lacking::Samples => Unknown::Few { has, needed: SAMPLES_NEEDED },
        other => Unknown::Extras(other),
    };
    let Spanned { ends, error, is_assumed, samples } =
        ensemble::spanned(a, b, run.plan.margin).map_err(unknown)?;
    Ok(Range { ends, n: samples, error: Some((error, is_assumed)), narrows: false })
}

/// A value of zero or below is a value too, but has no ratio.
fn value_of(series: &Series, record: &crate::schema::record::Record) -> Option<f64> {
    let same = |metric: &&crate::schema::metric::Metric| {
        metric.name == series.name && super::dataset::dimensions(metric) == series.dimensions
    };
    Some(record.metrics.iter().find(same)?.value).filter(|value| value.is_finite())
}

/// Whether a series has these dimensions. The work that a metric belongs to is no dimension of a paper.
fn is_at(series: &Series, at: &BTreeMap<String, String>) -> bool {
    let has = |(name, value): (&String, &String)| {
        series.dimensions.split(", ").any(|pair| pair.split_once('=') == Some((name, value)))
    };
    debug_assert!(!at.contains_key(WORK));
    at.iter().all(has)
}
