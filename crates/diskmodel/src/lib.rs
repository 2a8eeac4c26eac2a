//! The modelled disk: input is requests with virtual times, output is completion times.
//!
//! The model uses no clock, I/O, threads, floating point or hash-table order. The same disk, sample and requests give the
//! same completions to the nanosecond on every machine, however often [`Drive::advance`] is called.
//!
//! ```text
//!  disks/NAME.toml ──▶ Spec ──┐
//!                             ├──▶ Drive    submit ──▶ waiting ▶ queue ▶ interface ▶ write cache ─┐
//!  point, seed ──────▶ Sample ──┘                                      │                            ▼
//!                                          advance ◀── completions ◀┴── medium: arm and platters, RAID, flash
//! ```
//!
//! `front.rs` models the parts common to all disks with a cache: queue, interface, write cache, flush and FUA. It drives a
//! medium: `hard/`, `raid/` or `flash/`. A cloud volume (`cloud.rs`) and a zero-cost disk need neither.
//!
//! No model includes errors and retries, wear, heat, sleep, background scans or firmware heuristics for special patterns.
//! Each disk's story lists further omissions. Three simplifications apply to all disks: data on the medium is no longer
//! cached for reads; a read that is only partly in the write cache goes to the medium entirely; the interface carries one
//! transfer at a time.

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
