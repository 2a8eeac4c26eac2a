//! What the kernel's log says of a device from one moment to another: `/dev/kmsg`, whose records are
//! `priority,sequence,microseconds,flags;text`, then lines ` KEY=value`.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// `KERN_WARNING`; what is less urgent has a greater number.
const WARNING: u32 = 4;
/// The largest record (`CONSOLE_EXT_LOG_MAX`).
const RECORD: usize = 8192;
/// A failing disk can fill the log.
const MOST: usize = 20;

pub struct Log(File);

impl Log {
    /// # Errors
    /// If this process may not read the log.
    pub fn from_now() -> io::Result<Self> {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let log = Log(OpenOptions::new().read(true).custom_flags(flags).open("/dev/kmsg")?);
        log.skip()?;
        Ok(log)
    }

    /// Passes over what was said until now.
    pub fn skip(&self) -> io::Result<()> {
        (&self.0).seek(SeekFrom::End(0)).map(drop)
    }

    /// Errors, warnings and resets since the last [`Log::skip`] that have one of these names of a device: `sda`, `ata1`, `b8:0`.
    pub fn about(&self, names: &[String]) -> Vec<String> {
        let mut found = Vec::new();
        let mut record = vec![0; RECORD];
        loop {
            match (&self.0).read(&mut record) {
                Ok(0) => break,
                Ok(length) => found.extend(told(&String::from_utf8_lossy(&record[..length]), names)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                // Older records were overwritten.
                Err(e) if e.raw_os_error() == Some(Errno::PIPE.raw_os_error()) => {}
                Err(_) => break,
            }
        }
        found.truncate(MOST);
        found
    }
}

/// The text of this record if it is a warning, error or reset about one of these names.
fn told(record: &str, names: &[String]) -> Option<String> {
    let (head, message) = record.split_once(';')?;
    let text = message.lines().next()?;
    let level = head.split(',').next()?.parse::<u32>().ok()? & 7;
    let is_urgent = level <= WARNING || text.to_lowercase().contains("reset");
    let is_about = names.iter().any(|name| has_name(message, name));
    (is_urgent && is_about).then(|| text.to_owned())
}

fn has_name(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == ':' || c == '-';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + name.len()..].chars();
        // A colon that ends the name is not part of it: `ata1: hard resetting link`.
        let is_longer = match after.next() {
            Some(':') => after.next().is_some_and(|c| c.is_ascii_digit()),
            next => next.is_some_and(is_part),
        };
        !before.is_some_and(is_part) && !is_longer
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trouble_of_this_disk_counts() {
        let names = ["sda", "0:0:0:0", "ata1", "b8:0", "nvme0"].map(str::to_owned);
        for (record, counts) in [
            ("3,1,5,-;I/O error, dev sda, sector 4660 op 0x0:(READ) flags 0x0", true),
            ("3,1,5,-;I/O error, dev sdaa, sector 4660 op 0x0:(READ) flags 0x0", false),
            ("6,1,5,-;ata1: hard resetting link", true),
            ("6,1,5,-;ata1.00: configured for UDMA/133", false),
            ("3,1,5,-;ata1.00: exception Emask 0x0 SAct 0x0", true),
            ("3,1,5,-;ata11.00: exception Emask 0x0 SAct 0x0", false),
            (
                "4,1,5,-;sd 0:0:0:0: Power-on or device reset occurred\n SUBSYSTEM=scsi\n DEVICE=+scsi:0:0:0:0",
                true,
            ),
            ("4,1,5,-;sd 10:0:0:0: Power-on or device reset occurred", false),
            ("4,1,5,-;nvme nvme0: I/O 12 QID 3 timeout, aborting", true),
            ("5,1,5,-;sd 0:0:0:0: [sda] Synchronizing SCSI cache", false),
            ("4,1,5,-;somebody else\n DEVICE=b8:0", true),
            ("4,1,5,-;somebody else\n DEVICE=b8:01", false),
            ("30,1,5,-;audit: sda", false),
            ("nonsense", false),
        ] {
            assert_eq!(told(record, &names).is_some(), counts, "{record}");
        }
    }
}
