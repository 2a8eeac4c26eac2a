//! The tests of IOzone and their passes.

/// A test, as the original's `-i` selects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    Write,
    Read,
    Random,
    Backward,
    RecordRewrite,
    Stride,
    Fwrite,
    Fread,
    Mixed,
}

/// One pass over the file, timed separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    Write,
    Rewrite,
    Read,
    Reread,
    RandomRead,
    RandomWrite,
    BackwardRead,
    /// A second backward read. The original does it too, but reports only the first backward read.
    BackwardReread,
    RecordRewrite,
    StrideRead,
    Fwrite,
    Frewrite,
    Fread,
    Freread,
    /// The mixed test, which the original has only for several processes.
    Mixed,
}

/// All tests in numerical order.
pub const TESTS: [Test; 9] = [
    Test::Write,
    Test::Read,
    Test::Random,
    Test::Backward,
    Test::RecordRewrite,
    Test::Stride,
    Test::Fwrite,
    Test::Fread,
    Test::Mixed,
];

/// The names of tests in parameters, in the order of [`TESTS`].
pub const NAMES: [&str; 9] =
    ["write", "read", "random", "backward", "record-rewrite", "stride", "fwrite", "fread", "mixed"];

impl Test {
    pub fn find(name: &str) -> Option<Self> {
        TESTS.into_iter().find(|test| test.name() == name)
    }

    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// All passes that this test has in the original.
    pub fn passes(self) -> &'static [Pass] {
        match self {
            Test::Write => &[Pass::Write, Pass::Rewrite],
            Test::Read => &[Pass::Read, Pass::Reread],
            Test::Random => &[Pass::RandomRead, Pass::RandomWrite],
            Test::Backward => &[Pass::BackwardRead, Pass::BackwardReread],
            Test::RecordRewrite => &[Pass::RecordRewrite],
            Test::Stride => &[Pass::StrideRead],
            Test::Fwrite => &[Pass::Fwrite, Pass::Frewrite],
            Test::Fread => &[Pass::Fread, Pass::Freread],
            Test::Mixed => &[Pass::Mixed],
        }
    }
}

impl Pass {
    pub fn name(self) -> &'static str {
        match self {
            Pass::Write => "write",
            Pass::Rewrite => "rewrite",
            Pass::Read => "read",
            Pass::Reread => "reread",
            Pass::RandomRead => "random-read",
            Pass::RandomWrite => "random-write",
            Pass::BackwardRead => "backward-read",
            Pass::BackwardReread => "backward-reread",
            Pass::RecordRewrite => "record-rewrite",
            Pass::StrideRead => "stride-read",
            Pass::Fwrite => "fwrite",
            Pass::Frewrite => "frewrite",
            Pass::Fread => "fread",
            Pass::Freread => "freread",
            Pass::Mixed => "mixed",
        }
    }

    /// Whether this pass repeats another pass, so that a run without retest omits it.
    pub fn is_again(self) -> bool {
        matches!(self, Pass::Rewrite | Pass::Reread | Pass::BackwardReread | Pass::Frewrite | Pass::Freread)
    }

    pub fn writes(self) -> bool {
        use Pass::{Frewrite, Fwrite, Mixed, RandomWrite, RecordRewrite, Rewrite, Write};
        matches!(self, Write | Rewrite | RandomWrite | RecordRewrite | Fwrite | Frewrite | Mixed)
    }

    /// The number of reads and of writes among these operations.
    pub fn split(self, operations: u64) -> (u64, u64) {
        match self {
            Pass::Mixed => (operations.div_ceil(2), operations / 2),
            pass if pass.writes() => (0, operations),
            _ => (operations, 0),
        }
    }

    /// Whether this pass visits the records in random order.
    pub fn is_random(self) -> bool {
        matches!(self, Pass::RandomRead | Pass::RandomWrite | Pass::Mixed)
    }
}
