//! A run's folder on disk. The folder is created completely or not at all; after that, data is only added.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::ensure;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::beside::{self, Attached, CONSOLES, HISTOGRAMS, REQUESTS};
use super::door::{Door, Stranger};
use super::seal::{self, Covered};
use super::unready::Unready;
use super::{MACHINE, PLAN, Run, TRIALS, lines, sync_folder, verdict};
use crate::exit::{DAMAGED, Failure};
use crate::host::caller::create_folders;
use crate::host::own_folder;
use crate::schema::finding::{Interim, Verdict};
use crate::schema::machine::Machine;
use crate::schema::plan::Plan;
use crate::schema::record::Record;
use crate::schema::seal::Ended;
use crate::schema::units::{Bytes, GIB, MIB};
use crate::text::mistakes;

/// Size limit of the plan and of the machine's description; each is about a page of text.
pub const PAGE_MOST: Bytes = Bytes(MIB);
/// Size limit of `trials.jsonl`; a record has some kilobytes.
pub const TRIALS_MOST: Bytes = Bytes(GIB);

/// A run's folder, open for appending by only one process at a time.
#[derive(Debug)]
pub struct Folder {
    door: Door,
    /// The file of records, which this process has locked.
    trials: File,
    last: String,
    /// Whether the last line is incomplete; the next write then begins with a line end.
    torn: bool,
}

impl Folder {
    /// Creates a new run. If the creation fails, no file is left behind.
    pub fn create(path: &Path, plan: &Plan, machine: &Machine) -> anyhow::Result<Self> {
        Folder::can_be_created(path)?;
        let parent = or_here(path.parent());
        let above: Vec<&Path> =
            parent.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists()).collect();
        let made = create_folders(parent).map_err(anyhow::Error::from).and_then(|()| {
            let unready = Unready::in_folder(parent)?;
            let door = Door::open(unready.path())?;
            let last = fill(&door, plan, machine)?;
            let (trials, door) = (unready.named(path)?, door.renamed(path));
            sync_folder(parent)?;
            above.iter().try_for_each(|made| sync_folder(or_here(made.parent())))?;
            Ok(Folder { door, trials, last, torn: false })
        });
        made.map_err(|e| {
            above.iter().for_each(|p| drop(fs::remove_dir(p)));
            not_created(path, format!("{e:#}")).into()
        })
    }

    /// Whether a new run's folder can be created there. Creates nothing.
    ///
    /// # Errors
    /// If it exists, leads over `..` of a folder that does not exist, or is inside a run, or if its parent cannot hold it.
    pub fn can_be_created(path: &Path) -> Result<(), Failure> {
        // A link without a target is in the way, too.
        if path.symlink_metadata().is_ok() {
            return Err(Failure::usage(format!(
                "{} already exists and is not overwritten\n  try: a folder of another name, or fsderby run --resume {0} if \
                 it is an unfinished run",
                path.display()
            )));
        }
        if let Some(lacking) = lacking_before_dots(path) {
            return Err(Failure::usage(format!(
                "{}: {} does not exist, so the path after it leads nowhere\n  try: the same path without ..",
                path.display(),
                lacking.display()
            )));
        }
        let parent = or_here(path.parent());
        let holds = parent.ancestors().map(|above| or_here(Some(above))).find(|above| above.exists());
        let Some(holds) = holds else { return Ok(()) };
        if let Some(run) = run_around(holds) {
            return Err(Failure::usage(format!(
                "{} would be inside the run {}\n  try: a folder beside that run",
                path.display(),
                run.display()
            )));
        }
        if !holds.is_dir() {
            return Err(not_created(path, format!("{} is not a directory", holds.display())));
        }
        own_folder::takes_files(holds).map_err(|e| not_created(path, format!("{}: {e}", holds.display())))
    }

    /// Opens an existing run to continue it, and returns its content. It is read after the lock is taken, so nobody else can
    /// change it.
    ///
    /// # Errors
    /// If the run is damaged: new records must not follow a damaged line. A torn line does not count as damage.
    pub fn open(path: &Path) -> anyhow::Result<(Self, Run)> {
        Folder::open_through(open_door(path)?)
    }

    /// Opens an existing run like [`Self::open`], in a folder that is already open.
    pub fn open_through(door: Door) -> anyhow::Result<(Self, Run)> {
        let path = door.path();
        let refused = |e: io::Error| match e.kind() {
            ErrorKind::NotFound | ErrorKind::InvalidData => no_trials(path, &e),
            _ => Failure::missing(format!(
                "could not resume {0}: {TRIALS}: {e}\n  try: as the user who owns the run",
                path.display()
            )),
        };
        let mut trials = door.append(TRIALS, TRIALS_MOST).map_err(refused)?;
        flock(&trials, FlockOperation::NonBlockingLockExclusive).map_err(|e| {
            let path = path.display();
            match e {
                Errno::WOULDBLOCK => {
                    Failure::usage(format!("another fsderby is writing to {path}\n  try: wait for its end"))
                }
                _ => Failure::missing(format!("could not lock {path}: {e}")),
            }
        })?;
        let (run, last) = parsed(&door, (&mut trials).take(TRIALS_MOST.0), |e| refused(e).into())?;
        let run = run.with_all_damage().sound()?;
        beside::make_way_for_all(&door, &run.records)?;
        let torn = lacks_its_end(&mut trials).map_err(refused)?;
        Ok((Folder { door, trials, last, torn }, run))
    }

    pub fn path(&self) -> &Path {
        self.door.path()
    }

    pub fn door(&self) -> &Door {
        &self.door
    }

    /// Reads the current content of the run.
    pub fn read(&self) -> anyhow::Result<Run> {
        read_through(self.door.clone())
    }

    /// Appends a trial: first its files beside the record, then its line in one write, then one flush.
    ///
    /// # Errors
    /// If space or permissions are missing; the run can be resumed later.
    pub fn append(&mut self, record: Record, attached: &Attached) -> anyhow::Result<Record> {
        self.append_or_fail(record, attached).map_err(|e| {
            let (path, trouble) = (self.path().display(), format!("{e:#}"));
            let kind = |cause: &(dyn Error + 'static)| cause.downcast_ref().map(io::Error::kind);
            let first = match e.chain().find_map(kind) {
                _ if !self.door.is_in_its_place() => "move the folder back",
                Some(ErrorKind::PermissionDenied) => "check the permissions in it",
                _ => "free some space",
            };
            let text = format!("could not store a trial in {path}: {trouble}\n  try: {first}, then fsderby run --resume {path}");
            Failure::missing(text).into()
        })
    }

    fn append_or_fail(&mut self, mut record: Record, attached: &Attached) -> anyhow::Result<Record> {
        ensure!(self.door.is_in_its_place(), "the folder was renamed or removed meanwhile");
        let Attached { histograms, console, requests } = attached;
        if !histograms.is_empty() {
            let lines: Result<Vec<String>, _> = histograms.iter().map(serde_json::to_string).collect();
            let text = lines?.join("\n") + "\n";
            record.histograms = vec![HISTOGRAMS.store(&self.door, &record, text.as_bytes())?];
        }
        if !console.is_empty() {
            record.console = Some(CONSOLES.store(&self.door, &record, console.as_bytes())?);
        }
        if !requests.is_empty() {
            record.requests = Some(REQUESTS.store(&self.door, &record, requests)?);
        }
        record.previous.clone_from(&self.last);
        let (line, sum) = lines::write(&record)?;
        let is_full = self.trials.metadata()?.len() + line.len() as u64 >= TRIALS_MOST.0;
        ensure!(!is_full, "{TRIALS} would exceed {TRIALS_MOST}, the largest size that fsderby reads");
        let end_of_torn = if self.torn { "\n" } else { "" };
        self.trials.write_all(format!("{end_of_torn}{line}\n").as_bytes())?;
        self.trials.sync_data()?;
        (self.last, self.torn) = (sum, false);
        Ok(record)
    }

    /// Stores the verdict and seals the folder's current content. Called when the run has ended after `rounds` rounds, and when a
    /// verdict is made earlier.
    ///
    /// # Errors
    /// If space or permissions are missing; the records are kept.
    pub fn seal(&mut self, rounds: u32, verdict: &Verdict, ended: Ended) -> anyhow::Result<()> {
        let stored = verdict::store(&self.door, verdict);
        stored.and_then(|()| self.seal_or_fail(rounds, verdict.basis.looks(), ended)).map_err(|e| {
            let path = self.path().display();
            let text = format!(
                "could not seal {path}: {e:#}\n  try: free some space, then fsderby run --resume {path}"
            );
            Failure::missing(text).into()
        })
    }

    fn seal_or_fail(&mut self, rounds: u32, looks: Vec<Interim>, ended: Ended) -> anyhow::Result<()> {
        let mut trials = Vec::new();
        self.trials.rewind()?;
        self.trials.read_to_end(&mut trials)?;
        let (plan, machine) = (self.door.read(PLAN, PAGE_MOST)?, self.door.read(MACHINE, PAGE_MOST)?);
        let mut records = 0;
        parsed_each(&self.door, trials.as_slice(), anyhow::Error::from, &mut |_, _| records += 1)?;
        let covered = Covered { plan: &plan, machine: &machine, trials: &trials };
        seal::store(&self.door, &covered.sealed(records, rounds, looks, ended))
    }
}

/// Checksum that the first record's line repeats, so that a plan or machine file from another run is detected.
fn first_sum(plan: &str, machine: &str) -> String {
    let mut sum = crc32fast::Hasher::new();
    sum.update(plan.as_bytes());
    sum.update(machine.as_bytes());
    format!("{:08x}", sum.finalize())
}

/// Writes all files that a run has before its first trial. Returns the checksum that the first record's line must repeat.
pub fn fill(door: &Door, plan: &Plan, machine: &Machine) -> anyhow::Result<String> {
    let (plan, machine) = (toml::to_string(plan)?, serde_json::to_string_pretty(machine)?);
    door.make_folder(HISTOGRAMS.folder)?;
    door.make_folder(CONSOLES.folder)?;
    door.create(PLAN, plan.as_bytes())?;
    door.create(MACHINE, machine.as_bytes())?;
    Ok(first_sum(&plan, &machine))
}

fn not_created(path: &Path, why: String) -> Failure {
    Failure::missing(format!(
        "could not create the run's folder {}: {why}\n  try: --output DIR, in a folder that you can write to",
        path.display()
    ))
}

/// The first folder of this path that does not exist although `..` follows it: creating it would change where the path leads.
fn lacking_before_dots(path: &Path) -> Option<&Path> {
    let lacking = path.ancestors().filter(|above| !above.as_os_str().is_empty() && !above.exists()).last()?;
    let rest = path.strip_prefix(lacking).ok()?;
    rest.components().any(|part| part == Component::ParentDir).then_some(lacking)
}

/// The run whose folder contains this folder, or is it.
pub fn run_around(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let is_run = |above: &&Path| [PLAN, MACHINE, TRIALS].iter().all(|name| above.join(name).is_file());
    folder.ancestors().find(is_run).map(Path::to_owned)
}

pub fn or_here(folder: Option<&Path>) -> &Path {
    folder.filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Reads a run in any state; problems are listed in `damage`.
///
/// # Errors
/// If the path is not a run's folder.
pub fn read(path: &Path) -> anyhow::Result<Run> {
    read_through(open_door(path)?)
}

/// Reads a run like [`read`], from a folder that is already open.
pub fn read_through(door: Door) -> anyhow::Result<Run> {
    let mut records = Vec::new();
    let run = read_each(door, &mut |record, _| records.push(record))?;
    Ok(Run { records, ..run })
}

/// Reads all of a run except its records; what the seal says of these is not checked.
///
/// # Errors
/// If the path is not a run's folder.
pub fn head(path: &Path) -> anyhow::Result<Run> {
    head_of(open_door(path)?)
}

/// Reads all of a run except its records, from a folder that is already open.
pub fn head_of(door: Door) -> anyhow::Result<Run> {
    let missing = |e: io::Error| no_trials(door.path(), &e).into();
    door.file(TRIALS, TRIALS_MOST).map_err(missing)?;
    Ok(Run { damage: Vec::new(), ..parsed(&door, io::empty(), missing)?.0 })
}

/// Reads a run without keeping its records, which `keep` receives one after another with their places in the file.
pub fn read_each(door: Door, keep: &mut dyn FnMut(Record, lines::Span)) -> anyhow::Result<Run> {
    let missing = |e: io::Error| no_trials(door.path(), &e).into();
    let trials = door.open_file(TRIALS, TRIALS_MOST).map_err(missing)?;
    Ok(parsed_each(&door, trials, missing, keep)?.0)
}

/// Opens a run's folder.
pub fn open_door(path: &Path) -> Result<Door, Failure> {
    Door::open(path).map_err(|e| no_folder(path, &e))
}

/// Opens a folder whose plan is about to be executed with the user's rights. Unless `trust` is set, no other user may own or
/// change the folder.
pub fn open_trusted(path: &Path, trust: bool) -> anyhow::Result<Door> {
    let door = open_door(path)?;
    if trust {
        return Ok(door);
    }
    match door.stranger().map_err(|e| unreadable(path, "", &e))? {
        None => Ok(door),
        Some(Stranger { name, who }) => {
            let folder = path.display();
            let text = format!(
                "{} {who}, and its plan would be executed with your rights\n  try: fsderby verify {folder}, read \
                 {folder}/{PLAN}, and then --trust",
                shown(path, &name)
            );
            Err(Failure::usage(text).into())
        }
    }
}

/// Whether the last line has no line end.
fn lacks_its_end(trials: &mut File) -> io::Result<bool> {
    if trials.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    trials.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    trials.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// Makes a run of these records, and returns it with the checksum of the last record.
fn parsed(
    door: &Door,
    trials: impl Read,
    unreadable_trials: impl Fn(io::Error) -> anyhow::Error,
) -> anyhow::Result<(Run, String)> {
    let mut records = Vec::new();
    let (run, last) = parsed_each(door, trials, unreadable_trials, &mut |record, _| records.push(record))?;
    Ok((Run { records, ..run }, last))
}

/// Like [`parsed`], but passes the records on.
fn parsed_each(
    door: &Door,
    trials: impl Read,
    unreadable_trials: impl Fn(io::Error) -> anyhow::Error,
    keep: &mut dyn FnMut(Record, lines::Span),
) -> anyhow::Result<(Run, String)> {
    let path = door.path();
    let damaged = |name: &str, e: String| damaged(path, name, &e);
    let text = |name: &str| {
        door.text(name, PAGE_MOST).map_err(|e| match e.kind() {
            ErrorKind::NotFound => damaged(name, e.to_string()),
            _ => unreadable(path, name, &e),
        })
    };
    let (plan, machine) = (text(PLAN)?, text(MACHINE)?);
    super::plan::is_of_this_version(&plan, &path.display().to_string())?;
    let (seal, no_seal) = seal::read(door).map_or_else(|what| (None, Some(what)), |seal| (seal, None));
    let mut seen = seal::Trials::covered_by(seal.as_ref());
    let lines::Lines { last, mut damage, torn } =
        lines::read_each(trials, &first_sum(&plan, &machine), |bytes| seen.add(bytes), keep)
            .map_err(unreadable_trials)?;
    damage.extend(no_seal);
    damage.extend(
        seal.iter().flat_map(|seal| seal::differences(seal, plan.as_bytes(), machine.as_bytes(), &seen)),
    );
    let verdict = verdict::read(door).unwrap_or_else(|what| {
        damage.push(what);
        None
    });
    let unsealed = seen.bytes.saturating_sub(seal.as_ref().map_or(0, |seal| seal.bytes));
    let plan = toml::from_str(&plan).map_err(|e| damaged(PLAN, mistakes::in_words(&e)))?;
    let machine = serde_json::from_str(&machine).map_err(|e| damaged(MACHINE, e.to_string()))?;
    let run = Run {
        folder: path.to_owned(),
        door: door.clone(),
        plan,
        machine,
        records: Vec::new(),
        damage,
        torn,
        seal,
        verdict,
        unsealed,
    };
    Ok((run, last))
}

fn damaged(path: &Path, name: &str, what: &str) -> Failure {
    Failure::new(DAMAGED, format!("{}/{name} is damaged: {what}", path.display()))
}

fn no_folder(path: &Path, e: &io::Error) -> Failure {
    match e.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => not_a_run(path, &e.to_string()),
        _ => unreadable(path, "", e),
    }
}

fn no_trials(path: &Path, e: &io::Error) -> Failure {
    match e.kind() {
        ErrorKind::NotFound => not_a_run(path, &format!("{TRIALS}: {e}")),
        _ => unreadable(path, TRIALS, e),
    }
}

/// The error for a file that could not be read. A file of the wrong type means that the run is damaged; other errors come from
/// missing permissions or a failing disk.
pub fn unreadable(path: &Path, name: &str, e: &io::Error) -> Failure {
    match e.kind() {
        ErrorKind::InvalidData => damaged(path, name, &e.to_string()),
        ErrorKind::PermissionDenied => {
            let file = shown(path, name);
            Failure::missing(format!("could not open {file}: {e}\n  try: as the user who owns the run"))
        }
        _ => {
            let file = shown(path, name);
            Failure::missing(format!(
                "could not read {file}: {e}\n  try: check the disk that holds it, then again"
            ))
        }
    }
}

/// Path for messages: a file of the folder, or the folder itself if `name` is empty.
fn shown(path: &Path, name: &str) -> String {
    match name {
        "" => path.display().to_string(),
        _ => path.join(name).display().to_string(),
    }
}

fn not_a_run(path: &Path, what: &str) -> Failure {
    let text = format!(
        "{} is not a run's folder: {what}\n  try: a folder that fsderby run made, below results/",
        path.display()
    );
    Failure::usage(text)
}
