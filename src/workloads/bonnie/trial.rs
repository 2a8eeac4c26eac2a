//! Runs Bonnie++'s phases, either as `fsderby bonnie` or as a trial that can be split into parts.

use std::sync::atomic::Ordering::Relaxed;

use super::content::{checksum, small_checksum};
use super::cpu::Cpu;
use super::data::{Buffer, Data, DataFile, NAMES, Opened};
use super::folders::Folders;
use super::metrics;
use super::parameters::Parameters;
use super::random::Random;
use super::rules::{Rules, Small};
use super::seeks::{Seeks, Tickets};
use super::small::{Order, SmallFiles};
use crate::schema::event::Phase;
use crate::schema::job::Portion;
use crate::schema::metric::Metric;
use crate::schema::units::Bytes;
use crate::schema::work::{Amount, LiveFile};
use crate::workloads::kit::{Counts, Latencies, Phases, Under};
use crate::workloads::{Clock, Durable, Log, Needs, OpError, Ready, Work};

/// Operations on small files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Create,
    Stat,
    Delete,
}

/// One phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    WriteCharacters,
    Write,
    Rewrite,
    ReadCharacters,
    Read,
    Seek,
    Small(Order, Act),
}

/// The steps in the order of a run. A run skips the steps that its rules exclude.
pub const STEPS: [Step; 12] = [
    Step::WriteCharacters,
    Step::Write,
    Step::Rewrite,
    Step::ReadCharacters,
    Step::Read,
    Step::Seek,
    Step::Small(Order::Sequential, Act::Create),
    Step::Small(Order::Sequential, Act::Stat),
    Step::Small(Order::Sequential, Act::Delete),
    Step::Small(Order::Random, Act::Create),
    Step::Small(Order::Random, Act::Stat),
    Step::Small(Order::Random, Act::Delete),
];

/// The steps of each part; another process may run the next part.
const PARTS: [std::ops::Range<usize>; 5] = [0..3, 3..4, 4..5, 5..6, 6..12];
pub const PART_NAMES: [&str; 5] = ["write", "char-read", "block-read", "seek", "files"];
/// Steps that create lasting data: the data file, rewritten, and the files of the first order.
const LASTING: [Step; 3] = [Step::Write, Step::Rewrite, Step::Small(Order::Sequential, Act::Create)];
/// An estimate of the work draws at most this many files and seeks, which takes milliseconds.
const COUNTED: u64 = 200_000;
/// Fixed names, because no other work uses a trial's folder.
const NAMES_OF_TRIAL: Names<'_> = Names { data: "Bonnie", folder: "Bonnie.files" };

impl Step {
    /// The phase's name in records.
    pub fn phase(self) -> &'static str {
        match self {
            Step::WriteCharacters => "char-write",
            Step::Write => "block-write",
            Step::Rewrite => "rewrite",
            Step::ReadCharacters => "char-read",
            Step::Read => "block-read",
            Step::Seek => "seek",
            Step::Small(Order::Sequential, Act::Create) => "create-ordered",
            Step::Small(Order::Sequential, Act::Stat) => "stat-ordered",
            Step::Small(Order::Sequential, Act::Delete) => "delete-ordered",
            Step::Small(Order::Random, Act::Create) => "create-random",
            Step::Small(Order::Random, Act::Stat) => "stat-random",
            Step::Small(Order::Random, Act::Delete) => "delete-random",
        }
    }

    /// The number of operations of this step under these rules, as the progress counts them.
    fn operations(self, rules: &Rules) -> u64 {
        match self {
            Step::WriteCharacters | Step::ReadCharacters => rules.characters.div_ceil(rules.span()),
            Step::Write | Step::Rewrite | Step::Read => rules.chunks,
            Step::Seek => rules.seeks.into(),
            Step::Small(..) => rules.files.into(),
        }
    }

    /// Whether the rules include this step.
    pub fn is_done(self, rules: &Rules) -> bool {
        match self {
            Step::WriteCharacters | Step::ReadCharacters => rules.chunks > 0 && rules.characters > 0,
            Step::Small(..) => rules.files > 0,
            _ => rules.chunks > 0,
        }
    }
}

/// The operations of a phase with recorded latencies, each with the phase's count.
pub fn timed(phase: &str) -> &'static [(&'static str, &'static str)] {
    match phase {
        "block-write" => &[("write", "chunks")],
        "rewrite" => &[("rewrite", "chunks")],
        "block-read" => &[("read", "chunks")],
        "seek" => &[("seek", "seeks")],
        "create-ordered" | "create-random" => &[("create", "files")],
        "stat-ordered" | "stat-random" => &[("stat", "files")],
        "delete-ordered" | "delete-random" => &[("delete", "files")],
        _ => &[],
    }
}

/// Names in the current folder. Bonnie++ uses one name for the data file and the folder, because it deletes the file before
/// creating the folder.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    pub data: &'a str,
    pub folder: &'a str,
}

/// A prepared run: random numbers are drawn and all memory is allocated.
pub struct Run {
    rules: Rules,
    folder: String,
    file: DataFile,
    tickets: Tickets,
    sequential: SmallFiles,
    random: SmallFiles,
    buffers: Vec<Buffer>,
    synced: Vec<std::os::fd::OwnedFd>,
    latencies: Latencies,
}

impl Run {
    pub fn new(rules: &Rules, names: Names<'_>) -> Self {
        let mut random = Random::new(rules.seed);
        let tickets = if rules.chunks > 0 { Tickets::draw(rules, &mut random) } else { Tickets::none() };
        let sequential = SmallFiles::draw(rules, Order::Sequential, &mut random);
        let longest = if rules.files > 0 { rules.chunk.max(rules.piece) } else { rules.chunk };
        let seekers = if rules.chunks > 0 { rules.seekers as usize } else { 1 };
        Run {
            file: DataFile::new(rules, names.data),
            tickets,
            sequential,
            random: SmallFiles::draw(rules, Order::Random, &mut random),
            buffers: (0..seekers).map(|_| Buffer::new(longest as usize)).collect(),
            synced: Vec::new(),
            latencies: Latencies::new(&NAMES),
            rules: rules.clone(),
            folder: names.folder.to_owned(),
        }
    }

    /// Runs these steps in order; skips the steps that the rules exclude.
    pub fn steps(&mut self, steps: &[Step], clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError> {
        let steps: Vec<Step> = steps.iter().copied().filter(|step| step.is_done(&self.rules)).collect();
        let operations = steps.iter().map(|step| step.operations(&self.rules)).sum();
        log.progress().done.store(0, Relaxed);
        self.some_of(&steps, operations, clock, log)
    }

    /// Runs these steps in order, like [`Run::steps`], but stops after this many operations.
    fn some_of(
        &mut self,
        steps: &[Step],
        operations: u64,
        clock: &dyn Clock,
        log: &mut dyn Log,
    ) -> Result<(), OpError> {
        let mut latencies = std::mem::replace(&mut self.latencies, Latencies::new(&[]));
        let mut phases = Phases::new(clock, log, &mut latencies, operations);
        let mut left = operations;
        let mut done = Ok(());
        for step in steps {
            let most = left.min(step.operations(&self.rules));
            if most == 0 || done.is_err() {
                break;
            }
            done = phases.run(step.phase(), |under| self.step(*step, most, under));
            left -= most;
        }
        self.latencies = latencies;
        done
    }

    fn step(&mut self, step: Step, most: u64, under: &mut Under<'_>) -> Result<Counts, OpError> {
        let Run { file, rules, .. } = self;
        match step {
            Step::WriteCharacters => {
                let opened = file.create(rules.direct)?;
                data(rules, &mut self.buffers, opened, under, |data, under| data.write_characters(under))
            }
            Step::Write => {
                let opened = file.create(rules.direct)?;
                data(rules, &mut self.buffers, opened, under, |data, under| data.write(most, under))
            }
            Step::Rewrite => {
                let opened = file.open_at_begin()?;
                data(rules, &mut self.buffers, opened, under, |data, under| data.rewrite(most, under))
            }
            Step::ReadCharacters => {
                let opened = file.open_at_begin()?;
                data(rules, &mut self.buffers, opened, under, |data, under| data.read_characters(under))
            }
            Step::Read => {
                let opened = file.open_at_begin()?;
                data(rules, &mut self.buffers, opened, under, |data, under| data.read(under))
            }
            Step::Seek => self.seek(under),
            Step::Small(order, act) => self.small(order, act, most, under),
        }
    }

    fn seek(&mut self, under: &mut Under<'_>) -> Result<Counts, OpError> {
        let Run { rules, tickets, file, buffers, .. } = self;
        let buffers = buffers.iter_mut().map(|buffer| &mut buffer.get()[..rules.chunk as usize]).collect();
        let counts = Seeks { rules, tickets, file, buffers }.run(under)?;
        file.remove()?;
        Ok(counts)
    }

    fn small(&mut self, order: Order, act: Act, most: u64, under: &mut Under<'_>) -> Result<Counts, OpError> {
        let Run { rules, folder: name, sequential, random, buffers, synced, .. } = self;
        let files = if order == Order::Sequential { sequential } else { random };
        let buffer = &mut buffers[0].get()[..];
        let mut folders = Folders { rules, name, order, files, buffer, synced };
        match act {
            Act::Create => folders.create(most as u32, under),
            Act::Stat => folders.stat(under),
            Act::Delete => folders.delete(under),
        }
    }
}

/// The data files of a run of this name.
pub fn data_paths(rules: &Rules, name: &str) -> Vec<String> {
    DataFile::new(rules, name).paths().to_vec()
}

/// Runs one phase of the data file. Timing starts after the file has been opened.
fn data(
    rules: &Rules,
    buffers: &mut [Buffer],
    opened: Opened<'_>,
    under: &mut Under<'_>,
    work: impl FnOnce(Data<'_>, &mut Under<'_>) -> Result<Counts, OpError>,
) -> Result<Counts, OpError> {
    let buffer = &mut buffers[0].get()[..rules.chunk as usize];
    buffer.fill(0);
    under.begin();
    let cpu = Cpu::begin();
    let mut counts = work(Data { rules, buffer, opened }, under)?;
    counts.push(("cpu_ns", cpu.used_ns()));
    Ok(counts)
}

impl Work for Parameters {
    fn needs(&self) -> Needs {
        let small = if let Small::Files { max, .. } = self.rules.small { max } else { 0 };
        let data = self.rules.bytes().min(self.rules.bytes_of_a_file());
        Needs {
            hard_links: self.rules.files > 0 && self.rules.small == Small::HardLinks,
            symlinks: self.rules.files > 0 && self.rules.small == Small::Symlinks,
            largest_file: Bytes(data.max(small.into())),
            ..Needs::default()
        }
    }

    fn amount(&self, seed: u64) -> Amount {
        let run = Run::new(&self.rules_for(seed), NAMES_OF_TRIAL);
        let Run { rules, tickets, sequential, random, .. } = &run;
        let (size, chunk) = (rules.bytes(), u64::from(rules.chunk));
        let (seeks, updates) =
            if size > 0 { (u64::from(rules.seeks), tickets.expected_updates()) } else { (0, 0) };
        let characters = if size > 0 { rules.characters } else { 0 };
        let small = [sequential.bytes(), random.bytes()];
        Amount {
            files_peak: rules.data_files().max(rules.files.into()),
            bytes_read: 2 * size + characters + seeks * chunk + small[0] + small[1],
            bytes_written: 2 * size + characters + updates * chunk + small[0] + small[1],
            bytes_peak: size.max(small[0]).max(small[1]),
        }
    }

    fn expected(&self, seed: u64) -> Amount {
        let Rules { files, seeks, .. } = self.rules;
        if u64::from(files) + u64::from(seeks) <= COUNTED {
            return self.amount(seed);
        }
        let mean = if let Small::Files { min, max } = self.rules.small {
            (u64::from(min) + u64::from(max)) / 2
        } else {
            0
        };
        let small = mean * u64::from(files);
        let mut few = self.clone();
        (few.rules.files, few.rules.seeks) = (0, 1);
        let data = if few.rules.chunks > 0 { few.amount(seed) } else { Amount::default() };
        let sought = if few.rules.chunks > 0 { u64::from(seeks) * u64::from(self.rules.chunk) } else { 0 };
        Amount {
            files_peak: data.files_peak.max(files.into()),
            bytes_read: data.bytes_read + sought + 2 * small,
            bytes_written: data.bytes_written + sought / 10 + 2 * small,
            bytes_peak: data.bytes_peak.max(small),
        }
    }

    /// Each client has at least one file.
    fn most_clients(&self) -> u64 {
        self.rules.data_files().max(self.rules.files.into())
    }

    fn prepare(&self, seed: u64, portion: &Portion) -> Result<Box<dyn Ready>, String> {
        let rules = self.rules_for(seed);
        let Portion { part, stop_after, keep_files } = portion;
        let steps: Vec<Step> = match part {
            None if stop_after.is_some() || *keep_files => LASTING.to_vec(),
            None => STEPS.to_vec(),
            Some(_) if stop_after.is_some() => {
                return Err("a workload can be stopped at an operation only if all its parts run".into());
            }
            Some(name) => {
                let at = PART_NAMES.iter().position(|own| own == name);
                let steps = &STEPS
                    [at.map(|at| PARTS[at].clone()).ok_or(format!("the workload has no part {name}"))?];
                let stays = |step: &&Step| !keep_files || LASTING.contains(step);
                steps.iter().filter(stays).copied().collect()
            }
        };
        let steps: Vec<Step> = steps.into_iter().filter(|step| step.is_done(&rules)).collect();
        if let (Some(name), true) = (part, steps.is_empty() && !keep_files) {
            return Err(format!("the workload's parameters disable its part {name}"));
        }
        let all: u64 = steps.iter().map(|step| step.operations(&rules)).sum();
        let operations = stop_after.map_or(all, |last| all.min(last));
        Ok(Box::new(Trial { run: Run::new(&rules, NAMES_OF_TRIAL), steps, operations, stays: *keep_files }))
    }

    /// The chunks written and rewritten, and the files of the first order.
    fn operations(&self) -> u64 {
        let lasting = LASTING.iter().filter(|step| step.is_done(&self.rules));
        lasting.map(|step| step.operations(&self.rules)).sum()
    }

    /// Of each small file that is created, with its name, and deleted, in both orders, and of the written tenth of the seeks.
    fn syncs(&self) -> u64 {
        let of = |step: &Step| match step {
            Step::Small(_, Act::Create) => 2 * u64::from(self.rules.files),
            Step::Small(_, Act::Delete) => self.rules.files.into(),
            Step::Seek => u64::from(self.rules.seeks) / 10,
            _ => 0,
        };
        let done = STEPS.iter().filter(|step| self.rules.fsync && step.is_done(&self.rules));
        done.map(of).sum()
    }

    /// If a data phase ends with an fsync, the data file is durable then, but not while it is rewritten.
    fn durable(&self, seed: u64, operations: u64) -> Durable {
        let rules = self.rules_for(seed);
        let chunks = rules.chunks;
        let run = Run::new(&rules, NAMES_OF_TRIAL);
        let mut files = Vec::new();
        if rules.syncs_data() && (operations == chunks || operations >= 2 * chunks) {
            files = run.data_files(operations >= 2 * chunks);
        }
        let made = operations.saturating_sub(2 * chunks).min(rules.files.into()) as u32;
        let all_synced = rules.syncs_files() && rules.files > 0 && made == rules.files;
        if all_synced || rules.fsync {
            files.extend(run.small_files(made));
        }
        // The final sync covers all files. Before it, names are not durable, because the folder of the small files is not synced.
        Durable { files, named: all_synced }
    }

    fn metrics(&self, phases: &[Phase]) -> Vec<Metric> {
        metrics::metrics(self.rules.semantics, phases)
    }

    fn metrics_version(&self) -> u32 {
        metrics::VERSION
    }
}

impl Run {
    fn data_files(&self, rewritten: bool) -> Vec<LiveFile> {
        let bytes = self.rules.chunk as usize;
        let file = |(file, path): (usize, &String)| {
            let chunks = self.file.chunks_of(file, &self.rules);
            let size = (chunks.end - chunks.start) * bytes as u64;
            LiveFile::file(path, size, checksum(chunks.start, chunks.end, bytes, rewritten))
        };
        self.file.paths().iter().enumerate().map(file).collect()
    }

    /// The first `count` files of the first order.
    fn small_files(&self, count: u32) -> Vec<LiveFile> {
        let files = &self.sequential;
        let first = || files.path(0).to_bytes();
        let file = |file: u32| {
            let path = format!("{}/{}", self.folder, files.path(file).to_string_lossy());
            match self.rules.small {
                Small::HardLinks => LiveFile::file(path, 0, 0).with_links(count.into()),
                Small::Symlinks if file > 0 => {
                    LiveFile::symlink(path, first().len() as u64, crc32fast::hash(first()))
                }
                _ => {
                    let size = files.size(file);
                    let sum = small_checksum(file, size, self.rules.piece as usize);
                    LiveFile::file(path, size.into(), sum)
                }
            }
        };
        (0..count).map(file).collect()
    }
}

struct Trial {
    run: Run,
    steps: Vec<Step>,
    operations: u64,
    /// Whether the files are kept at the end, to be read back.
    stays: bool,
}

impl Ready for Trial {
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError> {
        let Trial { run, steps, operations, .. } = self;
        run.some_of(steps, *operations, clock, log)?;
        if self.stays && steps.iter().any(|step| matches!(step, Step::Small(..))) {
            return rustix::process::chdir("..")
                .map_err(|e| crate::workloads::kit::files::failed("leave", NAMES_OF_TRIAL.folder, e));
        }
        Ok(())
    }

    fn live(&self) -> Vec<LiveFile> {
        let Trial { run, steps, .. } = self;
        let has = |step| steps.contains(&step);
        let mut files = if has(Step::Write) { run.data_files(has(Step::Rewrite)) } else { Vec::new() };
        if has(Step::Small(Order::Sequential, Act::Create)) {
            files.extend(run.small_files(run.rules.files));
        }
        files
    }
}
