//! The operations that are timed, each by itself.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From open to close, an fsync included; so are the next two.
    Create,
    Append,
    Read,
    Delete,
    Fsync,
}

/// In the order of [`Kind`].
pub const NAMES: &[&str] = &["create", "append", "read", "delete", "fsync"];

/// Each with the count of a phase that says how many there were.
pub const COUNTS: &[(&str, &str)] = &[
    ("create", "created"),
    ("append", "appended"),
    ("read", "read"),
    ("delete", "deleted"),
    ("fsync", "fsyncs"),
];
