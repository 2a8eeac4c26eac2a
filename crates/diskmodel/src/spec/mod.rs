//! A disk as data: a checked file of `disks/`.
//!
//! ```toml
//! name = "diamondmax-plus-8"
//! title = "Maxtor DiamondMax Plus 8, 40 GB"
//! kind = "hard"
//! story = "Description, sources of the values, omissions."
//! machine = "pentium-4-2400"            # its usual machine; optional
//!
//! [values]
//! rpm = { is = 7200, source = "the data sheet, page 2" }
//! heads = { is = 1, estimate = "why this is likely" }
//! ```
//!
//! Each value is an integer with a source, or an estimate with its reason. The unit is the last word of the key.

mod cloud;
mod fields;
mod flash;
mod hard;
mod raid;
mod varied;
mod way;

use toml::Table;

pub(crate) use cloud::CloudSpec;
use fields::Fields;
pub use fields::{SpecError, Value};
pub(crate) use flash::{CardSpec, FlashSpec};
pub(crate) use hard::{HardSpec, ShingleSpec};
pub(crate) use raid::RaidSpec;
use way::Attached;
pub use way::{Scheduler, Way};

/// A parsed and checked disk file.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    name: String,
    title: String,
    story: String,
    machine: Option<String>,
    pub(crate) model: Model,
    values: Vec<Value>,
}

impl Value {
    pub fn is_estimate(&self) -> bool {
        self.source.starts_with("estimate: ")
    }
}

/// The kinds of disks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Model {
    Zero { sectors: u64 },
    Hard(HardSpec),
    Raid(Box<RaidSpec>),
    Flash(FlashSpec),
    Card(CardSpec),
    Cloud(CloudSpec),
}

const KINDS: &str = "\"zero\", \"hard\", \"shingled\", \"raid5\", \"flash\", \"card\", \"cloud\"";

/// The values common to all disks with a queue and a cache.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FrontSpec {
    /// Controller time per command for reads and for writes, and the least distance between two commands.
    pub overhead_ns: u64,
    pub write_overhead_ns: u64,
    pub command_ns: u64,
    /// Rate of the interface in thousand bytes a second.
    pub interface_kbps: u64,
    pub queue_depth: u64,
    pub way: Way,
    pub write_cache_sectors: u64,
    /// Maximum number of separate sector runs in the write cache.
    pub write_cache_entries: u64,
    /// Age limit: requests that wait longer than this time go first.
    pub age_limit_ns: u64,
    /// Whether the volatile cache is switched off, so that a write completes when its data is on the medium.
    pub write_through: bool,
}

impl FrontSpec {
    fn read(fields: &mut Fields<'_>, usual: Attached) -> Result<Self, SpecError> {
        let overhead_ns = fields.number("overhead_us", "µs", 0, 1_000_000)? * 1000;
        FrontSpec::with(fields, usual, overhead_ns, overhead_ns)
    }

    /// Reads the values of a controller that processes many commands at once.
    fn read_parallel(fields: &mut Fields<'_>) -> Result<Self, SpecError> {
        let overhead_ns = fields.number("overhead_us", "µs", 0, 1_000_000)? * 1000;
        let commands_per_s = fields.number("commands_per_s", "commands/s", 1, 100_000_000)?;
        FrontSpec::with(fields, Attached::Sata, overhead_ns, 1_000_000_000 / commands_per_s)
    }

    fn with(
        fields: &mut Fields<'_>,
        usual: Attached,
        overhead_ns: u64,
        command_ns: u64,
    ) -> Result<Self, SpecError> {
        let queue_depth = fields.number("queue_depth", "commands", 1, 256)?;
        let otherwise = (overhead_ns / 1000, "as for other commands");
        Ok(FrontSpec {
            overhead_ns,
            write_overhead_ns: fields.number_or("write_overhead_us", "µs", (0, 1_000_000), otherwise)? * 1000,
            command_ns,
            way: Way::read(fields, usual, queue_depth)?,
            queue_depth,
            interface_kbps: fields.number("interface_kbps", "kB/s", 1, 100_000_000)?,
            write_cache_sectors: fields.number("write_cache_kib", "KiB", 1, 1 << 22)? * 2,
            write_cache_entries: fields.number("write_cache_entries", "runs", 1, 4096)?,
            age_limit_ns: fields.number("age_limit_ms", "ms", 1, 100_000)? * 1_000_000,
            write_through: false,
        })
    }
}

/// Maximum requests in flight on a disk without a limit.
const UNLIMITED: u64 = 128;

impl Spec {
    /// Reads a disk file.
    ///
    /// # Errors
    /// The first mistake in the file, with key, value and allowed values.
    pub fn parse(text: &str) -> Result<Spec, SpecError> {
        let table: Table = text.parse().map_err(|e: toml::de::Error| SpecError::Syntax(e.to_string()))?;
        let known = ["name", "title", "kind", "story", "machine", "values", "member"];
        if let Some(key) = table.keys().find(|k| !known.contains(&k.as_str())) {
            return Err(SpecError::unknown("", key, &known));
        }
        let name = text_of(&table, "name")?;
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !name.chars().all(is_plain) {
            let allowed = "small letters, digits and hyphens".to_owned();
            return Err(SpecError::Wrong { key: "name".into(), value: name, allowed });
        }
        let mut fields = Fields::new(table_of(&table, "values")?, "");
        let mut of_members = Vec::new();
        let kind = text_of(&table, "kind")?;
        let model = match kind.as_str() {
            "zero" => Model::Zero { sectors: sectors(&mut fields)? },
            "hard" => Model::Hard(HardSpec::read(&mut fields)?),
            "shingled" => Model::Hard(HardSpec::read_shingled(&mut fields)?),
            "raid5" => {
                let member = table_of(&table, "member")?;
                Model::Raid(Box::new(RaidSpec::read(&mut fields, member, &mut of_members)?))
            }
            "flash" => Model::Flash(FlashSpec::read(&mut fields)?),
            "card" => Model::Card(CardSpec::read(&mut fields)?),
            "cloud" => Model::Cloud(CloudSpec::read(&mut fields)?),
            _ => {
                return Err(SpecError::Wrong { key: "kind".into(), value: kind, allowed: KINDS.into() });
            }
        };
        let mut values = fields.end()?;
        values.append(&mut of_members);
        if table.contains_key("member") && !matches!(model, Model::Raid(_)) {
            let instead = "only disks of kind = \"raid5\" have members".to_owned();
            return Err(SpecError::Unknown { key: "member".into(), instead });
        }
        let (title, story) = (text_of(&table, "title")?, text_of(&table, "story")?);
        let machine = table.contains_key("machine").then(|| text_of(&table, "machine")).transpose()?;
        Ok(Spec { name, title, story, machine, model, values })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    /// Description of the disk, the sources of its values, and the model's omissions.
    pub fn story(&self) -> &str {
        &self.story
    }

    /// Name of the machine that usually contains it, if the file gives one.
    pub fn machine(&self) -> Option<&str> {
        self.machine.as_deref()
    }

    /// Size in sectors of 512 bytes.
    pub fn sectors(&self) -> u64 {
        match &self.model {
            Model::Zero { sectors } => *sectors,
            Model::Hard(hard) => hard.sectors,
            Model::Raid(raid) => raid.sectors,
            Model::Flash(flash) => flash.sectors,
            Model::Card(card) => card.sectors,
            Model::Cloud(cloud) => cloud.sectors,
        }
    }

    pub fn is_rotational(&self) -> bool {
        matches!(self.model, Model::Hard(_) | Model::Raid(_))
    }

    /// Logical block size in bytes.
    pub fn logical_block(&self) -> u32 {
        512
    }

    /// Bytes that the medium writes at once.
    pub fn physical_block(&self) -> u32 {
        match &self.model {
            Model::Zero { .. } | Model::Cloud(_) => 512,
            Model::Hard(hard) => hard.physical_block,
            Model::Raid(raid) => raid.member.physical_block,
            Model::Flash(_) => 4096,
            Model::Card(_) => 512,
        }
    }

    /// Whether the disk supports discard.
    pub fn discards(&self) -> bool {
        matches!(self.model, Model::Flash(_) | Model::Card(_))
    }

    /// Queue depth. A disk without a limit takes the number of requests that Linux keeps in flight.
    pub fn queue_depth(&self) -> u16 {
        self.front().map_or(UNLIMITED as u16, |front| front.queue_depth as u16)
    }

    /// How Linux talks to this disk.
    pub fn way(&self) -> Way {
        match &self.model {
            Model::Zero { .. } => Way::BARE,
            Model::Cloud(cloud) => cloud.way,
            _ => self.front().map_or(Way::BARE, |front| front.way),
        }
    }

    /// Whether the kernel is told that the disk needs flushes.
    pub fn needs_flushes(&self) -> bool {
        let way = self.way();
        let is_off = self.front().is_some_and(|front| front.write_through);
        way.volatile_cache && (way.protected || !is_off)
    }

    /// Whether the disk has a volatile cache that can be switched off.
    pub fn has_volatile_cache(&self) -> bool {
        self.front().is_some_and(|front| front.way.volatile_cache && !front.way.protected)
    }

    /// A copy with its volatile cache switched off. Disks without one are unchanged. In an array the members write through like
    /// their controller.
    #[must_use]
    pub fn written_through(&self) -> Spec {
        let mut through = self.clone();
        match &mut through.model {
            Model::Zero { .. } | Model::Cloud(_) => {}
            Model::Hard(hard) => hard.front.write_through = true,
            Model::Raid(raid) => {
                raid.front.write_through = true;
                raid.member.front.write_through = true;
            }
            Model::Flash(flash) => flash.front.write_through = true,
            Model::Card(card) => card.front.write_through = true,
        }
        through
    }

    /// A copy that starts full and overwritten at random to steady state. `None` if the disk has no flash mapping layer and so
    /// never changes.
    pub fn preconditioned(&self) -> Option<Spec> {
        match &self.model {
            Model::Flash(flash) => {
                let model = Model::Flash(FlashSpec { preconditioned: true, ..flash.clone() });
                Some(Spec { model, ..self.clone() })
            }
            _ => None,
        }
    }

    /// An SSD in steady state, reduced to 1/`part` of its sectors and of each block. Other disks are unchanged.
    pub(crate) fn in_steady_state(&self, part: u64) -> Spec {
        let part = self.part(part);
        part.preconditioned().unwrap_or(part)
    }

    /// An SSD reduced to 1/`part` of its sectors and of each block. Other disks are unchanged.
    pub(crate) fn part(&self, part: u64) -> Spec {
        let model = match &self.model {
            Model::Flash(flash) => Model::Flash(flash.part(part)),
            other => other.clone(),
        };
        Spec { model, ..self.clone() }
    }

    fn front(&self) -> Option<&FrontSpec> {
        match &self.model {
            Model::Zero { .. } | Model::Cloud(_) => None,
            Model::Hard(hard) => Some(&hard.front),
            Model::Raid(raid) => Some(&raid.front),
            Model::Flash(flash) => Some(&flash.front),
            Model::Card(card) => Some(&card.front),
        }
    }

    /// All values with unit and source, in the order of their meaning.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Expected latency of a single 4 KiB random read, in nanoseconds.
    pub fn service_4k_ns(&self) -> u64 {
        match &self.model {
            Model::Zero { .. } => 0,
            Model::Hard(hard) => hard.service_4k_ns(),
            Model::Raid(raid) => raid.service_4k_ns(),
            Model::Flash(flash) => flash.service_4k_ns(),
            Model::Card(card) => card.service_4k_ns(),
            Model::Cloud(cloud) => cloud.service_4k_ns(),
        }
    }
}

fn sectors(fields: &mut Fields<'_>) -> Result<u64, SpecError> {
    // 2⁴⁰ sectors are 512 TiB; below that no product in the model overflows.
    fields.number("sectors", "sectors of 512 bytes", 2048, 1 << 40)
}

fn text_of(table: &Table, key: &str) -> Result<String, SpecError> {
    let value = table.get(key).ok_or_else(|| SpecError::Missing { key: key.to_owned() })?;
    let text = value.as_str().filter(|t| !t.trim().is_empty()).ok_or_else(|| SpecError::Wrong {
        key: key.to_owned(),
        value: value.to_string(),
        allowed: "a text in quotes".to_owned(),
    })?;
    Ok(text.trim().to_owned())
}

fn table_of<'a>(table: &'a Table, key: &str) -> Result<&'a Table, SpecError> {
    let value = table.get(key).ok_or_else(|| SpecError::Missing { key: key.to_owned() })?;
    value.as_table().ok_or_else(|| SpecError::Wrong {
        key: key.to_owned(),
        value: value.to_string(),
        allowed: format!("a table: write [{key}] and its values below"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(values: &str) -> Result<Spec, SpecError> {
        Spec::parse(&format!("name = 'z'\ntitle = 'Z'\nkind = 'zero'\nstory = 's'\n[values]\n{values}"))
    }

    #[test]
    fn a_value_needs_a_source() {
        let spec = with("sectors = { is = 4096, source = 'here' }").unwrap();
        assert_eq!(spec.sectors(), 4096);
        assert_eq!(spec.values()[0].source, "here");
        let spec = with("sectors = { is = 4096, estimate = 'a guess' }").unwrap();
        assert!(spec.values()[0].is_estimate());
        for unsourced in [
            "4096",
            "{ is = 4096 }",
            "{ is = 4096, source = ' ' }",
            "{ is = 1, source = 'a', estimate = 'b' }",
        ] {
            let error = with(&format!("sectors = {unsourced}")).unwrap_err();
            assert!(matches!(error, SpecError::Unsourced { .. }), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_allowed() {
        let error = with("sectors = { is = 5, source = 'x' }").unwrap_err().to_string();
        assert_eq!(
            error,
            "`sectors` cannot be 5; allowed is a whole number from 2048 to 1099511627776, in sectors of 512 bytes"
        );
        let error = with("sectors = { is = 4096.0, source = 'x' }").unwrap_err();
        assert!(matches!(error, SpecError::Wrong { .. }));
        let error =
            with("sectors = { is = 4096, source = 'x' }\nrpm = { is = 1, source = 'x' }").unwrap_err();
        assert_eq!(error.to_string(), "unknown key `rpm`; known: `sectors`");
        assert_eq!(with("").unwrap_err(), SpecError::Missing { key: "sectors".into() });
        assert!(matches!(with("sectors = {").unwrap_err(), SpecError::Syntax(_)));
    }

    /// A shipped file with one value changed.
    fn changed(name: &str, key: &str, value: &str) -> Result<Spec, SpecError> {
        let (_, text) = crate::SHIPPED.iter().find(|(n, _)| *n == name).unwrap();
        let from = text.find(&format!("\n{key} = ")).unwrap() + 1;
        let to = from + text[from..].find('\n').unwrap();
        Spec::parse(&text.replacen(&text[from..to], &format!("{key} = {{ is = {value}, source = 'x' }}"), 1))
    }

    #[test]
    fn a_misspelt_key_is_told_with_the_one_that_was_meant() {
        let (_, hard) = crate::SHIPPED.iter().find(|(n, _)| *n == "diamondmax-plus-8").unwrap();
        let said = |from: &str, to: &str| {
            assert!(hard.contains(&format!("\n{from} = ")), "{from}");
            Spec::parse(&hard.replace(&format!("\n{from} = "), &format!("\n{to} = ")))
                .unwrap_err()
                .to_string()
        };
        for (key, misspelt) in [
            ("rpm", "rmp"),
            ("heads", "head"),
            ("seek_track_us", "seek_tracks_us"),
            ("overhead_us", "overheads_us"),
            ("write_cache_kib", "write_cache_kb"),
            ("sectors_per_track", "sector_per_track"),
            ("story", "storey"),
        ] {
            assert_eq!(said(key, misspelt), format!("unknown key `{misspelt}`; did you mean `{key}`?"));
        }
        assert_eq!(said("rpm", "speed"), "`rpm` is missing", "no key is near");
        let more =
            Spec::parse(&format!("{hard}\ncolour = {{ is = 1, source = 'x' }}\n")).unwrap_err().to_string();
        assert!(more.starts_with("unknown key `colour`; the nearest of ") && more.len() < 120, "{more}");
        let (_, array) = crate::SHIPPED.iter().find(|(n, _)| *n == "arena-ide-raid5").unwrap();
        let member = Spec::parse(&array.replace("\nrpm = ", "\nrmp = ")).unwrap_err().to_string();
        assert_eq!(member, "unknown key `member.rmp`; did you mean `member.rpm`?");
    }

    #[test]
    fn values_that_no_disk_can_have_are_refused_together() {
        for (name, key, value, named) in [
            ("diamondmax-plus-8", "seek_full_us", "60000", "seek_track_us, seek_average_us, seek_full_us"),
            ("diamondmax-plus-8", "head_switch_us", "5000", "head_switch_us, seek_track_us, rpm"),
            ("diamondmax-plus-8", "sectors_per_track", "[500, 600]", "sectors_per_track"),
            ("arena-ide-raid5", "members", "3", "sectors, members, member.sectors"),
            ("ssd-sata", "page_kib", "64", "page_kib, program_kib, block_kib"),
            ("ssd-sata", "block_kib", "983040", "sectors, spare_permille, dies, block_kib"),
            ("sd-card", "page_kib", "24", "unit_kib, page_kib"),
            ("cloud-volume", "jitter_us", "5000", "jitter_us, read_latency_us, write_latency_us"),
        ] {
            match changed(name, key, value) {
                Err(SpecError::Contradiction { keys, .. }) => assert_eq!(keys, named),
                other => panic!("{name} with {key} = {value}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_member_belongs_to_an_array() {
        let text = crate::SHIPPED.iter().find(|(n, _)| *n == "zero").unwrap().1;
        let error = Spec::parse(&format!("{text}\n[member]\n")).unwrap_err();
        assert_eq!(error.to_string(), "unknown key `member`; only disks of kind = \"raid5\" have members");
        let spec = changed("arena-ide-raid5", "chunk_kib", "128").unwrap();
        assert!(spec.values().iter().any(|v| v.key == "member.rpm" && v.value == "7200"));
    }
}
