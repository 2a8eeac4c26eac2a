//! Reads a Debian package without installing it. A package is an ar archive that contains a compressed tar archive of files.
//!
//! Packages are untrusted: no path in a package decides where a file is written, and the unpacked size and the number of files are
//! limited.

use std::io::{BufReader, Read};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail, ensure};
use sha2::{Digest, Sha256};

use super::ar::Archive;
use super::boot_image::release;
use super::bounded::{self, ALL, Bounded, IMAGE, PACKAGE, xz, zstd};
use super::cache::is_plain;
use crate::schema::units::{Bytes, MIB};

/// Limit of the number of files; a kernel with all modules has 10,000 files.
const MOST_FILES: usize = 100_000;
/// The kernel's limit for paths (PATH_MAX).
const LONGEST_PATH: u64 = 4096;

/// An entry of a package.
pub enum Entry<'e> {
    File(&'e mut dyn Read),
    /// A link and its target, relative to its folder or to `/`.
    Link(String),
}

/// Calls `takes` with each regular file of the package: its path, as in `lib/modules/…`, and a reader.
///
/// # Errors
/// If the package is truncated, invalid, or has a path that leads out of it.
pub fn for_each_file(
    package: &Path,
    takes: &mut dyn FnMut(&str, &mut dyn Read) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for_each_entry(package, &mut |path, entry| match entry {
        Entry::File(reader) => takes(path, reader),
        Entry::Link(_) => Ok(()),
    })
}

/// Calls `takes` with each regular file and each link of the package.
///
/// # Errors
/// If the package is truncated, invalid, or has a path that leads out of it.
pub fn for_each_entry(
    package: &Path,
    takes: &mut dyn FnMut(&str, Entry<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let name = package.display();
    let file = bounded::open(package, PACKAGE)?;
    let not_one = || format!("{name} is not a Debian package, or truncated");
    let mut archive = Archive::new(BufReader::new(file)).with_context(not_one)?;
    while let Some(member) = archive.next_member().with_context(not_one)? {
        match member.as_str() {
            "data.tar.xz" => return files(xz(archive, true), takes),
            "data.tar.zst" => return files(zstd(archive).context("the package's data")?, takes),
            "data.tar" => return files(archive, takes),
            other if other.starts_with("data.tar") => bail!("{name} has an unknown compression: {other}"),
            _ => {}
        }
    }
    bail!("{name} contains no files: it is not a Debian package, or truncated")
}

/// The same for an installed or built kernel: `image` is `boot/vmlinuz-RELEASE` beside `lib/modules`, or an image of another name
/// (`bzImage`), whose header has the release, with `lib/modules/RELEASE` in its folder or one above.
pub fn for_each_installed_file(
    image: &Path,
    takes: &mut dyn FnMut(&str, &mut dyn Read) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let name = image.file_name().unwrap_or_default().to_string_lossy();
    let release = match name.strip_prefix("vmlinuz-") {
        Some(release) => release.to_owned(),
        None => release(&bounded::open(image, IMAGE)?.all()?)
            .with_context(|| format!("{} is neither a .deb nor a kernel image", image.display()))?,
    };
    ensure!(is_plain(&release), "the kernel has an invalid name");
    let image = std::path::absolute(image)?;
    let modules = format!("lib/modules/{release}");
    let above = || image.ancestors().skip(1);
    let root = above().find(|root| root.join(&modules).is_dir()).with_context(|| {
        let tree = above().next().unwrap_or(Path::new("/")).display();
        format!(
            "there is no {modules} beside {} or above\n  try: make modules_install INSTALL_MOD_PATH={tree}",
            image.display()
        )
    })?;
    takes(&format!("boot/vmlinuz-{release}"), &mut bounded::open(&image, IMAGE)?)?;
    walk(root, &modules, &mut 0, takes)
}

/// Walks a folder of modules. Links are not followed, because modules are regular files.
fn walk(
    root: &Path,
    folder: &str,
    seen: &mut usize,
    takes: &mut dyn FnMut(&str, &mut dyn Read) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for entry in root.join(folder).read_dir().with_context(|| format!("could not read {folder}"))? {
        let entry = entry?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        *seen += 1;
        ensure!(*seen <= MOST_FILES, "the unpacked package has more than {MOST_FILES} files");
        if kind.is_dir() {
            walk(root, &path, seen, takes)?;
        } else if kind.is_file() {
            let mut file = bounded::open(&entry.path(), IMAGE)?;
            takes(&path, &mut file).with_context(|| format!("could not read {path}"))?;
        }
    }
    Ok(())
}

fn files(
    data: impl Read,
    takes: &mut dyn FnMut(&str, Entry<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut archive = tar::Archive::new(Bounded::new(data, ALL));
    // Long paths are read by this function, because the library would accept paths of any length.
    let entries = archive.entries().context("the package's data is damaged")?.raw(true);
    let (mut long_path, mut long_target) = (None, None);
    for (seen, entry) in (1..).zip(entries) {
        ensure!(seen <= MOST_FILES, "the package has more than {MOST_FILES} files");
        let mut entry = entry.context("the package's data is damaged, truncated or too large")?;
        let kind = entry.header().entry_type();
        if kind.is_gnu_longname() {
            long_path = Some(long(&mut entry)?);
        } else if kind.is_gnu_longlink() {
            long_target = Some(long(&mut entry)?);
        }
        if kind.is_gnu_longname() || kind.is_gnu_longlink() || kind.is_pax_local_extensions() {
            continue;
        }
        let path = match long_path.take() {
            Some(path) => PathBuf::from(path),
            None => entry.path().context("a path in the package is not valid UTF-8")?.into_owned(),
        };
        let path = inside(&path)?;
        let target = long_target.take();
        if kind.is_file() {
            let size = Bytes(entry.size());
            ensure!(size <= IMAGE, "{path} in the package is too large: {size}");
            let taken = takes(&path, Entry::File(&mut entry));
            taken.with_context(|| format!("could not read {path} of the package"))?;
        } else if kind.is_symlink() || kind.is_hard_link() {
            let own = entry.link_name().context("the target of a link in the package is not valid UTF-8")?;
            let target = target.or_else(|| Some(own?.to_str()?.to_owned()));
            let target = target.context("a link in the package has no target")?;
            // A hard link names a file relative to the package's root.
            let target = if kind.is_hard_link() { format!("/{target}") } else { target };
            takes(&path, Entry::Link(target))?;
        }
    }
    Ok(())
}

/// The path of the next file, ended by a zero byte.
fn long(entry: impl Read) -> anyhow::Result<String> {
    let bytes = Bounded::new(entry, Bytes(LONGEST_PATH)).all().context("a path in the package")?;
    let text = String::from_utf8(bytes).ok().context("a path in the package is not valid UTF-8")?;
    Ok(text.trim_end_matches('\0').to_owned())
}

/// The path without `./`; refused if it could lead out of the target folder.
fn inside(path: &Path) -> anyhow::Result<String> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => {
                parts.push(part.to_str().context("a path in the package is not valid UTF-8")?)
            }
            Component::CurDir => {}
            _ => bail!("the package contains a path that leads out of it: {}", path.display()),
        }
    }
    Ok(parts.join("/"))
}

/// The SHA-256 of a file, in hex.
pub fn sha256(path: &Path) -> anyhow::Result<String> {
    let mut file = bounded::open(path, PACKAGE)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; MIB as usize];
    loop {
        match file.read(&mut buffer).with_context(|| format!("could not read {}", path.display()))? {
            0 => break,
            length => hash.update(&buffer[..length]),
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write};

    /// A package with one file, whose path is written unchanged into the header.
    fn package(path: &str) -> tempfile::NamedTempFile {
        let mut data = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(5);
        header.set_cksum();
        data.append(&header, &b"hello"[..]).unwrap();
        let data = data.into_inner().unwrap();
        let mut package = tempfile::NamedTempFile::new().unwrap();
        let members = [("debian-binary", &b"2.0\n"[..]), ("data.tar", &data)];
        package.write_all(&super::super::ar::tests::archive(&members)).unwrap();
        package
    }

    fn read(package: &Path) -> anyhow::Result<Vec<(String, String)>> {
        let mut found = Vec::new();
        for_each_file(package, &mut |path, reader| {
            let mut text = String::new();
            reader.read_to_string(&mut text)?;
            found.push((path.to_owned(), text));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn the_files_of_a_package_are_read() {
        let found = read(package("./boot/vmlinuz").path()).unwrap();
        assert_eq!(found, [("boot/vmlinuz".to_owned(), "hello".to_owned())]);
    }

    /// The package is in the format of dpkg-deb.
    #[test]
    fn a_path_too_long_for_a_header_stands_before_its_file() {
        let long = format!("lib/modules/{}.ko", "m".repeat(200));
        let packed = |path: &str, said: u64| {
            let mut data = tar::Builder::new(Vec::new());
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(tar::EntryType::GNULongName);
            header.set_size(said);
            header.set_cksum();
            data.append(&header, path.as_bytes().chain(io::repeat(0)).take(said)).unwrap();
            let mut header = tar::Header::new_gnu();
            header.set_size(5);
            header.set_cksum();
            data.append(&header, &b"hello"[..]).unwrap();
            let mut found = Vec::new();
            let read = files(&data.into_inner().unwrap()[..], &mut |path, _| {
                found.push(path.to_owned());
                Ok(())
            });
            read.map(|()| found)
        };
        assert_eq!(packed(&long, 250).unwrap(), std::slice::from_ref(&long));
        let error = format!("{:#}", packed(&long, 1 << 20).unwrap_err());
        assert!(error.contains("larger than 4 KiB"), "{error}");
    }

    #[test]
    fn a_package_of_endlessly_many_files_is_refused() {
        let mut header = tar::Header::new_gnu();
        header.set_path("boot/file").unwrap();
        header.set_size(0);
        header.set_cksum();
        let data = io::Cursor::new(header.as_bytes().repeat(MOST_FILES + 1));
        let error = files(data, &mut |_, _| Ok(())).unwrap_err().to_string();
        assert!(error.contains("more than 100000 files"), "{error}");
    }

    #[test]
    fn a_path_that_leads_out_is_refused() {
        for path in ["../evil", "./a/../../evil", "/etc/evil"] {
            let error = read(package(path).path()).unwrap_err().to_string();
            assert!(error.contains("leads out"), "{path}: {error}");
        }
    }

    #[test]
    fn what_is_cut_short_or_no_package_is_refused() {
        let whole = package("./boot/vmlinuz");
        whole.as_file().set_len(300).unwrap();
        assert!(read(whole.path()).is_err());
        let mut text = tempfile::NamedTempFile::new().unwrap();
        text.write_all(b"this is no package").unwrap();
        assert!(read(text.path()).is_err());
    }

    #[test]
    fn the_checksum_is_the_one_of_the_standard() {
        let mut text = tempfile::NamedTempFile::new().unwrap();
        text.write_all(b"abc").unwrap();
        // FIPS 180-4, example of one block.
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(text.path()).unwrap(), known);
    }

    /// An image whose header has this release.
    fn built(release: &str) -> Vec<u8> {
        let mut image = vec![0_u8; 0x400];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        image[0x300..0x300 + release.len()].copy_from_slice(release.as_bytes());
        image
    }

    #[test]
    fn a_built_image_is_taken_with_the_modules_of_its_release_beside_it_or_above() {
        let found = |image: &Path| {
            let mut found = Vec::new();
            let takes = &mut |path: &str, _: &mut dyn Read| {
                found.push(path.to_owned());
                Ok(())
            };
            for_each_installed_file(image, takes).map(|()| found)
        };
        for place in ["bzImage", "arch/x86/boot/bzImage", "boot/vmlinuz-6.12.3-mine", "boot/vmlinuz"] {
            let tree = tempfile::tempdir().unwrap();
            let image = tree.path().join(place);
            std::fs::create_dir_all(image.parent().unwrap()).unwrap();
            std::fs::write(&image, built("6.12.3-mine (me@here) #1")).unwrap();
            let other = tree.path().join("lib/modules/6.12.3/kernel");
            std::fs::create_dir_all(&other).unwrap();
            std::fs::write(other.join("old.ko"), "x").unwrap();
            let why = format!("{:#}", found(&image).unwrap_err());
            assert!(why.contains("no lib/modules/6.12.3-mine") && why.contains("modules_install"), "{why}");
            let modules = tree.path().join("lib/modules/6.12.3-mine/kernel/fs");
            std::fs::create_dir_all(&modules).unwrap();
            std::fs::write(modules.join("ext4.ko"), "x").unwrap();
            let all = ["boot/vmlinuz-6.12.3-mine", "lib/modules/6.12.3-mine/kernel/fs/ext4.ko"];
            assert_eq!(found(&image).unwrap(), all, "{place}");
        }
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("bzImage");
        for (content, told) in [
            (b"text".to_vec(), "neither a .deb nor a kernel image"),
            (built(""), "has no release"),
            (built("../../etc"), "invalid name"),
            (built("..")[..0x301].to_vec(), "invalid name"),
        ] {
            std::fs::write(&image, content).unwrap();
            let why = format!("{:#}", found(&image).unwrap_err());
            assert!(why.contains(told), "{told}: {why}");
        }
    }
}
