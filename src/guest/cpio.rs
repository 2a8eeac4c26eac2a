//! The archive that a kernel unpacks as initramfs: cpio in "new ASCII" format.
//!
//! Each entry is a header of `070701` and thirteen numbers of eight hex digits, the name with a zero byte, padding to four bytes,
//! the content, padding to four bytes (`Documentation/driver-api/early-userspace/buffer-format.rst` of the kernel). Times are 0
//! and inodes are numbered in order, so equal content gives equal bytes.

use std::collections::BTreeSet;

const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_000;
const PROGRAM: u32 = FILE | 0o755;
const PERMISSIONS: u32 = 0o777;
const LINK: u32 = 0o120_777;
const TERMINAL: u32 = 0o020_600;

#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    folders: BTreeSet<String>,
}

impl Archive {
    /// A file at this absolute path, with its parent folders.
    pub fn file(&mut self, path: &str, content: &[u8]) {
        self.file_of(path, PROGRAM & PERMISSIONS, content);
    }

    /// The same with these permissions.
    pub fn file_of(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.folders_above(path);
        self.entry(path, FILE | mode & PERMISSIONS, content, (0, 0));
    }

    pub fn link(&mut self, path: &str, target: &str) {
        self.folders_above(path);
        self.entry(path, LINK, target.as_bytes(), (0, 0));
    }

    pub fn folder(&mut self, path: &str) {
        self.folders_above(path);
        if self.folders.insert(path.to_owned()) {
            self.entry(path, FOLDER, &[], (0, 0));
        }
    }

    /// A character device.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.folders_above(path);
        self.entry(path, TERMINAL, &[], (major, minor));
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[], (0, 0));
        self.bytes
    }

    fn folders_above(&mut self, path: &str) {
        if let Some((above, _)) = path.rsplit_once('/').filter(|(above, _)| !above.is_empty()) {
            self.folder(above);
        }
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8], device: (u32, u32)) {
        self.entries += 1;
        let name = path.trim_start_matches('/');
        let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let name_length = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
        let numbers = [self.entries, mode, 0, 0, 1, 0, length, 0, 0, device.0, device.1, name_length, 0];
        self.bytes.extend_from_slice(b"070701");
        for number in numbers {
            self.bytes.extend_from_slice(format!("{number:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Vec<u8> {
        let mut archive = Archive::default();
        archive.file("/usr/sbin/mkfs", b"hello");
        archive.file("/usr/sbin/fsck", b"");
        archive.link("/etc/mtab", "/proc/mounts");
        archive.device("/dev/console", 5, 1);
        archive.finish()
    }

    #[test]
    fn the_same_content_gives_the_same_bytes() {
        assert_eq!(archive(), archive());
        assert_eq!(archive().len() % 4, 0);
    }

    #[test]
    fn an_entry_is_as_the_kernel_reads_it() {
        let bytes = archive();
        // Folder usr, folder usr/sbin, then the file.
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.starts_with("07070100000001000041ed"), "{text}");
        assert_eq!(text.matches("070701").count(), 9);
        let file = text.find("usr/sbin/mkfs\0").unwrap();
        assert_eq!(&text[file - 110..file - 110 + 22], "07070100000003000081ed");
        assert_eq!(&text[file - 110 + 54..file - 110 + 62], "00000005");
        assert_eq!((file - 110) % 4, 0);
    }
}
