//! What a guest's modelled disk did: where its mechanism's time went, and what it moved.

use serde_json::Value;

use super::{NotAvailable, Probe, Raw, Running, Site};
use crate::storage::disk::{Totals, totals};
use crate::story::Story;

pub struct ModelledDisk;

impl Probe for ModelledDisk {
    fn name(&self) -> &'static str {
        "disk"
    }

    fn story(&self) -> Story {
        Story {
            what: "What the modelled disk did: time spent seeking, turning, transferring and on commands, background work included; requests, \
                   sectors, cache hits; erases and copies of flash; answers that came late because the guest's CPU was busy.",
            origin: "The counters of the model itself (crates/diskmodel).",
            limits: "Of a model, not of a disk. Times of a RAID are sums over its members, those of flash sums over its dies.",
        }
    }

    fn open(&self, _site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable> {
        let before = totals().ok_or_else(|| NotAvailable("the disk is not modelled".into()))?;
        Ok(Box::new(Open(before)))
    }
}

struct Open(Totals);

impl Running for Open {
    fn start(&mut self) {
        self.0 = totals().unwrap_or(self.0);
    }

    fn stop(&mut self) -> Raw {
        let (before, after) = (flat(&self.0), flat(&totals().unwrap_or(self.0)));
        after
            .into_iter()
            .map(|(name, value)| (name.clone(), value - before.get(&name).unwrap_or(&0)))
            .collect()
    }
}

/// The counters by name.
fn flat(totals: &Totals) -> Raw {
    let Ok(Value::Object(counters)) = serde_json::to_value(totals) else { return Raw::new() };
    counters.into_iter().filter_map(|(name, value)| Some((name, value.as_u64()?))).collect()
}
