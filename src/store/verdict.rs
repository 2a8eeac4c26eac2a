//! `verdict.json`: what was found when a verdict was given last. From the records alone, so it can always be made again.

use std::io::ErrorKind;

use super::{Door, VERDICT};
use crate::schema::finding::{SCHEMA, Verdict};
use crate::schema::units::{Bytes, MIB};

/// Some hundred bytes for each pair of candidates and headline metric.
const VERDICT_MOST: Bytes = Bytes(64 * MIB);

/// The verdict of the run in this folder; none where none was given.
///
/// # Errors
/// Says what is wrong with it.
pub fn read(run: &Door) -> Result<Option<Verdict>, String> {
    let damaged = |what: String| format!("{VERDICT} is damaged: {what}");
    let text = match run.text(VERDICT, VERDICT_MOST) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|e| damaged(e.to_string()))?,
    };
    let verdict: Verdict = serde_json::from_str(&text).map_err(|e| damaged(e.to_string()))?;
    if verdict.schema != SCHEMA {
        return Err(format!("{VERDICT} is of version {}, this fsderby reads {SCHEMA}", verdict.schema));
    }
    Ok(Some(verdict))
}

/// Puts this verdict into the folder, whole or not at all, in place of an older one.
pub fn store(run: &Door, verdict: &Verdict) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(verdict)? + "\n";
    Ok(run.replace(VERDICT, text.as_bytes())?)
}
