//! Volumes of LVM: whether one may be formatted, and whether it still lies where it was claimed.
//!
//! ```text
//! its UUID            /sys/block/dm-N/dm/uuid: LVM-, 32 characters of the group and 32 of the volume, nothing behind
//! the kernel's table  linear and striped targets alone, on disks that could be claimed themselves, but for their content
//! LVM                 the user's tag, what the kernel does not know, and the same places: `lvs`
//! ```
//! The kernel is asked for each trial, lvs at the claim, the dry run and the beginning of a run. A mark holds the volume's name and a
//! hash of its table.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use fsderby_sys::device_mapper::{Mapped, Target};
use serde::{Deserialize, Serialize};

use super::disk::{Described, Partition, attribute};
use super::refusal::{Check, Refusal};
use super::volume_names::names;
use crate::schema::units::Bytes;

/// Programs such as udev look at a volume for an instant.
const A_LOOK: Duration = Duration::from_secs(2);
/// Unit of tables.
const SECTOR: u64 = 512;
pub(super) const ANOTHER: &str = "another volume: lvcreate, with --addtag fsderby";

/// Where a volume lay when it was claimed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placed {
    /// `group/volume`
    pub name: String,
    /// BLAKE3 of the table, with the disks' own names.
    pub table: String,
}

/// Where a volume lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Laid {
    /// `group/volume`
    pub name: String,
    /// A line for each target, with the disks' own names in place of their numbers.
    table: String,
    /// The disks below.
    pub disks: Vec<Described>,
    /// What else uses these disks: other volumes and partitions.
    pub beside: BTreeSet<String>,
    pub places: Vec<Place>,
}

/// A part of a physical volume, in sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The number of its device, a disk or a partition.
    pub device: u64,
    pub start: u64,
    pub length: u64,
}

impl Laid {
    pub fn placed(&self) -> Placed {
        Placed { name: self.name.clone(), table: blake3::hash(self.table.as_bytes()).to_hex().to_string() }
    }

    /// Whether it lies where it lay when it was claimed.
    ///
    /// # Errors
    /// What differs.
    pub fn is_as_claimed(&self, placed: &Placed) -> Result<(), Refusal> {
        let now = self.placed();
        if now.name != placed.name {
            return Err(changed(
                &format!("the LVM volume {} was renamed to {} since it was claimed", placed.name, now.name),
                &format!(
                    "lvrename or vgrename, back to {}; or fsderby device release, and claim it anew",
                    placed.name
                ),
            ));
        }
        if now.table != placed.table {
            return Err(changed(
                &format!(
                    "the LVM volume {} lies elsewhere on its disks than when it was claimed: LVM has moved it",
                    now.name
                ),
                "fsderby device release, then claim it anew",
            ));
        }
        Ok(())
    }

    /// The models of the disks below, and what else is on them.
    pub fn in_words(&self) -> String {
        let beside: Vec<&str> = self.beside.iter().map(String::as_str).collect();
        self.shared_with(&beside.join(", "))
    }

    /// The same without the names that people gave to the other volumes.
    pub fn without_names(&self) -> String {
        self.shared_with(&format!("{} others", self.beside.len()))
    }

    fn shared_with(&self, others: &str) -> String {
        let of =
            |disk: &Described| if disk.model.is_empty() { disk.name.clone() } else { disk.model.clone() };
        let disks = self.disks.iter().map(of).collect::<Vec<_>>().join(", ");
        if self.beside.is_empty() { disks } else { format!("{disks}, shared with {others}") }
    }

    /// What else uses the disks below, for people.
    pub fn shared(&self) -> Option<String> {
        let disks = listed(self.disks.iter().map(|disk| disk.name.as_str()));
        let beside = listed(self.beside.iter().map(String::as_str));
        (!self.beside.is_empty()).then(|| format!("{disks} also holds {beside}, whose work slows a trial"))
    }
}

/// A volume has another size than before.
pub fn resized(name: &str, was: Bytes, is: Bytes) -> Refusal {
    let (how, try_this) = match is > was {
        true => ("extended", "fsderby device release, then claim it anew".to_owned()),
        // The mark at its end is gone.
        false => ("reduced", format!("lvextend --size {}b {name}", was.0)),
    };
    changed(
        &format!(
            "the LVM volume {name} was {how} since it was claimed: it had {was} ({} bytes) and has {is} ({} bytes)",
            was.0, is.0
        ),
        &try_this,
    )
}

/// Why the volume that was claimed is not there.
pub fn missing(uuid: &str, placed: &Placed, all: &[Described]) -> Refusal {
    let name = &placed.name;
    match all.iter().find(|disk| disk.volume().as_ref() == Some(name)).map(|disk| disk.wwid.as_deref()) {
        Some(other) => changed(
            &format!(
                "the LVM volume {name} is not the one that was claimed, but was made under its name since: its UUID is {} and not {uuid}",
                other.unwrap_or("that of a part")
            ),
            "fsderby device list",
        ),
        None => changed(
            &format!("the LVM volume {name} with the UUID {uuid} is not active, or was removed"),
            &format!("lvchange --activate y {name}"),
        ),
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn changed(what: &str, try_this: &str) -> Refusal {
    Refusal::new(Check::Identity, what, format!("{try_this}; nothing was written since"))
}

pub(super) fn refuse<T>(what: String, try_this: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(Check::Identity, what, try_this))
}

/// What a target of this kind makes of a volume, and what to do; `None` for those that only name places on disks.
fn unfit(kind: &str) -> Option<(&'static str, &'static str)> {
    match kind {
        "linear" | "striped" => None,
        "snapshot-origin" => {
            Some(("has a snapshot, which copies what is overwritten", "lvremove the snapshot"))
        }
        "snapshot" | "snapshot-merge" => Some(("is a snapshot of another volume", ANOTHER)),
        "thin" | "thin-pool" => Some(("is thin: it shares its blocks with others", ANOTHER)),
        "cache" | "writecache" => {
            Some(("is cached by another volume", "lvconvert --uncache, or another volume"))
        }
        "raid" | "mirror" => Some((
            "is a RAID or a mirror of LVM",
            "a linear or striped volume; fsderby has RAID as a --layer",
        )),
        _ => Some(("is neither linear nor striped", "a linear or striped volume")),
    }
}

/// The number of the device and the sector on it.
type Spot = (u64, u64);

/// Chunk in sectors, 0 for a linear target, and the places of a target.
fn spots(target: &Target) -> Option<(u64, Vec<Spot>)> {
    let spot = |words: &[&str]| {
        let [device, offset] = words else { return None };
        let (major, minor) = device.split_once(':')?;
        Some((rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?), offset.parse().ok()?))
    };
    let words: Vec<&str> = target.parameters.split_whitespace().collect();
    match (target.kind.as_str(), &words[..]) {
        ("linear", words) => Some((0, vec![spot(words)?])),
        ("striped", [stripes, chunk, rest @ ..]) => {
            let all = rest.chunks(2).map(spot).collect::<Option<Vec<Spot>>>()?;
            let is_whole = stripes.parse() == Ok(all.len()) && !all.is_empty();
            Some((chunk.parse().ok()?, all)).filter(|_| is_whole)
        }
        _ => None,
    }
}

/// Where this volume lies, by the kernel's table.
///
/// # Errors
/// If it must not be formatted.
pub fn laid(volume: &Described, all: &[Described]) -> Result<Laid, Refusal> {
    let mapped = Mapped::of(volume.number)
        .map_err(|e| Refusal::io(Check::Identity, "read the table of", &volume.name, &e))?;
    let laid = judged(volume, &mapped, all)?;
    let numbers = laid.places.iter().map(|place| place.device).collect();
    lies_on_these_alone(volume, &numbers)?;
    let beside = beside(volume, &laid.disks)?;
    Ok(Laid { beside, ..laid })
}

fn judged(volume: &Described, mapped: &Mapped, all: &[Described]) -> Result<Laid, Refusal> {
    let Some((group, own)) = names(&mapped.name) else {
        return refuse(format!("{} is a part inside an LVM volume", volume.name), ANOTHER);
    };
    let name = format!("{group}/{own}");
    if Some(&mapped.uuid) != volume.wwid.as_ref() || volume.mapped.as_ref() != Some(&mapped.name) {
        return refuse(
            format!("{} is another device than at the first look", volume.name),
            "fsderby device list",
        );
    }
    for (is, what, try_this) in [
        (mapped.is_suspended, "is suspended: LVM is changing it", "wait for LVM, or dmsetup resume"),
        (
            mapped.has_inactive_table,
            "has a second table loaded: LVM is changing it",
            "wait for LVM, or dmsetup clear",
        ),
        (mapped.is_read_only, "is read-only", "lvchange --permission rw, or another volume"),
    ] {
        if is {
            return refuse(format!("the LVM volume {name} {what}"), try_this);
        }
    }
    let (mut table, mut end, mut disks) = (String::new(), 0, Vec::<Described>::new());
    let mut places = Vec::new();
    for target in &mapped.targets {
        if let Some((what, try_this)) = unfit(&target.kind) {
            return refuse(
                format!("the LVM volume {name} {what} (the kernel's target {})", target.kind),
                try_this,
            );
        }
        let odd = || {
            refuse(format!("the table of the LVM volume {name} cannot be read: {target:?}"), "dmsetup table")
        };
        let Some((chunk, spots)) = spots(target).filter(|_| target.start == end) else { return odd() };
        end = target.start.saturating_add(target.length);
        table += &format!("{} {} {} {chunk}", target.start, target.length, target.kind);
        let length = target.length / spots.len() as u64;
        for (number, offset) in spots {
            places.push(Place { device: number, start: offset, length });
            let (disk, first) = below(&name, number, all)?;
            disk.is_one_of_a_kind(all).map_err(|why| {
                Refusal::new(
                    why.check,
                    format!("the LVM volume {name} lies on {}: {}", disk.name, why.what),
                    ANOTHER,
                )
            })?;
            let Some(at) = first.checked_add(offset) else { return odd() };
            // Both names: which of them names the disk depends on the other disks.
            table += &format!(" {} {} {at}", named(&disk.serial), named(&disk.wwid));
            if disks.iter().all(|known| known.number != disk.number) {
                disks.push(disk.clone());
            }
        }
        table.push('\n');
    }
    if end.checked_mul(SECTOR) != Some(volume.size.0) {
        return refuse(
            format!("the table of the LVM volume {name} is not of its size: LVM is changing it"),
            "dmsetup table",
        );
    }
    Ok(Laid { name, table, disks, beside: BTreeSet::new(), places })
}

fn named(name: &Option<String>) -> &str {
    name.as_deref().unwrap_or("-")
}

/// The whole disk that has this number or a partition of it, and the sector on the disk at which the device begins.
fn below<'a>(name: &str, number: u64, all: &'a [Described]) -> Result<(&'a Described, u64), Refusal> {
    let device = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
    let Some(disk) = all.iter().find(|disk| disk.numbers().contains(&number)) else {
        return refuse(format!("the LVM volume {name} lies on {device}, which is no disk"), ANOTHER);
    };
    if let Some(mapped) = &disk.mapped {
        let moving = names(mapped).is_some_and(|(_, own)| own.starts_with("pvmove"));
        let (what, try_this) = match moving {
            true => (": LVM is moving it", "wait for pvmove; pvmove --abort ends it"),
            false => (", which is no disk", ANOTHER),
        };
        return refuse(format!("the LVM volume {name} lies on {} ({mapped}){what}", disk.name), try_this);
    }
    let Some(part) = disk.partitions.iter().find(|part| part.number == number) else { return Ok((disk, 0)) };
    let start = attribute(&disk.place.join(&part.name).join("start")).and_then(|text| text.parse().ok());
    match start {
        Some(start) => Ok((disk, start)),
        None => refuse(format!("nobody says where {} begins", part.name), "dmesg, for the kernel's reason"),
    }
}

/// The names in a folder of sysfs that lists devices.
fn linked(place: &std::path::Path, folder: &str) -> Result<Vec<String>, Refusal> {
    let path = place.join(folder);
    let read = fs::read_dir(&path).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let read = read.map_err(|e| Refusal::io(Check::Use, "read", &path.display().to_string(), &e))?;
    Ok(read.into_iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

/// Whether sysfs names no other device below than the table.
fn lies_on_these_alone(volume: &Described, numbers: &BTreeSet<u64>) -> Result<(), Refusal> {
    for name in linked(&volume.place, "slaves")? {
        let text = attribute(&volume.place.join("slaves").join(&name).join("dev"));
        let number = text.as_deref().and_then(super::disk::number);
        if number.is_none_or(|number| !numbers.contains(&number)) {
            let what = format!("{} lies on {name} too, which its table does not name", volume.name);
            return refuse(what, "dmsetup table; dmsetup deps");
        }
    }
    Ok(())
}

/// Mapped devices and partitions on the same disks.
fn beside(volume: &Described, disks: &[Described]) -> Result<BTreeSet<String>, Refusal> {
    let mut beside = BTreeSet::new();
    for disk in disks {
        let parts = disk.partitions.iter().map(|Partition { name, .. }| disk.place.join(name));
        for place in std::iter::once(disk.place.clone()).chain(parts) {
            let above = linked(&place, "holders")?;
            let is_ours = above.contains(&volume.name);
            for name in above.into_iter().filter(|name| *name != volume.name) {
                let mapped = attribute(&place.join("holders").join(&name).join("dm/name"));
                beside.insert(mapped.unwrap_or(name));
            }
            if !is_ours && place != disk.place {
                beside.extend(place.file_name().map(|name| name.to_string_lossy().into_owned()));
            }
        }
    }
    Ok(beside)
}

/// Whether nobody has opened the volume but this process, so many times. Of a whole disk the kernel does not tell.
///
/// # Errors
/// If somebody has, or the kernel does not say.
pub fn is_opened_by_us(volume: &Described, ours: i32) -> Result<(), Refusal> {
    if volume.mapped.is_none() {
        return Ok(());
    }
    let begin = Instant::now();
    loop {
        let mapped = Mapped::of(volume.number)
            .map_err(|e| Refusal::io(Check::Use, "ask who has opened", &volume.name, &e))?;
        if mapped.opened <= ours {
            return Ok(());
        }
        if begin.elapsed() > A_LOOK {
            let what = format!("{} ({}) is in use: it is open or mounted", volume.name, mapped.name);
            return Err(Refusal::new(Check::Use, what, "lsblk and fuser, which show by whom"));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "LVM-GGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVV";

    fn device(name: &str, minor: u32, serial: Option<&str>) -> Described {
        Described {
            name: name.into(),
            number: rustix::fs::makedev(252, minor),
            size: Bytes(1 << 30),
            model: String::new(),
            serial: serial.map(str::to_owned),
            wwid: None,
            firmware: None,
            rotates: false,
            sequence: Some(7),
            partitions: Vec::new(),
            mapped: None,
            place: format!("/sys/devices/pci0000:00/{name}").into(),
        }
    }

    fn volume() -> Described {
        Described {
            wwid: Some(UUID.into()),
            mapped: Some("group-my--volume".into()),
            size: Bytes(12288 * SECTOR),
            place: "/sys/devices/virtual/block/dm-0".into(),
            ..device("dm-0", 100, None)
        }
    }

    fn target(start: u64, kind: &str, parameters: &str) -> Target {
        Target { start, length: 6144, kind: kind.into(), parameters: parameters.into() }
    }

    fn mapped(targets: &[Target]) -> Mapped {
        Mapped {
            name: "group-my--volume".into(),
            uuid: UUID.into(),
            opened: 0,
            is_read_only: false,
            is_suspended: false,
            has_inactive_table: false,
            targets: targets.to_vec(),
        }
    }

    fn all() -> Vec<Described> {
        let pvmove = Described { mapped: Some("group-pvmove0".into()), ..device("dm-1", 101, None) };
        vec![device("vda", 0, Some("S1")), device("vdb", 16, Some("S2")), volume(), pvmove]
    }

    fn of(mapped: &Mapped) -> Result<Laid, Refusal> {
        judged(&volume(), mapped, &all())
    }

    fn plain() -> Mapped {
        mapped(&[target(0, "linear", "252:0 2048"), target(6144, "striped", "2 128 252:0 8192 252:16 0")])
    }

    #[test]
    fn a_table_names_the_disks_by_their_serial_numbers() {
        let laid = of(&plain()).unwrap();
        assert_eq!(laid.table, "0 6144 linear 0 S1 - 2048\n6144 6144 striped 128 S1 - 8192 S2 - 0\n");
        assert_eq!((laid.name.as_str(), laid.disks.len()), ("group/my-volume", 2));
        // After another boot the disks have other numbers and names.
        let swapped = mapped(&[
            target(0, "linear", "252:16 2048"),
            target(6144, "striped", "2 128 252:16 8192 252:0 0"),
        ]);
        let mut others = all();
        (others[0].serial, others[1].serial) = (Some("S2".into()), Some("S1".into()));
        let later = judged(&volume(), &swapped, &others).unwrap();
        assert_eq!(later.is_as_claimed(&laid.placed()), Ok(()));
    }

    #[test]
    fn who_hides_a_serial_number_hides_the_names_of_other_volumes_too() {
        let alone = of(&plain()).unwrap();
        assert_eq!((alone.in_words(), alone.without_names()), ("vda, vdb".into(), "vda, vdb".into()));
        let shared = Laid { beside: ["group/secret".into(), "sda3".into()].into(), ..alone };
        assert_eq!(shared.in_words(), "vda, vdb, shared with group/secret, sda3");
        assert_eq!(shared.without_names(), "vda, vdb, shared with 2 others");
    }

    #[test]
    fn a_volume_that_was_moved_or_renamed_is_not_as_claimed() {
        let placed = of(&plain()).unwrap().placed();
        for at in ["252:0 2049", "252:16 2048"] {
            let moved = mapped(&[target(0, "linear", at), plain().targets[1].clone()]);
            let why = of(&moved).unwrap().is_as_claimed(&placed).unwrap_err().what;
            assert!(why.contains("group/my-volume lies elsewhere on its disks"), "{why}");
        }
        let older = Placed { name: "group/old".into(), ..placed };
        let why = of(&plain()).unwrap().is_as_claimed(&older).unwrap_err().what;
        assert!(why.contains("group/old was renamed to group/my-volume"), "{why}");
        let extended = resized("group/a", Bytes(1 << 20), Bytes(2 << 20)).what;
        assert!(extended.contains("group/a was extended since it was claimed: it had 1 MiB"), "{extended}");
        let gone = |all: &[Described]| missing(UUID, &older, all).what;
        assert!(gone(&all()).contains("is not active, or was removed"));
        let again =
            Described { mapped: Some("group-old".into()), wwid: Some("LVM-other".into()), ..volume() };
        assert!(gone(&[again]).contains("made under its name since: its UUID is LVM-other"));
    }

    #[test]
    fn what_is_no_plain_volume_by_the_kernels_table_is_refused() {
        let one = |kind: &str, parameters: &str| {
            mapped(&[target(0, kind, parameters), target(6144, "linear", "252:0 0")])
        };
        let odd: [(Mapped, &str); 22] = [
            (one("snapshot-origin", "252:101"), "has a snapshot"),
            (one("snapshot", "252:101 252:102 P 8"), "is a snapshot"),
            (one("snapshot-merge", "252:101 252:102 P 8"), "is a snapshot"),
            (one("thin", "252:101 1"), "is thin"),
            (one("thin-pool", "252:101 252:102 128 0"), "is thin"),
            (one("cache", "252:1 252:2"), "is cached"),
            (one("raid", "raid1 3 0 region_size 1024"), "is a RAID"),
            (one("crypt", "aes-xts-plain64 - 0 252:0 0"), "neither linear nor striped"),
            (one("error", ""), "neither linear nor striped"),
            (one("", ""), "neither linear nor striped"),
            (one("linear", "252:101 0"), "LVM is moving it"),
            (one("linear", "252:77 0"), "lies on 252:77, which is no disk"),
            (one("linear", "252:0"), "cannot be read"),
            (one("linear", "252:0 0 252:0 0"), "cannot be read"),
            (one("striped", "3 128 252:0 0 252:16 0"), "cannot be read"),
            (one("striped", "0 128"), "cannot be read"),
            (mapped(&[target(1, "linear", "252:0 0")]), "cannot be read"),
            (mapped(&[target(0, "linear", "252:0 0")]), "is not of its size"),
            (mapped(&[]), "is not of its size"),
            (Mapped { is_suspended: true, ..plain() }, "is suspended"),
            (Mapped { has_inactive_table: true, ..plain() }, "second table"),
            (Mapped { is_read_only: true, ..plain() }, "is read-only"),
        ];
        for (mapped, says) in odd {
            let why = of(&mapped).unwrap_err();
            assert!(why.what.contains(says), "{says}: {why}");
        }
        let other = Mapped { uuid: format!("{UUID}-real"), ..plain() };
        assert!(of(&other).unwrap_err().what.contains("another device"));
        let part = Mapped { name: "group-volume-real".into(), ..plain() };
        assert!(of(&part).unwrap_err().what.contains("a part inside"));
        // A disk that another machine may use too.
        let mut remote = all();
        remote[0].place = "/sys/devices/platform/host2/session1/target2:0:0/2:0:0:1/block/vda".into();
        let why = judged(&volume(), &plain(), &remote).unwrap_err();
        assert!(why.what.contains("lies on vda: vda is reached by iSCSI"), "{why}");
    }
}
