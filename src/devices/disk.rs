//! A whole disk, known by what it says of itself: its serial number or world-wide name, never a letter. A volume of LVM is a disk whose
//! world-wide name is its UUID.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::refusal::{Check, Refusal};
use super::volume_names::{is_uuid, names};
use crate::schema::units::Bytes;

const BLOCK: &str = "/sys/block";
const BY_ID: &str = "/dev/disk/by-id";
/// Unit of sizes in sysfs.
const SECTOR: u64 = 512;

/// What the kernel tells of a disk, without opening it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Described {
    /// The kernel's name until the next boot or hot-plug, such as `sda`.
    pub name: String,
    /// `st_rdev` of its node.
    #[serde(skip)]
    pub number: u64,
    pub size: Bytes,
    pub model: String,
    pub serial: Option<String>,
    /// The world-wide name.
    pub wwid: Option<String>,
    pub firmware: Option<String>,
    pub rotates: bool,
    /// The kernel's number of this medium.
    pub sequence: Option<u64>,
    pub partitions: Vec<Partition>,
    /// Its name in the device mapper, if it is a volume of LVM or a part of one.
    #[serde(skip)]
    pub mapped: Option<String>,
    /// Path of the device in sysfs, which shows how the disk is connected.
    #[serde(skip)]
    pub place: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Partition {
    pub name: String,
    #[serde(skip)]
    pub number: u64,
    pub size: Bytes,
}

/// Every disk, and other block device that is not empty, in the order of names.
pub fn all() -> Vec<Described> {
    let entries = fs::read_dir(BLOCK).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_memory = |name: &String| name.starts_with("ram") || name.starts_with("zram");
    let mut all: Vec<Described> =
        names.filter(|name| !is_memory(name)).filter_map(|name| describe(&name)).collect();
    all.retain(|disk| disk.size.0 > 0);
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// The disk of this kernel name.
pub fn describe(name: &str) -> Option<Described> {
    let place = fs::canonicalize(Path::new(BLOCK).join(name)).ok()?;
    let text = |file: &str| attribute(&place.join(file));
    let partitions =
        fs::read_dir(&place).ok()?.flatten().filter(|entry| entry.path().join("partition").exists());
    let partition = |entry: fs::DirEntry| {
        let path = entry.path();
        Some(Partition {
            name: entry.file_name().to_string_lossy().into_owned(),
            number: number(&attribute(&path.join("dev"))?)?,
            size: size(&attribute(&path.join("size"))?)?,
        })
    };
    let mut partitions: Vec<Partition> = partitions.filter_map(partition).collect();
    partitions.sort_by_key(|partition| partition.number);
    let uuid = text("dm/uuid").filter(|uuid| uuid.starts_with("LVM-"));
    let mapped = uuid.as_ref().map(|_| text("dm/name").unwrap_or_default());
    let volume = || Some(format!("LVM volume {}", volume_of(mapped.as_ref()?)));
    Some(Described {
        number: number(&text("dev")?)?,
        size: size(&text("size")?)?,
        model: text("device/model").or_else(|| text("device/name")).or_else(volume).unwrap_or_default(),
        serial: serial(&place),
        wwid: text("wwid")
            .or_else(|| text("device/wwid"))
            .or_else(|| text("device/cid"))
            .or_else(|| uuid.filter(|uuid| is_uuid(uuid))),
        firmware: text("device/firmware_rev").or_else(|| text("device/rev")),
        rotates: text("queue/rotational").is_some_and(|text| text == "1"),
        sequence: text("diskseq").and_then(|text| text.parse().ok()),
        partitions,
        mapped,
        name: name.to_owned(),
        place,
    })
}

/// `group/volume`, or the name as it is if that is of a part inside a volume.
fn volume_of(mapped: &str) -> String {
    names(mapped).map_or_else(|| mapped.to_owned(), |(group, volume)| format!("{group}/{volume}"))
}

/// virtio and MMC have it as text, NVMe at the controller, SCSI and ATA in the page of vital product data 80.
fn serial(place: &Path) -> Option<String> {
    let text = ["serial", "device/serial"].iter().find_map(|file| attribute(&place.join(file)));
    text.or_else(|| {
        let page = fs::read(place.join("device/vpd_pg80")).ok()?;
        shown(&String::from_utf8_lossy(page.get(4..)?))
    })
}

/// A line of sysfs; `None` if it is empty or absent.
pub fn attribute(file: &Path) -> Option<String> {
    shown(&String::from_utf8_lossy(&fs::read(file).ok()?))
}

/// Spaces and zeros pad what disks say. Words are joined by one underscore, as in the names of by-id.
fn shown(text: &str) -> Option<String> {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c == '\0').filter(|w| !w.is_empty()).collect();
    (!words.is_empty()).then(|| words.join("_"))
}

/// `8:16` as `st_rdev`.
pub fn number(text: &str) -> Option<u64> {
    let (major, minor) = text.split_once(':')?;
    Some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
}

fn size(text: &str) -> Option<Bytes> {
    text.parse::<u64>().ok().map(|sectors| Bytes(sectors * SECTOR))
}

/// Whether a name can stand in a command, a testbed's name and a sentence to type. What a disk says can be anything.
fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:+".contains(&byte))
}

impl Described {
    pub fn node(&self) -> PathBuf {
        Path::new("/dev").join(&self.name)
    }

    /// The name by which it is claimed and used: the serial number if no other disk has it, otherwise the world-wide name.
    pub fn id(&self, others: &[Described]) -> Option<String> {
        let others = || others.iter().filter(|other| other.number != self.number);
        let is_one = |own: &Option<String>, of: fn(&Described) -> &Option<String>| {
            let own = own.as_ref().filter(|text| is_plain(text))?;
            others().all(|other| of(other).as_ref() != Some(own)).then(|| own.clone())
        };
        is_one(&self.serial, |disk| &disk.serial).or_else(|| is_one(&self.wwid, |disk| &disk.wwid))
    }

    /// Bytes of a logical sector, 0 if the kernel does not say.
    pub fn sector(&self) -> u64 {
        let text = attribute(&self.place.join("queue/logical_block_size"));
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// The numbers of the disk and its partitions.
    pub fn numbers(&self) -> Vec<u64> {
        std::iter::once(self.number).chain(self.partitions.iter().map(|partition| partition.number)).collect()
    }

    /// Whether it can be told from every other disk, is on this machine alone, and is a disk at all.
    ///
    /// # Errors
    /// The reason why it must not be claimed.
    pub fn is_one_of_a_kind(&self, others: &[Described]) -> Result<String, Refusal> {
        let refuse = |what: String, try_this: &str| Err(Refusal::new(Check::Identity, what, try_this));
        let name = &self.name;
        if self.mapped.as_ref().is_some_and(|mapped| self.wwid.is_none() || names(mapped).is_none()) {
            return refuse(
                format!("{} is a part inside an LVM volume", self.in_words()),
                "a whole volume, or a whole disk",
            );
        }
        if self.mapped.is_none() && self.place.starts_with("/sys/devices/virtual") {
            return refuse(
                format!("{name} is made by the kernel itself and is no disk"),
                "claim the disk below it, after its content has moved elsewhere",
            );
        }
        let place = self.place.to_string_lossy();
        let transport = attribute(&self.place.join("device/transport"));
        let remote = match transport.as_deref() {
            None | Some("pcie") => None,
            Some(other) => Some(other.to_owned()),
        };
        let scsi = || {
            [("/session", "iSCSI"), ("/rport-", "Fibre Channel")]
                .into_iter()
                .find(|(part, _)| place.contains(part))
        };
        if let Some(over) = remote.or_else(|| scsi().map(|(_, over)| over.to_owned())) {
            return refuse(
                format!("{name} is reached by {over}: another machine may use it too"),
                "a disk in this machine",
            );
        }
        if self.paths() > 1 {
            return refuse(
                format!("{name} has {} controllers: another machine may use it too", self.paths()),
                "a disk of one controller",
            );
        }
        if self.sequence.is_none() {
            return refuse(
                "this kernel does not number its disks, so a disk that was exchanged could not be told"
                    .into(),
                "Linux 5.15 or later",
            );
        }
        if attribute(&self.place.join("ro")).as_deref() == Some("1") {
            return refuse(format!("{name} is read-only"), "its write protection, or another disk");
        }
        match self.id(others) {
            Some(id) => Ok(id),
            None if self.serial.is_none() && self.wwid.is_none() => refuse(
                format!(
                    "{name} has neither a serial number nor a world-wide name: it cannot be told from another disk"
                ),
                "a virtual machine can give its disks serial numbers (QEMU: serial=NAME)",
            ),
            None if ![&self.serial, &self.wwid].into_iter().flatten().any(|own| is_plain(own)) => refuse(
                format!("{name} has a name with characters that no command can show safely"),
                "another disk",
            ),
            None => {
                let same = others.iter().filter(|o| o.number != self.number && o.serial == self.serial);
                let same: Vec<&str> = same.map(|other| other.name.as_str()).collect();
                refuse(
                    format!(
                        "{name} has the serial number of {}: these are paths to one disk, or copies",
                        same.join(" and ")
                    ),
                    "a disk with a serial number of its own",
                )
            }
        }
    }

    /// `group/volume`, if it is a volume of LVM.
    pub fn volume(&self) -> Option<String> {
        self.mapped.as_deref().map(volume_of)
    }

    /// The kernel's name, with that of the volume.
    fn in_words(&self) -> String {
        match &self.mapped {
            Some(mapped) => format!("{} ({mapped})", self.name),
            None => self.name.clone(),
        }
    }

    /// Whether this names the volume of LVM by something that can mean another one tomorrow: `group/volume`, or a path other than that
    /// of its UUID.
    fn is_volume_called(&self, id: &str) -> bool {
        let Some(mapped) = &self.mapped else { return false };
        let is_node =
            |about: fs::Metadata| about.file_type().is_block_device() && about.rdev() == self.number;
        let by_uuid = self.wwid.as_ref().is_some_and(|own| id.ends_with(&format!("dm-uuid-{own}")));
        let link = Path::new(BY_ID).join(id);
        (id == mapped || self.volume().as_deref() == Some(id))
            || !by_uuid
                && self.wwid.as_deref() != Some(id)
                && !id.is_empty()
                && fs::metadata(link).is_ok_and(is_node)
    }

    /// Controllers by which an NVMe namespace is reached.
    fn paths(&self) -> usize {
        let subsystem = fs::canonicalize(self.place.join("device/subsystem"));
        let is_subsystem = subsystem.is_ok_and(|path| path.ends_with("class/nvme-subsystem"));
        let place = self.place.join(if is_subsystem { "device" } else { "device/device" });
        let is_controller =
            |name: &str| name.strip_prefix("nvme").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
        let all = fs::read_dir(place).into_iter().flatten().flatten();
        all.filter(|entry| is_subsystem && is_controller(&entry.file_name().to_string_lossy())).count().max(1)
    }
}

/// The disk of this serial number, world-wide name or name in /dev/disk/by-id.
///
/// # Errors
/// If there is none, or several, or the text is the kernel's name, which means another disk after the next boot.
pub fn find(id: &str) -> Result<Described, Refusal> {
    let refuse = |what: String, try_this: String| Err(Refusal::new(Check::Identity, what, try_this));
    let all = all();
    let bare = id.strip_prefix("/dev/").unwrap_or(id);
    let is_of = |disk: &&Described| disk.name == bare || disk.partitions.iter().any(|part| part.name == bare);
    if let Some(disk) = all.iter().find(is_of) {
        let what = format!("{bare} is a name that can mean another disk after the next boot");
        return refuse(
            what,
            match disk.id(&all) {
                Some(own) if disk.name == bare => format!("{own}, which is this disk"),
                Some(own) => format!("{own}, the whole disk: partitions are not claimed"),
                None => "fsderby device list".into(),
            },
        );
    }
    let link = Path::new(BY_ID).join(id.strip_prefix(BY_ID).map_or(id, |rest| rest.trim_start_matches('/')));
    let target = fs::canonicalize(&link).ok().filter(|_| link.parent() == Some(Path::new(BY_ID)));
    let named = target.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let is_it = |disk: &&Described| {
        [&disk.serial, &disk.wwid].into_iter().flatten().any(|own| own == id)
            || named.as_ref() == Some(&disk.name)
    };
    let found: Vec<&Described> = all.iter().filter(is_it).collect();
    if let Some(volume) = all.iter().find(|disk| disk.is_volume_called(id)) {
        let own = volume.is_one_of_a_kind(&all)?;
        return refuse(
            format!("{id} is a name that can mean another LVM volume tomorrow"),
            format!("{own}, which is this volume"),
        );
    }
    if id.starts_with("LVM-") && !is_uuid(id) && found.is_empty() {
        return refuse(
            format!("{id} is not the UUID of a whole LVM volume"),
            "fsderby device list, which shows them".into(),
        );
    }
    match found[..] {
        [disk] => Ok(disk.clone()),
        [] if named.is_some() => refuse(
            format!("{id} is not a whole disk"),
            "fsderby device list, which shows what can be claimed".into(),
        ),
        [] => refuse(
            format!("no disk has the serial number or world-wide name {id}"),
            "fsderby device list, which shows them".into(),
        ),
        _ => {
            let names: Vec<&str> = found.iter().map(|disk| disk.name.as_str()).collect();
            refuse(
                format!(
                    "{id} is the serial number of {}: these are paths to one disk, or copies",
                    names.join(" and ")
                ),
                "the world-wide name, if they differ in it".into(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(name: &str, number: u64, serial: Option<&str>, wwid: Option<&str>) -> Described {
        Described {
            name: name.to_owned(),
            number,
            size: Bytes(1 << 30),
            model: "model".into(),
            serial: serial.map(str::to_owned),
            wwid: wwid.map(str::to_owned),
            firmware: None,
            rotates: false,
            sequence: Some(number),
            partitions: Vec::new(),
            mapped: None,
            place: format!("/sys/devices/pci0000:00/{name}").into(),
        }
    }

    #[test]
    fn a_disk_is_named_by_what_no_other_disk_has() {
        let [a, b] = [disk("sda", 1, Some("S1"), Some("w1")), disk("sdb", 2, Some("S2"), None)];
        let all = [a.clone(), b.clone()];
        assert_eq!(a.is_one_of_a_kind(&all), Ok("S1".to_owned()));
        // Two namespaces of one controller share its serial number.
        let [c, d] = [disk("nvme0n1", 3, Some("S"), Some("w3")), disk("nvme0n2", 4, Some("S"), Some("w4"))];
        assert_eq!(c.is_one_of_a_kind(&[c.clone(), d.clone()]), Ok("w3".to_owned()));
        // Two paths to one disk.
        let twin = disk("sdc", 5, Some("S2"), None);
        let why = b.is_one_of_a_kind(&[a.clone(), b.clone(), twin]).unwrap_err();
        assert!(why.what.contains("serial number of sdc"), "{why}");
        let bare = disk("vda", 6, None, None);
        assert!(
            bare.is_one_of_a_kind(std::slice::from_ref(&bare))
                .unwrap_err()
                .what
                .contains("neither a serial number")
        );
    }

    #[test]
    fn a_name_that_could_not_be_typed_is_none() {
        for odd in
            ["a,reset=leftovers", "a/../b", "a;reboot", "$(reboot)", "-x", "é", "a b", "\u{1b}[2J", ".."]
        {
            let odd = Some(odd);
            let other = disk("sda", 1, odd, Some("naa.5000c500"));
            assert_eq!(other.is_one_of_a_kind(&[]), Ok("naa.5000c500".to_owned()), "{odd:?}");
            let why = disk("sda", 1, odd, odd).is_one_of_a_kind(&[]).unwrap_err();
            assert!(why.what.contains("no command can show"), "{why}");
        }
    }

    #[test]
    fn what_is_no_disk_of_this_machine_alone_is_refused() {
        let refused = |place: &str| {
            let other = Described { place: place.into(), ..disk("sda", 1, Some("S"), None) };
            other.is_one_of_a_kind(std::slice::from_ref(&other)).unwrap_err().what
        };
        assert!(refused("/sys/devices/virtual/block/dm-0").contains("no disk"));
        assert!(
            refused("/sys/devices/platform/host2/session1/target2:0:0/2:0:0:1/block/sda").contains("iSCSI")
        );
        assert!(
            refused("/sys/devices/pci0/host1/rport-1:0-0/target1:0:0/1:0:0:0/block/sda").contains("Fibre")
        );
    }

    #[test]
    fn a_disk_that_is_not_there_is_refused_and_so_is_what_no_disk_has() {
        for id in ["no-such-serial", "../../etc/passwd", "", "/dev/disk/by-id/", "/dev/disk/by-id/../../null"]
        {
            let why = find(id).unwrap_err();
            assert_eq!(why.check, Check::Identity, "{id}: {why}");
        }
    }

    #[test]
    fn what_disks_say_is_read_without_padding() {
        assert_eq!(shown(" WD-1  2\0\0\n"), Some("WD-1_2".to_owned()));
        assert_eq!(shown("\0 \n"), None);
    }
}
