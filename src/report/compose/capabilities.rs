//! The abilities of each filesystem with their sources: the answers of the trait as table rows.

use crate::filesystems::{Fact, Filesystem, Journal, Linux, Resize};
use crate::report::view::capabilities::{Kind, Row};
use crate::schema::setup::Depth;
use crate::schema::units::Bytes;

pub fn of(kind: &dyn Filesystem) -> Kind {
    let story = kind.description();
    Kind {
        name: kind.name().to_owned(),
        what: story.what.to_owned(),
        origin: story.origin.to_owned(),
        limits: story.limits.to_owned(),
        facts: facts(kind),
    }
}

fn facts(kind: &dyn Filesystem) -> Vec<Row> {
    let can = kind.can();
    vec![
        row("journal", &can.journal, journal),
        row("data checksums", &can.data_checksums, yes_or_no),
        row("metadata checksums", &can.metadata_checksums, yes_or_no),
        row("snapshots", &can.snapshots, yes_or_no),
        row("compression", &can.compression, yes_or_no),
        row("reflinks", &can.reflinks, yes_or_no),
        row("quotas", &can.quotas, yes_or_no),
        row("hard links", &can.hard_links, yes_or_no),
        row("symbolic links", &can.symlinks, yes_or_no),
        row("owners and modes", &can.modes, yes_or_no),
        row("ACLs", &can.acl, yes_or_no),
        row("extended attributes", &can.xattr, yes_or_no),
        row("sparse files", &can.sparse_files, yes_or_no),
        row("preallocation (fallocate)", &can.preallocation, yes_or_no),
        row("case-sensitive names", &can.case_sensitive, yes_or_no),
        row("grows", &can.grow, resize),
        row("shrinks", &can.shrink, resize),
        row("check (fsck)", &can.check, check),
        row("largest file", &can.largest_file, largest),
        row("entries in the root directory", &can.root_entries, entries),
        row("periodic commit every", &kind.commits_after(), |seconds| format!("{seconds} s")),
        row("conversion from another kind", &can.conversion, yes_or_no),
        row("in Linux", &can.linux, linux),
        row("driver", &can.linux, |linux: &Linux| linux.driver.to_owned()),
    ]
}

fn row<T>(title: &'static str, fact: &Fact<T>, say: fn(&T) -> String) -> Row {
    Row { title, value: say(&fact.value), source: fact.source }
}

fn yes_or_no(yes: &bool) -> String {
    if *yes { "yes" } else { "no" }.to_owned()
}

fn journal(journal: &Journal) -> String {
    match journal {
        Journal::None => "none",
        Journal::Metadata => "metadata",
        Journal::MetadataAndData => "metadata and data",
        Journal::CopyOnWrite => "none (copy-on-write)",
    }
    .to_owned()
}

fn resize(resize: &Resize) -> String {
    match resize {
        Resize::No => "no",
        Resize::Unmounted => "unmounted",
        Resize::Mounted => "mounted",
    }
    .to_owned()
}

fn check(depth: &Option<Depth>) -> String {
    match depth {
        Some(Depth::Full) => "full",
        Some(Depth::Shallow) => "shallow",
        None => "none",
    }
    .to_owned()
}

/// Limits are a block or a byte short of a round number; shows the round number.
fn largest(bytes: &Bytes) -> String {
    bytes.to_string().replace(".0 ", " ")
}

fn entries(limit: &Option<u64>) -> String {
    limit.map_or_else(|| "no limit".to_owned(), |n| format!("at most {n}"))
}

fn linux(linux: &Linux) -> String {
    match linux.until {
        None => format!("since {}", linux.since),
        Some(until) => format!("{} until {until}", linux.since),
    }
}
