//! What the works of a job write, known before any of it is done.

use std::collections::HashMap;

use crate::schema::job::{Job, WorkJob};
use crate::schema::work::Amount;
use crate::workloads::{self, clients};

/// Of each work that was asked for: to know one may take a while, and a run asks for the same ones again and again.
#[derive(Default)]
pub struct Amounts(HashMap<(String, u64, u32), Amount>);

impl Amounts {
    /// Bytes that the works of the job write.
    pub fn of(&mut self, job: &Job) -> u64 {
        let whole =
            |(at, work): &(usize, &WorkJob)| job.works[..*at].iter().all(|before| before.of != work.of);
        let mut written = 0_u64;
        for (_, WorkJob { work, seed, clients, .. }) in job.works.iter().enumerate().filter(whole) {
            let expected = || {
                let parsed = workloads::parsed(work).ok();
                parsed.map_or_else(Amount::default, |w| clients::expected(&*w, *seed, *clients))
            };
            let amount = self.0.entry((work.hash(), *seed, *clients)).or_insert_with(expected);
            written = written.saturating_add(amount.bytes_written);
        }
        written
    }

    /// Whether any fills what it finds, so that it is known only when it is done.
    pub fn lack_one(&self) -> bool {
        self.0.values().any(|amount| *amount == Amount::default())
    }
}
