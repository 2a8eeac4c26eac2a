//! A guest as a bundle: whatever stands in its manifest and its archive, it is unpacked within its folder, or refused with words.

use std::fs;

use fsderby::guest::bundle::{Manifest, sha256};
use fsderby::guest::bundle_file::unpack;

use crate::engine::{Target, USUAL, has_words};
use crate::packages::{tar, xz};

const AGENT: &[u8] = b"an agent";
const IMAGE: &[u8] = b"a kernel";
const MODULE: &[u8] = b"a module";
const PROGRAM: &[u8] = b"a program";

#[test]
fn a_bundle_is_unpacked_within_its_folder_or_refused_with_words() {
    target().run();
}

pub fn target() -> Target {
    let manifest = manifest();
    let whole = archive(&manifest);
    assert!(
        unpacked(&whole).is_ok() && unpacked(&xz(&whole)).is_ok(),
        "a seed that is refused tries nothing"
    );
    let seeds = vec![manifest.clone(), manifest, whole.clone(), xz(&whole)];
    let words = [
        "../../../../tmp/evil",
        "/etc/evil",
        "agent",
        "image",
        "modules/",
        ".ko",
        "files/",
        "sha256",
        "bytes",
    ];
    let words = words.map(str::to_owned).to_vec();
    Target { name: "bundle", seeds, words, inputs: 600, limits: USUAL, check: Box::new(check) }
}

/// As one is written.
fn manifest() -> Vec<u8> {
    let stored = format!("files/{}", sha256(PROGRAM));
    let members = [("agent", AGENT), (&stored, PROGRAM), ("image", IMAGE), ("modules/one.ko", MODULE)];
    let file = |(name, bytes): (&str, &[u8])| {
        (name.to_owned(), serde_json::json!({ "sha256": sha256(bytes), "bytes": bytes.len() }))
    };
    let files: serde_json::Map<String, serde_json::Value> = members.into_iter().map(file).collect();
    let module = serde_json::json!({ "blake3": "", "depends": [], "wants": [], "aliases": [] });
    let text = serde_json::json!({
        "schema": 1, "protocol": 3, "fsderby": "0.1.0",
        "kernel": { "schema": 3, "release": "6.0", "source": "a.deb", "sha256": "", "image_blake3": "",
                    "modules": { "loadable": { "one": module }, "builtin": ["virtio_blk"] } },
        "packages": [{ "name": "e2fsprogs", "version": "1.47.0-2", "sha256": "" }],
        "root": { "/usr/sbin/mke2fs": sha256(PROGRAM) },
        "files": files,
    });
    let read = Manifest::read(&serde_json::to_vec(&text).unwrap()).unwrap();
    serde_json::to_vec(&read).unwrap()
}

/// With the ID of this manifest, and the files of the one above.
fn archive(manifest: &[u8]) -> Vec<u8> {
    let (id, stored) = (sha256(manifest), format!("files/{}", sha256(PROGRAM)));
    tar(&[
        ("id", id.as_bytes()),
        ("manifest.json", manifest),
        ("agent", AGENT),
        (&stored, PROGRAM),
        ("image", IMAGE),
        ("modules/one.ko", MODULE),
    ])
}

/// A changed manifest gets an archive and an ID of its own, so that what comes behind both is tried too.
fn check(input: &[u8]) {
    let result = match input.starts_with(b"{") {
        true => unpacked(&archive(input)),
        false => unpacked(input),
    };
    match result {
        Err(error) => has_words(&fsderby::text::visible::message(&format!("{error:#}"))),
        Ok(manifest) => {
            let read = Manifest::read(&manifest).unwrap();
            assert_eq!(serde_json::to_vec(&read).unwrap(), manifest);
        }
    }
}

/// Into a folder of its own, beside which nothing may appear.
fn unpacked(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("to");
    for part in ["modules", "files"] {
        fs::create_dir_all(to.join(part)).unwrap();
    }
    let result = unpack(bytes, &to);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "something lies outside");
    result
}
