//! A bundle as one file: a tar archive of the bundle's ID, its manifest and its files in order of name.
//!
//! Equal bundles give equal bytes: the archive has no times, no owners and a single mode. An imported file is untrusted: it is
//! refused unless it has a valid manifest followed by exactly the files in the manifest. Names in it are only compared, never used
//! as paths.

use std::fs::{self, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use sha2::{Digest, Sha256};

use super::bounded::{ALL, Bounded, PACKAGE, open_as, xz, zstd};
use super::bundle::{self, Bundle, File, LONGEST_MANIFEST, MANIFEST, Manifest};
use crate::exit::{self, Failure};
use crate::host::caller::hand_over;
use crate::schema::units::Bytes;

/// Name of the entry with the manifest's SHA-256, which detects any altered byte.
const ID: &str = "id";
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Length of a SHA-256 in hexadecimal digits.
const LONGEST_ID: Bytes = Bytes(64);
/// Limit of headers and padding, which the archive of the largest bundle needs.
const FRAMES: u64 = 16 << 20;

/// The bundle with this name in the cache, or the bundle in this file.
pub fn named(text: &str) -> anyhow::Result<Arc<Bundle>> {
    match text.contains('/') || Path::new(text).is_file() {
        true => Ok(Arc::new(taken(Path::new(text))?)),
        false => Ok(bundle::named(text)?),
    }
}

/// The bundle from this file, after importing it into the cache.
pub fn taken(file: &Path) -> anyhow::Result<Bundle> {
    if let Err(e) = fs::metadata(file) {
        let text = format!(
            "could not open {}: {e}\n  try: fsderby guest export ID FILE, on a machine that has the bundle",
            file.display()
        );
        return Err(Failure::usage(text).into());
    }
    Ok(import(file)
        .map_err(|e| Failure::new(exit::DAMAGED, format!("could not import a guest bundle: {e:#}")))?)
}

/// Writes a bundle to a new file.
///
/// # Errors
/// If the file exists, there is no space, or a file of the bundle is damaged.
pub fn export(bundle: &Bundle, path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    let file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(path);
    let file = file.and_then(|file| hand_over(&file).map(|()| file));
    let mut file = BufWriter::new(file.with_context(|| format!("could not create {shown}"))?);
    let written = write(bundle, &mut file).and_then(|()| Ok(file.flush()?));
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written.with_context(|| format!("could not write {shown}"))
}

/// # Errors
/// If writing fails, or a file of the bundle is damaged.
pub fn write(bundle: &Bundle, to: &mut dyn Write) -> anyhow::Result<()> {
    let mut archive = tar::Builder::new(to);
    append(&mut archive, ID, bundle.id.as_bytes())?;
    append(&mut archive, MANIFEST, &serde_json::to_vec(&bundle.manifest)?)?;
    for name in bundle.manifest.files.keys() {
        append(&mut archive, name, &bundle.file(name)?)?;
    }
    Ok(archive.finish()?)
}

fn append(archive: &mut tar::Builder<&mut dyn Write>, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name)?;
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_cksum();
    archive.append(&header, bytes)
}

/// Imports a bundle into the cache, from a file of [`export`] or that file packed as .xz or .zst.
///
/// # Errors
/// If a file differs from the manifest, or the manifest is invalid.
pub fn import(path: &Path) -> anyhow::Result<Bundle> {
    let file =
        open_as(path, PACKAGE, "fsderby guest import FILE, with a file written by fsderby guest export")?;
    let (guests, folder) = bundle::begun()?;
    let taken = unpack(file, folder.path()).and_then(|bytes| bundle::settle(folder, &guests, &bytes));
    taken.with_context(|| format!("{} was not imported", path.display()))
}

/// Unpacks a bundle into this folder, which has its two subfolders, and returns its manifest.
///
/// # Errors
/// If a file differs from the manifest, or the manifest is invalid.
pub fn unpack(file: impl Read, folder: &Path) -> anyhow::Result<Vec<u8>> {
    let mut file = BufReader::new(file);
    let mut first = Vec::new();
    file.by_ref().take(XZ.len() as u64).read_to_end(&mut first).context("it cannot be read")?;
    let whole = first.clone();
    let whole = whole.chain(file);
    match first.as_slice() {
        begin if begin.starts_with(&XZ) => members(xz(whole, true), folder),
        begin if begin.starts_with(&ZSTD) => members(zstd(whole)?, folder),
        _ => members(whole, folder),
    }
}

fn members(data: impl Read, folder: &Path) -> anyhow::Result<Vec<u8>> {
    let mut archive = tar::Archive::new(Bounded::new(data, Bytes(ALL.0 + FRAMES)));
    let mut entries = archive.entries().context("the file is not a guest bundle")?.raw(true);
    let mut next = |name: &str| -> anyhow::Result<_> {
        let entry = entries.next().with_context(|| format!("the bundle is truncated: {name} is missing"))?;
        let entry =
            entry.with_context(|| format!("the file is not a guest bundle, or is damaged at {name}"))?;
        let is_it = entry.header().entry_type().is_file() && &*entry.path_bytes() == name.as_bytes();
        ensure!(is_it, "the file is not a guest bundle: {name} is missing at its place");
        Ok(entry)
    };
    let id = Bounded::new(next(ID)?, LONGEST_ID).all().context("the ID")?;
    let bytes = Bounded::new(next(MANIFEST)?, LONGEST_MANIFEST).all().context("the manifest")?;
    ensure!(id == bundle::sha256(&bytes).as_bytes(), "the bundle's manifest does not match its ID");
    let manifest = Manifest::read(&bytes)?;
    // A later export then gives the same bytes, so signatures and hashes of the file stay valid.
    ensure!(serde_json::to_vec(&manifest)? == bytes, "the bundle's manifest is not in canonical form");
    for (name, stated) in &manifest.files {
        let entry = next(name)?;
        ensure!(entry.size() == stated.bytes, "the size of {name} differs from the manifest");
        take(entry, &folder.join(name), stated).with_context(|| format!("{name} in it"))?;
    }
    if entries.next().is_some() {
        bail!("the bundle has more files than its manifest lists");
    }
    Ok(bytes)
}

fn take(mut entry: impl Read, path: &Path, stated: &File) -> anyhow::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)?;
    let (mut hash, mut length) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match entry.read(&mut buffer).context("it is damaged or truncated")? {
            0 => break,
            read => {
                hash.update(&buffer[..read]);
                file.write_all(&buffer[..read]).context("not enough free space")?;
                length += read as u64;
            }
        }
    }
    ensure!(
        length == stated.bytes && bundle::hex(&hash.finalize()) == stated.sha256,
        "the file's content differs from the manifest"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::bundle::tests::{small, small_files, small_manifest};
    use super::*;

    /// An archive of these members, with types as in the headers.
    fn archive(members: &[(&[u8], tar::EntryType, &[u8])]) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        for (name, kind, bytes) in members {
            let mut header = tar::Header::new_ustar();
            header.as_mut_bytes()[..name.len()].copy_from_slice(name);
            header.set_entry_type(*kind);
            header.set_size(bytes.len() as u64);
            header.set_cksum();
            archive.append(&header, *bytes).unwrap();
        }
        archive.into_inner().unwrap()
    }

    fn unpacked(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        for part in ["modules", "files"] {
            fs::create_dir_all(inside.join(part)).unwrap();
        }
        let manifest = unpack(bytes, &inside);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "something lies outside");
        manifest
    }

    fn written() -> Vec<u8> {
        let guests = tempfile::tempdir().unwrap();
        let mut bytes = Vec::new();
        write(&small(guests.path()), &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn the_same_bundle_is_the_same_file_and_comes_back_as_it_was() {
        let bytes = written();
        assert!(bytes == written(), "of another folder and another moment");
        let manifest = unpacked(&bytes).unwrap();
        assert_eq!(Manifest::read(&manifest).unwrap(), small_manifest());
        let mut packed = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).unwrap();
        packed.write_all(&bytes).unwrap();
        assert_eq!(unpacked(&packed.finish().unwrap()).unwrap(), manifest);
    }

    #[test]
    fn a_file_that_is_cut_short_or_altered_anywhere_is_refused() {
        let bytes = written();
        let end = bytes.len() - 1024;
        for at in (0..end).step_by(13) {
            let mut altered = bytes.clone();
            altered[at] ^= 1;
            if let Ok(manifest) = unpacked(&altered) {
                // Owners and times in an archive are ignored, and padding belongs to no file.
                assert_eq!(Manifest::read(&manifest).unwrap(), small_manifest(), "byte {at}");
            }
            if at % 101 == 0 {
                assert!(unpacked(&bytes[..at]).is_err(), "cut at {at}");
            }
        }
    }

    /// After the manifest, each member must be the one that the manifest names next; any other member is refused.
    #[test]
    fn members_that_are_not_the_next_one_are_refused_and_nothing_is_written_outside() {
        let manifest = serde_json::to_vec(&small_manifest()).unwrap();
        let id = bundle::sha256(&manifest);
        let files = small_files();
        let file = tar::EntryType::Regular;
        let head = [(ID.as_bytes(), file, id.as_bytes()), (MANIFEST.as_bytes(), file, &manifest[..])];
        let whole: Vec<(&[u8], tar::EntryType, &[u8])> = head
            .into_iter()
            .chain(files.iter().map(|(name, bytes)| (name.as_bytes(), file, &bytes[..])))
            .collect();
        assert!(unpacked(&archive(&whole)).is_ok());
        let refused = |members: &[(&[u8], tar::EntryType, &[u8])], words: &str| {
            let said = format!("{:#}", unpacked(&archive(members)).unwrap_err());
            assert!(said.contains(words), "{words}: {said}");
        };
        for name in [&b"../agent"[..], b"/tmp/agent", b"./agent", b"agent/../agent", b"\xff", b""] {
            let mut members = whole.clone();
            members[2].0 = name;
            refused(&members, "agent is missing at its place");
        }
        for kind in
            [tar::EntryType::Symlink, tar::EntryType::Link, tar::EntryType::Char, tar::EntryType::Fifo]
        {
            let mut members = whole.clone();
            members[2].1 = kind;
            refused(&members, "agent is missing at its place");
        }
        let mut other = whole.clone();
        other[2].2 = b"an other";
        refused(&other, "the file's content differs from the manifest");
        other[2].2 = b"longer than it was";
        refused(&other, "differs from the manifest");
        let mut more = whole.clone();
        more.push((b"more", file, b"more"));
        refused(&more, "more files than its manifest lists");
        refused(&whole[1..], "id is missing at its place");
        refused(&[], "id is missing");
        let mut exchanged = whole.clone();
        let nobodys = "0".repeat(64);
        exchanged[0].2 = nobodys.as_bytes();
        refused(&exchanged, "does not match its ID");
        let blanks = [&manifest[..], b" "].concat();
        let named = bundle::sha256(&blanks);
        let mut spaced = whole.clone();
        (spaced[0].2, spaced[1].2) = (named.as_bytes(), &blanks);
        refused(&spaced, "not in canonical form");
        let endless = vec![b' '; 5 << 20];
        let mut large = whole;
        large[1].2 = &endless;
        refused(&large, "larger than 4 MiB");
    }

    #[test]
    fn what_is_no_bundle_at_all_is_refused() {
        for bytes in [&b""[..], b"hello", &XZ, &ZSTD, &[0; 4096], &[0xff; 4096]] {
            assert!(unpacked(bytes).is_err());
        }
    }
}
