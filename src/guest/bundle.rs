//! A guest as a bundle: all inputs of a guest, stored under the hash of their content.
//!
//! ```text
//! $XDG_CACHE_HOME/fsderby/guests/ID/     ID is the SHA-256 of manifest.json
//!   manifest.json     kernel, packages, paths in the guest, size and SHA-256 of each file
//!   agent             the guest's init
//!   image             what QEMU boots
//!   modules/NAME.ko
//!   files/SHA256      programs, libraries, their configuration
//! ```
//! The same kernel, packages and agent always give the same bundle: it contains no time and no machine name, and files are ordered
//! by name. Each file is verified before use, like the files of a kernel.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::bounded::{ALL, IMAGE, open_as};
use super::cache;
use super::closure::Files;
use super::kernel::{self, Index, Kernel};
use super::tree;
use crate::exit::Failure;
use crate::schema::job::PROTOCOL;
use crate::schema::units::{Bytes, MIB};

/// Version of `manifest.json`, including the kernel's index in it.
const SCHEMA: u32 = 1;
/// The folder of bundles in the cache.
pub const GUESTS: &str = "guests";
pub const MANIFEST: &str = "manifest.json";
/// Limit of a manifest; with 300 modules and 300 other files it has 100 KiB.
pub const LONGEST_MANIFEST: Bytes = Bytes(4 * MIB);
/// Limit of the number of files, enough for a kernel's modules and the files of a few dozen packages.
const MOST_FILES: usize = 4096;
/// Digits of an ID in a testbed's name: so many that nobody can find two bundles with the same digits.
const SHORT: usize = 16;

pub const AGENT: &str = "agent";
pub const KERNEL: &str = "image";

/// The manifest: a bundle's description of itself.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub schema: u32,
    /// Version of the protocol that the agent uses for jobs and events.
    pub protocol: u32,
    /// Whether the agent stops its guest in a filesystem's initial state when a job says so; older agents do not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pauses: bool,
    /// Version of the fsderby that built the bundle and is its agent.
    pub fsderby: String,
    pub kernel: Index,
    /// The origin of everything except the agent.
    pub packages: Vec<Package>,
    /// The SHA-256 of the file at each path in the guest.
    pub root: BTreeMap<String, String>,
    /// Each file of the bundle.
    pub files: BTreeMap<String, File>,
}

/// A package of the distribution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// Hash of the package file, as stated by the distribution's signed index.
    pub sha256: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub sha256: String,
    pub bytes: u64,
}

/// A bundle in the cache.
#[derive(Debug)]
pub struct Bundle {
    pub id: String,
    pub manifest: Manifest,
    folder: PathBuf,
}

impl Manifest {
    /// Parses a manifest from untrusted bytes.
    ///
    /// # Errors
    /// If the manifest has another version, or is invalid.
    pub fn read(bytes: &[u8]) -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let version: Version = serde_json::from_slice(bytes).context("the manifest is damaged")?;
        ensure!(version.schema == SCHEMA, "the bundle was made by an incompatible version of fsderby");
        let manifest: Manifest = serde_json::from_slice(bytes).context("the manifest is damaged")?;
        manifest.check()?;
        Ok(manifest)
    }

    pub fn new(kernel: Index, packages: Vec<Package>) -> Self {
        Manifest {
            schema: SCHEMA,
            protocol: PROTOCOL,
            pauses: true,
            fsderby: env!("CARGO_PKG_VERSION").into(),
            kernel,
            packages,
            root: BTreeMap::new(),
            files: BTreeMap::new(),
        }
    }

    /// # Errors
    /// If a name could lead elsewhere, a file is missing, or a limit is exceeded.
    fn check(&self) -> anyhow::Result<()> {
        ensure!(self.files.len() <= MOST_FILES, "the bundle has more than {MOST_FILES} files");
        let mut all: u64 = 0;
        for (name, file) in &self.files {
            ensure!(is_member(name, file), "the bundle has a file with an invalid name: {name:?}");
            ensure!(
                Bytes(file.bytes) <= IMAGE,
                "{name} in the bundle is too large: {size}",
                size = Bytes(file.bytes)
            );
            all = all.saturating_add(file.bytes);
        }
        ensure!(Bytes(all) <= ALL, "the bundle unpacks to {size}, more than {ALL}", size = Bytes(all));
        kernel::check(&self.kernel)?;
        let modules = self.kernel.modules.loadable.keys().map(|name| module(name));
        let files = self.root.values().map(|sha256| stored(sha256));
        for name in modules.chain(files).chain([AGENT.to_owned(), KERNEL.to_owned()]) {
            ensure!(self.files.contains_key(&name), "the bundle has no {name}");
        }
        Ok(())
    }
}

impl Bundle {
    /// The short ID in a testbed's name.
    pub fn short(&self) -> &str {
        &self.id[..SHORT]
    }

    pub fn kernel(&self) -> Kernel {
        Kernel::within(&self.folder, self.manifest.kernel.clone())
    }

    /// The content of a file of the bundle.
    ///
    /// # Errors
    /// If the content differs from the manifest.
    pub fn file(&self, name: &str) -> anyhow::Result<Vec<u8>> {
        let stated = self.manifest.files.get(name).with_context(|| format!("{name} is missing"))?;
        let file = open_as(&self.folder.join(name), IMAGE, "fsderby guest import FILE again")?;
        let bytes = file.all()?;
        ensure!(
            sha256(&bytes) == stated.sha256,
            "{name} of the guest bundle {id} in the cache was altered\n  try: fsderby guest import FILE again",
            id = self.short()
        );
        Ok(bytes)
    }

    /// Checks that the bundle's agent and this host use the same protocol.
    ///
    /// # Errors
    /// If the protocols differ.
    pub fn is_spoken_with(&self) -> Result<(), Failure> {
        let Manifest { protocol, fsderby, .. } = &self.manifest;
        if *protocol == PROTOCOL {
            return Ok(());
        }
        Err(Failure::missing(format!(
            "the agent of the guest bundle {id} is from fsderby {fsderby} and uses protocol {protocol}, but this program uses \
             protocol {PROTOCOL}\n  try: a fsderby with protocol {protocol}, or fsderby guest build",
            id = self.short()
        )))
    }

    /// Name and version of a package, or an empty string.
    pub fn version_of(&self, package: &str) -> String {
        let found = self.manifest.packages.iter().find(|found| found.name == package);
        found.map_or_else(String::new, |found| format!("{} {}", found.name, found.version))
    }
}

impl Files for Bundle {
    fn has(&self, path: &Path) -> bool {
        path.to_str().is_some_and(|path| self.manifest.root.contains_key(path))
    }

    fn read(&self, path: &Path) -> anyhow::Result<Vec<u8>> {
        let sha256 = path.to_str().and_then(|path| self.manifest.root.get(path));
        let sha256 = sha256
            .with_context(|| format!("the guest bundle {} has no file {}", self.short(), path.display()))?;
        self.file(&stored(sha256))
    }

    fn libraries(&self) -> Vec<PathBuf> {
        tree::libraries()
    }
}

/// All bundles in the cache, by ID.
///
/// # Errors
/// If the cache is unusable.
pub fn all() -> anyhow::Result<Vec<anyhow::Result<Bundle>>> {
    let guests = cache::folder(GUESTS)?;
    Ok(ids(&guests).iter().map(|id| open(&guests, id)).collect())
}

/// The IDs of the bundles of the cache, damaged ones too; none if there is no cache.
pub fn named_in_cache() -> Vec<String> {
    cache::folder(GUESTS).map(|guests| ids(&guests)).unwrap_or_default()
}

fn ids(guests: &Path) -> Vec<String> {
    let entries = fs::read_dir(guests).into_iter().flatten().flatten();
    let mut ids: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    ids.retain(|name| is_sha256(name));
    ids.sort();
    ids
}

/// The bundle with this ID prefix.
///
/// # Errors
/// If no bundle or more than one has this prefix, or the bundle is damaged.
pub fn named(id: &str) -> Result<Arc<Bundle>, Failure> {
    let guests = cache::folder(GUESTS)?;
    let found = whole_id(&guests, id).and_then(|id| open(&guests, &id));
    found.map(Arc::new).map_err(|e| Failure::missing(format!("{e:#}")))
}

/// Removes the bundle with this ID prefix, damaged or not, and returns its ID. A run that has the bundle open keeps the data that
/// it has already read.
///
/// # Errors
/// If no bundle or more than one has this prefix, or the bundle cannot be removed.
pub fn remove(id: &str) -> anyhow::Result<String> {
    let guests = cache::folder(GUESTS)?;
    remove_within(&guests, id)
}

fn remove_within(guests: &Path, id: &str) -> anyhow::Result<String> {
    let id = whole_id(guests, id)?;
    let folder = guests.join(&id);
    fs::remove_dir_all(&folder).with_context(|| format!("could not remove {}", folder.display()))?;
    Ok(id)
}

fn whole_id(guests: &Path, id: &str) -> anyhow::Result<String> {
    ensure!(is_id(id), "'{id}' is not a guest bundle\n  try: one of fsderby guest list");
    let entries = fs::read_dir(guests).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let found: Vec<String> = names.filter(|name| is_sha256(name) && name.starts_with(id)).collect();
    ensure!(found.len() < 2, "more than one guest bundle begins with {id}\n  try: more of its digits");
    found.into_iter().next().with_context(|| {
        format!(
            "the guest bundle {id} is not in the cache\n  try: fsderby guest import FILE, with a bundle from \
            whoever built it"
        )
    })
}

/// Whether the text could be a prefix of an ID.
pub fn is_id(text: &str) -> bool {
    (8..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn open(guests: &Path, id: &str) -> anyhow::Result<Bundle> {
    let folder = guests.join(id);
    let manifest = folder.join(MANIFEST);
    for part in [&folder, &manifest] {
        cache::is_ours(part, 0)?;
    }
    let bytes = open_as(&manifest, LONGEST_MANIFEST, "fsderby guest import FILE again")?.all()?;
    ensure!(
        sha256(&bytes) == id,
        "the guest bundle {id} in the cache was altered\n  try: fsderby guest import FILE again"
    );
    let manifest = Manifest::read(&bytes).with_context(|| format!("the guest bundle {id} is not usable"))?;
    Ok(Bundle { id: id.to_owned(), manifest, folder })
}

/// Moves the finished folder into place, replacing a bundle with the same ID.
///
/// # Errors
/// If the disk has no free space, or the manifest is invalid.
pub fn settle(folder: tempfile::TempDir, guests: &Path, manifest: &[u8]) -> anyhow::Result<Bundle> {
    fs::write(folder.path().join(MANIFEST), manifest)?;
    let id = sha256(manifest);
    let place = guests.join(&id);
    let _ = fs::remove_dir_all(&place);
    fs::rename(folder.path(), &place).with_context(|| format!("could not create {}", place.display()))?;
    let _ = folder.keep();
    open(guests, &id)
}

/// An empty folder in the cache for a new bundle.
///
/// # Errors
/// If the cache is unusable.
pub fn begun() -> anyhow::Result<(PathBuf, tempfile::TempDir)> {
    use std::os::unix::fs::PermissionsExt;
    let guests = cache::made(GUESTS)?;
    let mode = fs::Permissions::from_mode(0o755);
    let folder = tempfile::Builder::new().prefix(".unpacking-").permissions(mode).tempdir_in(&guests);
    let folder = folder.with_context(|| format!("could not create a folder in {}", guests.display()))?;
    for part in ["modules", "files"] {
        fs::create_dir(folder.path().join(part))?;
    }
    Ok((guests, folder))
}

/// The path of a module in a bundle.
pub fn module(name: &str) -> String {
    format!("modules/{name}.ko")
}

/// The path of the file with this SHA-256 in a bundle.
pub fn stored(sha256: &str) -> String {
    format!("files/{sha256}")
}

/// Whether a file has a name of the form that fsderby gives, which cannot lead out of the bundle.
fn is_member(name: &str, file: &File) -> bool {
    let is_module = || {
        let name = name.strip_prefix("modules/").and_then(|name| name.strip_suffix(".ko"));
        name.is_some_and(kernel::is_plain)
    };
    let is_file = || name == stored(&file.sha256);
    is_sha256(&file.sha256) && (name == AGENT || name == KERNEL || is_module() || is_file())
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && is_id(text)
}

pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub fn hex(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
pub mod tests {
    use super::super::modules::{Module, Modules};
    use super::*;

    /// The files of a small bundle, by name.
    pub fn small_files() -> BTreeMap<String, Vec<u8>> {
        let own = [(AGENT, "an agent"), (KERNEL, "a kernel"), ("modules/one.ko", "a module")];
        let mut files: BTreeMap<String, Vec<u8>> =
            own.into_iter().map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).collect();
        files.insert(stored(&sha256(b"a program")), b"a program".to_vec());
        files
    }

    pub fn small_manifest() -> Manifest {
        let mut modules = Modules::default();
        modules.loadable.insert("one".into(), Module { blake3: blake3(b"a module"), ..Module::default() });
        let kernel = Index {
            schema: kernel::SCHEMA,
            release: "6.0-test".into(),
            source: "linux-image-6.0-test_6.0-1_amd64.deb".into(),
            sha256: sha256(b"a package"),
            image_blake3: blake3(b"a kernel"),
            modules,
            ..Index::default()
        };
        let mut manifest = Manifest::new(kernel, Vec::new());
        manifest.root.insert("/usr/sbin/mke2fs".into(), sha256(b"a program"));
        let file = |bytes: &Vec<u8>| File { sha256: sha256(bytes), bytes: bytes.len() as u64 };
        manifest.files = small_files().iter().map(|(name, bytes)| (name.clone(), file(bytes))).collect();
        manifest
    }

    fn blake3(bytes: &[u8]) -> String {
        blake3::hash(bytes).to_hex().to_string()
    }

    /// A bundle in a separate cache.
    pub fn small(guests: &Path) -> Bundle {
        let folder = tempfile::tempdir_in(guests).unwrap();
        for (name, bytes) in small_files() {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        settle(folder, guests, &serde_json::to_vec(&small_manifest()).unwrap()).unwrap()
    }

    #[test]
    fn a_flipped_bit_in_any_file_of_a_bundle_is_found_before_it_is_used() {
        for name in small_files().keys().map(String::as_str).chain([MANIFEST]) {
            let guests = tempfile::tempdir().unwrap();
            let bundle = small(guests.path());
            assert!(bundle.manifest.files.keys().all(|name| bundle.file(name).is_ok()));
            assert!(bundle.kernel().module("one").is_ok());
            assert_eq!(bundle.read(&bundle.program("mke2fs").unwrap()).unwrap(), b"a program");
            let path = guests.path().join(&bundle.id).join(name);
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(&path, bytes).unwrap();
            let opened = open(guests.path(), &bundle.id);
            let read = opened.and_then(|bundle| {
                bundle.manifest.files.keys().try_for_each(|name| bundle.file(name).map(drop))
            });
            let said = format!("{:#}", read.unwrap_err());
            assert!(said.contains("in the cache was altered"), "{name}: {said}");
        }
    }

    #[test]
    fn a_manifest_that_says_what_no_bundle_is_is_refused() {
        type Change = fn(&mut Manifest);
        let changes: &[(&str, Change)] = &[
            ("incompatible version", |m| m.schema = 99),
            ("another version", |m| m.kernel.schema = 1),
            ("invalid name", |m| m.kernel.release = "../../etc".into()),
            ("invalid name", |m| drop(m.kernel.modules.loadable.insert("../one".into(), Module::default()))),
            ("invalid name", |m| drop(m.files.insert("../../evil".into(), m.files[AGENT].clone()))),
            ("invalid name", |m| drop(m.files.insert("/etc/evil".into(), m.files[AGENT].clone()))),
            ("invalid name", |m| drop(m.files.insert("modules/../evil.ko".into(), m.files[AGENT].clone()))),
            ("invalid name", |m| drop(m.files.insert("files/evil".into(), m.files[AGENT].clone()))),
            ("invalid name", |m| m.files.values_mut().for_each(|file| file.sha256 = "../x".into())),
            ("too large", |m| m.files.values_mut().for_each(|file| file.bytes = 1 << 40)),
            ("no agent", |m| drop(m.files.remove(AGENT))),
            ("no image", |m| drop(m.files.remove(KERNEL))),
            ("no modules/one.ko", |m| drop(m.files.remove("modules/one.ko"))),
            ("no files/", |m| drop(m.root.insert("/usr/sbin/x".into(), sha256(b"nowhere")))),
            ("more than 4096 files", |m| {
                let file = m.files[AGENT].clone();
                m.files.extend((0..4096).map(|n| (format!("modules/m{n}.ko"), file.clone())));
            }),
            ("unpacks to", |m| {
                let file = File { bytes: IMAGE.0, ..m.files[AGENT].clone() };
                m.files.extend((0..5).map(|n| (format!("modules/m{n}.ko"), file.clone())));
            }),
        ];
        for (words, change) in changes {
            let mut manifest = small_manifest();
            change(&mut manifest);
            let said = Manifest::read(&serde_json::to_vec(&manifest).unwrap()).err();
            let said = said.map(|e| format!("{e:#}")).unwrap_or_default();
            assert!(said.contains(words), "{words}: {said}");
        }
        assert_eq!(
            Manifest::read(&serde_json::to_vec(&small_manifest()).unwrap()).unwrap(),
            small_manifest()
        );
    }

    #[test]
    fn one_bundle_is_removed_damaged_or_not_and_nothing_else() {
        let guests = tempfile::tempdir().unwrap();
        let bundle = small(guests.path());
        fs::write(bundle.folder.join(MANIFEST), "damaged").unwrap();
        let other = guests.path().join("notes");
        fs::create_dir(&other).unwrap();
        let refused = |id: &str| remove_within(guests.path(), id).unwrap_err().to_string();
        assert!(
            refused("../notes").contains("is not a guest")
                && refused("00000000").contains("is not in the cache")
        );
        assert_eq!(remove_within(guests.path(), bundle.short()).unwrap(), bundle.id);
        assert!(!bundle.folder.exists() && other.exists());
    }

    #[test]
    fn an_agent_of_another_protocol_is_refused_with_what_to_do() {
        let guests = tempfile::tempdir().unwrap();
        let mut bundle = small(guests.path());
        assert!(bundle.is_spoken_with().is_ok());
        bundle.manifest.protocol += 1;
        let said = bundle.is_spoken_with().unwrap_err().to_string();
        assert!(said.contains("uses protocol") && said.contains("try: a fsderby with protocol"), "{said}");
    }

    #[test]
    fn a_bundle_that_others_can_write_in_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        for part in ["", MANIFEST] {
            let guests = tempfile::tempdir().unwrap();
            let bundle = small(guests.path());
            let path = guests.path().join(&bundle.id).join(part);
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
            let said = open(guests.path(), &bundle.id).unwrap_err().to_string();
            assert!(said.contains("other users can write to"), "{said}");
        }
    }
}
