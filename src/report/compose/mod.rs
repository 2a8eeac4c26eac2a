//! Turns a run into the view: figures, findings and records become sentences and tables. Pure: knows no kind or workload by name,
//! and prints nothing.

mod absent;
mod advice;
mod agreement;
mod capabilities;
pub mod changes;
mod comparison;
mod compression;
mod confounded;
mod durability;
mod glance;
mod heading;
pub mod imported;
pub mod known;
mod latency;
mod looks;
mod memory;
pub mod model;
mod needs;
mod notes;
mod pairs;
mod places;
mod plane;
mod progress;
mod published;
pub mod repeat;
pub mod reproduced;
mod same;
mod sections;
mod sentence;
pub mod setups;
mod sheet;
mod stopping;
mod timeless;
mod untested;
pub mod validity;
mod verdict;
mod warnings;
mod words;
mod workload;

use self::known::Known;
use self::progress::Progress;
use super::view::Summary;
use super::view::capabilities::Kind;
use super::view::entry::Entry;
use super::view::workload::WorkloadSummary;
use crate::analysis::dataset::Dataset;
use crate::analysis::latencies::Latencies;
use crate::report::view::look::Look;
use crate::runner::experiment::eras;
use crate::schema::finding::Verdict;
use crate::schema::plan::Candidate;
use crate::store::Run;

/// The verdict, and the requested baseline.
#[derive(Clone, Copy)]
struct Judged<'v> {
    verdict: &'v Verdict,
    baseline: Option<&'v str>,
}

/// Compares all candidates with `baseline`, or without one with the best.
pub fn summary(run: &Run, latencies: &Latencies, known: Known, baseline: Option<&str>) -> Summary {
    let dataset = Dataset::of(run);
    let verdict = crate::analysis::verdict::of(run, &dataset);
    with_verdict(run, &Read { dataset, latencies }, verdict, known, baseline)
}

/// The parsed data of a run.
pub struct Read<'r> {
    pub dataset: Dataset<'r>,
    pub latencies: &'r Latencies,
}

pub fn with_verdict(
    run: &Run,
    read: &Read<'_>,
    verdict: Verdict,
    known: Known,
    baseline: Option<&str>,
) -> Summary {
    let Read { dataset, latencies } = read;
    let mut filesystems: Vec<Entry> = dataset.filesystems.iter().map(|label| entry(run, label)).collect();
    let kinds: Vec<&str> = filesystems.iter().map(|f| f.kind.as_str()).collect();
    let looks = looks::of(&(known.kinds)(), &kinds);
    filesystems.iter_mut().zip(looks).for_each(|(filesystem, look)| filesystem.look = look);
    let damage = run.damage.iter().chain(&latencies.missing).cloned().collect();
    let judged = Judged { verdict: &verdict, baseline };
    let workloads = dataset.workloads.iter();
    let mut workloads: Vec<WorkloadSummary> =
        workloads.map(|work| workload::of(run, work, &filesystems, judged, known, latencies)).collect();
    agreement::add(&mut workloads, run.plan.margin);
    let setups = setups::of(run, &dataset.filesystems);
    let progress = Progress::of(run, &workloads, &verdict);
    let standing = heading::standing(run, &workloads, &verdict, progress);
    let recommendation = needs::of(run, dataset, &verdict, (standing, progress), known);
    Summary {
        heading: heading::of(
            run,
            &dataset.planned,
            &workloads,
            &setups,
            &verdict,
            (standing, progress),
            recommendation.as_ref(),
        ),
        overall: comparison::overall(&verdict, baseline, &workloads),
        margin: run.plan.margin,
        kinds: kinds_of(run, &dataset.filesystems, known),
        filesystems,
        setups,
        skips: absent::skips(run, workloads.len()),
        recommendation,
        planes: plane::of(&workloads, run.plan.guard.as_ref().map(|twice| twice.copy.as_str())),
        absent: absent::of(run, &dataset.planned, &workloads),
        not_available: absent::unavailable(run, &dataset.filesystems),
        workloads,
        damage,
        notes: Vec::new(),
        verdict,
        torn: run.torn.iter().map(|what| format!("{what}; only that trial is lost")).collect(),
        imported: Vec::new(),
    }
}

fn kinds_of(run: &Run, labels: &[String], known: Known) -> Vec<Kind> {
    let mut names: Vec<&String> = Vec::new();
    for candidate in run.plan.candidates.iter().filter(|c| labels.contains(&c.label)) {
        if !names.contains(&&candidate.kind) {
            names.push(&candidate.kind);
        }
    }
    names.into_iter().filter_map(|name| (known.kind)(name)).map(capabilities::of).collect()
}

fn entry(run: &Run, label: &str) -> Entry {
    let record = || run.records.iter().find(|r| r.filesystem == label);
    let (kind, variant) = match run.plan.candidates.iter().find(|e| e.label == label) {
        Some(candidate) => (candidate.kind.clone(), candidate.variant.clone()),
        None => record().map(|r| (r.kind.clone(), (*r.variant).clone())).unwrap_or_default(),
    };
    let mut options = Vec::new();
    if !variant.mkfs.is_empty() {
        options.push(format!("mkfs {}", variant.mkfs.join(" ")));
    }
    if !variant.mount.is_empty() {
        options.push(format!("mount -o {}", variant.mount.join(",")));
    }
    if variant.conversion {
        options.push("by conversion".to_owned());
    }
    let era = |c: &Candidate| {
        let (era, lost) = (c.era.as_deref()?, eras::lost(c)?);
        Some(format!("mkfs and mount defaults of {era}, as far as today's tools support them. {lost}"))
    };
    let era = run.plan.candidates.iter().find(|c| c.label == label).and_then(era).unwrap_or_default();
    let mounted = run.records.iter().filter(|r| r.filesystem == label).find_map(|r| r.mounted.as_ref());
    let mounted = mounted.map(|m| format!("{} by {}: {}", m.fstype, m.driver, m.options.join(",")));
    let is_plain = variant.mkfs.is_empty() && variant.mount.is_empty();
    let (options, mounted) = (options.join("; "), mounted.unwrap_or_default());
    Entry { label: label.to_owned(), kind, options, mounted, era, is_plain, look: Look::default() }
}

#[cfg(test)]
mod tests {
    use crate::report::examples;
    use crate::report::view::row::Row;

    #[test]
    fn the_last_attempt_counts_and_failed_trials_do_not() {
        let example = examples::example();
        let summary = example.report().summary;
        let headline = summary.workloads[0].headlines()[0];
        let n = |label: &str| headline.cells.iter().find(|c| c.filesystem == label).map(|c| c.n);
        assert_eq!((n("alderfs"), n("cedarfs"), n("maplefs")), (Some(6), Some(6), Some(5)));
    }

    #[test]
    fn an_integrity_check_gives_only_what_no_round_gives() {
        let example = examples::example();
        let summary = example.report().summary;
        let steps: Vec<&Row> = summary.workloads[0].rows().filter(|r| r.name.ends_with(".time")).collect();
        let filled =
            steps.iter().find(|r| r.name == "check-filled.time").expect("the integrity check has it");
        assert!(filled.once && filled.cells[0].n == 1);
        let mkfs = steps.iter().find(|r| r.name == "mkfs.time").expect("each trial has it");
        assert!(!mkfs.once && mkfs.values().all(|v| v < 1.0));
    }

    #[test]
    fn where_little_reached_the_device_the_row_says_page_cache() {
        let mut example = examples::example();
        for record in example.run.records.iter_mut().filter(|r| r.filesystem == "birchfs") {
            let ratio = record.metrics.iter_mut().find(|m| m.name == "device.written_ratio");
            ratio.into_iter().for_each(|m| m.value = 0.2);
        }
        let summary = example.report().summary;
        let work = &summary.workloads[0];
        assert!(work.page_cache.is_empty() && work.marked("birchfs") && !work.marked("alderfs"));
        assert!(work.notes()[0].ends_with("by the end of the sync: birchfs (20%)"));
    }

    #[test]
    fn one_trial_of_which_little_reached_the_device_is_told_too() {
        let mut example = examples::example();
        let one = example.run.records.iter_mut().find(|r| r.filesystem == "birchfs" && r.round == 2);
        let ratio = one.and_then(|r| r.metrics.iter_mut().find(|m| m.name == "device.written_ratio"));
        ratio.expect("every trial has it").value = 0.01;
        let note = &example.report().summary.workloads[0].notes()[0];
        assert!(note.contains("birchfs (13") && note.ends_with("below 50% in 1 of 6 trials)"), "{note}");
    }

    #[test]
    fn a_filesystem_that_raced_nowhere_has_no_row_and_is_listed_once() {
        let mut example = examples::example();
        let run = &mut example.run;
        run.records.retain(|r| r.filesystem != "maplefs");
        let skipped =
            examples::skipped(&run.plan, &[("maplefs", 0), ("maplefs", 1)], "this kernel has no maplefs");
        run.records.extend(skipped);
        let summary = example.report().summary;
        assert!(summary.workloads.iter().flat_map(|w| w.rows()).all(|r| r.cells.len() == 7));
        assert!(summary.filesystems.iter().all(|f| f.label != "maplefs"));
        assert!(summary.kinds.iter().all(|k| k.name != "maplefs"));
        assert_eq!(summary.skips.iter().filter(|s| s.who() == "maplefs").count(), 1);
        assert!(summary.heading.sentences[0].starts_with("7 of 8 filesystems"));
    }

    #[test]
    fn where_everything_fits_into_memory_the_heading_says_page_cache() {
        let example = examples::example();
        let summary = example.report().summary;
        assert!(summary.workloads[1].page_cache.contains("210 MiB"));
        assert!(summary.heading.warnings.iter().any(|s| s.contains("page cache and CPU")));
    }

    #[test]
    fn a_metric_that_nobody_knows_is_shown_with_its_dimensions() {
        let example = examples::example();
        let summary = example.report().summary;
        let other = summary.workloads[1].sections.last().expect("there are sections");
        assert_eq!(
            (other.title, other.rows[0].title.as_str()),
            ("Other", "seeks.random.rate (file_bytes=4096)")
        );
    }

    #[test]
    fn lost_histograms_are_told_and_the_rest_stands() {
        let mut example = examples::example();
        let lost = example.run.records.iter_mut().find(|r| !r.histograms.is_empty());
        lost.expect("trials have histograms").histograms[0].path = "nowhere.jsonl".into();
        let summary = example.report().summary;
        assert_eq!(summary.damage.len(), 1);
        assert!(!summary.workloads[0].latencies.is_empty());
    }
}
