//! Fairness among several clients of one work.

use std::collections::BTreeMap;

use crate::schema::declared::{Declared, Over, Section};
use crate::schema::event::Client;
use crate::schema::metric::{Better, Metric, Of};

static FAIRNESS: Declared = Declared {
    name: "clients.fairness",
    title: "fairness",
    of: Of::ShareOfTime,
    better: Better::Higher,
    section: Section::Own {
        title: "Clients",
        note: "Every client does all of the work in its own folder; all clients start together.",
    },
    over: Over::Work,
    explained: "The slowest client's rate ÷ the fastest client's rate. 1 is fair; at 0.5 one client needed twice as long as \
                another for the same amount of work.",
    key: true,
    ..Declared::ratio("slowest ÷ fastest")
};

pub fn declared() -> Vec<&'static Declared> {
    vec![&FAIRNESS]
}

/// The metrics of fairness; empty with fewer than two clients.
pub fn metrics(clients: &[Client]) -> Vec<Metric> {
    fairness(clients).map(|value| FAIRNESS.metric(value)).into_iter().collect()
}

/// Fairness among the clients, over all parts of the work.
fn fairness(clients: &[Client]) -> Option<f64> {
    let mut taken_ns: BTreeMap<u32, u64> = BTreeMap::new();
    for client in clients {
        let taken = taken_ns.entry(client.client).or_default();
        *taken = taken.saturating_add(client.ended_ns.saturating_sub(client.began_ns));
    }
    let (least, most) = (taken_ns.values().min()?, taken_ns.values().max()?);
    (taken_ns.len() > 1 && *most > 0).then(|| *least as f64 / *most as f64)
}
