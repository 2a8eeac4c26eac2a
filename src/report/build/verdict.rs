//! What the verdict over an ensemble of modelled disks says in sentences.

use crate::analysis::ensemble::{AGREEMENT, SAMPLES_NEEDED};
use crate::report::view::number::{count, list};
use crate::report::view::row::Row;
use crate::report::view::standings::{judged, standings};
use crate::report::view::workload::WorkloadSummary;
use crate::schema::finding::{Evidence, Finding, Found, Verdict};

/// The verdict in three sentences.
pub fn sentences(workloads: &[WorkloadSummary], verdict: &Verdict) -> Vec<String> {
    let (pairs, margin) = (&verdict.findings, verdict.margin);
    let n = |found: &[Found]| pairs.iter().filter(|p| found.contains(&p.finding)).count();
    let robust = n(&[Found::Better, Found::Worse]);
    let (alike, open) = (n(&[Found::Equivalent]), n(&[Found::CannotTell]));
    let samples = pairs.iter().map(|p| p.n).min().unwrap_or(0);
    let second = format!(
        "Of {}, {robust} {} by more than {margin} in the same direction in at least {:.0}% of the {samples} samples of disk, position and \
         CPU, {alike} {} equivalent, and {open} {} on the disk model.",
        count(pairs.len(), "comparison"),
        if robust == 1 { "differs" } else { "differ" },
        AGREEMENT * 100.0,
        if alike == 1 { "is" } else { "are" },
        if open == 1 { "depends" } else { "depend" },
    );
    vec![best(workloads), second, decides(pairs)]
}

/// Who is better than all others, at which work.
fn best(workloads: &[WorkloadSummary]) -> String {
    let mut winners = Vec::new();
    let mut none = Vec::new();
    let of = |work| judged(work).into_iter().map(move |row: &Row| (work, row));
    for (work, row) in workloads.iter().flat_map(of) {
        let standings = standings(work, row);
        let about = format!("{} ({})", work.label, row.title);
        match standings.iter().find(|s| s.better_than.len() + 1 == standings.len()) {
            Some(winner) => winners.push(format!("{} in {about}", winner.filesystem)),
            None => none.push(about),
        }
    }
    let won = format!("Better than all others, robust to the disk model: {}", list(&winners));
    let lost = format!("no filesystem is better than all others in {}", list(&none));
    match (winners.is_empty(), none.is_empty()) {
        (false, true) => format!("{won}."),
        (false, false) => format!("{won}; {lost}."),
        _ => format!("Robust to the disk model, {lost}."),
    }
}

/// What the undecided comparisons depend on.
fn decides(pairs: &[Finding]) -> String {
    let open: Vec<&Finding> = pairs.iter().filter(|p| p.finding == Found::CannotTell).collect();
    let mut first: Vec<(&'static str, usize)> = Vec::new();
    for title in open.iter().filter_map(|p| first_decider(p)) {
        match first.iter_mut().find(|(t, _)| *t == title) {
            Some((_, n)) => *n += 1,
            None => first.push((title, 1)),
        }
    }
    first.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    match first.as_slice() {
        [] if open.is_empty() => "No comparison depends on what is uncertain about the disk.".to_owned(),
        [] => "None of the sampled parameters explains them.".to_owned(),
        [(title, 1)] if open.len() == 1 => format!("It depends most on {title}."),
        parts => {
            let parts: Vec<String> =
                parts.iter().map(|(title, n)| format!("{title} ({n} of {})", open.len())).collect();
            format!("They depend most on {}.", list(&parts))
        }
    }
}

fn first_decider(finding: &Finding) -> Option<&'static str> {
    let Evidence::Samples { deciders, .. } = &finding.evidence else { return None };
    deciders.first().map(|decider| decider.parameter.title())
}

/// How many samples are missing, and why no round would bring them.
pub fn preliminary(complete: usize, is_fixed: bool) -> String {
    let them = format!(
        "Preliminary: {complete} of the {SAMPLES_NEEDED} samples of the disk model that a verdict needs {} complete.",
        if complete == 1 { "is" } else { "are" },
    );
    if is_fixed {
        let why = "Sampling is off (samples=off), so every round has the same disk and further rounds bring no verdict.";
        return format!("{them} {why}");
    }
    them
}

#[cfg(test)]
mod tests {
    use super::super::model::cpu;
    use super::*;
    use crate::report::examples::model;
    use crate::report::view::heading::Standing;
    use crate::report::view::standings::{Standings, shown};
    use crate::schema::setup::Fidelity;

    #[test]
    fn twelve_samples_give_a_verdict_in_three_sentences() {
        let example = model::samples(12);
        let summary = example.report().summary;
        assert_eq!(summary.heading.standing, Standing::Verdict);
        let said = &summary.heading.sentences;
        assert_eq!(
            said[0],
            "Better than all others, robust to the disk model: cedarfs in letters-quick (transactions)."
        );
        assert!(said[1].contains("Of 6 comparisons, 5 differ by more than 3%"), "{}", said[1]);
        assert_eq!(said[2], "It depends most on the write cache.");
        assert!(summary.heading.brief.len() == 4 && summary.heading.next.is_none());
        let all = said.join(" ");
        assert!(
            all.contains("in virtual time on one modelled CPU of 500 million")
                && all.contains("without caches or memory latency")
        );
        assert!(
            !all.contains("image:") && !all.contains("Example 3000") && !all.contains("significant"),
            "{all}"
        );
    }

    #[test]
    fn a_cpu_that_no_sample_could_double_is_said_to_be_one() {
        let mut example = model::samples(12);
        assert!(!cpu(&example.run).is_some_and(|said| said.contains("faster")));
        for record in &mut example.run.records {
            model::change(record, |m| m.mips = [1000, 500, 1000][m.sample.cpu as usize]);
        }
        let said = cpu(&example.run).expect("a CPU");
        assert!(said.contains("1000 million") && said.contains("allows no faster one"), "{said}");
    }

    #[test]
    fn eleven_samples_are_preliminary_with_the_command_that_brings_the_twelfth() {
        let example = model::samples(11);
        let heading = example.report().summary.heading;
        assert_eq!(heading.title, "Preliminary result over samples of the disk model");
        let next = heading.next.expect("a command");
        assert!(next.command.ends_with("--rounds 12"), "{}", next.command);
    }

    #[test]
    fn rounds_without_samples_never_make_a_verdict() {
        let mut example = model::samples(12);
        let first = example.run.records[0].clone();
        for record in &mut example.run.records {
            (record.storage, record.volume) = (first.storage.clone(), first.volume);
        }
        let heading = example.report().summary.heading;
        assert_eq!((heading.standing, heading.next), (Standing::Preliminary, None));
        assert!(heading.sentences.last().is_some_and(|s| s.contains("samples=off")));
        let mut example = model::samples(1);
        assert!(example.report().summary.heading.next.is_some());
        example.run.records.iter_mut().for_each(|r| model::change(r, |m| m.ensemble = false));
        assert_eq!(example.report().summary.heading.next, None, "after the first round, too");
    }

    #[test]
    fn a_disk_faster_than_what_serves_it_ranks_nobody_by_time_and_says_why() {
        let mut example = model::samples(12);
        example.run.records.iter_mut().for_each(|r| r.fidelity = Fidelity::FloorBound);
        let summary = example.report().summary;
        assert!(summary.heading.sentences[0].starts_with("The modelled disk answers faster"));
        assert!(summary.workloads[0].findings.is_empty());
        assert!(summary.workloads[0].rows().all(|row| row.of != crate::schema::metric::Of::Time));
    }

    #[test]
    fn each_sees_the_pair_from_its_side() {
        let example = model::samples(12);
        let summary = example.report().summary;
        let row = judged(&summary.workloads[0])[0];
        let standings = standings(&summary.workloads[0], row);
        let of = |label: &str| standings.iter().find(|s| s.filesystem == label).map(Standings::cells);
        assert_eq!(of("rowanfs"), Some(["–", "–", "–"].map(str::to_owned)));
        assert_eq!(of("birchfs"), Some(["rowanfs", "–", "alderfs"].map(str::to_owned)));
        let shown = shown(&summary.workloads[0], row);
        assert!(shown[0].is_open() && !shown[1].is_open());
        assert_eq!(shown[0].deciders[0].title, "the write cache");
        assert!(shown[0].deciders[0].levels.contains("write-through 1.2"), "{}", shown[0].deciders[0].levels);
    }
}
