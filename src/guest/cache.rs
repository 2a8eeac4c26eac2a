//! The cache of kernels, snapshots and bundles: a folder of the user that nobody else can change.
//!
//! The cache is the configured folder, or `$XDG_CACHE_HOME/fsderby`, or `$HOME/.cache/fsderby`. Its content is booted, so the cache must not be in a
//! world-writable folder.

use std::fs::{self, DirBuilder, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::config::{self, Key};
use crate::exit::Missing;

/// Permission bits that let the group or other users write.
const OTHERS_WRITE: u32 = 0o022;
/// The sticky bit: in a folder with this bit, users can rename and remove only their own files.
const STICKY: u32 = 0o1000;

/// The path of the subfolder with this name in the cache; the subfolder need not exist.
///
/// # Errors
/// If there is no place for a cache, or other users could change it.
pub fn folder(name: &str) -> Result<PathBuf, Missing> {
    let cache = place()?;
    let folder = cache.join(name);
    if cache.exists() && !cache.is_dir() {
        return Err(Missing {
            what: format!("{} is not a folder, so it cannot be the cache of guests", cache.display()),
            try_this: "FSDERBY_CACHE=DIR, a folder that you own".into(),
        });
    }
    cache.parent().map_or(Ok(()), |above| is_ours(above, STICKY))?;
    is_ours(&cache, 0)?;
    is_ours(&folder, 0)?;
    Ok(folder)
}

/// The folder of the cache.
fn place() -> Result<PathBuf, Missing> {
    let config = config::get().map_err(|e| Missing {
        what: e.what,
        try_this: e.try_this.unwrap_or_else(|| "fsderby config show".into()),
    })?;
    if let Some(folder) = config.text(Key::Cache) {
        return Ok(folder.into());
    }
    let given = |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = given("XDG_CACHE_HOME").or_else(|| Some(given("HOME")?.join(".cache")));
    let base = base.ok_or_else(|| Missing {
        what: "no folder for the cache of kernels, snapshots and guest bundles: neither HOME nor XDG_CACHE_HOME \
            is set".into(),
        try_this: "set HOME, or XDG_CACHE_HOME".into(),
    })?;
    Ok(base.join("fsderby"))
}

/// The subfolder with this name in the cache; created, private to the user, if it is missing.
pub fn made(name: &str) -> anyhow::Result<PathBuf> {
    let folder = folder(name)?;
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(|e| Missing {
        what: format!("could not create {}: {e}", folder.display()),
        try_this: "FSDERBY_CACHE=DIR, a folder that you can write to".into(),
    })?;
    Ok(folder)
}

/// Checks that only this user and root can change the existing path. If the path has one of the permission bits `unless`, others
/// may write to it.
pub fn is_ours(path: &Path, unless: u32) -> Result<(), Missing> {
    match fs::metadata(path) {
        Ok(about) => is_nobody_elses(path, &about, unless),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => Err(Missing {
            what: format!(
                "could not stat {folder}, the cache of kernels, snapshots and guest bundles: {e}",
                folder = path.display()
            ),
            try_this: "FSDERBY_CACHE=DIR, a folder that you own".into(),
        }),
    }
}

fn is_nobody_elses(path: &Path, about: &Metadata, unless: u32) -> Result<(), Missing> {
    let us = rustix::process::geteuid().as_raw();
    let shown = path.display();
    if ![0, us].contains(&about.uid()) {
        return Err(Missing {
            what: format!(
                "{shown} belongs to user {owner}, who could change the programs of guests",
                owner = about.uid()
            ),
            try_this: "FSDERBY_CACHE=DIR, a folder that you own; or sudo -H if it is another user's home"
                .into(),
        });
    }
    if about.mode() & OTHERS_WRITE != 0 && about.mode() & unless == 0 {
        return Err(Missing {
            what: format!("other users can write to {shown} and could change the programs of guests"),
            try_this: format!("chmod go-w {shown}"),
        });
    }
    Ok(())
}

/// Valid as a file name in the cache.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_+.~".contains(&b))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    fn refused(path: &Path, unless: u32) -> String {
        is_ours(path, unless).map_or_else(|e| e.to_string(), |()| String::new())
    }

    #[test]
    fn a_folder_in_which_others_can_write_is_no_cache() {
        let folder = tempfile::tempdir().unwrap();
        for (mode, unless, words) in [
            (0o755, 0, ""),
            (0o775, 0, "other users can write to"),
            (0o757, STICKY, "other users can write to"),
            (0o1777, 0, "other users can write to"),
            (0o1777, STICKY, ""),
        ] {
            fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
            let said = refused(folder.path(), unless);
            assert!(said.starts_with(words) && said.is_empty() == words.is_empty(), "{mode:o}: {said}");
        }
        assert_eq!(refused(&folder.path().join("absent"), 0), "");
    }

    #[test]
    fn a_folder_of_somebody_elses_is_no_cache() {
        let folder = tempfile::tempdir().unwrap();
        if !rustix::process::geteuid().is_root() {
            return assert!(refused(Path::new("/"), 0).is_empty(), "root's is as good as our own");
        }
        chown(folder.path(), Some(65534), None).unwrap();
        assert!(refused(folder.path(), STICKY).contains("belongs to user 65534"));
    }
}
