//! Whether a kind can do what is required of it, with the source of the answer.

use super::{Fact, Filesystem, Journal, Resize, Variant, give_up_flushes};
use crate::schema::needs::Required;
use crate::schema::setup::Depth;
use crate::schema::units::Bytes;

/// How a kind, made and mounted like that, stands to what is required.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub is_met: bool,
    /// What it has instead or the limit that it has; empty where there is no more to say than no.
    pub said: String,
    pub source: &'static str,
}

/// The closed list: a further entry of [`Required`] is a line here, and a fact that every kind states.
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
        Required::CaseSensitiveNames => yes(&can.case_sensitive),
        Required::Grow => of(&can.grow, |grow| *grow != Resize::No),
        Required::GrowWhileMounted => {
            let unmounted = can.grow.value == Resize::Unmounted;
            let said = if unmounted { "only while it is not mounted" } else { "" };
            Answer { said: said.into(), ..of(&can.grow, |grow| *grow == Resize::Mounted) }
        }
        Required::Shrink => of(&can.shrink, |shrink| *shrink != Resize::No),
        Required::Fsck => {
            let said =
                if can.check.value.is_some() { "it looks at a little of it only" } else { "there is none" };
            Answer { said: said.into(), ..of(&can.check, |check| *check == Some(Depth::Full)) }
        }
        Required::DurableFsync => durable(kind, variant),
        Required::InLinux => {
            let said = can.linux.value.until.map_or(String::new(), |until| format!("not since {until}"));
            Answer { said, ..of(&can.linux, |linux| linux.until.is_none()) }
        }
        Required::FilesOver(wanted) => limit(can.largest_file.value, wanted, can.largest_file.source),
        Required::VolumesOver(wanted) => {
            limit(*kind.size().end(), wanted, "what mkfs accepts and the check then calls clean")
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
    let said = if is_given_up { "given up by its mount options" } else { "it asks the device for no flush" };
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

    /// The kinds that can, in the order of the table.
    fn who(required: &str) -> String {
        let plain = Variant::default();
        let can = TABLE.iter().map(|kind| kind.name()).filter(|kind| met(kind, &plain, required));
        can.collect::<Vec<_>>().join(" ")
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

    #[test]
    fn who_can_do_what_is_required() {
        assert_eq!(who("data checksums"), "btrfs");
        assert_eq!(who("data journal"), "ext3-journal btrfs f2fs nilfs2");
        assert_eq!(
            who("journal"),
            "ext3-journal ext3-ordered ext3-writeback ext4 reiserfs jfs xfs btrfs f2fs nilfs2"
        );
        assert_eq!(
            who("shrink"),
            "ntfs ntfs-3g ext2 ext3-journal ext3-ordered ext3-writeback ext4 reiserfs btrfs nilfs2"
        );
        assert_eq!(who("reflinks"), "xfs btrfs");
        assert!(!who("files over 4 GiB").contains("fat16") && who("files over 4 GiB").contains("exfat"));
        assert_eq!(who("volumes over 16 TiB"), "exfat ext4 jfs xfs btrfs nilfs2");
        assert!(!who("durable fsync").contains("jfs") && !who("in Linux").contains("reiserfs"));
        assert!(!who("fsck").contains("nilfs2") && !who("fsck").contains("ntfs"));
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
