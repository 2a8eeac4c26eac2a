//! Placement of a file's content on its device, as reported by the filesystem (`Documentation/filesystems/fiemap.rst`).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use crate::btrfs;
use crate::file::filesystem;

/// `_IOWR('f', 11, struct fiemap)`: its header has 32 bytes.
const FS_IOC_FIEMAP: libc::c_ulong = (3 << 30) | (32 << 16) | ((b'f' as libc::c_ulong) << 8) | 11;
/// Flag in `fe_flags`: this extent is the last.
const LAST: u32 = 0x0001;
/// Flag in `fe_flags`: the location of this extent is unknown.
const UNKNOWN: u32 = 0x0002;
/// Flag in `fe_flags`: the data on the device is encoded, such as compressed. The flag does not tell the length on the device.
const ENCODED: u32 = 0x0008;

/// Number of extents per call: 3.5 KiB.
const AT_ONCE: usize = 64;

#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_too: [u32; 3],
}

#[derive(Default)]
#[repr(C)]
struct Head {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
}

#[repr(C)]
struct Map {
    head: Head,
    extents: [Extent; AT_ONCE],
}

/// Number of pieces of a file's content. Extents that are contiguous both on the device and in the file are one piece. 0 for a
/// file without content.
///
/// A compressed extent is shorter on the device than in the file. Btrfs tells its length to root. Otherwise the next extent counts
/// as contiguous if it begins in the space that the uncompressed content would take: compression cannot make it longer.
///
/// # Errors
/// `EOPNOTSUPP` or `ENOTTY` if the filesystem does not support this.
pub fn pieces(file: &File) -> io::Result<u64> {
    if filesystem(file)? == btrfs::MAGIC
        && let Ok(extents) = btrfs::extents(file)
    {
        return Ok(on_btrfs(&extents));
    }
    let mut count = Count::default();
    each(file, |extent| count.add(extent))?;
    Ok(count.pieces)
}

/// Whether some of a file's content is compressed or otherwise encoded.
///
/// # Errors
/// As for [`pieces`].
pub fn has_encoded(file: &File) -> io::Result<bool> {
    let mut has = false;
    each(file, |extent| has |= extent.flags & ENCODED != 0)?;
    Ok(has)
}

fn each(file: &File, mut does: impl FnMut(&Extent)) -> io::Result<()> {
    let mut start = 0;
    loop {
        let extents = mapped(file, start)?;
        extents.iter().for_each(&mut does);
        match extents.last() {
            Some(last) if last.flags & LAST == 0 && last.logical + last.length > start => {
                start = last.logical + last.length;
            }
            _ => return Ok(()),
        }
    }
}

fn on_btrfs(extents: &[btrfs::Extent]) -> u64 {
    let mut count = Count::default();
    for extent in extents {
        match *extent {
            btrfs::Extent::Inline { .. } => count.piece(None, None),
            btrfs::Extent::Regular { logical, begin, bytes, offset, length, is_compressed } => {
                let on_device = if is_compressed {
                    (begin, begin + bytes)
                } else {
                    (begin + offset, begin + offset + length)
                };
                count.piece(Some((logical, on_device.0)), Some((logical + length, on_device.1, on_device.1)));
            }
        }
    }
    count.pieces
}

fn mapped(file: &File, start: u64) -> io::Result<Vec<Extent>> {
    let head = Head { start, length: u64::MAX - start, room: AT_ONCE as u32, ..Head::default() };
    let mut map = Map { head, extents: [Extent::default(); AT_ONCE] };
    // SAFETY: the kernel reads the header, fills at most as many extents as the header has room for, and keeps no pointer. Both
    // structures are plain integers.
    match unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut map) } {
        0 => Ok(map.extents.into_iter().take(map.head.mapped as usize).collect()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[derive(Default)]
struct Count {
    pieces: u64,
    /// Start of a contiguous next extent in the file, and its first and last possible start on the device.
    next: Option<(u64, u64, u64)>,
}

impl Count {
    fn add(&mut self, extent: &Extent) {
        let begin = (extent.logical, extent.physical);
        let [in_file, on_device] =
            [extent.logical, extent.physical].map(|at| at.saturating_add(extent.length));
        let next = match extent.flags & (UNKNOWN | ENCODED) {
            0 => Some((in_file, on_device, on_device)),
            ENCODED => Some((in_file, extent.physical.saturating_add(1), on_device)),
            _ => None,
        };
        self.piece(Some(begin), next);
    }

    /// An extent with its start in the file and on the device, and where a contiguous one may start.
    fn piece(&mut self, begin: Option<(u64, u64)>, next: Option<(u64, u64, u64)>) {
        let goes_on = self.next.zip(begin).is_some_and(|((in_file, first, last), (logical, physical))| {
            logical == in_file && (first..=last).contains(&physical)
        });
        self.pieces += u64::from(!goes_on);
        self.next = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(logical: u64, physical: u64, flags: u32) -> Extent {
        Extent { logical, physical, length: 10, flags, ..Extent::default() }
    }

    #[test]
    fn extents_that_follow_one_another_in_file_and_device_are_one_piece() {
        let pieces = |extents: &[Extent]| {
            let mut count = Count::default();
            extents.iter().for_each(|extent| count.add(extent));
            count.pieces
        };
        assert_eq!(pieces(&[]), 0);
        assert_eq!(pieces(&[extent(0, 100, 0), extent(10, 110, 0), extent(20, 120, LAST)]), 1);
        assert_eq!(pieces(&[extent(0, 100, 0), extent(10, 200, 0), extent(20, 210, LAST)]), 2);
        let behind_a_hole = [extent(0, 100, 0), extent(50, 110, LAST)];
        assert_eq!(pieces(&behind_a_hole), 2);
        let nowhere = [extent(0, 0, 0x0002), extent(10, 10, 0x0002 | LAST)];
        assert_eq!(pieces(&nowhere), 2);
    }

    #[test]
    fn compressed_extents_of_one_run_are_one_piece() {
        let pieces = |extents: &[Extent]| {
            let mut count = Count::default();
            extents.iter().for_each(|extent| count.add(extent));
            count.pieces
        };
        let all = |places: &[u64]| {
            let at = |(n, place): (usize, &u64)| extent(10 * n as u64, *place, ENCODED);
            pieces(&places.iter().enumerate().map(at).collect::<Vec<_>>())
        };
        assert_eq!(all(&[100, 101, 105, 115]), 1, "each begins where the one before may end");
        assert_eq!(all(&[100, 111]), 2, "compression makes nothing longer");
        assert_eq!(all(&[100, 100]), 2, "nothing takes no space");
        assert_eq!(all(&[100, 90]), 2);
        assert_eq!(pieces(&[extent(0, 100, ENCODED), extent(10, 102, 0), extent(20, 112, 0)]), 1);
    }

    #[test]
    fn extents_of_btrfs_are_contiguous_by_their_length_on_the_device() {
        let extent = |logical, begin, bytes, is_compressed| btrfs::Extent::Regular {
            logical,
            begin,
            bytes,
            offset: 0,
            length: 100,
            is_compressed,
        };
        assert_eq!(
            on_btrfs(&[
                extent(0, 1000, 10, true),
                extent(100, 1010, 30, true),
                extent(200, 1040, 100, false)
            ]),
            1
        );
        assert_eq!(
            on_btrfs(&[extent(0, 1000, 10, true), extent(100, 1011, 30, true)]),
            2,
            "one byte is between"
        );
        assert_eq!(on_btrfs(&[btrfs::Extent::Inline { logical: 0, bytes: 9, is_compressed: false }]), 1);
        assert_eq!(on_btrfs(&[]), 0);
    }

    #[test]
    fn the_kernel_knows_this_question() {
        assert_eq!((size_of::<Extent>(), size_of::<Head>(), FS_IOC_FIEMAP), (56, 32, 0xC020_660B));
        let path = format!("/var/tmp/fsderby-extents-{}", std::process::id());
        let file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
        std::fs::remove_file(&path).expect("its name");
        match pieces(&file) {
            Ok(none) => {
                assert_eq!(none, 0);
                io::Write::write_all(&mut &file, &[1; 100_000]).expect("room");
                file.sync_all().expect("it is written");
                assert!((1..=25).contains(&pieces(&file).expect("it said so before")));
            }
            Err(e) => assert!(matches!(e.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY)), "{e}"),
        }
    }
}
