//! The keys of a command.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::Table;

use crate::workloads::kit::Keys;

/// A command as it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// For `sh -c`.
    Shell(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

impl Line {
    /// In words, for messages.
    pub fn said(&self) -> String {
        match self {
            Line::Shell(text) => text.clone(),
            Line::Words(words) => shell_words::join(words),
        }
    }

    pub fn words(&self) -> Vec<&str> {
        match self {
            Line::Shell(text) => vec!["sh", "-c", text],
            Line::Words(words) => words.iter().map(String::as_str).collect(),
        }
    }
}

/// A file or folder that the command reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Absolute.
    pub path: PathBuf,
    /// BLAKE3 of names, types and content, in hexadecimal.
    pub blake3: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    pub command: Line,
    pub prepare: Option<Line>,
    /// Whether the pages of the prepared files are dropped before the command.
    pub cold: bool,
    /// Exit codes of the command that count as success.
    pub exit_codes: Vec<i32>,
    pub input: Vec<Input>,
}

const KEYS: &[&str] = &["command", "prepare", "cold", "exit_codes", "input"];

impl Parameters {
    /// # Errors
    /// Names the key, and what to write.
    pub fn parse(table: &Table) -> Result<Self, String> {
        let keys = Keys::of(table, KEYS)?;
        let parameters = Parameters {
            command: line(&keys, "command")?.ok_or("command is missing")?,
            prepare: line(&keys, "prepare")?,
            cold: keys.or("cold", false)?,
            exit_codes: keys.or("exit_codes", vec![0])?,
            input: keys.or("input", Vec::new())?,
        };
        parameters.folder()?;
        if parameters.cold && parameters.prepare.is_none() {
            return Err("cold = true drops the pages of what prepare wrote, and there is no prepare".into());
        }
        if let Some(code) = parameters.exit_codes.iter().find(|code| !(0..=255).contains(*code)) {
            return Err(format!("exit_codes: {code} is no exit code, which are 0 to 255"));
        }
        Ok(parameters)
    }

    /// The folder of all inputs, which the command finds as `$INPUT`; `None` without inputs.
    ///
    /// # Errors
    /// If a path is not absolute, or the inputs lie in different folders.
    pub fn folder(&self) -> Result<Option<&Path>, String> {
        let mut folders = self.input.iter().map(|input| match input.path.parent() {
            Some(folder) if input.path.is_absolute() => Ok(folder),
            _ => Err(format!("input {}: write an absolute path of a file or folder", input.path.display())),
        });
        let Some(first) = folders.next().transpose()? else { return Ok(None) };
        for folder in folders {
            let folder = folder?;
            if folder != first {
                return Err(format!(
                    "inputs lie in {} and {}, and $INPUT is one folder; put them, or links to them, into one",
                    first.display(),
                    folder.display()
                ));
            }
        }
        Ok(Some(first))
    }
}

/// A text for the shell, or a list of words.
fn line(keys: &Keys<'_>, key: &str) -> Result<Option<Line>, String> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Text(String),
        Words(Vec<String>),
    }
    let empty = || format!("{key} is empty: write a command line, or a list of words");
    match keys.get::<Written>(key)? {
        None => Ok(None),
        Some(Written::Text(text)) if text.trim().is_empty() => Err(empty()),
        Some(Written::Words(words)) if words.first().is_none_or(String::is_empty) => Err(empty()),
        Some(Written::Text(text)) if text.contains('\0') => Err(format!("{key} contains a zero byte")),
        Some(Written::Words(words)) if words.iter().any(|word| word.contains('\0')) => {
            Err(format!("{key} contains a zero byte"))
        }
        Some(Written::Text(text)) => Ok(Some(Line::Shell(text))),
        Some(Written::Words(words)) => Ok(Some(Line::Words(words))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Parameters, String> {
        Parameters::parse(&text.parse().expect("TOML"))
    }

    #[test]
    fn a_command_is_a_line_for_the_shell_or_words() {
        let shell = parse("command = 'tar xf $INPUT/src.tar'").unwrap();
        assert_eq!(shell.command.words(), ["sh", "-c", "tar xf $INPUT/src.tar"]);
        let words = parse("command = ['tar', 'xf', 'a b']").unwrap();
        assert_eq!(
            (words.command.words(), words.command.said()),
            (vec!["tar", "xf", "a b"], "tar xf 'a b'".into())
        );
    }

    #[test]
    fn a_mistake_names_its_key() {
        for (text, words) in [
            ("", "command is missing"),
            ("command = ''", "command is empty"),
            ("command = []", "command is empty"),
            ("command = 'x'\nprepare = ' '", "prepare is empty"),
            ("command = 'x'\ncold = true", "there is no prepare"),
            ("command = 'x'\nexit_codes = [300]", "300 is no exit code"),
            ("command = 'x'\ninputs = []", "did you mean 'input'?"),
            ("command = 'x'\ninput = [{ path = 'a', blake3 = '' }]", "absolute path"),
            (
                "command = 'x'\ninput = [{ path = '/a/b', blake3 = '' }, { path = '/c/d', blake3 = '' }]",
                "$INPUT is one folder",
            ),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
