//! A modelled disk and its CPU in words.

use fsderby_diskmodel::{SHIPPED, Spec};

use crate::analysis::ensemble::sampled;
use crate::schema::record::Record;
use crate::schema::setup::Sampled;
use crate::schema::units::Bytes;
use crate::store::Run;

/// The disk by its title, and the part of it that was used.
pub fn disk(run: &Run) -> Option<String> {
    let all: Vec<&Record> = run.records.iter().collect();
    let modelled = nominal(&all)?;
    let title = title(&modelled);
    let begin = match modelled.offset.0 {
        0 => "the beginning".to_owned(),
        _ => format!("{}", modelled.offset),
    };
    let away = |m: Sampled| Bytes(m.offset.0.abs_diff(modelled.offset.0));
    let moved = match run.records.iter().filter_map(sampled).map(away).max() {
        None | Some(Bytes(0)) => String::new(),
        Some(most) => format!(", moved by up to {most} over the samples"),
    };
    let (disks, each) = match modelled.disks {
        1 => ("a modelled disk".to_owned(), ""),
        several => (format!("{several} modelled disks"), "on each "),
    };
    Some(format!("{disks} ({title}; {each}a volume of {} at {begin}{moved})", run.plan.size))
}

/// The title of the disk that these trials were made on.
pub fn title_of(records: &[&Record]) -> Option<String> {
    nominal(records).as_ref().map(title)
}

fn title(modelled: &Sampled) -> String {
    let shipped = SHIPPED.iter().find(|(name, _)| *name == modelled.disk);
    let title = shipped.and_then(|(_, text)| Spec::parse(text).ok()).map(|spec| spec.title().to_owned());
    title.unwrap_or_else(|| modelled.disk.clone())
}

/// `one modelled CPU of 500 million instructions per second (250 to 1,000 over the samples)`
pub fn cpu(run: &Run) -> Option<String> {
    cpu_of(&run.records.iter().collect::<Vec<_>>())
}

/// The same of the CPU that these trials were made on.
pub fn cpu_of(records: &[&Record]) -> Option<String> {
    let all = || records.iter().filter_map(|record| sampled(record));
    let speeds = || all().map(|m| m.mips);
    let Sampled { mips: nominal, machine, .. } = nominal(records)?;
    let (least, most) = (speeds().min()?, speeds().max()?);
    let named = if machine.is_empty() { String::new() } else { format!(", {machine}") };
    let varied = if least == most { String::new() } else { format!(" ({least} to {most} over the samples)") };
    Some(format!(
        "one modelled CPU of {nominal} million instructions per second{varied}{named}, without caches or memory latency"
    ))
}

fn nominal(records: &[&Record]) -> Option<Sampled> {
    let records = records.iter().filter_map(|r| Some((r.round, sampled(r)?)));
    records.min_by_key(|(round, _)| *round).map(|(_, modelled)| modelled)
}

/// What virtual time leaves out.
pub const LIMITS: &str = "Times are virtual: exact for the model and the same on every host, but not those of any real machine. Every instruction takes \
     the same time.";
