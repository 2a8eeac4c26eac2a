//! Which candidates need more CPU time than others, judged by the same rules as headline metrics. Reports order candidates by CPU
//! time only as these findings do.
//!
//! On testbeds whose figures scatter, these pairs are a separate family of tests, with a fifth of the headline metrics' allowed
//! error. On a modelled disk the result of a pair must hold in all samples, with all seeds, at every instruction cost, and at the
//! corner where it is expected to be worst.

use super::dataset::{Dataset, Series};
use super::{ensemble, rounds};
use crate::schema::finding::{Basis, Finding, Interim, Verdict};
use crate::schema::metric::Better;
use crate::schema::plan::Plan;

/// The findings on CPU time beside this verdict; less CPU time is *better*. `is_cpu` tells whether a metric of that name is the
/// CPU time of a work.
pub fn findings(
    plan: &Plan,
    dataset: &Dataset<'_>,
    verdict: &Verdict,
    is_cpu: &dyn Fn(&str) -> bool,
) -> Vec<Finding> {
    let is_asked = |series: &Series| {
        series.better != Better::Neither && !series.once && !series.headline && is_cpu(&series.name)
    };
    match &verdict.basis {
        Basis::Samples { .. } => ensemble::findings_on(&dataset.workloads, verdict.margin, &is_asked),
        basis @ Basis::Rounds { .. } => match basis.looks().last() {
            Some(look) => {
                let look = Interim { alpha: look.alpha / SHARE, ..*look };
                rounds::findings_on(plan, dataset, look, &is_asked)
            }
            None => Vec::new(),
        },
    }
}

/// The allowed error of headline metrics ÷ the allowed error of this family: 5 % ÷ 1 %.
const SHARE: f64 = 5.0;

#[cfg(test)]
mod tests {
    use fsderby_diskmodel::{Point, SHIPPED, Spec};
    use fsderby_stats::random::Random;
    use fsderby_stats::screening::row;

    use super::super::dataset::{Value, Work, cell};
    use super::super::tests::example;
    use super::*;
    use crate::schema::finding::{Evidence, Found, SCHEMA};
    use crate::schema::job::{Purpose, RESEEDED};
    use crate::schema::metric::{Metric, Of};
    use crate::schema::plan::Rounds;
    use crate::schema::record::{Record, StageRecord};
    use crate::schema::setup::{ClockKind, Modelled, Named};
    use crate::schema::units::Percent;

    const CPU: &str = "cpu.work";
    const RATE: &str = "transactions.rate";
    /// Seconds of CPU time that each candidate takes.
    const TAKES: [(&str, f64); 3] = [("lean", 1.0), ("alike", 1.0), ("busy", 1.5)];

    fn plan() -> Plan {
        let text = "schema = 4\nname = \"x\"\ntestbed = \"loop\"\nsize = \"1g\"\nimage = \"allocated\"\ncold = false\n\
                    margin = \"3%\"\nplan_seed = 7\nworkload_seed = 7\nfilesystem = []\nworkload = []\nscenario = []\n\
                    rounds = { exactly = 1 }\n";
        Plan { rounds: Rounds::Exactly(12), ..toml::from_str(text).expect("a plan") }
    }

    fn verdict(basis: Basis) -> Verdict {
        Verdict {
            schema: SCHEMA,
            records: 0,
            basis,
            margin: Percent(3.0),
            findings: Vec::new(),
            ranks: Vec::new(),
            overall: Vec::new(),
            guard: None,
            cpu: Vec::new(),
            recommendation: None,
        }
    }

    fn series(name: &str, headline: bool, values: &mut dyn FnMut(&str, f64) -> Vec<Value>) -> Series {
        let metric = Metric::new(name, 1.0, "s", Of::Time, Better::Lower);
        let cells = TAKES.iter().map(|(label, takes)| cell(label, values(label, *takes))).collect();
        Series { headline, cells, ..Series::named_as(&metric) }
    }

    fn dataset(work: Work<'_>) -> Dataset<'_> {
        let labels: Vec<String> = TAKES.iter().map(|(label, _)| (*label).to_owned()).collect();
        Dataset { planned: labels.clone(), filesystems: labels, workloads: vec![work] }
    }

    /// Twelve rounds of CPU time and of a headline metric, with a scatter of 1 %.
    fn rounds() -> Dataset<'static> {
        let mut random = Random::new(3);
        let mut values = |_: &str, takes: f64| {
            let value =
                |round| Value { trial: "".into(), round, value: takes * (0.01 * random.normal()).exp() };
            (1..=12).map(value).collect()
        };
        let all = vec![series(CPU, false, &mut values), series(RATE, true, &mut values)];
        dataset(Work { label: "mail".into(), counted: Vec::new(), extras: Vec::new(), series: all })
    }

    fn is_cpu(metric: &str) -> bool {
        metric == CPU
    }

    fn found(findings: &[Finding], a: &str, b: &str) -> Found {
        let of = findings.iter().find(|f| (f.a.as_str(), f.b.as_str()) == (a, b));
        of.unwrap_or_else(|| panic!("{a} beside {b}: {findings:?}")).finding
    }

    fn by_rounds(alpha: f64) -> Basis {
        Basis::Rounds { complete: 12, needed: 6, alpha, earlier: Vec::new() }
    }

    #[test]
    fn who_needs_more_is_found_at_a_fifth_of_the_error_and_no_headline_is_asked() {
        let (plan, data) = (plan(), rounds());
        let findings = findings(&plan, &data, &verdict(by_rounds(0.05)), &is_cpu);
        assert!(findings.len() == 3 && findings.iter().all(|f| f.metric == CPU), "{findings:?}");
        assert_eq!(found(&findings, "lean", "busy"), Found::Better);
        assert_ne!(found(&findings, "lean", "alike"), Found::Better);
        assert_ne!(found(&findings, "lean", "alike"), Found::Worse);
        let at = |alpha| {
            rounds::findings_on(&plan, &data, Interim { rounds: 12, alpha }, &|s: &Series| s.name == CPU)
        };
        assert_eq!(findings, at(0.01));
        let width = |findings: &[Finding]| findings[0].high.unwrap_or(0.0) / findings[0].low.unwrap_or(1.0);
        assert!(width(&findings) > width(&at(0.05)), "a smaller error has wider intervals");
    }

    #[test]
    fn before_a_look_and_on_other_metrics_nothing_is_found() {
        let (plan, data) = (plan(), rounds());
        assert_eq!(findings(&plan, &data, &verdict(by_rounds(0.0)), &is_cpu), []);
        assert_eq!(findings(&plan, &data, &verdict(by_rounds(0.05)), &|_| false), []);
        let mut once = rounds();
        once.workloads[0].series.iter_mut().for_each(|series| series.once = true);
        assert_eq!(findings(&plan, &once, &verdict(by_rounds(0.05)), &is_cpu), []);
    }

    /// A trial on a modelled disk. The candidate `lean` waits for the disk for most of its time.
    fn on_model(label: &str, takes: f64, (round, purpose): (u32, Purpose)) -> Record {
        let mut record = Record { round, purpose, filesystem: label.into(), ..example::record() };
        let (_, text) = SHIPPED.iter().find(|(name, _)| *name == "hdd-16tb").expect("it is shipped");
        let spec = Spec::parse(text).expect("it is a disk");
        let point = round.checked_sub(2).map_or(Point::NOMINAL, |n| Point::corner(row(n as usize)));
        let modelled = Modelled {
            disk: "hdd-16tb".into(),
            blake3: String::new(),
            mips: purpose.cost().mips(1000),
            sample: spec.sample(point, 1, round - 1),
            ensemble: true,
            guest_seed: 7,
            disks: 1,
            machine: String::new(),
            instructions: vec![],
            source: false,
            server_work: purpose.server_work(),
            write_through: false,
            preconditioned: false,
        };
        record.storage = Named::new("disk", &modelled).into();
        record.clock = ClockKind::Virtual;
        record.workload_seed = if let Purpose::Reseeded(n) = purpose { n.into() } else { 0 };
        let held = if label == "busy" { 100 } else { 900 };
        let counters = ["reads", "queued", "streams", "flushes", "copying"]
            .map(|kind| (format!("waited_{kind}_ns"), if kind == "queued" { held } else { 0 }));
        let probes = [("disk".to_owned(), counters.into())].into();
        record.stages = vec![StageRecord { window_ns: Some([0, 1000]), probes, ..StageRecord::default() }];
        record.works.iter_mut().for_each(|work| work.measured = true);
        let seconds = takes * 1000.0 / f64::from(modelled.mips);
        record.metrics = vec![Metric::new(CPU, seconds, "s", Of::Time, Better::Lower)];
        record
    }

    #[test]
    fn on_a_modelled_disk_it_holds_in_all_that_was_tried_and_no_error_of_the_disk_moves_it() {
        let all = |trials: &[(u32, Purpose)]| -> Vec<Record> {
            let of = |trial: &(u32, Purpose)| TAKES.map(|(label, takes)| on_model(label, takes, *trial));
            trials.iter().flat_map(of).collect()
        };
        let counted = all(&(1..=13).map(|round| (round, Purpose::Measure)).collect::<Vec<_>>());
        let plain = [Purpose::Doubled, Purpose::Tripled, Purpose::Dear, Purpose::Cheap];
        let seeds = (1..=RESEEDED).map(Purpose::Reseeded);
        let extras = all(&plain.into_iter().chain(seeds).map(|extra| (1, extra)).collect::<Vec<_>>());
        let mut values = |label: &str, _: f64| {
            let mine = counted.iter().filter(|record| record.filesystem == label);
            mine.map(|r| Value { trial: "".into(), round: r.round, value: r.metrics[0].value }).collect()
        };
        let series = vec![series(CPU, false, &mut values)];
        let (counted, extras) = (counted.iter().collect(), extras.iter().collect());
        let data = dataset(Work { label: "w".into(), counted, extras, series });
        let basis = Basis::Samples { complete: 13, needed: 13 };
        let findings = findings(&plan(), &data, &verdict(basis), &is_cpu);
        assert_eq!(found(&findings, "lean", "alike"), Found::Equivalent);
        let busy = findings.iter().find(|f| f.b == "busy").expect("it is compared");
        let Evidence::Samples { a_better: 13, model_error: None, refuted: None, .. } = &busy.evidence else {
            panic!("{busy:?}");
        };
        assert_eq!(busy.finding, Found::Better);
    }
}
