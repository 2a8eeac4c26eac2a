//! How much of the device a trial's files take, and whether its filesystem compresses. Pure.

use crate::filesystems;
use crate::schema::event::{Encoding, Tree};
use crate::schema::job::At;
use crate::schema::record::{Record, StageRecord};
use crate::schema::units::sum;

/// If the device stores less than this share of the written bytes, the content was packed or compressed.
pub const STORED_SHARE: f64 = 0.95;

/// The files that an integrity check read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Lengths of the files.
    pub bytes: u64,
    /// Bytes written to these files; fewer than `bytes` if files have holes.
    pub written: u64,
    /// Bytes that these files take on the device.
    pub on_device: u64,
    /// Whether the filesystem compressed some of these files; older versions of fsderby did not look.
    pub has_compressed: bool,
    /// Whether `on_device` is only an upper bound.
    pub is_at_most: bool,
}

impl Stored {
    /// What the trial's integrity check found; `None` if the trial read nothing back.
    ///
    /// If the filesystem does not tell the compressed size, the bytes that the device wrote are an upper bound of it: the work and
    /// its sync have ended, so the device has written all content at least once.
    pub fn of(record: &Record) -> Option<Stored> {
        let trees = &record.trees;
        let tree = trees.iter().find(|tree| tree.at == At::Remounted).or(trees.first())?;
        if tree.bytes == 0 {
            return None;
        }
        let amounts = || record.works.iter().map(|work| work.amount.bytes_peak);
        let is_known = amounts().all(|bytes| bytes > 0);
        let written = if is_known { sum(amounts()).clamp(1, tree.bytes) } else { tree.bytes };
        let Tree { bytes, stored, encoding, .. } = *tree;
        let has_compressed = encoding.is_some_and(|encoding| encoding != Encoding::Plain);
        let is_at_most = encoding == Some(Encoding::Uncounted);
        let bound = device_written(record).filter(|_| is_at_most).unwrap_or(stored);
        Some(Stored { bytes, written, on_device: stored.min(bound), has_compressed, is_at_most })
    }

    pub fn share(self) -> f64 {
        self.on_device as f64 / self.written as f64
    }

    /// Whether the device stores every written byte, so that nothing was compressed or packed.
    pub fn is_full(self) -> bool {
        self.share() >= STORED_SHARE
    }
}

/// Bytes that the device wrote from the start of each work to the end of its sync. `None` if some work was not counted.
fn device_written(record: &Record) -> Option<u64> {
    let of = |stage: &StageRecord| stage.probe("block_io", "bytes_written");
    let all: Option<Vec<u64>> = record.stages.iter().map(of).collect();
    all.filter(|all| !all.is_empty()).map(sum)
}

/// The mount option that makes this trial's filesystem compress new files, as the kernel shows it or as the user requested it.
pub fn option(record: &Record) -> Option<&str> {
    let shown = record.mounted.as_ref();
    let kind = filesystems::find(&record.kind).or_else(|| filesystems::find(&shown?.fstype))?;
    shown.and_then(|shown| kind.compresses(&shown.options)).or_else(|| kind.compresses(&record.variant.mount))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::example::record;
    use crate::schema::setup::Mounted;
    use crate::schema::shared::Shared;

    /// Checks files of 1,000 bytes that take `stored` bytes, after `devices` wrote these numbers of bytes.
    fn checked(stored: u64, encoding: Option<Encoding>, devices: &[Option<u64>]) -> Option<Stored> {
        let mut record = record();
        record.works.iter_mut().for_each(|work| work.amount.bytes_peak = 1000);
        record.works.truncate(1);
        let (hash, expected) = (String::new(), None);
        record.trees = vec![Tree {
            at: At::Filled,
            files: 1,
            bytes: 1000,
            stored,
            encoding,
            hash,
            expected,
            free: None,
        }];
        let stage = |written: &Option<u64>| {
            let raw = written.map(|bytes| [("bytes_written".to_owned(), bytes)].into());
            StageRecord {
                probes: raw.map(|raw| ("block_io".to_owned(), raw)).into_iter().collect(),
                ..StageRecord::default()
            }
        };
        record.stages = devices.iter().map(stage).collect();
        Stored::of(&record)
    }

    #[test]
    fn the_device_bounds_a_compressed_size_that_the_filesystem_does_not_tell() {
        let of = |stored, encoding, devices: &[Option<u64>]| {
            checked(stored, encoding, devices).map(|s| (s.on_device, s.is_at_most, s.is_full()))
        };
        let uncounted = Some(Encoding::Uncounted);
        assert_eq!(of(1024, uncounted, &[Some(200)]), Some((200, true, false)));
        assert_eq!(of(1024, uncounted, &[Some(2000)]), Some((1024, true, true)));
        assert_eq!(of(1024, uncounted, &[Some(200), Some(900)]), Some((1024, true, true)), "two works");
        assert_eq!(of(1024, uncounted, &[Some(200), None]), Some((1024, true, true)), "one was not counted");
        assert_eq!(of(1024, uncounted, &[]), Some((1024, true, true)));
        assert_eq!(of(170, Some(Encoding::Compressed), &[Some(200)]), Some((170, false, false)));
        for encoding in [None, Some(Encoding::Plain)] {
            assert_eq!(of(1024, encoding, &[Some(200)]), Some((1024, false, true)), "{encoding:?}");
        }
    }

    #[test]
    fn the_option_is_the_one_that_the_kernel_shows_or_else_the_asked_one() {
        let with = |kind: &str, asked: &str, shown: Option<&str>| {
            let mut record = record();
            record.kind = kind.to_owned();
            record.variant.mount = vec![asked.to_owned()];
            record.mounted = shown.map(|shown| {
                Shared::from(Mounted {
                    fstype: kind.to_owned(),
                    driver: kind.to_owned(),
                    options: shown.split(',').map(str::to_owned).collect(),
                    source: "/dev/loop0".to_owned(),
                })
            });
            option(&record).map(str::to_owned)
        };
        let zstd = with("btrfs", "compress=zstd", Some("rw,compress=zstd:3"));
        assert_eq!(zstd.as_deref(), Some("compress=zstd:3"));
        assert_eq!(with("btrfs", "compress=zstd", None).as_deref(), Some("compress=zstd"));
        let all = with("f2fs", "compress_extension=*", Some("rw,compress_extension=*"));
        assert_eq!(all.as_deref(), Some("compress_extension=*"));
        assert_eq!(with("btrfs", "noatime", Some("rw,noatime")), None);
        assert_eq!(with("ext4", "noatime", Some("rw,noatime")), None);
    }
}
