//! Carries a trial out, on this kernel or inside a guest, and tells what happened: one job in, events out.

pub mod protocol;
