//! `fsderby man`: the manual pages of all commands, and that of experiments.
//!
//! Options come from the command line's own description, examples and keys from the documents whose commands are tested, exit
//! codes from their table.

mod markdown;
mod sections;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Command, CommandFactory};
use clap_mangen::Man as Page;

use self::markdown::{columns, escaped, roff};
use super::Cli;
use super::output::print;
use crate::exit::Failure;
use crate::host::caller::{create_folders, write_new};
use crate::version;

/// Its sections have the examples of each command.
const EXAMPLES: &str = include_str!("../../../docs/reference/commands.md");
const EXPERIMENT: &str = include_str!("../../../docs/reference/experiment.md");
const CONFIGURATION: &str = include_str!("../../../docs/reference/configuration.md");

#[derive(Args)]
pub struct Man {
    /// Folder for the manual pages, one page per subcommand; default: print the main page
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub fn run(arguments: &Man) -> anyhow::Result<ExitCode> {
    let pages = pages()?;
    match &arguments.output {
        None => {
            let main = pages.iter().find(|(name, _)| name == "fsderby.1").context("there is no main page")?;
            print(&main.1)?;
        }
        Some(folder) => write(folder, &pages)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Overwrites no file and follows no link.
fn write(folder: &Path, pages: &[(String, String)]) -> anyhow::Result<()> {
    create_folders(folder).with_context(|| format!("could not create {}", folder.display()))?;
    let exists = |name: &String| folder.join(name).symlink_metadata().is_ok();
    if let Some((name, _)) = pages.iter().find(|(name, _)| exists(name)) {
        let path = folder.join(name);
        let text =
            format!("{} already exists and is not overwritten\n  try: an empty folder", path.display());
        return Err(Failure::usage(text).into());
    }
    for (name, page) in pages {
        let path = folder.join(name);
        let written = write_new(&path, |file| file.write_all(page.as_bytes()));
        written.with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(())
}

/// File names and texts of all manual pages.
fn pages() -> io::Result<Vec<(String, String)>> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = vec![("fsderby-experiment.5".to_owned(), experiment())];
    collect(command, &mut pages)?;
    Ok(pages)
}

/// The pages of this command and of those below it.
fn collect(command: Command, pages: &mut Vec<(String, String)>) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        collect(below.clone(), pages)?;
    }
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    pages.push((format!("{name}.1"), page(command, &name)?));
    Ok(())
}

fn page(command: Command, name: &str) -> io::Result<String> {
    let words = name.replace('-', " ");
    let is_main = name == "fsderby";
    let synopsis = synopsis(&command);
    let own_options = command.get_after_help().map(ToString::to_string).filter(|_| !is_main);
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set());
    let below: Vec<String> = shown.map(|below| format!("{words} {}", below.get_name())).collect();
    let is_parent = !below.is_empty();
    let man = Page::new(command);
    let rendered = |render: fn(&Page, &mut dyn Write) -> io::Result<()>| {
        let mut section = Vec::new();
        render(&man, &mut section)?;
        Ok::<String, io::Error>(String::from_utf8_lossy(&section).into_owned())
    };
    let mut page = head(name, 1);
    page += &rendered(Page::render_name_section)?;
    page += &format!(".SH SYNOPSIS\n{synopsis}");
    page += &rendered(Page::render_description_section)?;
    // The library sets possible values apart twice, and those of an argument without a text too.
    let options = rendered(Page::render_options_section)?;
    page += &bold_code(&options.replace(".br\n\n.br\n", ".sp\n").replace("\n\n.br\n", "\n"));
    if is_parent {
        page += &rendered(Page::render_subcommands_section)?.replace(".SH SUBCOMMANDS", ".SH COMMANDS");
    }
    if let Some(text) = own_options {
        page += &format!(".SH NOTES\n{}", columns(&text));
    }
    if name == "fsderby-config" {
        let (_, text) = CONFIGURATION.split_once('\n').unwrap_or_default();
        let (of_users, _) = text.split_once("\n## Variables of tests").unwrap_or((text, ""));
        page += &format!(".SH CONFIGURATION\n{}", roff(of_users));
    }
    // Those of the commands below it, where it has none of its own.
    let own = examples(&words).map(str::to_owned);
    let of_below = || below.iter().filter_map(|words| examples(words)).collect::<String>();
    let examples = own.unwrap_or_else(of_below);
    if !examples.is_empty() {
        page += &format!(".SH EXAMPLES\n{}", roff(&examples));
    }
    page += &sections::exit_status(name);
    page += &sections::files(name);
    page += &sections::environment(name);
    page += &sections::see_also(name);
    Ok(ascii(&page))
}

/// With the date of the commit, so that two builds of it give the same page.
fn head(name: &str, section: u8) -> String {
    let date = version::date().unwrap_or_default();
    format!(
        ".TH \"{}\" {section} \"{date}\" \"fsderby {}\" \"fsderby\"\n.nh\n.ad l\n",
        name.to_uppercase(),
        version::VERSION
    )
}

fn synopsis(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let lines = usage.lines().map(|line| line.trim_start_matches("Usage:").trim());
    let name = command.get_bin_name().unwrap_or("fsderby").to_owned();
    let bold = |line: &str| match line.strip_prefix(&name) {
        Some(rest) => format!("\\fB{}\\fR{}", escaped(&name), escaped(rest)),
        None => format!("\\fB{}\\fR {}", escaped(&name), escaped(line)),
    };
    lines.map(bold).collect::<Vec<_>>().join("\n.br\n") + "\n"
}

/// Help marks code as Markdown does. A list in it may be longer than a line: it may break behind a comma.
fn bold_code(section: &str) -> String {
    let bold = |part: &str| format!("\\fB{}\\fR", part.replace(',', ",\\:"));
    section
        .split('`')
        .enumerate()
        .map(|(n, part)| if n % 2 == 1 { bold(part) } else { part.to_owned() })
        .collect()
}

/// What stands in the document below the command's heading.
fn examples(words: &str) -> Option<&'static str> {
    let heading = format!("\n## {words}\n");
    let rest = &EXAMPLES[EXAMPLES.find(&heading)? + heading.len()..];
    Some(&rest[..rest.find("\n## ").unwrap_or(rest.len())])
}

fn experiment() -> String {
    let name = "fsderby-experiment";
    let (keys, example) = EXPERIMENT.split_once("\n## Example\n").unwrap_or((EXPERIMENT, ""));
    let title = "file that says what fsderby compares, how and how often";
    let page = head(name, 5)
        + &format!(".SH NAME\n{} \\- {title}\n.SH DESCRIPTION\n", escaped(name))
        + "An experiment is a TOML file. \\fBfsderby run FILE\\fR carries it out.\n"
        + &roff(keys)
        + &format!(".SH EXAMPLES\n{}", roff(example))
        + &sections::files(name)
        + &sections::see_also(name);
    ascii(&page)
}

/// Formatters disagree about the encoding of a page, and not about this.
fn ascii(page: &str) -> String {
    let letter = |c: char| if c.is_ascii() { c.to_string() } else { format!("\\[u{:04X}]", u32::from(c)) };
    page.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::{examples, pages};

    #[test]
    fn every_page_has_the_sections_that_a_reader_looks_for() {
        for (name, page) in pages().unwrap() {
            let is_command = name.ends_with(".1");
            let wanted = ["NAME", "DESCRIPTION", "FILES", "SEE ALSO"].into_iter();
            let of_commands = ["SYNOPSIS", "OPTIONS", "EXIT STATUS", "ENVIRONMENT"].into_iter();
            for section in wanted.chain(of_commands.filter(|_| is_command)) {
                assert!(page.contains(&format!(".SH {section}\n")), "{name} has no {section}:\n{page}");
            }
            assert!(page.contains(".SH EXAMPLES\n"), "{name} has no examples");
        }
    }

    #[test]
    fn the_examples_of_a_command_are_those_below_its_heading() {
        assert_eq!(
            examples("fsderby kernel list"),
            Some("\n```sh\nfsderby kernel list\nfsderby kernel list --json\n```\n")
        );
        assert_eq!(examples("fsderby kernel"), None);
    }
}
