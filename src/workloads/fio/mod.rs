//! The real fio with a job file of the user's own.
//!
//! fio runs in the filesystem under test, with the options of [`job`], and prints `json+`. Its figures are read whole: I/Os,
//! bytes, run times and latencies.

use toml::Table;

use super::{ParamSet, Work, Workload};
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::description::Description;
use crate::schema::event::Phase;
use crate::schema::job::WorkSpec;
use crate::schema::metric::Metric;
use crate::schema::units::{MIB, Scale};

mod direct;
mod job;
mod output;
mod trial;

pub use job::Job;
pub use trial::Parameters;

pub struct Fio;

static SETS: &[ParamSet] = &[
    ParamSet { name: "fio-random-read-quick", toml: include_str!("sets/fio-random-read-quick.toml") },
    ParamSet { name: "fio-random-read", toml: include_str!("sets/fio-random-read.toml") },
    ParamSet { name: "fio-random-write-quick", toml: include_str!("sets/fio-random-write-quick.toml") },
    ParamSet { name: "fio-random-write", toml: include_str!("sets/fio-random-write.toml") },
    ParamSet {
        name: "fio-sequential-write-quick",
        toml: include_str!("sets/fio-sequential-write-quick.toml"),
    },
    ParamSet { name: "fio-sequential-write", toml: include_str!("sets/fio-sequential-write.toml") },
    ParamSet { name: "fio-mixed-quick", toml: include_str!("sets/fio-mixed-quick.toml") },
    ParamSet { name: "fio-mixed", toml: include_str!("sets/fio-mixed.toml") },
];

/// Imported output of fio has the engine `fio`, which cannot run again.
pub const NAME: &str = "fio-job";
const PROGRAM: &str = "fio";
const VERSION: u32 = 1;
/// The phase of its figures.
const PHASE: &str = "fio";

static IOPS: Declared = Declared {
    name: "fio.iops",
    title: "I/Os of fio",
    did: "did fio's I/O",
    section: Section::Headline,
    over: Over::Phase(PHASE),
    explained: "Reads, writes and trims of all jobs ÷ fio's run time. fio runs groups of jobs one after another. The \
                run time of a group is the longest run time that fio reports for a job of the group. fio's run time \
                is the sum of the run times of all groups.",
    ..Declared::PER_SECOND
};
static READ: Declared = Declared {
    name: "fio.read.throughput",
    title: "read by fio",
    short: "read",
    section: Section::Throughput,
    over: Over::Phase(PHASE),
    explained: "Bytes read ÷ fio's run time. The metric fio.iops defines this run time.",
    key: true,
    ..Declared::MIB_PER_SECOND
};
static WRITTEN: Declared = Declared {
    name: "fio.write.throughput",
    title: "written by fio",
    short: "write",
    section: Section::Throughput,
    over: Over::Phase(PHASE),
    explained: "Bytes written ÷ fio's run time. The metric fio.iops defines this run time. Without direct I/O or \
                fsync the bytes may still be in memory at the end.",
    key: true,
    ..Declared::MIB_PER_SECOND
};
static OF_JOB: Declared = Declared {
    name: "fio.job.PHASE",
    title: "PHASE, of fio",
    section: Section::Throughput,
    over: Over::Phase(PHASE),
    explained: "I/Os per second of one job in one direction (read, write or trim): the I/Os of all clones (numjobs) \
        of the job ÷ the longest run time of a clone.",
    drawn: false,
    ..Declared::PER_SECOND
};
static CPU: Declared = Declared {
    name: "fio.cpu.share",
    title: "CPU of fio's jobs",
    section: Section::Throughput,
    over: Over::Phase(PHASE),
    explained: "User and system time of all jobs, as fio reports them, ÷ fio's run time (see the metric fio.iops), \
        in percent.",
    drawn: false,
    ..Declared::PERCENT_OF_TIME
};
static FAILED: Declared = Declared {
    name: "fio.errors",
    title: "I/Os of fio that failed",
    section: Section::Throughput,
    over: Over::Phase(PHASE),
    explained: "Number of errors that fio counted in jobs with continue_on_error.",
    drawn: false,
    ..Declared::count("errors")
};
static CACHED: Declared = Declared {
    name: "fio.direct.cached",
    title: "O_DIRECT through the page cache",
    section: Section::Throughput,
    over: Over::Phase(PHASE),
    explained: "Before fio runs with direct=1, fsderby writes and reads a file of 64 KiB with O_DIRECT. The metric \
                is the share of this file's pages that the kernel served through its page cache despite O_DIRECT. If \
                the share is not 0, direct=1 does not bypass the page cache on this filesystem.",
    drawn: false,
    ..Declared::PERCENT
};
static SYNCED: Declared = Declared {
    name: "fio.synced.time",
    title: "fio and sync",
    section: Section::Throughput,
    over: Over::Phase(PHASE),
    explained: "Time from the start of fio to the end of the sync that follows fio. The time includes the creation \
        of fio's files.",
    drawn: false,
    ..Declared::SECONDS
};

impl Workload for Fio {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> Description {
        Description {
            what: "Runs the fio of this machine with a job file, whose files lie in the filesystem under test, and takes the \
                   figures from fio's json+ output.",
            origin: "fio by Jens Axboe (fio(1)). The job file is the user's own.",
            limits: "fio starts its clock after it has laid out files, so the layout is not part of a rate. By \
                     default fio preallocates files (fallocate=native), so writes go to unwritten extents; \
                     with fallocate=none they do not. ioengine=libaio is asynchronous only with direct=1. A \
                     filesystem may serve direct=1 through the page cache; the metric fio.direct.cached shows \
                     whether it did. With a rate limit, latencies begin at the intended start of an I/O only with \
                     io_submit_mode=offload. Data that a job leaves in memory is synced afterwards; the time of this \
                     sync is not part of the job's rates.",
        }
    }

    fn sets(&self) -> &'static [ParamSet] {
        SETS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        vec![&IOPS, &READ, &WRITTEN, &OF_JOB, &CPU, &FAILED, &CACHED, &SYNCED]
    }

    fn parse(&self, parameters: &Table) -> Result<Box<dyn Work>, String> {
        Ok(Box::new(Parameters::parse(parameters)?))
    }

    fn scale(&self, _parameters: &Table, by: Scale) -> Result<Table, String> {
        Err(format!(
            "a job file of fio has no size that a scale of {by} could change\n  try: without --scale, and a smaller size="
        ))
    }
}

/// What the figures of this work do not mean, if it is a job file: one sentence each.
pub fn notes(work: &WorkSpec) -> Vec<String> {
    let is_fio = work.engine == NAME;
    let parsed = is_fio.then(|| Parameters::parse(&work.parameters).ok()).flatten();
    parsed.map(|parameters| parameters.job.notes()).unwrap_or_default()
}

/// Counts of a phase: `fios`, `group.ID.ms`, `jobs.cpu_us`, `errors`; `DIRECTION.ios` and `.bytes`; `job.NAME.DIRECTION.ios` and `.ms`.
fn metrics(phases: &[Phase]) -> Vec<Metric> {
    let phases = phases.iter().filter(|phase| phase.name == PHASE && phase.counts.contains_key("fios"));
    phases.flat_map(of_phase).collect()
}

fn of_phase(phase: &Phase) -> Vec<Metric> {
    // Of several clients the counts are sums, and their times are alike.
    let fios = phase.count("fios").max(1) as f64;
    let groups = phase.counts.iter().filter(|(key, _)| key.starts_with("group."));
    let seconds = groups.map(|(_, ms)| *ms as f64 / 1e3).sum::<f64>() / fios;
    let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let mib = |key: &str| per_second(phase.count(key)) / MIB as f64;
    let mut all =
        vec![IOPS.metric(per_second(
            ["read.ios", "write.ios", "trim.ios"].map(|key| phase.count(key)).iter().sum(),
        ))];
    for (declared, key) in [(&READ, "read.bytes"), (&WRITTEN, "write.bytes")] {
        if phase.count(key) > 0 {
            all.push(declared.metric(mib(key)));
        }
    }
    let jobs = phase
        .counts
        .iter()
        .filter_map(|(key, ios)| Some((key.strip_prefix("job.")?.strip_suffix(".ios")?, *ios)));
    for (job, ios) in jobs {
        let ms = phase.count(&format!("job.{job}.ms")) as f64 / fios;
        if ios > 0 && ms > 0.0 {
            all.push(OF_JOB.metric_of_part(job, ios as f64 / (ms / 1e3)));
        }
    }
    if seconds > 0.0 {
        all.push(CPU.metric(phase.count("jobs.cpu_us") as f64 / fios / 1e4 / seconds));
    }
    if phase.count("errors") > 0 {
        all.push(FAILED.metric(phase.count("errors") as f64));
    }
    if phase.count("direct.pages") > 0 {
        all.push(
            CACHED.metric(100.0 * phase.count("direct.cached") as f64 / phase.count("direct.pages") as f64),
        );
    }
    all.push(SYNCED.metric(phase.ns as f64 / 1e9));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_beyond_that_of_a_trial_is_refused() {
        let of = |limit: u32| format!("job = '[a]'\nlimit_seconds = {limit}").parse::<Table>().unwrap();
        assert!(Fio.parse(&of(3600)).is_ok());
        assert!(Fio.parse(&of(3601)).err().unwrap().contains("from 1 to 3600"));
    }

    #[test]
    fn rates_are_over_the_longest_job_of_each_group() {
        let counts = [
            ("fios", 1),
            ("jobs.cpu_us", 500_000),
            ("direct.pages", 32),
            ("direct.cached", 16),
            ("group.0.ms", 2000),
            ("group.1.ms", 3000),
            ("read.ios", 1000),
            ("read.bytes", 1000 * 4096),
            ("write.ios", 500),
            ("write.bytes", 500 * MIB),
            ("job.a.read.ios", 1000),
            ("job.a.read.ms", 2000),
            ("job.b.write.ios", 500),
            ("job.b.write.ms", 2500),
        ];
        let counts = counts.map(|(name, n)| (name.to_owned(), n)).into();
        let seen = metrics(&[Phase { name: PHASE.into(), ns: 6_000_000_000, counts }]);
        let values: Vec<(&str, f64)> =
            seen.iter().map(|metric| (metric.name.as_str(), metric.value)).collect();
        let expected = [
            ("fio.iops", 300.0),
            ("fio.read.throughput", 0.78125),
            ("fio.write.throughput", 100.0),
            ("fio.job.a.read", 500.0),
            ("fio.job.b.write", 200.0),
            ("fio.cpu.share", 10.0),
            ("fio.direct.cached", 50.0),
            ("fio.synced.time", 6.0),
        ];
        assert_eq!(values, expected);
    }
}
