//! All of fsderby's `unsafe`, behind a small safe API.
//!
//! Processes: children with their resource usage, forks into separate namespaces, sandboxes for commands, the time-stamp
//! counter. Memory: shared memory with a gate, pages that return to the kernel when dropped. Files: page cache contents,
//! extents, occupied space, close with errors, concurrent direct I/O. Devices: loop devices, block devices, reservations, the
//! device mapper. For a guest that simulates its own disk: userspace block devices, physical memory, real-time priority, a
//! known random seed.
//!
//! Functions that `rustix` offers safely are called directly and not wrapped here.

pub mod block_device;
pub mod btrfs;
pub mod device_filter;
pub mod device_mapper;
pub mod direct;
pub mod extents;
pub mod file;
pub mod gate;
pub mod inherit;
pub mod loop_device;
pub mod occupied;
pub mod page_cache;
pub mod pages;
pub mod physical;
pub mod physical_pieces;
pub mod process;
pub mod reservation;
pub mod sandbox;
pub mod schedule;
pub mod shared;
pub mod steady;
pub mod traced;
pub mod tsc;
pub mod ublk;
