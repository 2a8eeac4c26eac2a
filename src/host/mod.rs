//! What the machine that runs this process offers, host or guest: its programs and its memory groups.

pub mod memory_group;
pub mod programs;
