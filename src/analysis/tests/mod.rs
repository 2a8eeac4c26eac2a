//! Tests of the whole analysis, and the record that its tests alter.

mod decisions;
pub mod example;
