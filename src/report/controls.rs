//! The controls of all trials, alike ones in one line.

use super::summary::Summary;
use crate::store::Run;
use crate::store::record::{Control, Held, Record};

pub struct Controls {
    /// Did not hold, or held with a label.
    pub notable: Vec<ControlLine>,
    pub held: Vec<ControlLine>,
}

/// A control with the same answers over several trials.
pub struct ControlLine {
    pub workload: String,
    pub filesystem: String,
    pub name: String,
    pub asked: String,
    pub seen: Vec<String>,
    pub held: &'static str,
    pub trials: usize,
}

pub fn of(run: &Run, summary: &Summary) -> Controls {
    let mut lines: Vec<ControlLine> = Vec::new();
    for record in run.current() {
        for control in &record.controls {
            add(&mut lines, record, control);
        }
    }
    let place = |line: &ControlLine| {
        let work = summary.workloads.iter().position(|w| w.label == line.workload);
        (work, summary.filesystems.iter().position(|f| f.label == line.filesystem))
    };
    lines.sort_by_key(place);
    let (held, notable) = lines.into_iter().partition(|line| line.held == held(Held::Yes));
    Controls { notable, held }
}

fn add(lines: &mut Vec<ControlLine>, record: &Record, control: &Control) {
    let held = held(control.held);
    let same = |line: &&mut ControlLine| {
        line.workload == record.workload
            && line.filesystem == record.filesystem
            && line.name == control.name
            && line.asked == control.asked
            && line.held == held
    };
    match lines.iter_mut().find(same) {
        Some(line) => {
            line.trials += 1;
            if !line.seen.contains(&control.seen) {
                line.seen.push(control.seen.clone());
            }
        }
        None => lines.push(ControlLine {
            workload: record.workload.clone(),
            filesystem: record.filesystem.clone(),
            name: control.name.clone(),
            asked: control.asked.clone(),
            seen: vec![control.seen.clone()],
            held,
            trials: 1,
        }),
    }
}

fn held(held: Held) -> &'static str {
    match held {
        Held::Yes => "held",
        Held::No => "did not hold",
        Held::Label => "held, but labelled",
    }
}
