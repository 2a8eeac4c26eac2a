//! Amount of a file in the kernel's page cache.

use std::fs::File;
use std::io;
use std::ptr::null_mut;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Bytes of the file's pages in memory, by mincore(2). The kernel reports them only to users who may write the file.
pub fn cached_bytes(file: &File) -> io::Result<u64> {
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    if length == 0 {
        return Ok(0);
    }
    let page = rustix::param::page_size();
    let mut pages = vec![0_u8; length.div_ceil(page)];
    // SAFETY: a new mapping at an address of the kernel's choice, which nothing reads or writes through.
    let mapping = unsafe { mmap(null_mut(), length, ProtFlags::empty(), MapFlags::SHARED, file, 0) }?;
    // SAFETY: the mapping has `length` bytes, and `pages` a byte for each of its pages.
    let asked = match unsafe { libc::mincore(mapping, length, pages.as_mut_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: the mapping was made above with this length, and nothing points into it.
    unsafe { munmap(mapping, length) }?;
    asked?;
    let held = pages.iter().filter(|page| **page & 1 == 1).count();
    Ok((held * page) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_was_written_is_in_the_cache_until_it_is_dropped() {
        let mut file = tempfile();
        assert_eq!(cached_bytes(&file).expect("mincore"), 0, "nothing is there");
        file.write_all(&[1; 100_000]).expect("room");
        assert!(cached_bytes(&file).expect("mincore") >= 100_000);
        file.sync_all().expect("it is written");
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("advice");
        assert!(cached_bytes(&file).expect("mincore") < 100_000);
    }

    /// On a disk, because tmpfs pages cannot be dropped.
    fn tempfile() -> File {
        let path = format!("/var/tmp/fsderby-sys-{}", std::process::id());
        let file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
        std::fs::remove_file(path).expect("its name");
        file
    }
}
