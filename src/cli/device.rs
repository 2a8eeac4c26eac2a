//! `fsderby device`: the disks that may be formatted.

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;

use clap::Subcommand;
use comfy_table::{ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::list::PIPED;
use super::output::{print_json, print_line};
use super::pages::VERSION;
use crate::devices::{self, Check, Content, Described, Examined, Mark, Refusal, Word};
use crate::exit::{self, Failure};
use crate::text::visible::visible;

#[derive(Subcommand)]
pub enum Device {
    /// List every disk: what is on it, who uses it, and whether you may claim it, so that fsderby can format it
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Allow runs of fsderby to format this disk or LVM volume, which must be unused and empty; writes fsderby's marks to the disk
    Claim {
        /// Serial number, world-wide name, name in /dev/disk/by-id, or UUID of an LVM volume; never a kernel name such as sdb
        id: String,
        /// Read the whole disk to check that it is empty, however long that takes
        #[arg(long)]
        full: bool,
        /// The disk's serial number a second time, so that the command does not ask you to type it
        #[arg(long, value_name = "SERIAL")]
        yes_erase: Option<String>,
        /// Claim a disk although it holds data that you do not need. SENTENCE is the sentence about the data that `claim`
        /// printed when it refused the disk
        #[arg(long, value_name = "SENTENCE")]
        holds_data: Option<String>,
    },
    /// Remove the marks of a claim from the disk, and nothing else
    Release {
        /// The ID under which the disk was claimed
        id: String,
    },
}

pub fn run(command: &Device) -> anyhow::Result<ExitCode> {
    match command {
        Device::List { json } => list(*json)?,
        Device::Claim { id, full, yes_erase, holds_data } => {
            claim(id, *full, yes_erase.as_deref(), holds_data.as_deref())?;
        }
        Device::Release { id } => {
            let (mark, damage) = devices::release(id).map_err(failure)?;
            if let Some(damage) = damage {
                super::say(&format!("note: {}; only what fsderby wrote was removed", damage.what));
            }
            print_line(&format!("released {}; what runs have written to it is still there", named(&mark)))?;
        }
    }
    Ok(ExitCode::from(exit::OK))
}

fn named(Mark { id, model, .. }: &Mark) -> String {
    if model.is_empty() { id.clone() } else { format!("{id} ({model})") }
}

fn failure(why: Refusal) -> anyhow::Error {
    let code = if why.check == Check::Confirmation { exit::USAGE } else { exit::MISSING };
    Failure::new(code, why.to_string()).into()
}

/// `fsderby device list --json`.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Page {
    schema_version: u32,
    disks: Vec<Listed>,
}

/// A disk, and what speaks against claiming it.
#[derive(Serialize, schemars::JsonSchema)]
struct Listed {
    #[serde(flatten)]
    disk: Described,
    /// The name to claim it by.
    id: Option<String>,
    /// A name of the claimed disk that does not tell its serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    /// When it was claimed on this machine.
    claimed: Option<String>,
    may_be_claimed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Listed {
    fn of(disk: &Described, obstacle: Option<Refusal>, all: &[Described], claims: &[Mark]) -> Self {
        let id = disk.is_one_of_a_kind(all).ok();
        let claim = claims.iter().find(|mark| Some(&mark.id) == id.as_ref());
        // Without whole marks it is not claimed, whatever the copy says.
        let claim = claim.filter(|_| obstacle.as_ref().is_some_and(|why| why.check == Check::Claimed));
        let reason = obstacle.map(|why| why.what);
        Listed {
            disk: disk.clone(),
            hash: claim.map(devices::hash),
            claimed: claim.map(|mark| mark.time.clone()),
            may_be_claimed: reason.is_none(),
            reason,
            id,
        }
    }

    fn in_words(&self) -> String {
        match (&self.claimed, &self.reason) {
            (Some(_), _) => format!("claimed: --on device:{}", self.id.as_deref().unwrap_or_default()),
            (None, None) => "yes, if it is empty".into(),
            (None, Some(reason)) => format!("no: {reason}"),
        }
    }
}

fn list(json: bool) -> anyhow::Result<()> {
    // Otherwise a disk would be listed as in use by a run that was killed.
    devices::clear_left();
    let (all, claims) = (devices::all(), devices::claims());
    let found = all.iter().zip(devices::obstacles(&all));
    let listed: Vec<Listed> =
        found.map(|(disk, obstacle)| Listed::of(disk, obstacle, &all, &claims)).collect();
    if json {
        return print_json(&Page { schema_version: VERSION, disks: listed });
    }
    if listed.is_empty() {
        return print_line("this machine has no disk");
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if !io::stdout().is_terminal() {
        table.set_width(PIPED);
    }
    table.set_header(["serial number", "name", "size", "model", "may be claimed"]);
    for row in &listed {
        let Described { name, size, model, partitions, .. } = &row.disk;
        let id = row.id.as_deref().or(row.disk.serial.as_deref()).unwrap_or("–");
        table.add_row([
            visible(id).as_ref(),
            name,
            &size.to_string(),
            visible(model).as_ref(),
            visible(&row.in_words()).as_ref(),
        ]);
        for part in partitions {
            table.add_row(["", &part.name, &part.size.to_string(), "", ""]);
        }
    }
    table.to_string().lines().try_for_each(|line| print_line(line.trim_end()))
}

fn claim(id: &str, full: bool, yes: Option<&str>, holds_data: Option<&str>) -> anyhow::Result<()> {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("reading {bytes} of {total_bytes}, {eta} left {wide_bar}")
    {
        bar.set_style(style);
    }
    let mut progress = |read, all| {
        bar.set_length(all);
        bar.set_position(read);
    };
    let examined = devices::examine(id, full, &mut progress);
    bar.finish_and_clear();
    let examined = examined.map_err(failure)?;
    if let Some(shared) = examined.shared() {
        super::say(&format!("note: {shared}"));
    }
    let word = match yes {
        Some(typed) => Word { id: typed.to_owned(), phrase: holds_data.map(str::to_owned) },
        None => asked(&examined, holds_data)?,
    };
    let mark = examined.claim(&word).map_err(failure)?;
    let (id, range) = (&mark.id, mark.range().length);
    print_line(&format!(
        "claimed {}: runs may format {range} of it\n\n  fsderby run quick --on device:{id}\n\n\
        To keep the serial number out of records: --on device:{}",
        named(&mark),
        devices::hash(&mark)
    ))
}

/// What the user types at the terminal.
fn asked(examined: &Examined, holds_data: Option<&str>) -> anyhow::Result<Word> {
    let Described { name, model, size, .. } = examined.about();
    let id = examined.id();
    let seen = match &examined.content {
        Content::Zeros { read, whole: true } => format!("all of it was read, and is zero ({read})"),
        Content::Zeros { read, whole: false } => {
            format!("{read} of it were read, at both ends and at random, and are zero")
        }
        Content::Data(data) => format!("it holds data {}", data.in_words()),
    };
    let model = if model.is_empty() { "no model name" } else { model };
    super::say(&format!("{id}: {model}, {size}, {name} at present; nothing uses it; {seen}"));
    let phrase = match (examined.phrase(), holds_data) {
        (Some(phrase), None) if io::stdin().is_terminal() => {
            Some(line(&format!("All of it will be lost. To go on, type: {phrase}"))?)
        }
        (_, given) => given.map(str::to_owned),
    };
    if !io::stdin().is_terminal() {
        // Says first what else is missing.
        examined.is_meant(&Word { id: id.to_owned(), phrase }).map_err(failure)?;
        let text =
            format!("the serial number must be typed, and there is no terminal\n  try: --yes-erase {id}");
        return Err(Failure::usage(text).into());
    }
    Ok(Word { id: line("Runs will format this disk. To claim it, type its serial number:")?, phrase })
}

fn line(question: &str) -> anyhow::Result<String> {
    super::say(question);
    io::stderr().flush()?;
    let mut typed = String::new();
    io::stdin().lock().read_line(&mut typed)?;
    Ok(typed.trim().to_owned())
}
