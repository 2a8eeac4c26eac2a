//! Carries out a trial, on this kernel or in a guest, and reports it: one job in, events out.
//!
//! ```text
//! fsderby ── job, then nothing: its end is the lifeline ──▶ supervisor ── fork ──▶ agent ──▶ worker (one a client)
//!    ▲                                                    cleans up        PID 1 of its   the workload,
//!    └──────────────────────── events ─────────────────────────────────── namespaces     limited in memory
//! ```
//!
//! The kernel handles termination. When the host's end of the lifeline closes, for any reason, the agent ends. With the init of
//! its namespaces all processes and mounts in them end, with the last mount its loop device, with the device its unnamed image.
//! The supervisor outside removes named objects.

mod alive;
mod ballast;
mod blocked;
pub mod channel;
mod clients;
mod harmless;
mod init;
mod mishap;
pub mod mkfs_check;
pub mod mounting;
mod power;
mod raw;
mod recovery;
mod rehearsal;
mod sandbox;
mod settle;
mod shell;
mod site;
mod source;
mod stack;
mod supervisor;
mod tools;
mod tree;
mod trial;
mod work;
mod worker;

pub use init::{INPUTS, PORT, bring_up, main as init_main};
pub use mishap::Mishap;
pub use power::power_off;
pub use raw::written as conditioning;
pub use rehearsal::{Rehearsed, main as rehearsal_main};
pub use sandbox::WORKER;
pub use shell::main as shell_main;
pub use supervisor::{STUCK, clean_up, main as supervisor_main, remove_what_dead_runs_left};
pub use worker::main as worker_main;

pub use crate::host::{StepError, monotonic_ns};
