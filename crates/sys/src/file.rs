//! File operations that the standard library lacks.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};

/// Closes a file and returns errors, which dropping ignores. Some filesystems report lost writes only here.
pub fn close(file: OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor was owned, and `into_raw_fd` gave up the ownership, so nothing uses or closes it again.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// `f_type` of the filesystem that holds this file: `linux/magic.h`.
pub(crate) fn filesystem(file: &File) -> io::Result<libc::__fsword_t> {
    // SAFETY: all bits zero are a valid statfs, which holds integers only.
    let mut about: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills this structure and keeps no pointer.
    match unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut about) } {
        0 => Ok(about.f_type),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_closed_file_is_closed() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        close(reader.into()).expect("closing works");
        let broken = writer.write_all(b"x").expect_err("nobody reads");
        assert_eq!(broken.kind(), io::ErrorKind::BrokenPipe);
    }
}
