//! `docs/measurements/gate.md`: earlier times of the gate, with a new entry whenever tests are added.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

const FILE: &str = "docs/measurements/gate.md";

/// A test that takes longer is not part of `make check`.
pub const LONG: Duration = Duration::from_secs(1);

/// The last entry: seconds of each test, and of each module.
#[derive(Default, Debug, PartialEq)]
pub struct Entry {
    pub seconds: BTreeMap<String, f64>,
}

pub fn read() -> Result<Entry> {
    let text = fs::read_to_string(FILE).with_context(|| format!("could not read {FILE}"))?;
    Ok(last(&text))
}

/// Recorded seconds of each test; empty if there is no record, which only makes the order worse.
pub fn expected() -> BTreeMap<String, f64> {
    read().unwrap_or_default().seconds
}

pub fn is_long(name: &str) -> bool {
    expected().get(name).is_some_and(|seconds| *seconds >= LONG.as_secs_f64())
}

/// Rows `| NAME | SECONDS |` below the last second-level heading.
fn last(text: &str) -> Entry {
    let entry = text.rsplit("\n## ").next().unwrap_or_default();
    let row = |line: &str| {
        let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
        let name = cells.next()?.trim_matches('`').to_owned();
        Some((name, cells.next()?.parse().ok()?))
    };
    Entry { seconds: entry.lines().filter_map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_entry_counts() {
        let text = "# gate\n\n## old\n\n| what | seconds |\n|---|---|\n| `a::b` | 9.0 |\n\n## new\n\n| what | seconds |\n|---|---|\n\
                    | `a::b` | 3.5 |\n| `a` | 7 |\n";
        let seconds = BTreeMap::from([("a::b".to_owned(), 3.5), ("a".to_owned(), 7.0)]);
        assert_eq!(last(text), Entry { seconds });
    }
}
