//! `fsderby import TOOL FILE…`: imports figures of another program, so that a report can show them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use clap::Args;

use super::config::{checked, results};
use super::output::{print, print_json, print_line, say, terminal_width};
use super::pages::{VERSION, VerifiedImport};
use crate::config::Config;
use crate::exit::{self, Failure};
use crate::host::given;
use crate::imports::{self, Given, MOST_SOURCES, SOURCE_MOST};
use crate::report::compose::imported::{self, Loaded};
use crate::report::formats::json::Imports;
use crate::report::formats::terminal;
use crate::report::view::number::count;
use crate::schema::import::{Asked, Import, Naming};

#[derive(Args)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// The tool that wrote the files: bonnie, fio, iozone or postmark
    #[arg(add = super::complete::importable())]
    tool: String,
    /// Files with the tool's output; other text in them is ignored
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Folder of the import; default results/TOOL-FILE
    #[arg(long, value_name = "DIR", visible_alias = "out")]
    output: Option<PathBuf>,
    /// Label for the imported results. Reports show these results next to the candidate or filesystem with the same
    /// label. With SOURCE=LABEL only the results of SOURCE get the label; SOURCE is a machine's name, a file, or one line
    /// of a file (FILE:LINE). Default: the machine's name, or the file name if the file names no machine
    #[arg(long, value_name = "[SOURCE=]LABEL")]
    label: Vec<Named>,
    /// Name of the parameter set that was measured; the import fails if the files contradict it
    #[arg(long, value_name = "SET")]
    set: Option<String>,
    /// Print the imported figures as JSON
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Input:
  bonnie    lines of comma-separated values of Bonnie++ 1.02 to 1.04 and 1.93 to 2.00
  fio       JSON of fio (--output-format=json or json+)
  iozone    the table of IOzone in kBytes/sec, or its -R tables
  postmark  verbose and terse reports of PostMark 1.5 to 1.53

If a line also has other text (quote marks of mails, tags of web pages, an echo command), fsderby ignores this text
and prints a note.

Several results with the same label and workload count as repetitions. To show imported results:
  fsderby report IMPORT
  fsderby report RUN --beside IMPORT";

#[derive(Clone, Debug)]
struct Named(Naming);

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (of, label) =
            text.rsplit_once('=').map_or((None, text), |(of, label)| (Some(of.to_owned()), label));
        Ok(Named(Naming { of, label: label.to_owned() }))
    }
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    imports::find(&arguments.tool)?;
    if arguments.files.len() > MOST_SOURCES {
        return Err(
            Failure::usage(format!("more than {MOST_SOURCES} files\n  try: fewer files per import")).into()
        );
    }
    let names: Vec<String> = arguments.files.iter().map(|path| path.display().to_string()).collect();
    let texts = arguments.files.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let files: Vec<Given<'_>> = names.iter().zip(&texts).map(|(name, bytes)| Given { name, bytes }).collect();
    let asked = Asked {
        tool: arguments.tool.clone(),
        labels: arguments.label.iter().map(|Named(naming)| naming.clone()).collect(),
        set: arguments.set.clone(),
    };
    let import = imports::collected(asked, &files)?;
    let config = checked()?;
    let folder =
        arguments.output.clone().unwrap_or_else(|| usual(config, &arguments.tool, &arguments.files[0]));
    imports::store(&import, &files, &folder)?;
    say(&format!("wrote {}", folder.display()));
    tell(&import);
    let loaded = Loaded { folder: folder.display().to_string(), import };
    if arguments.json {
        print_json(&Imports::of(&imported::alone(&loaded)))?;
    } else {
        print(&terminal::imported::text(&imported::alone(&loaded), terminal_width()))?;
    }
    Ok(ExitCode::from(exit::OK))
}

/// Reads a file of limited size.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |why: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "could not read {}: {why}\n  try: a file with the tool's output",
            path.display()
        ))
    };
    given::bytes(path, SOURCE_MOST).map_err(|e| failed(&e))
}

/// `results/bonnie-raid`
fn usual(config: &Config, tool: &str, file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let plain: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    results(config).join([&[tool], &words[..]].concat().join("-"))
}

/// Prints how many lines the import ignored, and notes on the figures.
fn tell(import: &Import) {
    for source in &import.sources {
        if source.other_lines > 0 {
            let (file, lines) = (&source.name, count(source.other_lines, "line"));
            say(&format!("{file}: {lines} of other text ignored"));
        }
        source.notes.iter().for_each(|note| say(&format!("{}: {note}", source.name)));
    }
}

/// `fsderby verify` of an import: checks its files and parses every figure again.
pub fn verify(folder: &Path, as_json: bool) -> anyhow::Result<u8> {
    let (read, wrong) = match imports::read(folder) {
        Ok(import) => (Some(import), None),
        Err(e) if e.code == exit::DAMAGED => (None, Some(e.what)),
        Err(e) => return Err(e.into()),
    };
    let entries = || read.iter().flat_map(|import| &import.entries);
    let figures = entries().map(|entry| entry.figures.len()).sum::<usize>();
    let (sources, results) = (read.as_ref().map_or(0, |import| import.sources.len()), entries().count());
    if as_json {
        let wrong = wrong.iter().cloned().collect();
        print_json(&VerifiedImport {
            schema_version: VERSION,
            imported: true,
            sources,
            results,
            figures,
            wrong,
        })?;
    } else if let Some(wrong) = &wrong {
        print_line(&format!("wrong: {wrong}\nthis import is not reliable"))?;
    } else {
        let said = format!(
            "{}, {} and {} checked",
            count(sources, "file"),
            count(results, "result"),
            count(figures, "figure")
        );
        print_line(&format!(
            "{folder}: {said}\nOK: the figures match the files; whether the files are genuine cannot be checked",
            folder = folder.display()
        ))?;
    }
    Ok(if wrong.is_none() { exit::OK } else { exit::DAMAGED })
}
