//! The configuration: defaults for options, from the environment and from two files.
//!
//! ```text
//! command line > environment (FSDERBY_*) > the user's file > the system's file > built in
//! ```
//! An experiment's file counts as the command line. A stored plan is complete, so no configuration changes it.
//!
//! The files are `/etc/fsderby/config.toml` and `$XDG_CONFIG_HOME/fsderby/config.toml`, or else
//! `~/.config/fsderby/config.toml`. Below `sudo`, `~` is the home of the user who called it.

mod file;
pub mod variables;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::exit::Failure;
use crate::host::caller::caller;

/// The file of the system's administrator.
pub const SYSTEM: &str = "/etc/fsderby/config.toml";

/// What can be configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Results,
    Images,
    On,
    Cache,
    Machine,
    Margin,
}

/// A key of the files, and its variable.
pub struct Setting {
    pub key: Key,
    pub name: &'static str,
    pub variable: &'static str,
    /// The option that it is the default of.
    pub option: &'static str,
    pub built_in: &'static str,
    pub meaning: &'static str,
    /// Whether the value is the path of a folder.
    is_folder: bool,
}

/// In the order of [`Key`].
pub static TABLE: [Setting; 6] = [
    Setting {
        key: Key::Results,
        name: "results",
        variable: "FSDERBY_RESULTS",
        option: "--output DIR/NAME-DATE",
        built_in: "results, in the current folder",
        meaning: "Folder of new runs, imports and campaigns",
        is_folder: true,
    },
    Setting {
        key: Key::Images,
        name: "images",
        variable: "FSDERBY_IMAGES",
        option: "--on loop:DIR, --on vm:images=DIR",
        built_in: "/var/tmp",
        meaning: "Folder of image files, if a testbed names no folder",
        is_folder: true,
    },
    Setting {
        key: Key::On,
        name: "on",
        variable: "FSDERBY_ON",
        option: "--on TESTBED",
        built_in: "auto",
        meaning: "Testbed of experiments that name no testbed, or name `auto`",
        is_folder: false,
    },
    Setting {
        key: Key::Cache,
        name: "cache",
        variable: "FSDERBY_CACHE",
        option: "none",
        built_in: "$XDG_CACHE_HOME/fsderby, or ~/.cache/fsderby",
        meaning: "Folder of kernels, bundles and boot snapshots; you must own it",
        is_folder: true,
    },
    Setting {
        key: Key::Machine,
        name: "machine",
        variable: "FSDERBY_MACHINE",
        option: "--on model:DISK,machine=MACHINE",
        built_in: "the machine given in the disk's file",
        meaning: "Machine for a modelled disk, if --on, FSDERBY_ON or `on` states neither machine nor mips",
        is_folder: false,
    },
    Setting {
        key: Key::Margin,
        name: "margin",
        variable: "FSDERBY_MARGIN",
        option: "--margin MARGIN",
        built_in: "3%",
        meaning: "Smallest difference of interest in experiments that state no margin",
        is_folder: false,
    },
];

/// A configured value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub text: String,
    pub from: Source,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Variable(&'static str),
    File { path: PathBuf, line: usize },
}

impl fmt::Display for Source {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Variable(name) => to.write_str(name),
            Source::File { path, line } => write!(to, "{}, line {line}", path.display()),
        }
    }
}

/// The configured values of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config([Option<Value>; TABLE.len()]);

impl Config {
    pub fn get(&self, key: Key) -> Option<&Value> {
        self.0[key as usize].as_ref()
    }

    pub fn text(&self, key: Key) -> Option<String> {
        Some(self.get(key)?.text.clone())
    }

    /// The configured values, in the table's order.
    fn values(&self) -> impl Iterator<Item = (&'static Setting, &Value)> {
        TABLE.iter().filter_map(|setting| Some((setting, self.get(setting.key)?)))
    }

    /// # Errors
    /// If a file or a variable is wrong; names file, line and the nearest right key.
    pub fn read(
        files: &[File],
        home: Option<&Path>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, Failure> {
        let mut values: [Option<Value>; TABLE.len()] = Default::default();
        for file in files {
            for (key, value) in file::read(file)? {
                values[key as usize] = Some(value);
            }
        }
        for Setting { key, variable: name, .. } in &TABLE {
            // An empty variable is as good as none.
            if let Some(text) = variable(name).filter(|text| !text.is_empty()) {
                let text = text
                    .into_string()
                    .map_err(|text| Failure::usage(format!("{name}: {text:?} is not text")))?;
                values[*key as usize] = Some(Value { text, from: Source::Variable(name) });
            }
        }
        for setting in TABLE.iter().filter(|setting| setting.is_folder) {
            if let Some(value) = &mut values[setting.key as usize] {
                value.text =
                    folder(&value.text, home).map_err(|why| wrong(setting.name, &value.from, &why))?;
            }
        }
        Ok(Config(values))
    }
}

/// `on = vm, images = /srv/images`
impl fmt::Display for Config {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.values().map(|(setting, value)| format!("{} = {}", setting.name, value.text));
        match all.collect::<Vec<_>>().as_slice() {
            [] => to.write_str("built-in values"),
            some => to.write_str(&some.join(", ")),
        }
    }
}

/// A file that may exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub path: PathBuf,
    pub whose: Whose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    System,
    User,
    /// The user's who called `sudo`.
    Caller,
}

/// The files, the stronger one last.
pub fn files() -> Vec<File> {
    let given = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let user = match given("XDG_CONFIG_HOME") {
        Some(folder) => Some((folder, Whose::User)),
        None => home().map(|(home, whose)| (home.join(".config"), whose)),
    };
    let system = File { path: SYSTEM.into(), whose: Whose::System };
    let user = user.map(|(folder, whose)| File { path: folder.join("fsderby/config.toml"), whose });
    std::iter::once(system).chain(user).collect()
}

/// The home of the user who called `sudo`, or else of this user.
fn home() -> Option<(PathBuf, Whose)> {
    match caller() {
        Some(caller) => Some((caller.home()?, Whose::Caller)),
        None => {
            let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
            Some((home?, Whose::User))
        }
    }
}

/// The configuration, read once.
///
/// # Errors
/// See [`Config::read`].
pub fn get() -> Result<&'static Config, Failure> {
    static READ: OnceLock<Result<Config, Failure>> = OnceLock::new();
    let read = READ.get_or_init(|| {
        let home = home().map(|(home, _)| home);
        Config::read(&files(), home.as_deref(), |name| std::env::var_os(name))
    });
    read.as_ref().map_err(Clone::clone)
}

/// The error for a value that its option would refuse.
pub fn wrong(name: &str, from: &Source, why: &str) -> Failure {
    Failure::usage(match from {
        Source::Variable(variable) => format!("{variable}: {why}"),
        Source::File { .. } => format!("{from}: {name}: {why}"),
    })
}

/// An absolute path; `~/` is the user's home.
fn folder(text: &str, home: Option<&Path>) -> Result<String, String> {
    let path = match (text.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below).display().to_string(),
        _ => text.to_owned(),
    };
    match path.starts_with('/') {
        true => Ok(path),
        false => Err(format!("'{text}' is not an absolute path\n  try: /DIR or ~/DIR")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// The configuration of a system's and a user's file, and of variables.
    fn read(texts: [&str; 2], variables: &[(&str, &str)]) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = |(name, text): (&str, &str)| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            File { path, whose: Whose::User }
        };
        let files: Vec<File> = ["system", "user"].into_iter().zip(texts).map(file).collect();
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        let config = Config::read(&files, Some(Path::new("/root")), variable);
        config.map_err(|e| e.to_string().replace(&folder.path().display().to_string(), ""))
    }

    #[test]
    fn the_table_is_in_the_order_of_its_keys() {
        assert!(TABLE.iter().enumerate().all(|(at, setting)| setting.key as usize == at));
    }

    #[test]
    fn a_variable_is_stronger_than_the_users_file_and_that_than_the_systems() {
        let system = "on = 'loop'\nmargin = '1%'\nresults = '/srv/results'\n";
        let user = "# mine\nmargin = '2%'\non = 'vm'\n";
        let config =
            read([system, user], &[("FSDERBY_ON", "model:hdd-16tb"), ("FSDERBY_MARGIN", "")]).unwrap();
        let said = |key| config.get(key).map(|value| format!("{} {}", value.text, value.from));
        assert_eq!(said(Key::On).unwrap(), "model:hdd-16tb FSDERBY_ON");
        assert!(
            said(Key::Margin).unwrap().starts_with("2% ")
                && said(Key::Margin).unwrap().ends_with("user, line 2")
        );
        assert!(said(Key::Results).unwrap().ends_with("system, line 3"));
        assert_eq!(said(Key::Cache), None);
        assert_eq!(read(["", ""], &[]), Ok(Config::default()));
    }

    #[test]
    fn a_wrong_file_is_named_with_its_line_and_the_nearest_key() {
        for (text, words) in [
            ("\nimage = '/srv'\n", "/user, line 2: unknown key 'image'; did you mean 'images'?"),
            (
                "on = 'vm'\nmargin = 3\n",
                "/user, line 2: margin is a whole number, not text\n  try: margin = \"3%\"",
            ),
            ("[on]\na = 1\n", "/user, line 1: on is a table, not text"),
            ("on = 'vm'\non = 'loop'\n", "line 2, column 1"),
            (
                "results = 'here'\n",
                "/user, line 1: results: 'here' is not an absolute path\n  try: /DIR or ~/DIR",
            ),
        ] {
            let said = read(["", text], &[]).unwrap_err();
            assert!(said.contains(words), "{text}: {said}");
        }
        let said = read(["", ""], &[("FSDERBY_CACHE", "cache")]).unwrap_err();
        assert!(said.starts_with("FSDERBY_CACHE: 'cache' is not an absolute path"), "{said}");
    }

    #[test]
    fn a_tilde_is_the_home() {
        let config = read(["images = '~/images'", ""], &[]).unwrap();
        assert_eq!(config.text(Key::Images), Some("/root/images".to_owned()));
    }
}
