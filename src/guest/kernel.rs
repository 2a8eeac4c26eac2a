//! Bootable kernels of guests: a cache of unpacked packages, each with an index of its modules.
//!
//! ```text
//! $XDG_CACHE_HOME/fsderby/kernels/RELEASE/
//!   image          what QEMU boots
//!   modules/*.ko   the modules that a filesystem may need, unpacked
//!   index.json     source, modules with dependencies, the BLAKE3 of image and modules
//!   index.blake3   the BLAKE3 of index.json
//! ```
//! Each file is verified before use, which detects damage by disk or accident. A user with write access to the folder could
//! change the hashes too; [`super::cache`] ensures that no other user has write access.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::boot_image::bootable;
use super::bounded::{ALL, Bounded, IMAGE, MODULE, xz, zstd};
use super::cache;
pub(super) use super::cache::is_plain;
use super::modules::{Module, Modules, describe, plain};
use super::package;
use crate::exit::{Failure, Missing};
use crate::schema::units::Bytes;

/// Version of `index.json`.
pub(super) const SCHEMA: u32 = 3;
/// Modules without which no guest reaches its disk and host.
const NEEDED: [&str; 3] = ["virtio_mmio", "virtio_blk", "virtio_console"];
/// The folder of kernels in the cache.
pub const KERNELS: &str = "kernels";
const INDEX: &str = "index.json";
const INDEX_HASH: &str = "index.blake3";
/// Module folders with the requirements of filesystems and layers, and a guest's disk and port.
const FOLDERS: [&str; 9] = [
    "fs/",
    "lib/",
    "crypto/",
    "arch/x86/crypto/",
    "arch/x86/lib/",
    "drivers/virtio/",
    "drivers/block/",
    "drivers/char/",
    "drivers/md/",
];
/// Folders of network and cluster filesystems, which are left out because no guest has a network.
const WITHOUT: [&str; 9] = [
    "fs/nfs",
    "fs/smb/",
    "fs/ceph/",
    "fs/ocfs2/",
    "fs/gfs2/",
    "fs/afs/",
    "fs/dlm/",
    "drivers/block/drbd/",
    "drivers/char/",
];

/// Modules that a machine needs to be a host in tests, but a guest does not: SCSI and NVMe devices, the kernel's SCSI target, and NFS over
/// loopback. They are
/// kept apart from the other modules, so that guests and bundles are the same with and without them.
const HOSTS: [&str; 12] = [
    "block/t10-pi",
    "drivers/nvme/",
    "drivers/scsi/scsi_",
    "drivers/scsi/sd_mod",
    "drivers/scsi/sg.",
    "drivers/scsi/virtio_scsi",
    "drivers/target/loopback/tcm_loop",
    "drivers/target/target_core_file",
    "drivers/target/target_core_mod",
    "fs/nfs",
    "net/dns_resolver/",
    "net/sunrpc/",
];

/// A kernel in the cache.
#[derive(Clone, Debug)]
pub struct Kernel {
    folder: PathBuf,
    pub index: Index,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Index {
    pub schema: u32,
    /// The release as in uname: `6.12.117+deb12-amd64`.
    pub release: String,
    /// The source file.
    pub source: String,
    /// The SHA-256 of the source file.
    pub sha256: String,
    /// The BLAKE3 of the boot image.
    pub image_blake3: String,
    pub modules: Modules,
    /// The modules of a host, which no guest loads; empty for a kernel that an older version of fsderby unpacked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, Module>,
}

impl Index {
    /// All modules, including the modules of a host.
    pub fn with_hosts(&self) -> Modules {
        let mut all = self.modules.clone();
        all.loadable.extend(self.hosts.clone());
        all
    }

    /// The index without the modules of a host.
    pub fn of_guests(&self) -> Self {
        Index { hosts: BTreeMap::new(), ..self.clone() }
    }
}

impl Kernel {
    /// The kernel of a bundle, whose files are laid out like a cached kernel's.
    pub(super) fn within(folder: &Path, index: Index) -> Self {
        Kernel { folder: folder.to_owned(), index }
    }

    pub fn image(&self) -> PathBuf {
        self.folder.join("image")
    }

    /// Whether the boot image and the disk's modules are unchanged.
    pub fn is_sound(&self) -> bool {
        let image = fs::read(self.image()).is_ok_and(|image| hash(&image) == self.index.image_blake3);
        let needed = self.index.modules.chain(NEEDED).unwrap_or_default();
        image && needed.iter().all(|name| self.module(name).is_ok())
    }

    /// The content of a module, ready to load.
    ///
    /// # Errors
    /// If the module differs from the file that was unpacked.
    pub fn module(&self, name: &str) -> anyhow::Result<Vec<u8>> {
        let release = &self.index.release;
        let path = self.folder.join("modules").join(format!("{name}.ko"));
        let bytes = fs::read(&path).with_context(|| format!("could not read {}", path.display()))?;
        let module = self.index.modules.loadable.get(name).or_else(|| self.index.hosts.get(name));
        let stored = module.map(|module| module.blake3.as_str());
        ensure!(
            stored == Some(hash(&bytes).as_str()),
            "{name} of the kernel {release} in the cache was altered"
        );
        Ok(bytes)
    }
}

/// Checks that this untrusted index has the current version, and that all its names are valid file names.
pub(super) fn check(index: &Index) -> anyhow::Result<()> {
    ensure!(index.schema == SCHEMA, "the kernel was unpacked by another version of fsderby");
    ensure!(is_plain(&index.release), "the kernel has an invalid name");
    let strange = index.modules.loadable.keys().find(|name| !is_plain(name));
    ensure!(strange.is_none(), "the kernel has a module with an invalid name");
    ensure!(index.hosts.is_empty(), "the kernel has modules of a host, which no guest loads");
    Ok(())
}

/// The folder of kernels.
///
/// # Errors
/// If the cache is unusable, or other users could change it.
pub fn place() -> Result<PathBuf, Missing> {
    cache::folder(KERNELS)
}

/// Why a cached kernel (of that release, if named) is not used.
pub fn refused(release: Option<&str>) -> Option<Failure> {
    let kernels = match place() {
        Ok(kernels) => kernels,
        Err(unusable) => return Some(unusable.into()),
    };
    let folders = entries(&kernels);
    let named = |folder: &PathBuf| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        !name.starts_with('.') && release.is_none_or(|release| begins(&name, release))
    };
    folders
        .iter()
        .filter(|folder| named(folder))
        .find_map(|folder| open(folder).err())
        .map(|e| Failure::missing(format!("{e:#}")))
}

fn entries(kernels: &Path) -> Vec<PathBuf> {
    fs::read_dir(kernels).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// All kernels in the cache, the newest release last; empty if the cache is not trusted.
pub fn all() -> Vec<Kernel> {
    let Ok(kernels) = place() else { return Vec::new() };
    let mut all: Vec<Kernel> = entries(&kernels).iter().filter_map(|folder| open(folder).ok()).collect();
    all.sort_by_key(|kernel| numbers(&kernel.index.release));
    all
}

/// The kernel of that release, the newest of that series (`6.12`), or the newest of all.
pub fn find(release: Option<&str>) -> Option<Kernel> {
    match release {
        Some(release) => all().into_iter().rfind(|k| begins(&k.index.release, release)),
        None => all().pop(),
    }
}

/// Whether a release belongs to a series: 6.12.117 to 6.12, but not to 6.1.
pub(super) fn begins(release: &str, series: &str) -> bool {
    release.strip_prefix(series).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// `6.12.117+deb12-amd64` → 6, 12, 117, 12, 64
pub(super) fn numbers(release: &str) -> Vec<u64> {
    release.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

fn open(folder: &Path) -> anyhow::Result<Kernel> {
    #[derive(Deserialize)]
    struct Version {
        schema: u32,
    }
    let shown = folder.display();
    for part in [folder, &folder.join(INDEX), &folder.join(INDEX_HASH)] {
        cache::is_ours(part, 0)?;
    }
    let text = fs::read(folder.join(INDEX)).with_context(|| format!("{INDEX} is missing in {shown}"))?;
    let is_stored = fs::read_to_string(folder.join(INDEX_HASH)).is_ok_and(|stored| stored == hash(&text));
    let altered = || format!("{shown}/{INDEX} was altered");
    // Another version of the index may use another hash, so the version is checked first.
    let version: Version = serde_json::from_slice(&text).with_context(altered)?;
    ensure!(version.schema == SCHEMA, "{shown} was unpacked by another version of fsderby");
    ensure!(is_stored, altered());
    let index = serde_json::from_slice(&text).with_context(|| format!("{shown}/{INDEX} is damaged"))?;
    Ok(Kernel { folder: folder.to_owned(), index })
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// What to do with a cached kernel of the same release and other content, such as the one built before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Same {
    Refuse,
    Replace,
}

/// Imports a kernel into the cache, from a package (`.deb`), an installed image (`…/boot/vmlinuz-RELEASE`), or a built one
/// (`…/bzImage`, with `lib/modules/RELEASE` beside it or above).
///
/// # Errors
/// If the cache has another sound kernel of that release, unless it may be replaced: stored runs name kernels by release.
pub fn import(file: &Path, same: Same) -> anyhow::Result<Kernel> {
    let sha256 = package::sha256(file)?;
    let kernels = cache::made(KERNELS)?;
    let mode = Permissions::from_mode(0o755);
    let folder = tempfile::Builder::new().prefix(".unpacking-").permissions(mode).tempdir_in(&kernels);
    let folder = folder.with_context(|| format!("could not create a folder in {}", kernels.display()))?;
    let unpacked =
        unpack(file, folder.path(), sha256).and_then(|index| settle(folder, &kernels, index, same));
    unpacked.with_context(|| format!("{} was not imported", file.display()))
}

/// Moves the finished folder into place.
fn settle(folder: TempDir, kernels: &Path, index: Index, same: Same) -> anyhow::Result<Kernel> {
    write_index(folder.path(), &index)?;
    let place = kernels.join(&index.release);
    let differs =
        |cached: &Index| (&cached.image_blake3, &cached.modules) != (&index.image_blake3, &index.modules);
    if let (Same::Refuse, Ok(cached)) = (same, open(&place))
        && differs(&cached.index)
        && cached.is_sound()
    {
        bail!(
            "the cache has another kernel {release}, from {source}\n  try: fsderby kernel fetch --replace, or another \
             CONFIG_LOCALVERSION",
            release = cached.index.release,
            source = cached.index.source
        );
    }
    let _ = fs::remove_dir_all(&place);
    fs::rename(folder.path(), &place).with_context(|| format!("could not create {}", place.display()))?;
    let _ = folder.keep();
    Ok(Kernel { folder: place, index })
}

fn write_index(folder: &Path, index: &Index) -> anyhow::Result<()> {
    let text = serde_json::to_vec(index)?;
    // The files must not be writable for other users, whatever the umask.
    let write = |name: &str, bytes: &[u8]| {
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(folder.join(name));
        file?.write_all(bytes)
    };
    write(INDEX, &text)?;
    Ok(write(INDEX_HASH, hash(&text).as_bytes())?)
}

/// Unpacks the parts of a package that guests need into this folder.
pub fn unpack(file: &Path, folder: &Path, sha256: String) -> anyhow::Result<Index> {
    fs::create_dir(folder.join("modules"))?;
    let mut parts = Parts { room: ALL, ..Parts::default() };
    let mut takes = |path: &str, reader: &mut dyn Read| parts.take(path, reader, folder);
    match file.extension().is_some_and(|end| end == "deb") {
        true => package::for_each_file(file, &mut takes)?,
        false => package::for_each_installed_file(file, &mut takes)?,
    }
    let name = file.display();
    let (release, image) = parts.image.with_context(|| format!("{name} contains no kernel"))?;
    parts.modules.add_builtin(&parts.builtin, &parts.builtin_modinfo);
    for needed in NEEDED {
        if parts.modules.chain([needed]).is_err() {
            bail!("the kernel {release} has no {needed}, which a guest needs to reach its disk or its host");
        }
    }
    let image = bootable(image).with_context(|| format!("could not extract the kernel from {name}"))?;
    fs::write(folder.join("image"), &image)?;
    let source = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let image_blake3 = hash(&image);
    let Parts { modules, hosts, .. } = parts;
    Ok(Index { schema: SCHEMA, release, source, sha256, image_blake3, modules, hosts })
}

/// The parts of a package found so far.
#[derive(Default)]
struct Parts {
    /// Bytes left for unpacked modules.
    room: Bytes,
    image: Option<(String, Vec<u8>)>,
    modules: Modules,
    hosts: BTreeMap<String, Module>,
    builtin: String,
    builtin_modinfo: Vec<u8>,
}

impl Parts {
    fn take(&mut self, path: &str, reader: &mut dyn Read, folder: &Path) -> anyhow::Result<()> {
        let path = path.strip_prefix("usr/").unwrap_or(path);
        if let Some(release) = path.strip_prefix("boot/vmlinuz-") {
            ensure!(is_plain(release), "the kernel has an invalid name");
            self.image = Some((release.to_owned(), Bounded::new(&mut *reader, IMAGE).all()?));
        }
        let below = path.strip_prefix("lib/modules/").and_then(|p| p.split_once('/'));
        match below.map(|(_release, below)| below) {
            Some("modules.builtin") => {
                self.builtin =
                    String::from_utf8_lossy(&Bounded::new(&mut *reader, MODULE).all()?).into_owned();
            }
            Some("modules.builtin.modinfo") => {
                self.builtin_modinfo = Bounded::new(&mut *reader, MODULE).all()?
            }
            Some(module) => {
                if let Some((name, of)) = module.strip_prefix("kernel/").and_then(wanted) {
                    self.module(name, of, &unpacked(path, reader)?, folder)?;
                }
            }
            None => {}
        }
        Ok(())
    }

    fn module(&mut self, name: &str, of: Of, bytes: &[u8], folder: &Path) -> anyhow::Result<()> {
        let name = plain(name);
        let left = self.room.0.checked_sub(bytes.len() as u64);
        self.room = Bytes(left.with_context(|| format!("the kernel's modules are larger than {ALL}"))?);
        fs::write(folder.join("modules").join(format!("{name}.ko")), bytes)?;
        let modules = match of {
            Of::Guests => &mut self.modules.loadable,
            Of::Hosts => &mut self.hosts,
        };
        modules.insert(name, describe(bytes)?);
        Ok(())
    }
}

/// Whether a guest or only a host may need a module.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    Guests,
    Hosts,
}

/// The name of the module at this path, if a guest or a host may need the module.
fn wanted(path: &str) -> Option<(&str, Of)> {
    let inside = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    let of = match inside(&FOLDERS) && (!inside(&WITHOUT) || path.contains("virtio")) {
        true => Of::Guests,
        false if inside(&HOSTS) => Of::Hosts,
        false => return None,
    };
    let file = path.rsplit('/').next()?;
    let name = [".ko", ".ko.xz", ".ko.zst"].iter().find_map(|end| file.strip_suffix(end))?;
    is_plain(name).then_some((name, of))
}

fn unpacked(path: &str, reader: &mut dyn Read) -> anyhow::Result<Vec<u8>> {
    let bytes = Bounded::new(reader, MODULE).all()?;
    if path.ends_with(".xz") {
        Bounded::new(xz(&bytes[..], false), MODULE).all()
    } else if path.ends_with(".zst") {
        Bounded::new(zstd(&bytes[..])?, MODULE).all()
    } else {
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::modules::Module;
    use super::*;

    #[test]
    fn modules_that_a_filesystem_may_need_are_kept() {
        let of_guests = |path| wanted(path).filter(|(_, of)| *of == Of::Guests).map(|(name, _)| name);
        assert_eq!(of_guests("fs/ext4/ext4.ko.xz"), Some("ext4"));
        assert_eq!(of_guests("fs/nls/nls_iso8859-1.ko"), Some("nls_iso8859-1"));
        assert_eq!(of_guests("drivers/char/virtio_console.ko.zst"), Some("virtio_console"));
        for other in ["drivers/gpu/drm/drm.ko.xz", "fs/ext4/ext4.txt", "fs/x/..ko", "fs/smb/client/cifs.ko"] {
            assert_eq!(wanted(other), None, "{other}");
        }
    }

    #[test]
    fn modules_of_a_host_are_kept_apart_and_no_guest_or_bundle_has_them() {
        for path in ["fs/nfs/nfs.ko.xz", "drivers/scsi/scsi_debug.ko", "drivers/nvme/target/nvmet.ko.zst"] {
            assert!(wanted(path).is_some_and(|(_, of)| of == Of::Hosts), "{path}");
        }
        assert_eq!(wanted("drivers/scsi/megaraid/megaraid_sas.ko"), None);
        let module = Module { depends: vec!["virtio_blk".into()], ..Module::default() };
        let mut index = Index { hosts: [("nfs".to_owned(), module)].into(), ..Index::default() };
        index.modules.loadable.insert("virtio_blk".into(), Module::default());
        assert_eq!(index.with_hosts().chain(["nfs"]).unwrap(), ["virtio_blk", "nfs"]);
        assert!(index.modules.chain(["nfs"]).is_err());
        // An older version of fsderby wrote the index in this form.
        let text = serde_json::to_string(&index.of_guests()).unwrap();
        assert!(!text.contains("hosts"), "{text}");
        assert_eq!(serde_json::from_str::<Index>(&text).unwrap(), index.of_guests());
    }

    /// A kernel with two modules in this folder.
    fn stored(folder: &Path) -> Kernel {
        let mut modules = Modules::default();
        fs::create_dir(folder.join("modules")).unwrap();
        for name in NEEDED.into_iter().chain(["used"]) {
            let bytes = format!("the module {name}");
            fs::write(folder.join(format!("modules/{name}.ko")), &bytes).unwrap();
            let module = Module { blake3: hash(bytes.as_bytes()), ..Module::default() };
            modules.loadable.insert(name.to_owned(), module);
        }
        fs::write(folder.join("image"), "an image").unwrap();
        let (release, source, sha256) = ("6.0-test".into(), "test.deb".into(), String::new());
        let index = Index {
            schema: SCHEMA,
            release,
            source,
            sha256,
            image_blake3: hash(b"an image"),
            modules,
            ..Index::default()
        };
        write_index(folder, &index).unwrap();
        open(folder).unwrap()
    }

    #[test]
    fn a_kernel_of_the_same_release_is_replaced_only_if_asked_or_damaged() {
        let cache = tempfile::tempdir().unwrap();
        let settled = |image: &str, same: Same| {
            let folder = tempfile::tempdir_in(cache.path()).unwrap();
            let index = stored(folder.path()).index;
            fs::write(folder.path().join("image"), image).unwrap();
            let source = format!("{image}.deb");
            let index = Index { image_blake3: hash(image.as_bytes()), source, ..index };
            settle(folder, cache.path(), index, same).map(|kernel| kernel.index.source)
        };
        let place = cache.path().join("6.0-test");
        let is = || fs::read_to_string(place.join("image")).unwrap();
        assert_eq!(settled("one", Same::Refuse).unwrap(), "one.deb");
        assert!(settled("one", Same::Refuse).is_ok(), "the same once more");
        let why = settled("another", Same::Refuse).unwrap_err().to_string();
        assert!(why.contains("another kernel 6.0-test, from one.deb") && why.contains("--replace"), "{why}");
        assert_eq!(is(), "one");
        assert!(settled("another", Same::Replace).is_ok());
        assert_eq!(is(), "another");
        flip_a_bit(&place.join("image"));
        assert!(settled("third", Same::Refuse).is_ok(), "a damaged one is of no use");
        assert_eq!(is(), "third");
        flip_a_bit(&place.join(INDEX));
        assert!(settled("fourth", Same::Refuse).is_ok());
        let names = fs::read_dir(cache.path()).unwrap().count();
        assert_eq!(names, 1, "nothing of a refused kernel stays");
    }

    fn flip_a_bit(path: &Path) {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).unwrap();
    }

    #[test]
    fn a_flipped_bit_in_any_file_of_a_kernel_is_found_before_it_is_used() {
        for file in ["image", "index.json", "index.blake3", "modules/virtio_blk.ko", "modules/used.ko"] {
            let folder = tempfile::tempdir().unwrap();
            let kernel = stored(folder.path());
            assert!(kernel.is_sound() && kernel.module("used").is_ok());
            flip_a_bit(&folder.path().join(file));
            let opens = open(folder.path()).is_ok();
            let works = opens && kernel.is_sound() && kernel.module("used").is_ok();
            assert!(!works, "{file}");
            assert_eq!(opens, !file.starts_with("index"), "{file}");
        }
    }

    #[test]
    fn a_kernel_of_an_older_version_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = stored(folder.path()).index;
        index.schema = 1;
        write_index(folder.path(), &index).unwrap();
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("another version"), "{error}");
    }

    #[test]
    fn a_kernel_whose_index_others_can_write_is_not_used() {
        for part in ["", INDEX, INDEX_HASH] {
            let folder = tempfile::tempdir().unwrap();
            stored(folder.path());
            let mode = Permissions::from_mode(0o777);
            fs::set_permissions(folder.path().join(part), mode).unwrap();
            let error = open(folder.path()).unwrap_err().to_string();
            assert!(error.contains("other users can write to"), "{error}");
        }
    }

    #[test]
    fn releases_are_ordered_by_their_numbers() {
        assert!(numbers("6.12.117+deb12-amd64") > numbers("6.12.9+deb12-amd64"));
    }

    #[test]
    fn a_series_is_not_another_whose_number_begins_alike() {
        assert!(begins("6.12.117+deb12-amd64", "6.12") && begins("6.12.9", "6.12.9"));
        assert!(!begins("6.12.117+deb12-amd64", "6.1") && !begins("6.12.9", "6.13"));
    }

    #[test]
    fn a_name_that_could_lead_elsewhere_is_refused() {
        assert!(is_plain("6.12.117+deb12-amd64"));
        assert!(["", ".", "..", "a/b", "a b"].iter().all(|name| !is_plain(name)));
    }
}
