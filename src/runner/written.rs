//! Bytes that the works of a trial write, known beforehand.

use std::collections::HashMap;

use super::jobs;
use super::resolved::Resolved;
use crate::schema::job::WorkJob;
use crate::schema::plan::Trial;
use crate::schema::work::Amount;
use crate::workloads::clients;

/// Cached amounts: computing one may be slow, and a run asks for the same ones repeatedly.
#[derive(Default)]
pub struct Amounts(HashMap<(String, u64, u32), Amount>);

impl Amounts {
    /// Bytes written by the trial's works.
    pub fn of(&mut self, plan: &Resolved<'_>, trial: &Trial<'_>) -> u64 {
        let (laid, works) = (plan.laid_of(trial), jobs::works(plan, trial));
        let whole = |(at, work): &(usize, &WorkJob)| works[..*at].iter().all(|before| before.of != work.of);
        let mut written = 0_u64;
        for (_, WorkJob { of, work, seed, clients, .. }) in works.iter().enumerate().filter(whole) {
            let expected = || clients::expected(&*laid.works[*of].work, *seed, *clients);
            let amount = self.0.entry((work.hash(), *seed, *clients)).or_insert_with(expected);
            written = written.saturating_add(amount.bytes_written);
        }
        written
    }

    /// Whether the amount of any work is unknown beforehand: it fills a volume, or runs programs.
    pub fn lack_one(&self) -> bool {
        self.0.values().any(|amount| *amount == Amount::default())
    }
}
