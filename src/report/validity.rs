//! The validity checks of all trials, alike ones in one line.

use super::summary::Summary;
use crate::store::Run;
use crate::store::record::{Held, Record, ValidityCheck};

pub struct ValidityChecks {
    /// Did not hold, or held with a label.
    pub notable: Vec<ValidityLine>,
    pub held: Vec<ValidityLine>,
}

/// A validity check with the same outcome over several trials.
#[derive(Clone)]
pub struct ValidityLine {
    pub workload: String,
    pub filesystems: Vec<String>,
    pub name: String,
    /// Each once, in order.
    asked: Vec<String>,
    seen: Vec<String>,
    held: Held,
    /// With this outcome, of so many that have the validity check.
    pub trials: usize,
    pub of: usize,
}

impl ValidityLine {
    pub fn is_label(&self) -> bool {
        self.held == Held::Label
    }

    pub fn outcome(&self) -> &'static str {
        match self.held {
            Held::Yes => "held",
            Held::No => "did not hold",
            Held::Label => "held, but labelled",
        }
    }

    pub fn asked(&self) -> String {
        example(&self.asked)
    }

    pub fn seen(&self) -> String {
        example(&self.seen)
    }

    /// `stored in 2 of 6 trials: asked for 2 GiB in full, seen e.g. 1.2 GiB`
    pub fn said(&self) -> String {
        let of = super::number::count(self.of, "trial");
        format!("{} in {} of {of}: asked for {}, seen {}", self.name, self.trials, self.asked(), self.seen())
    }
}

fn example(texts: &[String]) -> String {
    match texts {
        [] => String::new(),
        [only] => only.clone(),
        [first, ..] => format!("e.g. {first}"),
    }
}

/// Of all trials whose last attempt this is. Filesystems of which the same was asked share a line where it held.
pub fn of(run: &Run, summary: &Summary) -> ValidityChecks {
    let mut lines = lines(&run.current());
    let names: Vec<String> = lines.iter().map(|line| line.name.clone()).collect();
    let place = |line: &ValidityLine| {
        let work = summary.workloads.iter().position(|w| w.label == line.workload);
        let name = names.iter().position(|name| *name == line.name);
        (work, name, summary.filesystems.iter().position(|f| line.filesystems.contains(&f.label)))
    };
    lines.sort_by_key(place);
    let (held, notable): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.held == Held::Yes);
    ValidityChecks { notable, held: together(held) }
}

/// One line for each workload, filesystem, validity check and outcome.
pub fn lines(records: &[&Record]) -> Vec<ValidityLine> {
    let mut lines: Vec<ValidityLine> = Vec::new();
    for record in records {
        for check in &record.validity {
            add(&mut lines, record, check);
        }
    }
    let same = |a: &ValidityLine, b: &ValidityLine| {
        (&a.workload, &a.filesystems, &a.name) == (&b.workload, &b.filesystems, &b.name)
    };
    let of = |line: &ValidityLine| lines.iter().filter(|l| same(l, line)).map(|l| l.trials).sum();
    let of: Vec<usize> = lines.iter().map(of).collect();
    lines.into_iter().zip(of).map(|(line, of)| ValidityLine { of, ..line }).collect()
}

fn add(lines: &mut Vec<ValidityLine>, record: &Record, check: &ValidityCheck) {
    let same = |line: &&mut ValidityLine| {
        line.workload == record.workload
            && line.filesystems[0] == record.filesystem
            && line.name == check.name
            && line.held == check.held
    };
    match lines.iter_mut().find(same) {
        Some(line) => {
            line.trials += 1;
            insert(&mut line.asked, &check.asked);
            insert(&mut line.seen, &check.seen);
        }
        None => lines.push(ValidityLine {
            workload: record.workload.clone(),
            filesystems: vec![record.filesystem.clone()],
            name: check.name.clone(),
            asked: vec![check.asked.clone()],
            seen: vec![check.seen.clone()],
            held: check.held,
            trials: 1,
            of: 0,
        }),
    }
}

fn insert(texts: &mut Vec<String>, text: &str) {
    if let Err(at) = texts.binary_search_by(|t| t.as_str().cmp(text)) {
        texts.insert(at, text.to_owned());
    }
}

fn together(lines: Vec<ValidityLine>) -> Vec<ValidityLine> {
    let mut out: Vec<ValidityLine> = Vec::new();
    for line in lines {
        let same = |o: &&mut ValidityLine| {
            (&o.workload, &o.name, &o.asked) == (&line.workload, &line.name, &line.asked)
        };
        let Some(other) = out.iter_mut().find(same) else {
            out.push(line);
            continue;
        };
        other.filesystems.extend(line.filesystems);
        line.seen.iter().for_each(|seen| insert(&mut other.seen, seen));
        other.trials += line.trials;
        other.of += line.of;
    }
    out
}
