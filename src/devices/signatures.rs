//! What a disk says is on it, as libblkid reads it.

use std::path::Path;
use std::process::{Command, Stdio};

use super::disk::Described;
use super::refusal::{Check, Refusal};
use crate::host::programs;

/// blkid's exit codes.
const FOUND: i32 = 0;
const NOTHING: i32 = 2;
const AMBIVALENT: i32 = 8;

/// Something that is on a disk or partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// The kernel's name of the disk or partition.
    pub on: String,
    /// `ext4`, `LVM2_member`, `gpt`.
    pub kind: String,
}

/// The signatures of the disk and of each partition that the kernel knows.
///
/// # Errors
/// If they cannot be read, or several contradict each other.
pub fn all(disk: &Described) -> Result<Vec<Signature>, Refusal> {
    let blkid = programs::find("blkid").ok_or_else(|| {
        Refusal::new(
            Check::Place,
            "blkid is not installed, so nobody can say what is on a disk",
            "apt-get install util-linux",
        )
    })?;
    let parts = disk.partitions.iter().map(|part| part.name.as_str());
    let each = std::iter::once(disk.name.as_str()).chain(parts).map(|name| one(&blkid, name));
    each.filter_map(Result::transpose).collect()
}

fn one(blkid: &Path, name: &str) -> Result<Option<Signature>, Refusal> {
    let node = Path::new("/dev").join(name);
    let mut command = Command::new(blkid);
    command.args(["--probe", "--output", "export"]).arg(&node).stdin(Stdio::null()).env_clear();
    let ran = command.output().map_err(|e| Refusal::io(Check::Signature, "run", "blkid", &e))?;
    let text = String::from_utf8_lossy(&ran.stdout);
    match ran.status.code() {
        Some(FOUND) if !text.trim().is_empty() => Ok(Some(read(name, &text))),
        // It also says that it found nothing when it could not look; then it complains.
        Some(FOUND | NOTHING) if ran.stderr.is_empty() => Ok(None),
        Some(AMBIVALENT) => Err(Refusal::new(
            Check::Signature,
            format!("{name} has signatures of several kinds, which contradict each other"),
            format!("wipefs {}, which lists them", node.display()),
        )),
        _ => Err(Refusal::new(
            Check::Signature,
            format!("blkid could not read {name}: {}", String::from_utf8_lossy(&ran.stderr).trim()),
            "dmesg, for the kernel's reason",
        )),
    }
}

fn read(name: &str, text: &str) -> Signature {
    let values = || text.lines().filter_map(|line| line.split_once('='));
    let value = |key: &str| values().find(|(own, _)| *own == key).map(|(_, value)| value.to_owned());
    let kind = value("TYPE").or_else(|| value("PTTYPE").map(|kind| format!("a partition table ({kind})")));
    Signature { on: name.to_owned(), kind: kind.unwrap_or_else(|| "an unknown signature".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_blkid_exports_is_read() {
        let text = "DEVNAME=/dev/vdb\nUUID=0a1b-2c3d\nVERSION=1.0\nTYPE=ext4\nUSAGE=filesystem\nLABEL=home\n";
        assert_eq!(read("vdb", text).kind, "ext4");
        assert_eq!(read("vdb", "PTTYPE=gpt\nPTUUID=77\n").kind, "a partition table (gpt)");
    }
}
