//! Where programs are: the same folders for root and for everybody.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Where tools are looked for, in this order. The caller's PATH is not asked: it often lacks the sbin folders.
pub const FOLDERS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The file of a program that can be run.
pub fn find(program: &str) -> Option<PathBuf> {
    let can_run = |path: &Path| access(path, Access::EXEC_OK).is_ok();
    files(program).find(|path| path.is_file() && can_run(path))
}

/// What has the name of a program that [`find`] does not find.
pub fn find_unusable(program: &str) -> Option<PathBuf> {
    files(program).find(|path| path.exists())
}

fn files(program: &str) -> impl Iterator<Item = PathBuf> {
    FOLDERS.iter().map(move |folder| Path::new(folder).join(program))
}
