//! Figures that other programs measured, parsed from their own output, so that a report can show them next to a run's.
//!
//! ```text
//! files of a tool ── Tool::read ──▶ results ──────── labels, set ──▶ Import ── folder ──▶ import.json, sources/
//!                                                                                             │ read: the sources again
//!                                  report --beside: view of the run ◀── Tool::unlike ─────────┘
//! ```
//! The stored import is the result of [`collected`] for the copies of the files. Whenever an import is opened, its files are
//! parsed again and compared, so that no figure is shown that the files do not contain. Imports have no validity checks and
//! enter no verdict.

pub mod bonnie;
mod cleaning;
pub mod fio;
mod folder;
pub mod iozone;
mod labels;
pub mod passes;
pub mod postmark;
mod unready;

use toml::Table;

pub use folder::{MOST_SOURCES, SOURCE_MOST, is_import, read, store};

use crate::exit::Failure;
use crate::schema::import::{Asked, Entry, Figure, Import, SCHEMA, Source};
use crate::text::names;
use crate::workloads;

/// Every tool whose output can be parsed.
pub static TABLE: &[&dyn Tool] = &[
    // Keep one tool per line.
    &bonnie::BonnieLines,
    &fio::FioJson,
    &iozone::IoZoneTables,
    &postmark::PostMarkReports,
];

/// Version of the parsers, incremented if the same files give different results. An import of an older version is parsed again and
/// does not count as damaged.
pub const READING: u32 = 1;
/// The largest number of results in all sources of an import together.
const MOST_ENTRIES: usize = 10_000;

pub trait Tool: Sync {
    /// Name on the command line: `bonnie`.
    fn name(&self) -> &'static str;
    /// Proper name: `Bonnie++`.
    fn title(&self) -> &'static str;
    /// The workload with the same work and metrics as the tool. If no workload has this name, the tool's figures are shown alone.
    fn engine(&self) -> &'static str;
    /// What the tool's figures do not tell, printed below every table.
    fn story(&self) -> &'static str;
    /// The tables that show the tool's figures.
    fn parts(&self) -> Vec<Part>;
    /// All results in a text; other lines are skipped.
    ///
    /// # Errors
    /// All lines that cannot be read, or that can be read in two ways.
    fn read(&self, text: &str) -> Result<Read, Vec<Wrong>>;
    /// The differences between the work of an entry and the work that these parameters of the workload describe, one phrase each.
    ///
    /// # Errors
    /// If the two cannot be compared.
    fn unlike(&self, work: &Table, parameters: &Table) -> Result<Vec<String>, String>;
    /// Whether two entries have the same work.
    fn alike(&self, one: &Table, other: &Table) -> bool {
        one == other
    }
    /// The work of an entry in a few words.
    fn described(&self, work: &Table) -> String;
}

/// A table of figures.
pub struct Part {
    pub title: &'static str,
    /// Metrics and the headings of their columns.
    pub columns: Vec<(String, &'static str)>,
}

/// Result of parsing a text.
#[derive(Debug, Default)]
pub struct Read {
    pub found: Vec<Found>,
    /// Number of lines that belong to no result.
    pub other_lines: usize,
    pub notes: Vec<String>,
}

/// One result of the tool.
#[derive(Clone, Debug)]
pub struct Found {
    /// Line number of the result, counted from 1.
    pub line: usize,
    /// The machine's name as the tool prints it; empty if the tool prints no name.
    pub machine: String,
    pub program: String,
    pub work: Table,
    pub notes: Vec<String>,
    pub figures: Vec<Figure>,
}

/// A parse error and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Line and column, both from 1.
    pub line: usize,
    pub column: usize,
    pub what: String,
}

/// A file given by the user.
pub struct Given<'g> {
    pub name: &'g str,
    pub bytes: &'g [u8],
}

pub fn find(name: &str) -> Result<&'static dyn Tool, Failure> {
    let found = TABLE.iter().find(|tool| tool.name() == name).copied();
    let known = || TABLE.iter().map(|tool| tool.name());
    found.ok_or_else(|| Failure::usage(names::unknown("tool to import from", name, known())))
}

/// The import of these files: a pure function of the request and the files' content.
///
/// # Errors
/// If a file has no result of the tool, or text that is invalid or ambiguous; if a label or the set does not fit.
pub fn collected(asked: Asked, files: &[Given<'_>]) -> Result<Import, Failure> {
    let tool = find(&asked.tool)?;
    let mut import = Import {
        schema: SCHEMA,
        fsderby: env!("CARGO_PKG_VERSION").to_owned(),
        reading: READING,
        asked,
        sources: Vec::new(),
        entries: Vec::new(),
    };
    let mut machines = Vec::new();
    let mut wrong = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let read = match found_in(tool, file)? {
            Ok(read) => read,
            Err(more) => {
                wrong.extend(more);
                continue;
            }
        };
        import.sources.push(Source {
            name: file.name.to_owned(),
            path: folder::copy_of(at),
            blake3: blake3::hash(file.bytes).to_hex().to_string(),
            other_lines: read.other_lines,
            notes: read.notes,
        });
        for found in read.found {
            machines.push(found.machine.clone());
            import.entries.push(entry(found, at));
        }
        if import.entries.len() > MOST_ENTRIES {
            let text = format!(
                "{file}: more than {MOST_ENTRIES} results\n  try: fewer results per import",
                file = file.name
            );
            return Err(Failure::usage(text));
        }
    }
    if !wrong.is_empty() {
        return Err(all_wrong(&wrong));
    }
    labels::put(&mut import, &machines)?;
    if let Some(set) = &import.asked.set {
        fits_set(tool, &import, set)?;
    }
    Ok(import)
}

/// At most this many wrong lines are named: with the advice they must fit into a message, see [`crate::text::visible::message`].
const MOST_WRONG: usize = 20;

fn all_wrong(wrong: &[String]) -> Failure {
    let try_this = match wrong.len() {
        1 => "correct the line by hand if you know the original text, or leave the line out",
        _ => "correct the lines by hand if you know the original text, or leave them out",
    };
    let more = wrong.len().saturating_sub(MOST_WRONG);
    let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
    let named = wrong[..wrong.len().min(MOST_WRONG)].join("\n");
    Failure::usage(format!("{named}{more}\n  try: {try_this}"))
}

/// The results in the file, or its wrong lines with their positions.
fn found_in(tool: &dyn Tool, file: &Given<'_>) -> Result<Result<Read, Vec<String>>, Failure> {
    let text = String::from_utf8_lossy(file.bytes);
    let read = match tool.read(text.strip_prefix('\u{feff}').unwrap_or(&text)) {
        Ok(read) => read,
        Err(wrong) => {
            let place = |Wrong { line, column, what }| format!("{}:{line}:{column}: {what}", file.name);
            return Ok(Err(wrong.into_iter().map(place).collect()));
        }
    };
    if read.found.is_empty() {
        let said: String = read.notes.iter().map(|note| format!("; {note}")).collect();
        let text = format!(
            "{file}: no {program} result found{said}\n  try: fsderby import --help, which lists the formats",
            file = file.name,
            program = tool.title()
        );
        return Err(Failure::usage(text));
    }
    Ok(Ok(read))
}

fn entry(found: Found, source: usize) -> Entry {
    let Found { line, program, work, notes, figures, .. } = found;
    Entry { label: String::new(), source, line, program, work, notes, figures }
}

/// Checks that the files do not contradict the set that the user names.
fn fits_set(tool: &dyn Tool, import: &Import, set: &str) -> Result<(), Failure> {
    let engine = workloads::engine(tool.engine());
    let sets = || engine.iter().flat_map(|engine| engine.sets());
    let Some(found) = sets().find(|known| known.name == set) else {
        let unknown =
            names::unknown(&format!("set of {}", tool.engine()), set, sets().map(|known| known.name));
        return Err(Failure::usage(format!("--set: {unknown}")));
    };
    let parameters = found.file().parameters;
    for entry in &import.entries {
        let differs = tool.unlike(&entry.work, &parameters).map_err(Failure::usage)?;
        if !differs.is_empty() {
            let place = place(import, entry);
            let text = format!(
                "--set {set}: {place} is a result of another workload: {differences}\n  try: without --set",
                differences = differs.join("; ")
            );
            return Err(Failure::usage(text));
        }
    }
    Ok(())
}

/// File and line of an entry: `raid.txt:57`.
pub fn place(import: &Import, entry: &Entry) -> String {
    let name = import.sources.get(entry.source).map_or("", |source| source.name.as_str());
    format!("{name}:{}", entry.line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::declared;

    #[test]
    fn every_column_but_latencies_is_a_metric_of_the_workload() {
        for tool in TABLE {
            let Some(engine) = workloads::engine(tool.engine()) else {
                assert_eq!(tool.name(), "fio", "no workload is fio's");
                continue;
            };
            let known = engine.declared();
            for (metric, _) in tool.parts().into_iter().flat_map(|part| part.columns) {
                let is_known = declared::find(&known, &metric).is_some() || metric.ends_with(".latency");
                assert!(is_known, "{}: {metric}", tool.name());
            }
        }
    }
}
