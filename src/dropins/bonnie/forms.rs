//! The supported output formats, and the versions that they print.

use crate::text::names;
use crate::workloads::bonnie::lines::Layout;
use crate::workloads::bonnie::rules::Semantics;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    V103,
    V197,
    /// The format of 2.00a with two more fields: the chunk size and the write size of small files.
    V198,
    V200a,
}

const ALL: [(&str, Form); 4] =
    [("2.00a", Form::V200a), ("1.98", Form::V198), ("1.97", Form::V197), ("1.03", Form::V103)];

impl Form {
    pub fn find(name: &str) -> Result<Self, String> {
        let found = ALL.iter().find(|(own, _)| *own == name).map(|(_, form)| *form);
        found.ok_or_else(|| names::unknown("version", name, ALL.iter().map(|(own, _)| *own)))
    }

    /// The fields of a CSV line in this format; imports read lines by the same description.
    pub fn layout(self) -> Layout {
        match self {
            Form::V103 => Layout::Old,
            Form::V197 => Layout::V19x,
            Form::V198 | Form::V200a => Layout::V198,
        }
    }

    pub fn semantics(self) -> Semantics {
        self.layout().semantics()
    }

    /// Version printed above the tables.
    pub fn program(self) -> &'static str {
        match self {
            Form::V103 => "1.03e",
            Form::V197 => "1.97",
            Form::V198 | Form::V200a => "2.00a",
        }
    }

    /// Version of the CSV format; 1.03 does not print it.
    pub fn csv(self) -> &'static str {
        if self == Form::V197 { "1.97" } else { "1.98" }
    }

    pub fn has_latencies(self) -> bool {
        self != Form::V103
    }

    /// Progress messages of the character phases.
    pub fn characters(self) -> [&'static str; 2] {
        match self {
            Form::V103 => ["Writing with putc()", "Reading with getc()"],
            _ => ["Writing a byte at a time", "Reading a byte at a time"],
        }
    }
}
