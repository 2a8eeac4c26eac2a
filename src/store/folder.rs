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
use crate::agent::protocol::Buckets;
use crate::exit::{DAMAGED, Failure};
use crate::lab::plan::Plan;

const PLAN: &str = "plan.toml";
const MACHINE: &str = "machine.json";
const TRIALS: &str = "trials.jsonl";
const HISTOGRAMS: &str = "histograms";
/// A folder is filled under this name and its maker's process number before it gets its own.
const UNREADY: &str = ".fsderby-";

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
        fs::create_dir_all(parent).with_context(|| format!("could not make {}", parent.display()))?;
        remove_unready_of_the_dead(parent);
        let unready = parent.join(format!("{UNREADY}{}", std::process::id()));
        let made = fill(&unready, plan, machine).and_then(|()| {
            renameat_with(CWD, &unready, CWD, path, RenameFlags::NOREPLACE)
                .map_err(|e| io::Error::from(e).into())
        });
        if let Err(e) = made {
            let _ = fs::remove_dir_all(&unready);
            return Err(e.context(format!("could not make the run's folder {}", path.display())));
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
        let last = lines::read_all(&bytes).last;
        Ok((Folder { path: path.to_owned(), trials, last }, run))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a trial: its histograms first, then one line, one write, one flush to the disk.
    pub fn append(&mut self, mut record: Record, histograms: &[Buckets]) -> anyhow::Result<Record> {
        if !histograms.is_empty() {
            record.histograms = vec![self.store_histograms(&record, histograms)?];
        }
        record.previous.clone_from(&self.last);
        let (line, sum) = lines::write(&record)?;
        self.trials.write_all(format!("{line}\n").as_bytes()).context("could not store a trial")?;
        self.trials.sync_data().context("could not store a trial")?;
        self.last = sum;
        Ok(record)
    }

    fn store_histograms(&self, record: &Record, histograms: &[Buckets]) -> anyhow::Result<FileRef> {
        let mut text = String::new();
        for buckets in histograms {
            text.push_str(&serde_json::to_string(buckets)?);
            text.push('\n');
        }
        let name: String = record
            .trial
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .collect();
        // Labels that differ only in signs would share a name; the place in the order tells them apart.
        let path = format!("{HISTOGRAMS}/{name}.{}.{}.jsonl", record.order, record.attempt);
        let mut file =
            File::create_new(self.free_name(&path)).with_context(|| format!("could not store {path}"))?;
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        let blake3 = blake3::hash(text.as_bytes()).to_hex().to_string();
        Ok(FileRef { path, blake3, what: "latencies".into() })
    }

    /// A file that a killed run left without its record makes way under another name: nothing is thrown away.
    fn free_name(&self, path: &str) -> PathBuf {
        let at = self.path.join(path);
        if at.exists() {
            let aside = (1..).map(|n| at.with_extension(format!("jsonl.orphan{n}"))).find(|p| !p.exists());
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

fn fill(at: &Path, plan: &Plan, machine: &Machine) -> anyhow::Result<()> {
    fs::create_dir(at)?;
    fs::create_dir(at.join(HISTOGRAMS))?;
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
    let text =
        |name: &str| fs::read_to_string(path.join(name)).map_err(|e| not_a_run(&format!("{name}: {e}")));
    let damaged =
        |name: &str, e: String| Failure::new(DAMAGED, format!("{}/{name} is damaged: {e}", path.display()));
    let plan = toml::from_str(&text(PLAN)?).map_err(|e| damaged(PLAN, e.to_string()))?;
    let machine = serde_json::from_str(&text(MACHINE)?).map_err(|e| damaged(MACHINE, e.to_string()))?;
    let bytes = fs::read(path.join(TRIALS)).map_err(|e| not_a_run(&format!("{TRIALS}: {e}")))?;
    let lines = lines::read_all(&bytes);
    Ok(Run {
        folder: path.to_owned(),
        plan,
        machine,
        records: lines.records,
        damage: lines.damage,
        torn: lines.torn,
    })
}
