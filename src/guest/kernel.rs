//! The kernels that guests can boot: a cache of unpacked packages, each with an index of its modules.
//!
//! ```text
//! $XDG_CACHE_HOME/fsderby/kernels/RELEASE/
//!   image          what QEMU boots
//!   modules/*.ko   unpacked, those that a filesystem may need
//!   index.json     where it came from, the modules and what each needs
//! ```

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

use super::boot_image::bootable;
use super::modules::{Modules, describe, plain};
use super::package;

/// The shape of `index.json`.
const SCHEMA: u32 = 1;
/// Folders of a kernel's modules in which a filesystem finds what it needs, and a guest its disk and its port.
const FOLDERS: [&str; 8] = [
    "fs/",
    "lib/",
    "crypto/",
    "arch/x86/crypto/",
    "arch/x86/lib/",
    "drivers/virtio/",
    "drivers/block/",
    "drivers/char/",
];
/// Filesystems of the network and of clusters, with all their own modules: no guest has a network.
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

/// A kernel in the cache.
#[derive(Clone, Debug)]
pub struct Kernel {
    folder: PathBuf,
    pub index: Index,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Index {
    pub schema: u32,
    /// As uname shows it: `6.12.117+deb12-amd64`.
    pub release: String,
    /// The file it was taken from.
    pub source: String,
    /// The SHA-256 of that file.
    pub sha256: String,
    /// The BLAKE3 of what is booted.
    pub image_blake3: String,
    pub modules: Modules,
}

impl Kernel {
    pub fn image(&self) -> PathBuf {
        self.folder.join("image")
    }

    /// Whether what would be booted is what was taken into the cache.
    pub fn is_sound(&self) -> bool {
        fs::read(self.image())
            .is_ok_and(|image| blake3::hash(&image).to_hex().as_str() == self.index.image_blake3)
    }

    /// The bytes of a module, ready to be loaded.
    pub fn module(&self, name: &str) -> anyhow::Result<Vec<u8>> {
        let path = self.folder.join("modules").join(format!("{name}.ko"));
        fs::read(&path).with_context(|| format!("could not read {}; fetch the kernel again", path.display()))
    }
}

/// Where kernels are kept.
pub fn cache() -> PathBuf {
    let given = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let home = || given("HOME").unwrap_or_else(|| PathBuf::from("/var/tmp")).join(".cache");
    given("XDG_CACHE_HOME").filter(|p| p.is_absolute()).unwrap_or_else(home).join("fsderby")
}

fn kernels() -> PathBuf {
    cache().join("kernels")
}

/// All kernels in the cache, the newest release last.
pub fn all() -> Vec<Kernel> {
    let entries = fs::read_dir(kernels()).into_iter().flatten().flatten();
    let mut all: Vec<Kernel> = entries.filter_map(|entry| open(&entry.path()).ok()).collect();
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

/// Whether a release belongs to a series: 6.12.117 to 6.12, and not to 6.1.
fn begins(release: &str, series: &str) -> bool {
    release.strip_prefix(series).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// `6.12.117+deb12-amd64` → 6, 12, 117, 12, 64
fn numbers(release: &str) -> Vec<u64> {
    release.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

fn open(folder: &Path) -> anyhow::Result<Kernel> {
    let text = fs::read(folder.join("index.json"))?;
    let index: Index = serde_json::from_slice(&text)?;
    ensure!(index.schema == SCHEMA, "it was unpacked by another version of fsderby");
    Ok(Kernel { folder: folder.to_owned(), index })
}

/// Takes a kernel into the cache, from a package (`.deb`) or from where it is installed (`…/boot/vmlinuz-RELEASE`); what is there of the same release is replaced.
pub fn import(file: &Path) -> anyhow::Result<Kernel> {
    let sha256 = package::sha256(file)?;
    fs::create_dir_all(kernels()).with_context(|| format!("could not make {}", kernels().display()))?;
    let folder = kernels().join(format!(".unpacking-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let unpacked = unpack(file, &folder, sha256).and_then(|index| settle(&folder, index));
    let _ = fs::remove_dir_all(&folder);
    unpacked.with_context(|| format!("{} was not taken", file.display()))
}

/// Puts the finished folder in its place.
fn settle(folder: &Path, index: Index) -> anyhow::Result<Kernel> {
    fs::write(folder.join("index.json"), serde_json::to_vec(&index)?)?;
    let place = kernels().join(&index.release);
    let _ = fs::remove_dir_all(&place);
    fs::rename(folder, &place).with_context(|| format!("could not make {}", place.display()))?;
    Ok(Kernel { folder: place, index })
}

/// Unpacks what guests need of a package into this folder.
pub fn unpack(file: &Path, folder: &Path, sha256: String) -> anyhow::Result<Index> {
    fs::create_dir_all(folder.join("modules"))?;
    let mut parts = Parts::default();
    let mut takes = |path: &str, reader: &mut dyn Read| parts.take(path, reader, folder);
    match file.extension().is_some_and(|end| end == "deb") {
        true => package::for_each_file(file, &mut takes)?,
        false => package::for_each_installed_file(file, &mut takes)?,
    }
    let name = file.display();
    let (release, image) = parts.image.with_context(|| format!("there is no kernel in {name}"))?;
    parts.modules.add_builtin(&parts.builtin, &parts.builtin_modinfo);
    for needed in ["virtio_mmio", "virtio_blk", "virtio_console"] {
        if parts.modules.chain([needed]).is_err() {
            bail!(
                "the kernel {release} has no {needed}, without which no guest reaches its disk or its host"
            );
        }
    }
    let image = bootable(image).with_context(|| format!("could not take the kernel out of {name}"))?;
    fs::write(folder.join("image"), &image)?;
    let source = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let image_blake3 = blake3::hash(&image).to_hex().to_string();
    Ok(Index { schema: SCHEMA, release, source, sha256, image_blake3, modules: parts.modules })
}

/// What a package has brought so far.
#[derive(Default)]
struct Parts {
    image: Option<(String, Vec<u8>)>,
    modules: Modules,
    builtin: String,
    builtin_modinfo: Vec<u8>,
}

impl Parts {
    fn take(&mut self, path: &str, reader: &mut dyn Read, folder: &Path) -> anyhow::Result<()> {
        let path = path.strip_prefix("usr/").unwrap_or(path);
        if let Some(release) = path.strip_prefix("boot/vmlinuz-") {
            ensure!(is_plain(release), "the kernel has a strange name");
            self.image = Some((release.to_owned(), all_of(reader)?));
        }
        let below = path.strip_prefix("lib/modules/").and_then(|p| p.split_once('/'));
        match below.map(|(_release, below)| below) {
            Some("modules.builtin") => self.builtin = String::from_utf8_lossy(&all_of(reader)?).into_owned(),
            Some("modules.builtin.modinfo") => self.builtin_modinfo = all_of(reader)?,
            Some(module) => {
                if let Some(name) = module.strip_prefix("kernel/").and_then(wanted) {
                    self.module(name, &unpacked(path, all_of(reader)?)?, folder)?;
                }
            }
            None => {}
        }
        Ok(())
    }

    fn module(&mut self, name: &str, bytes: &[u8], folder: &Path) -> anyhow::Result<()> {
        let name = plain(name);
        fs::write(folder.join("modules").join(format!("{name}.ko")), bytes)?;
        self.modules.loadable.insert(name, describe(bytes)?);
        Ok(())
    }
}

/// The name of the module at this path, if one may need it.
fn wanted(path: &str) -> Option<&str> {
    let inside = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    if !inside(&FOLDERS) || (inside(&WITHOUT) && !path.contains("virtio")) {
        return None;
    }
    let file = path.rsplit('/').next()?;
    let name = [".ko", ".ko.xz", ".ko.zst"].iter().find_map(|end| file.strip_suffix(end))?;
    is_plain(name).then_some(name)
}

fn unpacked(path: &str, bytes: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    if path.ends_with(".xz") {
        all_of(&mut lzma_rust2::XzReader::new(&bytes[..], false))
    } else if path.ends_with(".zst") {
        all_of(&mut ruzstd::decoding::StreamingDecoder::new(&bytes[..]).context("it is damaged")?)
    } else {
        Ok(bytes)
    }
}

fn all_of(reader: &mut dyn Read) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).context("it is damaged or cut short")?;
    Ok(bytes)
}

/// Fit for a file name of ours.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_+.~".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_a_filesystem_may_need_are_kept() {
        assert_eq!(wanted("fs/ext4/ext4.ko.xz"), Some("ext4"));
        assert_eq!(wanted("fs/nls/nls_iso8859-1.ko"), Some("nls_iso8859-1"));
        assert_eq!(wanted("drivers/char/virtio_console.ko.zst"), Some("virtio_console"));
        for other in ["fs/nfs/nfs.ko.xz", "drivers/gpu/drm/drm.ko.xz", "fs/ext4/ext4.txt", "fs/x/..ko"] {
            assert_eq!(wanted(other), None, "{other}");
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
