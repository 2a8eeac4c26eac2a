//! Imported figures, beside the run's figures for the same work or alone.
//!
//! Nothing here reaches the verdict. Our figures beside them are medians. A ratio is given only for the same work, and only if
//! the other program's passes agree.

mod tables;

use toml::Table as Parameters;

use crate::imports::{self, Tool, passes, place};
use crate::report::view::Summary;
use crate::report::view::imported::{Disagreement, Figure, Filesystem, From, Imported, Pass, Ratio};
use crate::report::view::number::{count, list, ratio};
use crate::report::view::workload::WorkloadSummary;
use crate::schema::import::{Entry, Figure as Read, Import};
use crate::schema::scenario::Stage;
use crate::store::Run;

/// An import and its source folder.
pub struct Loaded {
    pub folder: String,
    pub import: Import,
}

/// Entries for the same work by one tool.
struct Group<'i> {
    of: &'i Loaded,
    tool: &'static dyn Tool,
    entries: Vec<&'i Entry>,
}

/// Adds each import to the summary: to the workload that is the same or nearest, otherwise at the end.
pub fn put(run: &Run, summary: &mut Summary, all: &[Loaded]) {
    for group in all.iter().flat_map(groups) {
        match nearest(run, summary, &group) {
            Some((at, differences)) => {
                let imported = shown(&group, Some((summary, at)), differences);
                summary.workloads[at].imported.push(imported);
            }
            None => {
                let imported = shown(&group, None, Vec::new());
                summary.imported.push(imported);
            }
        }
    }
}

/// Imported figures that are shown without a run of fsderby.
pub fn alone(loaded: &Loaded) -> Vec<Imported> {
    groups(loaded).iter().map(|group| shown(group, None, Vec::new())).collect()
}

fn groups(of: &Loaded) -> Vec<Group<'_>> {
    let Ok(tool) = imports::find(&of.import.asked.tool) else { return Vec::new() };
    let mut groups: Vec<Group<'_>> = Vec::new();
    for entry in &of.import.entries {
        match groups.iter_mut().find(|group| tool.alike(&group.entries[0].work, &entry.work)) {
            Some(group) => group.entries.push(entry),
            None => groups.push(Group { of, tool, entries: vec![entry] }),
        }
    }
    groups
}

/// The workload with the fewest differences, and these differences.
fn nearest(run: &Run, summary: &Summary, group: &Group<'_>) -> Option<(usize, Vec<String>)> {
    let differences = |(at, work): (usize, &WorkloadSummary)| {
        let parameters = alone_here(run, work, group.tool.engine())?;
        let differences = match group.tool.unlike(&group.entries[0].work, parameters) {
            Ok(differences) if work.clients > 1 => {
                [vec![format!("one process, here {}", work.clients)], differences].concat()
            }
            Ok(differences) => differences,
            Err(why) => vec![format!("the two workloads cannot be compared: {why}")],
        };
        Some((at, differences))
    };
    summary
        .workloads
        .iter()
        .enumerate()
        .filter_map(differences)
        .min_by_key(|(_, differences)| differences.len())
}

/// The parameters of a workload of this engine that runs alone, as the tool does.
fn alone_here<'r>(run: &'r Run, work: &WorkloadSummary, engine: &str) -> Option<&'r Parameters> {
    let scenario = run.plan.scenarios.iter().find(|scenario| scenario.label == work.label)?;
    let spec = &run.plan.workload(&work.label)?.work;
    (scenario.stages == [Stage::work(&work.label)] && spec.engine == engine).then_some(&spec.parameters)
}

fn shown(group: &Group<'_>, beside: Option<(&Summary, usize)>, differences: Vec<String>) -> Imported {
    let Loaded { folder, import } = group.of;
    let is_here = |at: &usize| group.entries.iter().any(|entry| entry.source == *at);
    let sources = import.sources.iter().enumerate().filter(|(at, _)| is_here(at));
    let work = beside.map(|(summary, at)| &summary.workloads[at]);
    let is_same = work.is_some() && differences.is_empty();
    let (filesystems, disagreements) = filesystems(group, beside, is_same);
    let mut imported = Imported {
        import: folder.clone(),
        tool: group.tool.title().to_owned(),
        sources: sources.map(|(_, s)| From { name: s.name.clone(), blake3: s.blake3.clone() }).collect(),
        work: group.tool.described(&group.entries[0].work),
        beside: work.map(|work| work.label.clone()),
        differences,
        filesystems,
        disagreements,
        sentences: Vec::new(),
        provenance: provenance(group),
        note: group.tool.story().to_owned(),
        parts: Vec::new(),
    };
    imported.sentences = sentences(group, &imported);
    imported.parts =
        tables::parts(group.tool, &imported, work, beside.map(|(summary, _)| &summary.filesystems[..]));
    imported
}

fn filesystems(
    group: &Group<'_>,
    beside: Option<(&Summary, usize)>,
    is_same: bool,
) -> (Vec<Filesystem>, Vec<Disagreement>) {
    let mut labels: Vec<&str> = Vec::new();
    for entry in &group.entries {
        if !labels.contains(&entry.label.as_str()) {
            labels.push(&entry.label);
        }
    }
    let mut disagreements = Vec::new();
    let mut one = |label: &str| {
        let entries: Vec<&Entry> =
            group.entries.iter().filter(|entry| entry.label == label).copied().collect();
        let apart = disagreeing(label, &entries);
        let pass = |entry: &&Entry| Pass {
            from: place(&group.of.import, entry),
            program: entry.program.clone(),
            notes: entry.notes.clone(),
            figures: entry.figures.iter().map(|figure| told(figure, &apart)).collect(),
        };
        let passes: Vec<Pass> = entries.iter().map(pass).collect();
        let here = beside.and_then(|(summary, _)| tables::here(&summary.filesystems, label));
        let work = beside.map(|(summary, at)| &summary.workloads[at]).filter(|_| is_same);
        let ratios =
            work.zip(here.as_ref()).map(|(work, here)| ratios(work, here, &passes)).unwrap_or_default();
        disagreements.extend(apart);
        Filesystem { label: label.to_owned(), here, passes, ratios }
    };
    let filesystems = labels.into_iter().map(&mut one).collect();
    (filesystems, disagreements)
}

fn disagreeing(label: &str, entries: &[&Entry]) -> Vec<Disagreement> {
    let mut metrics: Vec<&str> =
        entries.iter().flat_map(|entry| &entry.figures).map(|f| f.metric.as_str()).collect();
    // All figures of one metric, from every pass that has it.
    let mut seen = std::collections::HashSet::new();
    metrics.retain(|metric| seen.insert(*metric));
    let of = |metric: &str| {
        let figures =
            entries.iter().flat_map(|entry| &entry.figures).filter(|figure| figure.metric == metric);
        // The longest of thousands of operations need not agree between passes.
        let times = (!metric.ends_with(".latency")).then(|| passes::disagreement(figures)).flatten()?;
        Some(Disagreement { filesystem: label.to_owned(), metric: metric.to_owned(), times })
    };
    metrics.into_iter().filter_map(of).collect()
}

fn told(figure: &Read, apart: &[Disagreement]) -> Figure {
    let bound = |bound: Option<f64>| bound.filter(|_| figure.value.is_none());
    Figure {
        metric: figure.metric.clone(),
        unit: figure.unit.clone(),
        value: figure.value,
        more_than: bound(figure.least),
        less_than: bound(figure.most),
        disagrees: apart.iter().any(|apart| apart.metric == figure.metric),
    }
}

/// Our figure ÷ the imported one, for metrics on which all passes agree.
fn ratios(work: &WorkloadSummary, here: &str, passes: &[Pass]) -> Vec<Ratio> {
    let Some(first) = passes.first() else { return Vec::new() };
    let ratio = |figure: &Figure| {
        let figures =
            passes.iter().filter_map(|pass| pass.figures.iter().find(|f| f.metric == figure.metric));
        let mut values: Vec<f64> = figures.filter(|f| !f.disagrees).filter_map(|f| f.value).collect();
        values.sort_by(f64::total_cmp);
        let median = (values.get(values.len().saturating_sub(1) / 2)? + values.get(values.len() / 2)?) / 2.0;
        let ours = tables::ours(work, &figure.metric, &figure.unit, here)?.0;
        let ratio = ours / median;
        (values.len() == passes.len() && ratio.is_finite())
            .then(|| Ratio { metric: figure.metric.clone(), ratio })
    };
    first.figures.iter().filter_map(ratio).collect()
}

/// Each pass with its path, hash, program and repairs.
fn provenance(group: &Group<'_>) -> Vec<String> {
    const DIGITS: usize = 16;
    let import = &group.of.import;
    let line = |entry: &&Entry| {
        let hash = import
            .sources
            .get(entry.source)
            .and_then(|source| source.blake3.get(..DIGITS))
            .unwrap_or_default();
        let notes: String = entry.notes.iter().map(|note| format!("; {note}")).collect();
        format!("{}: {}, {} (BLAKE3 {hash}){notes}", entry.label, place(import, entry), entry.program)
    };
    group.entries.iter().map(line).collect()
}

fn sentences(group: &Group<'_>, imported: &Imported) -> Vec<String> {
    let mut programs: Vec<String> = group.entries.iter().map(|entry| entry.program.clone()).collect();
    programs.dedup();
    let mut sentences = vec![format!(
        "These figures were measured by {}, not by fsderby, which cannot check them and uses them in no verdict or \
         ranking. The workload: {}.",
        list(&programs),
        imported.work
    )];
    sentences.extend(imported.beside.as_ref().map(|label| match imported.differences.as_slice() {
        [] => format!("As far as the imported files show, their workload is this run's workload {label}."),
        differences => {
            format!(
                "The workload {label} of this run differs from the imported one, so no ratio is shown: {}.",
                differences.join("; ")
            )
        }
    }));
    sentences.extend(group.of.import.asked.set.as_ref().map(|set| {
        format!("The import states the workload {set}; the imported files contain nothing else about the workload.")
    }));
    sentences.extend(agreement(imported, group.tool));
    sentences
}

/// Whether the passes agree; `None` with a single pass.
fn agreement(imported: &Imported, tool: &dyn Tool) -> Option<String> {
    const NAMED: usize = 12;
    let passes = imported.filesystems.iter().map(|f| f.passes.len()).max().unwrap_or(0);
    if passes < 2 {
        return None;
    }
    let apart = passes::APART;
    if imported.disagreements.is_empty() {
        return Some(format!("No two repetitions differ by more than a factor of {apart}."));
    }
    let said = |d: &Disagreement| {
        format!("{}, {} ({} times)", d.filesystem, tables::title(tool, &d.metric), ratio(d.times))
    };
    let mut named: Vec<String> = imported.disagreements.iter().take(NAMED).map(said).collect();
    let more = imported.disagreements.len().saturating_sub(NAMED);
    named.extend((more > 0).then(|| format!("and {}", count(more, "further figure"))));
    Some(format!(
        "Some repetitions differ by more than a factor of {apart} ({}): {}. The files do not show which repetition \
         is wrong.",
        Imported::DISAGREES,
        named.join("; ")
    ))
}
