//! Whether the work of a scaled run is still the paper's. Otherwise, whatever its range, nobody can tell:
//!
//! - data ÷ memory as published, within a tenth
//! - three commit intervals of the filesystem at least
//! - device bytes written ÷ bytes of the work within 25 % of the full size's, measured once for one kind and one workload
//!
//! At full size the work is the paper's own, so only the first applies. What is measured on the new filesystem, before any work,
//! needs no work of the paper's, but its volume and its memory in full.

use super::places::Place;
use super::ranges::Runs;
use super::reasons::{Reason, Sentence, Takes};
use crate::analysis::{metrics, stationary};
use crate::papers::Amount;
use crate::runner::experiment::Experiment;
use crate::runner::experiment::scaled::{smallest, whole};
use crate::schema::plan::Candidate;
use crate::schema::units::{Bytes, Scale};

const WHOLE: Scale = Scale { of: 1, by: 1 };

const RATIO: &str = "device.written_ratio";

/// Data ÷ memory may differ from the published ratio by this factor.
const MEMORY: f64 = 1.1;
/// Device bytes written ÷ bytes of the work may differ from the full size's by this factor.
const WRITTEN: f64 = 1.25;

impl Runs<'_> {
    /// Why a work of a run is not the paper's, if it is not; it may be scaled.
    pub fn gates(
        &self,
        place: &Place<'_>,
        (name, scenario, scale): (&str, &str, Scale),
        metric: &str,
        candidate: &Candidate,
    ) -> Vec<Reason> {
        let is_before = metrics::is_before_work(metric);
        let checks = match is_before {
            true => [self.volume(place, name, candidate), self.memory(place, name, None, candidate)],
            false => {
                let commits = || self.commits(place, (name, scenario, scale), candidate);
                [
                    self.memory(place, name, Some(scale), candidate),
                    if scale.shrinks() { commits() } else { Ok(()) },
                ]
            }
        };
        let reasons: Vec<Reason> = checks.into_iter().filter_map(Result::err).collect();
        if reasons.is_empty() && !is_before && scale.shrinks() {
            return self.written(place, scale).err().into_iter().collect();
        }
        reasons
    }

    /// `In results/mail `, if the column has several runs.
    fn within(&self, place: &Place<'_>) -> String {
        if self.places.len() > 1 { format!("In {} ", place.run.folder.display()) } else { String::new() }
    }

    /// The paper's volume.
    fn volume(&self, place: &Place<'_>, name: &str, candidate: &Candidate) -> Result<(), Reason> {
        let Some(wanted) = self.full.size.get(name) else {
            return Err(Reason::only(format!(
                "The paper's data do not state the size of its volume for {name}."
            )));
        };
        let own = place.run.plan.setup(candidate).size;
        if own == *wanted {
            return Ok(());
        }
        let differs = format!(" had a volume of {own}; the paper's has {wanted}.");
        let said = Sentence::about(self.within(place), &candidate.label, differs);
        Err(Reason::takes(said, of_run("--size", *wanted)))
    }

    /// Data ÷ memory as published; before any work, without a scale, all memory.
    fn memory(
        &self,
        place: &Place<'_>,
        name: &str,
        scale: Option<Scale>,
        candidate: &Candidate,
    ) -> Result<(), Reason> {
        let Some(full) = self.full.memory.get(name) else {
            return Err(Reason::only(format!("The paper's data do not state the memory size for {name}.")));
        };
        let wanted = scale.map_or(*full, |scale| whole(scale.apply(full.0)));
        let takes = |takes: String| match scale {
            Some(_) => vec![Takes::OrScale(takes)],
            None => vec![Takes::Other(takes.into())],
        };
        let within = self.within(place);
        let Some(own) = place.run.plan.setup(candidate).memory else {
            let differs = " had no memory limit, so the ratio of data to memory differs from the paper's.";
            let because = Sentence::about(within, &candidate.label, differs);
            return Err(Reason { takes: takes(of_run("--memory", wanted)), ..Reason::only(because) });
        };
        let apart = own.0 as f64 / wanted.0 as f64;
        if (1.0 / MEMORY..=MEMORY).contains(&apart) {
            return Ok(());
        }
        let needs = match scale {
            Some(_) => format!("the paper's ratio of data to memory needs {wanted}"),
            None => format!("what is measured before the work needs all of the paper's, {wanted}"),
        };
        let because = format!("{within}{name} had {own} of memory; {needs}.");
        let scale = scale.unwrap_or(WHOLE);
        let least = self.full.experiments.get(name).and_then(|experiment| {
            let scaled = Experiment { scale: Some(scale), ..experiment.clone() };
            scaled.least_memory(&place.run.plan.candidates).ok()
        });
        let takes = match least.filter(|least| wanted < *least) {
            Some(least) => vec![Takes::Scale(smallest(wanted, least, scale))],
            None => takes(of_run("--memory", wanted)),
        };
        Err(Reason { takes, ..Reason::only(because) })
    }

    /// Three commit intervals of its filesystem.
    fn commits(
        &self,
        place: &Place<'_>,
        (name, scenario, scale): (&str, &str, Scale),
        candidate: &Candidate,
    ) -> Result<(), Reason> {
        let Some(work) = place.dataset_of(scenario) else { return Ok(()) };
        let own = work.counted.iter().filter(|record| record.filesystem == candidate.label);
        let lasted = own.filter_map(|record| stationary::commits(record));
        let Some((took, needed)) = lasted.min_by(|a, b| a.0.total_cmp(&b.0)) else { return Ok(()) };
        if took >= needed {
            return Ok(());
        }
        let decimals = if took < 0.1 { 3 } else { 1 };
        let because = Sentence::about(
            format!("{}{name} took less than three commit intervals: ", self.within(place)),
            format!("{took:.decimals$} of {needed:.0} s on {}", candidate.label),
            ".",
        );
        let by = (scale.by as f64 * took / needed) / scale.of as f64;
        Err(Reason { takes: vec![Takes::Scale(by.floor().max(1.0) as u64)], ..Reason::only(because) })
    }

    /// Device bytes ÷ bytes of the work, as at full size.
    /// As measured in this run, or in others of its scale if it has not the workload.
    fn written(&self, run: &Place<'_>, scale: Scale) -> Result<(), Reason> {
        let known = &self.paper.reproduction.written;
        if known.is_empty() {
            let said = "No run at full size has measured yet how many of the written bytes reach the device.";
            return Err(Reason::takes(said, "a run or one trial at full size"));
        }
        let others = self.places.iter().filter(|place| place.run.folder != run.run.folder);
        let found = [run].into_iter().chain(others).find_map(|place| {
            let ratios: Vec<(&Amount, f64)> = known
                .iter()
                .filter_map(|amount| Some((amount, written_ratio(place, amount, scale)?)))
                .collect();
            (!ratios.is_empty()).then_some((place, ratios))
        });
        if let Some((place, ratios)) = found {
            let is_far = |(amount, ratio): &&(&Amount, f64)| {
                !(1.0 / WRITTEN..=WRITTEN).contains(&(ratio / amount.ratio))
            };
            let Some((amount, ratio)) = ratios.iter().find(is_far) else { return Ok(()) };
            let said = format!(
                "{}{} on {} made the device write {ratio:.2} bytes for each byte that the workload wrote; at full size \
                 {:.2}.",
                self.within(place),
                amount.workload,
                amount.kind,
                amount.ratio
            );
            return Err(Reason {
                takes: vec![Takes::OrScale("a larger scale".into())],
                ..Reason::only(said)
            });
        }
        let amount = &known[0];
        let of = format!("{} on {}", amount.workload, amount.kind);
        Err(Reason::takes(
            format!("No run at this scale has {of}, whose device writes at full size are known."),
            format!("a run with {of}"),
        ))
    }
}

/// Device bytes written ÷ bytes of the work, in a run at this scale.
fn written_ratio(place: &Place<'_>, amount: &Amount, scale: Scale) -> Option<f64> {
    let (scenario, _) = place.work(&amount.workload).filter(|(_, own)| *own == scale)?;
    let series = place.dataset_of(scenario)?.series.iter().filter(|one| one.name == RATIO && !one.once);
    let is_it = |label: &str| place.of_kind(&amount.kind).any(|candidate| candidate.label == label);
    let mut medians = series.flat_map(|one| &one.cells).filter(|cell| is_it(&cell.filesystem));
    medians.find_map(|cell| cell.median)
}

/// An option that only `run` has.
fn of_run(option: &str, size: Bytes) -> String {
    format!("fsderby run with {option} {}, and --from", size.written())
}
