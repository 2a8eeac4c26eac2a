//! One workload of the run: its figures in sections, its latencies, its findings, and a paper beside them.

use super::known::Known;
use super::latency::Merge;
use super::{notes, published, sections};
use crate::analysis::dataset::Work;
use crate::analysis::ensemble;
use crate::report::view::entry::Entry;
use crate::report::view::latency::Latency;
use crate::report::view::row::Row;
use crate::report::view::workload::WorkloadSummary;
use crate::schema::job::WorkSpec;
use crate::schema::record::Record;
use crate::schema::setup::ClockKind;
use crate::store::Run;
use crate::workloads;

pub fn of(
    run: &Run,
    work: &Work<'_>,
    filesystems: &[Entry],
    known: Known,
    damage: &mut Vec<String>,
) -> WorkloadSummary {
    let mine: Vec<&Record> = run.records.iter().filter(|r| r.workload == work.label).collect();
    let planned = run.plan.workloads.iter().find(|w| w.label == work.label);
    let spec = planned.map(|w| &w.work).or(mine.first().map(|r| &r.work));
    let clients = planned.map(|w| run.plan.clients_of(w)).or(mine.first().map(|r| r.clients)).unwrap_or(1);
    let amount = mine.iter().map(|r| r.amount).max_by_key(|v| v.bytes_peak).unwrap_or_default();
    let memory = mine.iter().find_map(|r| r.memory).or(run.plan.memory).unwrap_or(run.machine.memory);
    let declared = spec.map(|s| (known.metrics)(&s.engine)).unwrap_or_default();
    let sections = sections::of(&work.series, &declared);
    let notes = notes::of(run, work, filesystems, amount, memory);
    let rows: Vec<&Row> = sections.iter().flat_map(|s| &s.rows).collect();
    // Papers have one process's figures.
    let published = spec.filter(|_| clients == 1);
    let published = published.and_then(|spec| published::of(run, spec, &rows, filesystems, &declared));
    WorkloadSummary {
        label: work.label.clone(),
        engine: spec.map(|s| s.engine.clone()).unwrap_or_default(),
        parameters: spec.map(|s| parameters(&s.parameters)).unwrap_or_default(),
        story: story(&work.label, spec),
        amount,
        clients,
        on_one_cpu: clients > 1 && mine.iter().any(|r| r.clock == ClockKind::Virtual),
        memory,
        rounds: work.complete_rounds(),
        page_cache: notes.page_cache,
        labels: notes.labels,
        sections,
        latencies: latencies(run, work, filesystems, damage),
        ensemble: ensemble::findings(work, run.plan.margin),
        published,
    }
}

/// Of the set of that name, or of the one that has these parameters under another label.
fn story(label: &str, spec: Option<&WorkSpec>) -> String {
    let by_name = workloads::find(label).map(|(_, set)| set.file());
    let same = |spec: &WorkSpec| {
        let mut files = workloads::engine(&spec.engine)?.sets().iter().map(|set| set.file());
        files.find(|file| file.parameters == spec.parameters)
    };
    by_name.or_else(|| same(spec?)).map(|file| file.story).unwrap_or_default()
}

fn parameters(table: &toml::Table) -> Vec<String> {
    table.iter().map(|(key, value)| format!("{key} = {value}")).collect()
}

/// A histogram that cannot be read is told, and the rest of the report stands.
fn latencies(run: &Run, work: &Work<'_>, filesystems: &[Entry], damage: &mut Vec<String>) -> Vec<Latency> {
    let mut merge = Merge::default();
    for filesystem in filesystems.iter().map(|f| &f.label) {
        let timed = |r: &&&Record| r.filesystem == *filesystem && r.fidelity.times_count();
        for record in work.counted.iter().filter(timed) {
            match run.histograms(record) {
                Ok(all) => all.iter().for_each(|histogram| merge.add(filesystem, histogram)),
                Err(error) => {
                    damage.push(format!("The latencies of {} are missing: {error:#}", record.trial))
                }
            }
        }
    }
    merge.done()
}
