//! A paper as text of at most [`WIDTH`] columns.

use super::{Candidate, Claim, Paper, Standing, Table, Test};
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
                "\nBelow are the paper's claims, each with fsderby's tests of it. A test \"on a, b\n\
                 each figure is higher than on c, d\" holds if the figures of a and of b are both\n\
                 higher than those of c and of d, in each metric and workload of the test.\n",
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
        let at: String = self.at.iter().map(|(name, value)| format!(", {name} {value}")).collect();
        let mut text = format!(
            "\n{}\n",
            wrapped(&format!("Workload {} ({}){at}, unit {}", works.join(", "), self.place, self.unit), 0)
        );
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
        let said = wrapped(&format!("{} ({})", self.says, self.place), CLAIM);
        let mut text = format!("\n{number:>3}. {}\n", said.trim_start());
        let standing = self.judge(&|point| paper.printed(point));
        let by_figures = match (&self.untested, standing) {
            (Some(why), _) => format!("fsderby has no test of this claim. {why}"),
            (None, Standing::NotMeasured) => {
                "The paper prints too few figures to decide whether this claim is true.".to_owned()
            }
            (None, Standing::Held) => "The paper's own figures support this claim.".to_owned(),
            (None, Standing::Contradicted) => "The paper's own figures contradict this claim.".to_owned(),
        };
        let mut said: Vec<String> = self.tests.iter().map(Test::shown).collect();
        if !self.tests.is_empty() {
            said.push(format!("Workloads of the test: {}.", self.workloads.join(", ")));
        }
        said.push(by_figures);
        said.extend(self.contradicted.clone());
        said.extend(self.note.clone());
        said.iter().for_each(|line| text.push_str(&format!("{}\n", wrapped(line, CLAIM))));
        text
    }
}

impl Test {
    fn shown(&self) -> String {
        let Test { metrics, of, than, relation, .. } = self;
        let mut said = format!(
            "Test of {}{}: on {} each figure {relation}",
            metrics.join(", "),
            dimensions(&self.at),
            of.join(", ")
        );
        if !than.is_empty() {
            said.push_str(&format!(" {}", than.join(", ")));
        } else if self.has_others() {
            said.push_str(" the same filesystem");
        }
        let elsewhere = [self.than_workload.as_ref(), self.than_metric.as_ref()];
        elsewhere.into_iter().flatten().for_each(|other| said.push_str(&format!(" in {other}")));
        said.push_str(&self.than_at.as_ref().map_or_else(String::new, dimensions));
        said + "."
    }
}

/// The dimensions in brackets: ` (file_bytes 1024)`.
fn dimensions(at: &std::collections::BTreeMap<String, String>) -> String {
    let all: Vec<String> = at.iter().map(|(name, value)| format!("{name} {value}")).collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join(", ")) }
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
