//! What the works of a trial do, known beforehand.

use std::collections::HashMap;

use super::jobs;
use super::resolved::Resolved;
use crate::schema::job::{WorkJob, WorkSpec};
use crate::schema::plan::Trial;
use crate::schema::work::Amount;
use crate::workloads::clients;

/// The expected work of a trial, over all its works and clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Of both, those of works that copy from a second disk.
    pub bytes_copied: u64,
    /// Most bytes and files that exist at a time.
    pub bytes_peak: u64,
    pub files_peak: u64,
    pub operations: u64,
    pub syncs: u64,
    /// Bytes with which the filesystem is filled before the works.
    pub filled: u64,
}

/// Cached amounts: computing one may be slow, and a run asks for the same ones repeatedly.
#[derive(Default)]
pub struct Amounts(HashMap<(String, u64, u32), Amount>);

impl Amounts {
    pub fn of(&mut self, plan: &Resolved<'_>, trial: &Trial<'_>) -> Expected {
        let (laid, works) = (plan.laid_of(trial), jobs::works(plan, trial));
        let whole = |(at, work): &(usize, &WorkJob)| works[..*at].iter().all(|before| before.of != work.of);
        let state = &plan.of_candidate(trial.candidate).state;
        let filled = state.content(plan.setup(trial.candidate).size).0;
        let fills = |work: &WorkSpec| filled > 0 && state.works().iter().any(|known| known.work == *work);
        let mut all = Expected { filled, ..Expected::default() };
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        for (_, WorkJob { of, work, seed, clients, .. }) in works.iter().enumerate().filter(whole) {
            if fills(work) {
                continue;
            }
            let known = &*laid.works[*of].work;
            let expected = || clients::expected(known, *seed, *clients);
            let amount = *self.0.entry((work.hash(), *seed, *clients)).or_insert_with(expected);
            add(&mut all.bytes_read, amount.bytes_read);
            add(&mut all.bytes_written, amount.bytes_written);
            if laid.works[*of].copies_from_beside() {
                add(&mut all.bytes_copied, amount.bytes_read.saturating_add(amount.bytes_written));
            }
            add(&mut all.bytes_peak, amount.bytes_peak);
            add(&mut all.files_peak, amount.files_peak);
            add(&mut all.operations, known.operations().saturating_mul((*clients).into()));
            add(&mut all.syncs, known.syncs().saturating_mul((*clients).into()));
        }
        all
    }

    /// Whether the amount of any work is unknown beforehand: it fills a volume, or runs programs.
    pub fn lack_one(&self) -> bool {
        self.0.values().any(|amount| *amount == Amount::default())
    }
}
