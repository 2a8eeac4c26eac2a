//! A candidate as a user writes it: a table of an experiment, or a command-line argument; and a workload likewise.

use serde::Deserialize;
use toml::Table;

use super::eras::{self, Options};
use crate::schema::plan::{Candidate, Factors};
use crate::schema::setup::Variant;
use crate::schema::units::Bytes;
use crate::testbeds;
use crate::text::names;

/// The kind of a candidate on a directory until what is mounted there is looked at. Its label begins with it too, unless the user
/// gives one.
pub const MOUNTED: &str = "mounted";

/// `[[filesystem]]`, or `--filesystem 'KIND label="no atime" mount=noatime'`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FilesystemEntry {
    /// [`MOUNTED`] on a directory, unless a kind is expected there.
    pub kind: String,
    pub label: Option<String>,
    pub mkfs: Vec<String>,
    pub mount: Vec<String>,
    pub conversion: bool,
    /// The era whose options come before the options that this entry states.
    pub era: Option<String>,
    /// Value of the setting `kernel=` for the testbed in `on`, if `on` does not have this setting.
    pub kernel: Option<String>,
    // Not flattened, so that an error names its line.
    pub on: Option<String>,
    pub memory: Option<Bytes>,
    pub cpus: Option<u32>,
    pub layers: Option<Vec<String>>,
    pub state: Option<String>,
    /// Whether this filesystem takes part only if the testbed supports it; `auto` chooses no testbed for its sake.
    pub optional: bool,
    /// The era whose options `mkfs` and `mount` already contain.
    #[serde(skip)]
    pub has_era: Option<String>,
}

/// The keys of an entry, for suggestions.
pub const FILESYSTEM_KEYS: [&str; 13] = [
    "kind",
    "label",
    "mkfs",
    "mount",
    "era",
    "kernel",
    "on",
    "memory",
    "cpus",
    "layers",
    "state",
    "conversion",
    "optional",
];
/// Keys with a value on the command line.
const WITH_VALUE: [&str; 10] =
    ["label", "mkfs", "mount", "era", "kernel", "on", "memory", "cpus", "layer", "state"];
/// Value of `layer=` for an entry that has no layers, although the experiment has layers for the other entries.
const NONE: &str = "none";
const WRITTEN: &str =
    "label=…, mount=…, mkfs=…, era=…, kernel=…, on=…, memory=…, cpus=…, layer=…, state=…, conversion";

impl Default for FilesystemEntry {
    fn default() -> Self {
        FilesystemEntry::of_kind(MOUNTED)
    }
}

impl FilesystemEntry {
    pub fn of_kind(kind: &str) -> Self {
        FilesystemEntry {
            kind: kind.to_owned(),
            label: None,
            mkfs: Vec::new(),
            mount: Vec::new(),
            conversion: false,
            era: None,
            kernel: None,
            on: None,
            memory: None,
            cpus: None,
            layers: None,
            state: None,
            optional: false,
            has_era: None,
        }
    }

    /// The setup values that this entry states, as written.
    pub fn own(&self) -> Factors {
        Factors {
            on: self.on.clone(),
            memory: self.memory,
            cpus: self.cpus,
            layers: self.layers.clone(),
            state: self.state.clone(),
        }
    }

    /// The entry that yields this candidate.
    pub fn of_candidate(candidate: Candidate) -> Self {
        let Candidate { label, kind, own, variant, era } = candidate;
        let (Factors { on, memory, cpus, layers, state }, Variant { mkfs, mount, conversion }) =
            (own, variant);
        FilesystemEntry {
            kind,
            label: Some(label),
            mkfs,
            mount,
            conversion,
            era: None,
            kernel: None,
            on,
            memory,
            cpus,
            layers,
            state,
            optional: false,
            has_era: era,
        }
    }

    /// Puts the options of its era before its own, so that its own win. `conversion` is a way to create it, and stays. An entry that
    /// states no era has the common one, if this era covers its kind.
    ///
    /// # Errors
    /// If there is no such era, or its own does not cover the kind.
    pub fn of_its_era(mut self, common: Option<&str>) -> Result<Self, String> {
        let common = common.filter(|era| self.has_era.is_none() && eras::options(era, &self.kind).is_ok());
        let Some(era) = self.era.take().or_else(|| common.map(str::to_owned)) else { return Ok(self) };
        let Options { mkfs, mount, .. } = eras::options(&era, &self.kind)?;
        self.label.get_or_insert_with(|| format!("{}, {era}", self.kind));
        self.mkfs = [mkfs, self.mkfs].concat();
        self.mount = [mount, self.mount].concat();
        self.has_era = Some(era);
        Ok(self)
    }

    /// The entry's label, or its kind if it has no label.
    pub fn label(&self) -> &str {
        self.label.as_ref().unwrap_or(&self.kind)
    }

    /// Stores one `KEY=VALUE` of the command line.
    fn take(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "label" => self.label = Some(value.to_owned()),
            "mount" => {
                // A security context is the only option whose value may have spaces, between quotes of its own.
                if let Some(option) = value.split(',').find(|o| o.contains(' ') && !o.contains('"')) {
                    return Err(format!("'{option}' contains a space: separate mount options by commas"));
                }
                self.mount.extend(value.split(',').map(str::to_owned));
            }
            "mkfs" => self.mkfs.extend(value.split_whitespace().map(str::to_owned)),
            "era" => self.era = Some(value.to_owned()),
            "kernel" => self.kernel = Some(value.to_owned()),
            "on" => self.on = Some(value.to_owned()),
            "memory" => self.memory = Some(value.parse()?),
            "cpus" => self.cpus = Some(value.parse().map_err(|_| "write a whole number of CPUs")?),
            "state" => self.state = Some(value.to_owned()),
            "layer" if value == NONE => self.layers = Some(Vec::new()),
            "layer" => self.layers.get_or_insert_default().push(value.to_owned()),
            _ => return Err("the value is missing".to_owned()),
        }
        Ok(())
    }
}

impl std::str::FromStr for FilesystemEntry {
    type Err = String;

    /// `KIND label="no atime" mount=noatime,nodev mkfs="-O ^has_journal" conversion`
    fn from_str(text: &str) -> Result<Self, String> {
        let words = shell_words::split(text).map_err(|_| format!("a quote is not closed in: {text}"))?;
        let mut words = words.into_iter();
        let kind = words.next().ok_or("start with a kind: --filesystem 'KIND mount=noatime'")?;
        let mut entry = match testbeds::is_directory(&kind) {
            true => FilesystemEntry { on: Some(kind), ..FilesystemEntry::default() },
            false => FilesystemEntry::of_kind(&kind),
        };
        for word in words {
            match word.split_once('=') {
                None if word == "conversion" => entry.conversion = true,
                // The kind that is expected in a directory.
                Some(("kind", kind)) if entry.on.is_some() && entry.kind == MOUNTED => {
                    kind.clone_into(&mut entry.kind);
                }
                Some((key, value)) if WITH_VALUE.contains(&key) => {
                    entry.take(key, value).map_err(|e| format!("{key}={value}: {e}"))?;
                }
                _ => {
                    let key = word.split('=').next().unwrap_or_default();
                    if WITH_VALUE.contains(&key) || key == "conversion" {
                        return Err(format!("'{word}' in: {text}; write {WRITTEN}"));
                    }
                    return Err(names::unknown(
                        "key of a filesystem",
                        key,
                        FILESYSTEM_KEYS[1..].iter().copied().filter(|key| *key != "optional"),
                    ));
                }
            }
        }
        Ok(entry)
    }
}

/// `[[workload]]`: a shipped set under another label, with changed parameters or another number of clients; or, without a set, a
/// command of the user's own.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct WorkloadEntry {
    /// Name of the parameter set; empty for a command.
    #[serde(default)]
    pub set: String,
    pub label: Option<String>,
    pub clients: Option<u32>,
    #[serde(flatten)]
    pub changed: Table,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::units::MIB;

    #[test]
    fn an_entrant_on_the_command_line_is_read_as_the_file_would_be() {
        let entry: FilesystemEntry =
            r#"ext4 label="no atime" mount=noatime,nodev mkfs="-O ^has_journal""#.parse().unwrap();
        assert_eq!((entry.kind.as_str(), entry.label.as_deref()), ("ext4", Some("no atime")));
        assert_eq!(entry.mount, ["noatime", "nodev"]);
        let spaced = r#"ext4 mount="noatime nodev""#.parse::<FilesystemEntry>().unwrap_err();
        assert!(spaced.contains("by commas"), "{spaced}");
        assert_eq!(entry.mkfs, ["-O", "^has_journal"]);
        assert!("ext4 mnt=x".parse::<FilesystemEntry>().unwrap_err().contains("did you mean 'mount'?"));
        assert!(r#"ext4 label="x"#.parse::<FilesystemEntry>().is_err());
    }

    #[test]
    fn the_options_of_an_era_come_first_and_its_own_win() {
        let read = |text: &str| text.parse::<FilesystemEntry>().unwrap().of_its_era(None);
        let entry = read("ext3-ordered era=2006 mount=barrier=1").unwrap();
        assert_eq!(entry.label(), "ext3-ordered, 2006");
        assert_eq!(entry.mkfs[..2], ["-I", "128"]);
        assert_eq!(entry.mount, ["barrier=0", "strictatime", "barrier=1"]);
        assert_eq!((entry.has_era.as_deref(), entry.era.as_deref()), (Some("2006"), None), "taken once");
        assert_eq!(read("xfs era=2006 label=old").unwrap().label(), "old");
        assert_eq!(read("xfs").unwrap(), FilesystemEntry::of_kind("xfs"));
        assert!(read("f2fs era=2006").is_err_and(|e| e.contains("has no options for f2fs")));
    }

    #[test]
    fn what_differs_in_its_setup_is_read_the_same_both_ways() {
        let line: FilesystemEntry =
            "xfs kernel=6.1 memory=64m cpus=2 layer=md:raid5 state='filled 80%' on=model:hdd-16tb,offset=1g"
                .parse()
                .unwrap();
        let own = Factors {
            on: Some("model:hdd-16tb,offset=1g".into()),
            memory: Some(Bytes(64 * MIB)),
            cpus: Some(2),
            layers: Some(vec!["md:raid5".into()]),
            state: Some("filled 80%".into()),
        };
        assert_eq!((line.kernel.as_deref(), &line.own()), (Some("6.1"), &own));
        let table = "kind = 'xfs'\nkernel = '6.1'\nmemory = '64m'\ncpus = 2\nlayers = ['md:raid5']\nstate = 'filled 80%'\non = 'model:hdd-16tb,offset=1g'";
        assert_eq!(toml::from_str::<FilesystemEntry>(table), Ok(line));
        for (wrong, said) in [
            ("cpus=two", "whole number"),
            ("memory=much", "memory=much: "),
            ("cpus", "write label=…"),
            ("conversion=true", "'conversion=true' in: "),
        ] {
            let error = format!("xfs {wrong}").parse::<FilesystemEntry>().unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
