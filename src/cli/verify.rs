//! `fsderby verify`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::exit;
use crate::lab::verify::verify;
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
        let (records, metrics, histograms) = (found.records, found.metrics, found.histograms);
        let shown = json!({ "schema_version": 1, "records": records, "metrics": metrics, "histograms": histograms,
                            "torn": run.torn, "wrong": found.wrong });
        println!("{}", serde_json::to_string_pretty(&shown)?);
    } else {
        println!(
            "{}: {} records, {} metrics recomputed, {} histogram files",
            run.folder.display(),
            found.records,
            found.metrics,
            found.histograms
        );
        run.torn.iter().for_each(|what| println!("note: {what}; that trial was lost, nothing else"));
        found.wrong.iter().for_each(|what| println!("wrong: {what}"));
        println!(
            "{}",
            if found.wrong.is_empty() { "all of it holds" } else { "this run cannot be relied on" }
        );
    }
    Ok(ExitCode::from(if found.wrong.is_empty() { exit::OK } else { exit::DAMAGED }))
}
