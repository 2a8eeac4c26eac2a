//! Lookups by names found in a record; tests supply their own.

use crate::filesystems::Filesystem;
use crate::schema::declared::Declared;

#[derive(Clone, Copy)]
pub struct Known {
    pub kind: fn(&str) -> Option<&'static dyn Filesystem>,
    /// The names of all kinds, in table order.
    pub kinds: fn() -> Vec<&'static str>,
    /// The metrics that a workload's records may have.
    pub metrics: fn(engine: &str) -> Vec<&'static Declared>,
}
