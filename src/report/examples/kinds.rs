//! The kinds of the made-up run.

use std::ops::RangeInclusive;

use crate::filesystems::*;
use crate::schema::description::Description;
use crate::schema::units::{Bytes, GIB};

/// A kind that exists in these tests only.
pub struct MadeUp {
    pub name: &'static str,
    journal: Journal,
}

pub static KINDS: [MadeUp; 7] = [
    MadeUp { name: "alderfs", journal: Journal::Metadata },
    MadeUp { name: "birchfs", journal: Journal::None },
    MadeUp { name: "birchfs-journal", journal: Journal::MetadataAndData },
    MadeUp { name: "cedarfs", journal: Journal::CopyOnWrite },
    MadeUp { name: "elmfs", journal: Journal::Metadata },
    MadeUp { name: "maplefs", journal: Journal::Metadata },
    MadeUp { name: "rowanfs", journal: Journal::None },
];

pub fn find(name: &str) -> Option<&'static dyn Filesystem> {
    KINDS.iter().find(|k| k.name == name).map(|k| k as &dyn Filesystem)
}

fn fact<T>(value: T, source: &'static str) -> Fact<T> {
    Fact { value, source }
}

impl Filesystem for MadeUp {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> Description {
        let what = "A filesystem that exists in tests only.";
        Description { what, origin: "Nobody made it.", limits: "Everything." }
    }

    fn package(&self) -> &'static str {
        "none"
    }

    fn kernel(&self) -> KernelNeed {
        KernelNeed { types: &[], modules: &[] }
    }

    fn size(&self) -> RangeInclusive<Bytes> {
        Bytes(0)..=Bytes(u64::MAX)
    }

    fn can(&self) -> Capabilities {
        let (manual, kernel) = ("mkfs(8) of the made-up tools", "Documentation/filesystems/made-up.rst");
        let modern = self.journal == Journal::CopyOnWrite;
        let old = self.journal == Journal::None;
        Capabilities {
            journal: fact(self.journal, kernel),
            data_checksums: fact(modern, kernel),
            metadata_checksums: fact(!old, kernel),
            snapshots: fact(modern, kernel),
            compression: fact(modern, manual),
            reflinks: fact(modern, kernel),
            quotas: fact(!old && !modern, kernel),
            hard_links: fact(!old, kernel),
            symlinks: fact(!old, kernel),
            modes: fact(!old, kernel),
            acl: fact(!old, kernel),
            xattr: fact(!old, kernel),
            sparse_files: fact(!old, kernel),
            preallocation: fact(modern, kernel),
            case_sensitive: fact(!old, kernel),
            grow: fact(if old { Resize::No } else { Resize::Mounted }, manual),
            shrink: fact(if old { Resize::No } else { Resize::Unmounted }, manual),
            check: fact(Some(if modern { Depth::Shallow } else { Depth::Full }), manual),
            largest_file: fact(Bytes(if old { 4 * GIB - 1 } else { 16 * 1024 * GIB }), kernel),
            root_entries: fact(old.then_some(512), kernel),
            conversion: fact(modern, manual),
            linux: fact(Linux { since: "2.6.19", until: None, driver: self.name }, kernel),
        }
    }

    fn make(&self, _: &Variant) -> Vec<Argv> {
        Vec::new()
    }

    fn check(&self) -> Option<Check> {
        None
    }

    fn recover(&self) -> Recovery {
        Recovery { repair: Vec::new(), replays_on_mount: false }
    }

    fn version(&self) -> Argv {
        Vec::new()
    }

    fn mount(&self, _: &Variant) -> Mount {
        Mount::Syscall { fstype: self.name.into(), options: Vec::new() }
    }
}
