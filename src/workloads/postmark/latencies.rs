//! The operations with recorded latencies.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From open to close, with the fsync of a work that makes one.
    Create,
    /// As [`Kind::Create`].
    Append,
    /// From open to close.
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
