//! Each chart of the report as a separate SVG file: no script, only the reader's sans-serif font, on white or in the reader's
//! dark setting.
//!
//! The HTML report's charts take colours and widths from their page; the charts of this module stand alone, for slides and papers.
//! There is no PNG output, because it would depend on the machine's fonts; use `rsvg-convert`, Inkscape or a browser.

mod bars;
mod canvas;
mod heat;
mod over_time;
mod plane;
mod ratios;
pub mod rounds;
mod tails;
#[cfg(test)]
mod xml;

use std::collections::BTreeSet;
use std::io::Write;

pub use self::canvas::Theme;
pub use self::ratios::{Panel, stacked};
use super::{Format, Goes};
use crate::report::Report;
use crate::report::view::entry::Entry;
use crate::report::view::heat_map;
use crate::report::view::workload::WorkloadSummary;

/// A file's name and text.
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
        "Write each picture as an SVG file into a new folder: comparisons, headline metrics, heat maps, \
         latencies, throughput over time, speed against CPU time"
    }

    fn goes(&self) -> Goes {
        Goes::IntoFolder
    }

    fn write(&self, _report: &Report<'_>, _to: &mut dyn Write) -> anyhow::Result<()> {
        anyhow::bail!("--svg writes several files, so it needs a folder\n  try: --svg FOLDER")
    }

    fn files(&self, report: &Report<'_>) -> Vec<Picture> {
        let summary = &report.summary;
        let mut named: Vec<(String, String)> =
            summary.workloads.iter().flat_map(|work| of_work(work, &summary.filesystems)).collect();
        if let Some(overall) = &summary.overall {
            let panel = Panel {
                title: "Geometric mean of all headline metrics (no finding)".to_owned(),
                comparison: overall,
            };
            let drawn = stacked(&[panel], &summary.filesystems, Theme::Readers);
            named.extend(drawn.map(|svg| ("overall".to_owned(), svg)));
        }
        for plane in &summary.planes {
            let name = format!("{}-{}-cpu", plane.workload, plane.speed.metric);
            named.push((name, plane::of(plane, &summary.filesystems)));
        }
        let mut known = BTreeSet::new();
        named.into_iter().map(|(name, svg)| Picture { name: unique(&name, &mut known), svg }).collect()
    }
}

/// The charts with their names.
fn of_work(work: &WorkloadSummary, entries: &[Entry]) -> Vec<(String, String)> {
    let label = &work.label;
    let mut named: Vec<(String, Option<String>)> = Vec::new();
    for comparison in &work.comparisons {
        let title = format!("{label}: {}", comparison.title);
        let drawn = stacked(&[Panel { title, comparison }], entries, Theme::Readers);
        named.push((format!("{label}-{}-ratios", comparison.metric), drawn));
    }
    for row in work.headlines() {
        named.push((format!("{label}-{}", row.name), bars::of(label, row, entries)));
    }
    for map in work.sections.iter().flat_map(|section| heat_map::of(&section.rows)) {
        let of = if map.work.is_empty() { String::new() } else { format!("{}-", map.work) };
        named.push((format!("{label}-{of}{}-heat-map", map.title), heat::of(label, &map)));
    }
    for latency in &work.latencies {
        let of = if latency.work.is_empty() { String::new() } else { format!("{}-", latency.work) };
        let name = format!("{label}-{of}{}-{}-latency", latency.phase, latency.operation);
        named.push((name, tails::of(label, latency, entries)));
    }
    for courses in &work.over_time {
        let of = if courses.work.is_empty() { String::new() } else { format!("-{}", courses.work) };
        named.push((format!("{label}{of}-over-time"), over_time::of(label, courses, entries)));
    }
    named.into_iter().filter_map(|(name, svg)| Some((name, svg?))).collect()
}

/// A unique file name, of letters that every filesystem accepts.
fn unique(name: &str, known: &mut BTreeSet<String>) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' })
        .collect();
    let parts: Vec<&str> = plain.split('-').filter(|part| !part.is_empty()).collect();
    let plain: String = parts.join("-").trim_start_matches(['.', '-']).chars().take(80).collect();
    let plain = if plain.is_empty() { "picture".to_owned() } else { plain };
    let mut names = std::iter::once(plain.clone()).chain((2..).map(|n| format!("{plain}-{n}")));
    let free = names.find(|name| known.insert(name.clone())).unwrap_or_default();
    format!("{free}.svg")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::over_time::{Course, OverTime, Stall};
    use crate::report::examples::{self, Example, verdict};
    use crate::report::view::row::Row;

    /// The example with readings over time, and with a metric over two sizes.
    fn with_all(example: &Example) -> Report<'_> {
        let mut report = example.judged(verdict::over_rounds(12), None);
        let work = &mut report.summary.workloads[0];
        let stall = Stall { round: 2, from_s: 0.5, seconds: 0.4, from: 0.25, to: 0.45 };
        let course = |label: &str, stall| Course {
            filesystem: label.into(),
            n: 12,
            rates: vec![10.0, 0.0, 5.0, 20.0],
            seconds: 2.0,
            stall,
        };
        let rows = vec![course("cedarfs", None), course("birchfs", Some(stall))];
        work.over_time = vec![OverTime { work: String::new(), rows }];
        let first = work.rows().find(|row| row.name == "write.throughput").unwrap().clone();
        let cell = |file: u64, record: u64| Row {
            name: "write.throughput".into(),
            headline: false,
            quantities: vec![("file_bytes".into(), file), ("record_bytes".into(), record)],
            ..first.clone()
        };
        work.sections[1].rows.extend([cell(1 << 20, 4096), cell(1 << 20, 8192), cell(1 << 30, 4096)]);
        report
    }

    #[test]
    fn each_picture_is_a_file_that_stands_alone() {
        let example = examples::rounds(12);
        let pictures = Svg.files(&with_all(&example));
        let names: Vec<&str> = pictures.iter().map(|picture| picture.name.as_str()).collect();
        for name in [
            "letters-quick-transactions.rate-ratios.svg",
            "letters-quick-transactions.rate.svg",
            "letters-quick-transactions.rate-cpu.svg",
            "letters-quick-over-time.svg",
            "letters-quick-write-all-phases-heat-map.svg",
            "letters-quick-transactions-create-latency.svg",
        ] {
            assert!(names.contains(&name), "{name} is not among {names:?}");
        }
        for Picture { name, svg } in &pictures {
            assert!(svg.starts_with("<svg xmlns="), "{name}");
            assert_eq!(xml::mistake(svg), None, "{name}");
            assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("<desc></desc>"), "{name}");
            assert!(svg.contains("<title>") && svg.contains("prefers-color-scheme: dark"), "{name}");
            let described =
                svg.split_once("<desc>").and_then(|(_, rest)| rest.split_once("</desc>")).unwrap().0;
            for label in ["cedarfs", "birchfs"] {
                assert!(described.contains(label) && svg.matches(label).count() > 1, "{name} names {label}");
            }
        }
    }

    /// The rules for a dark page contain the class of each shape, unless the shape has the same colour on a dark page.
    #[test]
    fn on_a_dark_page_every_colour_that_must_change_does() {
        let example = examples::rounds(12);
        for Picture { name, svg } in Svg.files(&with_all(&example)) {
            let (head, body) = svg.split_once("</style>").unwrap();
            assert!(
                head.contains(".f-page { fill: #14181c; }") && body.contains("class=\"f-page\""),
                "{name}"
            );
            for tag in body.split('<').filter(|tag| tag.contains("fill=\"#") || tag.contains("stroke=\"#")) {
                let class =
                    tag.split_once("class=\"").and_then(|(_, rest)| rest.split_once('"')).map(|c| c.0);
                let class = class.unwrap_or_else(|| panic!("{name}: no class in <{tag}"));
                for dark in ["#1c2126", "#5a646e", "#dfe3e6", "#ffffff", "#6b7280", "#882255", "#0072b2"] {
                    let has = |what: &str| tag.contains(&format!("{what}=\"{dark}\""));
                    let ruled = |what: &str| {
                        class
                            .split(' ')
                            .any(|class| class.starts_with(what) && head.contains(&format!(".{class} {{")))
                    };
                    assert!(!has("fill") || ruled("f-"), "{name}: {tag}");
                    assert!(!has("stroke") || ruled("s-"), "{name}: {tag}");
                }
            }
        }
    }

    #[test]
    fn a_picture_within_a_white_page_stays_white() {
        let example = examples::rounds(12);
        let report = with_all(&example);
        let comparison = &report.summary.workloads[0].comparisons[0];
        let panel = || Panel { title: "a".into(), comparison };
        let drawn = |theme| stacked(&[panel()], &report.summary.filesystems, theme).unwrap();
        assert!(!drawn(Theme::White).contains("<style>") && drawn(Theme::Readers).contains("<style>"));
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
        assert!(pictures.iter().all(|picture| xml::mistake(&picture.svg).is_none()));
        let mut known = BTreeSet::new();
        assert_eq!(
            ["a/b", "a b", "..."].map(|name| unique(name, &mut known)),
            ["a-b.svg", "a-b-2.svg", "picture.svg"]
        );
    }
}
