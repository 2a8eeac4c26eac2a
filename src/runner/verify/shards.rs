//! The shards of a merged run: their seals, and each of their records beside the run's own.

use std::collections::{HashMap, HashSet};

use minisign::PublicKey;

use super::Verified;
use crate::schema::job::Purpose;
use crate::schema::machine::Merged;
use crate::schema::plan::Plan;
use crate::schema::reason::Outcome;
use crate::schema::record::Record;
use crate::store::{Run, SHARDS, merge, signature};

/// Finds shards whose files were altered, and records that differ from those of their shards.
pub fn hold(run: &Run, found: &mut Verified) {
    let mut from_shards: HashSet<usize> = HashSet::new();
    let own: HashMap<(&str, u32), usize> = run
        .records
        .iter()
        .enumerate()
        .map(|(at, record)| ((record.trial.as_str(), record.attempt), at))
        .collect();
    let (mut cells, mut is_damaged) = (Cells::default(), false);
    for merged in &run.machine.shards {
        let wrong = |what: String| format!("shard {}: {what}", merged.shard);
        match of_shard(run, merged, &own, &mut from_shards, &mut cells) {
            Ok(Shard { damage, .. }) if !damage.is_empty() => {
                is_damaged = true;
                found.wrong.extend(damage.into_iter().map(wrong));
            }
            Ok(Shard { wrong: wrongs, .. }) => found.wrong.extend(wrongs.into_iter().map(wrong)),
            Err(e) => {
                is_damaged = true;
                found.wrong.push(wrong(format!("{e:#}")));
            }
        }
    }
    // Which records a damaged shard had is unknown.
    if is_damaged {
        return;
    }
    let is_lost = |(cell, _, _): &&(Cell, String, String)| !cells.failed.contains(cell);
    if let Some((_, trial, shard)) = cells.absent.iter().find(is_lost) {
        found.wrong.push(format!("shard {shard}: the run lacks its record of {trial}"));
    }
    let is_foreign = |(at, record): &(usize, &Record)| {
        !from_shards.contains(at) && (*at < from_shards.len() || !record.circumstances.node.is_empty())
    };
    if !run.machine.shards.is_empty()
        && let Some((_, record)) = run.records.iter().enumerate().find(is_foreign)
    {
        found.wrong.push(format!("{} (attempt {}): no shard has this record", record.trial, record.attempt));
    }
}

/// Label and scenario.
type Cell = (String, String);

/// What a merged run may leave out: trials of cells whose integrity check failed on some node.
#[derive(Default)]
struct Cells {
    failed: HashSet<Cell>,
    /// Trials of shards that the run lacks: cell, trial, shard.
    absent: Vec<(Cell, String, String)>,
}

/// Faults of a shard: damage of its own files, or differences from the run. A damaged shard differs for this reason alone.
struct Shard {
    damage: Vec<String>,
    wrong: Vec<String>,
}

/// Faults of a shard; notes which records of the run it has, and which the run lacks.
fn of_shard(
    run: &Run,
    merged: &Merged,
    own: &HashMap<(&str, u32), usize>,
    from_shards: &mut HashSet<usize>,
    cells: &mut Cells,
) -> anyhow::Result<Shard> {
    let mut wrong = Vec::new();
    let (mut seen, mut taken) = (0, 0);
    let shard = merge::read_kept(run, &merged.folder, &mut |mut record, _| {
        seen += 1;
        let cell = || (record.filesystem.clone(), record.scenario.clone());
        if record.purpose == Purpose::Integrity && record.outcome == Outcome::Failed {
            cells.failed.insert(cell());
        }
        let Some(at) = own.get(&(record.trial.as_str(), record.attempt)) else {
            if record.purpose != Purpose::Integrity {
                cells.absent.push((cell(), record.trial.clone(), merged.shard.clone()));
            }
            return;
        };
        // In real time every shard checks its own machine, and the run has the checks of one of them.
        let ours = &run.records[*at];
        record.previous.clone_from(&ours.previous);
        // A cell that every shard skipped is the first shard's.
        if record == *ours && from_shards.insert(*at) {
            taken += 1;
        }
    })?;
    let place = |what: &String| format!("{SHARDS}/{}: {what}", merged.folder);
    let mut damage: Vec<String> = shard.damage.iter().map(place).collect();
    // First, because whatever else differs may follow from it.
    if shard.seal.is_some() && merge::seal_hash(&shard)? != merged.seal_blake3 {
        damage.insert(0, place(&"its seal differs from the seal that was merged".to_owned()));
    }
    if !is_planned_alike(&shard.plan, &run.plan) {
        wrong.push("its plan differs from the plan of the run".into());
    }
    match &shard.seal {
        None => wrong.push("its seal is missing".into()),
        Some(seal) if seal.records > seen => wrong.push("records are missing".into()),
        Some(_) => {}
    }
    if taken != merged.records {
        wrong.push(format!(
            "{} of its records were merged, but {taken} of its records are in the run unaltered",
            merged.records
        ));
    }
    Ok(Shard { damage, wrong })
}

/// Whether the shard's plan is the run's, but for the number of rounds: a merged run may be continued.
fn is_planned_alike(shard: &Plan, run: &Plan) -> bool {
    Plan { shard: None, rounds: run.rounds, ..shard.clone() } == *run
}

/// Whether the run, or else each of its shards, was signed by this key. The shards' signatures are not those of a run that was
/// continued after it was merged.
///
/// # Errors
/// A description of the problem in one sentence.
pub fn signed(run: &Run, key: &PublicKey) -> Result<(), String> {
    if run.machine.shards.is_empty() || signature::is_signed(&run.door) {
        return signature::check(run, key);
    }
    let merged: usize = run.machine.shards.iter().map(|merged| merged.records).sum();
    if run.records.len() > merged {
        return Err(format!(
            "the merged run is not signed, and {} of its records were added after the merge",
            run.records.len() - merged
        ));
    }
    run.machine.shards.iter().try_for_each(|merged| {
        let of_shard = |what: String| {
            format!("the merged run is not signed, and neither is shard {}: {what}", merged.shard)
        };
        let shard =
            merge::read_kept(run, &merged.folder, &mut |_, _| ()).map_err(|e| of_shard(format!("{e:#}")))?;
        signature::check(&shard, key).map_err(of_shard)
    })
}
