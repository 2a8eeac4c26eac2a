//! The marks of a claim: a partition table with one partition of a type of our own, a block in the first and one in the last MiB, and a copy
//! on this machine. All must agree.
//!
//! ```text
//! 0        protective MBR and GPT
//! 512 KiB  mark
//! 1 MiB    ┐
//!   …      │ the range for filesystems, which is the partition
//! end - ≥1 MiB ┘
//! +256 KiB mark
//! end      second GPT
//! ```

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use gptman::{GPT, GPTPartitionEntry};
use serde::{Deserialize, Serialize};

use super::refusal::{Check, Refusal};
use crate::schema::units::{Bytes, MIB};

/// The type of our partition; nothing mounts it.
const TYPE: [u8; 16] = *b"fsderby-claimed!";
/// GPT attributes: do not mount automatically, hidden.
const ATTRIBUTES: u64 = 0b11 << 62;
const NAME: &str = "claimed by fsderby";
const FIRST: u64 = MIB / 2;
const BEHIND: u64 = MIB / 4;
const BLOCK: usize = 4096;
const MAGIC: &str = "claimed by fsderby";
/// Smaller disks have no range worth a filesystem.
pub const LEAST: Bytes = Bytes(64 * MIB);

/// What a claim says of its disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Random, different for each claim.
    pub claim: String,
    /// By which the disk is named.
    pub id: String,
    pub serial: Option<String>,
    pub wwid: Option<String>,
    pub model: String,
    pub size: Bytes,
    pub sector: u64,
    /// When it was claimed, in UTC.
    pub time: String,
}

/// The range for filesystems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub offset: Bytes,
    pub length: Bytes,
}

impl Mark {
    pub fn range(&self) -> Range {
        let end = (self.size.0 / MIB - 1) * MIB;
        Range { offset: Bytes(MIB), length: Bytes(end - MIB) }
    }

    fn places(&self) -> [u64; 2] {
        let Range { offset, length } = self.range();
        [FIRST, offset.0 + length.0 + BEHIND]
    }

    fn block(&self) -> io::Result<Vec<u8>> {
        let text = serde_json::to_string(self)?;
        let hash = blake3::hash(text.as_bytes()).to_hex();
        let mut block = format!("{MAGIC}\n{hash}\n{text}\n").into_bytes();
        if block.len() > BLOCK {
            return Err(io::Error::other("the disk's names are too long for a mark"));
        }
        block.resize(BLOCK, 0);
        Ok(block)
    }

    fn of(block: &[u8]) -> Option<Mark> {
        let text = std::str::from_utf8(block).ok()?;
        let mut lines = text.split('\n');
        let (magic, hash, text) = (lines.next()?, lines.next()?, lines.next()?);
        let is_ours = magic == MAGIC && blake3::hash(text.as_bytes()).to_hex().as_str() == hash;
        serde_json::from_str(text).ok().filter(|_| is_ours)
    }

    /// Writes the table and both marks, through this descriptor alone.
    ///
    /// # Errors
    /// If the disk does not take them.
    pub fn write(&self, disk: &File) -> io::Result<()> {
        let block = self.block()?;
        for at in self.places() {
            disk.write_all_at(&block, at)?;
        }
        let mut gpt =
            GPT::new_from(&mut Part(disk, 0), self.sector, self.guid()).map_err(io::Error::other)?;
        let Range { offset, length } = self.range();
        gpt[1] = GPTPartitionEntry {
            partition_type_guid: TYPE,
            unique_partition_guid: self.guid(),
            starting_lba: offset.0 / self.sector,
            ending_lba: (offset.0 + length.0) / self.sector - 1,
            attribute_bits: ATTRIBUTES,
            partition_name: NAME.into(),
        };
        GPT::write_protective_mbr_into(&mut Part(disk, 0), self.sector).map_err(io::Error::other)?;
        gpt.write_into(&mut Part(disk, 0)).map_err(io::Error::other)?;
        disk.sync_all()
    }

    /// Removes the table and the marks, and nothing else.
    ///
    /// # Errors
    /// If the disk does not take zeros.
    pub fn remove(&self, disk: &File) -> io::Result<()> {
        let gpt = GPT::find_from(&mut Part(disk, 0)).map_err(io::Error::other)?;
        let table = gpt.header.first_usable_lba * self.sector;
        let second = self.size.0 - (table - self.sector);
        for (at, length) in [(second, self.size.0 - second), (0, table)] {
            disk.write_all_at(&vec![0; length as usize], at)?;
        }
        for at in self.places() {
            disk.write_all_at(&[0; BLOCK], at)?;
        }
        disk.sync_all()
    }

    /// Of the disk and of the partition, from the random name of the claim.
    fn guid(&self) -> [u8; 16] {
        let mut guid = [0; 16];
        guid.copy_from_slice(&blake3::hash(self.claim.as_bytes()).as_bytes()[..16]);
        guid
    }
}

/// What is at the places of marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    /// The table and both marks agree.
    Whole(Box<Mark>),
    /// Something of a claim is there, and something is missing or differs.
    Damaged(String),
}

/// Reads table and marks of a disk of this size.
///
/// # Errors
/// If the disk cannot be read.
pub fn read(disk: &File, size: Bytes) -> io::Result<Found> {
    if size < LEAST {
        return Ok(Found::Nothing);
    }
    let mut block = vec![0; BLOCK];
    disk.read_exact_at(&mut block, FIRST)?;
    let first = Mark::of(&block);
    let end = (size.0 / MIB - 1) * MIB + BEHIND;
    disk.read_exact_at(&mut block, end)?;
    let last = Mark::of(&block);
    let gpt = GPT::find_from(&mut Part(disk, 0)).ok();
    let ours = gpt.as_ref().and_then(|gpt| gpt.iter().find(|(_, entry)| entry.partition_type_guid == TYPE));
    let Some(mark) = first.clone().or_else(|| last.clone()) else {
        return Ok(match ours {
            None => Found::Nothing,
            Some(_) => {
                Found::Damaged("its partition table is that of a claim, but both marks are gone".into())
            }
        });
    };
    let Range { offset, length } = mark.range();
    let wrong = if first.is_none() || last.is_none() {
        Some("one of its two marks is gone")
    } else if first != last {
        Some("its two marks differ")
    } else if mark.size != size {
        Some("its marks are of a disk of another size")
    } else if gpt.as_ref().is_none_or(|gpt| gpt.iter().filter(|(_, entry)| entry.is_used()).count() != 1) {
        Some("its partition table does not have exactly one partition")
    } else if ours.is_none_or(|(_, entry)| {
        entry.unique_partition_guid != mark.guid()
            || entry.starting_lba * mark.sector != offset.0
            || (entry.ending_lba + 1) * mark.sector != offset.0 + length.0
    }) {
        Some("its partition is not that of the claim")
    } else {
        None
    };
    Ok(wrong.map_or_else(|| Found::Whole(Box::new(mark)), |what| Found::Damaged(what.into())))
}

/// The mark of a disk, if this machine's copy agrees.
///
/// # Errors
/// If marks are missing or differ.
pub fn agree(name: &str, found: &Found, copy: &Mark) -> Result<(), Refusal> {
    let refuse =
        |what: String| Err(Refusal::new(Check::Claim, what, "fsderby device list; nothing was written"));
    match found {
        Found::Whole(mark) if **mark == *copy => Ok(()),
        Found::Whole(_) => {
            refuse(format!("the marks on {name} are of another claim than this machine's copy"))
        }
        Found::Nothing => refuse(format!("{name} has no marks of a claim any more")),
        Found::Damaged(what) => refuse(format!("the claim of {name} is damaged: {what}")),
    }
}

/// Reads and writes at places, not at the descriptor's own position, which others may share.
struct Part<'f>(&'f File, u64);

impl Read for Part<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read_at(into, self.1)?;
        self.1 += read as u64;
        Ok(read)
    }
}

impl Write for Part<'_> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let written = self.0.write_at(from, self.1)?;
        self.1 += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Part<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let end = || (&*self.0).seek(SeekFrom::End(0));
        let (from, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::Current(by) => (self.1, by),
            SeekFrom::End(by) => (end()?, by),
        };
        let at = from.checked_add_signed(by);
        self.1 = at.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "before the beginning"))?;
        Ok(self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 100 * MIB + 512;

    fn mark(size: u64, sector: u64) -> Mark {
        Mark {
            claim: "0123456789abcdef".into(),
            id: "S1".into(),
            serial: Some("S1".into()),
            wwid: None,
            model: "model".into(),
            size: Bytes(size),
            sector,
            time: "2026-01-01T00:00:00Z".into(),
        }
    }

    fn disk(size: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        file
    }

    #[test]
    fn marks_are_outside_the_range_read_back_and_removed_without_a_trace() {
        for (size, sector) in [(SIZE, 512), (64 * MIB, 512), (100 * MIB, 4096)] {
            let (disk, mark) = (disk(size), mark(size, sector));
            assert_eq!(read(&disk, Bytes(size)).unwrap(), Found::Nothing);
            mark.write(&disk).unwrap();
            assert_eq!(read(&disk, Bytes(size)).unwrap(), Found::Whole(Box::new(mark.clone())));
            let Range { offset, length } = mark.range();
            let mut inside = vec![0; length.0 as usize];
            disk.read_exact_at(&mut inside, offset.0).unwrap();
            assert!(inside.iter().all(|byte| *byte == 0), "the range is untouched");
            // A filesystem that fills the range does not reach the marks.
            disk.write_all_at(&vec![0xFF; length.0 as usize], offset.0).unwrap();
            assert!(matches!(read(&disk, Bytes(size)).unwrap(), Found::Whole(_)));
            disk.write_all_at(&inside, offset.0).unwrap();
            mark.remove(&disk).unwrap();
            let mut all = vec![0; size as usize];
            disk.read_exact_at(&mut all, 0).unwrap();
            assert_eq!(all.iter().position(|byte| *byte != 0), None, "{size}");
        }
    }

    #[test]
    fn a_claim_of_which_anything_is_changed_is_none() {
        let changes: [(&str, u64, &[u8]); 5] = [
            ("the first mark", FIRST + 40, b"?"),
            ("the last mark", 99 * MIB + BEHIND + 40, b"?"),
            ("both", FIRST, &[0; BLOCK]),
            ("a partition", 512 * 2 + 40, &[0xAA; 8]),
            ("another partition", 512 * 2 + 128, b"other type......"),
        ];
        for (what, at, bytes) in changes {
            let disk = disk(SIZE);
            mark(SIZE, 512).write(&disk).unwrap();
            disk.write_all_at(bytes, at).unwrap();
            if what == "both" {
                disk.write_all_at(bytes, 99 * MIB + BEHIND).unwrap();
            }
            let found = read(&disk, Bytes(SIZE)).unwrap();
            // The second table mends the first: then the partition is whole, and everything agrees.
            let is_mended = matches!(found, Found::Whole(_)) && what.contains("partition");
            assert!(matches!(found, Found::Damaged(_)) || is_mended, "{what}: {found:?}");
        }
    }

    #[test]
    fn a_copy_on_another_disk_is_of_another_size_or_number() {
        let (disk, mark) = (disk(SIZE), mark(SIZE, 512));
        mark.write(&disk).unwrap();
        let found = read(&disk, Bytes(SIZE)).unwrap();
        assert_eq!(agree("sda", &found, &mark), Ok(()));
        let other = Mark { claim: "fedcba9876543210".into(), ..mark };
        assert!(agree("sda", &found, &other).unwrap_err().what.contains("another claim"));
        disk.set_len(SIZE + MIB).unwrap();
        assert!(matches!(read(&disk, Bytes(SIZE + MIB)).unwrap(), Found::Damaged(_)));
    }
}
