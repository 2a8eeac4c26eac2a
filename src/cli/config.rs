//! `fsderby config`: the configuration, and where each value comes from.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::output::{print_json, print_line, say};
use super::pages::VERSION;
use crate::config::{self, Config, Key, Setting, Source, TABLE, Value, Whose, variables, wrong};
use crate::exit::Failure;
use crate::schema::units::Percent;
use crate::testbeds::model::machines::Machine;
use crate::testbeds::{self, AUTO};
use crate::text::names;

#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Show each value and where it comes from: the environment, a file, or built in
    Show(Show),
}

#[derive(Args)]
pub struct Show {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `fsderby config show --json`.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Page {
    schema_version: u32,
    settings: Vec<Shown>,
    /// The files that are read, the stronger one last.
    files: Vec<FileShown>,
    variables: Vec<Variable>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Shown {
    key: &'static str,
    /// Absent: the built-in value counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    built_in: &'static str,
    source: SourceShown,
    variable: &'static str,
    /// The option of `fsderby run` that is stronger.
    option: &'static str,
    meaning: &'static str,
}

#[derive(Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum SourceShown {
    BuiltIn,
    Environment,
    File { path: String, line: usize },
}

#[derive(Serialize, schemars::JsonSchema)]
struct FileShown {
    path: String,
    whose: &'static str,
    /// `read`, `absent`, or why it cannot be reached.
    state: String,
}

/// A variable `FSDERBY_*`.
#[derive(Serialize, schemars::JsonSchema)]
struct Variable {
    name: String,
    /// `program`, `tests`, or `unknown`.
    of: &'static str,
    meaning: String,
    is_set: bool,
}

pub fn run(command: &ConfigCommand) -> anyhow::Result<ExitCode> {
    let ConfigCommand::Show(Show { json }) = command;
    let page = page(checked()?);
    if *json {
        print_json(&page)?;
    } else {
        print_line(&text(&page))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The configuration. Each value is one that its option would accept. Notes unknown variables.
///
/// # Errors
/// Names the file with its line, or the variable, and why the value is wrong.
pub fn checked() -> Result<&'static Config, Failure> {
    let config = config::get()?;
    for setting in &TABLE {
        if let Some(Value { text, from }) = config.get(setting.key) {
            check(setting.key, text).map_err(|why| wrong(setting.name, from, &why))?;
        }
    }
    for name in variables::unknown() {
        let known = names::unknown("variable", &name, TABLE.iter().map(|setting| setting.variable));
        say(&format!("note: {known}"));
    }
    Ok(config)
}

/// Folder of runs and imports unless `--output` is given.
pub fn results(config: &Config) -> PathBuf {
    config.text(Key::Results).unwrap_or_else(|| "results".to_owned()).into()
}

fn check(key: Key, text: &str) -> Result<(), String> {
    match key {
        Key::Results | Key::Cache => Ok(()),
        Key::Images if text.contains(',') => {
            Err(format!("'{text}' has a comma, which --on vm would not accept"))
        }
        Key::Images => Ok(()),
        Key::On if text == AUTO => Ok(()),
        Key::On => testbeds::named(text).map(drop),
        Key::Machine if text.contains('/') && !text.starts_with('/') => Err(format!(
            "'{text}' is not an absolute path\n  try: /DIR/FILE.toml, or a name of fsderby list machines"
        )),
        Key::Machine if text.contains(',') => {
            Err(format!("'{text}' has a comma, which --on model would not accept"))
        }
        Key::Machine => Machine::find(text).map(drop),
        Key::Margin => text.parse::<Percent>().map(drop),
    }
}

fn page(config: &Config) -> Page {
    let shown = |setting: &Setting| {
        let value = config.get(setting.key);
        let source = match value.map(|value| &value.from) {
            None => SourceShown::BuiltIn,
            Some(Source::Variable(_)) => SourceShown::Environment,
            Some(Source::File { path, line }) => {
                SourceShown::File { path: path.display().to_string(), line: *line }
            }
        };
        Shown {
            key: setting.name,
            value: value.map(|value| value.text.clone()),
            built_in: setting.built_in,
            source,
            variable: setting.variable,
            option: setting.option,
            meaning: setting.meaning,
        }
    };
    let file = |file: config::File| FileShown {
        state: match file.path.metadata() {
            Ok(_) => "read".to_owned(),
            Err(e) if e.kind() == ErrorKind::NotFound => "absent".to_owned(),
            Err(e) => e.to_string(),
        },
        path: file.path.display().to_string(),
        whose: match file.whose {
            Whose::System => "system",
            Whose::User => "user",
            Whose::Caller => "user who called sudo",
        },
    };
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let variable = |name: &str, of, meaning: &str| Variable {
        name: name.to_owned(),
        of,
        meaning: meaning.to_owned(),
        is_set: is_set(name),
    };
    let of_program = TABLE.iter().map(|setting| variable(setting.variable, "program", setting.meaning));
    let of_tests = variables::OF_TESTS.iter().map(|of| variable(of.name, "tests", of.meaning));
    let unknown = variables::unknown();
    let unknown = unknown.iter().map(|name| variable(name, "unknown", ""));
    Page {
        schema_version: VERSION,
        settings: TABLE.iter().map(shown).collect(),
        files: config::files().into_iter().map(file).collect(),
        variables: of_program.chain(of_tests).chain(unknown).collect(),
    }
}

fn text(page: &Page) -> String {
    let from = |shown: &Shown| match &shown.source {
        SourceShown::BuiltIn => "built in".to_owned(),
        SourceShown::Environment => shown.variable.to_owned(),
        SourceShown::File { path, line } => format!("{path}, line {line}"),
    };
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header(["key", "value", "from", "variable"]);
    for shown in &page.settings {
        let value = shown.value.as_deref().unwrap_or(shown.built_in);
        table.add_row([shown.key, value, &from(shown), shown.variable]);
    }
    let files = page.files.iter().map(|file| format!("\n  {} ({}, {})", file.path, file.whose, file.state));
    let others = page.variables.iter().filter(|variable| variable.is_set && variable.of == "tests");
    let others: Vec<&str> = others.map(|variable| variable.name.as_str()).collect();
    let others = match others.as_slice() {
        [] => String::new(),
        some => format!("\nOnly tests of fsderby read {}.", some.join(", ")),
    };
    format!(
        "{table}\n\nAn option is stronger than a variable, that than the user's file, and that than the system's.\nFiles:{}{others}",
        files.collect::<String>()
    )
}
