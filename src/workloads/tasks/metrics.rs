//! Turns phases into metrics: the time of each task, and its cost to the process.
//!
//! The CPU share is defined like `%P` of GNU time: user and system time ÷ elapsed time. Times are truncated to milliseconds, and
//! the share to whole percent.

use crate::schema::declared::{Declared, Over, Section, Sheet};
use crate::schema::event::Phase;
use crate::schema::metric::Metric;
use crate::schema::units::{cpu_percent, sum};

pub const VERSION: u32 = 1;

const TASKS: Section = Section::Own {
    title: "Each task",
    note: "A task's time ends with its last system call; the time with the sync ends when all its data is on \
           the disk. mkfs, mount and unmount are timed as separate steps. Data on the second disk is not in \
           the page cache before it is read.",
};
const COST: Section = Section::Own {
    title: "CPU and page faults of each task",
    note: "These figures are as GNU time reports them: CPU is user and system time ÷ elapsed time, in whole \
           percent; a minor fault needs no I/O, a major fault reads from a disk.",
};

/// The metrics of a task.
struct Task {
    phase: &'static str,
    time: Declared,
    synced: Declared,
    cpu: Declared,
    minor: Declared,
    major: Declared,
}

macro_rules! task {
    ($phase:literal, $title:literal, $explained:literal) => {
        Task {
            phase: $phase,
            time: Declared {
                name: concat!($phase, ".time"),
                title: concat!($title, " (phase ", $phase, ")"),
                section: TASKS,
                over: Over::Phase($phase),
                explained: concat!(
                    "Time to ",
                    $explained,
                    ", without a sync: changes may still be in memory."
                ),
                ..Declared::SECONDS
            },
            synced: Declared {
                name: concat!($phase, ".synced.time"),
                title: concat!($title, " with the sync (phase ", $phase, ")"),
                section: TASKS,
                over: Over::Phase($phase),
                explained: concat!("Time to ", $explained, ", including the sync of all data to the disk."),
                ..Declared::SECONDS
            },
            cpu: Declared {
                name: concat!($phase, ".cpu.share"),
                title: concat!($title, ": CPU"),
                section: COST,
                over: Over::Phase($phase),
                explained: concat!(
                    "User and system time ÷ elapsed time of the task to ",
                    $explained,
                    ", like %P of GNU time; the sync is not included."
                ),
                drawn: false,
                ..Declared::PERCENT_OF_TIME
            },
            minor: Declared {
                name: concat!($phase, ".faults.minor"),
                title: concat!($title, ": minor faults"),
                section: COST,
                over: Over::Phase($phase),
                explained: concat!(
                    "Number of page faults without I/O while a process carried out this task: ",
                    $explained,
                    "."
                ),
                drawn: false,
                ..Declared::count("faults")
            },
            major: Declared {
                name: concat!($phase, ".faults.major"),
                title: concat!($title, ": major faults"),
                section: COST,
                over: Over::Phase($phase),
                explained: concat!(
                    "Number of page faults with I/O while a process carried out this task: ",
                    $explained,
                    "."
                ),
                drawn: false,
                ..Declared::count("faults")
            },
        }
    };
}

static EACH: [Task; 8] = [
    task!("copy-image", "copying the image", "copy the image file from a second disk to the volume"),
    task!(
        "copy-image-again",
        "copying the image again",
        "copy the image file a second time, within the volume"
    ),
    task!("delete-images", "deleting the images", "delete both copies of the image file"),
    task!("copy-tree", "copying the tree", "copy the tree from a second disk to the volume"),
    task!("copy-tree-again", "copying the tree again", "copy the tree a second time, within the volume"),
    task!("list", "listing the tree", "write a list of all files, with mode, size and time, to a file"),
    task!("find", "searching the tree", "find the names in the tree that match a pattern"),
    task!("delete-trees", "deleting the trees", "delete both copies of the tree"),
];

macro_rules! line {
    ($title:literal, $phase:literal) => {
        (
            $title,
            &[
                concat!($phase, ".time"),
                concat!($phase, ".synced.time"),
                concat!($phase, ".cpu.share"),
                concat!($phase, ".faults.minor"),
                concat!($phase, ".faults.major"),
            ],
        )
    };
}

/// In the layout of the comparison of 2006, with GNU time's terms; steps of a trial have no page-fault counts.
pub static SHEETS: [Sheet; 1] = [Sheet {
    title: "The tasks side by side",
    note: "Time of each task until its last system call and until all data is on the disk; CPU share and page \
        faults without the sync.",
    columns: &["time", "with the sync", "CPU", "minor faults", "major faults"],
    lines: &[
        ("make", &["mkfs.time", "", "mkfs.cpu.share", "", ""]),
        ("mount", &["mount.time", "", "mount.cpu.share", "", ""]),
        line!("copy the image", "copy-image"),
        line!("copy the image again", "copy-image-again"),
        line!("copy the tree", "copy-tree"),
        line!("copy the tree again", "copy-tree-again"),
        line!("list", "list"),
        line!("find", "find"),
        line!("delete the images", "delete-images"),
        line!("delete the trees", "delete-trees"),
        ("unmount", &["unmount.time", "", "unmount.cpu.share", "", ""]),
    ],
}];

static ALL: Declared = Declared {
    name: "tasks.time",
    title: "all tasks (all phases)",
    did: "did the tasks",
    section: Section::Headline,
    over: Over::Phases,
    explained: "Time of all tasks together, including any syncs between them.",
    ..Declared::SECONDS
};

pub fn declared() -> Vec<&'static Declared> {
    let times = EACH.iter().flat_map(|task| [&task.time, &task.synced]);
    let costs = EACH.iter().flat_map(|task| [&task.cpu, &task.minor, &task.major]);
    [&ALL].into_iter().chain(times).chain(costs).collect()
}

/// The metrics of these phases. A task during which the run was stopped has no counts and so no metrics.
pub fn metrics(phases: &[Phase]) -> Vec<Metric> {
    let whole = || phases.iter().filter(|phase| phase.counts.contains_key("task_ns"));
    let mut metrics = Vec::new();
    if whole().count() == EACH.len() {
        metrics.push(ALL.metric(sum(phases.iter().map(|phase| phase.ns)) as f64 / 1e9));
    }
    for task in &EACH {
        for phase in whole().filter(|phase| phase.name == task.phase) {
            metrics.extend(of(task, phase));
        }
    }
    metrics
}

fn of(task: &Task, phase: &Phase) -> impl Iterator<Item = Metric> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let own = phase.count("task_ns");
    let synced =
        phase.counts.get("sync_ns").map(|sync| task.synced.metric(seconds(own.saturating_add(*sync))));
    let others = [
        task.cpu.metric(cpu_percent(phase.count("user_ns"), phase.count("sys_ns"), own) as f64),
        task.minor.metric(phase.count("minflt") as f64),
        task.major.metric(phase.count("majflt") as f64),
    ];
    [task.time.metric(seconds(own))].into_iter().chain(synced).chain(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn each_task_has_its_times_and_what_it_cost() {
        let phase = |name: &str, counts: &[(&str, u64)]| Phase {
            name: name.into(),
            ns: 3_000 * MS,
            counts: counts.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect(),
        };
        let counts = [("task_ns", 2000 * MS), ("sync_ns", 500 * MS), ("sys_ns", 500 * MS), ("minflt", 7)];
        let seen = metrics(&[phase("copy-tree", &counts), phase("find", &[])]);
        let values: Vec<(&str, f64)> = seen.iter().map(|m| (m.name.as_str(), m.value)).collect();
        let expected = [
            ("copy-tree.time", 2.0),
            ("copy-tree.synced.time", 2.5),
            ("copy-tree.cpu.share", 25.0),
            ("copy-tree.faults.minor", 7.0),
            ("copy-tree.faults.major", 0.0),
        ];
        assert_eq!(values, expected);
        let all: Vec<Phase> = EACH.iter().map(|task| phase(task.phase, &counts)).collect();
        assert_eq!(metrics(&all)[0].value, 24.0);
    }
}
