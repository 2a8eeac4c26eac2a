//! The formats of a report: one trait, one table.

mod csv;
pub mod html;
pub mod json;
pub mod junit;
pub mod lines;
pub mod markdown;
#[cfg(test)]
mod owners;
mod summary;
pub mod svg;
mod tables;
pub mod terminal;
mod trials_csv;

use std::io::Write;
use std::path::Path;

use super::Report;
use super::view::imported::Imported;

/// Every format that has an option. The default output is [`terminal`].
pub static TABLE: &[&dyn Format] = &[
    // Keep one format per line.
    &html::Html,
    &summary::Summary,
    &markdown::Markdown,
    &csv::Csv,
    &trials_csv::TrialsCsv,
    &svg::Svg,
    &json::Json,
];

pub trait Format: Sync {
    /// The option of `fsderby report`: `html`.
    fn name(&self) -> &'static str;
    /// The option's help text.
    fn help(&self) -> &'static str;
    fn goes(&self) -> Goes;
    fn write(&self, report: &Report<'_>, to: &mut dyn Write) -> anyhow::Result<()>;
    /// Writes the form that belongs to the file's name, if the format has several forms.
    fn write_as(&self, report: &Report<'_>, _how: &How<'_>, to: &mut dyn Write) -> anyhow::Result<()> {
        self.write(report, to)
    }
    /// Checks, before anything is written, whether the format has a form for this file name.
    fn accepts(&self, _path: &Path) -> anyhow::Result<()> {
        Ok(())
    }
    /// The files of a format that writes a folder.
    fn files(&self, _report: &Report<'_>) -> Vec<svg::Picture> {
        Vec::new()
    }
    /// Imported figures alone, without a run.
    fn write_imported(&self, _all: &[Imported], _to: &mut dyn Write) -> anyhow::Result<()> {
        anyhow::bail!(
            "--{option} shows imported figures only together with a run\n  try: --beside",
            option = self.name()
        )
    }
}

/// How a file is written.
#[derive(Clone, Copy, Debug)]
pub struct How<'p> {
    /// `-` is standard output.
    pub path: &'p Path,
    /// Whether only ASCII characters are written.
    pub ascii: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goes {
    /// Writes into the file given by `--NAME FILE`.
    IntoFile,
    /// Writes several files into the folder given by `--NAME FOLDER`.
    IntoFolder,
    /// Writes to standard output with `--NAME`, instead of the tables for a terminal.
    ToOutput,
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::terminal::Detail;
    use super::*;
    use crate::report::examples::letters::SEALING;
    use crate::report::examples::{self, Example, published, verdict};
    use crate::report::view::published::Beside;

    fn written(format: &dyn Format, report: &Report<'_>) -> String {
        let mut to = Vec::new();
        format.write(report, &mut to).expect("a buffer takes everything");
        String::from_utf8(to).expect("formats are text")
    }

    #[test]
    fn a_new_workloads_metrics_stand_in_their_sections_with_their_words() {
        let example = examples::example();
        let report = example.report();
        let titles: Vec<&str> = report.summary.workloads[0].sections.iter().map(|s| s.title).collect();
        assert_eq!(titles[..4], ["Headline", SEALING, "Files", "Throughput"]);
        let own = &report.summary.workloads[0].sections[1];
        assert_eq!(
            (own.note, own.rows[0].title.as_str()),
            ("Every letter is sealed.", "sealing (phase seal)")
        );
        assert!(written(&html::Html, &report).contains("title=\"Time to seal all letters.\""));
        let footnote = "seal: Time to seal all letters.";
        assert!(terminal::text(&report, 200, Detail::Glance).contains(footnote));
        assert!(written(&markdown::Markdown, &report).contains(footnote));
        assert!(!titles.contains(&"Other"), "{titles:?}");
    }

    /// The section of a paper's figures, up to the text `end`.
    fn section(text: &str, end: &str) -> String {
        let (_, rest) = text.split_once(Beside::TITLE.trim_start_matches('C')).expect("there is a section");
        rest.split(end).next().unwrap_or_default().trim().to_owned()
    }

    fn in_terminal(example: &Example, width: u16) -> String {
        let text = terminal::text(&example.report(), width, Detail::Glance);
        section(&strip_str(&text).to_string(), "\n\nletters-in-memory")
    }

    #[test]
    fn a_paper_stands_beside_the_run_in_every_format() {
        let example = published::on_loop();
        let narrow = in_terminal(&example, 80);
        assert!(narrow.lines().all(|line| line.chars().count() <= 80));
        insta::assert_snapshot!("terminal", narrow);
        insta::assert_snapshot!(
            "markdown",
            section(&written(&markdown::Markdown, &example.report()), "\n## ")
        );
        let json = written(&json::Json, &example.report());
        let all: serde_json::Value = serde_json::from_str(&json).expect("what is written is JSON");
        let beside = &all["summary"]["workloads"][0]["published"];
        assert_eq!(beside["tables"][0]["table"]["workload"], published::SET);
        insta::assert_json_snapshot!("json_line", beside["tables"][0]["lines"][0]);
        assert!(all["summary"]["workloads"][1].get("published").is_none());
    }

    #[test]
    fn at_a_glance_a_paper_of_many_tables_has_its_first() {
        let example = published::in_many_tables();
        let tables = |detail| {
            let text = strip_str(&terminal::text(&example.report(), 200, detail)).to_string();
            (text.matches("in this run, the averages of").count(), text.contains(" more tables of this work"))
        };
        let (first, says_more) = tables(Detail::Glance);
        let (all, says_all) = tables(Detail::Everything);
        assert!(first > 0 && all > first && says_more && !says_all, "{first} of {all}");
    }

    #[test]
    fn what_to_choose_stands_in_every_format() {
        let example = examples::needs::stated();
        let report = example.judged(verdict::over_rounds(12), None);
        let text = strip_str(&terminal::text(&report, 80, Detail::Glance)).to_string();
        let (_, section) = text.split_once("\nRecommendation\n").expect("there is a section");
        let section = section.split("\nNot counted").next().unwrap_or_default();
        assert!(section.lines().all(|line| line.chars().count() <= 80), "{section}");
        insta::assert_snapshot!("choosing_terminal", section);
        let markdown = written(&markdown::Markdown, &report);
        let (_, section) = markdown.split_once("## Recommendation\n").expect("there is a section");
        insta::assert_snapshot!(
            "choosing_markdown",
            section.split("## Not counted").next().unwrap_or_default()
        );
        let all: serde_json::Value =
            serde_json::from_str(&written(&json::Json, &report)).expect("what is written is JSON");
        let mut found = all["summary"]["recommendation"].clone();
        assert_eq!(found["choice"]["filesystem"], found["ranking"][0]["filesystem"]);
        let needs = found["needs"].as_array_mut().expect("there are needs");
        // One entry of each list shows the shape of the JSON.
        needs.truncate(1);
        needs[0]["judged_by"][0]["figures"].as_array_mut().expect("there are figures").truncate(1);
        found["ranking"].as_array_mut().expect("there is a ranking").truncate(1);
        found["ruled_out"].as_array_mut().expect("some are ruled out").truncate(1);
        insta::assert_json_snapshot!("choosing_json", found);
    }

    /// Puts terminal control sequences into every text that a foreign run may contain.
    fn hostile() -> Example {
        const STEERS: &str = "x\u{1b}]0;y\u{7}\u{9b}2J\u{7f}\u{202e}z\u{2066}\r\0\n```\n";
        let mut example = examples::example();
        let run = &mut example.run;
        let rename = |label: &mut String| *label += STEERS;
        run.plan.candidates.iter_mut().for_each(|c| rename(&mut c.label));
        run.plan.candidates[1].variant.mkfs = vec![STEERS.into()];
        run.plan.candidates[2].variant.mount = vec![STEERS.into()];
        run.plan.workloads[0].work.parameters.insert(STEERS.into(), STEERS.into());
        for text in [&mut run.plan.name, &mut run.plan.analysis, &mut run.plan.testbed] {
            text.push_str(STEERS);
        }
        let texts =
            run.machine.setups.iter_mut().flat_map(|s| [&mut s.kernel, &mut s.cpu, &mut s.disk.model]);
        texts.for_each(|text| text.push_str(STEERS));
        for record in &mut run.records {
            rename(&mut record.filesystem);
            if let Some(crate::schema::reason::Reason::Skipped { text }) = &mut record.reason {
                text.push_str(STEERS);
            }
            let texts = record.metrics.iter_mut().flat_map(|m| m.dimensions.values_mut());
            texts.for_each(|text| text.push_str(STEERS));
        }
        run.damage.push(STEERS.into());
        run.torn.push(STEERS.into());
        run.folder.push(STEERS);
        example
    }

    #[test]
    fn no_text_of_a_run_steers_a_terminal_in_any_format() {
        let example = hostile();
        let report = example.report();
        let steers = |c: &char| *c != '\n' && (c.is_control() || "\u{202e}\u{2066}".contains(*c));
        for format in TABLE {
            let text = match format.goes() {
                Goes::IntoFolder => format.files(&report).into_iter().map(|file| file.svg).collect(),
                _ => written(*format, &report),
            };
            assert_eq!(text.chars().find(steers), None, "{}", format.name());
            assert!(text.contains(r"\u{1b}]0;y") || text.contains(r"\u001b]0;y"), "{}", format.name());
        }
        for detail in [Detail::Glance, Detail::Everything] {
            let text = strip_str(&terminal::text(&report, 80, detail)).to_string();
            assert_eq!(text.chars().find(steers), None, "{text}");
            assert!(text.contains(r"\u{1b}]0;y"), "stripping alone would hide what was there");
        }
        let fences = written(&markdown::Markdown, &report).lines().filter(|l| l.starts_with("```")).count();
        assert_eq!(fences, 4, "no command ends its block early");
    }

    #[test]
    fn a_narrow_terminal_gets_a_table_for_each_metric() {
        let example = published::on_loop();
        let [narrow, wide] = [52, 200].map(|width| in_terminal(&example, width));
        assert_eq!(narrow.matches("here ÷").count(), 2);
        assert_eq!(wide.lines().filter(|line| line.contains("here ÷")).count(), 1);
    }
}
