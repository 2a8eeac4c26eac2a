//! The files of `disks/`.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod support;

use std::path::Path;

use fsderby_diskmodel::SHIPPED;
use support::spec;

#[test]
fn every_file_is_shipped_under_its_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../disks");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let shipped: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
    assert_eq!(files, shipped);
    shipped.into_iter().for_each(|name| assert_eq!(spec(name).name(), name));
}

#[test]
fn every_value_has_a_source_or_the_reason_of_an_estimate() {
    for (name, _) in SHIPPED {
        let spec = spec(name);
        assert!(!spec.title().is_empty() && spec.story().len() > 100, "{name}");
        for value in spec.values() {
            assert!(value.source.len() > 10, "{name}: {}: {}", value.key, value.source);
        }
    }
}
