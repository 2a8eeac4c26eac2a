//! One candidate in one metric of one scenario, with the candidate's extra trials: the values with other seeds, and the part of the
//! candidate's time that scales with instruction cost.

use std::collections::BTreeSet;

use fsderby_stats::instructions::{Timed, moving};

use super::dataset::{Series, Work, log_ratio};
use super::steps;
use crate::schema::job::{Purpose, RESEEDED, StepName};
use crate::schema::record::Record;
use crate::schema::units::sum;

/// A candidate in a scenario and a metric, both of the candidate's own run.
#[derive(Clone, Copy)]
pub struct Entrant<'w> {
    pub work: &'w Work<'w>,
    pub series: &'w Series,
    pub label: &'w str,
}

impl<'w> Entrant<'w> {
    pub fn extra(&self, purpose: Purpose) -> Option<&'w Record> {
        self.work.extra(self.label, purpose)
    }

    pub fn first(&self) -> Option<&'w Record> {
        self.work.of_round(self.label, 1)
    }

    /// The logarithm of the metric's value in this record, oriented so that larger is better.
    pub fn log(&self, record: &Record) -> Option<f64> {
        Some(log_ratio(self.series.better, self.series.value_in(record)?, 1.0))
    }

    /// The candidate's trials with each of the six workload seeds, all on the first round's disk.
    pub fn seeds(&self) -> Option<Vec<&'w Record>> {
        let record = |seed: u8| match seed {
            0 => self.first(),
            n => self.extra(Purpose::Reseeded(n)),
        };
        (0..=RESEEDED).map(record).collect()
    }

    /// The logarithm of the candidate's value with each workload seed.
    pub fn seeded(&self) -> Option<Vec<f64>> {
        self.seeds()?.into_iter().map(|record| self.log(record)).collect()
    }

    /// The candidate's time on the assumed machine (the mean over the seeds, in a unit common to a pair), and the part of this
    /// time that scales with instruction cost.
    pub fn timed(&self) -> Option<Timed> {
        let logs = self.seeded()?;
        let time = (-logs.iter().sum::<f64>() / logs.len() as f64).exp();
        let [dear, cheap] = [Purpose::Dear, Purpose::Cheap].map(|purpose| self.extra(purpose));
        let (dear, cheap) = (dear?, cheap?);
        let apart = f64::from(cheap.sampled()?.mips) / f64::from(dear.sampled()?.mips);
        let [dear, cheap] = [self.log(dear)?, self.log(cheap)?].map(|log| (-log).exp());
        Some(Timed { time, moving: moving(time, dear, cheap, apart.ln()), shared: 0.0 })
    }

    /// The share of the work's time that the workload's process spent in user mode, as the mean over the seeds; 0 if not counted.
    /// The share is counted over the whole work and assumed equal in each phase.
    pub fn own_share(&self) -> f64 {
        let records = self.seeds().unwrap_or_default();
        let shares: f64 = records.iter().map(|record| self.own_share_in(record)).sum();
        shares / records.len().max(1) as f64
    }

    fn own_share_in(&self, record: &Record) -> f64 {
        let Some(of) = self.series.work_in(record) else { return 0.0 };
        let steps = || steps::of_work(record, of, StepName::Work);
        let (user, whole) = (sum(steps().map(|step| step.user_ns)), sum(steps().map(|step| step.ns)));
        (user as f64 / whole.max(1) as f64).min(1.0)
    }
}

/// For each seed, the mean logarithm over all candidates that were tried with all seeds. With another seed the work is different,
/// which shifts all candidates alike.
pub fn means<'w>(all: impl Iterator<Item = Entrant<'w>>) -> Vec<f64> {
    let all: Vec<Vec<f64>> = all.filter_map(|entrant| entrant.seeded()).collect();
    let mean = |seed: usize| all.iter().map(|logs| logs[seed]).sum::<f64>() / all.len() as f64;
    (0..=usize::from(RESEEDED)).map(mean).collect()
}

/// All candidates of one metric of one scenario.
pub fn entrants<'w>(work: &'w Work<'w>, series: &'w Series) -> impl Iterator<Item = Entrant<'w>> {
    let labels: BTreeSet<&str> = work.extras.iter().map(|record| record.filesystem.as_str()).collect();
    labels.into_iter().map(move |label| Entrant { work, series, label })
}
