//! Whether a kind meets a requirement, with the source of the answer.

use super::{Fact, Filesystem, Journal, Resize, Variant, give_up_flushes};
use crate::schema::needs::Required;
use crate::schema::setup::Depth;
use crate::schema::units::Bytes;

/// Whether a kind, with these mkfs and mount options, meets a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub is_met: bool,
    /// An explanation: a limit, or what the kind has instead; empty if there is nothing to add to yes or no.
    pub said: String,
    pub source: &'static str,
}

/// Whether the kind meets the requirement. A new entry of [`Required`] needs a line in this function and a fact in every kind.
pub fn answer(kind: &dyn Filesystem, variant: &Variant, required: Required) -> Answer {
    let can = kind.can_with(variant);
    match required {
        Required::Journal => of(&can.journal, |j| *j != Journal::None),
        Required::DataJournal => {
            of(&can.journal, |j| matches!(j, Journal::MetadataAndData | Journal::CopyOnWrite))
        }
        Required::DataChecksums => yes(&can.data_checksums),
        Required::MetadataChecksums => yes(&can.metadata_checksums),
        Required::Snapshots => yes(&can.snapshots),
        Required::Compression => yes(&can.compression),
        Required::Reflinks => yes(&can.reflinks),
        Required::Quotas => yes(&can.quotas),
        Required::HardLinks => yes(&can.hard_links),
        Required::SymbolicLinks => yes(&can.symlinks),
        Required::OwnersAndModes => yes(&can.modes),
        Required::Acls => yes(&can.acl),
        Required::ExtendedAttributes => yes(&can.xattr),
        Required::SparseFiles => yes(&can.sparse_files),
        Required::Preallocation => yes(&can.preallocation),
        Required::CaseSensitiveNames => yes(&can.case_sensitive),
        Required::Grow => of(&can.grow, |grow| *grow != Resize::No),
        Required::GrowWhileMounted => {
            let unmounted = can.grow.value == Resize::Unmounted;
            let said = if unmounted { "only while unmounted" } else { "" };
            Answer { said: said.into(), ..of(&can.grow, |grow| *grow == Resize::Mounted) }
        }
        Required::Shrink => of(&can.shrink, |shrink| *shrink != Resize::No),
        Required::Fsck => {
            let said = if can.check.value.is_some() {
                "the check covers only a few structures"
            } else {
                "it has no check"
            };
            Answer { said: said.into(), ..of(&can.check, |check| *check == Some(Depth::Full)) }
        }
        Required::DurableFsync => durable(kind, variant),
        Required::InLinux => {
            let said =
                can.linux.value.until.map_or(String::new(), |until| format!("removed in Linux {until}"));
            Answer { said, ..of(&can.linux, |linux| linux.until.is_none()) }
        }
        Required::FilesOver(wanted) => limit(can.largest_file.value, wanted, can.largest_file.source),
        Required::VolumesOver(wanted) => {
            limit(*kind.size().end(), wanted, "sizes that mkfs accepts and the check reports clean")
        }
    }
}

fn of<T>(fact: &Fact<T>, is_met: impl Fn(&T) -> bool) -> Answer {
    Answer { is_met: is_met(&fact.value), said: String::new(), source: fact.source }
}

fn yes(fact: &Fact<bool>) -> Answer {
    of(fact, |has| *has)
}

fn limit(most: Bytes, wanted: Bytes, source: &'static str) -> Answer {
    Answer { is_met: most > wanted, said: format!("at most {most}"), source }
}

fn durable(kind: &dyn Filesystem, variant: &Variant) -> Answer {
    let is_given_up = give_up_flushes(&variant.mount);
    let said = if is_given_up { "disabled by its mount options" } else { "its fsync sends no flush" };
    Answer {
        is_met: kind.flushes_on_fsync() && !is_given_up,
        said: said.into(),
        source: "flushes that reached the device, counted by every trial that syncs",
    }
}

#[cfg(test)]
mod tests {
    use super::super::{TABLE, find};
    use super::*;

    fn met(kind: &str, variant: &Variant, required: &str) -> bool {
        answer(find(kind).unwrap(), variant, required.parse().unwrap()).is_met
    }

    #[test]
    fn every_kind_answers_for_everything_with_a_source() {
        for kind in TABLE {
            for required in Required::each() {
                let Answer { source, .. } = answer(*kind, &Variant::default(), required);
                assert!(source.len() >= 6, "{}: {required}: '{source}'", kind.name());
            }
        }
    }

    /// For each requirement, some kinds that meet it and some that do not. A new kind of filesystem need not be added to this list.
    #[test]
    fn who_can_do_what_is_required() {
        for (required, can, cannot) in [
            ("data checksums", &["btrfs"][..], &["xfs", "ext4", "fat32"][..]),
            ("data journal", &["ext3-journal", "btrfs", "f2fs"], &["ext3-ordered", "ext4", "xfs", "ext2"]),
            ("journal", &["ext3-writeback", "ext4", "reiserfs", "jfs", "xfs", "nilfs2"], &["ext2", "ntfs"]),
            ("shrink", &["ext2", "ext4", "reiserfs", "btrfs", "ntfs"], &["xfs", "jfs", "f2fs", "exfat"]),
            ("grow while mounted", &["ext4", "xfs", "btrfs"], &["ext2", "f2fs", "fat32"]),
            ("reflinks", &["xfs", "btrfs"], &["ext4", "f2fs"]),
            ("quotas", &["ext4", "xfs", "jfs"], &["btrfs", "nilfs2", "exfat"]),
            ("files over 4 GiB", &["exfat", "ext2", "ntfs"], &["fat16", "fat32"]),
            ("volumes over 16 TiB", &["ext4", "xfs", "btrfs"], &["ext2", "fat32"]),
            ("durable fsync", &["ext4", "xfs", "btrfs"], &["jfs"]),
            ("in Linux", &["ext4", "jfs"], &["reiserfs"]),
            ("fsck", &["ext2", "xfs", "reiserfs"], &["nilfs2", "ntfs-3g"]),
        ] {
            for kind in can {
                assert!(met(kind, &Variant::default(), required), "{kind}: {required}");
            }
            for kind in cannot {
                assert!(!met(kind, &Variant::default(), required), "{kind}: {required}");
            }
        }
    }

    #[test]
    fn options_take_an_ability_away_or_add_one() {
        let with = |mkfs: &[&str], mount: &[&str]| {
            let owned = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
            Variant { mkfs: owned(mkfs), mount: owned(mount), conversion: false }
        };
        assert!(!met("ext4", &with(&["-O", "^has_journal"], &[]), "journal"));
        assert!(met("ext4", &with(&[], &["noatime,data=journal"]), "data journal"));
        assert!(!met("ext4", &with(&[], &["noatime"]), "data journal"));
        assert!(!met("ext4", &with(&["-O^metadata_csum"], &[]), "metadata checksums"));
        assert!(!met("ext4", &with(&[], &["nobarrier"]), "durable fsync"));
        assert!(!met("btrfs", &with(&[], &["nodatacow"]), "data checksums"));
        assert!(!met("btrfs", &with(&[], &["nodatacow"]), "compression"));
        assert!(met("btrfs", &with(&[], &["nodatasum"]), "compression"));
        assert!(!met("xfs", &with(&["-m", "reflink=0"], &[]), "reflinks"));
        assert!(!met("xfs", &with(&["-m", "crc=0"], &[]), "metadata checksums"));
    }
}
