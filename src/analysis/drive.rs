//! Whether the drive below a trial stayed as it was. Pure.
//!
//! A drive that throttles itself because of heat, that was reset, or that reported an error is slower for a reason that has nothing to do
//! with the filesystem.

use crate::schema::drive::{Drive, DriveState, Smart};
use crate::schema::event::Seen;
use crate::schema::reason::{Condition, Held, ValidityCheck};
use crate::schema::record::Record;

/// Judges the drives of a trial; `None` on testbeds that watch none.
pub fn check(record: &Record) -> Option<ValidityCheck> {
    let drives = &record.circumstances.drives;
    if drives.is_empty() {
        return None;
    }
    let faults: Vec<String> = drives.iter().flat_map(faults).collect();
    let unsteady = all_unsteady(&record.seen);
    let (seen, held) = match faults[..] {
        [] if !unsteady.is_empty() => (unsteady.join("; "), Held::Label),
        [] => (drives.iter().map(|drive| in_words(&[drive])).collect::<Vec<_>>().join("; "), Held::Yes),
        _ => (faults.join("; "), Held::No),
    };
    let asked = "no error or reset in the kernel's log, no throttling, the same settings and power state";
    Some(ValidityCheck { name: Condition::Drive, asked: asked.into(), seen, held })
}

/// The drives that are not, by their place in the testbed's name if there are several.
fn all_unsteady(seen: &[Seen]) -> Vec<String> {
    let washed = || seen.iter().filter(|seen| matches!(seen, Seen::Washed { .. }));
    let many = washed().count() > 1;
    let named = washed().zip(1..).filter_map(|(seen, n)| {
        let why = unsteady(seen)?;
        Some(if many { format!("disk {n}: {why}") } else { why })
    });
    named.collect()
}

/// A drive that is not in the steady state of this run: noted, as no number of repetitions would mend it.
fn unsteady(seen: &Seen) -> Option<String> {
    const ALLOWED: f64 = 0.2;
    let Seen::Washed { write_ns, steady, .. } = *seen else { return None };
    if !steady.is_steady {
        return Some(format!("after {} rounds of preconditioning no five were steady", steady.rounds));
    }
    let ratio = write_ns as f64 / steady.write_ns.max(1) as f64;
    ((ratio - 1.0).abs() > ALLOWED)
        .then(|| format!("before the trial a write took {ratio:.2} times as long as in the steady state"))
}

type Setting = fn(&DriveState) -> &String;
type Counter = fn(&Smart) -> Option<u64>;

fn faults(drive: &Drive) -> Vec<String> {
    let name = &drive.name;
    let Some(after) = &drive.after else { return vec![format!("{name} had gone at the end")] };
    let before = &drive.before;
    let settings: [(&str, Setting); 5] = [
        ("scheduler", |s| &s.scheduler),
        ("write cache", |s| &s.write_cache),
        ("queue depth", |s| &s.queue_depth),
        ("power state", |s| &s.power),
        ("CPU governor", |s| &s.governor),
    ];
    let changed = settings.iter().filter(|(_, of)| of(before) != of(after));
    let changed = changed
        .map(|(what, of)| format!("the {what} of {name} changed from '{}' to '{}'", of(before), of(after)));
    let counters: [(&str, Counter); 4] = [
        ("minutes above its temperature limit", |s| s.too_hot_minutes),
        ("throttling events", |s| s.throttled),
        ("power cycles", |s| s.power_cycles),
        ("media errors", |s| s.media_errors),
    ];
    let grown = counters.iter().filter_map(|(what, of)| {
        let [was, is] = [before, after].map(|state| state.smart.as_ref().and_then(of));
        let (was, is) = (was?, is?);
        (is > was).then(|| format!("{name} counts {is} {what}, {was} before"))
    });
    let log = drive.log.iter().flatten().take(1).map(|line| format!("the kernel's log: {line}"));
    changed.chain(grown).chain(log).collect()
}

/// `sda: write back, mq-deadline, queue depth 64, 38 to 41 °C, wear 3 %`, over one or several trials.
fn in_words(trials: &[&Drive]) -> String {
    let Some(first) = trials.first() else { return String::new() };
    let DriveState { scheduler, write_cache, queue_depth, .. } = &first.before;
    let depth = if queue_depth.is_empty() { String::new() } else { format!("queue depth {queue_depth}") };
    let states = || trials.iter().flat_map(|drive| std::iter::once(&drive.before).chain(&drive.after));
    let smart = || states().filter_map(|state| state.smart.as_ref());
    let degrees = || smart().filter_map(|smart| smart.celsius);
    let heat = match (degrees().min(), degrees().max()) {
        (Some(low), Some(high)) if low < high => format!("{low} to {high} °C"),
        (Some(same), _) => format!("{same} °C"),
        _ => "temperature unknown".into(),
    };
    let wear = smart().filter_map(|smart| smart.wear_percent).next_back();
    let wear = wear.map_or_else(String::new, |wear| format!("wear {wear} %"));
    let all = [write_cache.clone(), scheduler.clone(), depth, heat, wear];
    let said: Vec<String> = all.into_iter().filter(|text| !text.is_empty()).collect();
    format!("{}: {}", first.name, said.join(", "))
}

/// The drives of these trials, each with its firmware and the range of its condition.
pub fn over(records: &[Record]) -> Option<String> {
    let mut drives: Vec<Vec<&Drive>> = Vec::new();
    for drive in records.iter().flat_map(|record| &record.circumstances.drives) {
        let is_same = |known: &&mut Vec<&Drive>| {
            known.iter().all(|known| (&known.serial, &known.model) == (&drive.serial, &drive.model))
        };
        match drives.iter_mut().find(is_same) {
            Some(known) => known.push(drive),
            None => drives.push(vec![drive]),
        }
    }
    let said = drives.iter().map(|trials| {
        let Drive { model, serial, firmware, .. } = trials[0];
        let parts =
            [(model.as_str(), ""), (firmware.as_str(), "firmware "), (serial.as_str(), "serial number ")];
        let parts = parts.iter().filter(|(text, _)| !text.is_empty());
        let named: Vec<String> = parts.map(|(text, what)| format!("{what}{text}")).collect();
        format!("{}; {}", named.join(", "), in_words(trials))
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::event::Steady;

    fn drive(change: impl FnOnce(&mut Drive)) -> Drive {
        let smart =
            Smart { celsius: Some(38), wear_percent: Some(3), too_hot_minutes: Some(1), ..Smart::default() };
        let before = DriveState {
            scheduler: "none".into(),
            write_cache: "write back".into(),
            queue_depth: "64".into(),
            power: "active".into(),
            governor: String::new(),
            smart: Some(smart),
        };
        let after = Some(before.clone());
        let mut drive =
            Drive { name: "sda".into(), before, after, log: Some(Vec::new()), ..Drive::default() };
        change(&mut drive);
        drive
    }

    #[test]
    fn a_drive_that_left_its_steady_state_is_noted() {
        let washed = |write_ns, is_steady| {
            let steady = Steady { rounds: 25, is_steady, write_ns: 100 };
            unsteady(&Seen::Washed { writes: 8, write_ns, steady })
        };
        assert_eq!([100, 119, 81].map(|ns| washed(ns, true)), [None, None, None]);
        assert!(
            washed(125, true).is_some_and(|said| said.contains("1.25 times")) && washed(70, true).is_some()
        );
        assert!(washed(100, false).is_some_and(|said| said.contains("25 rounds")));
    }

    #[test]
    fn a_drive_that_changed_is_told_with_what_changed() {
        let after = |change: fn(&mut DriveState)| drive(|d| change(d.after.as_mut().unwrap()));
        let smart = |change: fn(&mut Smart)| {
            drive(|d| change(d.after.as_mut().and_then(|after| after.smart.as_mut()).unwrap()))
        };
        assert_eq!(faults(&drive(|_| ())), Vec::<String>::new());
        assert_eq!(faults(&smart(|s| s.celsius = Some(50))), Vec::<String>::new());
        for (drive, says) in [
            (drive(|d| d.after = None), "sda had gone"),
            (
                after(|s| s.power = "suspended".into()),
                "power state of sda changed from 'active' to 'suspended'",
            ),
            (after(|s| s.scheduler = "bfq".into()), "scheduler of sda"),
            (after(|s| s.write_cache = "write through".into()), "write cache"),
            (smart(|s| s.too_hot_minutes = Some(2)), "2 minutes above its temperature limit, 1 before"),
            (drive(|d| d.log = Some(vec!["I/O error, dev sda".into()])), "log: I/O error, dev sda"),
        ] {
            let faults = faults(&drive);
            assert!(faults.len() == 1 && faults[0].contains(says), "{faults:?}: {says}");
        }
        assert_eq!(in_words(&[&drive(|_| ())]), "sda: write back, none, queue depth 64, 38 °C, wear 3 %");
    }
}
