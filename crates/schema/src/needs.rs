//! Criteria for a recommendation: weights of qualities, and required features.
//!
//! ```toml
//! [needs]
//! workloads = 3                          # speed, shared by the workloads without a separate weight
//! cpu = 1
//! fsck = 0.5
//! require = ["journal", "shrink", "files over 4 GiB"]
//! draw = "cpu"                           # tie-breaker between candidates within the margin
//!
//! [needs.workload]
//! deliver = 2
//! browse = { "read.rate" = 1 }           # by another metric than the headline
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::units::Bytes;

/// `[needs]`. An absent weight is 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Needs {
    /// Name of the profile (built-in needs) that these needs complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The weight that the workloads without a separate weight share equally.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workloads: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mkfs: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mount: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmount: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fsck: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<f64>,
    /// Features without which a filesystem is ruled out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<Required>,
    /// Tie-breaker between candidates whose scores lie within the margin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draw: Option<Aspect>,
    /// Weights of single workloads, by the label of the scenario.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub workload: BTreeMap<String, Weighed>,
}

/// The keys of `[needs]`, for suggesting the nearest one.
pub const KEYS: [&str; 12] = [
    "profile",
    "workloads",
    "workload",
    "cpu",
    "capacity",
    "mkfs",
    "mount",
    "unmount",
    "fsck",
    "recovery",
    "require",
    "draw",
];

/// Weight of a workload: for its headline, or metric by metric.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(untagged)]
pub enum Weighed {
    Headline(f64),
    Metrics(BTreeMap<String, f64>),
}

/// A quality that every trial measures, whatever its workload. A metric's declaration names its quality.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Aspect {
    Cpu,
    Capacity,
    Mkfs,
    Mount,
    Unmount,
    Fsck,
    Recovery,
}

impl Aspect {
    pub const ALL: [Aspect; 7] = [
        Aspect::Cpu,
        Aspect::Capacity,
        Aspect::Mkfs,
        Aspect::Mount,
        Aspect::Unmount,
        Aspect::Fsck,
        Aspect::Recovery,
    ];

    /// The name in `[needs]`.
    pub fn name(self) -> &'static str {
        match self {
            Aspect::Cpu => "cpu",
            Aspect::Capacity => "capacity",
            Aspect::Mkfs => "mkfs",
            Aspect::Mount => "mount",
            Aspect::Unmount => "unmount",
            Aspect::Fsck => "fsck",
            Aspect::Recovery => "recovery",
        }
    }

    /// The name in sentences.
    pub fn title(self) -> &'static str {
        match self {
            Aspect::Cpu => "CPU time",
            Aspect::Capacity => "capacity",
            Aspect::Mkfs => "mkfs time",
            Aspect::Mount => "mount time",
            Aspect::Unmount => "unmount time",
            Aspect::Fsck => "fsck time",
            Aspect::Recovery => "recovery time",
        }
    }
}

impl Needs {
    /// The weight of a quality; 0 if not stated.
    pub fn weight(&self, aspect: Aspect) -> f64 {
        self.stated(aspect).unwrap_or(0.0)
    }

    fn stated(&self, aspect: Aspect) -> Option<f64> {
        match aspect {
            Aspect::Cpu => self.cpu,
            Aspect::Capacity => self.capacity,
            Aspect::Mkfs => self.mkfs,
            Aspect::Mount => self.mount,
            Aspect::Unmount => self.unmount,
            Aspect::Fsck => self.fsck,
            Aspect::Recovery => self.recovery,
        }
    }

    /// Every weight with its key as written: `cpu`, `workload.deliver`.
    pub fn weights(&self) -> Vec<(String, f64)> {
        let aspects = Aspect::ALL.into_iter().filter_map(|a| Some((a.name().to_owned(), self.stated(a)?)));
        let workloads = self.workloads.map(|weight| ("workloads".to_owned(), weight));
        let own = self.workload.iter().flat_map(|(label, weighed)| match weighed {
            Weighed::Headline(weight) => vec![(format!("workload.{label}"), *weight)],
            Weighed::Metrics(metrics) => {
                metrics.iter().map(|(name, weight)| (format!("workload.{label}.{name}"), *weight)).collect()
            }
        });
        workloads.into_iter().chain(own).chain(aspects).collect()
    }

    /// These needs, completed by those of `others`. Requirements of both apply.
    pub fn over(self, others: Needs) -> Needs {
        let mut require = others.require;
        for required in self.require {
            if !require.contains(&required) {
                require.push(required);
            }
        }
        let mut workload = others.workload;
        workload.extend(self.workload);
        Needs {
            profile: self.profile.or(others.profile),
            workloads: self.workloads.or(others.workloads),
            cpu: self.cpu.or(others.cpu),
            capacity: self.capacity.or(others.capacity),
            mkfs: self.mkfs.or(others.mkfs),
            mount: self.mount.or(others.mount),
            unmount: self.unmount.or(others.unmount),
            fsck: self.fsck.or(others.fsck),
            recovery: self.recovery.or(others.recovery),
            require,
            draw: self.draw.or(others.draw),
            workload,
        }
    }
}

/// A required feature. The list is closed: each kind answers for each feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Required {
    /// A journal, or no overwriting in place, which serves the same purpose: a power cut needs no repair.
    Journal,
    /// A data journal, or no overwriting in place.
    DataJournal,
    DataChecksums,
    MetadataChecksums,
    Snapshots,
    Compression,
    Reflinks,
    Quotas,
    HardLinks,
    SymbolicLinks,
    OwnersAndModes,
    Acls,
    ExtendedAttributes,
    SparseFiles,
    Preallocation,
    CaseSensitiveNames,
    Grow,
    GrowWhileMounted,
    Shrink,
    /// A full check by its own tool.
    Fsck,
    /// Synced data is on the medium, not in a volatile cache.
    DurableFsync,
    /// Part of current Linux.
    InLinux,
    FilesOver(Bytes),
    VolumesOver(Bytes),
}

/// Features without a parameter.
const NAMED: [(&str, Required); 22] = [
    ("journal", Required::Journal),
    ("data journal", Required::DataJournal),
    ("data checksums", Required::DataChecksums),
    ("metadata checksums", Required::MetadataChecksums),
    ("snapshots", Required::Snapshots),
    ("compression", Required::Compression),
    ("reflinks", Required::Reflinks),
    ("quotas", Required::Quotas),
    ("hard links", Required::HardLinks),
    ("symbolic links", Required::SymbolicLinks),
    ("owners and modes", Required::OwnersAndModes),
    ("ACLs", Required::Acls),
    ("extended attributes", Required::ExtendedAttributes),
    ("sparse files", Required::SparseFiles),
    ("preallocation", Required::Preallocation),
    ("case-sensitive names", Required::CaseSensitiveNames),
    ("grow", Required::Grow),
    ("grow while mounted", Required::GrowWhileMounted),
    ("shrink", Required::Shrink),
    ("fsck", Required::Fsck),
    ("durable fsync", Required::DurableFsync),
    ("in Linux", Required::InLinux),
];
const FILES_OVER: &str = "files over ";
const VOLUMES_OVER: &str = "volumes over ";
/// Accepted prefixes, as in "has a journal" and "can shrink".
const BEFORE: [&str; 5] = ["has a ", "has ", "can ", "is ", "a "];

impl Required {
    /// The spelling of each feature, for suggesting the nearest one.
    pub fn names() -> Vec<&'static str> {
        let plain = NAMED.iter().map(|(name, _)| *name);
        plain.chain(["files over 4 GiB", "volumes over 16 TiB"]).collect()
    }

    /// One feature of each type, for code that must handle all types.
    pub fn each() -> impl Iterator<Item = Required> {
        let sized = [Required::FilesOver(Bytes(1 << 32)), Required::VolumesOver(Bytes(1 << 44))];
        NAMED.into_iter().map(|(_, required)| required).chain(sized)
    }
}

impl FromStr for Required {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = text.trim();
        let plain = BEFORE.iter().find_map(|before| plain.strip_prefix(before)).unwrap_or(plain);
        if let Some((_, required)) = NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(plain)) {
            return Ok(*required);
        }
        let size = |text: &str| text.replace(' ', "").parse::<Bytes>();
        match (plain.strip_prefix(FILES_OVER), plain.strip_prefix(VOLUMES_OVER)) {
            (Some(bytes), _) => size(bytes).map(Required::FilesOver),
            (_, Some(bytes)) => size(bytes).map(Required::VolumesOver),
            _ => Err(format!("'{text}' is not a filesystem ability that can be required")),
        }
    }
}

impl fmt::Display for Required {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Required::FilesOver(bytes) => write!(f, "{FILES_OVER}{bytes}"),
            Required::VolumesOver(bytes) => write!(f, "{VOLUMES_OVER}{bytes}"),
            named => f.write_str(NAMED.iter().find(|(_, r)| r == named).map_or("", |(name, _)| name)),
        }
    }
}

impl Serialize for Required {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            // Written exactly, because a rounded size would not read back.
            Required::FilesOver(bytes) => to.collect_str(&format_args!("{FILES_OVER}{}", bytes.written())),
            Required::VolumesOver(bytes) => {
                to.collect_str(&format_args!("{VOLUMES_OVER}{}", bytes.written()))
            }
            named => to.collect_str(named),
        }
    }
}

impl<'de> Deserialize<'de> for Required {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

written_as!(Required: "string");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_read_back_as_they_are_written() {
        let text = "workloads = 3\ncpu = 0.5\nrequire = ['has a journal', 'files over 4 GiB', 'can shrink']\ndraw = 'cpu'\n\
                    [workload]\ndeliver = 2\nbrowse = { 'read.rate' = 1 }";
        let needs: Needs = toml::from_str(text).expect("they are read");
        assert_eq!(needs.require, [Required::Journal, Required::FilesOver(Bytes(4 << 30)), Required::Shrink]);
        assert_eq!((needs.weight(Aspect::Cpu), needs.weight(Aspect::Fsck)), (0.5, 0.0));
        let keys: Vec<String> = needs.weights().into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["workloads", "workload.browse.read.rate", "workload.deliver", "cpu"]);
        let written = toml::to_string(&needs).expect("they are written");
        assert_eq!(toml::from_str::<Needs>(&written).expect("they are read"), needs, "{written}");
    }

    #[test]
    fn what_can_be_required_is_read_back_whatever_it_is() {
        let odd = Required::FilesOver(Bytes((4 << 30) - 1));
        for required in Required::each().chain([odd]) {
            let written = serde_json::to_string(&required).expect("it is written");
            assert_eq!(serde_json::from_str::<Required>(&written).expect(&written), required);
        }
        for name in Required::names() {
            assert_eq!(name.parse::<Required>().expect(name).to_string(), name);
        }
        assert!("colour".parse::<Required>().is_err() && "files over much".parse::<Required>().is_err());
    }

    #[test]
    fn what_is_stated_goes_over_a_profile_and_requires_more() {
        let profile = Needs {
            profile: Some("x".into()),
            cpu: Some(1.0),
            fsck: Some(2.0),
            require: vec![Required::Journal],
            ..Needs::default()
        };
        let own =
            Needs { cpu: Some(0.0), require: vec![Required::Journal, Required::Acls], ..Needs::default() };
        let both = own.over(profile);
        assert_eq!((both.cpu, both.fsck), (Some(0.0), Some(2.0)));
        assert_eq!(both.require, [Required::Journal, Required::Acls]);
        assert_eq!(both.profile.as_deref(), Some("x"));
    }
}
