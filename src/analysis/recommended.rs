//! A run's recommendation for the needs stated in its plan, from the run's figures and the declared properties of filesystems and
//! metrics.

use super::dataset::Dataset;
use super::recommendation::{Asked, Lack, Recommendation, by_findings, recommend};
use crate::filesystems::{Filesystem, Variant, answer};
use crate::schema::declared::Declared;
use crate::schema::finding::Verdict;
use crate::schema::needs::{Aspect, Needs};
use crate::schema::plan::Plan;
use crate::store::Run;

/// Lookup of kinds and metrics by name.
#[derive(Clone, Copy)]
pub struct Known {
    pub kind: fn(&str) -> Option<&'static dyn Filesystem>,
    /// All metrics that records of an engine may have.
    pub metrics: fn(&str) -> Vec<&'static Declared>,
}

/// The run's recommendation; `None` if the plan states no needs.
pub fn of(run: &Run, dataset: &Dataset<'_>, verdict: &Verdict, known: Known) -> Option<Recommendation> {
    let needs = run.plan.needs.as_ref()?;
    let lacks = |label: &str| lacks(&run.plan, needs, known, label);
    let aspect_of = aspects(run, known);
    // A candidate and its copy are one choice.
    let is_copy = |label: &str| run.plan.guard.as_ref().is_some_and(|twice| twice.copy == label);
    let candidates: Vec<String> =
        dataset.filesystems.iter().filter(|label| !is_copy(label)).cloned().collect();
    let (candidates, margin) = (&candidates, run.plan.margin);
    let asked = Asked { dataset, candidates, needs, margin, lacks: &lacks, aspect_of: &aspect_of };
    Some(recommend(&asked, &by_findings(verdict)))
}

/// Maps metric names to aspects, by the declarations of the run's engines.
pub fn aspects(run: &Run, known: Known) -> impl Fn(&str) -> Option<Aspect> {
    let engines = run.plan.workloads.iter().map(|work| &work.work.engine);
    let engines = engines.chain(run.records.iter().flat_map(|r| &r.works).map(|work| &work.work.engine));
    let mut names: Vec<&String> = Vec::new();
    engines.for_each(|engine| {
        if !names.contains(&engine) {
            names.push(engine);
        }
    });
    let declared: Vec<(&'static str, Aspect)> = names
        .into_iter()
        .flat_map(|engine| (known.metrics)(engine))
        .filter_map(|declared| Some((declared.name, declared.aspect?)))
        .collect();
    move |metric| declared.iter().find(|(name, _)| *name == metric).map(|(_, aspect)| *aspect)
}

/// The requirements that a candidate does not meet. A filesystem of an unknown kind, as with `--on directory`, meets none.
fn lacks(plan: &Plan, needs: &Needs, known: Known, label: &str) -> Vec<Lack> {
    let candidate = plan.candidates.iter().find(|candidate| candidate.label == label);
    let kind = candidate.and_then(|candidate| (known.kind)(&candidate.kind));
    let variant = candidate.map_or_else(Variant::default, |candidate| candidate.variant.clone());
    let lack = |required: &_| match kind.map(|kind| answer(kind, &variant, *required)) {
        Some(answer) if answer.is_met => None,
        Some(answer) => {
            Some(Lack { required: *required, said: answer.said, source: answer.source.to_owned() })
        }
        None => {
            Some(Lack { required: *required, said: "nobody says".to_owned(), source: "no kind".to_owned() })
        }
    };
    needs.require.iter().filter_map(lack).collect()
}
