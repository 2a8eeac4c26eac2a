//! Figures that another program measured elsewhere, as `import.json` has them: stored data, beside copies of the files that they
//! were read from.

use serde::{Deserialize, Serialize};
use toml::Table;

/// Of `import.json`.
pub const SCHEMA: u32 = 1;

/// What files of one tool say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Import {
    pub schema: u32,
    /// The version of fsderby that read them.
    pub fsderby: String,
    pub asked: Asked,
    pub sources: Vec<Source>,
    /// In the order in which they stand in the files.
    pub entries: Vec<Entry>,
}

/// What the user said of the files: with the same the same entries are read again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Whose output they are: `bonnie`.
    pub tool: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Naming>,
    /// The ready set whose work was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
}

/// Under which label figures are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Naming {
    /// A machine's name, a file, or `FILE:LINE`; everything where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    pub label: String,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// As it was called.
    pub name: String,
    /// The copy in the import's folder.
    pub path: String,
    pub blake3: String,
    /// Lines that say nothing of what is imported.
    pub other_lines: usize,
    /// What was seen in it and gives no figures, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One result of the tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub label: String,
    /// Which of the sources, from 0.
    pub source: usize,
    /// Where it begins there, from 1.
    pub line: usize,
    /// The program and its version, as far as it says so: `Bonnie++ 1.0x`.
    pub program: String,
    /// What the tool says of its work, as parameters of the workload here, or as counts.
    pub work: Table,
    /// What was mended, and what of it is not certain, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub figures: Vec<Figure>,
}

/// One figure. It is what was printed; what it may have been lies between `least` and `most`, by its digits and the tool's clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The metric's name here.
    pub metric: String,
    pub unit: String,
    /// Absent where the tool could not tell: then a bound alone may be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
}
