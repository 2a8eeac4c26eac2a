//! `md`: the kernel's software RAID, set up by mdadm.

use serde::{Deserialize, Serialize};

use super::{Layer, LayerKind, Place, pair};
use crate::schema::description::Description;
use crate::schema::setup::{Argv, Named};
use crate::schema::units::{Bytes, KIB, MIB};
use crate::text::names;

/// mdadm's default chunk size.
const CHUNK: u64 = 512 * KIB;
/// The smallest chunk: the kernel accepts only whole pages.
const LEAST_CHUNK: u64 = 4 * KIB;
/// Offset of the data on each disk: the superblock of version 1.2 is before it, and stripes stay aligned to whole MiB. mdadm's
/// default depends on the size.
const DATA: u64 = MIB;

pub struct MdKind;

impl LayerKind for MdKind {
    fn name(&self) -> &'static str {
        "md"
    }

    fn usage(&self) -> &'static str {
        "md:LEVEL[,chunk=SIZE,bitmap=none|internal]"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["md:raid0", "md:raid1", "md:raid5", "md:raid10"]
    }

    fn description(&self) -> Description {
        Description {
            what: "The kernel's software RAID over all devices below this layer. LEVEL is raid0, raid1, raid5 or \
                   raid10 (near layout, two copies). A chunk (default 512k, like mdadm) is the amount that is written \
                   to one disk before the next disk is used.",
            origin: "mdadm(8) with metadata 1.2 and data offset 1 MiB; md(4).",
            limits: "All disks hold zeros, so copies and parity agree and the array is created without an initial \
                     resync (--assume-clean). Parity, stripe cache and superblock updates use the trial's CPU and \
                     memory. After a power cut the array is assembled and resyncs while the filesystem recovers; with \
                     bitmap=internal the array resyncs only the regions that were being written.",
        }
    }

    fn tools(&self) -> &'static [&'static str] {
        &["mdadm"]
    }

    fn package(&self) -> &'static str {
        "mdadm"
    }

    fn with(&self, settings: &str) -> Result<Box<dyn Layer>, String> {
        let mut settings = settings.split(',').filter(|s| !s.is_empty());
        let level = settings
            .next()
            .ok_or_else(|| format!("a RAID level is missing, for example raid5; write {}", self.usage()))?;
        let level = Level::named(level)?;
        let mut md = Md { level, chunk: level.is_striped().then_some(Bytes(CHUNK)), bitmap: Bitmap::None };
        for setting in settings {
            match pair(setting)? {
                ("chunk", size) if level.is_striped() => md.chunk = Some(size.parse()?),
                ("chunk", _) => return Err(format!("{} has no chunks", level.name())),
                ("bitmap", "none") => md.bitmap = Bitmap::None,
                ("bitmap", "internal") if level.is_redundant() => md.bitmap = Bitmap::Internal,
                ("bitmap", "internal") => return Err(format!("{} has no bitmap", level.name())),
                ("bitmap", other) => {
                    return Err(format!("unknown bitmap={other}; write none or internal"));
                }
                (key, _) => return Err(names::unknown("setting", key, ["chunk", "bitmap"])),
            }
        }
        md.checked().map(|md| Box::new(md) as Box<dyn Layer>)
    }

    fn of(&self, named: &Named) -> Result<Box<dyn Layer>, String> {
        named.settings::<Md>()?.checked().map(|md| Box::new(md) as Box<dyn Layer>)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Raid0,
    Raid1,
    Raid5,
    Raid10,
}

impl Level {
    const ALL: [Level; 4] = [Level::Raid0, Level::Raid1, Level::Raid5, Level::Raid10];

    fn named(name: &str) -> Result<Level, String> {
        let found = Level::ALL.into_iter().find(|level| level.name() == name);
        found.ok_or_else(|| names::unknown("level", name, Level::ALL.map(Level::name)))
    }

    fn name(self) -> &'static str {
        match self {
            Level::Raid0 => "raid0",
            Level::Raid1 => "raid1",
            Level::Raid5 => "raid5",
            Level::Raid10 => "raid10",
        }
    }

    fn module(self) -> &'static str {
        if self == Level::Raid5 { "raid456" } else { self.name() }
    }

    /// Least number of disks. With two disks, RAID 5 would be a slow RAID 1.
    fn least(self) -> usize {
        if self == Level::Raid5 { 3 } else { 2 }
    }

    fn is_striped(self) -> bool {
        self != Level::Raid1
    }

    fn is_redundant(self) -> bool {
        self != Level::Raid0
    }

    /// Capacity of an array of `disks` disks with `each` bytes for data per disk.
    fn room(self, disks: u64, each: u64) -> u64 {
        match self {
            Level::Raid0 => disks * each,
            Level::Raid1 => each,
            Level::Raid5 => (disks - 1) * each,
            Level::Raid10 => disks * each / 2,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Bitmap {
    None,
    /// A write-intent bitmap on the disks, next to the superblock.
    Internal,
}

impl Bitmap {
    fn name(self) -> &'static str {
        if self == Bitmap::None { "none" } else { "internal" }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Md {
    level: Level,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chunk: Option<Bytes>,
    bitmap: Bitmap,
}

impl Md {
    fn checked(self) -> Result<Md, String> {
        let most = Bytes(DATA);
        match self.chunk {
            Some(Bytes(chunk)) if !chunk.is_power_of_two() || !(LEAST_CHUNK..=most.0).contains(&chunk) => {
                Err(format!(
                    "chunk={} is not possible: it must be a power of 2 from {} to {most}",
                    Bytes(chunk).written(),
                    Bytes(LEAST_CHUNK)
                ))
            }
            chunk if chunk.is_some() != self.level.is_striped() => {
                Err(format!("{level} cannot have this chunk size", level = self.level.name()))
            }
            _ => Ok(self),
        }
    }

    fn device(place: &Place) -> String {
        // Beside the arrays of a machine, which mdadm numbers from 0 up and from 127 down.
        const FIRST: usize = 1000;
        const NUMBERS: usize = 1 << 19;
        let own = usize::from_str_radix(&place.owner, 16);
        format!("/dev/md{}", own.map_or(place.at, |own| FIRST + (own.wrapping_add(place.at)) % NUMBERS))
    }
}

impl Layer for Md {
    fn kind(&self) -> &'static dyn LayerKind {
        &MdKind
    }

    fn named(&self) -> Named {
        Named::new(MdKind.name(), self)
    }

    fn written(&self) -> String {
        let chunk = self.chunk.map_or(String::new(), |chunk| format!(",chunk={}", chunk.written()));
        let bitmap = match self.level.is_redundant() {
            true => format!(",bitmap={}", self.bitmap.name()),
            false => String::new(),
        };
        format!("md:{}{chunk}{bitmap}", self.level.name())
    }

    fn above(&self, below: &[Bytes]) -> Result<Vec<Bytes>, String> {
        let (name, least) = (self.level.name(), self.level.least());
        if below.len() < least {
            let there =
                if below.len() == 1 { "1 is given".to_owned() } else { format!("{} are given", below.len()) };
            return Err(format!("md:{name} needs at least {least} disks; {there}\n  try: disks={least}"));
        }
        let smallest = below.iter().min().map_or(0, |size| size.0);
        let unit = self.chunk.map_or(LEAST_CHUNK, |chunk| chunk.0);
        let each = smallest.saturating_sub(DATA) / unit * unit;
        if each == 0 {
            return Err(format!(
                "disks of {} are too small for md:{name}\n  try: a larger --size",
                Bytes(smallest)
            ));
        }
        Ok(vec![Bytes(self.level.room(below.len() as u64, each))])
    }

    fn modules(&self) -> Vec<&'static str> {
        vec!["md-mod", self.level.module()]
    }

    fn needs_zeros(&self) -> bool {
        self.level.is_redundant()
    }

    fn build(&self, place: &Place) -> Vec<Argv> {
        let mut argv: Argv = ["mdadm", "--create"].map(str::to_owned).into();
        argv.push(Md::device(place));
        // --run: mdadm must not ask questions.
        argv.extend(
            ["--run", "--quiet", "--config=none", "--homehost=any", "--name=fsderby"].map(str::to_owned),
        );
        argv.push(format!("--level={}", self.level.name()));
        argv.push(format!("--raid-devices={}", place.below.len()));
        argv.push("--metadata=1.2".to_owned());
        argv.push(format!("--data-offset={}M", DATA / MIB));
        argv.extend(self.chunk.map(|chunk| format!("--chunk={}", chunk.0 / KIB)));
        if self.level.is_redundant() {
            argv.push(format!("--bitmap={}", self.bitmap.name()));
            argv.push("--assume-clean".to_owned());
        }
        argv.extend(place.paths());
        vec![argv]
    }

    fn assemble(&self, place: &Place) -> Vec<Argv> {
        let mut argv: Argv = ["mdadm", "--assemble"].map(str::to_owned).into();
        argv.push(Md::device(place));
        argv.extend(["--run", "--quiet", "--config=none"].map(str::to_owned));
        argv.extend(place.paths());
        vec![argv]
    }

    fn take_down(&self, place: &Place) -> Vec<Argv> {
        vec![
            ["mdadm", "--stop", "--quiet"]
                .map(str::to_owned)
                .into_iter()
                .chain([Md::device(place)])
                .collect(),
        ]
    }

    fn devices(&self, place: &Place) -> Vec<String> {
        vec![Md::device(place)]
    }

    fn is_sound(&self, attribute: &dyn Fn(&str) -> Option<String>) -> Result<(), String> {
        // An array without redundancy has neither attribute.
        for (name, good) in [("md/degraded", "0"), ("md/sync_action", "idle")] {
            if let Some(is) = attribute(name).filter(|is| is != good) {
                return Err(format!("{name} is {is}, not {good}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Below;
    use super::*;

    fn lines(text: &str, disks: usize) -> [String; 3] {
        let below = (0..disks).map(|n| Below { path: format!("/dev/d{n}"), bytes: Bytes(1 << 30) }).collect();
        let place = Place { at: 1, owner: String::new(), below };
        let layer = MdKind.with(text).unwrap();
        [layer.build(&place), layer.assemble(&place), layer.take_down(&place)]
            .map(|commands| commands.iter().map(|argv| argv.join(" ")).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn an_array_is_made_as_its_settings_say_and_comes_back_as_it_is() {
        assert_eq!(
            lines("raid5,chunk=64k", 3),
            [
                "mdadm --create /dev/md1 --run --quiet --config=none --homehost=any --name=fsderby --level=raid5 --raid-devices=3 \
                 --metadata=1.2 --data-offset=1M --chunk=64 --bitmap=none --assume-clean /dev/d0 /dev/d1 /dev/d2",
                "mdadm --assemble /dev/md1 --run --quiet --config=none /dev/d0 /dev/d1 /dev/d2",
                "mdadm --stop --quiet /dev/md1",
            ]
        );
        let [stripes, ..] = lines("raid0", 2);
        assert!(
            !stripes.contains("bitmap") && !stripes.contains("clean") && stripes.contains("--chunk=512 ")
        );
        let [mirror, ..] = lines("raid1,bitmap=internal", 2);
        assert!(mirror.contains("--bitmap=internal") && !mirror.contains("chunk"), "{mirror}");
    }

    #[test]
    fn an_array_that_synchronises_or_lacks_a_disk_is_not_what_was_asked_for() {
        let shows = |degraded: &'static str, action: &'static str| {
            let layer = MdKind.with("raid1").unwrap();
            layer.is_sound(&move |name| {
                Some(if name.ends_with("degraded") { degraded } else { action }.to_owned())
            })
        };
        assert_eq!(shows("0", "idle"), Ok(()));
        assert!(shows("1", "idle").is_err_and(|e| e.contains("degraded is 1")));
        assert!(shows("0", "resync").is_err_and(|e| e.contains("resync")));
    }
}
