//! Programs and libraries of packages, by the paths that they would have if installed. No file is written.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, ensure};

use super::bounded::{ALL, Bounded, MODULE};
use super::closure::Files;
use super::package::{self, Entry};
use crate::schema::units::Bytes;

/// Folders of programs and libraries, without `usr`, which is the same folder.
const FOLDERS: [&str; 4] = ["bin", "sbin", "lib", "lib64"];
/// Configuration files of tools.
pub const CONFIGURATION: [&str; 1] = ["/etc/mke2fs.conf"];
/// The largest number of components of a path, as in `lib/x86_64-linux-gnu/libc.so.6`; no tool loads files at longer paths.
const DEEPEST: usize = 3;
/// The largest number of links to follow in sequence, so that a cycle of links ends.
const MOST_LINKS: usize = 8;
/// Folders configured for Debian's loader.
const LIBRARIES: [&str; 4] = [
    "/usr/local/lib",
    "/usr/local/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
];

/// Files of packages by path, without leading slash and without `usr`.
#[derive(Default)]
pub struct Tree {
    files: BTreeMap<String, Node>,
    held: Bytes,
}

enum Node {
    /// A file: its content, and the number of the package that it comes from.
    File(Vec<u8>, usize),
    Link(String),
}

impl Tree {
    /// Adds the programs, libraries and configuration of a package.
    ///
    /// # Errors
    /// If the package is damaged, invalid, or exceeds a limit.
    pub fn unpack(&mut self, file: &Path, number: usize) -> anyhow::Result<()> {
        package::for_each_entry(file, &mut |path, entry| {
            let Some(path) = wanted(path) else { return Ok(()) };
            let node = match entry {
                Entry::Link(target) => Node::Link(target),
                Entry::File(reader) => Node::File(self.bytes(reader)?, number),
            };
            self.files.insert(path, node);
            Ok(())
        })
    }

    fn bytes(&mut self, reader: &mut dyn Read) -> anyhow::Result<Vec<u8>> {
        let bytes = Bounded::new(reader, MODULE).all()?;
        self.held = Bytes(self.held.0 + bytes.len() as u64);
        ensure!(self.held <= ALL, "the packages unpack to more than {ALL}");
        Ok(bytes)
    }

    /// The number of the package that brought the file at this path, following links.
    pub fn brought_by(&self, path: &Path) -> Option<usize> {
        self.find(path).map(|(_, package)| package)
    }

    fn find(&self, path: &Path) -> Option<(&[u8], usize)> {
        let mut at = plain(path)?;
        for _ in 0..MOST_LINKS {
            match self.files.get(&at)? {
                Node::File(bytes, package) => return Some((bytes, *package)),
                Node::Link(target) => {
                    let folder = Path::new("/").join(&at);
                    at = plain(&folder.parent()?.join(target))?;
                }
            }
        }
        None
    }
}

impl Files for Tree {
    fn has(&self, path: &Path) -> bool {
        self.find(path).is_some()
    }

    fn read(&self, path: &Path) -> anyhow::Result<Vec<u8>> {
        let (bytes, _) = self.find(path).context("no package contains it")?;
        Ok(bytes.to_vec())
    }

    fn libraries(&self) -> Vec<PathBuf> {
        libraries()
    }
}

/// The loader's additional folders in a guest made of packages.
pub fn libraries() -> Vec<PathBuf> {
    LIBRARIES.map(PathBuf::from).to_vec()
}

/// The path without `..`: `/usr/lib/../sbin/mke2fs` → `sbin/mke2fs`; `None` if the path leads out of the root.
fn plain(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::ParentDir => drop(parts.pop()?),
            _ => {}
        }
    }
    let parts = parts.strip_prefix(&["usr"]).unwrap_or(&parts);
    Some(parts.join("/"))
}

/// The path in the tree of a file that a guest may need.
fn wanted(path: &str) -> Option<String> {
    let path = plain(Path::new(path))?;
    let configured = CONFIGURATION.iter().any(|file| file.strip_prefix('/') == Some(&path));
    let below = FOLDERS.contains(&path.split('/').next()?);
    let is_near = path.split('/').count() <= DEEPEST;
    (configured || (below && is_near)).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(entries: &[(&str, Result<&str, &str>)]) -> Tree {
        let node = |entry: &Result<&str, &str>| match entry {
            Ok(text) => Node::File(text.as_bytes().to_vec(), 7),
            Err(target) => Node::Link((*target).to_owned()),
        };
        let files = entries.iter().filter_map(|(path, entry)| Some((wanted(path)?, node(entry)))).collect();
        Tree { files, held: Bytes(0) }
    }

    #[test]
    fn what_lies_below_usr_is_found_without_it_and_the_other_way_round() {
        let tree = tree(&[("usr/sbin/mkfs.xfs", Ok("xfs")), ("sbin/mke2fs", Ok("ext"))]);
        for path in ["/usr/sbin/mkfs.xfs", "/sbin/mkfs.xfs", "/usr/sbin/mke2fs", "/sbin/../sbin/mke2fs"] {
            assert_eq!(tree.brought_by(Path::new(path)), Some(7), "{path}");
        }
        assert_eq!(tree.program("mke2fs"), Some(PathBuf::from("/usr/sbin/mke2fs")));
        assert_eq!(tree.program("mke3fs"), None);
    }

    #[test]
    fn links_are_followed_and_none_leads_out_or_round() {
        let tree = tree(&[
            ("lib/x86_64-linux-gnu/libc.so.6", Ok("c")),
            ("lib64/ld-linux-x86-64.so.2", Err("/lib/x86_64-linux-gnu/libc.so.6")),
            ("usr/lib/x86_64-linux-gnu/libd.so", Err("libc.so.6")),
            ("sbin/round", Err("again")),
            ("sbin/again", Err("round")),
            ("sbin/out", Err("../../../etc/passwd")),
        ]);
        let text = |path: &str| tree.read(Path::new(path)).ok();
        assert_eq!(text("/lib64/ld-linux-x86-64.so.2"), Some(b"c".to_vec()));
        assert_eq!(text("/lib/x86_64-linux-gnu/libd.so"), Some(b"c".to_vec()));
        for none in ["/sbin/round", "/sbin/out", "/../../etc/passwd"] {
            assert_eq!(text(none), None, "{none}");
        }
    }

    #[test]
    fn documents_and_what_lies_deep_are_left_out() {
        assert_eq!(wanted("etc/mke2fs.conf").as_deref(), Some("etc/mke2fs.conf"));
        for other in ["usr/share/doc/x", "etc/passwd", "usr/lib/x86_64-linux-gnu/gconv/UTF-7.so"] {
            assert_eq!(wanted(other), None, "{other}");
        }
    }
}
