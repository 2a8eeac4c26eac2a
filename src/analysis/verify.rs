//! Recomputes everything of a run from its raw records.

use super::metrics;
use crate::schema::job::Purpose;
use crate::schema::plan::Plan;
use crate::schema::reason::Outcome;
use crate::schema::record::Record;
use crate::store::Run;
use crate::workloads;

/// What a check of a whole run found.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    pub records: usize,
    pub metrics: usize,
    pub histograms: usize,
    pub consoles: usize,
    /// One sentence each; a sound run has none.
    pub wrong: Vec<String>,
}

/// Checksums, chain, histograms, parameters, order and every metric.
pub fn verify(run: &Run) -> Verified {
    let mut found = Verified { records: run.records.len(), wrong: run.damage.clone(), ..Verified::default() };
    for record in &run.records {
        let name = format!("{} (attempt {})", record.trial, record.attempt);
        found.metrics += record.metrics.len();
        found.histograms += record.histograms.len();
        found.consoles += usize::from(record.console.is_some());
        let checks = [
            metrics_hold(record),
            parameters_hold(record),
            order_holds(&run.plan, record),
            run.altered(record),
        ];
        found.wrong.extend(checks.into_iter().flatten().map(|what| format!("{name}: {what}")));
    }
    found
}

fn metrics_hold(record: &Record) -> Option<String> {
    if record.outcome == Outcome::Skipped {
        return None;
    }
    let Some(engine) = workloads::engine(&record.work.engine) else {
        return Some(format!(
            "this fsderby has no workload {} to recompute its metrics with",
            record.work.engine
        ));
    };
    let work = match engine.parse(&record.work.parameters) {
        Ok(work) => work,
        Err(e) => return Some(format!("its parameters are no longer understood: {e}")),
    };
    let version = metrics::version(&*work);
    if record.metrics_version != version {
        return Some(format!(
            "its metrics are of version {}, this fsderby computes {version}",
            record.metrics_version
        ));
    }
    // They are a set: a version that puts them into another order has the same ones.
    let again = metrics::all(record, &*work);
    let differs = record.metrics.iter().find(|stored| !again.contains(stored));
    match differs {
        Some(stored) => Some(format!("{} is not what its raw values give", stored.name)),
        None if again.len() != record.metrics.len() => {
            Some("it has other metrics than its raw values give".into())
        }
        None => None,
    }
}

fn parameters_hold(record: &Record) -> Option<String> {
    (record.work.hash() != record.params_hash).then(|| "its parameters do not fit their hash".into())
}

fn order_holds(plan: &Plan, record: &Record) -> Option<String> {
    if record.outcome == Outcome::Skipped {
        return None;
    }
    let mut planned = if record.purpose == Purpose::Integrity {
        plan.integrity_checks().collect::<Vec<_>>()
    } else {
        plan.round(record.round).collect()
    };
    planned.retain(|t| t.name() == record.trial);
    match planned.first() {
        None => Some("the plan has no such trial".into()),
        Some(t) if t.order != record.order => {
            Some(format!("the plan's order has it at {}, not {}", t.order, record.order))
        }
        Some(_) => None,
    }
}
