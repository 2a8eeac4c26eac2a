//! The keys of a command.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use toml::Table;

use crate::schema::units::Bytes;
use crate::workloads::kit::Keys;
use crate::workloads::programs::printed::{Described, Figure};
use crate::workloads::programs::{self, Input, Line, Sources, Success, folder};

#[derive(Clone, Debug)]
pub struct Parameters {
    pub command: Line,
    pub prepare: Option<Line>,
    /// Sources that are made before the preparation.
    pub tree: Option<Sources>,
    /// Whether a cold start comes between the preparation and the command.
    pub cold: bool,
    pub success: Success,
    /// The longest time of the command, and of its preparation.
    pub limit: Duration,
    pub input: Vec<Input>,
    /// The figures that the command prints.
    pub figures: Vec<Figure>,
    pub needs: Vec<Need>,
    /// The size of the largest file that the command writes; 0 if not stated.
    pub largest_file: Bytes,
    /// Names of programs without which the command cannot run.
    pub programs: Vec<String>,
}

/// A feature that the command needs from the filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    HardLinks,
    Symlinks,
    Preallocation,
    /// Owners and permission bits.
    Owners,
}

const KEYS: &[&str] = &[
    "command",
    "prepare",
    "tree",
    "cold",
    "exit_codes",
    "limit_seconds",
    "input",
    "largest_file",
    "metric",
    "needs",
    "programs",
];

impl Parameters {
    /// # Errors
    /// The error names the wrong key, and what to write instead.
    pub fn parse(table: &Table) -> Result<Self, String> {
        let keys = Keys::of(table, KEYS)?;
        let described: BTreeMap<String, Described> = keys.or("metric", BTreeMap::new())?;
        let limit = programs::limit(&keys)?;
        let parameters = Parameters {
            command: line(&keys, "command")?.ok_or("command is missing")?,
            prepare: line(&keys, "prepare")?,
            tree: keys.get::<Sources>("tree")?.map(Sources::checked).transpose()?,
            cold: keys.or("cold", false)?,
            success: success(&keys)?,
            limit,
            input: keys.or("input", Vec::new())?,
            figures: described
                .into_iter()
                .map(|(name, described)| Figure::parse(&name, described))
                .collect::<Result<_, _>>()?,
            needs: keys.or("needs", Vec::new())?,
            largest_file: keys.or("largest_file", Bytes(0))?,
            programs: keys.or("programs", Vec::new())?,
        };
        folder(&parameters.input)?;
        if parameters.cold && parameters.prepare.is_none() && parameters.tree.is_none() {
            return Err(
                "cold = true empties the caches after `prepare` or `tree`, but both are missing".into()
            );
        }
        let lines = [Some(&parameters.command), parameters.prepare.as_ref()];
        let names_input = |line: &&Line| {
            let text = line.said();
            text.contains("$INPUT") || text.contains("${INPUT")
        };
        if let (Some(line), true) =
            (lines.into_iter().flatten().find(names_input), parameters.input.is_empty())
        {
            return Err(format!(
                "'{}' reads $INPUT, but no input is given: --input PATH, or input = [\"PATH\"]",
                line.said()
            ));
        }
        let is_name = |name: &String| !name.is_empty() && !name.contains('/');
        if let Some(path) = parameters.programs.iter().find(|name| !is_name(name)) {
            return Err(format!("programs: '{path}': write the name of a program, such as git"));
        }
        Ok(parameters)
    }
}

/// The exit codes that count as success: `exit_codes = [0, 1]`, or `"any"`.
fn success(keys: &Keys<'_>) -> Result<Success, String> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Codes(Vec<i32>),
        Text(String),
    }
    match keys.get::<Written>("exit_codes")? {
        None => Ok(Success::zero()),
        Some(Written::Text(text)) if text == "any" => Ok(Success::Any),
        Some(Written::Text(text)) => {
            Err(format!("exit_codes = '{text}': write a list such as [0, 1], or 'any'"))
        }
        Some(Written::Codes(codes)) => match codes.iter().find(|code| !(0..=255).contains(*code)) {
            Some(code) => Err(format!("exit_codes: {code} is not an exit code; exit codes are 0 to 255")),
            None => Ok(Success::Codes(codes)),
        },
    }
}

/// A command line: a text for the shell, or a list of words.
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
        let shell = parse("command = 'tar xf ../src.tar'").unwrap();
        assert_eq!(shell.command.words(), ["sh", "-c", "tar xf ../src.tar"]);
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
            ("command = 'x'\ncold = true", "both are missing"),
            ("command = 'x'\ntree = { files = 0, seed = 1 }", "tree.files = 0: write a number"),
            ("command = 'x'\ntree = { files = 1 }", "seed"),
            ("command = 'x'\nprograms = ['/usr/bin/git']", "the name of a program"),
            ("command = 'x'\nexit_codes = [300]", "300 is not an exit code"),
            ("command = 'x'\nexit_codes = 'all'", "or 'any'"),
            ("command = 'x'\nlimit_seconds = 0", "from 1 to 3600"),
            ("command = 'x'\nneeds = ['quotas']", "symlinks"),
            ("command = 'x'\nlargest_file = 'much'", "largest_file"),
            ("command = 'tar xf $INPUT/a'", "no input is given"),
            ("command = 'x'\nprepare = 'cp ${INPUT}/a .'", "no input is given"),
            ("command = 'x'\nmetric.tps.find = 'x'", "metric.tps.find: put one pair"),
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
