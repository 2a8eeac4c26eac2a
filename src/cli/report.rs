//! `fsderby report`: a run for people and for programs.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use super::output::{print, say};
use crate::exit::{self, Failure};
use crate::report::terminal::{self, Detail};
use crate::report::{Report, csv, html, json, markdown};
use crate::store::{self, Run};

/// The width where standard output is no terminal.
const WIDTH: u16 = 80;

#[derive(Args)]
pub struct Options {
    /// The run's folder
    run: PathBuf,
    /// Write one HTML file that opens from disk, without network or scripts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write Markdown, to paste into an issue
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write one line for each trial and metric
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print the summary and all records as JSON instead of the table
    #[arg(long)]
    json: bool,
    /// Print every metric and the latencies
    #[arg(long, conflicts_with = "json")]
    all: bool,
}

pub fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let run = store::read(&options.run)?;
    let report = Report::of(&run);
    let wrote = write_files(options, &report, &run)?;
    if options.json {
        let mut text = Vec::new();
        json::write(&report, &mut text)?;
        print(&String::from_utf8(text)?)?;
    } else if options.all || !wrote {
        let detail = if options.all { Detail::Everything } else { Detail::Glance };
        print(&terminal::text(&report, terminal_width(), detail))?;
    }
    Ok(ExitCode::from(if run.damage.is_empty() { exit::OK } else { exit::DAMAGED }))
}

/// After a run: the page into the run's folder, the table to standard output. Returns the page's path.
pub fn after_run(run: &Run, as_json: bool) -> anyhow::Result<PathBuf> {
    let report = Report::of(run);
    let path = run.folder.join("report.html");
    let page = html::page(&report)?;
    std::fs::write(&path, page).map_err(|e| {
        let (path, folder) = (path.display(), run.folder.display());
        let try_this = format!("make room, then fsderby report {folder} --html FILE");
        Failure::missing(format!("could not write {path}: {e}\n  try: {try_this}"))
    })?;
    let mut text = Vec::new();
    if as_json {
        json::write(&report, &mut text)?;
    } else {
        text.extend(terminal::text(&report, terminal_width(), Detail::Glance).bytes());
    }
    print(&String::from_utf8(text)?)?;
    Ok(path)
}

/// Whether any file was asked for.
fn write_files(options: &Options, report: &Report<'_>, run: &Run) -> anyhow::Result<bool> {
    if let Some(path) = &options.html {
        write_file(path, |to| Ok(to.write_all(html::page(report)?.as_bytes())?))?;
    }
    if let Some(path) = &options.markdown {
        write_file(path, |to| Ok(to.write_all(markdown::text(report).as_bytes())?))?;
    }
    if let Some(path) = &options.csv {
        write_file(path, |to| csv::write(run, to))?;
    }
    Ok(options.html.is_some() || options.markdown.is_some() || options.csv.is_some())
}

fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let failed = || format!("could not write {}", path.display());
    if path.exists() {
        let text = format!(
            "{} exists already, and nothing is ever overwritten\n  try: another name",
            path.display()
        );
        return Err(Failure::usage(text).into());
    }
    let mut to = BufWriter::new(File::create_new(path).with_context(failed)?);
    write(&mut to).with_context(failed)?;
    to.flush().with_context(failed)?;
    say(&format!("wrote {}", path.display()));
    Ok(())
}

fn terminal_width() -> u16 {
    comfy_table::Table::new().width().unwrap_or(WIDTH)
}
