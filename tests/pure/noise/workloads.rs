//! The engine of late.rs, among those of the program as it is in the copy that measures with it.

pub use fsderby::workloads::*;

#[path = "late.rs"]
pub mod late;
