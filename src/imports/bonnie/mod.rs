//! Bonnie++'s lines of comma-separated values, in three forms: of versions 1.02 to 1.04, 1.93 to 1.97, and 1.98 and 2.00.
//!
//! A line is read as a line of Bonnie++ if it has enough fields and most fields are numbers or plus signs. Header lines, tables
//! and all other text are skipped.
//!
//! # Repair of lost commas
//! Lines are copied through web pages and slides, and some have lost commas: `++++,+++1651`. A field of plus signs and digits,
//! or of more than five plus signs, cannot be one figure, because Bonnie++ prints either a number or at most five plus signs.
//! Such a field is split where plus signs and digits meet. If the line then has the right number of fields, and plus signs come in
//! pairs of a rate and its CPU share, no other reading is possible, and the entry notes the repair. A line with any other defect is
//! refused, and the error states the position of the defect.

mod line;
mod mending;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use toml::Table;

use super::cleaning::{Cut, cleaned, note};
use super::{Part, Read, Tool, Wrong};
use crate::schema::units::Bytes;
use crate::workloads::bonnie::parameters::Parameters;
use crate::workloads::bonnie::rules::{Rules, Semantics, Small};
use crate::workloads::bonnie::trial::{STEPS, Step};

pub struct BonnieLines;

impl Tool for BonnieLines {
    fn name(&self) -> &'static str {
        "bonnie"
    }

    fn title(&self) -> &'static str {
        "Bonnie++"
    }

    fn engine(&self) -> &'static str {
        "bonnie"
    }

    fn story(&self) -> &'static str {
        "Bonnie++ counts K in 1024 bytes and prints plus signs for a phase of less than half a second: such a figure is not known, only \
         that it is more (>). Its lines do not say whether -b or -D was given, how many single characters 1.9x and 2.00 wrote, or how much \
         memory there was."
    }

    fn parts(&self) -> Vec<Part> {
        [Semantics::Classic, Semantics::Second].into_iter().flat_map(parts_of).collect()
    }

    fn read(&self, text: &str) -> Result<Read, Vec<Wrong>> {
        let (mut read, mut wrong) = (Read::default(), Vec::new());
        // Lines, and whether each stood in an `echo` command.
        let mut seen: HashMap<&str, bool> = HashMap::new();
        for (number, whole) in (1..).zip(text.lines()) {
            let clean = cleaned(whole);
            let text = clean.text.trim();
            let is_copy = clean.cut.contains(&Cut::Command);
            let is_twice = seen.get(text).is_some_and(|was_copy| is_copy || *was_copy);
            match line::read(number, clean.text, clean.before) {
                // A line in an `echo` command is a copy of a printed line, which counts once.
                Some(Ok(_)) if is_twice => read.other_lines += 1,
                Some(Ok(mut found)) => {
                    found.notes.extend(note(clean.cut));
                    read.found.push(found);
                    seen.insert(text, is_copy);
                }
                Some(Err(one)) => wrong.push(one),
                None => read.other_lines += 1,
            }
        }
        if wrong.is_empty() { Ok(read) } else { Err(wrong) }
    }

    fn unlike(&self, work: &Table, parameters: &Table) -> Result<Vec<String>, String> {
        let (there, here) = (Parameters::parse(work)?.rules, Parameters::parse(parameters)?.rules);
        Ok(differences(&there, &here))
    }

    fn described(&self, work: &Table) -> String {
        match Parameters::parse(work) {
            Err(_) => {
                work.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ")
            }
            Ok(Parameters { rules, .. }) => described(&rules),
        }
    }
}

/// The prefix of the names of a phase's metrics, which differs between the two semantics.
fn prefix(semantics: Semantics) -> &'static str {
    match semantics {
        Semantics::Classic => "bonnie-classic",
        Semantics::Second => "bonnie-2",
    }
}

/// The name of a rate: `bonnie-2.block-write.throughput`.
fn rate(semantics: Semantics, step: Step) -> String {
    let what = match step {
        Step::Seek | Step::Small(..) => "rate",
        _ => "throughput",
    };
    format!("{}.{}.{what}", prefix(semantics), step.phase())
}

/// The name of a CPU share: `bonnie-2.block-write.cpu`.
fn share(semantics: Semantics, step: Step) -> String {
    format!("{}.{}.cpu", prefix(semantics), step.phase())
}

/// The name of a phase's longest operation: `bonnie-2.block-write.latency`. No metric of fsderby has this name.
fn latency(semantics: Semantics, step: Step) -> String {
    format!("{}.{}.latency", prefix(semantics), step.phase())
}

/// The tables, arranged as Bonnie++ prints them: the heading of each table, and the range of its steps.
const TABLES: [(&str, std::ops::Range<usize>); 4] = [
    ("sequential output", 0..3),
    ("sequential input and seeks", 3..6),
    ("files in order", 6..9),
    ("files at random", 9..12),
];
const HEADINGS: [&str; 12] = [
    "per char", "block", "rewrite", "per char", "block", "seeks", "create", "stat", "delete", "create",
    "stat", "delete",
];

fn parts_of(semantics: Semantics) -> Vec<Part> {
    let steps = |range: std::ops::Range<usize>| STEPS[range.clone()].iter().zip(&HEADINGS[range]);
    let figures = TABLES.into_iter().map(|(title, range)| {
        let pair = |(step, heading): (&Step, &&'static str)| {
            [(rate(semantics, *step), *heading), (share(semantics, *step), "CPU")]
        };
        Part { title, columns: steps(range).flat_map(pair).collect() }
    });
    let longest = [("longest operation, data", 0..6), ("longest operation, files", 6..12)].into_iter();
    let longest = longest.filter(|_| semantics == Semantics::Second).map(|(title, range)| Part {
        title,
        columns: steps(range).map(|(step, heading)| (latency(semantics, *step), *heading)).collect(),
    });
    figures.chain(longest).collect()
}

fn differences(there: &Rules, here: &Rules) -> Vec<String> {
    let mut differences = Vec::new();
    let mut unlike = |differs: bool, what: &str, there: String, here: String| {
        if differs {
            differences.push(format!("{what} {there}, here {here}"));
        }
    };
    let version = |rules: &Rules| rules.semantics.name().to_owned();
    unlike(there.semantics != here.semantics, "semantics", version(there), version(here));
    let size = |rules: &Rules| Bytes(rules.bytes()).to_string();
    unlike(there.bytes() != here.bytes(), "a file of", size(there), size(here));
    if there.chunks > 0 && here.chunks > 0 {
        let chunk = |rules: &Rules| Bytes(rules.chunk.into()).to_string();
        unlike(there.chunk != here.chunk, "chunks of", chunk(there), chunk(here));
        let characters = |rules: &Rules| if rules.characters > 0 { "written" } else { "left out" }.to_owned();
        let (one, other) = (characters(there), characters(here));
        unlike(one != other, "single characters", one, other);
        let seeks = |rules: &Rules| format!("{} by {}", rules.seeks, rules.seekers);
        unlike(seeks(there) != seeks(here), "seeks:", seeks(there), seeks(here));
    }
    let files = |rules: &Rules| small(rules);
    unlike(files(there) != files(here), "small files:", files(there), files(here));
    differences
}

fn described(rules: &Rules) -> String {
    let data = (rules.chunks > 0).then(|| {
        let chunk = Bytes(rules.chunk.into());
        format!(
            "a file of {} in chunks of {chunk}, {} seeks by {}",
            Bytes(rules.bytes()),
            rules.seeks,
            rules.seekers
        )
    });
    let files = (rules.files > 0).then(|| small(rules));
    data.into_iter().chain(files).collect::<Vec<_>>().join("; ")
}

/// The small files in words: `16384 empty files`, `1024 files of 100 to 3000 bytes in 2 folders`.
fn small(rules: &Rules) -> String {
    let n = rules.files;
    let what = match rules.small {
        _ if n == 0 => return "none".to_owned(),
        Small::HardLinks => format!("{n} hard links"),
        Small::Symlinks => format!("{n} symbolic links"),
        Small::Files { max: 0, .. } => format!("{n} empty files"),
        Small::Files { min, max } if min == max => format!("{n} files of {max} bytes"),
        Small::Files { min, max } => format!("{n} files of {min} to {max} bytes"),
    };
    if rules.directories > 1 { format!("{what} in {} folders", rules.directories) } else { what }
}
