//! A kit: one file with which others check a reproduction of a paper. A tar archive of the manifest, its signature if it has one,
//! and the files of the manifest in order of name.
//!
//! ```text
//! kit.json              what made it, the paper, the runs, the guests, QEMU; size and BLAKE3 of every other file
//! kit.json.minisig      only if signed
//! guests/N.tar          the guest bundles that the runs name
//! page.html, page.json  the judged page
//! paper/…               the paper's tables and claims, with experiments of its own
//! runs/N/…              each run's folder
//! ```
//! A kit is untrusted: it is refused unless its members are exactly those of the manifest, and they are unpacked only below a folder
//! of our own.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write};

use anyhow::{Context, bail, ensure};
use minisign::{PublicKey, SignatureBox};
use serde::{Deserialize, Serialize};

use super::Door;
use super::keys::Key;
use crate::schema::units::Bytes;

pub const MANIFEST: &str = "kit.json";
pub const SIGNATURE: &str = "kit.json.minisig";
pub const PAGE: &str = "page.html";
/// The page's tables and claims, for comparison.
pub const VERDICTS: &str = "page.json";
pub const PAPER: &str = "paper/paper.toml";

const SCHEMA: u32 = 1;
/// A manifest of some 100,000 files.
const LONGEST_MANIFEST: u64 = 32 << 20;
const LONGEST_SIGNATURE: u64 = 4096;
/// Bytes that are copied at once.
const CHUNK: usize = 1 << 16;

/// What a kit contains.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Kit {
    pub schema: u32,
    /// Version of the fsderby that packed it.
    pub fsderby: String,
    /// The paper's name.
    pub paper: String,
    /// Folders of the runs in the kit.
    pub runs: Vec<String>,
    /// IDs of the guest bundles that the runs name, each in `guests/N.tar`.
    pub guests: Vec<String>,
    /// BLAKE3 of each QEMU binary that the runs used.
    pub qemu: Vec<String>,
    pub files: BTreeMap<String, Stated>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Stated {
    pub bytes: u64,
    pub blake3: String,
}

/// The content of a member.
pub enum Content {
    Text(String),
    /// A file below an open folder.
    File(Door, String),
}

impl Kit {
    pub fn new(fsderby: &str, paper: &str) -> Self {
        Kit {
            schema: SCHEMA,
            fsderby: fsderby.to_owned(),
            paper: paper.to_owned(),
            runs: Vec::new(),
            guests: Vec::new(),
            qemu: Vec::new(),
            files: BTreeMap::new(),
        }
    }
}

impl Content {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match self {
            Content::Text(text) => Box::new(text.as_bytes()),
            Content::File(door, name) => Box::new(door.file(name, Bytes(u64::MAX))?),
        })
    }

    fn stated(&self) -> io::Result<Stated> {
        let mut hash = blake3::Hasher::new();
        let bytes = io::copy(&mut self.open()?, &mut hash)?;
        Ok(Stated { bytes, blake3: hash.finalize().to_hex().to_string() })
    }
}

/// The folder of the run of this number, from 1.
pub fn run(number: usize) -> String {
    format!("runs/{number}")
}

/// The file of the guest bundle of this number, from 1.
pub fn guest(number: usize) -> String {
    format!("guests/{number}.tar")
}

/// The files of a run's folder as members below `at`.
///
/// # Errors
/// If the folder has a link or another thing that is neither file nor folder.
pub fn folder(door: &Door, at: &str, to: &mut BTreeMap<String, Content>) -> io::Result<()> {
    for name in door.files()? {
        to.insert(format!("{at}/{name}"), Content::File(door.clone(), name));
    }
    Ok(())
}

/// Writes a kit of these members, which fill the manifest's files.
///
/// # Errors
/// If a member cannot be read, changes meanwhile, or writing fails.
pub fn write(
    mut kit: Kit,
    members: &BTreeMap<String, Content>,
    key: Option<&Key>,
    to: &mut dyn Write,
) -> anyhow::Result<()> {
    for (name, content) in members {
        let stated = content.stated().with_context(|| format!("could not read {name}"))?;
        kit.files.insert(name.clone(), stated);
    }
    let manifest = serde_json::to_vec_pretty(&kit)?;
    let mut archive = tar::Builder::new(to);
    append(&mut archive, MANIFEST, manifest.len() as u64, &manifest[..])?;
    if let Some(key) = key {
        let comment = "a kit of fsderby";
        let signed = minisign::sign(None, key.secret(), Cursor::new(&manifest), Some(comment), None);
        let text = signed.context("could not sign the kit")?.into_string();
        append(&mut archive, SIGNATURE, text.len() as u64, text.as_bytes())?;
    }
    for (name, content) in members {
        let stated = &kit.files[name];
        let mut copy = Hashed { from: content.open()?.take(stated.bytes), hash: blake3::Hasher::new() };
        append(&mut archive, name, stated.bytes, &mut copy)?;
        ensure!(
            copy.hash.finalize().to_hex().as_str() == stated.blake3,
            "{name} changed while it was packed"
        );
    }
    Ok(archive.finish()?)
}

struct Hashed<R> {
    from: R,
    hash: blake3::Hasher,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}

/// Equal members give equal bytes: no times, no owners, one mode.
fn append(
    archive: &mut tar::Builder<&mut dyn Write>,
    name: &str,
    bytes: u64,
    from: impl Read,
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    archive.append_data(&mut header, name, from)
}

/// An unpacked kit.
#[derive(Debug)]
pub struct Unpacked {
    pub kit: Kit,
    manifest: Vec<u8>,
    signature: Option<String>,
}

/// Unpacks a kit of so many bytes into this empty folder.
///
/// # Errors
/// If a member differs from the manifest, is missing, or is not in it.
pub fn unpack(file: impl Read, length: u64, folder: &Door) -> anyhow::Result<Unpacked> {
    let mut archive = tar::Archive::new(file);
    let mut entries = archive.entries().context("the file is not a kit")?;
    let mut manifest = Vec::new();
    let first = entries.next().context("the file is not a kit: it is empty")?;
    let first = first.context("the file is not a kit")?;
    ensure!(
        is_file(&first, MANIFEST) && first.size() <= LONGEST_MANIFEST,
        "the file is not a kit: it does not begin with {MANIFEST}"
    );
    first.take(LONGEST_MANIFEST).read_to_end(&mut manifest).context("the file is truncated")?;
    let kit: Kit = serde_json::from_slice(&manifest)
        .with_context(|| format!("{MANIFEST} is not that of a kit of this version"))?;
    ensure!(kit.schema == SCHEMA, "{MANIFEST} has schema {}, and this version reads {SCHEMA}", kit.schema);
    // Nothing but the kit's own folders is read and executed.
    let runs = (1..=kit.runs.len()).map(run);
    ensure!(kit.runs.iter().cloned().eq(runs), "{MANIFEST} names runs outside of the kit");
    let all = kit.files.values().try_fold(0_u64, |sum, file| sum.checked_add(file.bytes));
    ensure!(all.is_some_and(|all| all <= length), "{MANIFEST} states more bytes than the kit has");
    let (mut signature, mut due) = (None, kit.files.iter());
    for entry in entries {
        let entry = entry.context("the kit is damaged or truncated")?;
        if signature.is_none() && is_file(&entry, SIGNATURE) {
            let mut text = String::new();
            entry.take(LONGEST_SIGNATURE).read_to_string(&mut text).context("the signature")?;
            signature = Some(text);
            continue;
        }
        let Some((name, stated)) = due.next() else {
            bail!("the kit has more members than its manifest states");
        };
        ensure!(is_file(&entry, name), "the member {name} is missing at its place");
        ensure!(entry.size() == stated.bytes, "the size of {name} differs from the manifest");
        take(entry, name, stated, folder)?;
    }
    if let Some((name, _)) = due.next() {
        bail!("the kit is truncated: {name} is missing");
    }
    Ok(Unpacked { kit, manifest, signature })
}

fn is_file(entry: &tar::Entry<'_, impl Read>, name: &str) -> bool {
    entry.header().entry_type().is_file() && &*entry.path_bytes() == name.as_bytes()
}

fn take(mut entry: impl Read, name: &str, stated: &Stated, folder: &Door) -> anyhow::Result<()> {
    if let Some((above, _)) = name.rsplit_once('/') {
        folder.make_folders(above).with_context(|| format!("could not create the folder of {name}"))?;
    }
    let mut to = folder.create_open(name).with_context(|| format!("could not create {name}"))?;
    let (mut hash, mut buffer) = (blake3::Hasher::new(), vec![0; CHUNK]);
    loop {
        match entry.read(&mut buffer).with_context(|| format!("{name} is damaged or truncated"))? {
            0 => break,
            read => {
                hash.update(&buffer[..read]);
                to.write_all(&buffer[..read]).with_context(|| format!("could not write {name}"))?;
            }
        }
    }
    ensure!(hash.finalize().to_hex().as_str() == stated.blake3, "{name} differs from the manifest");
    Ok(())
}

impl Unpacked {
    pub fn is_signed(&self) -> bool {
        self.signature.is_some()
    }

    /// Checks that the owner of this key signed the manifest.
    ///
    /// # Errors
    /// In one sentence.
    pub fn check(&self, key: &PublicKey) -> Result<(), String> {
        let text = self.signature.as_ref().ok_or("the kit is not signed")?;
        let signature =
            SignatureBox::from_string(text).map_err(|e| format!("{SIGNATURE} is not a signature: {e}"))?;
        minisign::verify(key, &signature, Cursor::new(&self.manifest), true, false, false)
            .map_err(|e| format!("the kit's signature does not match this key: {e}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members() -> BTreeMap<String, Content> {
        let text = |name: &str, text: &str| (name.to_owned(), Content::Text(text.to_owned()));
        BTreeMap::from([
            text("paper/paper.toml", "title"),
            text("runs/1/plan.toml", "plan"),
            text(&format!("runs/1/histograms/{}", "long".repeat(40)), "histogram"),
        ])
    }

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        write(Kit::new("0.1.0", "made-up"), &members(), None, &mut bytes).unwrap();
        bytes
    }

    fn unpacked(bytes: &[u8]) -> anyhow::Result<Unpacked> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("inside")).unwrap();
        let door = Door::open(&folder.path().join("inside")).unwrap();
        let unpacked = unpack(bytes, bytes.len() as u64, &door);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "something lies outside");
        if unpacked.is_ok() {
            assert_eq!(door.files().unwrap().len(), members().len());
            assert_eq!(door.text("runs/1/plan.toml", Bytes(9)).unwrap(), "plan");
        }
        unpacked
    }

    #[test]
    fn a_kit_comes_back_as_it_was_packed() {
        assert!(written() == written());
        let back = unpacked(&written()).unwrap();
        assert_eq!(back.kit.files.len(), 3);
        assert!(!back.is_signed());
    }

    #[test]
    fn an_altered_byte_of_any_member_is_found_and_a_cut_kit_refused() {
        let bytes = written();
        let end = bytes.len() - 1024;
        for at in (0..end).step_by(7) {
            let mut altered = bytes.clone();
            altered[at] ^= 1;
            // Owners, times and padding belong to no member.
            if let Ok(other) = unpacked(&altered) {
                assert!(other.kit.files == unpacked(&bytes).unwrap().kit.files, "byte {at}");
            }
            assert!(at % 301 != 0 || unpacked(&bytes[..at]).is_err(), "cut at {at}");
        }
        let plan = bytes.windows(4).rposition(|window| window == b"plan").unwrap();
        let mut altered = bytes.clone();
        altered[plan] = b'P';
        let said = format!("{:#}", unpacked(&altered).unwrap_err());
        assert!(said.contains("runs/1/plan.toml differs from the manifest"), "{said}");
    }

    #[test]
    fn members_beside_the_manifests_and_names_that_lead_out_are_refused() {
        let refused = |manifest: &Kit, members: &[(&str, tar::EntryType)], words: &str| {
            let manifest = serde_json::to_vec(manifest).unwrap();
            let mut archive = tar::Builder::new(Vec::new());
            let mut put = |name: &str, kind, bytes: &[u8]| {
                let mut header = tar::Header::new_ustar();
                header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
                header.set_entry_type(kind);
                header.set_size(bytes.len() as u64);
                header.set_cksum();
                archive.append(&header, bytes).unwrap();
            };
            put(MANIFEST, tar::EntryType::Regular, &manifest);
            members.iter().for_each(|(name, kind)| put(name, *kind, b"x"));
            let bytes = archive.into_inner().unwrap();
            let said = format!("{:#}", unpacked(&bytes).unwrap_err());
            assert!(said.contains(words), "{words}: {said}");
        };
        let of = |name: &str| {
            let stated = Stated { bytes: 1, blake3: blake3::hash(b"x").to_hex().to_string() };
            Kit { files: BTreeMap::from([(name.to_owned(), stated)]), ..Kit::new("0", "p") }
        };
        let file = tar::EntryType::Regular;
        for name in ["../x", "/tmp/x", "a/../x", "./x"] {
            refused(&of(name), &[(name, file)], "could not create");
        }
        for kind in [tar::EntryType::Symlink, tar::EntryType::Link, tar::EntryType::Fifo] {
            refused(&of("x"), &[("x", kind)], "missing at its place");
        }
        refused(&of("x"), &[("x", file), ("y", file)], "more members");
        refused(&of("x"), &[], "x is missing");
        let huge = Stated { bytes: u64::MAX, blake3: String::new() };
        let lies = Kit { files: BTreeMap::from([("x".into(), huge)]), ..Kit::new("0", "p") };
        refused(&lies, &[("x", file)], "more bytes than the kit has");
        refused(&Kit { schema: 2, ..of("x") }, &[("x", file)], "schema 2");
        for run in ["/var/tmp/run", "../run", "runs/2", "runs/1/../../run"] {
            let elsewhere = Kit { runs: vec![run.to_owned()], ..of("x") };
            refused(&elsewhere, &[("x", file)], "runs outside of the kit");
        }
        for bytes in [&b""[..], b"hello", &[0; 4096], &[0xff; 4096]] {
            assert!(unpacked(bytes).is_err());
        }
    }
}
