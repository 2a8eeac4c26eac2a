//! Against what the original did, stored: operations without running any, and reports.

use std::fs;

use fsderby::dropins::postmark;
use fsderby::workloads::postmark::trace::trace;

use super::scripts::{self, OURS};

/// The buffer of the original's streams on the filesystem where the traces were taken.
const STDIO_BUFFER: usize = 4096;

#[test]
fn the_engine_asks_for_the_stored_system_calls() {
    for (name, path) in scripts::golden() {
        let rules = postmark::rules(&fs::read(&path).expect("the script"));
        let mut calls = String::new();
        trace(&rules, STDIO_BUFFER, &mut |call| calls += &format!("{call}\n"));
        let expected = fs::read_to_string(path.with_extension("trace")).expect("the trace");
        let first = calls.lines().zip(expected.lines()).position(|(ours, theirs)| ours != theirs);
        assert_eq!(first, None, "script {name}: the first line that differs");
        assert_eq!(calls.len(), expected.len(), "script {name}: the length of the trace");
    }
}

#[test]
fn the_drop_in_prints_the_stored_reports() {
    for (name, path) in scripts::golden() {
        let folder = scripts::folder(&fs::read(&path).expect("the script"));
        let output = scripts::run(&[], OURS, folder.path());
        let expected = fs::read(path.with_extension("stdout")).expect("the stored output");
        assert_eq!(scripts::timeless(&output.stdout), scripts::timeless(&expected), "script {name}");
        assert!(output.status.success() && output.stderr.is_empty(), "script {name}");
    }
}
