//! `verdict.json`: the findings of the last verdict. They depend only on the records, so they can always be recomputed.

use std::io::ErrorKind;

use serde_json::Value;

use super::{Door, VERDICT};
use crate::schema::finding::{SCHEMA, Verdict};
use crate::schema::units::{Bytes, MIB};

/// An older version, in which other rules judged; the findings of such a file are still read.
const OLDER: [u32; 2] = [2, 3];
const OUTDATED: [&str; 2] = ["deciders", "costs"];

/// Size limit; each pair of candidates takes some hundred bytes per headline metric.
const VERDICT_MOST: Bytes = Bytes(64 * MIB);

/// The stored verdict of the run in this folder; `None` if no verdict is stored.
///
/// # Errors
/// A description of the problem.
pub fn read(run: &Door) -> Result<Option<Verdict>, String> {
    let damaged = |what: String| format!("{VERDICT} is damaged: {what}");
    let text = match run.text(VERDICT, VERDICT_MOST) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|e| damaged(e.to_string()))?,
    };
    let mut told: Value = serde_json::from_str(&text).map_err(|e| damaged(e.to_string()))?;
    let version = told.get("schema").and_then(Value::as_u64);
    let [oldest, older] = OLDER;
    if let Some(other) = version.filter(|version| ![oldest, older, SCHEMA].map(u64::from).contains(version)) {
        return Err(format!(
            "{VERDICT} has version {other}; this fsderby reads versions {oldest} to {SCHEMA}"
        ));
    }
    if version == Some(oldest.into()) {
        forget(&mut told);
    }
    serde_json::from_value(told).map(Some).map_err(|e| damaged(e.to_string()))
}

/// Removes from an older verdict's findings the evidence that came from rules no longer in use.
fn forget(older: &mut Value) {
    let findings = older.get_mut("findings").and_then(Value::as_array_mut);
    let evidence =
        findings.into_iter().flatten().filter_map(|finding| finding.pointer_mut("/evidence/samples"));
    for evidence in evidence.filter_map(Value::as_object_mut) {
        OUTDATED.iter().for_each(|key| drop(evidence.remove(*key)));
    }
}

/// Writes the verdict atomically and replaces an older one.
pub fn store(run: &Door, verdict: &Verdict) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(verdict)? + "\n";
    Ok(run.replace(VERDICT, text.as_bytes())?)
}
