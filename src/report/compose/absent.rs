//! Trials that do not count, and why: nothing is left out silently.

use std::collections::HashSet;

use crate::report::view::absent::{Absent, Skips, Unavailable, brief};
use crate::report::view::number::list;
use crate::report::view::workload::WorkloadSummary;
use crate::schema::job::Purpose;
use crate::schema::reason::{Outcome, Reason};
use crate::schema::record::Record;
use crate::store::Run;

/// Skips, one for each reason, with all filesystems to which it applies.
pub fn skips(run: &Run, workloads: usize) -> Vec<Skips> {
    let mut out: Vec<Skips> = Vec::new();
    for mut one in skips_of_each(run) {
        if one.workloads.len() == workloads {
            one.workloads.clear();
        }
        match out.iter_mut().find(|s| s.reason == one.reason && s.workloads == one.workloads) {
            Some(skips) => skips.filesystems.extend(one.filesystems),
            None => out.push(one),
        }
    }
    out
}

fn skips_of_each(run: &Run) -> Vec<Skips> {
    let mut each: Vec<Skips> = Vec::new();
    for record in run.current().into_iter().filter(|r| r.outcome == Outcome::Skipped) {
        let (filesystem, workload) = (record.filesystem.clone(), record.scenario.clone());
        let reason = reason(record);
        match each.iter_mut().find(|s| s.filesystems[0] == filesystem && s.reason == reason) {
            Some(skips) if skips.workloads.contains(&workload) => {}
            Some(skips) => skips.workloads.push(workload),
            None => each.push(Skips { filesystems: vec![filesystem], workloads: vec![workload], reason }),
        }
    }
    each
}

/// Counters that were not available, one entry for each reason, with the filesystems concerned.
pub fn unavailable(run: &Run, filesystems: &[String]) -> Vec<Unavailable> {
    let mut out: Vec<Unavailable> = Vec::new();
    let current = run.current();
    for label in filesystems {
        for (what, reason) in current.iter().filter(|r| r.filesystem == *label).flat_map(|r| &r.not_available)
        {
            match out.iter_mut().find(|one| (&one.what, &one.reason) == (what, reason)) {
                Some(one) if one.filesystems.contains(label) => {}
                Some(one) => one.filesystems.push(label.clone()),
                None => {
                    let (what, reason, filesystems) = (what.clone(), reason.clone(), vec![label.clone()]);
                    out.push(Unavailable { what, reason, filesystems });
                }
            }
        }
    }
    out.sort_by(|a, b| a.what.cmp(&b.what));
    out
}

/// On one line: `this kernel has no alderfs — try: a kernel with the module alderfs`. A lost agent's console is named, not
/// printed.
pub fn reason(record: &Record) -> String {
    let (loss, file) = match (&record.reason, &record.console) {
        (Some(Reason::Hung(loss) | Reason::LostAgent(loss) | Reason::Panic(loss)), Some(file)) => {
            (loss, file)
        }
        _ => return on_one_line(record),
    };
    let during = loss.during.as_ref().map_or(String::new(), |step| format!(" during {step}"));
    let (how, file) = (untimed(&loss.how), &file.path);
    if matches!(record.reason, Some(Reason::Panic(_))) {
        return format!("the guest ended{during}: {how} (trace: {file})");
    }
    let last = loss.console.iter().rev().map(|line| untimed(line)).find(|line| !line.trim().is_empty());
    let last = last.filter(|last| !how.contains(last.trim()));
    let last = last.map_or_else(String::new, |last| format!(": {}", last.trim()));
    format!("the agent ended{during}: {how}{last} (console: {file})")
}

/// A kernel message without the time in front: `[   12.384088] Kernel panic`.
fn untimed(text: &str) -> String {
    let Some((before, (time, after))) =
        text.split_once('[').and_then(|(before, rest)| Some((before, rest.split_once("] ")?)))
    else {
        return text.to_owned();
    };
    match time.trim().parse::<f64>() {
        Ok(_) => format!("{before}{after}"),
        Err(_) => text.to_owned(),
    }
}

fn on_one_line(record: &Record) -> String {
    let mut out = String::new();
    for line in record.why().lines().map(str::trim) {
        if !out.is_empty() {
            out += if line.starts_with("try:") { " — " } else { " " };
        }
        out += line;
    }
    out
}

/// Why these candidates have no valid trial, one clause for each reason: `oakfs skipped: this kernel has no oakfs`. `None` for
/// none.
pub fn left_out(run: &Run, labels: &[&str]) -> Option<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for label in labels {
        let current = run.current();
        let last = current.iter().rev().find(|r| r.filesystem == *label && r.outcome != Outcome::Done);
        let why = last.map_or_else(
            || "not run".to_owned(),
            |record| format!("{}: {}", record.outcome.name(), brief(&reason(record))),
        );
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, own)) => own.push((*label).to_owned()),
            None => groups.push((why, vec![(*label).to_owned()])),
        }
    }
    let said = groups.iter().map(|(why, own)| format!("{} {why}", list(own)));
    (!groups.is_empty()).then(|| said.collect::<Vec<String>>().join("; "))
}

/// All trials that do not count, in record order, and the filesystems that never had a trial.
pub fn of(run: &Run, filesystems: &[String], workloads: &[WorkloadSummary]) -> Vec<Absent> {
    let current: HashSet<(&str, u32)> = run.current().into_iter().map(attempt).collect();
    let mut out: Vec<Absent> = Vec::new();
    for record in &run.records {
        let superseded = !current.contains(&attempt(record));
        let what = match record.outcome {
            Outcome::Done if !superseded => continue,
            Outcome::Skipped => continue,
            Outcome::Done => "superseded",
            other => other.name(),
        };
        let reason = match record.reason {
            Some(_) => reason(record),
            None => "a later attempt counts".to_owned(),
        };
        add(&mut out, record, what, reason, superseded);
    }
    for workload in workloads.iter().map(|w| &w.label) {
        let tried = run.records.iter().filter(|r| r.scenario == *workload);
        let tried: HashSet<&str> = tried.map(|r| r.filesystem.as_str()).collect();
        for filesystem in filesystems.iter().filter(|label| !tried.contains(label.as_str())) {
            let reason = "the run ended before this trial".to_owned();
            let (workload, filesystem) = (workload.clone(), filesystem.clone());
            out.push(Absent { workload, filesystem, what: "not run", reason, trials: Vec::new() });
        }
    }
    out
}

fn attempt(record: &Record) -> (&str, u32) {
    (&record.trial, record.attempt)
}

fn add(out: &mut Vec<Absent>, record: &Record, what: &'static str, reason: String, superseded: bool) {
    let mut trial = match record.purpose {
        Purpose::Integrity => "integrity check".to_owned(),
        Purpose::Measure => format!("round {}", record.round),
        extra => extra.title(),
    };
    if superseded {
        trial += &format!(", attempt {}: repeated", record.attempt);
    }
    let same = |a: &&mut Absent| {
        a.workload == record.scenario
            && a.filesystem == record.filesystem
            && a.what == what
            && a.reason == reason
    };
    match out.iter_mut().find(same) {
        Some(absent) => absent.trials.push(trial),
        None => out.push(Absent {
            workload: record.scenario.clone(),
            filesystem: record.filesystem.clone(),
            what,
            reason,
            trials: vec![trial],
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples;
    use crate::schema::reason::Loss;
    use crate::schema::record::FileRef;

    fn said(run: &Run) -> Vec<String> {
        skips(run, 2).iter().map(|s| format!("{}: {}", s.who(), s.reason)).collect()
    }

    #[test]
    fn equal_reasons_stand_together_and_a_workload_is_named_only_where_others_were_done() {
        let mut run = examples::example().run;
        let why = "this kernel has no vfat\n  try: a kernel with the module vfat";
        let skipped = examples::skipped(
            &run.plan,
            &[("alderfs", 0), ("alderfs", 1), ("birchfs", 0), ("birchfs", 1)],
            why,
        );
        run.records.extend(skipped);
        assert_eq!(
            said(&run),
            [
                "birchfs-journal on letters-in-memory: this kernel has no birchfs-journal — try: --on vm",
                "rowanfs on letters-in-memory: letters needs hard links, which rowanfs cannot make",
                "alderfs, birchfs: this kernel has no vfat — try: a kernel with the module vfat",
            ]
        );
    }

    #[test]
    fn a_panic_of_a_guests_kernel_is_one_line_with_the_file_of_its_trace() {
        let mut run = examples::example().run;
        let record = &mut run.records[0];
        record.outcome = Outcome::Failed;
        let panic = "[   12.384088] Kernel panic - not syncing: No working init found.";
        let lost = Loss {
            during: None,
            how: format!("kernel message in the guest: {panic}"),
            console: [panic, "[   12.395257] Call Trace:", "[   12.413603] Kernel Offset: disabled"]
                .map(str::to_owned)
                .to_vec(),
        };
        record.reason = Some(Reason::Panic(lost.clone()));
        let file = |path: &str| FileRef { path: path.into(), blake3: String::new(), what: String::new() };
        record.console = Some(file("consoles/r01_letters_alderfs.txt"));
        assert_eq!(
            reason(record),
            "the guest ended: kernel message in the guest: Kernel panic - not syncing: No working init found. \
             (trace: consoles/r01_letters_alderfs.txt)"
        );
        record.reason = Some(Reason::Hung(Loss { how: "silent for 60 s".into(), ..lost }));
        assert_eq!(
            reason(record),
            "the agent ended: silent for 60 s: Kernel Offset: disabled (console: consoles/r01_letters_alderfs.txt)"
        );
    }

    #[test]
    fn what_could_not_be_counted_is_told_once_with_its_filesystems() {
        let mut run = examples::example().run;
        let why = ("fragments".to_owned(), "this filesystem has no FIEMAP".to_owned());
        for record in
            run.records.iter_mut().filter(|r| ["alderfs", "maplefs"].contains(&r.filesystem.as_str()))
        {
            record.not_available = std::collections::BTreeMap::from([why.clone()]).into();
        }
        let labels = ["maplefs", "cedarfs", "alderfs"].map(str::to_owned);
        let (what, reason) = why;
        let filesystems = vec!["maplefs".into(), "alderfs".into()];
        assert_eq!(unavailable(&run, &labels), [Unavailable { what, reason, filesystems }]);
    }
}
