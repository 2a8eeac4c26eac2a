//! `fsderby merge`: one run of the shards of a plan.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use super::output::{print_json, print_line};
use super::pages::{Merged, VERSION};
use super::run::{read_key, sign_what_holds};
use crate::exit::Failure;
use crate::host::caller::create_new;
use crate::report::view::number::count;
use crate::runner::merge::{self, Made};
use crate::schema::plan::Plan;
use crate::store;

#[derive(Args)]
pub struct Arguments {
    /// Folder of the merged run; must not exist
    out: PathBuf,
    /// Folders of the shards that fsderby run --shard made
    #[arg(required = true, value_name = "SHARD")]
    shards: Vec<PathBuf>,
    /// If the results call for more trials (worst corners), write their plan into this new file, for fsderby run FILE --shard I/N;
    /// otherwise no file is written
    #[arg(long, value_name = "FILE")]
    next: Option<PathBuf>,
    /// Sign the merged run with this secret key, made by `fsderby key` or minisign
    #[arg(long, value_name = "KEYFILE")]
    sign: Option<PathBuf>,
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Arguments { out, shards, next, .. } = arguments;
    let key = read_key(arguments.sign.as_deref())?;
    if let Some(next) = next.as_ref().filter(|next| next.symlink_metadata().is_ok()) {
        let text = format!("{} already exists and is not overwritten\n  try: another --next", next.display());
        return Err(Failure::usage(text).into());
    }
    let mut tell = |plan: &Plan| next.as_ref().map_or(Ok(()), |path| write_next(path, plan));
    let Made { records, left_out, left } = merge::merge(out, shards, &mut tell)?;
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
            "left out: {}, which one run would not have: of cells whose integrity check failed, and checks that several nodes made",
            count(left_out, "record")
        ));
    }
    lines.push(match (left, next) {
        (0, _) => "complete: no trial remains".to_owned(),
        (_, Some(next)) => format!(
            "{} remain (worst corners)\n  try: fsderby run {} --shard 1/1 --output DIR, then merge all shards into another folder",
            count(left, "trial"),
            next.display()
        ),
        (_, None) => format!("{} remain (worst corners)\n  try: --next FILE, which writes their plan", count(left, "trial")),
    });
    print_line(&lines.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// A plan whose first line says for how many shards there is work.
fn write_next(path: &Path, plan: &Plan) -> anyhow::Result<()> {
    let left = plan.shard.as_ref().map_or(0, |shard| shard.due.len());
    let text = format!("# {left} trials remain: fsderby run FILE --shard I/N\n{}", toml::to_string(plan)?);
    let made = create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    made.with_context(|| format!("could not write {}", path.display()))
}
