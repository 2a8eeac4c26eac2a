//! A file of the configuration: who may have written it, and its keys.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use toml::de::{DeTable, DeValue};

use super::{File, Key, Source, TABLE, Value, Whose};
use crate::exit::Failure;
use crate::host::caller::caller;
use crate::host::stranger::{Who, who};
use crate::text::{mistakes, names};

/// Largest file; a larger one is something else.
const MOST: u64 = 1 << 16;
/// Readable by every user.
const OTHERS_READ: u32 = 0o004;
/// Can be entered by every user.
const OTHERS_ENTER: u32 = 0o001;

/// The values of a file; none if it does not exist.
pub fn read(file: &File) -> Result<Vec<(Key, Value)>, Failure> {
    let shown = file.path.display();
    match text(file) {
        Ok(Some(text)) => parsed(&text, &file.path),
        Ok(None) => Ok(Vec::new()),
        Err(Refused::Untrusted(path, who)) => {
            let other = if file.whose == Whose::System { "" } else { ", or XDG_CONFIG_HOME=DIR" };
            Err(Failure::usage(format!(
                "the configuration {shown} is not trusted: {path} {who}\n  try: chown and chmod go-w {path}{other}"
            )))
        }
        Err(Refused::Unreadable(e)) => {
            let remedy = match file.whose {
                Whose::System => format!("chmod a+r {shown}, as root"),
                Whose::User | Whose::Caller => {
                    "XDG_CONFIG_HOME=DIR, with a file that you can read".to_owned()
                }
            };
            Err(Failure::usage(format!("could not read the configuration {shown}: {e}\n  try: {remedy}")))
        }
    }
}

enum Refused {
    Untrusted(String, String),
    Unreadable(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Refused::Unreadable(error)
    }
}

fn text(file: &File) -> Result<Option<String>, Refused> {
    // The type is checked before the file is opened, so that no device is opened, and again after.
    match fs::metadata(&file.path) {
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        // A home that this user cannot enter, such as root's in the environment of a service, is not this user's.
        Err(e) if e.kind() == ErrorKind::PermissionDenied && file.whose != Whose::System => return Ok(None),
        about => is_regular(&about?)?,
    }
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(&file.path)?;
    let about = opened.metadata()?;
    is_regular(&about)?;
    // Where a link leads to is checked as well.
    let real = match fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())) {
        // A root without /proc, as build servers have it.
        Err(e) if e.kind() == ErrorKind::NotFound => fs::canonicalize(&file.path)?,
        real => real?,
    };
    let refused = |path: &Path, why| Err(Refused::Untrusted(path.display().to_string(), why));
    for path in [&file.path, &real].into_iter().filter_map(|path| path.parent()) {
        if let Some(why) = changed_by(&fs::metadata(path)?, file.whose) {
            return refused(path, why);
        }
    }
    if let Some(why) = changed_by(&about, file.whose) {
        return refused(&file.path, why);
    }
    if file.whose == Whose::Caller && !is_readable_by_caller(&about, &real)? {
        return refused(&file.path, "is not readable by the user who called sudo".to_owned());
    }
    let mut text = String::new();
    opened.take(MOST).read_to_string(&mut text)?;
    Ok(Some(text))
}

fn is_regular(about: &Metadata) -> io::Result<()> {
    match (about.is_file(), about.len() < MOST) {
        (true, true) => Ok(()),
        (true, false) => {
            Err(io::Error::new(ErrorKind::InvalidData, format!("it is larger than {MOST} bytes")))
        }
        (false, _) => Err(io::Error::new(ErrorKind::InvalidData, "it is not a regular file")),
    }
}

/// Who else may change a file or its folder.
fn changed_by(about: &Metadata, whose: Whose) -> Option<String> {
    let who = match whose {
        Whose::System if about.uid() != 0 => Some(Who::Owner(about.uid())),
        _ => who(about.uid(), about.gid(), about.mode()),
    };
    who.map(|who| who.to_string())
}

/// Root reads the caller's file with root's rights, so a link in the caller's home must not lead to a file that the caller cannot
/// read: errors quote it. A file of another user must be readable for everybody, and so must each folder above it.
fn is_readable_by_caller(about: &Metadata, real: &Path) -> io::Result<bool> {
    let is_callers = |about: &Metadata| caller().is_some_and(|caller| caller.uid == about.uid());
    if is_callers(about) {
        return Ok(true);
    }
    for folder in real.ancestors().skip(1) {
        let about = fs::metadata(folder)?;
        if !is_callers(&about) && about.mode() & OTHERS_ENTER == 0 {
            return Ok(false);
        }
    }
    Ok(about.mode() & OTHERS_READ != 0)
}

fn parsed(text: &str, path: &Path) -> Result<Vec<(Key, Value)>, Failure> {
    let table = DeTable::parse(text).map_err(|e| {
        Failure::usage(format!("could not parse {}: {}", path.display(), mistakes::in_words(&e)))
    })?;
    let mut values = Vec::new();
    for (name, value) in table.get_ref() {
        let line = text[..name.span().start].lines().count().max(1);
        let line = if text[..name.span().start].ends_with('\n') { line + 1 } else { line };
        let from = Source::File { path: path.to_owned(), line };
        let name = name.get_ref().as_ref();
        let Some(setting) = TABLE.iter().find(|setting| setting.name == name) else {
            let unknown = names::unknown("key", name, TABLE.iter().map(|setting| setting.name));
            return Err(Failure::usage(format!(
                "{from}: {unknown}\n  try: one of these keys, or remove the line"
            )));
        };
        let DeValue::String(text) = value.get_ref() else {
            let text = format!(
                "{from}: {name} is {}, not text\n  try: {}",
                kind(value.get_ref()),
                example(setting.key)
            );
            return Err(Failure::usage(text));
        };
        values.push((setting.key, Value { text: text.to_string(), from }));
    }
    Ok(values)
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// A line that would be right.
fn example(key: Key) -> String {
    let (name, value) = match key {
        Key::Results => ("results", "~/results"),
        Key::Images => ("images", "/srv/images"),
        Key::On => ("on", "vm"),
        Key::Cache => ("cache", "~/.cache/fsderby"),
        Key::Machine => ("machine", "server-2024"),
        Key::Margin => ("margin", "3%"),
    };
    format!("{name} = \"{value}\"")
}
