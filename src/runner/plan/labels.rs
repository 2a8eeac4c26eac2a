//! Valid labels, and their uniqueness.

use std::collections::HashSet;

use crate::exit::Failure;

/// Labels become part of a trial's name, which is split at slashes.
pub fn usable(what: &str, label: &str) -> Result<(), Failure> {
    if label.is_empty() || label.contains(['/', '\n']) || label.chars().any(char::is_control) {
        let could: String = label.chars().map(|c| if c == '/' || c.is_control() { '-' } else { c }).collect();
        let could = if could.is_empty() { "NAME" } else { &could };
        return Err(Failure::usage(format!(
            "'{}' cannot label a {what}: a label is one line of text without '/', which separates the labels in a trial's name\n  \
             try: label = \"{could}\"",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_that_cannot_be_one_comes_with_one_that_can() {
        for (label, could) in [
            ("ext4/noatime", "ext4-noatime"),
            ("a/../b", "a-..-b"),
            ("two\nlines", "two-lines"),
            ("\u{1b}[31mred", "-[31mred"),
            ("", "NAME"),
            ("größe 1/2", "größe 1-2"),
        ] {
            let said = usable("workload", label).unwrap_err().to_string();
            assert!(said.ends_with(&format!("try: label = \"{could}\"")), "{said}");
            assert!(usable("workload", could).is_ok());
        }
        assert!(usable("workload", "größe, 2 clients (again)").is_ok());
    }
}
