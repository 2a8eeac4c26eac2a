//! `fsderby merge`: one run of the shards of a plan.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::Args;
use shell_words::quote;

use super::output::{print_json, print_line, say};
use super::pages::{Merged, VERSION};
use super::run::{read_key, sign_what_holds};
use super::signals;
use crate::exit::Failure;
use crate::host::caller::write_new;
use crate::report::view::number::count;
use crate::runner::merge::{self, Made};
use crate::schema::plan::Plan;
use crate::store;

#[derive(Args)]
pub struct Arguments {
    /// Folder of the merged run; must not exist, and not be inside a shard
    out: PathBuf,
    /// Folders of the shards that fsderby run --shard made
    #[arg(required = true, value_name = "SHARD")]
    shards: Vec<PathBuf>,
    /// If the results call for more trials (worst corners), write the plan of these trials into this new file, for
    /// fsderby run FILE --shard I/N; otherwise no file is written
    #[arg(long, value_name = "FILE")]
    next: Option<PathBuf>,
    /// Sign the merged run with this secret key, made by `fsderby key` or minisign
    #[arg(long, value_name = "KEYFILE")]
    sign: Option<PathBuf>,
    /// Print the result as JSON: the merged run, its numbers of shards and records, and how many trials remain
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Arguments { out, shards, next, .. } = arguments;
    let key = read_key(arguments.sign.as_deref())?;
    if let Some(next) = next {
        can_be_written(next)?;
    }
    let stop = signals::stop_and_clean_up()?;
    let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let above: Vec<&Path> = out.ancestors().skip(1).take_while(missing).collect();
    let mut wrote_next = false;
    let mut tell = |plan: &Plan| {
        next.as_ref().map_or(Ok(()), |path| write_next(path, plan)).inspect(|()| wrote_next = next.is_some())
    };
    let merged = merge::merge(out, shards, &mut tell, &|| stop.load(Ordering::Relaxed));
    if merged.is_err() {
        above.iter().for_each(|folder| drop(fs::remove_dir(folder)));
        if let (true, Some(next)) = (wrote_next, next) {
            // What remains follows from a merged run, and there is none.
            let _ = fs::remove_file(next);
        }
    }
    let Made { records, left_out, left } = merged?;
    for left in store::merge::left_behind(out) {
        say(&format!(
            "note: {} remains of a merge that was killed\n  try: rm -r {}",
            left.display(),
            quote(&left.display().to_string())
        ));
    }
    if let Some(key) = &key {
        sign_what_holds(&store::open_door(out)?, key)?;
    }
    if arguments.json {
        print_json(&Merged {
            schema_version: VERSION,
            run: out.display().to_string(),
            shards: shards.len(),
            records,
            left_out,
            left,
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut lines =
        vec![format!("{}: {} of {}", out.display(), count(records, "record"), count(shards.len(), "shard"))];
    if left_out > 0 {
        lines.push(format!(
            "left out: {} that a single run would not have: trials after a failed integrity check, and integrity checks that several nodes made",
            count(left_out, "record")
        ));
    }
    lines.push(match (left, next) {
        (0, _) => "complete: no trial remains".to_owned(),
        (_, Some(next)) => format!(
            "{} remain (worst corners)\n  try: fsderby run {} --shard 1/1 --output DIR, then fsderby merge OUT with DIR and all of \
             these shards",
            count(left, "trial"),
            quote(&next.display().to_string())
        ),
        (_, None) => format!(
            "{} remain (worst corners)\n  try: fsderby merge OUT SHARD… --next next.toml, which also writes their plan",
            count(left, "trial")
        ),
    });
    print_line(&lines.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the plan of the remaining trials can be written there: known before the shards are read.
fn can_be_written(next: &Path) -> Result<(), Failure> {
    let refused =
        |why: &str| Err(Failure::usage(format!("--next {}: {why}\n  try: --next next.toml", next.display())));
    if next.symlink_metadata().is_ok() {
        return refused("it already exists and is not overwritten");
    }
    let above = next.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !above.is_dir() {
        return refused("its folder does not exist");
    }
    match store::run_around(above) {
        Some(run) => refused(&format!("it would be a file of the run {}", run.display())),
        None => Ok(()),
    }
}

/// A plan whose first line says for how many shards there is work.
fn write_next(path: &Path, plan: &Plan) -> anyhow::Result<()> {
    let left = plan.shard.as_ref().map_or(0, |shard| shard.due.len());
    let text = format!("# {left} trials remain: fsderby run FILE --shard I/N\n{}", toml::to_string(plan)?);
    let made = write_new(path, |file| file.write_all(text.as_bytes()));
    made.map_err(|e| {
        let text =
            format!("could not write {}: {e}\n  try: --next in a folder with free space", path.display());
        Failure::missing(text).into()
    })
}
