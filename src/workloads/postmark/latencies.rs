//! The operations with recorded latencies.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From open to close, including an fsync; the next two as well.
    Create,
    Append,
    Read,
    Delete,
    Fsync,
}

/// In the order of [`Kind`].
pub const NAMES: &[&str] = &["create", "append", "read", "delete", "fsync"];

/// Each with the phase's count of it.
pub const COUNTS: &[(&str, &str)] = &[
    ("create", "created"),
    ("append", "appended"),
    ("read", "read"),
    ("delete", "deleted"),
    ("fsync", "fsyncs"),
];
