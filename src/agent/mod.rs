//! Carries a trial out, on this kernel or inside a guest, and tells what happened: one job in, events out.
//!
//! ```text
//! fsderby ── job, then nothing: its end is the lifeline ──▶ supervisor ── fork ──▶ agent ──▶ worker (one a client)
//!    ▲                                                    cleans up        PID 1 of its   the workload,
//!    └──────────────────────── events ─────────────────────────────────── namespaces     limited in memory
//! ```
//!
//! Death is the kernel's work: when the host's end of the lifeline closes, for whatever reason, the agent ends; with the
//! init of its namespaces all processes and mounts in them end, with the last mount its loop device, with the device its
//! unnamed image. The supervisor, outside, removes what has a name.

mod alive;
mod ballast;
pub mod channel;
mod clients;
mod init;
mod mishap;
mod mounting;
mod raw;
mod recovery;
mod sandbox;
mod settle;
mod site;
mod source;
mod stack;
mod supervisor;
mod tools;
mod tree;
mod trial;
mod work;
mod worker;

pub use init::{PORT, main as init_main};
pub use mishap::Mishap;
pub use supervisor::{STUCK, clean_up, main as supervisor_main, remove_what_dead_runs_left};
pub use worker::main as worker_main;

pub use crate::host::{StepError, monotonic_ns};
