//! The validity checks of all trials, alike ones in one line.

use crate::report::view::Summary;
use crate::report::view::validity::{ValidityChecks, ValidityLine};
use crate::schema::reason::{Condition, Held, ValidityCheck};
use crate::schema::record::Record;
use crate::store::Run;

/// Of all trials whose last attempt this is. Filesystems of which the same was asked share a line where it held.
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
        line.workload == record.scenario
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
            workload: record.scenario.clone(),
            filesystems: vec![record.filesystem.clone()],
            name: check.name,
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
