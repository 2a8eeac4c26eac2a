//! The folder on disk: made whole or not at all, then only added to.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};

use super::Run;
use super::lines;
use super::machine::Machine;
use super::record::{FileRef, Record};
use crate::exit::{DAMAGED, Failure};
use crate::mistakes;
use crate::runner::plan::Plan;
use crate::schema::event::Buckets;

const PLAN: &str = "plan.toml";
const MACHINE: &str = "machine.json";
const TRIALS: &str = "trials.jsonl";
const HISTOGRAMS: Beside = Beside { folder: "histograms", extension: "jsonl", what: "latencies" };
const CONSOLES: Beside = Beside { folder: "consoles", extension: "txt", what: "console" };
const REQUESTS: Beside = Beside { folder: "requests", extension: "bin", what: "requests" };
/// A folder is filled under this name and its maker's process number before it gets its own.
const UNREADY: &str = ".fsderby-";

/// Files that lie beside the records, one a trial.
struct Beside {
    folder: &'static str,
    extension: &'static str,
    what: &'static str,
}

/// What is stored beside a record.
#[derive(Clone, Debug, Default)]
pub struct Attached {
    pub histograms: Vec<Buckets>,
    /// What the agent or its machine wrote to its console, whole; mostly nothing where there is no machine.
    pub console: String,
    /// What a modelled disk did; see [`crate::storage::disk::request`].
    pub requests: Vec<u8>,
}

/// A run's folder, open for adding to. Only one process at a time has it open.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    trials: File,
    last: String,
}

impl Folder {
    /// A new run. Nothing is left behind when it cannot be made.
    pub fn create(path: &Path, plan: &Plan, machine: &Machine) -> anyhow::Result<Self> {
        if path.exists() {
            let text = format!(
                "{} exists already, and nothing is ever overwritten\n  try: another --output, or --resume {0}",
                path.display()
            );
            return Err(Failure::usage(text).into());
        }
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let above: Vec<&Path> =
            parent.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists()).collect();
        let cannot = |e: anyhow::Error| {
            above.iter().for_each(|p| drop(fs::remove_dir(p)));
            let text = format!(
                "could not make the run's folder {}: {e:#}\n  try: --output DIR, in a folder of your own with room",
                path.display()
            );
            Failure::missing(text)
        };
        fs::create_dir_all(parent).map_err(|e| cannot(e.into()))?;
        remove_unready_of_the_dead(parent);
        let unready = parent.join(format!("{UNREADY}{}", std::process::id()));
        let made = fill(&unready, plan, machine).and_then(|()| {
            renameat_with(CWD, &unready, CWD, path, RenameFlags::NOREPLACE)
                .map_err(|e| io::Error::from(e).into())
        });
        if let Err(e) = made {
            let _ = fs::remove_dir_all(&unready);
            return Err(cannot(e).into());
        }
        Self::open(path).map(|(folder, _)| folder)
    }

    /// An existing run, to go on with, and what it holds.
    ///
    /// # Errors
    /// When it is damaged: what follows a wrong line would be built on sand. A torn line is no damage.
    pub fn open(path: &Path) -> anyhow::Result<(Self, Run)> {
        let run = read(path)?;
        if let Some(what) = run.damage.first() {
            let text = format!("{} is damaged: {what}\n  try: fsderby verify {0}", path.display());
            return Err(Failure::new(DAMAGED, text).into());
        }
        let at = path.join(TRIALS);
        let mut trials = OpenOptions::new().read(true).append(true).open(&at)?;
        flock(&trials, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            Failure::usage(format!(
                "another fsderby is writing to {}\n  try: wait for its end",
                path.display()
            ))
        })?;
        let mut bytes = Vec::new();
        trials.read_to_end(&mut bytes)?;
        if bytes.last().is_some_and(|b| *b != b'\n') {
            trials.write_all(b"\n")?;
        }
        let last = lines::read_all(&bytes, &first_sum(path)?).last;
        Ok((Folder { path: path.to_owned(), trials, last }, run))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a trial: what lies beside its record first, then one line, one write, one flush to the disk.
    ///
    /// # Errors
    /// When there is no room or no right to; the run can be gone on with.
    pub fn append(&mut self, record: Record, attached: &Attached) -> anyhow::Result<Record> {
        self.append_or_fail(record, attached).map_err(|e| {
            let (path, trouble) = (self.path.display(), format!("{e:#}"));
            let text = format!("could not store a trial in {path}: {trouble}\n  try: make room, then fsderby run --resume {path}");
            Failure::missing(text).into()
        })
    }

    fn append_or_fail(&mut self, mut record: Record, attached: &Attached) -> anyhow::Result<Record> {
        let Attached { histograms, console, requests } = attached;
        if !histograms.is_empty() {
            let lines: Result<Vec<String>, _> = histograms.iter().map(serde_json::to_string).collect();
            let text = lines?.join("\n") + "\n";
            record.histograms = vec![self.store_beside(&record, &HISTOGRAMS, text.as_bytes())?];
        }
        if !console.is_empty() {
            record.console = Some(self.store_beside(&record, &CONSOLES, console.as_bytes())?);
        }
        if !requests.is_empty() {
            record.requests = Some(self.store_beside(&record, &REQUESTS, requests)?);
        }
        record.previous.clone_from(&self.last);
        let (line, sum) = lines::write(&record)?;
        self.trials.write_all(format!("{line}\n").as_bytes())?;
        self.trials.sync_data()?;
        self.last = sum;
        Ok(record)
    }

    /// A file of this trial's, written through to the disk before its record is.
    fn store_beside(&self, record: &Record, beside: &Beside, bytes: &[u8]) -> anyhow::Result<FileRef> {
        let Beside { folder, extension, what } = *beside;
        let name: String = record
            .trial
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .collect();
        // Labels that differ only in signs would share a name; the place in the order tells them apart.
        let path = format!("{folder}/{name}.{}.{}.{extension}", record.order, record.attempt);
        // A run of an older fsderby that is gone on with has not all of the folders.
        fs::create_dir_all(self.path.join(folder))?;
        let mut file =
            File::create_new(self.free_name(&path)).with_context(|| format!("could not store {path}"))?;
        file.write_all(bytes)?;
        file.sync_data()?;
        let blake3 = blake3::hash(bytes).to_hex().to_string();
        Ok(FileRef { path, blake3, what: what.into() })
    }

    /// A file that a killed run left without its record makes way under another name: nothing is thrown away.
    fn free_name(&self, path: &str) -> PathBuf {
        let at = self.path.join(path);
        if at.exists() {
            let aside = (1..).map(|n| self.path.join(format!("{path}.orphan{n}"))).find(|p| !p.exists());
            let _ = aside.map(|aside| fs::rename(&at, aside));
        }
        at
    }
}

/// What a process began to fill and died over.
fn remove_unready_of_the_dead(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|n| n.strip_prefix(UNREADY)?.parse::<u32>().ok());
        if maker.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// What the first line chains to, so that no plan or machine can be put under records that were made with another.
fn first_sum(path: &Path) -> io::Result<String> {
    let mut sum = crc32fast::Hasher::new();
    for name in [PLAN, MACHINE] {
        sum.update(&fs::read(path.join(name))?);
    }
    Ok(format!("{:08x}", sum.finalize()))
}

fn fill(at: &Path, plan: &Plan, machine: &Machine) -> anyhow::Result<()> {
    fs::create_dir(at)?;
    fs::create_dir(at.join(HISTOGRAMS.folder))?;
    fs::create_dir(at.join(CONSOLES.folder))?;
    write_through(&at.join(PLAN), toml::to_string(plan)?.as_bytes())?;
    write_through(&at.join(MACHINE), serde_json::to_string_pretty(machine)?.as_bytes())?;
    write_through(&at.join(TRIALS), b"")?;
    File::open(at)?.sync_all()?;
    Ok(())
}

fn write_through(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Reads a run, whatever its state; what is wrong stands in `damage`.
///
/// # Errors
/// When it is not a run's folder.
pub fn read(path: &Path) -> anyhow::Result<Run> {
    let not_a_run = |what: &str| {
        let text = format!(
            "{} is not a run's folder: {what}\n  try: a folder that fsderby run made, below results/",
            path.display()
        );
        Failure::usage(text)
    };
    let damaged =
        |name: &str, e: String| Failure::new(DAMAGED, format!("{}/{name} is damaged: {e}", path.display()));
    let has_records = path.join(TRIALS).exists();
    let text = |name: &str| {
        fs::read_to_string(path.join(name)).map_err(|e| match has_records {
            true => damaged(name, e.to_string()),
            false => not_a_run(&format!("{name}: {e}")),
        })
    };
    let plan = toml::from_str(&text(PLAN)?).map_err(|e| damaged(PLAN, mistakes::in_words(&e)))?;
    let machine = serde_json::from_str(&text(MACHINE)?).map_err(|e| damaged(MACHINE, e.to_string()))?;
    let bytes = fs::read(path.join(TRIALS)).map_err(|e| not_a_run(&format!("{TRIALS}: {e}")))?;
    let lines = lines::read_all(&bytes, &first_sum(path)?);
    Ok(Run {
        folder: path.to_owned(),
        plan,
        machine,
        records: lines.records,
        damage: lines.damage,
        torn: lines.torn,
    })
}
