//! All of fsderby's `unsafe`, behind a small safe API: loop devices, child processes with what they cost, forks into
//! namespaces of their own, sandboxes for commands, the time-stamp counter, memory shared between processes and a gate
//! in it, memory that goes back when it is dropped, what the page cache holds, where a file lies, a file's close that says how it went, many
//! requests at one time past the page cache, and what a guest needs to be its own disk: block devices answered by a program, physical memory, priority, a known seed.
//!
//! Whatever `rustix` offers safely is called by its users directly and is not wrapped again here.

pub mod device_filter;
pub mod direct;
pub mod extents;
pub mod file;
pub mod gate;
pub mod inherit;

pub mod loop_device;
pub mod page_cache;
pub mod pages;
pub mod physical;
pub mod physical_pieces;
pub mod process;
pub mod sandbox;
pub mod schedule;
pub mod shared;
pub mod steady;
pub mod tsc;
pub mod ublk;
