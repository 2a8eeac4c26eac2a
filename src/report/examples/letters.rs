//! The metrics of a workload that exists in these tests only, as it would declare them.

use crate::analysis::metrics;
use crate::schema::declared::{Declared, Over, Section};

const MIXED: Over = Over::Phase("transactions");
const FILES: Declared = Declared { section: Section::Files, over: MIXED, ..Declared::PER_SECOND };
const BYTES: Declared = Declared { section: Section::Throughput, key: true, ..Declared::MIB_PER_SECOND };

pub const SEALING: &str = "Sealing";

static LETTERS: [Declared; 11] = [
    Declared {
        name: "transactions.rate",
        title: "transactions",
        did: "did transactions",
        section: Section::Headline,
        over: MIXED,
        ..Declared::PER_SECOND
    },
    Declared {
        name: "create.alone.rate",
        title: "create (phase create)",
        over: Over::Phase("create"),
        ..FILES
    },
    Declared { name: "create.mixed.rate", title: "create (phase transactions)", ..FILES },
    Declared { name: "read.rate", title: "read (phase transactions)", ..FILES },
    Declared { name: "append.rate", title: "append (phase transactions)", ..FILES },
    Declared {
        name: "delete.alone.rate",
        title: "delete (phase delete)",
        over: Over::Phase("delete"),
        ..FILES
    },
    Declared { name: "delete.mixed.rate", title: "delete (phase transactions)", ..FILES },
    Declared { name: "read.throughput", title: "read (all phases)", short: "read", ..BYTES },
    Declared { name: "write.throughput", title: "write (all phases)", short: "write", ..BYTES },
    Declared { name: "work.time", title: "the work (all phases)", ..Declared::SECONDS },
    Declared {
        name: "seal.time",
        title: "sealing (phase seal)",
        short: "seal",
        section: Section::Own { title: SEALING, note: "Every letter is sealed." },
        over: Over::Phase("seal"),
        explained: "Time to seal all letters.",
        key: true,
        footnote: true,
        ..Declared::SECONDS
    },
];

pub fn declared(engine: &str) -> Vec<&'static Declared> {
    let own = if engine == "letters" { &LETTERS[..] } else { &[] };
    own.iter().chain(metrics::declared_of(engine)).collect()
}
