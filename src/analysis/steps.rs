//! Durations of a trial's steps around its work, and of the recovery after a power cut.

use crate::schema::declared::{Declared, Over, Section};
use crate::schema::event::{Stepped, Survivors};
use crate::schema::job::{At, StepName};
use crate::schema::metric::{Better, Metric};
use crate::schema::needs::Aspect;
use crate::schema::record::Record;
use crate::schema::units::{cpu_percent, sum};

const fn step(name: &'static str, over: &'static [StepName]) -> Declared {
    Declared { name, over: Over::Steps(over), section: Section::Steps, ..Declared::SECONDS }
}

/// The time of the sync, measured for each work and not for the trial as a whole.
static SYNC: Declared = Declared {
    title: "sync after the work",
    short: "sync",
    explained: "Time to write out the data that the work left in the page cache, measured separately from the work.",
    key: true,
    ..step("sync.time", &[StepName::Sync])
};

static STEPS: [Declared; 8] = [
    Declared {
        title: "mkfs",
        aspect: Some(Aspect::Mkfs),
        explained: "Time to make the filesystem on the volume. If a filesystem is made by conversion from another, \
                    the time of all commands is included.",
        key: true,
        ..step("mkfs.time", &[StepName::Make])
    },
    Declared {
        title: "mount",
        aspect: Some(Aspect::Mount),
        explained: "Time to mount the new filesystem.",
        ..step("mount.time", &[StepName::Mount])
    },
    Declared {
        title: "deleting all files",
        explained: "Time to delete all files and directories of the workload, before the free space is measured \
                    again.",
        ..step("empty.time", &[StepName::Empty])
    },
    Declared {
        title: "unmount",
        aspect: Some(Aspect::Unmount),
        explained: "Time to unmount, including all writes of the unmount.",
        ..step("unmount.time", &[StepName::Unmount])
    },
    Declared {
        title: "fsck (emptied)",
        aspect: Some(Aspect::Fsck),
        short: "fsck",
        explained: "Time of a full, read-only check by the filesystem's fsck program, after all files were deleted.",
        key: true,
        ..step("check.time", &[StepName::Check(At::Emptied)])
    },
    Declared {
        title: "fsck (filled)",
        explained: "Time of a full, read-only check by the filesystem's fsck program, while all files of the \
                    workload exist.",
        ..step("check-filled.time", &[StepName::Check(At::Filled)])
    },
    Declared {
        title: "fsck (recovered)",
        explained: "Time of a full, read-only check by the filesystem's fsck program, after the recovery from the \
                    power cut.",
        section: Section::Recovery,
        ..step("check-recovered.time", &[StepName::Check(At::Recovered)])
    },
    Declared {
        title: "reverting the conversion",
        explained: "Time to undo a conversion: the filesystem is converted back to its original kind.",
        ..step("revert.time", &[StepName::Revert])
    },
];

/// User and system time of a step's commands, or of the thread that made the step's system call. The unmount also includes the
/// daemon that ended.
const fn cpu(name: &'static str, over: &'static [StepName]) -> Declared {
    Declared { drawn: false, ..step(name, over) }
}

/// CPU time of the sync of each work, measured like the time of that sync.
static SYNC_CPU: Declared = Declared {
    title: "CPU time of the sync after the work",
    explained: "CPU time of the process that calls the sync. Kernel threads that write during the sync are counted \
                in the metric cpu.rest.",
    ..cpu("sync.cpu", &[StepName::Sync])
};

static CPU: [Declared; 4] = [
    Declared {
        title: "CPU time of mkfs",
        explained: "User and system time of all commands that make the filesystem.",
        ..cpu("mkfs.cpu", &[StepName::Make])
    },
    Declared {
        title: "CPU time of mount",
        explained: "User and system time of the mount call or of the mount command. Kernel threads are not included.",
        ..cpu("mount.cpu", &[StepName::Mount])
    },
    Declared {
        title: "CPU time of unmount",
        explained: "User and system time of the unmount. For a FUSE filesystem, the CPU time of its daemon \
                    over the whole trial is included.",
        ..cpu("unmount.cpu", &[StepName::Unmount])
    },
    Declared {
        title: "CPU time of fsck (emptied)",
        explained: "User and system time of the full check by the filesystem's fsck program, after all files were \
                    deleted.",
        ..cpu("check.cpu", &[StepName::Check(At::Emptied)])
    },
];

/// CPU time as a share of the step's elapsed time.
const fn share(name: &'static str, over: &'static [StepName]) -> Declared {
    let over = Over::Steps(over);
    Declared { name, over, section: Section::Steps, drawn: false, ..Declared::PERCENT_OF_TIME }
}

static SHARES: [Declared; 3] = [
    Declared {
        title: "CPU share of mkfs",
        explained: "User and system time ÷ elapsed time of mkfs, in whole percent, like %P of GNU time.",
        ..share("mkfs.cpu.share", &[StepName::Make])
    },
    Declared {
        title: "CPU share of mount",
        explained: "User and system time ÷ elapsed time of the mount, in whole percent, like %P of GNU time.",
        ..share("mount.cpu.share", &[StepName::Mount])
    },
    Declared {
        title: "CPU share of unmount",
        explained: "User and system time ÷ elapsed time of the unmount, in whole percent, like %P of GNU time.",
        ..share("unmount.cpu.share", &[StepName::Unmount])
    },
];

static RECOVERY: Declared = Declared {
    title: "recovery time",
    did: "recovered",
    aspect: Some(Aspect::Recovery),
    section: Section::Headline,
    explained: "Time from a power cut in the middle of the work until the first new file is synced: the sum of repair, mount and \
                file creation. The machine's boot time is not counted.",
    ..step("recovery.time", &[StepName::Repair, StepName::MountAgain, StepName::FirstFile])
};

/// Metrics of a forced check, for scenarios with that stage.
static FORCED: [Declared; 2] = [
    Declared {
        title: "forced check",
        did: "was checked",
        section: Section::Headline,
        explained: "Time of a full, read-only check by the filesystem's fsck program in the middle of the trial, \
                    with all files that exist then. The unmount before the check and the mount after it are not \
                    counted.",
        ..step("forced-check.time", &[StepName::ForcedCheck])
    },
    Declared {
        title: "CPU time of the forced check",
        explained: "User and system time of the full check by the filesystem's fsck program in the middle of the \
                    trial.",
        ..cpu("forced-check.cpu", &[StepName::ForcedCheck])
    },
];

static RECOVERIES: [Declared; 3] = [
    Declared {
        title: "repair",
        explained: "Time of the repair that an administrator must run before the mount, if the filesystem needs one.",
        section: Section::Recovery,
        key: true,
        ..step("recovery.repair.time", &[StepName::Repair])
    },
    Declared {
        title: "mount with replay",
        short: "mount",
        explained: "Time of the first mount after the power cut, which replays the journal or log.",
        section: Section::Recovery,
        key: true,
        ..step("recovery.mount.time", &[StepName::MountAgain])
    },
    Declared {
        title: "first new file",
        explained: "Time to create and sync one new file after the recovery.",
        section: Section::Recovery,
        ..step("recovery.first_file.time", &[StepName::FirstFile])
    },
];

const FILES: Declared = Declared {
    section: Section::Recovery,
    over: Over::Moment,
    key: true,
    drawn: false,
    ..Declared::count("files")
};

static SYNCED: Declared = Declared {
    name: "recovery.synced",
    title: "files that had been synced",
    short: "synced",
    better: Better::Neither,
    explained: "Number of files that the work had synced and not deleted before the power cut.",
    ..FILES
};

static LOST: Declared = Declared {
    name: "recovery.lost",
    title: "synced files that were lost",
    short: "lost",
    explained: "Number of synced files that are missing or altered, or have lost their name, after the power cut.",
    ..FILES
};

pub fn declared() -> Vec<&'static Declared> {
    let (before, after) = STEPS.split_at(2);
    before
        .iter()
        .chain([&SYNC])
        .chain(after)
        .chain(&CPU)
        .chain(&SHARES)
        .chain([&SYNC_CPU])
        .chain(&FORCED)
        .chain([&RECOVERY])
        .chain(&RECOVERIES)
        .chain([&SYNCED, &LOST])
        .collect()
}

/// The metrics of the steps that this trial had.
pub fn metrics(record: &Record) -> Vec<Metric> {
    let times = STEPS.iter().filter_map(|declared| time(record, declared));
    let taken = CPU.iter().filter_map(|declared| taken(record, declared));
    times.chain(taken).chain(SHARES.iter().filter_map(|declared| of_time(record, declared))).collect()
}

/// Time and CPU time of the sync after a work, summed over all parts of the work.
pub fn sync(record: &Record, of: usize) -> Vec<Metric> {
    let steps = || of_work(record, of, StepName::Sync);
    let ns = steps().map(|step| step.ns).reduce(u64::saturating_add);
    let time = ns.map(|ns| SYNC.metric(ns as f64 / 1e9));
    time.into_iter().chain(cpu_time(&SYNC_CPU, steps())).collect()
}

/// This work's steps of that name.
pub fn of_work(record: &Record, of: usize, name: StepName) -> impl Iterator<Item = &Stepped> {
    let belongs = move |step: &&Stepped| {
        step.step == name
            && step.work.and_then(|at| record.stages.get(at)).is_some_and(|stage| stage.of == of)
    };
    record.steps.iter().filter(belongs)
}

/// The metrics of a forced check.
pub fn forced(record: &Record) -> Vec<Metric> {
    let [whole, cpu] = &FORCED;
    time(record, whole).into_iter().chain(taken(record, cpu)).collect()
}

/// The metrics of the recovery; empty unless the trial had a power cut.
pub fn recovery(record: &Record) -> Vec<Metric> {
    let Some(seen) = &record.survivors else { return Vec::new() };
    let whole = time(record, &RECOVERY).unwrap_or_else(|| RECOVERY.metric(0.0));
    let mut metrics = vec![whole];
    metrics.extend(RECOVERIES.iter().filter_map(|declared| time(record, declared)));
    metrics.push(SYNCED.metric(seen.files as f64));
    metrics.push(LOST.metric(lost(seen) as f64));
    metrics
}

/// The number of synced files that are missing, altered or without their name.
pub fn lost(seen: &Survivors) -> u64 {
    sum([seen.missing, seen.altered, seen.nameless])
}

/// The CPU time of all declared steps together.
fn taken(record: &Record, declared: &Declared) -> Option<Metric> {
    let Over::Steps(steps) = declared.over else { return None };
    cpu_time(declared, record.steps.iter().filter(|step| steps.contains(&step.step)))
}

/// The CPU time of these steps; `None` if it is 0, because older agents did not count the CPU time of their own calls.
fn cpu_time<'r>(declared: &Declared, steps: impl Iterator<Item = &'r Stepped>) -> Option<Metric> {
    let ns = sum(steps.flat_map(|step| [step.user_ns, step.sys_ns]));
    (ns > 0).then(|| declared.metric(ns as f64 / 1e9))
}

/// CPU time as a share of the steps' elapsed time. `None` if no CPU time was counted: see [`taken`].
fn of_time(record: &Record, declared: &Declared) -> Option<Metric> {
    let Over::Steps(steps) = declared.over else { return None };
    let of =
        |of: fn(&Stepped) -> u64| sum(record.steps.iter().filter(|step| steps.contains(&step.step)).map(of));
    let (user, sys, ns) = (of(|step| step.user_ns), of(|step| step.sys_ns), of(|step| step.ns));
    (user.saturating_add(sys) > 0).then(|| declared.metric(cpu_percent(user, sys, ns) as f64))
}

/// The total of the declared steps; `None` if the trial had none of them.
fn time(record: &Record, declared: &Declared) -> Option<Metric> {
    let Over::Steps(steps) = declared.over else { return None };
    let ns = steps.iter().filter_map(|step| record.step_ns(*step)).reduce(u64::saturating_add)?;
    Some(declared.metric(ns as f64 / 1e9))
}
