//! The validity checks of all trials, with equal ones in one line.

use std::collections::HashMap;

use crate::report::view::Summary;
use crate::report::view::validity::{ValidityChecks, ValidityLine};
use crate::schema::reason::{Condition, Held, ValidityCheck};
use crate::schema::record::Record;
use crate::store::Run;

/// The validity checks of the last attempt of each trial. Filesystems with the same requirement share a line if it held.
pub fn of(run: &Run, summary: &Summary) -> ValidityChecks {
    let mut lines = lines(&run.current());
    let names: Vec<Condition> = lines.iter().map(|line| line.name).collect();
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
    let mut known: HashMap<_, usize> = HashMap::new();
    let mut of: HashMap<_, usize> = HashMap::new();
    for record in records {
        for check in &record.validity {
            let key = (record.scenario.as_str(), record.filesystem.as_str(), check.name);
            *of.entry(key).or_default() += 1;
            let at = *known.entry((key, check.held)).or_insert(lines.len());
            if at == lines.len() {
                lines.push(line(record, check));
            }
            let line = &mut lines[at];
            line.trials += 1;
            insert(&mut line.asked, &check.asked);
            insert(&mut line.seen, &check.seen);
        }
    }
    for line in &mut lines {
        line.of =
            of.get(&(line.workload.as_str(), line.filesystems[0].as_str(), line.name)).copied().unwrap_or(0);
    }
    lines
}

fn line(record: &Record, check: &ValidityCheck) -> ValidityLine {
    ValidityLine {
        workload: record.scenario.clone(),
        filesystems: vec![record.filesystem.clone()],
        name: check.name,
        asked: Vec::new(),
        seen: Vec::new(),
        held: check.held,
        trials: 0,
        of: 0,
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
