//! A paper as text of at most [`WIDTH`] columns.

use std::collections::BTreeMap;

use super::{Candidate, Claim, Paper, Relation, Standing, Table, Test};
use crate::schema::units::Bytes;
use crate::workloads;

pub const WIDTH: usize = 80;

/// Column at which text after a heading begins.
const INDENT: usize = 14;

/// Column at which a claim begins after its number: `  1. `.
const CLAIM: usize = 5;

impl Paper {
    /// The paper as text: authors, publication, environment, every figure and every claim.
    pub fn shown(&self) -> String {
        let mut text = format!("{}\n\n", wrapped(&format!("{}, {}", self.title, self.year), 0));
        for (head, said) in [("What", &self.story), ("Published", &self.published)] {
            text.push_str(&headed(head, said));
        }
        text.push_str("\nMeasured on\n");
        for (head, said) in self.environment.rows() {
            text.push_str(&headed(head, said.as_deref().unwrap_or("the paper does not say")));
        }
        text.push_str(&self.model.as_ref().map_or_else(String::new, |model| headed("Model", model)));
        text.push_str(&self.environment.note.as_ref().map_or_else(String::new, |note| headed("Note", note)));
        if !self.candidates.is_empty() {
            text.push_str("\nFilesystems: the name in fsderby, then the name in the paper and notes\n");
            self.candidates.iter().for_each(|candidate| text.push_str(&candidate.shown()));
        }
        self.tables.iter().for_each(|table| text.push_str(&table.shown()));
        if !self.claims.is_empty() {
            text.push_str(
                "\nBelow are the paper's claims and fsderby's tests of each claim. A claim holds if\n\
                 all its tests hold, for each metric, filesystem and workload that is named. In\n\
                 tests, the word \"about\" allows 10 % more or less.\n",
            );
        }
        self.claims.iter().enumerate().for_each(|(at, claim)| text.push_str(&claim.shown(at + 1, self)));
        text
    }
}

impl Candidate {
    fn shown(&self) -> String {
        let Candidate { name, printed, missing, note } = self;
        let printed = printed.as_ref().map(|printed| format!("in the paper \"{printed}\""));
        let missing = missing.as_ref().map(|why| format!("not in fsderby: {why}"));
        let said: Vec<String> = [printed, missing, note.clone()].into_iter().flatten().collect();
        if name.len() >= INDENT {
            return format!("{name}\n{}", headed("", &said.join("; ")));
        }
        headed(name, &said.join("; "))
    }
}

impl Table {
    fn shown(&self) -> String {
        let works: Vec<&str> = self.workloads().collect();
        let awaited: Vec<&str> =
            works.iter().filter(|work| workloads::find(work).is_none()).copied().collect();
        let at: String = dimensions(&self.at).iter().map(|dimension| format!(", {dimension}")).collect();
        let s = if works.len() == 1 { "" } else { "s" };
        let head = format!("Workload{s} {} ({}{at}, unit {}):", works.join(", "), self.place, self.unit);
        let mut text = format!("\n{}\n", wrapped(&head, 0));
        if !awaited.is_empty() {
            text.push_str(&format!(
                "{}\n",
                wrapped(&format!("fsderby does not have these workloads yet: {}.", awaited.join(", ")), 2)
            ));
        }
        text.push_str(&format!("{}\n", wrapped(&self.note, 2)));
        let unmatched =
            self.unmatched.as_ref().map(|why| format!("fsderby has no metric for these figures: {why}."));
        text.push_str(&unmatched.map_or_else(String::new, |why| format!("{}\n", wrapped(&why, 2))));
        if self.figures.is_empty() {
            return format!("{text}{}\n", wrapped(&format!("Metrics: {}", self.metrics.join(", ")), 2));
        }
        format!("{text}{}", self.aligned())
    }

    /// The figures with one line per metric and one column per candidate. Columns that do not fit follow in further tables.
    fn aligned(&self) -> String {
        let first = self.metrics.iter().map(|m| m.chars().count()).max().unwrap_or(0) + 2;
        let columns: Vec<(usize, Vec<String>)> =
            self.figures.iter().map(|(name, figures)| column(name, figures)).collect();
        let mut text = String::new();
        let mut rest = columns.as_slice();
        while !rest.is_empty() {
            let fits = |n: &usize| first + rest[..*n].iter().map(|(width, _)| width).sum::<usize>() <= WIDTH;
            let (now, later) = rest.split_at((1..=rest.len()).take_while(fits).last().unwrap_or(1));
            let heads = [String::new()].into_iter().chain(self.metrics.iter().map(|m| format!("  {m}")));
            for (at, head) in heads.enumerate() {
                let cells: String =
                    now.iter().map(|(width, cells)| format!("{:>width$}", cells[at])).collect();
                text.push_str(&format!("{head:<first$}{cells}\n"));
            }
            rest = later;
        }
        text
    }
}

/// Width and cells of a column; figures have exactly the printed digits.
fn column(name: &str, figures: &[f64]) -> (usize, Vec<String>) {
    let cells: Vec<String> =
        [name.to_owned()].into_iter().chain(figures.iter().map(f64::to_string)).collect();
    (cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0) + 2, cells)
}

impl Claim {
    fn shown(&self, number: usize, paper: &Paper) -> String {
        let said = wrapped(&format!("{} ({}).", self.says.trim_end_matches('.'), self.place), CLAIM);
        let mut text = format!("\n{number:>3}. {}\n", said.trim_start());
        let standing = self.judge(&|point| paper.printed(point));
        let by_figures = match (&self.untested, standing) {
            (Some(why), _) => format!("This claim has no test. {why}"),
            (None, Standing::NotMeasured) => {
                "The paper prints too few figures to decide whether this claim is true.".to_owned()
            }
            (None, Standing::Held) => "The paper's own figures support this claim.".to_owned(),
            (None, Standing::Contradicted) => "The paper's own figures contradict this claim.".to_owned(),
        };
        let head = |at: usize| match self.tests.len() {
            1 => "In the test of this claim,".to_owned(),
            _ => format!("In test {} of this claim,", at + 1),
        };
        let tests = self.tests.iter().enumerate();
        let mut said: Vec<String> = tests.map(|(at, test)| test.shown(&head(at), paper)).collect();
        if !self.tests.is_empty() {
            let s = if self.workloads.len() == 1 { "" } else { "s" };
            said.push(format!("This claim is tested with the workload{s} {}.", and(&self.workloads)));
        }
        said.push(by_figures);
        said.extend(self.contradicted.clone());
        said.extend(self.note.clone());
        said.iter().for_each(|line| text.push_str(&format!("{}\n", wrapped(line, CLAIM))));
        text
    }
}

impl Test {
    /// `In the test of this claim, read.throughput on ext2 must be higher than on reiserfs and xfs.`
    fn shown(&self, head: &str, paper: &Paper) -> String {
        let Test { metrics, of, than, relation, .. } = self;
        let (what, list) = match metrics.len() {
            0..4 => (and(metrics), String::new()),
            n => (format!("each of these {n} metrics"), format!(": {}", metrics.join(", "))),
        };
        let mut said = format!("{head} {what} on {}{} {relation}", and(of), with(&self.at));
        if matches!(relation, Relation::Within(_)) {
            let table = paper.tables.iter().find(|table| table.metrics.contains(&metrics[0]));
            said.push_str(&table.map_or_else(String::new, |table| format!(" {}", table.unit)));
        }
        self.than_metric.iter().for_each(|other| said.push_str(&format!(" {other}")));
        if !than.is_empty() {
            said.push_str(&format!(" on {}", and(than)));
        } else if self.has_others() {
            said.push_str(" on the same filesystem");
        }
        self.than_workload.iter().for_each(|other| said.push_str(&format!(" in the workload {other}")));
        said.push_str(&self.than_at.as_ref().map_or_else(String::new, with));
        format!("{said}{list}.")
    }
}

/// The dimensions in words: `file size 2 GiB`.
fn dimensions(at: &BTreeMap<String, String>) -> Vec<String> {
    let bytes = |text: &String| text.parse().map_or_else(|_| text.clone(), |n| Bytes(n).to_string());
    let said = |(name, value): (&String, &String)| match name.strip_suffix("_bytes") {
        Some(what) => format!("{what} size {}", bytes(value)),
        None => format!("{name} {value}"),
    };
    at.iter().map(said).collect()
}

/// ` with file size 2 GiB and record size 64 KiB`, or nothing.
fn with(at: &BTreeMap<String, String>) -> String {
    if at.is_empty() { String::new() } else { format!(" with {}", and(&dimensions(at))) }
}

/// `ext2, ext4 and xfs`.
fn and(all: &[String]) -> String {
    match all.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => all.concat(),
    }
}

/// A heading, and the text next to it.
fn headed(head: &str, said: &str) -> String {
    let text = wrapped(said, INDENT);
    format!("{head:<INDENT$}{}\n", text.trim_start())
}

/// Text on lines that begin at a column and end before [`WIDTH`].
fn wrapped(text: &str, indent: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH - indent => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| format!("{:indent$}{line}", "")).collect::<Vec<_>>().join("\n")
}
