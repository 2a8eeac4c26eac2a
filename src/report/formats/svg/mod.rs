//! Each picture of the report as an SVG file of its own: no style sheet, no script, no font but the reader's sans-serif, black on white.
//!
//! The pictures of the HTML report take their colours and widths from the page around them; these stand alone, for slides and papers.

mod bars;
mod canvas;
mod plane;
mod ratios;

use std::collections::BTreeSet;
use std::io::Write;

pub use self::ratios::{Panel, stacked};
use super::{Format, Goes};
use crate::report::Report;

/// A file's name and its text.
pub struct Picture {
    pub name: String,
    pub svg: String,
}

pub struct Svg;

impl Format for Svg {
    fn name(&self) -> &'static str {
        "svg"
    }

    fn help(&self) -> &'static str {
        "Write each comparison, headline metric and speed-CPU plane as an SVG file into a new folder"
    }

    fn goes(&self) -> Goes {
        Goes::IntoFolder
    }

    fn write(&self, _report: &Report<'_>, _to: &mut dyn Write) -> anyhow::Result<()> {
        anyhow::bail!("--svg writes several files, so it needs a folder\n  try: --svg FOLDER")
    }

    fn files(&self, report: &Report<'_>) -> Vec<Picture> {
        let summary = &report.summary;
        let mut named: Vec<(String, String)> = Vec::new();
        for work in &summary.workloads {
            for comparison in &work.comparisons {
                let title = format!("{}: {}", work.label, comparison.title);
                let drawn = stacked(&[Panel { title, comparison }], &summary.filesystems);
                named.extend(drawn.map(|svg| (format!("{}-{}-ratios", work.label, comparison.metric), svg)));
            }
            for row in work.headlines() {
                let drawn = bars::of(&work.label, row, &summary.filesystems);
                named.extend(drawn.map(|svg| (format!("{}-{}", work.label, row.name), svg)));
            }
        }
        if let Some(overall) = &summary.overall {
            let panel = Panel {
                title: "Geometric mean of all headline metrics (no finding)".to_owned(),
                comparison: overall,
            };
            named.extend(stacked(&[panel], &summary.filesystems).map(|svg| ("overall".to_owned(), svg)));
        }
        for plane in &summary.planes {
            let name = format!("{}-{}-cpu", plane.workload, plane.speed.metric);
            named.push((name, plane::of(plane, &summary.filesystems)));
        }
        let mut known = BTreeSet::new();
        named.into_iter().map(|(name, svg)| Picture { name: unique(&name, &mut known), svg }).collect()
    }
}

/// A file's name that no other picture has, of letters that every filesystem takes.
fn unique(name: &str, known: &mut BTreeSet<String>) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' })
        .collect();
    let plain: String = plain.trim_start_matches(['.', '-']).chars().take(80).collect();
    let plain = if plain.is_empty() { "picture".to_owned() } else { plain };
    let mut names = std::iter::once(plain.clone()).chain((2..).map(|n| format!("{plain}-{n}")));
    let free = names.find(|name| known.insert(name.clone())).unwrap_or_default();
    format!("{free}.svg")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples::{self, verdict};

    #[test]
    fn each_picture_is_a_file_that_stands_alone() {
        let example = examples::rounds(12);
        let pictures = Svg.files(&example.judged(verdict::over_rounds(12), None));
        let names: Vec<&str> = pictures.iter().map(|picture| picture.name.as_str()).collect();
        assert!(names.contains(&"letters-quick-transactions.rate-ratios.svg"), "{names:?}");
        assert!(
            names.contains(&"letters-quick-transactions.rate.svg")
                && names.contains(&"letters-quick-transactions.rate-cpu.svg")
        );
        for Picture { name, svg } in &pictures {
            assert!(svg.starts_with("<svg xmlns=") && svg.trim_end().ends_with("</svg>"), "{name}");
            assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count(), "{name}");
            assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("class="), "{name}");
            for label in ["cedarfs", "birchfs"] {
                assert!(svg.contains(label), "{name} names {label}");
            }
        }
    }

    #[test]
    fn a_label_is_no_markup_and_a_name_no_path() {
        let mut example = examples::rounds(12);
        example
            .run
            .plan
            .scenarios
            .iter_mut()
            .for_each(|s| s.label = s.label.replace("letters-quick", "../a/<b>"));
        for record in &mut example.run.records {
            record.scenario = record.scenario.replace("letters-quick", "../a/<b>");
        }
        let pictures = Svg.files(&example.report());
        assert!(pictures.iter().all(|picture| !picture.svg.contains("<b>") && !picture.name.contains('/')));
        assert!(pictures.iter().any(|picture| picture.svg.contains("&lt;b&gt;")));
        let mut known = BTreeSet::new();
        assert_eq!(
            ["a/b", "a b", "..."].map(|name| unique(name, &mut known)),
            ["a-b.svg", "a-b-2.svg", "picture.svg"]
        );
    }
}
