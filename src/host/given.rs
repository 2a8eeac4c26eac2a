//! Files that users name: read whole, up to a limit, and never waited for without end.

use std::fs::{self, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::schema::units::Bytes;

/// Whoever writes to a pipe gets this long.
const PATIENCE: Duration = Duration::from_secs(10);
const MOMENT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// The content of a regular file, or of a pipe such as `<(command)`.
///
/// # Errors
/// If it cannot be read, is larger than `most`, is something else (a folder, a device), or is a pipe to which nobody writes.
pub fn bytes(path: &Path, most: Bytes) -> io::Result<Vec<u8>> {
    let refused = |why: String| io::Error::new(ErrorKind::InvalidInput, why);
    let usable = |kind: FileType| match kind.is_file() || kind.is_fifo() {
        true => Ok(kind),
        false if kind.is_dir() => Err(refused("it is a directory".to_owned())),
        false => Err(refused("it is not a regular file".to_owned())),
    };
    // Before it is opened, because opening a device may do something.
    usable(fs::metadata(path)?.file_type())?;
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let kind = usable(file.metadata()?.file_type())?;
    let begin = Instant::now();
    let mut bytes = Vec::new();
    let mut part = [0; 1 << 16];
    loop {
        match file.read(&mut part) {
            Ok(0) if bytes.is_empty() && kind.is_fifo() => {
                return Err(refused("it is a pipe to which nobody writes".to_owned()));
            }
            Ok(0) => return Ok(bytes),
            Ok(n) => bytes.extend_from_slice(&part[..n]),
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                if begin.elapsed() > PATIENCE {
                    let seconds = PATIENCE.as_secs();
                    return Err(refused(format!(
                        "it is a pipe that was not closed within {seconds} seconds"
                    )));
                }
                match poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&MOMENT)) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(e) => return Err(e.into()),
                }
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        if bytes.len() as u64 > most.0 {
            return Err(refused(format!("it is larger than {most}")));
        }
    }
}

/// The same as text.
///
/// # Errors
/// Those of [`bytes`], and if it is not UTF-8.
pub fn text(path: &Path, most: Bytes) -> io::Result<String> {
    String::from_utf8(bytes(path, most)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not text"))
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, Mode, mknodat};

    use super::*;

    #[test]
    fn files_and_pipes_with_a_writer_are_read_and_nothing_else_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "one").unwrap();
        assert_eq!(text(&at("file"), Bytes(3)).unwrap(), "one");
        let refused = |path: &Path| text(path, Bytes(2)).unwrap_err().to_string();
        assert_eq!(refused(&at("file")), "it is larger than 2 bytes");
        assert_eq!(refused(folder.path()), "it is a directory");
        assert_eq!(refused(Path::new("/dev/zero")), "it is not a regular file");
        fs::write(at("bytes"), [0xff]).unwrap();
        assert_eq!(refused(&at("bytes")), "it is not text");
        mknodat(CWD, at("pipe"), rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(refused(&at("pipe")), "it is a pipe to which nobody writes");
        let pipe = at("pipe");
        std::thread::scope(|scope| {
            // Opened for both ends, so that it waits for nobody.
            let held = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
            scope.spawn(move || {
                use std::io::Write;
                (&held).write_all(b"slow").unwrap();
                std::thread::sleep(Duration::from_millis(50));
            });
            assert_eq!(text(&pipe, Bytes(9)).unwrap(), "slow");
        });
    }
}
