//! Stored records: what is altered is found, and whatever stands in one whose checksum fits, it is read as it was written,
//! judged, and shown in every format.

use std::collections::BTreeSet;

use fsderby::report::Report;
use fsderby::report::formats;
use fsderby::report::formats::terminal::{self, Detail};
use fsderby::runner::verify::{rerun, verify};
use fsderby::schema::record::Record;
use fsderby::store::Run;
use fsderby::store::lines::{self, Line};

use crate::engine::{Target, USUAL, has_words};
use crate::runs::{self, Stored};

#[test]
fn an_altered_record_is_found_and_any_other_is_judged_and_shown() {
    target().run();
}

pub fn target() -> Target {
    let stored: Vec<Stored> = runs::plans().into_iter().map(Stored::of).collect();
    let seeds: Vec<Vec<u8>> = stored.iter().map(|run| run.lines.clone().into_bytes()).collect();
    let genuine: BTreeSet<String> =
        stored.iter().flat_map(|run| run.lines.lines()).map(str::to_owned).collect();
    let words = runs::words(&seeds);
    let check = move |input: &[u8]| {
        let text = String::from_utf8_lossy(input);
        for line in text.lines() {
            is_found_if_altered(line, &genuine);
        }
        let of =
            |run: &&Stored| run.plan.workloads.iter().any(|work| text.contains(&format!("/{}/", work.label)));
        let stored = stored.iter().find(of).unwrap_or(&stored[0]);
        let run = stored.with(&resealed(&text, &stored.first));
        run.damage.iter().for_each(|what| has_words(what));
        run.records.iter().for_each(is_read_as_written);
        judge_and_show(&run, crc32fast::hash(input) as usize);
    };
    Target { name: "record", seeds, words, inputs: 250, limits: USUAL, check: Box::new(check) }
}

fn is_found_if_altered(line: &str, genuine: &BTreeSet<String>) {
    if let Line::Sound(..) = lines::read(line) {
        assert!(genuine.contains(line), "passes for sound: {line}");
    }
}

/// The same lines with checksums that fit, as a forger would write them.
fn resealed(text: &str, first: &str) -> String {
    let (mut previous, mut all) = (first.to_owned(), String::new());
    for line in text.lines() {
        let open = line.rsplit_once(",\"crc32\"").map_or(line.trim_end_matches('}'), |(open, _)| open);
        let open = match open.rsplit_once(",\"previous\":\"") {
            Some((head, _)) => format!("{head},\"previous\":\"{previous}\""),
            None => open.to_owned(),
        };
        previous = format!("{:08x}", crc32fast::hash(open.as_bytes()));
        all += &format!("{open},\"crc32\":\"{previous}\"}}\n");
    }
    all
}

fn is_read_as_written(record: &Record) {
    let (line, sum) = lines::write(record).unwrap();
    match lines::read(&line) {
        Line::Sound(read, with) => assert_eq!((&*read, with), (record, sum)),
        other => panic!("what is written is read as {other:?}"),
    }
}

fn judge_and_show(run: &Run, way: usize) {
    assert!(verify(run).wrong.iter().all(|what| !what.is_empty()));
    assert!(run.current().len() <= run.records.len());
    assert!(rerun::candidates(run).len() <= run.records.len());
    for record in &run.records {
        let _ = (record.why(), record.fingerprint(), record.sampled());
    }
    let report = Report::of(run);
    // One way to show it a time: together they take longer than all else.
    if let Some(format) = formats::TABLE.get(way % (formats::TABLE.len() + 1)) {
        if format.goes() == formats::Goes::IntoFolder {
            let files = format.files(&report);
            return files.iter().for_each(|file| is_of_its_format(format.name(), &file.svg));
        }
        let mut text = Vec::new();
        format.write(&report, &mut text).unwrap();
        return is_of_its_format(format.name(), &String::from_utf8(text).expect("formats are text"));
    }
    for (width, detail) in [(80, Detail::Glance), (40, Detail::Everything)] {
        assert!(!terminal::text(&report, width, detail).is_empty());
    }
}

fn is_of_its_format(name: &str, text: &str) {
    match name {
        "json" => drop(serde_json::from_str::<serde_json::Value>(text).expect("it is JSON")),
        "html" => assert!(!text.contains("<script>alert") && text.trim_end().ends_with("</html>")),
        "svg" => assert!(!text.contains("<script") && text.trim_end().ends_with("</svg>")),
        "csv" | "csv-trials" => {
            assert!(csv::Reader::from_reader(text.as_bytes()).records().all(|row| row.is_ok()))
        }
        _ => {}
    }
}
