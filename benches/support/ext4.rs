//! An ext4 over a loop device, as root.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

/// Of the image, which is sparse.
const BYTES: u64 = 8 << 30;

/// A filesystem that is gone with its value.
pub struct Ext4(PathBuf);

impl Ext4 {
    pub fn new() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("fsderby-bench").tempdir_in("/var/tmp")?;
        let (image, mount) = (folder.path().join("image"), folder.path().join("mount"));
        std::fs::create_dir(&mount)?;
        std::fs::File::create(&image)?.set_len(BYTES)?;
        run(Command::new("mkfs.ext4").args(["-q", "-F", "-E", "lazy_itable_init=0"]).arg(&image))?;
        run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&mount))?;
        Ok(Ext4(folder.keep()))
    }

    pub fn mount(&self) -> PathBuf {
        self.0.join("mount")
    }
}

impl Drop for Ext4 {
    fn drop(&mut self) {
        if run(Command::new("umount").arg(self.mount())).is_ok() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("could not run {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}
