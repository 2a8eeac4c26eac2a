//! A modelled disk and its CPU in words, and the evidence for such models.

use std::collections::BTreeSet;

use fsderby_diskmodel::{SHIPPED, Spec};

use crate::analysis::dataset::counted;
use crate::analysis::ensemble::sampled;
use crate::analysis::evidence::Coverage;
use crate::report::view::heading::Standing;
use crate::report::view::number::{grouped, list};
use crate::schema::record::Record;
use crate::schema::setup::Sampled;
use crate::schema::units::Bytes;
use crate::store::Run;
use crate::testbeds::model::machines;
use crate::workloads::programs;

/// The disk's title, and the part of it that was used.
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
        Some(most) => format!(", shifted by up to {most} from sample to sample"),
    };
    let (disks, each) = match modelled.disks {
        1 => ("a modelled disk".to_owned(), ""),
        several => (format!("{several} modelled disks"), "on each "),
    };
    let title = with_article(&title);
    Some(format!("{disks} ({title}; {each}a volume of {size} at {begin}{moved})", size = run.plan.size))
}

/// A title within a sentence: an article that it begins with is in lower case.
fn with_article(title: &str) -> String {
    match title.split_once(' ') {
        Some((article @ ("A" | "An"), rest)) => format!("{} {rest}", article.to_lowercase()),
        _ => title.to_owned(),
    }
}

/// The title of these trials' disk.
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

/// The modelled CPU of these trials, in words.
pub fn cpu_of(records: &[&Record]) -> Option<String> {
    let all = || records.iter().filter_map(|record| sampled(record));
    let speeds = || all().map(|m| m.mips);
    let Sampled { mips: nominal, machine, .. } = nominal(records)?;
    let (least, most) = (speeds().min()?, speeds().max()?);
    let [least, most, speed] = [least, most, nominal].map(|mips| grouped(&mips.to_string()));
    let varied = if least == most { String::new() } else { format!(" ({least} to {most} over the samples)") };
    Some(format!(
        "one modelled CPU with {speed} million instructions per second{varied}{like} CPU caches or memory latency",
        like = like(&machine, nominal)
    ))
}

/// The machine that has this CPU: what it is, then its name.
fn like(machine: &str, mips: u32) -> String {
    let shipped = machines::shipped(machine).filter(|known| known.values.mips.is == mips);
    match shipped {
        Some(known) => format!(", like {} ({machine}), but without", with_article(&known.title)),
        None if machine.is_empty() => ", without".to_owned(),
        None => format!(", on the machine {machine}, without"),
    }
}

fn nominal(records: &[&Record]) -> Option<Sampled> {
    let records = records.iter().filter_map(|r| Some((r.round, sampled(r)?)));
    records.min_by_key(|(round, _)| *round).map(|(_, modelled)| modelled)
}

/// What the figures of programs do not mean; `None` if none ran on a modelled CPU.
pub fn schedule(run: &Run) -> Option<String> {
    let works = || {
        counted(run).into_iter().filter(|record| sampled(record).is_some()).flat_map(|record| &record.works)
    };
    let labels: BTreeSet<&str> =
        works().filter(|work| programs::starts(&work.work)).map(|work| work.name.as_str()).collect();
    if labels.is_empty() {
        return None;
    }
    let labels: Vec<String> = labels.into_iter().map(str::to_owned).collect();
    Some(format!(
        "{}: threads and processes of programs take turns on one vCPU. A trial shows one of many possible schedules. \
         Each sample begins at another moment, so the spread of the samples includes the effect of the schedule. \
         Scaling over CPUs, contention, spinning and polling are not measured.",
        list(&labels)
    ))
}

/// For the disk with the least evidence; `None` if no disk was modelled.
pub fn coverage(run: &Run) -> Option<Coverage> {
    let known = |coverage: &Coverage| match coverage {
        Coverage::ModelOnly => 0,
        Coverage::Untested { drives } => 1 + drives,
        Coverage::Tested { .. } => u32::MAX,
    };
    let disks = counted(run).into_iter().filter_map(sampled).map(|modelled| modelled.disk);
    disks.map(|disk| Coverage::of_disk(&disk)).min_by_key(known)
}

/// The note for findings that too few measured drives support.
pub fn unsupported(run: &Run) -> Option<String> {
    coverage(run).filter(|coverage| coverage.heading().is_some()).map(Coverage::said)
}

/// Whether no drive of the class of a modelled disk was measured.
pub fn is_model_only(run: &Run) -> bool {
    coverage(run) == Some(Coverage::ModelOnly)
}

/// What findings on a modelled disk rest on, behind the first word of their title; `None` without findings or modelled disk.
pub fn basis(run: &Run, standing: Standing) -> Option<&'static str> {
    Some(match (coverage(run)?, standing) {
        (_, standing) if !standing.has_findings() => return None,
        (Coverage::ModelOnly, _) => " on the model only",
        (Coverage::Untested { .. }, _) => " on a disk model that was tested with too few real drives",
        (Coverage::Tested { .. }, Standing::Short) => "",
        (Coverage::Tested { .. }, _) => " over samples of the disk model",
    })
}

/// Limits of virtual time.
pub const LIMITS: &str = "Times come from a virtual clock, which counts instructions: they are exact for the model \
     and the same on every host, but not the times of a real machine. Every instruction takes the same time.";

#[cfg(test)]
mod tests {
    use crate::report::examples::model::{change, samples};

    /// The heading and the certainty of a run on these disks, in turn.
    fn headed(rounds: u32, disks: &[&str]) -> (String, String) {
        let mut example = samples(rounds);
        let all = example.run.records.iter_mut().zip(disks.iter().cycle());
        all.for_each(|(record, disk)| change(record, |modelled| modelled.disk = (*disk).to_owned()));
        let heading = example.report().summary.heading;
        (heading.title, heading.sure.join(" "))
    }

    #[test]
    fn a_class_without_a_measured_drive_is_headed_so_and_says_it_where_it_says_how_sure() {
        let only = "No drive of this class was measured, so this result holds for the disk model only.";
        let (title, sure) = headed(13, &["hdd-smr"]);
        assert!(title == "Verdict on the model only" && sure.ends_with(only), "{title}: {sure}");
        let (title, sure) = headed(3, &["hdd-16tb", "a file of one's own"]);
        assert!(
            title == "No verdict yet, on the model only (3 of 13 samples of the disk model)"
                && sure.ends_with(only),
            "{title}: {sure}"
        );
        let (title, sure) = headed(3, &["hdd-16tb"]);
        assert_eq!(title, "No verdict yet (3 of 13 samples of the disk model)");
        assert!(!sure.contains("model only"), "{sure}");
    }
}
