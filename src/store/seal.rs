//! `seal.json`: written when a run ends, so that a later loss of records is detected.
//!
//! The checksums of the lines cannot detect records removed from the end, so the seal stores the number of records. A seal covers
//! the first part of `trials.jsonl`: a run that is continued and then killed keeps the seal of its earlier records.

use std::io::ErrorKind;

use super::{Door, MACHINE, PLAN, SEAL, SIGNATURE, TRIALS};
use crate::schema::finding::Interim;
use crate::schema::seal::{Ended, SCHEMA, Seal};
use crate::schema::units::{Bytes, KIB};

/// Size limit; a seal and its signature have a few lines each.
pub const SEAL_MOST: Bytes = Bytes(64 * KIB);

/// The files that a seal covers.
#[derive(Clone, Copy)]
pub struct Covered<'a> {
    pub plan: &'a [u8],
    pub machine: &'a [u8],
    pub trials: &'a [u8],
}

impl Covered<'_> {
    pub fn sealed(self, records: usize, rounds: u32, looks: Vec<Interim>, ended: Ended) -> Seal {
        Seal {
            schema: SCHEMA,
            ended,
            rounds,
            looks,
            records,
            bytes: self.trials.len(),
            plan_blake3: hash(self.plan),
            machine_blake3: hash(self.machine),
            trials_blake3: hash(self.trials),
        }
    }
}

/// The part of `trials.jsonl` that a seal covers, hashed while the file is read.
#[derive(Default)]
pub struct Trials {
    hasher: blake3::Hasher,
    /// Number of bytes that the seal covers.
    covered: usize,
    /// Number of bytes in the file.
    pub bytes: usize,
}

impl Trials {
    pub fn covered_by(seal: Option<&Seal>) -> Self {
        Trials { covered: seal.map_or(0, |seal| seal.bytes), ..Trials::default() }
    }

    pub fn add(&mut self, bytes: &[u8]) {
        let covered = self.covered.saturating_sub(self.bytes).min(bytes.len());
        self.hasher.update(&bytes[..covered]);
        self.bytes += bytes.len();
    }
}

/// Descriptions of changes since the run was sealed, one sentence each.
pub fn differences(seal: &Seal, plan: &[u8], machine: &[u8], trials: &Trials) -> Vec<String> {
    let mut found = altered(seal, plan, machine);
    if trials.bytes < seal.bytes {
        found.push(format!(
            "{TRIALS} was truncated: it had {} records in {} bytes when the run ended, and has {} bytes",
            seal.records, seal.bytes, trials.bytes
        ));
    } else if trials.hasher.finalize().to_hex().as_str() != seal.trials_blake3 {
        found.push(changed(TRIALS));
    }
    found
}

/// Like [`differences`], of the plan and the machine alone.
pub fn altered(seal: &Seal, plan: &[u8], machine: &[u8]) -> Vec<String> {
    let is_other = |(_, bytes, sealed): &(&str, &[u8], &String)| hash(bytes) != **sealed;
    let files = [(PLAN, plan, &seal.plan_blake3), (MACHINE, machine, &seal.machine_blake3)];
    files.into_iter().filter(is_other).map(|(name, ..)| changed(name)).collect()
}

fn changed(name: &str) -> String {
    format!("{name} has changed since the run ended and was sealed")
}

/// The seal of the run in this folder; `None` if the run was killed before it was sealed.
///
/// # Errors
/// The error describes the problem.
pub fn read(run: &Door) -> Result<Option<Seal>, String> {
    let damaged = |what: String| format!("{SEAL} is damaged: {what}");
    let text = match run.text(SEAL, SEAL_MOST) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|e| damaged(e.to_string()))?,
    };
    let seal: Seal = serde_json::from_str(&text).map_err(|e| damaged(e.to_string()))?;
    if seal.schema != SCHEMA {
        return Err(format!(
            "{SEAL} has version {version}; this fsderby reads version {SCHEMA}",
            version = seal.schema
        ));
    }
    // The seal must have the exact bytes that fsderby writes, so that a change of any byte is detected.
    let is_ours = written(&seal).is_ok_and(|ours| ours == text);
    if is_ours {
        Ok(Some(seal))
    } else {
        Err(damaged("its bytes are not the ones that fsderby writes".into()))
    }
}

/// Writes a seal atomically; an older seal is replaced, and its signature removed.
pub fn store(run: &Door, seal: &Seal) -> anyhow::Result<()> {
    let text = written(seal)?;
    if run.text(SEAL, SEAL_MOST).is_ok_and(|stored| stored == text) {
        return Ok(());
    }
    run.remove(SIGNATURE)?;
    Ok(run.replace(SEAL, text.as_bytes())?)
}

fn written(seal: &Seal) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(seal)? + "\n")
}

pub fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
