//! The operations with recorded latencies.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A creation, from open to close, including the fsync if the work calls fsync.
    Create,
    /// An append, from open to close, including the fsync if the work calls fsync.
    Append,
    /// A read, from open to close.
    Read,
    Delete,
    Fsync,
}

/// The names of the operations, in the order of [`Kind`].
pub const NAMES: &[&str] = &["create", "append", "read", "delete", "fsync"];

/// Each operation with the name of the count that a phase has of it.
pub const COUNTS: &[(&str, &str)] = &[
    ("create", "created"),
    ("append", "appended"),
    ("read", "read"),
    ("delete", "deleted"),
    ("fsync", "fsyncs"),
];
