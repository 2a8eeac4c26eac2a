//! Tests a property: in every format each figure of a work stands below the name of that work, whatever works a scenario has.

use anstream::adapter::strip_str;

use super::terminal::{self, Detail};
use super::{Goes, TABLE};
use crate::report::Report;
use crate::report::examples::works::{self, Own};
use crate::report::view::number::{duration, grouped};

const SEEDS: u64 = 6;

/// All texts of a report, with their names.
fn texts(report: &Report<'_>) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for format in TABLE {
        match format.goes() {
            // The file name of a picture serves as its heading.
            Goes::IntoFolder => all.extend(
                format
                    .files(report)
                    .into_iter()
                    .map(|file| (file.name.clone(), format!("{}\n{}", file.name, file.svg))),
            ),
            _ => {
                let mut to = Vec::new();
                format.write(report, &mut to).expect("a buffer takes everything");
                all.push((format.name().to_owned(), String::from_utf8(to).expect("formats are text")));
            }
        }
    }
    for (width, detail) in
        [(80, Detail::Glance), (110, Detail::Glance), (200, Detail::Glance), (80, Detail::Everything)]
    {
        let text = strip_str(&terminal::text(report, width, detail)).to_string();
        all.push((format!("terminal, {width} columns, {detail:?}"), text));
    }
    all
}

/// The forms in which a latency may be printed.
fn printed(ns: u64) -> [String; 3] {
    [duration(ns), grouped(&(ns / 1000).to_string()), ns.to_string()]
}

/// The positions where a number stands alone and is not part of a longer number.
fn places(text: &str, number: &str) -> Vec<usize> {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit() || c == ',' || c == '.');
    let alone = |at: &usize| {
        let rest = &text[*at + number.len()..];
        // In `3,017,000` another group of digits follows, so this is part of a longer number.
        let rest = if number.contains(',') { rest.trim_start_matches(',') } else { rest };
        !is_part(text[..*at].chars().next_back()) && !rest.starts_with(|c: char| c.is_ascii_digit())
    };
    text.match_indices(number).map(|(at, _)| at).filter(alone).collect()
}

fn around(text: &str, at: usize) -> &str {
    let begin = text[..at].char_indices().rev().nth(400).map_or(0, |(at, _)| at);
    &text[begin..at]
}

/// The work whose name stands last before this place.
fn last_named<'w>(text: &str, at: usize, works: &'w [Own]) -> Option<&'w str> {
    let last =
        works.iter().filter_map(|work| Some((text[..at].rfind(work.name.as_str())?, work.name.as_str())));
    last.max_by_key(|(at, _)| *at).map(|(_, name)| name)
}

#[test]
fn every_latency_stands_below_its_own_work_in_every_format() {
    let mut found = 0;
    for seed in 0..SEEDS {
        let (example, works) = works::of(seed);
        let report = example.report();
        for (name, text) in texts(&report) {
            for work in &works {
                for (label, ns) in &work.latencies_ns {
                    for number in printed(*ns) {
                        for at in places(&text, &number) {
                            let owner = last_named(&text, at, &works);
                            assert_eq!(
                                owner,
                                Some(work.name.as_str()),
                                "seed {seed}, {name}: {number} of {label} belongs to {}: …{}",
                                work.name,
                                around(&text, at)
                            );
                            found += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(found > 1000, "{found} latencies were found");
}

#[test]
fn a_work_without_fsync_has_no_fsync_column_and_each_other_has_its_own() {
    for seed in 0..SEEDS {
        let (example, works) = works::of(seed);
        let report = example.report();
        let text = strip_str(&terminal::text(&report, 200, Detail::Glance)).to_string();
        for work in &works {
            let (_, ns) = &work.latencies_ns[0];
            let is_shown = !places(&text, &duration(*ns)).is_empty();
            assert_eq!(is_shown, work.operation == "fsync", "seed {seed}, {}:\n{text}", work.name);
        }
    }
}

#[test]
fn no_two_columns_of_a_table_have_one_heading() {
    for seed in 0..SEEDS {
        let (example, _) = works::of(seed);
        let report = example.report();
        let markdown = TABLE.iter().find(|format| format.name() == "markdown").expect("a format");
        let mut to = Vec::new();
        markdown.write(&report, &mut to).expect("a buffer takes everything");
        let text = String::from_utf8(to).expect("formats are text");
        let lines: Vec<&str> = text.lines().collect();
        let headers = lines.windows(2).filter(|pair| pair[1].starts_with("| :--"));
        let mut tables = 0;
        for header in headers.map(|pair| pair[0]).filter(|header| header.contains("device ÷ written")) {
            let mut titles: Vec<&str> = header.trim_matches('|').split(" | ").map(str::trim).collect();
            let all = titles.len();
            titles.sort_unstable();
            titles.dedup();
            assert_eq!(titles.len(), all, "seed {seed}: {header}");
            tables += 1;
        }
        assert!(tables > 0, "seed {seed}");
    }
}
