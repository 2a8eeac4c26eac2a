//! An experiment expanded: who takes part, on what, where, how often, in which order.
//!
//! The plan is a function, not a list: the order within a round is computed from a seed, open-ended, so that a budget, a
//! resumed run or a further round need no rewriting.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::power_cut::PowerCut;
use crate::schema::job::WorkSpec;
use crate::schema::setup::ImageState;
use crate::schema::setup::Variant;
use crate::schema::units::{Bytes, Percent, Span};
use crate::workloads;

/// The shape of `plan.toml`.
pub const SCHEMA: u32 = 1;

/// What `plan.toml` holds: everything that decides what a run does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub schema: u32,
    pub name: String,
    /// The question, as its author put it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub analysis: String,
    /// Resolved: never `auto`.
    pub testbed: String,
    pub size: Bytes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    pub image: ImageState,
    /// Whether a witness must show that every trial begins with empty caches.
    pub cold: bool,
    /// In each measured trial the power is cut then, and the recovery time measured in place of the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_cut: Option<PowerCut>,
    pub rounds: Rounds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Span>,
    pub margin: Percent,
    /// Decides the order.
    pub plan_seed: u64,
    /// Decides what the workloads draw; with the round it is the same for all filesystems.
    pub workload_seed: u64,
    #[serde(rename = "filesystem")]
    pub candidates: Vec<Candidate>,
    #[serde(rename = "workload")]
    pub workloads: Vec<PlannedWork>,
}

/// A row of the table: a kind with its options, under a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    pub label: String,
    pub kind: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub variant: Variant,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedWork {
    pub label: String,
    #[serde(flatten)]
    pub work: WorkSpec,
}

/// How many rounds: so many, or as many whole ones as the budget holds but never fewer than so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounds {
    Exactly(u32),
    AtLeast(u32),
}

impl Rounds {
    pub fn at_least(self) -> u32 {
        match self {
            Rounds::Exactly(n) | Rounds::AtLeast(n) => n,
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Plan {
    /// The order in which the filesystems take their turn: a shuffle from (seed, round, workload) of their indices.
    pub fn order(&self, round: u32, workload: &str) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.candidates.len()).collect();
        let mut random =
            seeded(&[b"order", &self.plan_seed.to_le_bytes(), &round.to_le_bytes(), workload.as_bytes()]);
        for last in (1..order.len()).rev() {
            order.swap(last, below(&mut random, last as u64 + 1) as usize);
        }
        order
    }

    /// The same plan where nothing is made: one row, for what is there.
    pub fn with_one_row(self, label: String, kind: String) -> Plan {
        Plan { candidates: vec![Candidate { label, kind, variant: Variant::default() }], ..self }
    }

    /// After how many operations of this work the power is cut; `None` where it is not.
    ///
    /// # Errors
    /// Where the work cannot be cut then.
    pub fn cut_after(&self, work: &PlannedWork) -> Result<Option<u64>, String> {
        let Some(cut) = self.power_cut else { return Ok(None) };
        let engine = workloads::engine(&work.work.engine).ok_or("this fsderby has no such workload")?;
        cut.after(&*engine.parse(&work.work.parameters)?).map(Some)
    }

    /// The seed that every filesystem's workload gets in this round.
    pub fn workload_seed(&self, round: u32) -> u64 {
        seeded(&[b"workload", &self.workload_seed.to_le_bytes(), &round.to_le_bytes()]).next_u64() >> 1
    }
}

/// Xoshiro256++ from the BLAKE3 of the parts, so that no part can run into the next.
fn seeded(parts: &[&[u8]]) -> Xoshiro256PlusPlus {
    let mut hash = blake3::Hasher::new();
    for part in parts {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    Xoshiro256PlusPlus::from_seed(*hash.finalize().as_bytes())
}

/// A whole number below `n`, each equally likely: draws from the incomplete last span are thrown away.
fn below(random: &mut impl Rng, n: u64) -> u64 {
    let whole = u64::MAX - u64::MAX % n;
    loop {
        let draw = random.next_u64();
        if draw < whole {
            return draw % n;
        }
    }
}
