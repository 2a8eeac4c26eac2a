//! The text of every format as pieces: paragraphs, cells, screen-reader texts.

use std::path::Path;

use anstream::adapter::strip_str;
use anyhow::Context;

use crate::report::Report;
use crate::report::formats::terminal::{self, Detail};
use crate::report::formats::{Format, How, TABLE};

/// The pieces of all formats that contain sentences, and the CSV by candidate.
///
/// # Errors
/// If a format cannot be written.
pub fn of_all(report: &Report<'_>) -> anyhow::Result<(Vec<String>, String)> {
    let mut pieces = Vec::new();
    for (width, detail) in [(80, Detail::Everything), (80, Detail::Glance), (200, Detail::Glance)] {
        pieces.extend(of_terminal(&strip_str(&terminal::text(report, width, detail)).to_string()));
    }
    pieces.extend(of_page(&written(report, "html", "x.html", false)?));
    pieces.extend(of_markdown(&written(report, "markdown", "x.md", false)?));
    pieces.extend(of_page(&written(report, "summary", "x.html", false)?));
    for is_ascii in [false, true] {
        pieces.extend(of_terminal(&written(report, "summary", "x.txt", is_ascii)?));
    }
    pieces.extend(of_json(report)?);
    for picture in TABLE.iter().flat_map(|format| format.files(report)) {
        pieces.extend(of_page(&picture.svg));
    }
    Ok((pieces, written(report, "csv", "x.csv", false)?))
}

fn written(report: &Report<'_>, name: &str, path: &str, ascii: bool) -> anyhow::Result<String> {
    let format: &dyn Format = *TABLE.iter().find(|format| format.name() == name).context("no such format")?;
    let mut to = Vec::new();
    format.write_as(report, &How { path: Path::new(path), ascii }, &mut to)?;
    Ok(String::from_utf8(to)?)
}

/// Every text of the summary in the JSON report; the other parts of that report are records.
fn of_json(report: &Report<'_>) -> anyhow::Result<Vec<String>> {
    let summary = serde_json::to_value(&report.summary)?;
    let mut texts = Vec::new();
    let mut left = vec![&summary];
    while let Some(value) = left.pop() {
        match value {
            serde_json::Value::String(text) => texts.push(text.clone()),
            serde_json::Value::Array(all) => left.extend(all),
            serde_json::Value::Object(all) => left.extend(all.values()),
            _ => {}
        }
    }
    Ok(texts)
}

/// A terminal's text as pieces: a line indented by two continues the one before.
pub fn of_terminal(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for line in text.lines() {
        let goes_on = line.strip_prefix("  ").is_some_and(|rest| !rest.starts_with(' '));
        match pieces.last_mut() {
            Some(last) if goes_on => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => pieces.push(line.to_owned()),
        }
    }
    pieces
}

/// A page's text as pieces: the text between tags, titles and screen-reader labels.
pub fn of_page(page: &str) -> Vec<String> {
    let body = page.split_once("<body").map_or(page, |(_, body)| body);
    let mut pieces = Vec::new();
    for part in body.split('<') {
        let (tag, text) = part.split_once('>').unwrap_or(("", part));
        for name in ["title=\"", "aria-label=\""] {
            pieces.extend(tag.split_once(name).and_then(|(_, rest)| rest.split('"').next()).map(unescaped));
        }
        pieces.push(unescaped(text));
    }
    pieces
}

fn unescaped(text: &str) -> String {
    let mut text = text.to_owned();
    for (coded, letter) in [
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
    ] {
        text = text.replace(coded, letter);
    }
    text.replace("&#38;", "&").replace("&amp;", "&")
}

/// Markdown as pieces: paragraphs and cells.
pub fn of_markdown(text: &str) -> Vec<String> {
    let plain = text.replace('\\', "").replace("**", "");
    plain.lines().flat_map(|line| line.split(" | ").map(str::to_owned).collect::<Vec<String>>()).collect()
}
