//! One workload of the run: figures in sections, latencies, findings, and a paper's figures.

use super::known::Known;
use super::{Judged, comparison, durability, latency, memory, notes, published, sections, sheet};
use crate::analysis::dataset::Work;
use crate::analysis::latencies::Latencies;
use crate::analysis::{losses, over_time};
use crate::report::view::entry::Entry;
use crate::report::view::number::list;
use crate::report::view::row::Row;
use crate::report::view::workload::WorkloadSummary;
use crate::schema::declared::Declared;
use crate::schema::job::WorkSpec;
use crate::schema::record::Record;
use crate::schema::scenario::{Scenario, Stage, WorkStage};
use crate::schema::setup::ClockKind;
use crate::store::Run;
use crate::workloads;

pub fn of(
    run: &Run,
    work: &Work<'_>,
    filesystems: &[Entry],
    judged: Judged<'_>,
    known: Known,
    latencies: &Latencies,
) -> WorkloadSummary {
    let mine: Vec<&Record> = run.records.iter().filter(|r| r.scenario == work.label).collect();
    let scenario = run.plan.scenarios.iter().find(|s| s.label == work.label);
    let specs = specs(run, scenario, &mine);
    let measured = || mine.iter().flat_map(|r| &r.works).filter(|work| work.measured);
    let amount = measured().map(|work| work.amount).max_by_key(|v| v.bytes_peak).unwrap_or_default();
    let clients = measured().map(|work| work.clients).max().unwrap_or(1);
    let is_modelled = mine.iter().any(|r| r.clock == ClockKind::Virtual);
    let limit = mine.iter().find_map(|r| r.memory).or(run.plan.memory);
    let memory = memory::of(run, mine.iter().copied(), limit);
    let declared = declared(&specs, known);
    let compared = sections::of(&work.series, &declared, is_modelled);
    let notes = notes::of(run, work, filesystems, amount, memory);
    let rows: Vec<&Row> = compared.iter().flat_map(|s| &s.rows).collect();
    // Papers have figures for one process and one work; other stages make it another work.
    let is_alone = scenario.is_some_and(|s| s.stages == [Stage::work(&work.label)]);
    let spec = specs.first().filter(|_| is_alone);
    let published = spec.filter(|_| clients == 1);
    let published = published.and_then(|spec| published::of(run, spec, &rows, filesystems, &declared));
    let headlines: Vec<&Row> = rows.iter().filter(|row| row.headline).copied().collect();
    let verdict = judged.verdict;
    let unequal = durability::unflushed(&run.plan, &rows);
    let comparisons = comparison::of(&work.label, &headlines, judged, &unequal);
    let labels: Vec<String> = filesystems.iter().map(|f| f.label.clone()).collect();
    let shown = losses::shown(work, &losses::of(run, &work.label), &labels);
    let mut sections = sections::of(&shown, &declared, is_modelled);
    let drawn_by_paper = published
        .iter()
        .flat_map(|beside| &beside.tables)
        .flat_map(|compared| compared.table.metrics.clone())
        .collect::<Vec<String>>();
    let shown: Vec<&Row> = sections.iter().flat_map(|s| &s.rows).collect();
    let engine = specs.first().filter(|_| specs.len() == 1).and_then(|spec| workloads::engine(&spec.engine));
    let declared_sheets = engine.map(|engine| engine.sheets()).unwrap_or_default();
    let sheets = declared_sheets.iter().filter_map(|sheet| sheet::of(sheet, &shown)).collect();
    sections::draw_each_fact_once(&mut sections, &drawn_by_paper);
    WorkloadSummary {
        label: work.label.clone(),
        engine: engines(&specs),
        parameters: specs.iter().flat_map(|s| parameters(&s.parameters)).collect(),
        stages: scenario.filter(|_| !is_alone).map(stages).unwrap_or_default(),
        joined: scenario.map(joined).unwrap_or_default(),
        story: story(&work.label, spec.copied()),
        amount,
        clients,
        on_one_cpu: clients > 1 && is_modelled,
        memory,
        rounds: work.complete_rounds(),
        page_cache: notes.page_cache,
        short: notes.short,
        is_short: notes.is_short,
        disturbed: notes.disturbed,
        disturbed_trials: notes.disturbed_trials,
        labels: notes.labels,
        sections,
        sheets,
        latencies: latency::of(latencies, &work.label, filesystems, is_modelled),
        over_time: over_time::of(work, &labels),
        comparisons,
        findings: verdict.findings.iter().filter(|f| f.scenario == work.label).cloned().collect(),
        published,
        imported: Vec::new(),
    }
}

/// The works of the scenario, each once; those of a record if the plan lacks the scenario.
fn specs<'r>(run: &'r Run, scenario: Option<&'r Scenario>, records: &[&'r Record]) -> Vec<&'r WorkSpec> {
    let of_plan = scenario.into_iter().flat_map(Scenario::works).filter_map(|w| run.plan.workload(&w.work));
    let of_record = records.first().into_iter().flat_map(|record| &record.works).map(|work| &work.work);
    let of_record = of_record.filter(|_| scenario.is_none());
    let mut specs: Vec<&WorkSpec> = Vec::new();
    for spec in of_plan.map(|planned| &planned.work).chain(of_record) {
        if !specs.contains(&spec) {
            specs.push(spec);
        }
    }
    specs
}

fn engines(specs: &[&WorkSpec]) -> String {
    let mut engines: Vec<&str> = specs.iter().map(|spec| spec.engine.as_str()).collect();
    engines.dedup();
    engines.join(" and ")
}

fn declared(specs: &[&WorkSpec], known: Known) -> Vec<&'static Declared> {
    let mut all: Vec<&'static Declared> = Vec::new();
    for declared in specs.iter().flat_map(|spec| (known.metrics)(&spec.engine)) {
        if !all.iter().any(|known| known.name == declared.name) {
            all.push(declared);
        }
    }
    all
}

/// `work deliver (not measured), power-cut 50%, recover`
fn stages(scenario: &Scenario) -> String {
    let said = |stage: &Stage| match stage {
        Stage::Work(WorkStage { measured: false, .. }) => format!("{stage} (not measured)"),
        _ => stage.to_string(),
    };
    scenario.stages.iter().map(said).collect::<Vec<_>>().join(", ")
}

/// A work is synced when it ends, but its journal and deferred deletions may keep the device busy.
fn joined(scenario: &Scenario) -> String {
    let pairs: Vec<String> =
        scenario.joined().map(|(first, next)| format!("{next} begins right after {first}")).collect();
    if pairs.is_empty() {
        return String::new();
    }
    format!(
        "{}: the filesystem's background writes for the first workload count in the second workload; to separate them, put \
         \"sync\" between the two stages",
        list(&pairs)
    )
}

/// From the parameter set of that name, or the set with these parameters under another label.
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
