//! Why a report shows no times, if none count.

use super::repeat;
use crate::schema::plan::Plan;
use crate::schema::reason::Outcome;
use crate::store::Run;

/// Why no time is shown.
pub struct Timeless {
    pub said: String,
}

pub fn of(run: &Run) -> Option<Timeless> {
    // If some candidates have times, the others' note is with their setups.
    let mut all = run.records.iter().filter(|r| r.outcome != Outcome::Skipped);
    let is_timeless = all.clone().next().is_some() && all.all(|r| !r.fidelity.times_count());
    is_timeless.then(|| emulated(run))
}

fn emulated(run: &Run) -> Timeless {
    // With several testbeds no other one can replace all.
    let here = match run.plan.testbeds().len() {
        1 => {
            let command = repeat::of(&Plan { testbed: "loop".into(), ..run.plan.clone() }, true).command;
            format!("; to measure the filesystems of this machine's kernel, as root: {command}")
        }
        _ => ".".to_owned(),
    };
    Timeless {
        said: format!(
            "The CPU was emulated, so no times are reported. Requests, bytes and flushes are compared; fewer is \
             better, but these counts are not speeds. The same run on a machine with KVM measures times{here}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::dataset::Dataset;
    use crate::report::examples::{self, Example};
    use crate::report::view::heading::Standing;
    use crate::schema::finding::{Finding, Found, Verdict};
    use crate::schema::setup::Fidelity;

    /// On an emulated CPU: one candidate needs twice the requests of another and writes the same bytes each time.
    fn emulated(rounds: u32) -> (Example, Verdict) {
        let mut example = examples::rounds(rounds);
        example.run.seal = None;
        // It fails in one round.
        example.run.records.retain(|r| r.filesystem != "maplefs");
        for record in &mut example.run.records {
            record.fidelity = Fidelity::VmEmulated;
            for metric in &mut record.metrics {
                match metric.name.as_str() {
                    "device.writes" if record.filesystem == "birchfs" => metric.value *= 2.0,
                    "device.bytes_written" => metric.value = 3e9 + f64::from(record.round),
                    _ => {}
                }
            }
        }
        let verdict = crate::analysis::verdict::given(&example.run, &Dataset::of(&example.run));
        (example, verdict)
    }

    fn of<'v>(verdict: &'v Verdict, metric: &str) -> Vec<&'v Finding> {
        verdict.findings.iter().filter(|f| f.metric == metric).collect()
    }

    #[test]
    fn on_an_emulated_cpu_counts_are_found_and_no_time_is() {
        let (example, verdict) = emulated(12);
        assert!(verdict.is_final() && verdict.overall.is_empty());
        assert!(
            of(&verdict, "transactions.rate").is_empty() && of(&verdict, "device.flushes").is_empty(),
            "57 flushes"
        );
        let writes = of(&verdict, "device.writes");
        let between = writes.iter().find(|f| f.a == "alderfs" && f.b == "birchfs").expect("a pair");
        assert!(between.finding == Found::Better && (1.7..2.4).contains(&between.ratio), "{between:?}");
        assert!(of(&verdict, "device.bytes_written").iter().all(|f| f.finding == Found::Equivalent));

        let summary = example.judged(verdict, Some("alderfs")).summary;
        assert_eq!(summary.heading.standing, Standing::Verdict);
        assert_eq!(summary.heading.title, "Verdict over counters, without times");
        let writes = summary.workloads[0].comparisons.iter().find(|c| c.metric == "device.writes");
        let writes = writes.expect("a comparison");
        let birch = writes.line("birchfs").expect("it took part");
        assert!(
            birch.ratio > 1.7 && birch.low < Some(birch.ratio),
            "twice as many, not half as good: {birch:?}"
        );
        assert_eq!(writes.times(), "times as many as alderfs");
    }

    #[test]
    fn too_few_rounds_of_counts_are_preliminary_and_a_single_time_that_counts_brings_times_back() {
        let (mut example, verdict) = emulated(3);
        assert!(!verdict.is_final() && !verdict.findings.is_empty());
        example.run.records.iter_mut().for_each(|r| r.fidelity = Fidelity::VmKvm);
        let verdict = crate::analysis::verdict::given(&example.run, &Dataset::of(&example.run));
        assert!(verdict.findings.iter().all(|f| f.metric == "transactions.rate"));
    }

    #[test]
    fn a_candidate_without_any_has_no_ratio_and_keeps_nobody_from_a_verdict() {
        let (mut example, _) = emulated(12);
        let own = example.run.records.iter_mut().filter(|r| r.filesystem == "elmfs" && r.round > 4);
        for metric in own.flat_map(|r| &mut r.metrics).filter(|m| m.name == "device.reads") {
            metric.value = 0.0;
        }
        let verdict = crate::analysis::verdict::given(&example.run, &Dataset::of(&example.run));
        let of = |label: &str| {
            verdict
                .findings
                .iter()
                .any(|f| f.metric == "device.reads" && [&f.a, &f.b].contains(&&label.to_owned()))
        };
        assert!(verdict.is_final() && of("alderfs") && !of("elmfs"));
    }
}
