//! Placement of a file's content on its device, as reported by the filesystem (`Documentation/filesystems/fiemap.rst`).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `_IOWR('f', 11, struct fiemap)`: its header has 32 bytes.
const FS_IOC_FIEMAP: libc::c_ulong = (3 << 30) | (32 << 16) | ((b'f' as libc::c_ulong) << 8) | 11;
/// In `fe_flags`: the last extent.
const LAST: u32 = 0x0001;
/// In `fe_flags`: the location is unknown, or the data there is encoded and differs from the file's bytes.
const NO_PLACE: u32 = 0x0002 | 0x0008;

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
/// file without content. Compressed content has one piece per extent.
///
/// # Errors
/// `EOPNOTSUPP` or `ENOTTY` if the filesystem does not support this.
pub fn pieces(file: &File) -> io::Result<u64> {
    let mut count = Count::default();
    let mut start = 0;
    loop {
        let extents = mapped(file, start)?;
        count.add(&extents);
        match extents.last() {
            Some(last) if last.flags & LAST == 0 && last.logical + last.length > start => {
                start = last.logical + last.length;
            }
            _ => return Ok(count.pieces),
        }
    }
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
    /// Start of a contiguous next extent, in the file and on the device.
    next: Option<(u64, u64)>,
}

impl Count {
    fn add(&mut self, extents: &[Extent]) {
        for extent in extents {
            let goes_on = self.next == Some((extent.logical, extent.physical));
            self.pieces += u64::from(!goes_on);
            let has_place = extent.flags & NO_PLACE == 0;
            self.next = has_place.then(|| (extent.logical + extent.length, extent.physical + extent.length));
        }
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
            // One at a time, as for a file with more extents than one call returns.
            extents.chunks(1).for_each(|some| count.add(some));
            count.pieces
        };
        assert_eq!(pieces(&[]), 0);
        assert_eq!(pieces(&[extent(0, 100, 0), extent(10, 110, 0), extent(20, 120, LAST)]), 1);
        assert_eq!(pieces(&[extent(0, 100, 0), extent(10, 200, 0), extent(20, 210, LAST)]), 2);
        let behind_a_hole = [extent(0, 100, 0), extent(50, 110, LAST)];
        assert_eq!(pieces(&behind_a_hole), 2);
        let compressed = [extent(0, 100, 0x0008), extent(10, 110, 0x0008 | LAST)];
        assert_eq!(pieces(&compressed), 2);
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
