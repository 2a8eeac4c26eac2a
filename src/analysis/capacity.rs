//! The share of a volume that users can fill with files.

use crate::schema::declared::{Declared, Over, Section};
use crate::schema::job::At;
use crate::schema::metric::{Better, Metric};
use crate::schema::needs::Aspect;
use crate::schema::record::Record;

/// What these metrics have in common. Four decimals, because a filesystem may take only 0.02 % of its volume (H. Ivers, 2006).
const CAPACITY: Declared = Declared {
    better: Better::Higher,
    section: Section::Capacity,
    over: Over::Moment,
    decimals: 4,
    ..Declared::PERCENT
};

static INITIAL: Declared = Declared {
    name: "capacity.initial",
    title: "usable after mkfs",
    aspect: Some(Aspect::Capacity),
    explained: "Space available to an ordinary user on the new filesystem, as a share of the volume given to mkfs.",
    ..CAPACITY
};

static RESIDUAL: Declared = Declared {
    name: "capacity.residual",
    title: "usable after everything was deleted",
    explained: "Space available to an ordinary user after the work and the deletion of all files, as a share of the volume given to mkfs.",
    ..CAPACITY
};

static LOST: Declared = Declared {
    name: "capacity.lost",
    title: "capacity lost after everything was deleted",
    better: Better::Lower,
    explained: "Space available to an ordinary user after mkfs, minus the space available after the work and the \
                deletion of all files, as a share of the volume. The filesystem took this space for its own \
                structures and did not give it back.",
    ..CAPACITY
};

static GIVEN: Declared = Declared {
    name: "capacity.amplification",
    title: "space allocated ÷ bytes of content",
    better: Better::Lower,
    section: Section::Capacity,
    over: Over::Moment,
    explained: "Decrease of the free space since mkfs ÷ total size of all files. It is measured when all files exist: \
                in the integrity check (a trial before the first round) or in the stage `read-back`. A ratio above 1 \
                means that space also went to names, inodes, unused ends of blocks, or second copies of data or \
                metadata. A ratio below 1 means that the filesystem compresses data or packs small files.",
    ..Declared::ratio("given for each byte")
};

/// Whether this metric of the space is read on the new filesystem, before any work.
pub fn is_before_work(metric: &str) -> bool {
    metric == INITIAL.name
}

pub fn declared() -> Vec<&'static Declared> {
    vec![&INITIAL, &RESIDUAL, &LOST, &GIVEN]
}

pub fn metrics(record: &Record) -> Vec<Metric> {
    let share = |declared: &Declared, at: At| {
        let space = record.space.iter().find(|s| s.at == at)?;
        Some(declared.metric(100.0 * space.usable.0 as f64 / record.device_bytes().0.max(1) as f64))
    };
    let (initial, residual) = (share(&INITIAL, At::Fresh), share(&RESIDUAL, At::Emptied));
    let lost = initial.as_ref().zip(residual.as_ref()).map(|(before, after)| before.value - after.value);
    let lost = lost.map(|lost| LOST.metric(lost));
    [initial, residual, lost, given(record)].into_iter().flatten().collect()
}

/// The free space that the files took, measured when all of them exist and are synced.
fn given(record: &Record) -> Option<Metric> {
    let tree = record.trees.iter().find(|tree| tree.at == At::Filled && tree.bytes > 0)?;
    let before = record.space.iter().find(|space| space.at == At::Fresh)?.free;
    let given = before.0.saturating_sub(tree.free?.0);
    Some(GIVEN.metric(given as f64 / tree.bytes as f64))
}
