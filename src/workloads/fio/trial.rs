//! A trial of fio.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use fsderby_sys::process::children_usage;
use rustix::fs::{MemfdFlags, memfd_create};
use toml::Table;

use super::output::Output;
use super::{Job, PHASE, VERSION, metrics};
use crate::schema::metric::Metric;
use crate::workloads::kit::files::failed;
use crate::workloads::kit::{Keys, Latencies};
use crate::workloads::programs::{self, Line, Run, Success};
use crate::workloads::{Amount, Clock, LiveFile, Log, Needs, OpError, Phase, Portion, Ready, Work};

#[derive(Clone, Debug)]
pub struct Parameters {
    pub job: Job,
    pub limit: Duration,
}

const KEYS: &[&str] = &["job", "limit_seconds"];
const LONGEST: u32 = 24 * 3600;

impl Parameters {
    /// # Errors
    /// Names the key, or the line of the job file.
    pub fn parse(table: &Table) -> Result<Self, String> {
        let keys = Keys::of(table, KEYS)?;
        let limit = match table.get("limit_seconds") {
            None => programs::LIMIT,
            Some(_) => Duration::from_secs(keys.number("limit_seconds", 1..=LONGEST)?.into()),
        };
        let text: String = keys.needed("job")?;
        Ok(Parameters { job: Job::parse(&text)?, limit })
    }
}

impl Work for Parameters {
    fn needs(&self) -> Needs {
        Needs { programs: true, ..Needs::default() }
    }

    /// Sizes in a job file may be shares of the free space, so nobody knows it before.
    fn amount(&self, _seed: u64) -> Amount {
        Amount::default()
    }

    fn prepare(&self, _seed: u64, portion: &Portion) -> Result<Box<dyn Ready>, String> {
        if let Some(part) = &portion.part {
            return Err(format!("it has no part {part}"));
        }
        programs::adopt().map_err(|e| format!("could not adopt the processes of fio: {e}"))?;
        Ok(Box::new(Trial { parameters: self.clone(), keeps: portion.keep_files, live: Vec::new() }))
    }

    fn metrics(&self, phases: &[Phase]) -> Vec<Metric> {
        metrics(phases)
    }

    fn metrics_version(&self) -> u32 {
        VERSION
    }
}

struct Trial {
    parameters: Parameters,
    keeps: bool,
    live: Vec<LiveFile>,
}

impl Ready for Trial {
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError> {
        let words = ["fio", "--output-format=json+", "--eta=never", "-"].map(str::to_owned);
        let line = Line::Words(words.into());
        let input = job_file(&self.parameters.job).map_err(|e| failed("hand over", "the job file", e))?;
        log.progress().total.store(1, Relaxed);
        let (begin, before) = (clock.now_ns(), children_usage());
        let run = Run {
            line: &line,
            success: &Success::zero(),
            input: None,
            stdin: Some(input),
            limit: self.parameters.limit,
        };
        let ended = programs::run(run)?;
        let (used, returned) = (children_usage().since(before), clock.now_ns());
        programs::sync()?;
        let synced = clock.now_ns();
        log.progress().done.store(1, Relaxed);
        log.finished();
        let output = Output::parse(&String::from_utf8_lossy(&ended.output));
        let output = output.map_err(|text| failed("read", "fio's output", io::Error::other(text)))?;
        let mut counts = counts(&output);
        for (name, n) in [
            ("fio_ns", returned - begin),
            ("sync_ns", synced - returned),
            ("user_ns", used.user_ns),
            ("sys_ns", used.sys_ns),
            ("bytes_read", used.bytes_read),
            ("bytes_written", used.bytes_written),
        ] {
            counts.insert(name.to_owned(), n);
        }
        log.phase(Phase { name: PHASE.to_owned(), ns: synced - begin, counts });
        latencies(&output).report(PHASE, log);
        if self.keeps {
            self.live = programs::live()?;
        }
        Ok(())
    }

    fn live(&self) -> Vec<LiveFile> {
        self.live.clone()
    }
}

/// fio reads it from its standard input, so that it lies nowhere in the filesystem under test.
fn job_file(job: &Job) -> io::Result<File> {
    let mut file = File::from(memfd_create("fsderby-job", MemfdFlags::CLOEXEC)?);
    file.write_all(job.text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

fn counts(output: &Output) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::from([("fios".to_owned(), 1)]);
    let mut longest = |key: String, ms: u64| {
        let known = counts.entry(key).or_default();
        *known = (*known).max(ms);
    };
    for job in &output.jobs {
        for (name, direction) in [("read", &job.read), ("write", &job.write)] {
            longest(format!("group.{}.ms", job.group), direction.runtime);
            longest(format!("job.{}.{name}.ms", job.name), direction.runtime);
        }
    }
    let mut add = |key: String, n: u64| {
        let known = counts.entry(key).or_default();
        *known = known.saturating_add(n);
    };
    for job in &output.jobs {
        for (name, direction) in [("read", &job.read), ("write", &job.write)] {
            add(format!("{name}.ios"), direction.total_ios);
            add(format!("{name}.bytes"), direction.io_bytes);
            add(format!("job.{}.{name}.ios", job.name), direction.total_ios);
        }
        add("syncs".to_owned(), job.sync.total_ios);
    }
    counts
}

/// Of all jobs together, by operation.
fn latencies(output: &Output) -> Latencies {
    let mut all = Latencies::new(&["read", "write", "sync"]);
    for job in &output.jobs {
        for (operation, of) in
            [&job.read.clat_ns, &job.write.clat_ns, &job.sync.lat_ns].into_iter().enumerate()
        {
            for (ns, count) in of.counted() {
                all.record_n(operation, ns, count);
            }
        }
    }
    all
}
