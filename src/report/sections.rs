//! Which metrics stand together under which title. A metric that is not named here still appears, under "Other".

/// A group of metrics, in the order in which reports show them.
pub struct Section {
    pub title: &'static str,
    /// How to read it; may be empty.
    pub note: &'static str,
    pub drawing: Drawing,
    pub metrics: &'static [Known],
}

/// How a section is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Drawing {
    /// All metrics of one unit in one chart, one group of bars each.
    Grouped,
    /// A small chart with its own scale for each metric.
    Panels,
}

pub struct Known {
    pub name: &'static str,
    pub title: &'static str,
    /// The heading of a narrow column.
    pub short: &'static str,
    /// What stands once under a table, where the heading alone does not say it; may be empty.
    pub explained: &'static str,
    /// Whether it stands beside the headline in the tables of the terminal and of Markdown.
    pub key: bool,
    /// Whether it is drawn as well as listed.
    pub drawn: bool,
}

const fn known(name: &'static str, title: &'static str) -> Known {
    Known { name, title, short: title, explained: "", key: false, drawn: true }
}

impl Known {
    const fn key(self, short: &'static str) -> Known {
        Known { key: true, short, ..self }
    }

    const fn explained(self, explained: &'static str) -> Known {
        Known { explained, ..self }
    }

    const fn listed(self) -> Known {
        Known { drawn: false, ..self }
    }
}

pub static SECTIONS: &[Section] = &[
    Section { title: "Transactions", note: "", drawing: Drawing::Panels, metrics: TRANSACTIONS },
    Section {
        title: "Files",
        note: "How many files are created, read, appended to and deleted in a second: alone, when nothing else is \
               done, and mixed, as parts of transactions. Figures that would vanish beside the others have a chart \
               and a scale of their own.",
        drawing: Drawing::Grouped,
        metrics: FILES,
    },
    Section { title: "Throughput", note: "", drawing: Drawing::Grouped, metrics: THROUGHPUT },
    Section {
        title: "Steps around the work",
        note: "Each has its own scale.",
        drawing: Drawing::Panels,
        metrics: STEPS,
    },
    Section {
        title: "Recovery",
        note: "After the power was cut in the middle of the work: from the disk as it was left to the first new file, without the \
               machine's own start.",
        drawing: Drawing::Panels,
        metrics: RECOVERY,
    },
    Section {
        title: "Processor and page faults",
        note: "A share of the processor is neither good nor bad in itself: a disk that is waited for gives a small \
               one. Processor seconds are what the same work costs.",
        drawing: Drawing::Panels,
        metrics: PROCESSOR,
    },
    Section {
        title: "What reached the device",
        note: "From the start of the work to the end of the sync. Device ÷ written is what reached the device ÷ what \
               the work wrote.",
        drawing: Drawing::Panels,
        metrics: DEVICE,
    },
    Section { title: "Capacity and memory", note: "", drawing: Drawing::Panels, metrics: SPACE },
    OTHER,
];

pub const OTHER: Section = Section { title: "Other", note: "", drawing: Drawing::Panels, metrics: &[] };

const TRANSACTIONS: &[Known] = &[known("transactions.rate", "transactions")];

const FILES: &[Known] = &[
    known("create.alone.rate", "create, alone"),
    known("create.mixed.rate", "create, mixed"),
    known("read.rate", "read"),
    known("append.rate", "append"),
    known("delete.alone.rate", "delete, alone"),
    known("delete.mixed.rate", "delete, mixed"),
    known("fsync.rate", "fsync"),
];

const THROUGHPUT: &[Known] =
    &[known("read.throughput", "read").key("read"), known("write.throughput", "write").key("write")];

const STEPS: &[Known] = &[
    known("mkfs.time", "mkfs").key("mkfs"),
    known("mount.time", "mount"),
    known("work.time", "the work itself"),
    known("sync.time", "sync after the work").key("sync"),
    known("unmount.time", "unmount"),
    known("check.time", "fsck, after everything was deleted").key("fsck"),
    known("check-filled.time", "fsck, filled"),
];

const RECOVERY: &[Known] = &[
    known("recovery.time", "recovery time"),
    known("recovery.repair.time", "repair").key("repair"),
    known("recovery.mount.time", "mount with replay").key("mount"),
    known("recovery.first_file.time", "first new file"),
    known("recovery.synced", "files that had been synced").key("synced").listed(),
    known("recovery.lost", "of them lost").key("lost").listed(),
    known("check-recovered.time", "fsck, in service again"),
];

const PROCESSOR: &[Known] = &[
    known("cpu.share", "processor, share").key("CPU"),
    known("cpu.time", "processor, work and filesystem"),
    known("cpu.machine", "processor, whole machine"),
    known("faults.minor", "page faults, minor").listed(),
    known("faults.major", "page faults, major").listed(),
];

const DEVICE: &[Known] = &[
    known("device.written_ratio", "device ÷ written")
        .key("device ÷\nwritten")
        .explained("device ÷ written: what reached the device by the end of the sync ÷ what the work wrote"),
    known("device.bytes_written", "written to the device"),
    known("device.bytes_read", "read from the device").listed(),
    known("device.writes", "write requests").listed(),
    known("device.reads", "read requests").listed(),
    known("device.flushes", "flushes"),
];

const SPACE: &[Known] = &[
    known("capacity.initial", "usable after mkfs"),
    known("capacity.residual", "usable after everything was deleted"),
    known("memory.peak", "memory, peak"),
];

/// Where a metric of that name stands: the section's and its own place.
pub fn place(name: &str) -> (usize, usize) {
    let of = |section: &Section| section.metrics.iter().position(|m| m.name == name);
    let found = SECTIONS.iter().enumerate().find_map(|(at, section)| Some((at, of(section)?)));
    found.unwrap_or((SECTIONS.len() - 1, 0))
}

pub fn find(name: &str) -> Option<&'static Known> {
    SECTIONS.iter().flat_map(|s| s.metrics).find(|m| m.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_metric_stands_in_two_sections() {
        let mut names: Vec<&str> = SECTIONS.iter().flat_map(|s| s.metrics).map(|m| m.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn an_unknown_metric_goes_to_the_last_section() {
        assert_eq!(place("mkfs.time").1, 0);
        assert_eq!(SECTIONS[place("seeks.random.rate").0].title, "Other");
    }
}
