//! Every relative link of a document leads to a file and, where it names one, to a heading; every page stands in the book.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::support::documents::{self, Document};
use crate::support::project;

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let wrong: Vec<String> = documents::all().iter().flat_map(broken).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_page_stands_once_in_the_summary() {
    let summary = documents::document("docs/SUMMARY.md");
    let mut listed: Vec<String> = links(&summary.prose).iter().map(|link| target(&summary, link).0).collect();
    listed.sort();
    let pages: Vec<String> =
        documents::all().into_iter().map(|d| d.name).filter(|name| *name != summary.name).collect();
    assert_eq!(listed, pages);
}

#[test]
fn a_link_to_no_file_or_to_no_heading_is_found() {
    let document = |prose: &str| Document {
        name: "docs/guide/made-up.md".into(),
        blocks: Vec::new(),
        prose: prose.into(),
    };
    let good = "# A *b*: `c d`\n[one](../adding.md#a-probe) [two](#a-b-c-d) [three](https://example.org/x) ![four](../../README.md)\n`[no](link)`\n";
    assert_eq!(broken(&document(good)), Vec::<String>::new());
    for bad in [
        "[x](../nothing.md)",
        "[x](../adding.md#nothing)",
        "[x](#nothing)",
        "[x](adding.md)",
        "[x](../../../outside)",
    ] {
        assert_eq!(broken(&document(bad)).len(), 1, "{bad}");
    }
}

/// What is wrong with the links of a document.
fn broken(document: &Document) -> Vec<String> {
    let is_wrong = |link: &&str| {
        let (file, heading) = target(document, link);
        let own = file == document.name;
        if !own && !project().join(&file).exists() {
            return true;
        }
        let read =
            || if own { headings(&document.prose) } else { headings(&documents::document(&file).prose) };
        !heading.is_empty() && !read().contains(heading)
    };
    let prose = without_code(&document.prose);
    let relative = links(&prose).into_iter().filter(|link| !link.contains("://"));
    relative.filter(is_wrong).map(|link| format!("{}: there is no {link}", document.name)).collect()
}

/// `[text](LINK)` and `![text](LINK)`.
fn links(prose: &str) -> Vec<&str> {
    prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect()
}

/// The file that is linked to, as a path in the project, and the heading in it.
fn target<'l>(document: &Document, link: &'l str) -> (String, &'l str) {
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    if file.is_empty() {
        return (document.name.clone(), heading);
    }
    let mut path = PathBuf::new();
    for part in Path::new(&document.name)
        .parent()
        .into_iter()
        .flat_map(Path::components)
        .chain(Path::new(file).components())
    {
        match part {
            // What leads out of the project is no file of it.
            Component::ParentDir if !path.pop() => return ("..".to_owned() + file, heading),
            Component::ParentDir => {}
            other => path.push(other),
        }
    }
    (path.display().to_string(), heading)
}

fn without_code(prose: &str) -> String {
    prose.split('`').step_by(2).collect()
}

/// As they are linked to: `The words` → `the-words`.
fn headings(prose: &str) -> BTreeSet<String> {
    let slug = |heading: &str| {
        let lower = heading.to_lowercase();
        let kept = lower.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().replace(' ', "-")
    };
    let lines = prose.lines().filter(|line| line.starts_with('#'));
    lines.map(|line| slug(line.trim_start_matches('#').trim())).collect()
}
