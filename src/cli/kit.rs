//! `fsderby reproduce --kit FILE` and `--check FILE`: all that repeats a reproduction, in one file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use serde_json::Value;

use super::compare::usable;
use super::output::{print_line, say};
use super::verify::{self, Sample};
use crate::exit::{self, Failure};
use crate::guest::{bundle, bundle_file};
use crate::host::caller::write_new;
use crate::host::random;
use crate::papers::{self, Paper};
use crate::report;
use crate::report::formats::html;
use crate::report::view::number::count;
use crate::report::view::reproduced::Reproduced;
use crate::runner::experiment;
use crate::schema::record::Record;
use crate::schema::units::Bytes;
use crate::store::keys::{self, Key};
use crate::store::kit::{self, Content, Kit};
use crate::store::{Door, Run};
use crate::testbeds::Made;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Folder of an unpacked kit: it does not belong into memory.
const UNPACKED: &str = "/var/tmp";

/// Refuses a kit that could not be written, before anything runs.
pub fn can_be_packed(to: &Path, paper: &str, runs: &[Run], guest: Option<&str>) -> anyhow::Result<()> {
    if fs::symlink_metadata(to).is_ok() {
        let text = format!("{} already exists and is not overwritten\n  try: another name", to.display());
        return Err(Failure::usage(text).into());
    }
    own_files(paper)?;
    if runs.is_empty() {
        let id = guest.ok_or_else(|| no_guest("the runs"))?;
        bundle::named(id)?;
    }
    runs.iter().try_for_each(|run| guests(run).map(drop))
}

fn no_guest(whose: &str) -> anyhow::Error {
    let text = format!(
        "{whose} would not start again elsewhere: no guest bundle is named\n  try: fsderby guest build, then the ID that it \
         prints: fsderby reproduce PAPER --guest ID --kit FILE"
    );
    Failure::usage(text).into()
}

/// The IDs of the bundles from which all guests of this run start.
fn guests(run: &Run) -> anyhow::Result<BTreeSet<String>> {
    let folder = run.folder.display();
    let made = Made::of(&run.plan).map_err(Failure::usage)?;
    let mut all = BTreeSet::new();
    for testbed in made.testbeds().each() {
        let Some(guests) = testbed.guests() else {
            let text = format!(
                "{folder} ran on {}, whose trials nobody can repeat bit for bit\n  try: a run on model:DISK",
                testbed.name()
            );
            return Err(Failure::usage(text).into());
        };
        let id = guests.starts().bundle_id().ok_or_else(|| no_guest(&folder.to_string()))?;
        all.insert(bundle::named(id)?.id.clone());
    }
    Ok(all)
}

/// The paper's text and its own experiments, by their names in the kit.
fn own_files(named: &str) -> anyhow::Result<BTreeMap<String, Content>> {
    let text = papers::text(named)?;
    let mut files = BTreeMap::from([(kit::PAPER.to_owned(), Content::Text(text.clone()))]);
    let folder = Path::new(named).parent().unwrap_or(Path::new(""));
    for run in papers::parse(&text, named)?.reproduction.runs {
        if !run.experiment.ends_with(".toml") {
            continue;
        }
        if Path::new(&run.experiment)
            .components()
            .any(|part| !matches!(part, std::path::Component::Normal(_)))
        {
            let text = format!(
                "the paper's experiment {} lies outside of the paper's folder\n  try: a copy beside the paper",
                run.experiment
            );
            return Err(Failure::usage(text).into());
        }
        let path = folder.join(&run.experiment);
        let text = experiment::read(&path)?;
        files.insert(format!("paper/{}", run.experiment), Content::Text(text));
    }
    Ok(files)
}

/// Writes the kit of these runs and their page.
pub fn pack(
    to: &Path,
    (named, runs, page): (&str, &[Run], &Reproduced),
    key: Option<&Key>,
) -> anyhow::Result<()> {
    let mut kit = Kit::new(VERSION, named);
    let mut members = own_files(named)?;
    members.insert(kit::PAGE.to_owned(), Content::Text(html::reproduced::page(page)?));
    members.insert(kit::VERDICTS.to_owned(), Content::Text(serde_json::to_string_pretty(page)?));
    let (mut ids, mut qemu) = (BTreeSet::new(), BTreeSet::new());
    for (at, run) in runs.iter().enumerate() {
        let name = kit::run(at + 1);
        let unread = || format!("could not read {}", run.folder.display());
        kit::folder(&run.door, &name, &mut members).with_context(unread)?;
        kit.runs.push(name);
        ids.extend(guests(run)?);
        qemu.extend(run.records.iter().filter_map(|record: &Record| record.provenance.get("qemu")).cloned());
    }
    let kept = tempfile::tempdir_in(UNPACKED).with_context(|| format!("could not write to {UNPACKED}"))?;
    let folder = Door::open(kept.path())?;
    for (at, id) in ids.iter().enumerate() {
        let name = format!("{}.tar", at + 1);
        bundle_file::export(&*bundle::named(id)?, &kept.path().join(&name))?;
        members.insert(kit::guest(at + 1), Content::File(folder.clone(), name));
    }
    kit.guests = ids.into_iter().collect();
    kit.qemu = qemu.into_iter().collect();
    let unwritten = || format!("could not write {}", to.display());
    write_new(to, |file| kit::write(kit, &members, key, file)).with_context(unwritten)?;
    say(&format!("wrote {}", to.display()));
    Ok(())
}

/// What a check asks for.
pub struct Asked<'a> {
    pub file: &'a Path,
    pub share: &'a Sample,
    pub seed: Option<u64>,
    pub jobs: Option<u16>,
    pub key: Option<&'a str>,
}

/// Checks a kit: its hashes and signature, each run, the page judged anew, and a share of the trials executed again.
pub fn check(asked: &Asked<'_>) -> anyhow::Result<ExitCode> {
    let shown = asked.file.display();
    if matches!(asked.share, Sample::One(_)) {
        let text = "--share takes a number of trials, a percentage, or all\n  try: --share 1%";
        return Err(Failure::usage(text).into());
    }
    let key = asked.key.map(keys::public_key).transpose()?;
    let unopened = |e: &dyn std::fmt::Display| Failure::usage(format!("could not open the kit {shown}: {e}"));
    // Before it is opened: opening a pipe would wait for its writer.
    let about = fs::metadata(asked.file).map_err(|e| unopened(&e))?;
    if !about.is_file() {
        let what = if about.file_type().is_fifo() { "a pipe" } else { "no regular file" };
        return Err(unopened(&format!("it is {what}")).into());
    }
    let file = File::open(asked.file).map_err(|e| unopened(&e))?;
    let kept = tempfile::tempdir_in(UNPACKED).with_context(|| format!("could not write to {UNPACKED}"))?;
    let damaged =
        |e: anyhow::Error| Failure::new(exit::DAMAGED, format!("could not check the kit {shown}: {e:#}"));
    let unpacked = kit::unpack(std::io::BufReader::new(file), about.len(), &Door::open(kept.path())?);
    let unpacked = unpacked.map_err(damaged)?;
    let signed = match &key {
        Some(key) => {
            unpacked.check(key).map_err(|why| damaged(anyhow!(why)))?;
            "; the signature matches"
        }
        None if unpacked.is_signed() => "; signed, not checked (--key PUBLIC)",
        None => "; not signed",
    };
    let Kit { fsderby, paper, runs, files, .. } = &unpacked.kit;
    print_line(&format!(
        "{shown}: {paper}, {} packed by fsderby {fsderby}; {} as the manifest states{signed}",
        count(runs.len(), "run"),
        count(files.len(), "file")
    ))?;
    let mut worst = judged_anew(kept.path(), &unpacked.kit).map_err(|e| match e.downcast::<Failure>() {
        Ok(failure) => failure,
        Err(e) => damaged(e),
    })?;
    for number in 1..=unpacked.kit.guests.len() {
        bundle_file::taken(&kept.path().join(kit::guest(number)))?;
    }
    let seed = match asked.seed {
        Some(seed) => seed,
        None => random::bits().context("no random number")? as u64,
    };
    let share = asked.share;
    print_line(&format!("trials executed again, of each run: {share}, chosen at random by --seed {seed}"))?;
    for run in runs {
        let arguments = verify::Arguments::again(kept.path().join(run), share.clone(), seed, asked.jobs);
        let code = verify::verified(&arguments)?;
        worst = [exit::HASH, exit::DAMAGED, exit::MISSING]
            .into_iter()
            .find(|c| [code, worst].contains(c))
            .unwrap_or(exit::OK);
    }
    print_line(match worst {
        exit::OK => "OK: the kit holds what it states, and its trials give the same results here",
        exit::MISSING => {
            "the kit holds what it states; its trials cannot be compared here, for the reasons above"
        }
        _ => "this kit is not reliable",
    })?;
    Ok(ExitCode::from(worst))
}

/// Judges the paper by the kit's runs, and compares with the kit's page.
fn judged_anew(folder: &Path, kit: &Kit) -> anyhow::Result<u8> {
    let inside = Door::open(folder)?;
    let path = folder.join(kit::PAPER);
    let named = path.display().to_string();
    let paper: Paper = papers::load(&named)?;
    let folders: Vec<PathBuf> = kit.runs.iter().map(|run| folder.join(run)).collect();
    let runs: Vec<Run> =
        folders.iter().map(|folder| usable(folder).map(|(run, _)| run)).collect::<anyhow::Result<_>>()?;
    let page = report::reproduced(&kit.paper, &paper, &runs, false).map_err(Failure::usage)?;
    let stated: Value = serde_json::from_str(&inside.text(kit::VERDICTS, Bytes(u64::MAX >> 1))?)?;
    let (ours, theirs) = (claims(&serde_json::to_value(&page)?), claims(&stated));
    let numbers: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let differ: Vec<String> =
        numbers.into_iter().filter(|at| ours.get(*at) != theirs.get(*at)).cloned().collect();
    let judged = count(ours.len(), "claim");
    if differ.is_empty() {
        print_line(&format!("judged anew by fsderby {VERSION}: {judged}, each as on the page"))?;
        return Ok(exit::OK);
    }
    let text =
        format!("judged anew by fsderby {VERSION}: {judged}; not as on the page: {}", differ.join(", "));
    match kit.fsderby == VERSION {
        true => {
            print_line(&format!("wrong: {text}"))?;
            Ok(exit::DAMAGED)
        }
        false => {
            say(&format!("note: {text}; the page was made by fsderby {}", kit.fsderby));
            Ok(exit::OK)
        }
    }
}

/// Verdict and ranges of each claim, by column and number.
fn claims(page: &Value) -> BTreeMap<String, [Value; 2]> {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let mut all = BTreeMap::new();
    for column in list(page, "columns") {
        let title = column["title"].as_str().unwrap_or_default();
        for claim in list(&column, "claims") {
            let name = format!("claim {} on {title}", claim["number"]);
            all.insert(name, [claim["verdict"].clone(), claim["ranges"].clone()]);
        }
    }
    all
}
