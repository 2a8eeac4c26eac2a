//! Copies of this machine's files for a guest: those that the programs of a work open, and its inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, bail, ensure};

use super::closure::{Closure, Here};
use super::cpio::Archive;
use super::owners;
use crate::schema::units::{Bytes, GIB, KIB};

/// All of them are in the guest's memory.
const MOST: Bytes = Bytes(GIB);
const MOST_ENTRIES: usize = 50_000;
/// A guest has these of its own.
const OWN: [&str; 8] = ["/proc", "/sys", "/dev", "/run", "/tmp", "/etc/passwd", "/etc/group", "/etc/mtab"];
/// Longest chain of scripts that are each other's interpreter, as in the kernel.
const MOST_INTERPRETERS: u32 = 4;
/// Name of what belongs to no package: inputs, folders, and what this machine made itself.
const NO_PACKAGE: &str = "files of no package";
/// Memory of a file beside its content.
const ENTRY: u64 = 4 * KIB;

/// What a copy is, by its path in the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    File { mode: u32, content: Vec<u8> },
    Link(String),
}

/// Files, links and folders by path. Equal ones give equal bytes of an archive.
#[derive(Debug, Default)]
pub struct Copies {
    entries: BTreeMap<String, Entry>,
    hash: OnceLock<String>,
}

impl Copies {
    /// The existing ones of these absolute paths, with the loaders and interpreters of programs. A file that other users may not
    /// read is left out: an unprivileged program could not open it.
    ///
    /// # Errors
    /// If they are too many or too large, or one cannot be read.
    pub fn of(paths: &BTreeSet<PathBuf>) -> anyhow::Result<Self> {
        let mut copies = Copies::default();
        for path in paths {
            copies.add(path, MOST_INTERPRETERS)?;
        }
        Ok(copies)
    }

    fn add(&mut self, path: &Path, interpreters: u32) -> anyhow::Result<()> {
        let name = plain(path);
        let (Ok(real), true) = (fs::canonicalize(path), path.is_absolute()) else { return Ok(()) };
        if [&name, &real].into_iter().any(|path| is_own(path)) || !is_public(&real) {
            return Ok(());
        }
        let about = fs::metadata(&real)?;
        let [name, real_name] = [text(&name)?, text(&real)?];
        if about.is_dir() {
            for folder in [name, real_name] {
                self.insert(folder, Entry::Folder)?;
            }
            return Ok(());
        }
        if !about.is_file() {
            return Ok(());
        }
        if name != real_name {
            self.insert(name, Entry::Link(real_name.clone()))?;
        }
        if self.entries.contains_key(&real_name) {
            return Ok(());
        }
        self.has_room(Bytes(about.len()), &real)?;
        let content = fs::read(&real).with_context(|| format!("could not read {real_name}"))?;
        let interpreter = interpreter(&content);
        let is_program = content.starts_with(b"\x7fELF");
        self.insert(real_name, Entry::File { mode: about.permissions().mode(), content })?;
        if let Some(interpreter) = interpreter.filter(|_| interpreters > 0) {
            self.add(&interpreter, interpreters - 1)?;
        }
        let mut closure = Closure::of(&Here);
        // What is no program of this machine is a file like any other.
        if is_program && closure.follow(&real).is_ok() {
            for library in closure.files.keys().filter(|path| Path::new(path) != real) {
                self.add(Path::new(library), 0)?;
            }
        }
        Ok(())
    }

    /// A file of this content that is not of this machine.
    ///
    /// # Errors
    /// If there are too many.
    pub fn made(&mut self, path: &str, content: String) -> anyhow::Result<()> {
        self.insert(path.to_owned(), Entry::File { mode: 0o644, content: content.into() })
    }

    /// A file or folder of this machine with everything in it, at another path.
    ///
    /// # Errors
    /// If they are too many or too large, or one cannot be read.
    pub fn whole(&mut self, path: &Path, at: &Path) -> anyhow::Result<()> {
        let fault =
            |e: io::Error| anyhow::Error::from(e).context(format!("could not read {}", path.display()));
        let about = fs::symlink_metadata(path).map_err(fault)?;
        let at_name = text(at)?;
        if about.is_symlink() {
            let target = fs::read_link(path).map_err(fault)?;
            return self.insert(at_name, Entry::Link(text(&target)?));
        }
        if about.is_dir() {
            self.insert(at_name, Entry::Folder)?;
            for entry in fs::read_dir(path).map_err(fault)? {
                let name = entry.map_err(fault)?.file_name();
                self.whole(&path.join(&name), &at.join(&name))?;
            }
            return Ok(());
        }
        self.has_room(Bytes(about.len()), path)?;
        let content = fs::read(path).map_err(fault)?;
        self.insert(at_name, Entry::File { mode: about.permissions().mode(), content })
    }

    fn insert(&mut self, path: String, entry: Entry) -> anyhow::Result<()> {
        ensure!(
            self.entries.len() < MOST_ENTRIES,
            "its programs and inputs are more than the {MOST_ENTRIES} files that a guest gets\n  try: one archive \
             as input, or --on loop"
        );
        self.entries.entry(path).or_insert(entry);
        self.hash = OnceLock::new();
        Ok(())
    }

    fn has_room(&self, more: Bytes, path: &Path) -> anyhow::Result<()> {
        if self.bytes().0.saturating_add(more.0) > MOST.0 {
            bail!(
                "its programs and inputs are larger than the {MOST} that a guest gets, with {path} of {more}\n  try: smaller \
                 inputs, or --on loop",
                path = path.display()
            );
        }
        Ok(())
    }

    /// Memory that they take when the guest has unpacked them.
    pub fn bytes(&self) -> Bytes {
        let content = |entry: &Entry| match entry {
            Entry::File { content, .. } => (content.len() as u64).next_multiple_of(ENTRY),
            Entry::Folder | Entry::Link(_) => 0,
        };
        Bytes(self.entries.values().map(|entry| content(entry) + ENTRY).sum())
    }

    /// Hash of paths, kinds, permissions and contents.
    pub fn blake3(&self) -> String {
        let hash = || {
            let mut archive = Archive::default();
            self.put(&mut archive);
            blake3::hash(&archive.finish()).to_hex().to_string()
        };
        self.hash.get_or_init(hash).clone()
    }

    /// Hash of what was copied of each package, by its name and version, and of what belongs to none.
    pub fn packages(&self) -> BTreeMap<String, String> {
        let owners = owners::packages(Path::new(owners::DPKG), self.entries.keys().map(String::as_str));
        let mut parts: BTreeMap<&str, BTreeMap<&String, &Entry>> = BTreeMap::new();
        for (path, entry) in &self.entries {
            let owner = owners.get(path.as_str()).map_or(NO_PACKAGE, String::as_str);
            parts.entry(owner).or_default().insert(path, entry);
        }
        let hash = |entries: BTreeMap<&String, &Entry>| {
            let mut archive = Archive::default();
            put(&mut archive, entries);
            blake3::hash(&archive.finish()).to_hex().to_string()
        };
        parts.into_iter().map(|(owner, entries)| (owner.to_owned(), hash(entries))).collect()
    }

    pub fn put(&self, archive: &mut Archive) {
        put(archive, &self.entries);
    }
}

fn put<'e>(archive: &mut Archive, entries: impl IntoIterator<Item = (&'e String, &'e Entry)>) {
    for (path, entry) in entries {
        match entry {
            Entry::Folder => archive.folder(path),
            Entry::File { mode, content } => archive.file_of(path, *mode, content),
            Entry::Link(target) => archive.link(path, target),
        }
    }
}

/// The path without `.` and `..`, as far as no link is in between.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::Normal(name) => plain.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    plain
}

fn text(path: &Path) -> anyhow::Result<String> {
    path.to_str().map(str::to_owned).with_context(|| {
        format!("the path {} is not valid UTF-8, so it cannot be copied into a guest", path.display())
    })
}

fn is_own(path: &Path) -> bool {
    path == Path::new("/") || OWN.iter().any(|own| path.starts_with(own))
}

/// Whether every user may open it.
fn is_public(path: &Path) -> bool {
    let has = |path: &Path, bit| fs::metadata(path).is_ok_and(|about| about.permissions().mode() & bit != 0);
    has(path, 0o004) && path.ancestors().skip(1).all(|folder| has(folder, 0o001))
}

/// The interpreter in a script's first line.
fn interpreter(content: &[u8]) -> Option<PathBuf> {
    let line = content.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    line.split_whitespace().next().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paths: &[&str]) -> Copies {
        Copies::of(&paths.iter().map(PathBuf::from).collect()).unwrap()
    }

    #[test]
    fn a_program_comes_with_its_loader_and_libraries() {
        let copies = of(&["/usr/bin/../bin/ls", "/no/such/file", "relative"]);
        let has = |what: &str| copies.entries.keys().any(|path| path.contains(what));
        assert!(has("/bin/ls") && has("/ld-linux") && has("libc.so"), "{:?}", copies.entries.keys());
        assert!(!has("no/such") && !has("relative"));
        assert!(copies.bytes() > Bytes(100 * KIB));
    }

    #[test]
    fn each_package_has_a_hash_of_its_own() {
        let (one, two) = (of(&["/bin/ls", "/bin/tar"]).packages(), of(&["/bin/ls"]).packages());
        let of = |parts: &BTreeMap<String, String>, name: &str| {
            parts.iter().find(|(package, _)| package.starts_with(name)).map(|(_, hash)| hash.clone())
        };
        if Path::new(owners::DPKG).is_dir() {
            assert!(of(&one, "tar ").is_some() && of(&two, "tar ").is_none(), "{one:?}");
            assert!(of(&one, "coreutils ").is_some(), "{one:?}");
            assert_eq!(of(&one, "coreutils "), of(&two, "coreutils "));
        } else {
            assert_eq!(one.len(), 1, "{one:?}");
        }
    }

    #[test]
    fn what_a_guest_has_of_its_own_or_nobody_else_may_read_is_left_out() {
        assert_eq!(
            of(&["/proc/self/exe", "/etc/passwd", "/dev/null", "/tmp", "/etc/shadow"]).entries.len(),
            0
        );
    }

    #[test]
    fn a_script_comes_with_its_interpreter_and_a_link_with_what_it_leads_to() {
        let folder = tempfile::Builder::new().tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (script, link) = (folder.path().join("script"), folder.path().join("link"));
        fs::write(&script, "#!/bin/sh -e\n").unwrap();
        std::os::unix::fs::symlink("script", &link).unwrap();
        let copies = Copies::of(&BTreeSet::from([link.clone()])).unwrap();
        let real = script.to_str().unwrap();
        assert_eq!(copies.entries.get(link.to_str().unwrap()), Some(&Entry::Link(real.to_owned())));
        assert!(matches!(copies.entries.get(real), Some(Entry::File { .. })));
        assert!(copies.entries.contains_key("/bin/sh"), "{:?}", copies.entries.keys());
    }

    #[test]
    fn an_input_is_copied_with_its_permissions_and_links() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/run"), "x").unwrap();
        fs::set_permissions(folder.path().join("a/run"), fs::Permissions::from_mode(0o750)).unwrap();
        std::os::unix::fs::symlink("run", folder.path().join("a/b")).unwrap();
        let mut copies = Copies::default();
        copies.whole(folder.path(), Path::new("/input")).unwrap();
        let names: Vec<&String> = copies.entries.keys().collect();
        assert_eq!(names, ["/input", "/input/a", "/input/a/b", "/input/a/run"]);
        let before = copies.blake3();
        fs::set_permissions(folder.path().join("a/run"), fs::Permissions::from_mode(0o755)).unwrap();
        let mut again = Copies::default();
        again.whole(folder.path(), Path::new("/input")).unwrap();
        assert_ne!(again.blake3(), before);
    }
}
