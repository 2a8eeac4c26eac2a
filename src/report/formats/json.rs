//! JSON for programs: the summary behind the other formats, and the records.

use std::io::{self, Write};

use anyhow::Context;
use serde::Serialize;

use super::{Format, Goes};
use crate::report::Report;
use crate::report::view::imported::Imported;
use crate::report::view::{SCHEMA, Summary};
use crate::schema::finding::Verdict;
use crate::schema::machine::Machine;
use crate::schema::plan::Plan;
use crate::schema::record::Record;
use crate::text::visible::VisibleJson;

#[derive(Serialize, schemars::JsonSchema)]
pub struct Page<'r> {
    schema_version: u32,
    summary: &'r Summary,
    /// All findings, as stored with the run.
    verdict: &'r Verdict,
    plan: &'r Plan,
    machine: &'r Machine,
    /// The records in the order in which they were written, including attempts that do not count.
    trials: &'r [Record],
}

/// The JSON report of imported figures without a run.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Imports<'i> {
    schema_version: u32,
    imported: &'i [Imported],
}

impl<'i> Imports<'i> {
    pub fn of(imported: &'i [Imported]) -> Self {
        Imports { schema_version: SCHEMA, imported }
    }
}

pub struct Json;

impl Format for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn help(&self) -> &'static str {
        "Print the summary and all records as JSON instead of the text"
    }

    fn goes(&self) -> Goes {
        Goes::ToOutput
    }

    fn write(&self, report: &Report<'_>, to: &mut dyn Write) -> anyhow::Result<()> {
        let Report { run, summary } = report;
        let (plan, machine, trials) = (&run.plan, &run.machine, &run.records);
        let verdict = &summary.verdict;
        let page = Page { schema_version: SCHEMA, summary, verdict, plan, machine, trials };
        // The JSON is streamed, because a run may have a million values.
        let mut to = VisibleJson(to);
        serde_json::to_writer_pretty(&mut to, &page).map_err(io::Error::from).context("write the JSON")?;
        writeln!(to).context("write the JSON")
    }

    fn write_imported(&self, all: &[Imported], to: &mut dyn Write) -> anyhow::Result<()> {
        let mut to = VisibleJson(to);
        let page = Imports::of(all);
        serde_json::to_writer_pretty(&mut to, &page).map_err(io::Error::from).context("write the JSON")?;
        writeln!(to).context("write the JSON")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::report::examples;

    fn json(report: &Report<'_>) -> Value {
        let mut to = Vec::new();
        Json.write(report, &mut to).expect("a buffer takes everything");
        serde_json::from_slice(&to).expect("what is written is JSON")
    }

    #[test]
    fn the_json_report_holds_the_summary_and_every_record() {
        let example = examples::example();
        let all = json(&example.report());
        assert_eq!(all["trials"].as_array().map(Vec::len), Some(example.run.records.len()));
        insta::assert_json_snapshot!("heading", all["summary"]["heading"]);
        insta::assert_json_snapshot!("not_counted", all["summary"]["absent"]);
        let mut headline = all["summary"]["workloads"][0]["sections"][0]["rows"][0].clone();
        let cells = headline["cells"].as_array_mut().expect("there are filesystems");
        assert_eq!((cells.len(), cells[0]["values"].as_array().map(Vec::len)), (8, Some(6)));
        // One entry of each list shows the shape of the JSON.
        cells.truncate(1);
        cells[0]["values"].as_array_mut().expect("there are rounds").truncate(1);
        insta::assert_json_snapshot!("a_metric", headline);
    }
}
