//! A trial of fio.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use fsderby_sys::process::children_usage;
use rustix::fs::{MemfdFlags, memfd_create};
use toml::Table;

use super::direct::{self, Bypass};
use super::output::{self, Output};
use super::{Job, PHASE, PROGRAM, VERSION, metrics};
use crate::schema::metric::Metric;
use crate::workloads::kit::Keys;
use crate::workloads::kit::files::failed;
use crate::workloads::kit::latencies::histogram;
use crate::workloads::programs::{self, Line, Run, Success};
use crate::workloads::{
    Amount, Clock, Histogram, LiveFile, Log, Needs, OpError, Phase, Portion, Ready, Work,
};

#[derive(Clone, Debug)]
pub struct Parameters {
    pub job: Job,
    pub limit: Duration,
}

const KEYS: &[&str] = &["job", "limit_seconds"];
impl Parameters {
    /// # Errors
    /// Names the key, or the line of the job file.
    pub fn parse(table: &Table) -> Result<Self, String> {
        let keys = Keys::of(table, KEYS)?;
        let limit = programs::limit(&keys)?;
        let text: String = keys.needed("job")?;
        Ok(Parameters { job: Job::parse(&text)?, limit })
    }
}

impl Work for Parameters {
    fn needs(&self) -> Needs {
        Needs { programs: true, ..Needs::default() }
    }

    fn programs(&self) -> Vec<&str> {
        vec![PROGRAM]
    }

    /// Sizes in a job file may be shares of the free space, so nobody knows it before.
    fn amount(&self, _seed: u64) -> Amount {
        Amount::default()
    }

    fn prepare(&self, seed: u64, portion: &Portion) -> Result<Box<dyn Ready>, String> {
        if let Some(part) = &portion.part {
            return Err(format!("it has no part {part}"));
        }
        programs::adopt().map_err(|e| format!("could not adopt the processes of fio: {e}"))?;
        let bypass = match self.job.is_direct() {
            true => direct::tried().map_err(|e| format!("could not try O_DIRECT: {e}"))?,
            false => None,
        };
        let parameters = self.clone();
        programs::shift_start(seed);
        Ok(Box::new(Trial { parameters, bypass, keeps: portion.keep_files, live: Vec::new() }))
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
    bypass: Option<Bypass>,
    keeps: bool,
    live: Vec<LiveFile>,
}

impl Ready for Trial {
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError> {
        let words = [PROGRAM, "--output-format=json+", "--eta=never", "-"].map(str::to_owned);
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
        if let Some(Bypass { pages, cached }) = self.bypass {
            counts.extend([("direct.pages".to_owned(), pages), ("direct.cached".to_owned(), cached)]);
        }
        log.phase(Phase { name: PHASE.to_owned(), ns: synced - begin, counts: counts.into() });
        for (operation, histogram) in &latencies(&output, &self.parameters.job) {
            log.histogram(PHASE, operation, histogram);
        }
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
        for (name, direction) in job.directions() {
            longest(format!("group.{}.ms", job.group), direction.runtime);
            longest(format!("job.{}.{name}.ms", job.name), direction.runtime);
        }
    }
    let mut add = |key: String, n: u64| {
        let known = counts.entry(key).or_default();
        *known = known.saturating_add(n);
    };
    for job in &output.jobs {
        for (name, direction) in job.directions() {
            add(format!("{name}.ios"), direction.total_ios);
            add(format!("{name}.bytes"), direction.io_bytes);
            add(format!("job.{}.{name}.ios", job.name), direction.total_ios);
        }
        add("syncs".to_owned(), job.sync.total_ios);
        add("errors".to_owned(), job.total_err);
        // Percent of milliseconds are 10 µs each.
        add("jobs.cpu_us".to_owned(), ((job.usr_cpu + job.sys_cpu) * 10.0 * job.job_runtime as f64) as u64);
    }
    counts
}

/// By operation, with the job's name if there are several.
fn latencies(output: &Output, job_file: &Job) -> BTreeMap<String, Histogram> {
    let is_single = job_file.sections.len() == 1;
    let mut all = BTreeMap::new();
    for job in &output.jobs {
        let of = |direction: &output::Direction| match job_file.is_from_intended_start(&job.name) {
            true => direction.lat_ns.clone(),
            false => direction.clat_ns.clone(),
        };
        let each = job.directions().map(|(name, direction)| (name, of(direction)));
        let each = each.into_iter().chain([("sync", job.sync.lat_ns.clone())]);
        for (operation, latency) in each {
            let name = if is_single { operation.to_owned() } else { format!("{}.{operation}", job.name) };
            for (ns, count) in latency.counted() {
                all.entry(name.clone()).or_insert_with(histogram).saturating_record_n(ns, count);
            }
        }
    }
    all
}
