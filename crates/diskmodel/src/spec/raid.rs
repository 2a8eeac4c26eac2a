//! The values of a RAID-5: a controller and its member disks.

use toml::Table;

use super::fields::Fields;
use super::{Attached, FrontSpec, HardSpec, SpecError, Value, sectors};
use crate::request::wire_ns;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RaidSpec {
    pub front: FrontSpec,
    pub sectors: u64,
    pub members: u64,
    pub chunk_sectors: u64,
    /// Stripes written at the same time.
    pub stripes_at_once: u64,
    /// How long a partial stripe waits in the cache for the rest.
    pub gather_ns: u64,
    pub member: HardSpec,
}

impl RaidSpec {
    /// Reads the controller's values, and the members' from the table `[member]`; the members' are listed last.
    pub(super) fn read(
        fields: &mut Fields<'_>,
        member: &Table,
        listed: &mut Vec<Value>,
    ) -> Result<Self, SpecError> {
        let mut of_member = Fields::new(member, "member.");
        let spec = RaidSpec {
            sectors: sectors(fields)?,
            members: fields.number("members", "disks", 3, 32)?,
            chunk_sectors: fields.number("chunk_kib", "KiB", 4, 4096)? * 2,
            stripes_at_once: fields.number("stripes_at_once", "stripes", 1, 64)?,
            gather_ns: fields.number("gather_ms", "ms", 0, 10_000)? * 1_000_000,
            front: FrontSpec::read(fields, Attached::Scsi)?,
            member: HardSpec::read(&mut of_member)?,
        };
        listed.extend(of_member.end()?);
        let room = (spec.member.sectors / spec.chunk_sectors) * spec.stripe_sectors();
        if spec.sectors > room {
            return Err(SpecError::Contradiction {
                keys: "sectors, members, member.sectors".to_owned(),
                why: format!(
                    "the array can have at most {room} sectors, because its members also hold parity"
                ),
            });
        }
        Ok(spec)
    }

    /// Data sectors per stripe.
    pub fn stripe_sectors(&self) -> u64 {
        self.chunk_sectors * (self.members - 1)
    }

    pub fn service_4k_ns(&self) -> u64 {
        self.front.overhead_ns + self.member.service_4k_ns() + wire_ns(8, self.front.interface_kbps)
    }
}
