//! Figures measured elsewhere by another program, in the format of `import.json`; stored beside copies of their source files.

use serde::{Deserialize, Serialize};
use toml::Table;

/// Schema version of `import.json`.
pub const SCHEMA: u32 = 1;

/// The contents of one tool's output files.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Import {
    pub schema: u32,
    /// Version of fsderby that imported them.
    pub fsderby: String,
    /// Version of the rules by which the sources were read; 0 in imports that do not say it.
    #[serde(default)]
    pub reading: u32,
    pub asked: Asked,
    pub sources: Vec<Source>,
    /// The results, in the order of the files.
    pub entries: Vec<Entry>,
}

/// The user's description of the files; importing again with the same description gives the same entries.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Asked {
    /// The tool that wrote them: `bonnie`.
    pub tool: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Naming>,
    /// The ready set (named workload) that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
}

/// A label that the user gave to some of the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Naming {
    /// A machine's name, a file, or `FILE:LINE`; all figures if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    pub label: String,
}

/// An imported file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Source {
    /// The original name of the file.
    pub name: String,
    /// Name of the file's copy in the import's folder.
    pub path: String,
    pub blake3: String,
    /// Number of lines without imported data.
    pub other_lines: usize,
    /// Contents without figures, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One result of the tool.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Entry {
    pub label: String,
    /// Index of the file that the result comes from, from 0.
    pub source: usize,
    /// First line of the result in that file, from 1.
    pub line: usize,
    /// The program and its version, if stated: `Bonnie++ 1.0x`.
    pub program: String,
    /// The tool's description of its work, as parameters of our workload or as counts.
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub work: Table,
    /// Corrections and uncertainties, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub figures: Vec<Figure>,
}

/// One figure as printed. The true value lies between `least` and `most`, given the printed digits and the tool's clock.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Figure {
    /// Name of the metric in fsderby.
    pub metric: String,
    pub unit: String,
    /// The printed value; absent if the tool could not measure it, in which case only a bound may be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
}
