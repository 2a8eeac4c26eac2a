//! Each variable `FSDERBY_*` stands in the program's table, which the reference shows.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::{documents, project};
use fsderby::config::variables::{self, PREFIX};

/// Where variables may be read or set.
const PLACES: [&str; 9] =
    ["src", "crates", "tests", "benches", "fuzz", "scripts", "templates", "Makefile", ".ci"];
/// The table itself, and what speaks of variables that do not exist.
const BUT: [&str; 3] =
    ["src/config/variables.rs", "tests/pure/configuration.rs", "tests/host/configuration.rs"];

/// Names of variables in the text: the prefix with at least one further letter.
fn names(text: &str) -> BTreeSet<String> {
    let end = |rest: &str| rest.find(|c: char| !(c.is_ascii_uppercase() || c == '_')).unwrap_or(rest.len());
    let found = text.match_indices(PREFIX).map(|(at, _)| text[at..at + end(&text[at..])].to_owned());
    found.filter(|name| name.len() > PREFIX.len()).collect()
}

fn read(path: &Path, found: &mut BTreeSet<String>) {
    if path.is_dir() {
        fs::read_dir(path).unwrap().flatten().for_each(|entry| read(&entry.path(), found));
    } else if !BUT.iter().any(|but| path == project().join(but)) {
        // Tables of tests are binary.
        found.extend(names(&String::from_utf8_lossy(&fs::read(path).unwrap_or_default())));
    }
}

#[test]
fn each_variable_has_a_row_and_each_row_a_variable() {
    let mut found = BTreeSet::new();
    PLACES.iter().for_each(|place| read(&project().join(place), &mut found));
    let known: BTreeSet<String> = variables::all().map(str::to_owned).collect();
    assert_eq!(found, known, "src/config has the tables");
    assert_eq!(
        names("FSDERBY_A=1, FSDERBY_ and FSDERBY_B_C"),
        ["FSDERBY_A", "FSDERBY_B_C"].map(String::from).into()
    );
    let page = documents::document("docs/reference/configuration.md").prose;
    assert_eq!(names(&page), known, "docs/reference/configuration.md");
}
