//! The mechanism of a hard disk: one arm, platters that turn, read buffers that fill as they pass.
//!
//! The arm does one thing at a time. It chooses by the shortest positioning time among waiting reads and awaited writes,
//! unless one waits longer than the age limit. Where nobody waits, it reads ahead of the last read, then writes what is in
//! the cache. Read-ahead gives way at once; a read or write in progress is finished. A sample may have firmware that hardly
//! reorders: it chooses among a few of its oldest requests.

mod geometry;
mod mechanism;
mod oldest;
mod seek;
mod segments;
mod shingle;

pub(crate) use geometry::cylinders_per_zone;
pub(crate) use mechanism::Hard;
pub(crate) use seek::{SeekCurve, SeekSpec, SeekTimes};
