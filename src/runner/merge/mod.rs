//! Makes one run of the shards of a plan: the run that one machine would have made, in the order of the plan.
//!
//! ```text
//! shards ─▶ fit: one plan, one program, none missing, none twice
//!        ─▶ each line once: chain, seal, files beside it ─▶ an index: place in the plan, place in the file
//!        ─▶ what one run would not have: a second check of a cell, trials of a cell whose check failed on another node
//!        ─▶ lines in the plan's order ─▶ verdict, seal
//! ```
//! Nothing is measured, and no shard is altered.

pub mod fit;
mod order;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use self::fit::{Set, name, refused};
use self::order::{Group, Order, Position};
use crate::analysis::dataset::Dataset;
use crate::analysis::verdict;
use crate::exit::{DAMAGED, Failure};
use crate::host::parallel::parallel;
use crate::runner::plan::resolved::Resolved;
use crate::runner::plan::{extras, shard};
use crate::schema::machine::{Machine, Merged};
use crate::schema::plan::{Plan, Rounds, Trial};
use crate::schema::reason::Outcome;
use crate::schema::record::Record;
use crate::schema::seal::Ended;
use crate::schema::shard::Shard;
use crate::store::lines::Span;
use crate::store::merge::{self, Merging};
use crate::store::{self, Door, Folder, Run};

/// Number of records whose files are checked together.
const BATCH: usize = 512;

/// A merged run.
#[derive(Debug)]
pub struct Made {
    pub records: usize,
    /// Records that one run would not have: a further check of a cell, or trials of a cell whose check failed on another node.
    pub left_out: usize,
    /// Number of trials that the results call for.
    pub left: usize,
}

/// A record of a shard.
struct Entry {
    position: Position,
    attempt: u32,
    cell: u32,
    outcome: Outcome,
    /// Index of the shard among all.
    shard: usize,
    span: Span,
}

/// `tell` receives the plan of the trials that the results call for, if any, before the merged run has its name.
///
/// # Errors
/// If the shards do not fit together or are damaged, or if the run cannot be written.
pub fn merge(
    out: &Path,
    folders: &[PathBuf],
    tell: &mut dyn FnMut(&Plan) -> anyhow::Result<()>,
) -> anyhow::Result<Made> {
    Folder::can_be_created(out)?;
    let heads = folders.iter().map(|folder| store::head(folder)).collect::<anyhow::Result<Vec<Run>>>()?;
    let Some(first) = heads.first() else { return Err(refused("no shard was named").into()) };
    let plan = Plan { shard: None, ..first.plan.clone() };
    let resolved = Resolved::of(&plan)?;
    let in_virtual_time = resolved.share.in_virtual_time();
    let sets = fit::sets(&heads, in_virtual_time)?;
    let numbered: Vec<&Run> = sets.iter().flat_map(|set| set.shards.iter().copied()).collect();
    let order = Order::of(&plan);
    let (mut entries, mut shards) = (Vec::new(), Vec::new());
    for (at, head) in numbered.iter().enumerate() {
        shards.push(read(&order, at, head.door.clone(), &mut entries)?);
    }
    entries.sort_by_key(|entry| (entry.position, entry.shard, entry.attempt));
    let all = entries.len();
    let entries = Together { shards: &shards, in_virtual_time }.of(entries)?;
    let left_out = all - entries.len();
    is_complete(&resolved, &order, &entries, &sets)?;

    let mut machine = Machine { node: String::new(), shards: Vec::new(), ..shards[0].machine.clone() };
    for (at, run) in shards.iter().enumerate() {
        let records = entries.iter().filter(|entry| entry.shard == at).count();
        machine.shards.push(of_shard(run, at, records)?);
    }
    let mut merging = Merging::begin(out, &plan, &machine)?;
    for (run, merged) in shards.iter().zip(&machine.shards) {
        merging.keep(&merged.folder, run)?;
    }
    let files = shards.iter().map(merge::Shard::of).collect::<Result<Vec<_>, _>>()?;
    for entry in &entries {
        merging.append(&files[entry.shard], entry.span)?;
    }
    let run = merging.read(out)?;
    let due = corners(&run, &resolved, &order, &entries);
    let ended = if due.is_empty() { Ended::Complete } else { Ended::GoesOn };
    let given = verdict::given(&run, &Dataset::of(&run));
    let records = run.records.len();
    let rounds = run.records.iter().map(|record| record.round).max().unwrap_or(0);
    drop(run);
    let left = due.len();
    if left > 0 {
        tell(&Plan { shard: Some(Shard { number: 1, of: 1, due }), ..plan.clone() })?;
    }
    merging.end(out, rounds, &given, ended)?;
    Ok(Made { records, left_out, left })
}

/// Reads a shard's records into the index, and checks all that the shard sealed.
fn read(order: &Order<'_>, at: usize, door: Door, entries: &mut Vec<Entry>) -> anyhow::Result<Run> {
    let (mut batch, mut wrong) = (Vec::new(), None);
    let head = store::head_of(door.clone())?;
    let check = |batch: &mut Vec<Record>, wrong: &mut Option<String>| {
        let altered = parallel(batch, |part| part.iter().find_map(|record| head.altered(record)));
        *wrong = wrong.take().or(altered.into_iter().flatten().next());
        batch.clear();
    };
    let run = store::read_each(door, &mut |record, span| {
        match order.trial(&record) {
            Some(trial) => {
                let Record { attempt, outcome, .. } = record;
                let (position, cell) = (order.position(&trial), order.cell(&trial));
                entries.push(Entry { position, attempt, cell, outcome, shard: at, span });
            }
            None => {
                wrong =
                    wrong.take().or(Some(format!("{}: the plan does not contain this trial", record.trial)))
            }
        }
        batch.push(record);
        if batch.len() == BATCH {
            check(&mut batch, &mut wrong);
        }
    })?;
    check(&mut batch, &mut wrong);
    if let Some(what) = run.damage.first().cloned().or(wrong) {
        let text = format!(
            "not merged: {0} is damaged: {what}\n  try: fsderby verify {0}, and run that shard again",
            name(&run)
        );
        return Err(Failure::new(DAMAGED, text).into());
    }
    if !run.is_complete() {
        let text = format!("{0} is unfinished\n  try: fsderby run --resume {0}, then merge", name(&run));
        return Err(refused(text).into());
    }
    Ok(run)
}

/// The records that the merged run has.
struct Together<'r> {
    shards: &'r [Run],
    in_virtual_time: bool,
}

impl Together<'_> {
    /// `entries` are sorted. Each trial must come from one shard; of checks that every shard made, one that failed counts.
    fn of(&self, entries: Vec<Entry>) -> anyhow::Result<Vec<Entry>> {
        self.skip_alike(&entries)?;
        let mut taken: Vec<Entry> = Vec::new();
        let mut dropped: BTreeSet<u32> = BTreeSet::new();
        let mut entries = entries.into_iter().peekable();
        while let Some(first) = entries.next() {
            let position = first.position;
            let mut by_shard: Vec<Vec<Entry>> = vec![vec![first]];
            while let Some(next) = entries.next_if(|next| next.position == position) {
                match by_shard.last_mut() {
                    Some(own) if own[0].shard == next.shard => own.push(next),
                    _ => by_shard.push(vec![next]),
                }
            }
            let failed = |own: &Vec<Entry>| own.iter().any(|entry| entry.outcome == Outcome::Failed);
            let own = match position.group {
                Group::Skipped => 0,
                Group::Check if !self.in_virtual_time => by_shard.iter().position(failed).unwrap_or(0),
                _ if by_shard.len() > 1 => {
                    let [one, other] = [0, 1].map(|at| name(&self.shards[by_shard[at][0].shard]));
                    return Err(refused(format!(
                        "{one} and {other} have one trial both\n  try: run one of them again"
                    ))
                    .into());
                }
                _ => 0,
            };
            let own = by_shard.swap_remove(own);
            let cell = own[0].cell;
            if position.group == Group::Check && failed(&own) {
                dropped.insert(cell);
            }
            let is_dropped = matches!(position.group, Group::Round | Group::Extra) && dropped.contains(&cell);
            if !is_dropped {
                taken.extend(own);
            }
        }
        Ok(taken)
    }

    /// All nodes must have skipped the same cells.
    fn skip_alike(&self, entries: &[Entry]) -> anyhow::Result<()> {
        let mut skipped: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        for entry in entries.iter().filter(|entry| entry.position.group == Group::Skipped) {
            skipped.entry(entry.cell).or_default().insert(entry.shard);
        }
        let odd = skipped.iter().find_map(|(cell, by)| {
            let other = (0..self.shards.len()).find(|shard| !by.contains(shard))?;
            Some((*cell as usize, *by.first()?, other))
        });
        let Some((cell, by, other)) = odd else { return Ok(()) };
        let plan = &self.shards[0].plan;
        let candidates = plan.candidates.len();
        let (candidate, scenario) = (&plan.candidates[cell % candidates], &plan.scenarios[cell / candidates]);
        let text = format!(
            "{} skipped {} with {}, and {} did not\n  try: fsderby doctor on the node of the first, and run that shard again",
            name(&self.shards[by]),
            candidate.label,
            scenario.label,
            name(&self.shards[other])
        );
        Err(refused(text).into())
    }
}

/// Whether every trial is there that the plan alone, or a list of named trials, calls for.
fn is_complete(
    plan: &Resolved<'_>,
    order: &Order<'_>,
    entries: &[Entry],
    sets: &[Set<'_>],
) -> anyhow::Result<()> {
    let cells = |is: fn(&Entry) -> bool| -> BTreeSet<u32> {
        entries.iter().filter(|entry| is(entry)).map(|entry| entry.cell).collect()
    };
    let skipped = cells(|entry| entry.position.group == Group::Skipped);
    let dropped = cells(|entry| entry.position.group == Group::Check && entry.outcome == Outcome::Failed);
    let Rounds::Exactly(rounds) = plan.rounds else { return Ok(()) };
    let alone = if extras::are_due(rounds) { extras::of_cells(plan) } else { Vec::new() };
    let named = sets.iter().filter_map(|set| set.shards.first()).flat_map(|run| shard::named(&run.plan));
    let checks = plan.plan.integrity_checks();
    let all = checks.chain((1..=rounds).flat_map(|round| plan.plan.round(round))).chain(alone).chain(named);
    let is_missing = |trial: &Trial<'_>| {
        let (position, cell) = (order.position(trial), order.cell(trial));
        let is_due = !skipped.contains(&cell) && (position.group == Group::Check || !dropped.contains(&cell));
        is_due && entries.binary_search_by_key(&position, |entry| entry.position).is_err()
    };
    let mut missing = all.filter(is_missing);
    let Some(first) = missing.next() else { return Ok(()) };
    let owner = sets
        .iter()
        .flat_map(|set| &set.shards)
        .find(|run| Resolved::of(&run.plan).is_ok_and(|resolved| resolved.share.has(&first)));
    let owner = owner.map_or_else(|| "no shard".to_owned(), |run| name(run));
    let text = format!(
        "{owner} lacks its trial {} and {} others are missing\n  try: run that shard again",
        first.name(),
        missing.count()
    );
    Err(refused(text).into())
}

/// The names of the worst corners that are still to be tried.
fn corners(run: &Run, plan: &Resolved<'_>, order: &Order<'_>, entries: &[Entry]) -> Vec<String> {
    if !extras::are_due(plan.rounds.at_least()) || !plan.samples() {
        return Vec::new();
    }
    let is_left = |trial: &Trial<'_>| {
        let position = order.position(trial);
        entries.binary_search_by_key(&position, |entry| entry.position).is_err()
    };
    extras::corners(run).iter().filter(|trial| is_left(trial)).map(Trial::name).collect()
}

/// A shard as the merged run's machine names it.
fn of_shard(run: &Run, at: usize, records: usize) -> anyhow::Result<Merged> {
    let shard = fit::shard(run)?;
    let Machine { node, cpu, cpus, memory, kernel, .. } = run.machine.clone();
    let set = if shard.due.is_empty() { "" } else { "next-" };
    Ok(Merged {
        shard: shard.to_string(),
        folder: format!("{:04}-{set}{}-of-{}", at + 1, shard.number, shard.of),
        node,
        cpu,
        cpus,
        memory,
        kernel,
        records,
        seal_blake3: merge::seal_hash(run)?,
    })
}
