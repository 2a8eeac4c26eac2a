//! `fsderby verify`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::output::{print_json, print_line};
use crate::exit;
use crate::lab::verify::{Verified, verify};
use crate::store;

#[derive(Args)]
pub struct Arguments {
    /// A run's folder
    run: PathBuf,
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let run = store::read(&arguments.run)?;
    let found = verify(&run);
    if arguments.json {
        let Verified { records, metrics, histograms, consoles, .. } = found;
        let shown = json!({ "schema_version": 1, "records": records, "metrics": metrics, "histograms": histograms, "consoles": consoles,
                            "torn": run.torn, "wrong": found.wrong });
        print_json(&shown)?;
    } else {
        let Verified { records, metrics, histograms, consoles, wrong } = &found;
        let folder = run.folder.display();
        let mut lines = vec![format!(
            "{folder}: {records} records, {metrics} metrics recomputed, {histograms} histogram files, {consoles} consoles"
        )];
        lines.extend(run.torn.iter().map(|what| format!("note: {what}; that trial was lost, nothing else")));
        lines.extend(wrong.iter().map(|what| format!("wrong: {what}")));
        let sum = if wrong.is_empty() { "all of it holds" } else { "this run cannot be relied on" };
        print_line(&format!("{}\n{sum}", lines.join("\n")))?;
    }
    Ok(ExitCode::from(if found.wrong.is_empty() { exit::OK } else { exit::DAMAGED }))
}
