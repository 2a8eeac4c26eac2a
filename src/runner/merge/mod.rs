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
use std::io::{self, ErrorKind};
use std::mem;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use self::fit::{name, refused};
use self::order::{Group, Order, Position};
use crate::analysis::dataset::Dataset;
use crate::analysis::verdict;
use crate::exit::{self, DAMAGED, Failure, INTERRUPTED};
use crate::host::parallel::parallel;
use crate::runner::plan::resolved::Resolved;
use crate::runner::plan::{extras, shard};
use crate::schema;
use crate::schema::machine::{Machine, Merged};
use crate::schema::plan::{Plan, Rounds, Trial};
use crate::schema::reason::Outcome;
use crate::schema::record::Record;
use crate::schema::seal::Ended;
use crate::store::lines::Span;
use crate::store::merge::{Merging, Shard};
use crate::store::{self, Folder, Run};

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

/// `tell` receives the plan of the trials that the results call for, if any, before the merged run has its name. Once `stop` says
/// so, the merge ends and nothing of it stays.
///
/// # Errors
/// If the shards do not fit together or are damaged, or if the run cannot be written.
pub fn merge(
    out: &Path,
    folders: &[PathBuf],
    tell: &mut dyn FnMut(&Plan) -> anyhow::Result<()>,
    stop: &dyn Fn() -> bool,
) -> anyhow::Result<Made> {
    Folder::can_be_created(out)?;
    let is_to_go_on = || if stop() { Err(interrupted()) } else { Ok(()) };
    let heads = folders.iter().map(|folder| head(folder)).collect::<anyhow::Result<Vec<Shard>>>()?;
    let Some(first) = heads.first() else { return Err(refused("no shard was named").into()) };
    let plan = Plan { shard: None, ..first.plan.clone() };
    let resolved = Resolved::of(&plan).map_err(|e| or_damage(&heads, e))?;
    let in_virtual_time = resolved.share.in_virtual_time();
    let in_order = fit::sets(&heads, in_virtual_time).map_err(|e| or_damage(&heads, e))?;
    let sizes: Vec<usize> = in_order.iter().map(Vec::len).collect();
    let mut heads: Vec<Option<Shard>> = heads.into_iter().map(Some).collect();
    let shards: Vec<Shard> = in_order.into_iter().flatten().filter_map(|at| heads[at].take()).collect();
    let order = Order::of(&plan);
    let (mut entries, mut merged) = (Vec::new(), Vec::new());
    for (at, shard) in shards.iter().enumerate() {
        is_to_go_on()?;
        merged.push(read(&order, at, shard, &mut entries)?);
    }
    entries.sort_by_key(|entry| (entry.position, entry.shard, entry.attempt));
    let all = entries.len();
    let entries = Together { shards: &shards, in_virtual_time }.of(entries)?;
    let left_out = all - entries.len();
    debug_assert!(
        entries.is_sorted_by_key(|entry| entry.position),
        "the merged lines are in the plan's order"
    );
    is_complete(&resolved, &order, &entries, &shards, &sizes)?;
    entries.iter().for_each(|entry| merged[entry.shard].records += 1);

    let machine = Machine { node: String::new(), shards: merged, ..shards[0].machine.clone() };
    let unwritten = |e: anyhow::Error| unwritten(out, e);
    let mut merging = Merging::begin(out, &plan, &machine).map_err(unwritten)?;
    for (shard, merged) in shards.iter().zip(&machine.shards) {
        is_to_go_on()?;
        merging.keep(&merged.folder, shard).map_err(unwritten)?;
    }
    let mut files = store::merge::Shards::of(&shards);
    for entry in &entries {
        is_to_go_on()?;
        merging.append(&mut files, entry.shard, entry.span).map_err(unwritten)?;
    }
    drop(files);
    let run = merging.read(out).map_err(unwritten)?;
    is_to_go_on()?;
    let due = corners(&run, &resolved, &order, &entries);
    let ended = if due.is_empty() { Ended::Complete } else { Ended::GoesOn };
    let given = verdict::given(&run, &Dataset::of(&run));
    let records = run.records.len();
    let rounds = run.records.iter().map(|record| record.round).max().unwrap_or(0);
    drop(run);
    is_to_go_on()?;
    let left = due.len();
    if left > 0 {
        tell(&Plan { shard: Some(schema::shard::Shard { number: 1, of: 1, due }), ..plan.clone() })?;
    }
    merging.end(out, rounds, &given, ended).map_err(unwritten)?;
    Ok(Made { records, left_out, left })
}

fn interrupted() -> Failure {
    Failure::new(INTERRUPTED, "interrupted; nothing was written\n  try: the same fsderby merge again")
}

fn damaged(folder: &Path, what: &str) -> Failure {
    let text = format!(
        "not merged: {0} is damaged: {what}\n  try: an undamaged copy of this shard, or run it again: fsderby run PLAN --shard \
         I/N --output DIR; fsderby verify {0} lists all damage",
        folder.display()
    );
    Failure::new(DAMAGED, text)
}

/// Why the merged run could not be written; errors of shards say so themselves.
fn unwritten(out: &Path, error: anyhow::Error) -> anyhow::Error {
    if error.downcast_ref::<Failure>().is_some() {
        return error;
    }
    let kind = error.chain().find_map(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        io.or_else(|| cause.downcast_ref::<Errno>().map(|errno| errno.kind()))
    });
    let advice = match kind {
        Some(ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => "a folder that you can write to",
        Some(ErrorKind::AlreadyExists) => "a folder of another name",
        _ => "free some space there, or merge into a folder on another filesystem",
    };
    let text = format!("could not write the merged run {}: {error:#}\n  try: {advice}", out.display());
    Failure::missing(text).into()
}

/// A shard without its records.
fn head(folder: &Path) -> anyhow::Result<Shard> {
    Shard::read(folder).map_err(|e| match store::merge::altered(folder) {
        Some(what) => damaged(folder, &what).into(),
        // A file that cannot be parsed; its error names it.
        None if exit::code(&e) == DAMAGED => {
            let text = format!("not merged: {e:#}\n  try: an undamaged copy of this shard, or run it again: fsderby run PLAN --shard I/N --output DIR");
            Failure::new(DAMAGED, text).into()
        }
        None => e,
    })
}

/// Shards that do not fit together may be damaged: then that is the reason.
fn or_damage(shards: &[Shard], refusal: Failure) -> Failure {
    let damage = |shard: &Shard| {
        let run = store::read_each(shard.open().ok()?, &mut |_, _| ()).ok()?;
        Some(damaged(&shard.folder, run.damage.first()?))
    };
    shards.iter().find_map(damage).unwrap_or(refusal)
}

/// Reads a shard's records into the index, and checks all that the shard sealed.
fn read(order: &Order<'_>, at: usize, shard: &Shard, entries: &mut Vec<Entry>) -> anyhow::Result<Merged> {
    let (mut batch, mut wrong, mut unreadable) = (Vec::new(), None, None);
    let door = shard.open()?;
    let head = store::head_of(door.clone())?;
    let mut check = |batch: &mut Vec<Record>, wrong: &mut Option<String>| {
        let altered = |record: &Record| Some((record.clone(), head.altered(record)?));
        let altered = parallel(batch, |part| part.iter().find_map(altered));
        if let Some((record, what)) = altered.into_iter().flatten().next() {
            unreadable = unreadable.take().or_else(|| store::merge::unreadable(&head, &record));
            wrong.get_or_insert(what);
        }
        batch.clear();
    };
    let mut seen = 0;
    let run = store::read_each(door, &mut |record, span| {
        seen += 1;
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
    if let Some(failure) = unreadable {
        return Err(failure.into());
    }
    if let Some(what) = run.damage.first().cloned().or(wrong) {
        return Err(damaged(&shard.folder, &what).into());
    }
    let sealed = run.seal.as_ref().map_or(0, |seal| seal.records);
    if run.unsealed == 0 && sealed != seen {
        let what = format!("seal.json counts {sealed} records, and trials.jsonl has {seen}");
        return Err(damaged(&shard.folder, &what).into());
    }
    if !run.is_complete() {
        let text = format!(
            "{0} is unfinished\n  try: fsderby run --resume {0}, then fsderby merge again",
            name(shard)
        );
        return Err(refused(text).into());
    }
    of_shard(shard, at, store::merge::seal_hash(&run)?)
}

/// The records that the merged run has.
struct Together<'r> {
    shards: &'r [Shard],
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
                        "{one} and {other} both contain the same trial\n  try: fsderby run PLAN --shard I/N --output \
                         DIR in place of one of them, then fsderby merge again"
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
            "{} skipped {} with {}, but {} did not\n  try: fsderby doctor on the node of the first, and run that \
             shard again",
            name(&self.shards[by]),
            candidate.label,
            scenario.label,
            name(&self.shards[other])
        );
        Err(refused(text).into())
    }
}

/// Whether every trial is there that the plan alone, or a list of named trials, calls for. `sizes` are those of the sets of
/// shards.
fn is_complete(
    plan: &Resolved<'_>,
    order: &Order<'_>,
    entries: &[Entry],
    shards: &[Shard],
    sizes: &[usize],
) -> anyhow::Result<()> {
    let cells = |is: fn(&Entry) -> bool| -> BTreeSet<u32> {
        entries.iter().filter(|entry| is(entry)).map(|entry| entry.cell).collect()
    };
    let skipped = cells(|entry| entry.position.group == Group::Skipped);
    let dropped = cells(|entry| entry.position.group == Group::Check && entry.outcome == Outcome::Failed);
    let Rounds::Exactly(rounds) = plan.rounds else { return Ok(()) };
    let alone = if extras::are_due(rounds) { extras::of_cells(plan) } else { Vec::new() };
    let firsts = sizes.iter().scan(0, |begin, size| Some(mem::replace(begin, *begin + size)));
    let named = firsts.flat_map(|first| shard::named(&shards[first].plan));
    let checks = plan.plan.integrity_checks();
    let all = checks.chain((1..=rounds).flat_map(|round| plan.plan.round(round))).chain(alone).chain(named);
    let is_missing = |trial: &Trial<'_>| {
        let (position, cell) = (order.position(trial), order.cell(trial));
        let is_due = !skipped.contains(&cell) && (position.group == Group::Check || !dropped.contains(&cell));
        is_due && entries.binary_search_by_key(&position, |entry| entry.position).is_err()
    };
    let mut missing = all.filter(is_missing);
    let Some(first) = missing.next() else { return Ok(()) };
    let is_its = |shard: &&Shard| Resolved::of(&shard.plan).is_ok_and(|resolved| resolved.share.has(&first));
    let owner = shards.iter().find(is_its).map_or_else(|| "no shard".to_owned(), name);
    let text = format!(
        "{owner} lacks its trial {} and {} others are missing\n  try: fsderby run PLAN --shard I/N --output DIR in place of that shard, then fsderby merge again",
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
fn of_shard(shard: &Shard, at: usize, seal_blake3: String) -> anyhow::Result<Merged> {
    let own = fit::shard(shard)?;
    let Machine { node, cpu, cpus, memory, kernel, .. } = shard.machine.clone();
    let set = if own.due.is_empty() { "" } else { "next-" };
    Ok(Merged {
        shard: own.to_string(),
        folder: format!("{:04}-{set}{}-of-{}", at + 1, own.number, own.of),
        node,
        cpu,
        cpus,
        memory,
        kernel,
        records: 0,
        seal_blake3,
    })
}
