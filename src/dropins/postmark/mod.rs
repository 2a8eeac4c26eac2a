//! The original's commands, prompts, reports and error messages, with fsderby's engine.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::Command as Process;

pub mod console;
mod files;
pub mod report;
mod run;
mod settings;
mod text;

use console::Console;
use settings::{Complaint, Settings};

use crate::host::caller::append;
use crate::schema::units::MIB;
use crate::workloads::postmark::rules::Rules;

/// Script that is read unless the command line names exactly one script.
const DEFAULT_SCRIPT: &str = ".pmrc";

/// Most nested `load` commands. PostMark itself goes on until it runs out of file descriptors, by default 1024.
pub const DEEPEST_LOAD: usize = 1000;

/// Whether the session continues.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Quit,
}

/// Whether a run was refused because it would have crashed PostMark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused(pub bool);

pub struct Session<'c> {
    console: Console<'c>,
    settings: Settings,
    depth: usize,
    refused: Refused,
}

struct Command {
    name: &'static str,
    help: &'static str,
    act: Act,
}

enum Act {
    Set(fn(&mut Settings, Option<&[u8]>) -> Result<(), Complaint>),
    Do(fn(&mut Session<'_>, Option<&[u8]>) -> io::Result<Flow>),
}

/// All commands, in the order in which they are matched and listed by `help`.
const COMMANDS: &[Command] = &[
    command("set size", "Sets low and high bounds of files", Act::Set(Settings::size)),
    command("set number", "Sets number of simultaneous files", Act::Set(Settings::number)),
    command("set seed", "Sets seed for random number generator", Act::Set(Settings::seed)),
    command("set transactions", "Sets number of transactions", Act::Set(Settings::transactions)),
    command("set location", "Sets location of working files", Act::Set(Settings::location)),
    command("set subdirectories", "Sets number of subdirectories", Act::Set(Settings::subdirectories)),
    command("set read", "Sets read block size", Act::Set(Settings::read)),
    command("set write", "Sets write block size", Act::Set(Settings::write)),
    command("set buffering", "Sets usage of buffered I/O", Act::Set(Settings::buffering)),
    command("set bias read", "Sets the chance of choosing read over append", Act::Set(Settings::bias_read)),
    command(
        "set bias create",
        "Sets the chance of choosing create over delete",
        Act::Set(Settings::bias_create),
    ),
    command("set report", "Choose verbose or terse report format", Act::Set(Settings::report)),
    command(
        "run",
        "Runs one iteration of benchmark",
        Act::Do(|session, parameter| session.run_once(parameter)),
    ),
    command("load", "Read configuration file", Act::Do(|session, parameter| session.load(parameter))),
    command("show", "Displays current configuration", Act::Do(|session, parameter| session.show(parameter))),
    command("help", "Prints out available commands", Act::Do(|session, parameter| session.help(parameter))),
    command("quit", "Exit program", Act::Do(|session, parameter| session.quit(parameter))),
];

const fn command(name: &'static str, help: &'static str, act: Act) -> Command {
    Command { name, help, act }
}

/// The settings at the end of a script, without running its commands.
pub fn rules(mut script: &[u8]) -> Rules {
    let mut settings = Settings::default();
    while let Some(line) = text::next_line(&mut script) {
        if let Some((Command { act: Act::Set(set), .. }, parameter)) = command_of(&line) {
            // A wrong parameter leaves the setting unchanged, as in a run.
            let _ = set(&mut settings, parameter);
        }
    }
    settings.rules
}

/// The command at the beginning of a line, and its parameter. One byte of any value separates the two.
fn command_of(line: &[u8]) -> Option<(&'static Command, Option<&[u8]>)> {
    COMMANDS.iter().find_map(|c| line.strip_prefix(c.name.as_bytes()).map(|rest| (c, rest.get(1..))))
}

/// Whether a script is a character device whose first mebibyte has no end, such as /dev/zero. PostMark reads it for ever.
fn is_endless(file: &fs::File) -> bool {
    let is_device = file.metadata().is_ok_and(|data| data.file_type().is_char_device());
    let sink = || io::copy(&mut file.take(MIB), &mut io::sink());
    is_device && !file.is_terminal() && sink().is_ok_and(|bytes| bytes == MIB)
}

impl<'c> Session<'c> {
    pub fn new(console: Console<'c>) -> Self {
        Session { console, settings: Settings::default(), depth: 0, refused: Refused::default() }
    }

    /// Runs the whole program: the script, then the commands typed.
    pub fn start(mut self, script: Option<&OsStr>) -> io::Result<Refused> {
        self.console.print("PostMark v1.51 : 8/14/01\n")?;
        let script = script.unwrap_or(OsStr::new(DEFAULT_SCRIPT));
        if self.read_script(script.as_bytes())? != Some(Flow::Quit) {
            self.ask()?;
        }
        self.console.out.flush()?;
        Ok(self.refused)
    }

    fn ask(&mut self) -> io::Result<()> {
        loop {
            self.console.print("pm>")?;
            self.console.out.flush()?;
            let Some(line) = text::next_line(self.console.input) else { return Ok(()) };
            let flow = match line.as_slice() {
                b"?" => self.help(None)?,
                b"exit" => Flow::Quit,
                line => self.obey(line)?,
            };
            if flow == Flow::Quit {
                return Ok(());
            }
        }
    }

    /// How the script ended; `None` if the script cannot be read.
    fn read_script(&mut self, name: &[u8]) -> io::Result<Option<Flow>> {
        let path = Path::new(OsStr::from_bytes(name));
        let Some(file) = fs::File::open(path).ok().filter(|_| self.depth < DEEPEST_LOAD) else {
            return Ok(None);
        };
        self.console.print([b"Reading configuration from file '", name, b"'\n"].concat())?;
        if is_endless(&file) {
            let text = [b"the configuration file '", name, b"' is a device without an end"].concat();
            self.console.error(&text)?;
            self.refused = Refused(true);
            return Ok(Some(Flow::Quit));
        }
        self.depth += 1;
        let flow = self.obey_all(&mut BufReader::new(file));
        self.depth -= 1;
        flow.map(Some)
    }

    fn obey_all(&mut self, script: &mut dyn BufRead) -> io::Result<Flow> {
        while let Some(line) = text::next_line(script) {
            if self.obey(&line)? == Flow::Quit {
                return Ok(Flow::Quit);
            }
        }
        Ok(Flow::Next)
    }

    fn obey(&mut self, line: &[u8]) -> io::Result<Flow> {
        if let Some(command) = line.strip_prefix(b"!") {
            return self.shell(command);
        }
        let Some((command, parameter)) = command_of(line) else {
            self.console.print("Eh?\n")?;
            return Ok(Flow::Next);
        };
        match command.act {
            Act::Do(act) => act(self, parameter),
            Act::Set(set) => {
                if let Err(complaint) = set(&mut self.settings, parameter) {
                    self.console.error(&complaint)?;
                }
                Ok(Flow::Next)
            }
        }
    }

    fn shell(&mut self, command: &[u8]) -> io::Result<Flow> {
        self.console.out.flush()?;
        let shell = std::env::var_os("SHELL").unwrap_or_default();
        let command = if command.is_empty() { shell.as_os_str() } else { OsStr::from_bytes(command) };
        // The shell reports its result.
        let _ = Process::new("/bin/sh").arg("-c").arg(command).status();
        Ok(Flow::Next)
    }

    fn load(&mut self, name: Option<&[u8]>) -> io::Result<Flow> {
        match name {
            None => self.console.error(b"no configuration file specified")?,
            Some(name) => {
                if self.read_script(name)?.is_none() {
                    let text = [b"cannot read configuration file '", name, b"'"].concat();
                    self.console.error(&text)?;
                }
            }
        }
        Ok(Flow::Next)
    }

    fn help(&mut self, prefix: Option<&[u8]>) -> io::Result<Flow> {
        let prefix = prefix.unwrap_or_default();
        let known = COMMANDS.iter().any(|c| c.name.as_bytes().starts_with(prefix));
        for Command { name, help, .. } in COMMANDS {
            if !known || name.as_bytes().starts_with(prefix) {
                self.console.print(format!("{name} - {help}\n"))?;
            }
        }
        Ok(Flow::Next)
    }

    fn quit(&mut self, _parameter: Option<&[u8]>) -> io::Result<Flow> {
        Ok(Flow::Quit)
    }

    fn show(&mut self, name: Option<&[u8]>) -> io::Result<Flow> {
        let folder = std::env::current_dir().unwrap_or_default().into_os_string().into_vec();
        let [head, locations, rest] = self.settings.show(&folder);
        match self.output(name)? {
            Some(mut file) => {
                file.write_all(&[head, rest].concat())?;
                self.console.print(locations)?;
            }
            None => self.console.print([head, locations, rest].concat())?,
        }
        Ok(Flow::Next)
    }

    /// The file to which the report is appended; standard output if no file is named or the file cannot be opened.
    fn output(&mut self, name: Option<&[u8]>) -> io::Result<Option<fs::File>> {
        let Some(name) = name else { return Ok(None) };
        let file = append(Path::new(OsStr::from_bytes(name))).ok();
        if file.is_none() {
            self.console.error(&[b"Cannot direct output to file '", name, b"'"].concat())?;
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::postmark::rules::Location;
    use proptest::prelude::*;

    fn line() -> impl Strategy<Value = Vec<u8>> {
        let names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        let numbers = "[ +-]{0,2}[0-9]{0,12}( [0-9]{1,12}){0,2}".prop_map(String::into_bytes);
        let parameter = prop_oneof![numbers, any::<Vec<u8>>(), Just(b"true".to_vec())];
        (prop::sample::select(names), parameter)
            .prop_map(|(name, parameter)| [name.as_bytes(), b" ", &parameter, b"\n"].concat())
    }

    #[test]
    fn a_script_sets_what_it_was_made_from() {
        let locations = vec![Location { path: b"a".to_vec(), weight: 3 }];
        let made = Rules { locations, bias_read: None, subdirectories: 4, seed: 7, ..Rules::default() };
        assert_eq!(rules(&made.script()), made);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_script(script: Vec<u8>) {
            rules(&script);
        }

        #[test]
        fn whatever_is_set_can_be_run_or_is_refused(lines in prop::collection::vec(line(), 0..40)) {
            let rules = rules(&lines.concat());
            prop_assert!(0 < rules.low && rules.low <= rules.high);
            prop_assert!(rules.number > 0 && rules.transactions > 0 && rules.seed > 0);
            prop_assert!(rules.read_block > 0 && rules.write_block > 0);
            prop_assert!(rules.locations.iter().all(|l| l.weight > 0 && !l.path.contains(&0)));
            let _ = rules.check();
        }
    }
}
