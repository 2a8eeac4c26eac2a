//! Imported figures as Markdown.

use super::{escaped, shown};
use crate::report::view::imported::{Imported, Part};
use crate::text::visible::visible;

/// Imported figures without a run of fsderby beside them.
pub fn text(all: &[Imported]) -> String {
    let sections = all.iter().map(|imported| section(imported, "#"));
    visible(&(sections.collect::<Vec<_>>().join("\n\n") + "\n")).into_owned()
}

/// An import as a section under a heading of this level.
pub fn section(imported: &Imported, level: &str) -> String {
    let mut out = vec![format!("{level} {}", escaped(&imported.caption()))];
    out.extend(imported.sentences.iter().map(|sentence| format!("**{}**", escaped(sentence))));
    out.extend(imported.parts.iter().map(part));
    out.push(escaped(&imported.note));
    let lines = imported.provenance.iter().map(|line| format!("- {}", escaped(line)));
    out.push(lines.collect::<Vec<_>>().join("\n"));
    out.join("\n\n")
}

fn part(part: &Part) -> String {
    format!("{}:\n\n{}", escaped(&part.title), shown(&part.table, Imported::TEXTS))
}
