//! Valid labels, and their uniqueness.

use std::collections::HashSet;

use crate::exit::Failure;

/// Labels become part of a trial's name, which is split at slashes.
pub fn usable(what: &str, label: &str) -> Result<(), Failure> {
    if label.is_empty() || label.contains(['/', '\n']) || label.chars().any(char::is_control) {
        return Err(Failure::usage(format!(
            "'{}' cannot label a {what}: write one line of text without '/'",
            label.escape_default()
        )));
    }
    Ok(())
}

pub fn distinct<'a>(what: &str, labels: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    for label in labels {
        if !seen.insert(label) {
            let text = format!("two {what}s have the label '{label}'\n  try: another label for one of them");
            return Err(Failure::usage(text));
        }
    }
    if seen.is_empty() {
        return Err(Failure::usage(format!("the experiment has no {what}\n  try: --{what}s A,B")));
    }
    Ok(())
}
