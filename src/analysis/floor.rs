//! Measures how much disk-model overhead is in a ratio of two candidates, and allows for it.
//!
//! ```text
//! log ratio   ·  1×: every round     ·  2×, 3×: one trial each, on the first round's disk
//!             └──────────────────────┴──▶ the line through them at 0×, and how far it may be wrong
//!             └── and no farther than the server's own CPU time moves it, if that time and chance explain 2× and 3×
//! ```
//! Single trials also differ by chance, as other seeds do, and the line through three of them takes chance for overhead. The CPU
//! time of the server's threads is counted in each trial; without the server a trial takes at most that much less.

use fsderby_stats::floor::{at_most, explains, to_zero};

use super::dataset::{Series, log_ratio};
use super::entrant::Entrant;
use super::metrics;
use super::steps;
use crate::probes::{Probe, modelled_disk::ModelledDisk};
use crate::schema::declared::{self, Over};
use crate::schema::event::Stepped;
use crate::schema::finding::Floor;
use crate::schema::job::{Purpose, StepName};
use crate::schema::metric::WORK;
use crate::schema::record::{Record, StageRecord};
use crate::schema::units::sum;
use crate::workloads;

/// The overhead of a request ÷ the CPU time that the server's thread takes for it. ublk's part in the requesting thread and the
/// switches to the server and back are not in the thread's time: on a disk of zero cost they are less than as much again.
const PER_CPU_TIME: f64 = 2.0;

/// The overhead of a pair.
#[derive(Clone, Debug, PartialEq)]
pub enum Excess {
    /// The metric is not a time, so its figures contain no overhead, or both figures contain the same overhead.
    None,
    NotMeasured,
    Measured {
        floor: Floor,
        /// Speed of the CPU on which the overhead was measured.
        mips: u32,
        /// What the server's CPU time allows on every sample; `None` if it was not counted, or does not explain what was seen.
        cap: Option<Slack>,
    },
}

/// How far a ratio may differ from its measured value, as logarithms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slack {
    pub least: f64,
    pub most: f64,
}

/// The overhead for two candidates in one metric of one scenario.
pub fn of(a: &Entrant<'_>, b: &Entrant<'_>) -> Excess {
    if !a.series.of.is_time() {
        return Excess::None;
    }
    let measured = || {
        let (ours, theirs) = (points(a)?, points(b)?);
        let logs: [f64; 3] =
            std::array::from_fn(|at| log_ratio(a.series.better, ours.values[at], theirs.values[at]));
        Some(measured(logs, ours.mips, cap(a, b, logs)))
    };
    measured().unwrap_or(Excess::NotMeasured)
}

/// The overhead, from the log ratios with the disk server's work done once, twice and three times, and from what the server's CPU
/// time allows.
pub fn measured(logs: [f64; 3], mips: u32, cap: Option<Slack>) -> Excess {
    let found = to_zero(logs);
    let moved = found.at_zero - logs[0];
    let extrapolated = Floor {
        ratios: logs.map(f64::exp),
        without: found.at_zero.exp(),
        bound: found.bound.exp_m1(),
        moves: (moved.abs() + found.bound).exp_m1(),
        capped: false,
    };
    let capped = |cap: Slack| {
        let [least, most] = [-1.0, 1.0].map(|way| (moved + way * found.bound).clamp(cap.least, cap.most));
        let at_zero = moved.clamp(least, most);
        Floor {
            without: (logs[0] + at_zero).exp(),
            bound: (most - at_zero).max(at_zero - least).exp_m1(),
            moves: least.abs().max(most.abs()).exp_m1(),
            capped: true,
            ..extrapolated.clone()
        }
    };
    let floor = cap.map_or_else(|| extrapolated.clone(), capped);
    Excess::Measured { floor, mips, cap }
}

/// The largest shift that the server's CPU time allows, over all samples. `None` if a trial did not count it, if the metric's time
/// is not known, or if the ratios with the server's work done twice and three times show a larger effect than this time and chance
/// have.
fn cap(a: &Entrant<'_>, b: &Entrant<'_>, logs: [f64; 3]) -> Option<Slack> {
    let seeds = a.seeded()?.into_iter().zip(b.seeded()?);
    let (least, most) = fsderby_stats::range(&seeds.map(|(a, b)| a - b).collect::<Vec<_>>())?;
    let shares = [largest_share(a)?, largest_share(b)?];
    explains(logs, shares, most - least).then_some(())?;
    let (least, most) = at_most(shares)?;
    Some(Slack { least, most })
}

/// The largest share of the metric's time that the server's work took, over the candidate's trials in which it was done once.
fn largest_share(of: &Entrant<'_>) -> Option<f64> {
    let all = of.work.counted.iter().chain(&of.work.extras);
    let once = all.filter(|record| record.filesystem == of.label && record.purpose.server_work() == 1);
    let shares: Option<Vec<f64>> = once.map(|record| share(of.series, record)).collect();
    shares?.into_iter().reduce(f64::max)
}

/// The server's work during the whole work and its sync ÷ the time that the metric covers.
fn share(series: &Series, record: &Record) -> Option<f64> {
    let of = series.work_in(record)?;
    let stages: Vec<&StageRecord> = record.measured().filter(|stage| stage.of == of).collect();
    let server: Option<Vec<u64>> =
        stages.iter().map(|stage| stage.probe(ModelledDisk.name(), "server_ns")).collect();
    let time = covered_ns(series, record, of, &stages)?;
    Some(PER_CPU_TIME * sum(server?) as f64 / time as f64)
}

/// The time that a metric of a work covers, in nanoseconds; `None` if it is unknown, as for a part of the phases, for clients whose
/// phases overlap, or for a program that measures its time itself.
fn covered_ns(series: &Series, record: &Record, of: usize, stages: &[&StageRecord]) -> Option<u64> {
    let work = &record.works.get(of)?.work;
    let of_part =
        series.dimensions.split(", ").any(|pair| pair.split_once('=').is_some_and(|(name, _)| name != WORK));
    let is_whole = !of_part && stages.iter().all(|stage| stage.by_client.is_empty());
    let is_own = workloads::parsed(work).is_ok_and(|work| work.programs().is_empty());
    let declared = metrics::declared_of(&work.engine);
    let over = declared::find(&declared, &series.name).filter(|_| is_whole && is_own)?.over;
    let phases = |is_in: &dyn Fn(&str) -> bool| {
        let all = stages.iter().flat_map(|stage| &stage.phases).filter(|phase| is_in(&phase.name));
        sum(all.map(|phase| phase.ns))
    };
    let step = |name| sum(steps::of_work(record, of, name).map(|step: &Stepped| step.ns));
    let ns = match over {
        Over::Phase(name) => phases(&|phase| phase == name),
        Over::Phases => phases(&|_| true),
        Over::Work => step(StepName::Work),
        Over::WorkAndSync => step(StepName::Work) + step(StepName::Sync),
        Over::Part | Over::Steps(_) | Over::Moment => 0,
    };
    (ns > 0).then_some(ns)
}

impl Excess {
    /// How far the overhead may shift a ratio on a CPU of this speed. The disk server's instruction count is fixed, so the server
    /// takes longer on a slower CPU; how this affects the ratio depends on the CPU's other work. The slack spans the overhead at
    /// both speeds, and the measured ratio, because a finding must hold with and without the server.
    pub fn slack(&self, mips: u32) -> Slack {
        let Excess::Measured { floor, mips: measured, cap } = self else { return Slack::default() };
        let moved = (floor.without / floor.ratios[0]).ln();
        let slower = f64::from(*measured) / f64::from(mips.max(1));
        let bound = floor.bound.ln_1p() * slower.max(1.0);
        let (here, there) = (moved, moved * slower);
        let extrapolated =
            Slack { least: (here.min(there) - bound).min(0.0), most: (here.max(there) + bound).max(0.0) };
        match cap {
            Some(cap) => {
                Slack { least: extrapolated.least.max(cap.least), most: extrapolated.most.min(cap.most) }
            }
            None => extrapolated,
        }
    }

    pub fn floor(&self) -> Option<Floor> {
        match self {
            Excess::Measured { floor, .. } => Some(floor.clone()),
            Excess::None | Excess::NotMeasured => None,
        }
    }
}

/// A candidate's value with the disk server's work done once, twice and three times.
struct Points {
    values: [f64; 3],
    mips: u32,
}

fn points(entrant: &Entrant<'_>) -> Option<Points> {
    let Entrant { work, series, label } = *entrant;
    let (doubled, tripled) = (work.extra(label, Purpose::Doubled)?, work.extra(label, Purpose::Tripled)?);
    let once = work.of_round(label, doubled.round)?;
    let values = [series.value_in(once)?, series.value_in(doubled)?, series.value_in(tripled)?];
    Some(Points { values, mips: once.sampled()?.mips })
}

#[cfg(test)]
mod tests {

    use fsderby_diskmodel::Sample;

    use super::*;
    use crate::analysis::dataset::Work;
    use crate::analysis::tests::example::record;
    use crate::schema::event::Phase;
    use crate::schema::job::RESEEDED;
    use crate::schema::metric::{Better, Metric, Of};
    use crate::schema::setup::{Modelled, Named};
    use crate::schema::shared::Keyed;

    fn measured(logs: [f64; 3]) -> Excess {
        super::measured(logs, 2000, None)
    }

    fn floor(logs: [f64; 3]) -> Floor {
        measured(logs).floor().unwrap()
    }

    #[test]
    fn what_the_server_adds_is_said_as_a_share_of_the_ratio() {
        let found = floor([0.10, 0.08, 0.06]);
        assert!((found.without.ln() - 0.12).abs() < 1e-12 && found.bound.abs() < 1e-12, "{found:?}");
        assert!((found.moves - 0.02_f64.exp_m1()).abs() < 1e-12, "{found:?}");
        let bent = floor([0.10, 0.08, 0.063]);
        assert!((bent.bound.ln_1p() - 0.01).abs() < 1e-12, "{bent:?}");
    }

    #[test]
    fn on_a_slower_cpu_it_may_be_as_many_times_larger_and_on_a_faster_one_is_not_taken_for_smaller() {
        let excess = measured([0.10, 0.08, 0.06]);
        let near = |slack: Slack, least: f64, most: f64| {
            assert!((slack.least - least).abs() < 1e-12 && (slack.most - most).abs() < 1e-12, "{slack:?}");
        };
        near(excess.slack(2000), 0.0, 0.02);
        near(excess.slack(1000), 0.0, 0.04);
        near(excess.slack(4000), 0.0, 0.02);
        near(measured([0.10, 0.12, 0.14]).slack(1000), -0.04, 0.0);
    }

    #[test]
    fn a_bend_counts_both_ways() {
        let slack = measured([0.10, 0.10, 0.103]).slack(2000);
        assert!(slack.least < -0.004 && slack.most > 0.002, "{slack:?}");
        assert_eq!(Excess::None.slack(500), Slack::default());
    }

    /// Stored verdicts are compared to the bit.
    #[test]
    fn without_a_cap_the_figures_are_those_of_the_line() {
        let logs = [0.123, -0.456, 0.0789];
        let found = to_zero(logs);
        let own = floor(logs);
        assert!(!own.capped && own.without == found.at_zero.exp() && own.bound == found.bound.exp_m1());
        assert_eq!(own.moves, ((found.at_zero - logs[0]).abs() + found.bound).exp_m1());
    }

    #[test]
    fn what_the_servers_time_allows_limits_a_bound_of_chance_on_every_cpu() {
        let cap = Slack { least: -0.02, most: 0.01 };
        let excess = super::measured([0.10, 0.30, 0.05], 1000, Some(cap));
        let floor = excess.floor().unwrap();
        assert!(floor.capped && floor.moves <= 0.02_f64.exp_m1() + 1e-12, "{floor:?}");
        assert_eq!([500, 1000, 2000].map(|mips| excess.slack(mips)), [cap; 3]);
        // A narrower line stays.
        let narrow = super::measured([0.10, 0.099, 0.098], 1000, Some(cap));
        let slack = narrow.slack(1000);
        assert!(slack.least > -1e-9 && (slack.most - 0.001).abs() < 1e-9, "{slack:?}");
    }

    /// Two candidates at 100 and 80 operations per second for ten seconds; 0.1 s of each trial is the server's.
    struct Made {
        records: Vec<Record>,
    }

    impl Made {
        fn new() -> Made {
            let seeds = (1..=RESEEDED).map(Purpose::Reseeded);
            let purposes = [Purpose::Measure, Purpose::Doubled, Purpose::Tripled].into_iter().chain(seeds);
            let both = purposes.flat_map(|purpose| [("a", 100.0), ("b", 80.0)].map(|one| (purpose, one)));
            Made { records: both.map(|(purpose, (label, rate))| trial(purpose, label, rate)).collect() }
        }

        /// The trial of `a` with that purpose.
        fn of_a(&mut self, purpose: Purpose) -> &mut Record {
            let mut all = self.records.iter_mut();
            all.find(|record| record.purpose == purpose && record.filesystem == "a").expect("there is one")
        }

        fn cap(&self) -> Option<Slack> {
            let (counted, extras) = self.records.iter().partition(|r| r.purpose == Purpose::Measure);
            let series = Series::named_as(&self.records[0].metrics[0]);
            let work = Work { label: "w".into(), counted, extras, series: Vec::new() };
            let [a, b] = ["a", "b"].map(|label| Entrant { work: &work, series: &series, label });
            match of(&a, &b) {
                Excess::Measured { cap, .. } => cap,
                other => panic!("{other:?}"),
            }
        }
    }

    fn trial(purpose: Purpose, label: &str, rate: f64) -> Record {
        let mut record = record();
        (record.purpose, record.filesystem) = (purpose, label.to_owned());
        record.works[0].measured = true;
        let phases = vec![Phase { name: "transactions".into(), ns: 10_000_000_000, ..Phase::default() }];
        let probes = [("disk".to_owned(), [("server_ns".to_owned(), 100_000_000)].into())].into();
        record.stages = vec![StageRecord { phases, probes, ..StageRecord::default() }];
        let metric = Metric::new("transactions.rate", rate, "1/s", Of::Time, Better::Higher);
        record.metrics = vec![metric.headline()];
        let modelled = Modelled {
            disk: "d".into(),
            blake3: String::new(),
            mips: 1000,
            sample: Sample::NOMINAL,
            ensemble: true,
            guest_seed: 0,
            disks: 1,
            machine: "m".into(),
            instructions: Vec::new(),
            source: false,
            server_work: purpose.server_work(),
            write_through: false,
            preconditioned: false,
        };
        record.storage = Named::new("disk", &modelled).into();
        record
    }

    fn counters(record: &mut Record) -> &mut Keyed<u64> {
        record.stages[0].probes.get_mut("disk").expect("the disk's")
    }

    #[test]
    fn the_servers_time_is_counted_over_every_trial_in_which_it_works_once() {
        let near = |cap: Option<Slack>, share_of_a: f64| {
            let cap = cap.expect("a cap");
            assert!((cap.most + (1.0 - share_of_a).ln()).abs() < 1e-9, "{cap:?}");
            assert!((cap.least - (1.0_f64 - 0.02).ln()).abs() < 1e-9, "{cap:?}");
        };
        let mut made = Made::new();
        near(made.cap(), 0.02);
        *counters(made.of_a(Purpose::Reseeded(3))).get_mut("server_ns").unwrap() = 150_000_000;
        near(made.cap(), 0.03);
        // The trials that repeat its work count the repetition as well.
        *counters(made.of_a(Purpose::Tripled)).get_mut("server_ns").unwrap() = 5_000_000_000;
        near(made.cap(), 0.03);
    }

    #[test]
    fn without_the_servers_time_or_beyond_it_nothing_is_limited() {
        let none = |change: &dyn Fn(&mut Made)| {
            let mut made = Made::new();
            change(&mut made);
            assert_eq!(made.cap(), None);
        };
        none(&|made| {
            counters(made.of_a(Purpose::Measure)).remove("server_ns");
        });
        none(&|made| made.of_a(Purpose::Measure).stages[0].phases[0].name = "delete".into());
        none(&|made| made.of_a(Purpose::Doubled).metrics[0].value = 90.0);
        none(&|made| {
            counters(made.of_a(Purpose::Measure)).insert("server_ns".into(), 6_000_000_000);
        });
        // As much as other seeds do is chance.
        let mut made = Made::new();
        made.of_a(Purpose::Doubled).metrics[0].value = 90.0;
        made.of_a(Purpose::Reseeded(1)).metrics[0].value = 89.0;
        assert!(made.cap().is_some());
    }
}
