//! The modelled disk: requests and virtual time go in, completion times come out.
//!
//! No clock, no I/O, no threads, no floating point, no order of a hash table: the same disk, sample and requests give the
//! same completions to the nanosecond, everywhere. How often [`Drive::advance`] is called changes nothing.
//!
//! ```text
//!  disks/NAME.toml ──▶ Spec ──┐
//!                             ├──▶ Drive    submit ──▶ waiting ▶ queue ▶ interface ▶ write cache ─┐
//!  point, seed ──────▶ Sample ──┘                                      │                            ▼
//!                                          advance ◀── completions ◀┴── medium: arm and platters, RAID, flash
//! ```
//!
//! `front.rs` is what all disks with a cache share: queue, interface, write cache, flush and FUA. Behind it stands a
//! medium: `hard/`, `raid/` or `flash/`. A cloud's volume (`cloud.rs`) and a disk of zero cost need neither.
//!
//! What all models leave out: errors and retries, wear, heat, sleep, background scans, firmware's heuristics for special
//! patterns. Each disk's own story says more. Written data is not kept for reading once it is on the medium; a read that
//! is only partly in the write cache goes to the medium as a whole; the interface carries one transfer at a time.

#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

mod cloud;
mod counters;
mod dirty;
mod drive;
mod evidence;
mod factor;
mod flash;
mod front;
mod hard;
mod medium;
mod mix;
mod passage;
mod raid;
mod request;
mod sample;
mod shipped;
mod spec;
pub mod validation;
mod waits;
mod zero;

pub use counters::Counters;
pub use drive::Drive;
pub use evidence::{Access, DRIVES_NEEDED, EVIDENCE, Evidence};
pub use factor::{COLUMNS, Class, End, Factor, Level, Range};
pub use passage::{Passage, Stage};
pub use request::{Completion, Cost, Op, Request};
pub use sample::{Levels, Point, Sample};
pub use shipped::SHIPPED;
pub use spec::{Scheduler, Spec, SpecError, Value, Way};
