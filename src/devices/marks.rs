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
use rustix::fs::{Advice, fadvise};
use serde::{Deserialize, Serialize};

use super::lvm::Placed;
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
/// Those that partition tables are read with.
pub const SECTORS: [u64; 2] = [512, 4096];
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
    /// Where it lay then, if it is a volume of LVM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<Placed>,
}

/// The range for filesystems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub offset: Bytes,
    pub length: Bytes,
}

impl Mark {
    /// A short name of the claim, for what is built on the disk.
    pub fn short(&self) -> &str {
        self.claim.get(..8).unwrap_or_default()
    }

    pub fn range(&self) -> Range {
        let end = (self.size.0 / MIB - 1) * MIB;
        Range { offset: Bytes(MIB), length: Bytes(end - MIB) }
    }

    /// Whether it can be the mark of some disk: what a disk or a file says may be damaged.
    pub fn is_sound(&self) -> bool {
        self.claim.len() == 32
            && self.claim.bytes().all(|byte| byte.is_ascii_hexdigit())
            && self.size >= LEAST
            && SECTORS.contains(&self.sector)
            && self.size.0.is_multiple_of(self.sector)
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
        serde_json::from_str(text).ok().filter(|mark: &Mark| is_ours && mark.is_sound())
    }

    /// What a claim writes, and where: both marks, the second table and the first.
    fn pieces(&self) -> io::Result<[(u64, Vec<u8>); 4]> {
        let Range { offset, length } = self.range();
        let mut ends = Ends::of(self.size.0);
        let mut gpt = GPT::new_from(&mut ends, self.sector, self.guid()).map_err(io::Error::other)?;
        gpt[1] = GPTPartitionEntry {
            partition_type_guid: TYPE,
            unique_partition_guid: self.guid(),
            starting_lba: offset.0 / self.sector,
            ending_lba: (offset.0 + length.0) / self.sector - 1,
            attribute_bits: ATTRIBUTES,
            partition_name: NAME.into(),
        };
        GPT::write_protective_mbr_into(&mut ends, self.sector).map_err(io::Error::other)?;
        gpt.write_into(&mut ends).map_err(io::Error::other)?;
        let table = gpt.header.first_usable_lba * self.sector;
        let second = table - self.sector;
        let [first, last] = ends.bytes;
        let block = self.block()?;
        Ok([
            (FIRST, block.clone()),
            (behind(self.size), block),
            (self.size.0 - second, last[last.len() - second as usize..].to_vec()),
            (0, first[..table as usize].to_vec()),
        ])
    }

    /// Writes the table and both marks, through this descriptor alone.
    ///
    /// # Errors
    /// If the disk does not take them.
    pub fn write(&self, disk: &File) -> io::Result<()> {
        self.pieces()?.iter().try_for_each(|(at, bytes)| disk.write_all_at(bytes, *at))?;
        disk.sync_all()
    }

    /// Whether table and marks are on the disk, byte for byte.
    fn is_on(&self, disk: &File) -> io::Result<bool> {
        for (at, bytes) in self.pieces()? {
            let mut found = vec![0; bytes.len()];
            disk.read_exact_at(&mut found, at)?;
            if found != bytes {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes what of the table and the marks is on the disk, and nothing else: each sector only if it is as the claim wrote it.
    ///
    /// # Errors
    /// If the disk does not take zeros.
    pub fn remove(&self, disk: &File) -> io::Result<()> {
        // The marks last: until then the disk is known.
        for (at, bytes) in self.pieces()?.iter().rev() {
            let starts = (*at..).step_by(self.sector as usize);
            for (at, sector) in starts.zip(bytes.chunks(self.sector as usize)) {
                let mut found = vec![0; sector.len()];
                disk.read_exact_at(&mut found, at)?;
                if found == sector {
                    disk.write_all_at(&vec![0; sector.len()], at)?;
                }
            }
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
    // The disk shall answer, not what the kernel remembers of it.
    for at in [0, behind(size) - BEHIND] {
        let _ = fadvise(disk, at, None, Advice::DontNeed);
    }
    let mark = |at| {
        let mut block = vec![0; BLOCK];
        disk.read_exact_at(&mut block, at).map(|()| Mark::of(&block))
    };
    let (first, last) = (mark(FIRST)?, mark(behind(size))?);
    let damaged = |what: &str| Ok(Found::Damaged(what.into()));
    match (first, last) {
        (None, None) if has_type(disk)? => {
            damaged("its partition table is that of a claim, but both marks are gone")
        }
        (None, None) => Ok(Found::Nothing),
        (None, _) | (_, None) => damaged("one of its two marks is gone"),
        (Some(first), Some(last)) if first != last => damaged("its two marks differ"),
        (Some(mark), _) if mark.size != size => damaged("its marks are of a disk of another size"),
        (Some(mark), _) if !mark.is_on(disk)? => damaged("its partition table is not that of the claim"),
        (Some(mark), _) => Ok(Found::Whole(Box::new(mark))),
    }
}

/// Place of the last mark.
fn behind(size: Bytes) -> u64 {
    (size.0 / MIB - 1) * MIB + BEHIND
}

/// Whether the first partition of the disk's table is of our type.
fn has_type(disk: &File) -> io::Result<bool> {
    let mut found = [0; TYPE.len()];
    for sector in SECTORS {
        disk.read_exact_at(&mut found, 2 * sector)?;
        if found == TYPE {
            return Ok(true);
        }
    }
    Ok(false)
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

/// Both ends of an empty disk, in memory.
struct Ends {
    size: u64,
    at: u64,
    bytes: [Vec<u8>; 2],
}

impl Ends {
    const EACH: u64 = MIB / 16;

    fn of(size: u64) -> Self {
        Ends { size, at: 0, bytes: [vec![0; Self::EACH as usize], vec![0; Self::EACH as usize]] }
    }

    fn next(&mut self, length: usize) -> io::Result<&mut [u8]> {
        let from = self.at;
        self.at += length as u64;
        let last = self.size - Self::EACH;
        let (end, from) = if from < Self::EACH { (0, from) } else { (1, from.saturating_sub(last)) };
        let found = self.bytes[end].get_mut(from as usize..from as usize + length);
        found.ok_or_else(|| io::Error::other("a partition table does not reach so far"))
    }
}

impl Read for Ends {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        into.copy_from_slice(self.next(into.len())?);
        Ok(into.len())
    }
}

impl Write for Ends {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.next(from.len())?.copy_from_slice(from);
        Ok(from.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Ends {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.size.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "before the beginning"))?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 100 * MIB + 512;

    fn mark(size: u64, sector: u64) -> Mark {
        Mark {
            claim: "0123456789abcdef0123456789abcdef".into(),
            id: "S1".into(),
            serial: Some("S1".into()),
            wwid: None,
            model: "model".into(),
            size: Bytes(size),
            sector,
            time: "2026-01-01T00:00:00Z".into(),
            volume: None,
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
    fn the_mark_of_a_disk_has_the_bytes_that_it_always_had_and_that_of_a_volume_reads_back() {
        let plain = mark(SIZE, 512);
        assert_eq!(
            serde_json::to_string(&plain).unwrap(),
            "{\"claim\":\"0123456789abcdef0123456789abcdef\",\"id\":\"S1\",\"serial\":\"S1\",\"wwid\":null,\"model\":\"model\",\
             \"size\":104858112,\"sector\":512,\"time\":\"2026-01-01T00:00:00Z\"}"
        );
        let placed = Placed { name: "group/volume".into(), table: "0".repeat(64) };
        let (disk, volume) = (disk(SIZE), Mark { volume: Some(placed), ..plain.clone() });
        volume.write(&disk).unwrap();
        let found = read(&disk, Bytes(SIZE)).unwrap();
        assert_eq!((agree("dm-0", &found, &volume), found.clone()), (Ok(()), Found::Whole(Box::new(volume))));
        assert!(agree("dm-0", &found, &plain).is_err());
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
            assert!(matches!(found, Found::Damaged(_)), "{what}: {found:?}");
        }
    }

    /// As a kill or a power cut leaves it, or somebody who wrote to the disk.
    #[test]
    fn of_a_claim_that_was_half_written_what_is_there_is_removed_and_nothing_else() {
        let mark = mark(SIZE, 512);
        for whole in 0..4 {
            let disk = disk(SIZE);
            disk.write_all_at(b"of somebody else", FIRST + 8192).unwrap();
            for (at, bytes) in &mark.pieces().unwrap()[..whole] {
                disk.write_all_at(bytes, *at).unwrap();
            }
            // The last one in part: one sector of it, and another that is somebody's.
            let (at, bytes) = &mark.pieces().unwrap()[whole];
            disk.write_all_at(&bytes[..512], *at).unwrap();
            disk.write_all_at(b"theirs", at + 512).unwrap();
            assert!(!matches!(read(&disk, Bytes(SIZE)).unwrap(), Found::Whole(_)), "{whole}");
            mark.remove(&disk).unwrap();
            let mut all = vec![0; SIZE as usize];
            disk.read_exact_at(&mut all, 0).unwrap();
            let mut is: Vec<usize> = (0..all.len()).filter(|at| all[*at] != 0).collect();
            let of_others =
                [(FIRST + 8192, 16), (at + 512, 6)].map(|(at, many)| at as usize..(at + many) as usize);
            is.retain(|at| !of_others.iter().any(|range| range.contains(at)));
            assert!(is.is_empty(), "{whole}: {is:?}");
            assert_eq!(&all[of_others[0].clone()], b"of somebody else");
            assert_eq!(&all[of_others[1].clone()], b"theirs");
        }
    }

    #[test]
    fn beyond_what_32_bits_count_everything_is_in_its_place() {
        let size = 5 << 40;
        let (disk, mark) = (disk(size), mark(size, 512));
        mark.write(&disk).unwrap();
        assert_eq!(read(&disk, Bytes(size)).unwrap(), Found::Whole(Box::new(mark.clone())));
        let gpt = GPT::find_from(&mut &disk).unwrap();
        assert_eq!(gpt[1].ending_lba, (size - MIB) / 512 - 1);
        assert_eq!(gpt.header.backup_lba, size / 512 - 1);
        mark.remove(&disk).unwrap();
        assert_eq!(read(&disk, Bytes(size)).unwrap(), Found::Nothing);
    }

    /// Whoever makes a disk can compute the hash.
    #[test]
    fn marks_that_lie_are_none() {
        let lies: [fn(&mut Mark); 5] = [
            |mark| mark.size = Bytes(0),
            |mark| mark.sector = 0,
            |mark| mark.sector = u64::MAX,
            |mark| mark.claim = "../../../../etc/passwd".into(),
            |mark| mark.size = Bytes(u64::MAX),
        ];
        for lie in lies {
            let (disk, mut mark) = (disk(SIZE), mark(SIZE, 512));
            lie(&mut mark);
            let block = mark.block().unwrap();
            disk.write_all_at(&block, FIRST).unwrap();
            disk.write_all_at(&block, behind(Bytes(SIZE))).unwrap();
            assert_eq!(read(&disk, Bytes(SIZE)).unwrap(), Found::Nothing, "{mark:?}");
        }
    }

    #[test]
    fn a_copy_on_another_disk_is_of_another_size_or_number() {
        let (disk, mark) = (disk(SIZE), mark(SIZE, 512));
        mark.write(&disk).unwrap();
        let found = read(&disk, Bytes(SIZE)).unwrap();
        assert_eq!(agree("sda", &found, &mark), Ok(()));
        let other = Mark { claim: "fedcba9876543210fedcba9876543210".into(), ..mark };
        assert!(agree("sda", &found, &other).unwrap_err().what.contains("another claim"));
        disk.set_len(SIZE + MIB).unwrap();
        assert!(matches!(read(&disk, Bytes(SIZE + MIB)).unwrap(), Found::Damaged(_)));
    }
}
