//! What this machine can do of a plan, and how long it takes: checked before anything is measured.

pub mod at_once;
pub mod machine;
pub mod pace;
pub mod skips;
