//! Parses one line: its format, its work and its figures.

use toml::{Table, Value};

use super::mending::{Field, fields, mended};
use super::{latency, rate, share};
use crate::imports::{Found, Wrong};
use crate::schema::import::Figure;
use crate::schema::units::{Bytes, KIB};
use crate::workloads::bonnie::rules::{self, Semantics};
use crate::workloads::bonnie::trial::{STEPS, Step};

/// A line with fewer commas has no figures.
const FEWEST_COMMAS: usize = 13;
/// Longest name in bytes.
const LONGEST: usize = 200;
/// A shorter phase is printed as plus signs.
const SHORTEST_SECONDS: f64 = 0.5;
/// Unit of the number of files.
const FILES: u64 = 1024;
/// Most digits of a figure.
const MOST_DIGITS: usize = 15;

/// Positions of a format's fields.
#[derive(Clone, Copy, Debug)]
struct Form {
    title: &'static str,
    semantics: Semantics,
    count: usize,
    machine: usize,
    size: usize,
    chunk: Option<usize>,
    seeks: Option<usize>,
    data: usize,
    number: usize,
    files: usize,
    latencies: Option<usize>,
}

const OLD: Form = Form {
    title: "1.0x",
    semantics: Semantics::Classic,
    count: 27,
    machine: 0,
    size: 1,
    chunk: None,
    seeks: None,
    data: 2,
    number: 14,
    files: 15,
    latencies: None,
};
const V197: Form = Form {
    title: "1.97",
    semantics: Semantics::Second,
    count: 48,
    machine: 2,
    size: 5,
    chunk: Some(6),
    seeks: None,
    data: 7,
    number: 19,
    files: 24,
    latencies: Some(36),
};
const V198: Form = Form {
    title: "1.98",
    count: 50,
    seeks: Some(7),
    data: 9,
    number: 21,
    files: 26,
    latencies: Some(38),
    ..V197
};

/// `None` if the line is other text.
pub fn read(number: usize, line: &str) -> Option<Result<Found, Wrong>> {
    let line = line.trim_end();
    let fields = fields(line);
    if fields.len() <= FEWEST_COMMAS || is_names(&fields) || !is_mostly_figures(&fields) {
        return None;
    }
    Some(found(number, line, fields))
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

fn found(number: usize, line: &str, fields: Vec<Field>) -> Result<Found, Wrong> {
    let form = form(number, &fields)?;
    let (fields, cut) = mended(fields);
    let row = Row { number, fields, form };
    if row.fields.len() != form.count {
        return Err(row.misfit(line));
    }
    let mut notes = Vec::new();
    if !cut.is_empty() {
        row.must_be_paired(&cut)?;
        notes.push(mending(&cut));
    }
    let work = row.work(&mut notes)?;
    let figures = row.figures(&work)?;
    if figures.is_empty() {
        return Err(row.wrong(form.data, "it has no figure"));
    }
    let machine = row.text(form.machine);
    if machine.len() > LONGEST {
        return Err(row.wrong(form.machine, &format!("a name of more than {LONGEST} bytes")));
    }
    let program = if form.count == OLD.count { OLD.title } else { row.text(1) };
    if program.len() > LONGEST {
        return Err(row.wrong(1, &format!("a version of more than {LONGEST} bytes")));
    }
    let program = format!("Bonnie++ {program}");
    Ok(Found { line: number, machine: machine.to_owned(), program, work, notes, figures })
}

/// The format, by the first field; the old format has no version there.
fn form(number: usize, fields: &[Field]) -> Result<Form, Wrong> {
    // A machine's name may look like a version, but then the number of fields differs.
    let is_long = fields.len() > OLD.count + 8;
    match fields[0].text.as_str() {
        "1.96" | "1.97" if is_long => Ok(V197),
        "1.98" if is_long => Ok(V198),
        other if is_long => {
            let what = format!(
                "version '{other}' is not supported; supported are 1.96, 1.97, 1.98, and 1.0x, whose lines have \
                    27 fields"
            );
            Err(Wrong { line: number, column: 1, what })
        }
        _ => Ok(OLD),
    }
}

/// A note such as `2 lost commas put back, in '+++1651' and '+++1562': …`
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
    /// Empty: the phase did not run.
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

    /// The number of fields does not fit the format: reports the first wrong field, or the end of the line.
    fn misfit(&self, line: &str) -> Wrong {
        let Form { title, count, data, files, .. } = self.form;
        let shares = (0..6).map(|at| data + 2 * at + 1).chain((0..6).map(|at| files + 2 * at + 1));
        let is_share = |at: &usize| self.text(*at).len() <= 3 && !self.text(*at).contains('.');
        let first = shares.filter(|at| *at < self.fields.len()).find(|at| !is_share(at));
        let column = first.map_or(line.chars().count() + 1, |at| self.fields[at].column);
        let n = self.fields.len();
        let what = format!(
            "it has {n} fields, where a line of Bonnie++ {title} has {count}, and it can be read in more than one \
                way or in none"
        );
        Wrong { line: self.number, column, what }
    }

    /// After commas are restored, plus signs must come in pairs.
    fn must_be_paired(&self, cut: &[Field]) -> Result<(), Wrong> {
        let pairs = (0..6).map(|at| self.form.data + 2 * at).chain((0..6).map(|at| self.form.files + 2 * at));
        for at in pairs {
            let [rate, share] = [at, at + 1].map(|at| self.text(at).starts_with('+'));
            if rate != share {
                let cut: Vec<&str> = cut.iter().map(|field| field.text.as_str()).collect();
                let what = format!(
                    "with lost commas put back in '{}', a rate and its CPU share do not fit together",
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
        number.ok_or_else(|| self.wrong(at, &format!("'{text}' is not a number of up to {}", u32::MAX)))
    }

    /// The work according to the line, as parameters of the workload.
    fn work(&self, notes: &mut Vec<String>) -> Result<Table, Wrong> {
        let mut work = Table::new();
        work.insert("semantics".into(), self.form.semantics.name().into());
        self.data_work(&mut work)?;
        self.files_work(&mut work, notes)?;
        if self.form.machine > 0 && !matches!(self.text(3), "" | "1") {
            notes.push(format!("measured with a concurrency of {}", self.count(3, self.text(3))?));
        }
        Ok(work)
    }

    fn data_work(&self, work: &mut Table) -> Result<(), Wrong> {
        let at = self.form.size;
        let (size, chunk) = self.text(at).split_once(':').unwrap_or((self.text(at), ""));
        // Without a suffix in MiB, as on the command line.
        let size = if size.bytes().all(|b| b.is_ascii_digit()) && !size.is_empty() {
            format!("{size}m")
        } else {
            size.to_owned()
        };
        let is_measured = !size.is_empty();
        put(work, "size", if is_measured { self.size(at, &size)? } else { 0 });
        let chunk = match self.form.chunk.map(|at| (at, self.text(at))) {
            Some((at, text)) if !text.is_empty() => Some(self.size(at, text)?),
            _ if !chunk.is_empty() => Some(self.size(at, chunk)?),
            _ => None,
        };
        chunk.into_iter().for_each(|chunk| put(work, "chunk", chunk));
        let has_characters = [0, 6].iter().any(|at| !self.text(self.form.data + at).is_empty());
        if is_measured && !has_characters {
            put(work, "characters", 0);
        }
        let seeks = self.form.seeks.into_iter().flat_map(|at| [(at, "seeks"), (at + 1, "seekers")]);
        for (at, key) in seeks.filter(|(at, _)| !self.text(*at).is_empty()) {
            put(work, key, self.count(at, self.text(at))?);
        }
        Ok(())
    }

    fn files_work(&self, work: &mut Table, notes: &mut Vec<String>) -> Result<(), Wrong> {
        let at = self.form.number;
        if self.text(at).is_empty() {
            return Ok(());
        }
        let (number, [max, min, directories, piece]) = if self.form.machine == 0 {
            let (sizes, directories) = self.text(at).split_once('/').unwrap_or((self.text(at), ""));
            let mut parts = sizes.split(':');
            let mut next = || parts.next().unwrap_or_default();
            let [number, max, min] = [next(), next(), next()];
            if parts.next().is_some() {
                return Err(self.wrong(at, "a number of files has at most number:max:min/directories"));
            }
            (number, [max, min, directories, ""])
        } else {
            (self.text(at), [1, 2, 3, 4].map(|more| self.text(at + more)))
        };
        put(work, "files", self.count(at, number)? * FILES);
        match max {
            "link" => drop(work.insert("links".into(), "hard".into())),
            "symlink" => drop(work.insert("links".into(), "symbolic".into())),
            "" => {}
            max => {
                let min = if min.is_empty() { 0 } else { self.size(at, min)? };
                let sizes = [min, self.size(at, max)?]
                    .map(|size| Value::from(i64::try_from(size).unwrap_or(i64::MAX)));
                work.insert("file_size".into(), Value::Array(sizes.into()));
            }
        }
        if !directories.is_empty() {
            put(work, "directories", self.count(at, directories)?);
            if !piece.is_empty() {
                put(work, "piece", self.size(at, piece)?);
            }
        } else if !piece.is_empty() && self.text(1) != "2.00a" {
            put(work, "piece", self.size(at + 4, piece)?);
        } else if !piece.is_empty() {
            // 2.00a writes the number of directories into the field named file chunk size.
            let folders = self.count(at + 4, piece)?;
            put(work, "directories", folders);
            notes.push(format!("{folders} is taken for the number of folders, which 2.00a writes into the field after its own"));
        }
        Ok(())
    }

    fn figures(&self, work: &Table) -> Result<Vec<Figure>, Wrong> {
        let mut figures = Vec::new();
        for (order, step) in STEPS.into_iter().enumerate() {
            let at = if order < 6 { self.form.data + 2 * order } else { self.form.files + 2 * (order - 6) };
            figures.extend(self.rate(at, step, work)?);
            figures.extend(self.share(at + 1, step)?);
            if let Some(latencies) = self.form.latencies {
                figures.extend(self.latency(latencies + order, step)?);
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
