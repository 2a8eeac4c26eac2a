//! `fsderby schema`: JSON Schemas of what commands print with `--json`, and of files that are stored.

use std::process::ExitCode;

use clap::Args;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use super::output::{print_json, print_line};
use super::{compare, config, device, doctor, guest, kernel, pages};
use crate::exit::Failure;
use crate::guest::bundle::Manifest;
use crate::report::formats::json;
use crate::report::view::reproduced::Reproduced;
use crate::schema::event::{Buckets, Event};
use crate::schema::finding::Verdict;
use crate::schema::import::Import;
use crate::schema::job::Job;
use crate::schema::machine::Machine;
use crate::schema::plan::Plan;
use crate::schema::record::Record;
use crate::schema::seal::Seal;
use crate::store::kit::Kit;
use crate::text::names;

#[derive(Args)]
pub struct Arguments {
    /// Name of a schema; default: list them
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(TABLE.iter().map(|(name, ..)| *name)))]
    name: Option<String>,
}

/// A schema: its name, what it describes, and its generator.
type Row = (&'static str, &'static str, fn() -> Schema);

/// Each schema.
static TABLE: &[Row] = &[
    // One row a line.
    ("report", "fsderby report RUN --json, and run --json", of::<json::Page<'static>>),
    ("report-import", "fsderby report IMPORT --json", of::<json::Imports<'static>>),
    ("dry-run", "fsderby run --dry-run --json", of::<pages::DryRun<'static>>),
    ("compare", "fsderby compare --json", of::<compare::Page<'static>>),
    ("reproduce", "fsderby reproduce --json", of::<Reproduced>),
    ("verify", "fsderby verify RUN --json", of::<pages::Verified>),
    ("verify-import", "fsderby verify IMPORT --json", of::<pages::VerifiedImport>),
    ("merge", "fsderby merge --json", of::<pages::Merged>),
    ("slurm-status", "fsderby slurm status --json", of::<pages::Campaign>),
    ("import", "fsderby import --json", of::<json::Imports<'static>>),
    ("list", "fsderby list --json", lists),
    ("explain", "fsderby explain NAME --json", of::<pages::Explained>),
    ("doctor", "fsderby doctor --json", of::<doctor::Page>),
    ("device-list", "fsderby device list --json", of::<device::Page>),
    ("kernel-list", "fsderby kernel list --json", of::<kernel::Page>),
    ("guest-list", "fsderby guest list --json", of::<guest::Page>),
    ("config-show", "fsderby config show --json", of::<config::Page>),
    ("plan.toml", "plan.toml of a run, read as TOML", of::<Plan>),
    ("machine.json", "machine.json of a run", of::<Machine>),
    ("trials.jsonl", "a line of trials.jsonl of a run", line),
    ("histograms", "a line of a file in histograms/ of a run", of::<Buckets>),
    ("verdict.json", "verdict.json of a run", of::<Verdict>),
    ("seal.json", "seal.json of a run", of::<Seal>),
    ("import.json", "import.json of an import", of::<Import>),
    ("manifest.json", "manifest.json of a guest bundle", of::<Manifest>),
    ("kit.json", "kit.json of a kit of fsderby reproduce", of::<Kit>),
    ("job", "the job that the host gives to an agent", of::<Job>),
    ("event", "an event that an agent reports to the host, without its number and checksum", of::<Event>),
];

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Some(name) = &arguments.name else {
        let lines: Vec<String> = TABLE.iter().map(|(name, what, _)| format!("{name:<16}{what}")).collect();
        print_line(&lines.join("\n"))?;
        return Ok(ExitCode::SUCCESS);
    };
    let found = TABLE.iter().find(|(known, ..)| known == name);
    let unknown = || Failure::usage(names::unknown("schema", name, TABLE.iter().map(|(known, ..)| *known)));
    let (_, what, schema) = found.ok_or_else(unknown)?;
    let mut schema = schema();
    schema.insert("title".into(), (*what).into());
    print_json(&schema)?;
    Ok(ExitCode::SUCCESS)
}

/// The schema of what this type is written as.
fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// A record, with the checksum that ends its line.
fn line() -> Schema {
    let mut schema = of::<Record>();
    let checksum = serde_json::json!({ "type": "string", "pattern": "^[0-9a-f]{8}$" });
    if let Some(properties) = schema.get_mut("properties").and_then(|of| of.as_object_mut()) {
        properties.insert("crc32".into(), checksum);
    }
    if let Some(required) = schema.get_mut("required").and_then(|of| of.as_array_mut()) {
        required.push("crc32".into());
    }
    schema
}

/// A list may have one table alone.
fn lists() -> Schema {
    let mut schema = of::<pages::Lists>();
    schema.insert("required".into(), ["schema_version"].as_slice().into());
    schema
}
