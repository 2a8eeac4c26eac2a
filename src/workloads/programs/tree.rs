//! The files that a command left: names, types, modes and content of all files in the current folder.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::schema::units::MIB;
use crate::workloads::kit::files::failed;
use crate::workloads::{LiveFile, OpError};

/// All files, links and folders, by path. Sockets, pipes and devices are left out, because they have no content.
pub fn live() -> Result<Vec<LiveFile>, OpError> {
    let mut live = Vec::new();
    each(&mut |path, about| {
        let mode = about.permissions().mode() & 0o7777;
        if about.is_symlink() {
            let target = fs::read_link(path)?;
            let bytes = target.as_os_str().as_bytes();
            live.push(LiveFile::symlink(path, bytes.len() as u64, crc32fast::hash(bytes)));
        } else if about.is_dir() {
            live.push(LiveFile::folder(path).with_mode(mode));
        } else if about.is_file() {
            let file = LiveFile::file(path, about.len(), crc32(path)?).with_mode(mode);
            live.push(if about.nlink() > 1 { file.with_links(about.nlink()) } else { file });
        }
        Ok(())
    })?;
    Ok(live)
}

/// Calls `act` for everything in the current folder, in order of names; a folder comes before its content.
fn each(act: &mut dyn FnMut(&Path, &fs::Metadata) -> io::Result<()>) -> Result<(), OpError> {
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        let fault = |e: io::Error| failed("read", here, e);
        let entries = fs::read_dir(here).map_err(fault)?;
        let mut names =
            entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>().map_err(fault)?;
        names.sort();
        let mut below = Vec::new();
        for name in names {
            let path = folder.join(name);
            let fault = |e: io::Error| failed("read", &path, e);
            let about = fs::symlink_metadata(&path).map_err(fault)?;
            act(&path, &about).map_err(fault)?;
            if about.is_dir() {
                below.push(path);
            }
        }
        open.extend(below.into_iter().rev());
    }
    Ok(())
}

fn crc32(path: &Path) -> io::Result<u32> {
    let (mut file, mut sum) = (File::open(path)?, crc32fast::Hasher::new());
    let mut buffer = vec![0; MIB as usize];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sum.finalize()),
            read => sum.update(&buffer[..read]),
        }
    }
}
