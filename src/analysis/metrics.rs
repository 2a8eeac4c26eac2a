//! Computes a record's metrics from its raw values: metrics of the workload, the steps, the probes and the space. Pure and
//! versioned, so that `fsderby verify` can recompute the metrics.

use super::{capacity, clients, steps};
use crate::probes::{self, Probe, Raw};
use crate::schema::declared::{self, Declared, Over};
use crate::schema::event::{Client, Phase, Stepped};
use crate::schema::job::{Purpose, StepName};
use crate::schema::metric::{Metric, WORK};
use crate::schema::reason::Outcome;
use crate::schema::record::{Counters, Record, StageRecord};
use crate::schema::units::sum;
use crate::workloads::clients::phases_apart;
use crate::workloads::{self, Work};

/// Incremented when a metric of steps, probes or space changes for the same raw values.
pub const VERSION: u32 = 4;

/// The parsed works of a record.
pub type Works = Vec<Box<dyn Work>>;

/// # Errors
/// If a work has no engine, or the engine does not understand the work's parameters.
pub fn parsed(record: &Record) -> Result<Works, String> {
    record.works.iter().map(|work| workloads::parsed(&work.work)).collect()
}

/// The version of all of a record's metrics: this file's version × 1000 + the versions of the workloads.
pub fn version(works: &[Box<dyn Work>]) -> u32 {
    VERSION * 1000 + works.iter().map(|work| work.metrics_version()).sum::<u32>()
}

/// The metrics of each measured work, then the metrics that every trial has. Empty unless the trial is done.
pub fn all(record: &Record, works: &[Box<dyn Work>]) -> Vec<Metric> {
    if record.outcome != Outcome::Done {
        return Vec::new();
    }
    let measured = record.works.iter().zip(works).enumerate().filter(|(_, (recorded, _))| recorded.measured);
    let several = record.works.iter().filter(|work| work.measured).count() > 1;
    let own = measured.flat_map(|(of, (recorded, work))| {
        let metrics = of_work(record, of, &**work);
        let name = several.then_some(recorded.name.as_str());
        metrics.into_iter().map(move |metric| within(metric, name))
    });
    own.chain(steps::metrics(record))
        .chain(steps::forced(record))
        .chain(steps::recovery(record))
        .chain(capacity::metrics(record))
        .collect()
}

/// The metrics of the work, then of the probes. Empty if the work was cut short: its rates are not comparable with other runs.
fn of_work(record: &Record, of: usize, work: &dyn Work) -> Vec<Metric> {
    let stages: Vec<&StageRecord> = record.stages.iter().filter(|stage| stage.of == of).collect();
    if stages.is_empty() || stages.iter().any(|stage| stage.window_ns.is_none()) {
        return Vec::new();
    }
    let phases: Vec<Phase> = stages.iter().flat_map(|stage| stage.phases.iter().cloned()).collect();
    let own = match record.purpose {
        Purpose::Integrity => Vec::new(),
        _ => {
            let by_client: Vec<Client> = stages.iter().flat_map(|stage| stage.by_client.clone()).collect();
            let engine = &record.works[of].work.engine;
            [workloads_own(work, engine, &phases, &by_client), clients::metrics(&by_client)].concat()
        }
    };
    [own, steps::sync(record, of), probed(record, of, &stages, &phases)].concat()
}

/// Adds the work as a dimension, if a trial has several.
fn within(mut metric: Metric, work: Option<&str>) -> Metric {
    metric.dimensions.extend(work.map(|work| (WORK.to_owned(), work.to_owned())));
    metric
}

/// Phases of several clients overlap: metrics over all phases use the union of the clients' phase intervals.
fn workloads_own(work: &dyn Work, engine: &str, phases: &[Phase], by_client: &[Client]) -> Vec<Metric> {
    let own = work.metrics(phases);
    if by_client.is_empty() {
        return own;
    }
    let declared = workloads::engine(engine).map(|w| w.declared()).unwrap_or_default();
    let apart = work.metrics(&phases_apart(by_client));
    let of_all = |metric: &Metric| {
        declared::find(&declared, &metric.name).filter(|d| d.over == Over::Phases)?;
        apart.iter().find(|m| m.name == metric.name && m.dimensions == metric.dimensions).cloned()
    };
    own.into_iter().map(|metric| of_all(&metric).unwrap_or(metric)).collect()
}

/// All metrics, by the part that measures them.
pub fn declared() -> Vec<(String, Vec<&'static Declared>)> {
    let engines = workloads::TABLE.iter().map(|w| (format!("the workload {}", w.name()), w.declared()));
    engines.chain(declared_by_all()).collect()
}

/// The metrics that records of this workload may have; the workload's own metrics come first.
pub fn declared_of(engine: &str) -> Vec<&'static Declared> {
    let own = workloads::engine(engine).map(|w| w.declared()).unwrap_or_default();
    own.into_iter().chain(declared_by_all().into_iter().flat_map(|(_, all)| all)).collect()
}

/// The metrics that a trial of any workload may have.
fn declared_by_all() -> Vec<(String, Vec<&'static Declared>)> {
    let probes = probes::TABLE.iter().map(|p| (format!("the probe {}", p.name()), p.declared()));
    let own = [
        ("the steps of the trial".to_owned(), steps::declared()),
        ("the space on the volume".to_owned(), capacity::declared()),
        ("the clients of the work".to_owned(), clients::declared()),
    ];
    own.into_iter().chain(probes).collect()
}

/// Whether a metric describes the new filesystem alone, so that the amount of work cannot influence it.
pub fn is_before_work(metric: &str) -> bool {
    let steps = |name| matches!(name, StepName::Make | StepName::Mount);
    let of_steps = declared::find(&steps::declared(), metric).is_some_and(
        |declared| matches!(declared.over, Over::Steps(over) if over.iter().copied().all(steps)),
    );
    of_steps || capacity::is_before_work(metric)
}

/// The metrics that a verdict uses where times do not count.
pub fn standing_in() -> Vec<&'static Declared> {
    declared_by_all().into_iter().flat_map(|(_, all)| all).filter(|declared| declared.stands_in).collect()
}

fn probed(record: &Record, of: usize, stages: &[&StageRecord], phases: &[Phase]) -> Vec<Metric> {
    let Some(step) = work(record, of) else { return Vec::new() };
    let sync =
        steps::of_work(record, of, StepName::Sync).map(|sync| sync.user_ns.saturating_add(sync.sys_ns));
    let work = probes::Work { step: &step, phases, sync_ns: sum(sync) };
    let none = Raw::new();
    let all = probes::sum(stages.iter().copied());
    let whole = probes::TABLE.iter().flat_map(|p| p.metrics(counted(&all, *p, &none), &work));
    // The first part creates the files that the other parts read.
    let parts = stages.iter().skip(1).flat_map(|stage| {
        let phases: Vec<&Phase> = stage.phases.iter().collect();
        let of = |p: &&dyn Probe| p.metrics_of_part(counted(&stage.probes, *p, &none), &phases);
        probes::TABLE.iter().flat_map(of).collect::<Vec<Metric>>()
    });
    whole.chain(parts).collect()
}

fn counted<'r>(all: &'r Counters, probe: &dyn Probe, none: &'r Raw) -> &'r Raw {
    all.get(probe.name()).unwrap_or(none)
}

/// The step of the work itself, summed over the parts of the work.
fn work(record: &Record, of: usize) -> Option<Stepped> {
    steps::of_work(record, of, StepName::Work).cloned().reduce(|sum, part| Stepped {
        ns: sum.ns.saturating_add(part.ns),
        user_ns: sum.user_ns.saturating_add(part.user_ns),
        sys_ns: sum.sys_ns.saturating_add(part.sys_ns),
        minflt: sum.minflt.saturating_add(part.minflt),
        majflt: sum.majflt.saturating_add(part.majflt),
        switches: sum.switches.zip(part.switches).map(|(a, b)| a.plus(b)),
        waited_ns: sum.waited_ns.zip(part.waited_ns).map(|(a, b)| a.saturating_add(b)),
        ..sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::declared::{PART, Section};
    use crate::schema::metric::Of;

    fn everything() -> Vec<&'static Declared> {
        declared().into_iter().flat_map(|(_, all)| all).collect()
    }

    #[test]
    fn no_metric_is_declared_twice() {
        let mut names: Vec<&str> = everything().iter().map(|d| d.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn every_metric_has_a_title_and_is_explained_in_sentences() {
        for declared in everything() {
            let Declared { name, title, explained, .. } = declared;
            assert!(!title.is_empty() && !name.is_empty(), "{name}");
            assert!(
                explained.ends_with('.') && explained.starts_with(char::is_uppercase),
                "{name}: {explained}"
            );
            let has_parts = declared.over == Over::Part || declared.names_its_part();
            assert_eq!(has_parts, name.ends_with(PART), "{name}");
        }
    }

    /// Reports use `did` in sentences such as `ext4 created files 1.42 times as fast as the next, xfs`.
    #[test]
    fn every_headline_says_what_a_candidate_did_fast() {
        let headlines = || everything().into_iter().filter(|d| d.section == Section::Headline);
        for Declared { name, did, of, .. } in headlines() {
            let is_said = did.starts_with(char::is_lowercase) && !did.ends_with(['.', ' ']);
            assert!(is_said && *of == Of::Time, "{name}: {did:?}");
        }
        for engine in workloads::TABLE {
            let own = engine.declared();
            assert!(own.iter().any(|d| d.section == Section::Headline), "{} has no headline", engine.name());
        }
        assert!(headlines().count() > workloads::TABLE.len(), "and that of a recovery");
    }

    /// If the rate of one operation is measured in two phases, the titles of the two rates must name the phase.
    #[test]
    fn every_rate_of_a_workload_says_over_which_phase_it_is() {
        let declared = workloads::TABLE.iter().flat_map(|w| w.declared());
        for declared in declared.filter(|d| d.of == Of::Time && !d.names_its_part()) {
            let said = match declared.over {
                Over::Phase(phase) => phase,
                Over::Phases => "all phases",
                _ => panic!("{}: a workload has phases", declared.name),
            };
            assert!(declared.title.contains(said), "{}: {}", declared.name, declared.title);
        }
    }

    #[test]
    fn titles_tell_metrics_of_one_workload_apart() {
        for engine in workloads::TABLE {
            let mut titles: Vec<String> =
                declared_of(engine.name()).iter().map(|d| d.title_of(d.name)).collect();
            titles.sort_unstable();
            assert!(titles.windows(2).all(|pair| pair[0] != pair[1]), "{titles:?}");
        }
    }
}
