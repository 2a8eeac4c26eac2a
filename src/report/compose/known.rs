//! What the view looks up by a name that stands in a record; tests bring their own.

use crate::filesystems::Filesystem;
use crate::schema::declared::Declared;

#[derive(Clone, Copy)]
pub struct Known {
    pub kind: fn(&str) -> Option<&'static dyn Filesystem>,
    /// The names of all kinds, in the order of their table.
    pub kinds: fn() -> Vec<&'static str>,
    /// What a workload's records may hold.
    pub metrics: fn(engine: &str) -> Vec<&'static Declared>,
}
