//! `fsderby verify`.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use anyhow::Context;
use clap::Args;
use rustix::io::Errno;

use super::output::{print_json, print_line};
use super::pages;
use crate::exit::{self, Failure};
use crate::filesystems;
use crate::guest::bundle_file;
use crate::host::caller::hand_over;
use crate::host::node;
use crate::imports;
use crate::report::view::number::count;
use crate::runner::experiment::planned;
use crate::runner::plan::jobs;
use crate::runner::plan::resolved::Resolved;
use crate::runner::preflight::at_once;
use crate::runner::verify::rerun::{self, Compared};
use crate::runner::verify::{Verified, shards, verify};
use crate::schema::random::{seeded, shuffle};
use crate::schema::record::Record;
use crate::schema::setup::{ClockKind, DEVICE, MOUNTPOINT, Mount, Variant};
use crate::store::keys;
use crate::store::{self, Run};
use crate::testbeds::vm::machine;
use crate::testbeds::vm::shell::{DISK, Shell};
use crate::testbeds::{self, Kept, Made, Testbeds};
use crate::text::visible::{visible, visible_line};

/// Folder of a file for a disk that is not kept: images do not belong into memory.
const IMAGES: &str = "/var/tmp";

#[derive(Args, Default)]
pub struct Arguments {
    /// Folder of a run or an import
    #[arg(add = super::complete::runs())]
    run: PathBuf,
    /// Run trials again and compare the results bit by bit with the stored ones. The value chooses the trials: a
    /// number (5) or share (1%) of trials, spread over the run; `all`; or the name of one trial. Only trials on
    /// modelled disks (--on model) can run again; with --console, --keep-image or --shell, trials in virtual machines
    /// (--on vm) can too. In a run merged from several nodes, N and PERCENT choose only trials that ran on other nodes
    /// than this one
    #[arg(long, value_name = "N|PERCENT|all|TRIAL", num_args = 0..=1, default_missing_value = "2")]
    rerun: Option<Sample>,
    /// With --rerun TRIAL: also print the console of the trial's guest
    #[arg(long, requires = "rerun")]
    console: bool,
    /// With --rerun TRIAL: write the disk's content at the end of the trial to this new file; several disks go to FILE.1,
    /// FILE.2 and so on
    #[arg(long, value_name = "FILE", requires = "rerun")]
    keep_image: Option<PathBuf>,
    /// With --rerun TRIAL: after the trial, open a shell in a guest with the trial's kernel; the disks, as the trial
    /// left them, are /dev/vda, /dev/vdb and so on
    #[arg(long, requires = "rerun")]
    shell: bool,
    /// With --rerun: how often to repeat each trial
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    times: u16,
    /// With --rerun: number of parallel trials; default: as many as there are CPUs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// With --rerun N or PERCENT: choose the trials at random with this seed, instead of at equal distances
    #[arg(long, value_name = "N", requires = "rerun")]
    seed: Option<u64>,
    /// With --rerun: continue although the folder, or a file in it, belongs to another user; fsderby then executes that user's
    /// plan
    #[arg(long, requires = "rerun")]
    trust: bool,
    /// With --rerun: file with the guest bundle (kernel, tools and agent of the virtual machine) that the run used, if it is not in
    /// the cache
    #[arg(long, value_name = "FILE", requires = "rerun")]
    guest: Option<PathBuf>,
    /// Require a signature by this public key: a file, or the key itself
    #[arg(long, value_name = "PUBLIC")]
    key: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// To verify a run, and execute some of its trials again, chosen at random by the seed.
    pub fn again(run: PathBuf, rerun: Sample, seed: u64, jobs: Option<u16>) -> Self {
        Arguments { run, rerun: Some(rerun), seed: Some(seed), jobs, times: 1, ..Arguments::default() }
    }
}

/// The trials to run again.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    All,
    Some(usize),
    /// Of a hundred, and at least one.
    Percent(usize),
    /// One trial, by its name: `r03/SCENARIO/CANDIDATE`.
    One(String),
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sample::All => f.write_str("all"),
            Sample::Some(n) => write!(f, "{n}"),
            Sample::Percent(percent) => write!(f, "{percent}%"),
            Sample::One(name) => f.write_str(name),
        }
    }
}

impl FromStr for Sample {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Sample::All),
            _ if text.contains('/') => Ok(Sample::One(text.to_owned())),
            _ => match (text.parse(), text.strip_suffix('%').map(str::parse)) {
                (Ok(n), _) if n > 0 => Ok(Sample::Some(n)),
                (_, Some(Ok(percent @ 1..=100))) => Ok(Sample::Percent(percent)),
                _ => Err("write a number of trials, a percentage, 'all', or the name of one trial: r03/SCENARIO/CANDIDATE"
                    .into()),
            },
        }
    }
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    verified(arguments).map(ExitCode::from)
}

/// The exit code, after the findings are printed.
pub fn verified(arguments: &Arguments) -> anyhow::Result<u8> {
    if imports::is_import(&arguments.run) {
        if arguments.rerun.is_some() || arguments.key.is_some() {
            let text =
                "an import has no trials to run again and no signature\n  try: without --rerun and --key";
            return Err(Failure::usage(text).into());
        }
        return super::import::verify(&arguments.run, arguments.json);
    }
    let key = arguments.key.as_deref().map(keys::public_key).transpose()?;
    let door = match arguments.rerun {
        Some(_) => store::open_trusted(&arguments.run, arguments.trust)?,
        None => store::open_door(&arguments.run)?,
    };
    let run = planned::judged(store::read_through(door)?);
    let mut found = verify(&run);
    found.wrong.extend(key.and_then(|key| shards::signed(&run, &key).err()));
    if arguments.json {
        let Verified { records, metrics, histograms, consoles, findings, uncovered, notes, wrong, .. } =
            found.clone();
        let shown = pages::Verified {
            schema_version: pages::VERSION,
            records,
            metrics,
            histograms,
            consoles,
            findings,
            torn: run.torn.clone(),
            uncovered,
            notes,
            wrong,
        };
        print_json(&shown)?;
    } else {
        let Verified { records, metrics, histograms, consoles, findings, unchecked, wrong, notes, uncovered } =
            &found;
        let folder = run.folder.display();
        let mut lines = vec![format!(
            "{folder}: {}, {} and {} recomputed; {} and {} checked",
            count(*records, "record"),
            count(*metrics, "metric"),
            count(*findings, "finding"),
            count(*histograms, "histogram file"),
            count(*consoles, "console log")
        )];
        lines.extend(notes.iter().map(|what| format!("note: {what}")));
        lines.extend(not_verified(uncovered));
        lines.extend(wrong.iter().map(|what| format!("wrong: {what}")));
        let sum = match (wrong.is_empty(), &arguments.key) {
            (true, None) if unchecked.is_some() => "OK, as far as this version can check",
            (true, Some(_)) if unchecked.is_some() => {
                "OK, as far as this version can check; the signature matches"
            }
            (true, None) => "OK: verified",
            (true, Some(_)) => "OK: verified; the signature matches",
            (false, _) => "this run is not reliable",
        };
        print_line(&format!("{}\n{sum}", lines.join("\n")))?;
    }
    if !found.wrong.is_empty() {
        return Ok(exit::DAMAGED);
    }
    match &arguments.rerun {
        Some(sample) => rerun(&run, sample, arguments),
        None => Ok(exit::OK),
    }
}

/// The files of the folder about which nothing was said.
fn not_verified(names: &[String]) -> Option<String> {
    const MOST: usize = 8;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| visible_line(name).into_owned()).collect();
    let more = names.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let names = format!("{}{more}", shown.join(", "));
    (!shown.is_empty()).then(|| {
        format!("not verified: {names}; the seal (the list of hashes) does not cover them; fsderby report rewrites reports")
    })
}

/// Imports the guest bundle that the run names, and no other.
fn take_guest(file: &Path, testbeds: &Testbeds<'_>) -> anyhow::Result<()> {
    let bundle = bundle_file::taken(file)?;
    let named: Vec<String> = testbeds
        .each()
        .filter_map(|testbed| testbed.guests()?.starts().bundle_id())
        .map(str::to_owned)
        .collect();
    if named.iter().any(|id| bundle.id.starts_with(id)) {
        return Ok(());
    }
    let own = match named.as_slice() {
        [] => "names no bundle: its guests used programs of the machine".to_owned(),
        ids => format!("names {}", ids.join(", ")),
    };
    let text = format!(
        "{file} is the guest bundle {id}, but the run {own}\n  try: without --guest",
        file = file.display(),
        id = bundle.short()
    );
    Err(Failure::usage(text).into())
}

/// The files for this trial's disks: the named new ones, or else ones without a name.
fn keep(path: Option<&Path>, run: &Run, record: &Record, made: &mut Made) -> anyhow::Result<Arc<Kept>> {
    let candidate = run.plan.candidates.iter().find(|candidate| candidate.label == record.filesystem);
    let candidate = candidate.context("the plan does not contain this trial's candidate")?;
    let testbed =
        made.named_mut(run.plan.setup(candidate).testbed).context("the testbed was not prepared")?;
    let disks = testbed.keeps_disks().map_err(|missing| Failure::missing(missing.to_string()))?;
    let files = match path {
        Some(path) => new_files(&named_for(path, disks))?,
        None => (0..disks)
            .map(|_| tempfile::tempfile_in(IMAGES))
            .collect::<Result<_, _>>()
            .map_err(|e| Failure::missing(format!("could not create a file in {IMAGES}: {e}")))?,
    };
    let kept = Arc::new(Kept { files, outcome: OnceLock::new() });
    testbed.keep_disks(kept.clone());
    Ok(kept)
}

/// The name for a single disk, or the names for several: `FILE.1`, `FILE.2`.
fn named_for(path: &Path, disks: usize) -> Vec<PathBuf> {
    let numbered = |number: usize| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        name.into()
    };
    if disks == 1 { vec![path.to_owned()] } else { (1..=disks).map(numbered).collect() }
}

/// Creates these files, or none of them if one exists.
fn new_files(paths: &[PathBuf]) -> anyhow::Result<Vec<File>> {
    let refused = |path: &Path, e: io::Error| {
        let text = format!(
            "could not create {}: {e}\n  try: --keep-image with the name of a new file",
            path.display()
        );
        Failure::usage(text)
    };
    if let Some(path) = paths.iter().find(|path| path.symlink_metadata().is_ok()) {
        return Err(refused(path, Errno::EXIST.into()).into());
    }
    let create = |path: &PathBuf| -> io::Result<File> {
        let file = File::options().read(true).write(true).create_new(true).open(path)?;
        hand_over(&file)?;
        Ok(file)
    };
    let made = paths.iter().map(|path| create(path).map_err(|e| refused(path, e).into()));
    made.collect()
}

/// Whether the trial's disks are in their files.
fn is_kept(kept: &Kept, place: &str) -> anyhow::Result<()> {
    let why = match kept.outcome.get() {
        Some(Ok(())) => return Ok(()),
        Some(Err(e)) => e.to_string(),
        None => "the guest did not start".to_owned(),
    };
    Err(Failure::missing(format!("could not keep the disks in {place}: {why}")).into())
}

/// Opens a shell in a guest with this trial's disks.
fn look(run: &Run, record: &Record, testbeds: &Testbeds<'_>, kept: &Kept) -> anyhow::Result<()> {
    let candidate = run.plan.candidates.iter().find(|candidate| candidate.label == record.filesystem);
    let testbed = candidate.map(|candidate| testbeds.of(&run.plan, candidate));
    let guests = testbed.and_then(|testbed| testbed.guests()).context("the trial had no guest")?;
    let kind = filesystems::find(&record.kind).context("the trial's filesystem is not known")?;
    let opened = Shell::of(guests, kind)?;
    let mount = match kind.mount(&Variant::default()) {
        Mount::Syscall { fstype, .. } => format!("mount -t {fstype} {DISK} /mnt"),
        Mount::Command { argv, .. } => argv.join(" ").replace(DEVICE, DISK).replace(MOUNTPOINT, "/mnt"),
    };
    let has_layers = candidate.is_some_and(|candidate| !run.plan.setup(candidate).layers.is_empty());
    let disks: Vec<String> = (0..kept.files.len()).map(machine::disk).collect();
    let disks = match disks.as_slice() {
        [only] if !has_layers => {
            format!(
                "{only} is the disk of {} after the trial; to mount it in this guest: {mount}",
                record.trial
            )
        }
        all => format!(
            "{} in this guest: the disks of {} after the trial, below its layers",
            all.join(", "),
            record.trial
        ),
    };
    print_line(&format!("{disks}\n`exit` ends the guest; changes go into this copy only"))?;
    opened.open(&kept.files)
}

/// So many of these: at random by the seed, or else at equal distances.
fn some(mut records: Vec<&Record>, n: usize, seed: Option<u64>) -> Vec<&Record> {
    if let Some(seed) = seed {
        shuffle(&mut records, &mut seeded(&[&seed.to_le_bytes()]));
        records.truncate(n);
        return records;
    }
    let every = records.len().div_ceil(n.max(1));
    records.into_iter().step_by(every).collect()
}

/// The trials of a merged run that ran on other nodes than this one; all, if there are none.
fn elsewhere(records: Vec<&Record>) -> anyhow::Result<Vec<&Record>> {
    let (here, is_merged) =
        (node::name(), records.iter().any(|record| !record.circumstances.node.is_empty()));
    let others: Vec<&Record> = records.iter().copied().filter(|r| r.circumstances.node != here).collect();
    if others.is_empty() && is_merged {
        print_line(&format!(
            "note: every trial ran on this node ({here}), so no trial runs again on another node"
        ))?;
    }
    Ok(if others.is_empty() || !is_merged { records } else { others })
}

/// Runs trials again and reports for each whether the result is identical.
fn rerun(run: &Run, sample: &Sample, arguments: &Arguments) -> anyhow::Result<u8> {
    let keeps = arguments.shell || arguments.keep_image.is_some();
    let looks = arguments.console || keeps;
    if looks && (!matches!(sample, Sample::One(_)) || arguments.times > 1) {
        let text = "--console, --keep-image and --shell show one trial\n  try: --rerun r03/SCENARIO/CANDIDATE, without --times";
        return Err(Failure::usage(text).into());
    }
    let candidates = rerun::candidates(run);
    if candidates.is_empty() && !matches!(sample, Sample::One(_)) {
        let text = "this run has no trial in virtual time, so no rerun can be identical to the nanosecond\n  try: a \
                    run with --on model:DISK";
        return Err(Failure::usage(text).into());
    }
    let records: Vec<&Record> = match sample {
        Sample::All => candidates,
        Sample::Some(n) => some(elsewhere(candidates)?, *n, arguments.seed),
        Sample::Percent(percent) => {
            let n = (candidates.len() * percent).div_ceil(100);
            some(elsewhere(candidates)?, n, arguments.seed)
        }
        Sample::One(name) => vec![rerun::named(run, name, looks).map_err(Failure::usage)?],
    };
    let plan = Resolved::of(&run.plan)?;
    let mut made = Made::of(&run.plan).map_err(Failure::usage)?;
    made.start_from_scratch().map_err(|missing| Failure::missing(missing.to_string()))?;
    let image = arguments.keep_image.as_deref();
    let kept = if keeps { Some(keep(image, run, records[0], &mut made)?) } else { None };
    let testbeds = made.testbeds();
    if let Some(file) = &arguments.guest {
        take_guest(file, &testbeds)?;
    }
    for candidate in &run.plan.candidates {
        let testbed = testbeds.of(&run.plan, candidate);
        let is_asked = records.iter().any(|record| record.filesystem == candidate.label);
        let is_virtual = testbed.traits().clock == ClockKind::Virtual;
        let has_guest = testbed.guests().is_some();
        if is_asked && !is_virtual && !(looks && has_guest) {
            let text = format!(
                "the plan runs its trials with --on {}, which is not in virtual time: no rerun can be identical to the \
                 nanosecond\n  try: a run with --on model:DISK",
                testbed.name()
            );
            return Err(Failure::usage(text).into());
        }
        if is_asked {
            let ready = testbeds::usable(testbed, &jobs::need_of(&plan, candidate));
            ready.map_err(|m| Failure::missing(m.to_string()))?;
        }
    }
    let jobs = arguments.jobs.map_or_else(|| at_once::here(&plan, &testbeds), usize::from);
    let [mut same, mut differ, mut incomparable] = [0, 0, 0];
    let mut lines = Ok(());
    rerun::rerun(
        &plan,
        &testbeds,
        &records,
        usize::from(arguments.times),
        jobs,
        &mut |record, compared, again| {
            let text = match compared {
                Compared::Same => {
                    same += 1;
                    let hash =
                        record.requests.as_ref().map_or("", |file| file.blake3.get(..16).unwrap_or_default());
                    format!("identical, requests {hash}")
                }
                Compared::Differs(what) => {
                    differ += 1;
                    let nodes = match record.circumstances.node.as_str() {
                        "" => String::new(),
                        node => format!(" (first on {node}, again on {})", node::name()),
                    };
                    format!("DIFFERS although the provenance is the same: {what}{nodes}")
                }
                Compared::Incomparable(why) => {
                    incomparable += 1;
                    format!("not comparable: {why}")
                }
            };
            if lines.is_ok() {
                lines = print_line(&format!("{}: {text}", record.trial));
            }
            if lines.is_ok() && arguments.console {
                let console = &again.attached.console;
                let console =
                    if console.is_empty() { "the guest's console is empty" } else { console.trim_end() };
                lines = print_line(&visible(console));
            }
        },
    )?;
    lines?;
    if let Some(kept) = &kept {
        let files = image.map(|path| named_for(path, kept.files.len())).unwrap_or_default();
        let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        let place = if image.is_some() { files.join(", ") } else { IMAGES.to_owned() };
        is_kept(kept, &place)?;
        if image.is_some() {
            let disks = if files.len() == 1 { "disk" } else { "disks" };
            print_line(&format!("kept the trial's {disks} in {place}"))?;
        }
    }
    print_line(&format!("rerun: {same} identical, {differ} different, {incomparable} not comparable"))?;
    if let (Some(kept), true) = (&kept, arguments.shell) {
        look(run, records[0], &testbeds, kept)?;
    }
    Ok(match (differ, incomparable) {
        (1.., _) => exit::HASH,
        // In real time there is nothing to compare.
        (0, 1..) if records.iter().any(|record| record.fingerprint().is_some()) => exit::MISSING,
        _ => exit::OK,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trials_to_run_again_are_a_number_all_or_one_by_its_name() {
        assert_eq!("2".parse(), Ok(Sample::Some(2)));
        assert_eq!("1%".parse(), Ok(Sample::Percent(1)));
        assert_eq!("all".parse(), Ok(Sample::All));
        assert_eq!("r03/mail/ext4, no atime".parse(), Ok(Sample::One("r03/mail/ext4, no atime".into())));
        assert!("0%".parse::<Sample>().is_err() && "101%".parse::<Sample>().is_err());
        assert!("0".parse::<Sample>().is_err() && "some".parse::<Sample>().is_err());
    }
}
