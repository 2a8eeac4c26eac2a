//! The folder on disk: made whole or not at all, then only added to.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::beside::{self, Attached, CONSOLES, HISTOGRAMS, REQUESTS};
use super::seal::{self, Covered};
use super::unready::Unready;
use super::{MACHINE, PLAN, Run, TRIALS, lines, sync_folder};
use crate::exit::{DAMAGED, Failure};
use crate::mistakes;
use crate::schema::machine::Machine;
use crate::schema::plan::Plan;
use crate::schema::record::Record;
use crate::schema::seal::Ended;

/// A run's folder, open for adding to. Only one process at a time has it open.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Locked.
    trials: File,
    last: String,
    /// The last line has no end: the next one begins with it.
    torn: bool,
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
        let parent = or_here(path.parent());
        let above: Vec<&Path> =
            parent.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists()).collect();
        let made = fs::create_dir_all(parent).map_err(anyhow::Error::from).and_then(|()| {
            let unready = Unready::in_folder(parent)?;
            let last = fill(unready.path(), plan, machine)?;
            let trials = unready.named(path)?;
            sync_folder(parent)?;
            above.iter().try_for_each(|made| sync_folder(or_here(made.parent())))?;
            Ok(Folder { path: path.to_owned(), trials, last, torn: false })
        });
        made.map_err(|e| {
            above.iter().for_each(|p| drop(fs::remove_dir(p)));
            let text = format!(
                "could not make the run's folder {}: {e:#}\n  try: --output DIR, in a folder of your own with room",
                path.display()
            );
            Failure::missing(text).into()
        })
    }

    /// An existing run, to go on with, and what it holds. It is read when nobody else can write to it any more.
    ///
    /// # Errors
    /// When it is damaged: what follows a wrong line would be built on sand. A torn line is no damage.
    pub fn open(path: &Path) -> anyhow::Result<(Self, Run)> {
        let opened = OpenOptions::new().read(true).append(true).open(path.join(TRIALS));
        let mut trials = opened.map_err(|e| match e.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => not_a_run(path, &format!("{TRIALS}: {e}")),
            _ => Failure::missing(format!("could not go on with {}: {TRIALS}: {e}", path.display())),
        })?;
        flock(&trials, FlockOperation::NonBlockingLockExclusive).map_err(|e| {
            let path = path.display();
            match e {
                Errno::WOULDBLOCK => {
                    Failure::usage(format!("another fsderby is writing to {path}\n  try: wait for its end"))
                }
                _ => Failure::missing(format!("could not lock {path}: {e}")),
            }
        })?;
        let mut bytes = Vec::new();
        trials.read_to_end(&mut bytes)?;
        let (run, last) = parsed(path, &bytes)?;
        if let Some(what) = run.damage.first() {
            let text = format!("{} is damaged: {what}\n  try: fsderby verify {0}", path.display());
            return Err(Failure::new(DAMAGED, text).into());
        }
        beside::make_way_for_all(path, &run.records)?;
        let torn = bytes.last().is_some_and(|b| *b != b'\n');
        Ok((Folder { path: path.to_owned(), trials, last, torn }, run))
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
            record.histograms = vec![HISTOGRAMS.store(&self.path, &record, text.as_bytes())?];
        }
        if !console.is_empty() {
            record.console = Some(CONSOLES.store(&self.path, &record, console.as_bytes())?);
        }
        if !requests.is_empty() {
            record.requests = Some(REQUESTS.store(&self.path, &record, requests)?);
        }
        record.previous.clone_from(&self.last);
        let (line, sum) = lines::write(&record)?;
        let end_of_torn = if self.torn { "\n" } else { "" };
        self.trials.write_all(format!("{end_of_torn}{line}\n").as_bytes())?;
        self.trials.sync_data()?;
        (self.last, self.torn) = (sum, false);
        Ok(record)
    }

    /// The run has ended, with so many rounds: seals what it holds now.
    ///
    /// # Errors
    /// When there is no room or no right to; the records stand.
    pub fn seal(&mut self, rounds: u32, ended: Ended) -> anyhow::Result<()> {
        self.seal_or_fail(rounds, ended).map_err(|e| {
            let path = self.path.display();
            let text =
                format!("could not seal {path}: {e:#}\n  try: make room, then fsderby run --resume {path}");
            Failure::missing(text).into()
        })
    }

    fn seal_or_fail(&mut self, rounds: u32, ended: Ended) -> anyhow::Result<()> {
        let mut trials = Vec::new();
        self.trials.rewind()?;
        self.trials.read_to_end(&mut trials)?;
        let (plan, machine) = (fs::read(self.path.join(PLAN))?, fs::read(self.path.join(MACHINE))?);
        let records = parsed(&self.path, &trials)?.0.records.len();
        let covered = Covered { plan: &plan, machine: &machine, trials: &trials };
        seal::store(&self.path, &covered.sealed(records, rounds, ended))
    }
}

/// What the first line chains to, so that no plan or machine can be put under records that were made with another.
fn first_sum(plan: &str, machine: &str) -> String {
    let mut sum = crc32fast::Hasher::new();
    sum.update(plan.as_bytes());
    sum.update(machine.as_bytes());
    format!("{:08x}", sum.finalize())
}

/// All that a run has before its first trial. Returns what that will chain to.
fn fill(at: &Path, plan: &Plan, machine: &Machine) -> anyhow::Result<String> {
    let (plan, machine) = (toml::to_string(plan)?, serde_json::to_string_pretty(machine)?);
    fs::create_dir(at.join(HISTOGRAMS.folder))?;
    fs::create_dir(at.join(CONSOLES.folder))?;
    write_through(&at.join(PLAN), plan.as_bytes())?;
    write_through(&at.join(MACHINE), machine.as_bytes())?;
    Ok(first_sum(&plan, &machine))
}

fn write_through(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn or_here(folder: Option<&Path>) -> &Path {
    folder.filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Reads a run, whatever its state; what is wrong stands in `damage`.
///
/// # Errors
/// When it is not a run's folder.
pub fn read(path: &Path) -> anyhow::Result<Run> {
    let bytes = fs::read(path.join(TRIALS)).map_err(|e| not_a_run(path, &format!("{TRIALS}: {e}")))?;
    Ok(parsed(path, &bytes)?.0)
}

/// The run of these records, and the checksum of the last of them.
fn parsed(path: &Path, trials: &[u8]) -> anyhow::Result<(Run, String)> {
    let damaged =
        |name: &str, e: String| Failure::new(DAMAGED, format!("{}/{name} is damaged: {e}", path.display()));
    let text = |name: &str| fs::read_to_string(path.join(name)).map_err(|e| damaged(name, e.to_string()));
    let (plan, machine) = (text(PLAN)?, text(MACHINE)?);
    super::plan::is_of_this_version(&plan, &path.display().to_string())?;
    let lines::Lines { records, last, mut damage, torn } =
        lines::read_all(trials, &first_sum(&plan, &machine));
    let covered = Covered { plan: plan.as_bytes(), machine: machine.as_bytes(), trials };
    let seal = seal::read(path).unwrap_or_else(|what| {
        damage.push(what);
        None
    });
    damage.extend(seal.iter().flat_map(|seal| covered.differences(seal)));
    let unsealed = trials.len().saturating_sub(seal.as_ref().map_or(0, |seal| seal.bytes));
    let plan = toml::from_str(&plan).map_err(|e| damaged(PLAN, mistakes::in_words(&e)))?;
    let machine = serde_json::from_str(&machine).map_err(|e| damaged(MACHINE, e.to_string()))?;
    let folder = path.to_owned();
    Ok((Run { folder, plan, machine, records, damage, torn, seal, unsealed }, last))
}

fn not_a_run(path: &Path, what: &str) -> Failure {
    let text = format!(
        "{} is not a run's folder: {what}\n  try: a folder that fsderby run made, below results/",
        path.display()
    );
    Failure::usage(text)
}
