//! Parses one line: its format, its work and its figures.

use toml::{Table, Value};

use super::mending::{Field, fields, mended};
use super::{latency, rate, share};
use crate::imports::{Found, Wrong};
use crate::schema::import::Figure;
use crate::schema::units::{Bytes, KIB};
use crate::workloads::bonnie::lines::{self as layout, Layout, SMALLEST_PIECE};
use crate::workloads::bonnie::rules::{self, Semantics};
use crate::workloads::bonnie::trial::{STEPS, Step};

/// A line with fewer commas is not a line of Bonnie++ with figures.
const FEWEST_COMMAS: usize = 13;
/// Longest name in bytes.
const LONGEST: usize = 200;
/// Bonnie++ prints plus signs for a shorter phase.
const SHORTEST_SECONDS: f64 = 0.5;
/// Bonnie++ prints the number of files in units of this many files.
const FILES: u64 = 1024;
/// The largest number of digits of a figure.
const MOST_DIGITS: usize = 15;

/// The position of each field in a form of line.
#[derive(Clone, Debug)]
struct Form {
    layout: Layout,
    semantics: Semantics,
    fields: Vec<layout::Field>,
}

impl Form {
    fn of(layout: Layout) -> Self {
        Form { layout, semantics: layout.semantics(), fields: layout.fields() }
    }

    fn place(&self, field: layout::Field) -> Option<usize> {
        self.fields.iter().position(|own| *own == field)
    }

    fn has(&self, field: layout::Field) -> bool {
        self.place(field).is_some()
    }

    /// The position of a field that every form has.
    fn at(&self, field: layout::Field) -> usize {
        self.place(field).unwrap_or(self.fields.len())
    }

    /// The positions of the rates; the CPU share of a rate is in the next position.
    fn rates(&self) -> impl Iterator<Item = usize> + '_ {
        STEPS.into_iter().filter_map(|step| self.place(layout::Field::Rate(step)))
    }
}

/// Parses a line; `None` if the line is other text. `before` is the number of letters that were cut off before the line.
pub fn read(number: usize, line: &str, before: usize) -> Option<Result<Found, Wrong>> {
    let line = line.trim_end();
    let fields = fields(line, before);
    if fields.len() <= FEWEST_COMMAS || is_names(&fields) || !is_mostly_figures(&fields) {
        return None;
    }
    Some(found(number, before + line.chars().count() + 1, fields))
}

fn is_names(fields: &[Field]) -> bool {
    fields[0].text == "format_version" || fields[1].text == "file_size"
}

fn is_mostly_figures(fields: &[Field]) -> bool {
    let is_figure = |field: &&Field| field.text.bytes().all(|b| matches!(b, b'+' | b'.' | b'0'..=b'9'));
    let is_said = |field: &&Field| !field.text.is_empty();
    fields.iter().filter(is_figure).count() * 2 >= fields.len()
        && fields.iter().filter(is_said).filter(is_figure).count() >= 4
}

fn found(number: usize, end: usize, fields: Vec<Field>) -> Result<Found, Wrong> {
    let form = form(number, &fields)?;
    let (fields, cut) = mended(fields);
    let fields = completed(fields, &form);
    let row = Row { number, fields, form };
    if row.fields.len() != row.form.fields.len() {
        return Err(row.misfit(end));
    }
    let mut notes = Vec::new();
    if !cut.is_empty() {
        row.must_be_paired(&cut)?;
        notes.push(mending(&cut));
    }
    let work = row.work(&mut notes)?;
    let figures = row.figures(&work)?;
    if figures.is_empty() {
        let first = row.form.rates().next().unwrap_or(0);
        return Err(row.wrong(first, "it has no figure"));
    }
    let at = row.form.at(layout::Field::Machine);
    let machine = row.text(at);
    if machine.len() > LONGEST {
        return Err(row.wrong(at, &format!("the machine's name has more than {LONGEST} bytes")));
    }
    let program = match row.form.place(layout::Field::Program) {
        None => row.form.layout.title(),
        Some(at) if row.text(at).len() > LONGEST => {
            return Err(row.wrong(at, &format!("the version has more than {LONGEST} bytes")));
        }
        Some(at) => row.text(at),
    };
    let program = format!("Bonnie++ {program}");
    Ok(Found { line: number, machine: machine.to_owned(), program, work, notes, figures })
}

/// The form of the line, from the first field; in the old form this field is not a version.
fn form(number: usize, fields: &[Field]) -> Result<Form, Wrong> {
    // In the old form, the machine's name in this field may look like a version, but the line has fewer fields.
    let is_long = fields.len() > Layout::Old.fields().len() + 8;
    let version = fields[0].text.as_str();
    match Layout::of_format(version).filter(|_| is_long) {
        Some(layout) => Ok(Form::of(layout)),
        None if is_long => {
            let what = format!(
                "version '{version}' is not supported; supported are 1.93 to 1.98, and 1.0x, whose lines have 27 fields"
            );
            Err(Wrong { line: number, column: 1, what })
        }
        None => Ok(Form::of(Layout::Old)),
    }
}

/// Inserts empty fields where the form leaves out fields because the data phases did not run, so that all fields are present.
fn completed(mut fields: Vec<Field>, form: &Form) -> Vec<Field> {
    let lacks = form.layout.lacks_without_data();
    let data: Vec<usize> = (0..form.fields.len()).filter(|at| form.fields[*at].is_of_data()).collect();
    let (Some(first), Some(last)) = (data.first(), data.last()) else { return fields };
    let there = *first..*last + 1 - lacks;
    let is_without =
        fields.get(there.clone()).is_some_and(|data| data.iter().all(|field| field.text.is_empty()));
    if lacks > 0 && fields.len() + lacks == form.fields.len() && is_without {
        let column = fields[there.start].column;
        for _ in 0..lacks {
            fields.insert(there.end, Field { column, text: String::new() });
        }
    }
    fields
}

/// The note about restored commas: `lost commas were put back: '+++1651' in column 40 and '+++1562' in column 52 cannot be …`
fn mending(cut: &[Field]) -> String {
    let places: Vec<String> =
        cut.iter().map(|field| format!("'{}' in column {}", field.text, field.column)).collect();
    let commas = if cut.len() == 1 { "a lost comma was" } else { "lost commas were" };
    format!(
        "{commas} put back: {} cannot be one figure, and with a comma where plus signs and digits meet the line has its fields",
        places.join(", ")
    )
}

struct Row {
    number: usize,
    fields: Vec<Field>,
    form: Form,
}

/// The value of a field.
enum Said {
    /// The field is empty, because the phase did not run.
    Nothing,
    TooQuick,
    /// A number, and the value of one unit of its last digit.
    Number(f64, f64),
}

impl Row {
    fn text(&self, at: usize) -> &str {
        self.fields.get(at).map_or("", |field| field.text.as_str())
    }

    fn wrong(&self, at: usize, what: &str) -> Wrong {
        let column = self.fields.get(at).map_or(1, |field| field.column);
        Wrong { line: self.number, column, what: format!("field {}: {what}", at + 1) }
    }

    /// The text of a field; empty if the form does not have this field.
    fn of(&self, field: layout::Field) -> &str {
        self.form.place(field).map_or("", |at| self.text(at))
    }

    /// The error for a line whose number of fields does not fit the form. The error's position is the first field with a wrong
    /// content, or the end of the line.
    fn misfit(&self, end: usize) -> Wrong {
        let (title, count) = (self.form.layout.title(), self.form.fields.len());
        let shares = self.form.rates().map(|at| at + 1);
        let is_share = |at: &usize| self.text(*at).len() <= 3 && !self.text(*at).contains('.');
        let first = shares.filter(|at| *at < self.fields.len()).find(|at| !is_share(at));
        let column = first.map_or(end, |at| self.fields[at].column);
        let n = self.fields.len();
        let what = format!(
            "the line has {n} fields, but a line of Bonnie++ {title} has {count}; it can be read in more than one way, or in none"
        );
        Wrong { line: self.number, column, what }
    }

    /// After commas are restored, plus signs must come in pairs.
    fn must_be_paired(&self, cut: &[Field]) -> Result<(), Wrong> {
        for at in self.form.rates() {
            let [rate, share] = [at, at + 1].map(|at| self.text(at).starts_with('+'));
            if rate != share {
                let cut: Vec<&str> = cut.iter().map(|field| field.text.as_str()).collect();
                let what = format!(
                    "with lost commas restored in '{}', a rate and its CPU share contradict each other",
                    cut.join("', '")
                );
                return Err(self.wrong(at, &what));
            }
        }
        Ok(())
    }

    fn said(&self, at: usize) -> Result<Said, Wrong> {
        let text = self.text(at);
        if text.is_empty() {
            return Ok(Said::Nothing);
        }
        if text.bytes().all(|b| b == b'+') && (2..=5).contains(&text.len()) {
            return Ok(Said::TooQuick);
        }
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let is_short = !whole.is_empty() && text.len() <= MOST_DIGITS;
        let number = text.parse::<f64>().ok().filter(|_| is_number(whole) && is_number(decimals) && is_short);
        let step = 0.1_f64.powi(i32::try_from(decimals.len()).unwrap_or(0));
        number
            .map(|number| Said::Number(number, step))
            .ok_or_else(|| self.wrong(at, &format!("'{text}' is neither a number nor plus signs")))
    }

    fn size(&self, at: usize, text: &str) -> Result<u64, Wrong> {
        text.parse().map(|Bytes(bytes)| bytes).map_err(|what: String| self.wrong(at, &what))
    }

    fn count(&self, at: usize, text: &str) -> Result<u64, Wrong> {
        let number = text.parse::<u64>().ok().filter(|n| *n <= u32::MAX.into());
        number.ok_or_else(|| {
            self.wrong(at, &format!("'{text}' is not a number from 0 to {most}", most = u32::MAX))
        })
    }

    /// The work according to the line, as parameters of the workload.
    fn work(&self, notes: &mut Vec<String>) -> Result<Table, Wrong> {
        let mut work = Table::new();
        work.insert("semantics".into(), self.form.semantics.name().into());
        self.data_work(&mut work)?;
        self.files_work(&mut work, notes)?;
        let concurrency = layout::Field::Concurrency;
        if !matches!(self.of(concurrency), "" | "1") {
            let at = self.form.at(concurrency);
            notes.push(format!("measured with a concurrency of {}", self.count(at, self.text(at))?));
        }
        Ok(work)
    }

    fn data_work(&self, work: &mut Table) -> Result<(), Wrong> {
        let at = self.form.at(layout::Field::Size);
        let (size, chunk) = self.text(at).split_once(':').unwrap_or((self.text(at), ""));
        // A size without a suffix is in MiB, as on the command line.
        let size = if size.bytes().all(|b| b.is_ascii_digit()) && !size.is_empty() {
            format!("{size}m")
        } else {
            size.to_owned()
        };
        let is_measured = !size.is_empty();
        put(work, "size", if is_measured { self.size(at, &size)? } else { 0 });
        let chunk = match self.form.place(layout::Field::Chunk).map(|at| (at, self.text(at))) {
            Some((at, text)) if !text.is_empty() => Some(self.size(at, text)?),
            _ if !chunk.is_empty() => Some(self.size(at, chunk)?),
            _ => None,
        };
        chunk.into_iter().for_each(|chunk| put(work, "chunk", chunk));
        let characters = [Step::WriteCharacters, Step::ReadCharacters];
        let has_characters = characters.iter().any(|step| !self.of(layout::Field::Rate(*step)).is_empty());
        if is_measured && !has_characters {
            put(work, "characters", 0);
        }
        for (field, key) in [(layout::Field::Seeks, "seeks"), (layout::Field::Seekers, "seekers")] {
            if !self.of(field).is_empty() {
                put(work, key, self.count(self.form.at(field), self.of(field))?);
            }
        }
        Ok(())
    }

    fn files_work(&self, work: &mut Table, notes: &mut Vec<String>) -> Result<(), Wrong> {
        let at = self.form.at(layout::Field::Number);
        if self.text(at).is_empty() {
            return Ok(());
        }
        if !self.form.has(layout::Field::Directories) {
            let (sizes, directories) = self.text(at).split_once('/').unwrap_or((self.text(at), ""));
            let parts: Vec<&str> = sizes.split(':').collect();
            let part = |which: usize| (at, parts.get(which).copied().unwrap_or(""));
            if parts.len() > 3 {
                return Err(
                    self.wrong(at, "the number of files must have the form number:max:min/directories")
                );
            }
            self.files_and_sizes(work, [part(0), part(1), part(2)])?;
            return if directories.is_empty() {
                Ok(())
            } else {
                self.count_to(work, "directories", (at, directories))
            };
        }
        let of = |field| (self.form.at(field), self.of(field));
        let [number, max, min] = [layout::Field::Number, layout::Field::Max, layout::Field::Min].map(of);
        self.files_and_sizes(work, [number, max, min])?;
        let [piece, directories] = [layout::Field::Piece, layout::Field::Directories].map(of);
        let is_too_small = piece.1.parse().is_ok_and(|n: u64| n < SMALLEST_PIECE);
        if is_too_small {
            // A piece is never so small, so the line has these two fields in the order of the header line.
            self.count_to(work, "directories", piece)?;
            if !directories.1.is_empty() {
                put(work, "piece", self.size(directories.0, directories.1)?);
            }
            return Ok(());
        }
        if !piece.1.is_empty() {
            put(work, "piece", self.size(piece.0, piece.1)?);
        }
        if !directories.1.is_empty() {
            self.count_to(work, "directories", directories)?;
            let (folders, program) = (directories.1, self.of(layout::Field::Program));
            notes.push(format!("{folders} is taken for the number of folders, which {program} writes into the field after its own"));
        }
        Ok(())
    }

    fn count_to(&self, work: &mut Table, key: &str, (at, text): (usize, &str)) -> Result<(), Wrong> {
        put(work, key, self.count(at, text)?);
        Ok(())
    }

    fn files_and_sizes(&self, work: &mut Table, [number, max, min]: [(usize, &str); 3]) -> Result<(), Wrong> {
        put(work, "files", self.count(number.0, number.1)? * FILES);
        match max.1 {
            "link" => drop(work.insert("links".into(), "hard".into())),
            "symlink" => drop(work.insert("links".into(), "symbolic".into())),
            "" => {}
            _ => {
                let min = if min.1.is_empty() { 0 } else { self.size(min.0, min.1)? };
                let sizes = [min, self.size(max.0, max.1)?]
                    .map(|size| Value::from(i64::try_from(size).unwrap_or(i64::MAX)));
                work.insert("file_size".into(), Value::Array(sizes.into()));
            }
        }
        Ok(())
    }

    fn figures(&self, work: &Table) -> Result<Vec<Figure>, Wrong> {
        let mut figures = Vec::new();
        for step in STEPS {
            figures.extend(self.rate(self.form.at(layout::Field::Rate(step)), step, work)?);
            figures.extend(self.share(self.form.at(layout::Field::Share(step)), step)?);
            if let Some(at) = self.form.place(layout::Field::Latency(step)) {
                figures.extend(self.latency(at, step)?);
            }
        }
        Ok(figures)
    }

    fn rate(&self, at: usize, step: Step, work: &Table) -> Result<Option<Figure>, Wrong> {
        let metric = rate(self.form.semantics, step);
        let unit = if matches!(step, Step::Seek | Step::Small(..)) { "1/s" } else { "KiB/s" };
        Ok(match self.said(at)? {
            Said::Nothing => None,
            Said::TooQuick => {
                let least = self.done(step, work).map(|done| done / SHORTEST_SECONDS);
                Some(Figure { metric, unit: unit.into(), value: None, least, most: None })
            }
            // Seeks are rounded, all other values truncated.
            Said::Number(value, digit) if step == Step::Seek => {
                Some(within(metric, unit, value, [0.5, 0.5].map(|of| of * digit)))
            }
            Said::Number(value, digit) => Some(within(metric, unit, value, [0.0, digit])),
        })
    }

    /// Total amount of a phase in its unit; `None` if the line does not contain it.
    fn done(&self, step: Step, work: &Table) -> Option<f64> {
        let number = |key: &str| work.get(key).and_then(Value::as_integer).map(|n| n as f64);
        match step {
            Step::WriteCharacters | Step::ReadCharacters if self.form.semantics == Semantics::Second => None,
            Step::Seek => Some(number("seeks").unwrap_or(rules::SEEKS.into())),
            Step::Small(..) => number("files"),
            _ => number("size").map(|bytes| bytes / KIB as f64),
        }
    }

    fn share(&self, at: usize, step: Step) -> Result<Option<Figure>, Wrong> {
        Ok(match self.said(at)? {
            Said::Nothing | Said::TooQuick => None,
            Said::Number(value, digit) => {
                Some(within(share(self.form.semantics, step), "%", value, [0.0, digit]))
            }
        })
    }

    /// Parses a latency such as `67548us`, `107ms` or `2s`, in nanoseconds.
    fn latency(&self, at: usize, step: Step) -> Result<Option<Figure>, Wrong> {
        let text = self.text(at);
        if text.is_empty() || text.bytes().all(|b| b == b'+') {
            return Ok(None);
        }
        let units = [("us", 1e3), ("ms", 1e6), ("s", 1e9)];
        let parsed =
            units.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?.parse::<u64>().ok()?, *ns)));
        let (number, ns) = parsed.filter(|(number, _)| *number < 1 << 40).ok_or_else(|| {
            self.wrong(at, &format!("'{text}' is not a latency such as 67548us, 107ms or 2s"))
        })?;
        Ok(Some(within(latency(self.form.semantics, step), "ns", number as f64 * ns, [0.0, ns])))
    }
}

fn within(metric: String, unit: &str, value: f64, [below, above]: [f64; 2]) -> Figure {
    Figure {
        metric,
        unit: unit.into(),
        value: Some(value),
        least: Some(value - below),
        most: Some(value + above),
    }
}

fn put(work: &mut Table, key: &str, value: u64) {
    work.insert(key.into(), Value::Integer(i64::try_from(value).unwrap_or(i64::MAX)));
}
