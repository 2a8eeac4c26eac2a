//! The mechanism of a hard disk: one arm, rotating platters, read buffers.
//!
//! The arm does one operation at a time. It takes the shortest positioning time among waiting reads and awaited writes,
//! unless one exceeds the age limit. When nothing waits, it reads ahead of the last read, then writes from the cache. A new
//! request stops read-ahead at once, but a read or write in progress is completed. A sample may have firmware that hardly
//! reorders: it chooses among a few of the oldest requests.

mod geometry;
mod mechanism;
mod oldest;
mod seek;
mod segments;
mod shingle;

pub(crate) use geometry::cylinders_per_zone;
pub(crate) use mechanism::Hard;
pub(crate) use seek::{SeekCurve, SeekSpec, SeekTimes};
