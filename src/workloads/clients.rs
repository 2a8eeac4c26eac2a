//! Several clients of one work: their seeds and folders, and their combined results.
//!
//! ```text
//! client 0      │ create ─────── │ transactions ────────────────── │ delete ── │
//! client 1       │ create ───── │ transactions ──────────────── │ delete ─── │
//! all           [ create ───────][ … ]                            from the first one's start to the last one's end
//! ```
//! Clients start together and do not wait for each other between phases, so their phases overlap.

use std::collections::BTreeMap;

use rand_core::Rng;

use super::{Amount, Client, ClientPhase, Phase, Work};
use crate::schema::event::{Buckets, Stepped, Switches};
use crate::schema::random::seeded;
use crate::schema::units::sum;

/// The largest number of clients. Each client takes memory, and descriptors of the agent.
pub const MOST: u32 = 1024;

/// A client's folder, below the folder that a single client would use.
pub fn folder(client: u32) -> String {
    format!("c{client}")
}

/// A client's seed. The first client has the workload's seed; no seed depends on the number of clients.
pub fn seed(seed: u64, client: u32) -> u64 {
    match client {
        0 => seed,
        n => seeded(&[b"client", &seed.to_le_bytes(), &n.to_le_bytes()]).next_u64() >> 1,
    }
}

/// The amount of work of all clients.
pub fn amount(work: &dyn Work, seed: u64, clients: u32) -> Amount {
    (0..clients).map(|client| work.amount(self::seed(seed, client))).fold(Amount::default(), together)
}

/// Estimates the amount of work fast and in little memory, as if each client had as much to do as the first client.
pub fn expected(work: &dyn Work, seed: u64, clients: u32) -> Amount {
    let one = work.expected(seed);
    let all = |n: u64| n.saturating_mul(clients.into());
    Amount {
        files_peak: all(one.files_peak),
        bytes_read: all(one.bytes_read),
        bytes_written: all(one.bytes_written),
        bytes_peak: all(one.bytes_peak),
    }
}

fn together(one: Amount, other: Amount) -> Amount {
    Amount {
        files_peak: one.files_peak.saturating_add(other.files_peak),
        bytes_read: one.bytes_read.saturating_add(other.bytes_read),
        bytes_written: one.bytes_written.saturating_add(other.bytes_written),
        bytes_peak: one.bytes_peak.saturating_add(other.bytes_peak),
    }
}

/// Each phase from the first client's start to the last one's end, with summed counts.
pub fn phases(clients: &[Client]) -> Vec<Phase> {
    windows(clients).into_iter().map(|(phase, began, ended)| Phase { ns: ended - began, ..phase }).collect()
}

/// The phases of all clients, shortened so that they do not overlap: their durations add up to the time in which any client was
/// in a phase.
pub fn phases_apart(clients: &[Client]) -> Vec<Phase> {
    let mut windows = windows(clients);
    windows.sort_by_key(|(_, began, ended)| (*began, *ended));
    let mut until = 0;
    let apart = windows.into_iter().map(|(phase, began, ended)| {
        let ns = ended.saturating_sub(began.max(until));
        until = ended.max(until);
        Phase { ns, ..phase }
    });
    apart.collect()
}

/// The phases in the order of their first start, each with its start and end over all clients.
fn windows(clients: &[Client]) -> Vec<(Phase, u64, u64)> {
    let mut all: Vec<(Phase, u64, u64)> = Vec::new();
    for told in clients.iter().flat_map(|client| &client.phases) {
        let (began, ended) = (told.began_ns(), told.ended_ns);
        match all.iter_mut().find(|(phase, ..)| phase.name == told.phase.name) {
            None => all.push((told.phase.clone(), began, ended)),
            Some((phase, first, last)) => {
                count(phase, told);
                (*first, *last) = ((*first).min(began), (*last).max(ended));
            }
        }
    }
    all
}

fn count(phase: &mut Phase, told: &ClientPhase) {
    for (name, n) in &told.phase.counts {
        let known = phase.counts.or_default(name);
        *known = known.saturating_add(*n);
    }
}

/// The cost of all clients, from the first one's start to the last one's end.
pub fn cost(clients: &[Client]) -> Stepped {
    let began = clients.iter().map(|client| client.began_ns).min().unwrap_or(0);
    let ended = clients.iter().map(|client| client.ended_ns).max().unwrap_or(0);
    let all = |of: fn(&Stepped) -> u64| sum(clients.iter().map(|client| of(&client.cost)));
    Stepped {
        step: clients.first().map(|client| client.cost.step).unwrap_or_default(),
        ns: ended.saturating_sub(began),
        user_ns: all(|cost| cost.user_ns),
        sys_ns: all(|cost| cost.sys_ns),
        minflt: all(|cost| cost.minflt),
        majflt: all(|cost| cost.majflt),
        status: 0,
        work: None,
        switches: known_of_all(clients, |cost| cost.switches, Switches::plus),
        waited_ns: known_of_all(clients, |cost| cost.waited_ns, u64::saturating_add),
    }
}

/// The sum over all clients; `None` if a client has no value.
fn known_of_all<T>(clients: &[Client], of: fn(&Stepped) -> Option<T>, plus: fn(T, T) -> T) -> Option<T> {
    let each = clients.iter().map(|client| of(&client.cost));
    each.reduce(|a, b| a.zip(b).map(|(a, b)| plus(a, b))).flatten()
}

/// Merges the histograms: one for each operation, with the counts of equal values added.
pub fn histograms(told: impl IntoIterator<Item = Buckets>) -> Vec<Buckets> {
    let mut all: Vec<(Buckets, BTreeMap<u64, u64>)> = Vec::new();
    for mut one in told {
        let buckets = std::mem::take(&mut one.buckets);
        let at = all.iter().position(|(known, _)| *known == one).unwrap_or_else(|| {
            all.push((one, BTreeMap::new()));
            all.len() - 1
        });
        for (highest, n) in buckets {
            let known = all[at].1.entry(highest).or_default();
            *known = known.saturating_add(n);
        }
    }
    all.into_iter().map(|(of, counts)| Buckets { buckets: counts.into_iter().collect(), ..of }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &str, began: u64, ended: u64, files: u64) -> ClientPhase {
        let counts = [("files".to_owned(), files)].into();
        ClientPhase { ended_ns: ended, phase: Phase { name: name.into(), ns: ended - began, counts } }
    }

    fn client(client: u32, phases: Vec<ClientPhase>) -> Client {
        let (began_ns, ended_ns) = (phases[0].began_ns() - 1, phases[phases.len() - 1].ended_ns + 1);
        let cost = Stepped { ns: ended_ns - began_ns, user_ns: 5, minflt: 2, ..Stepped::default() };
        Client { client, began_ns, ended_ns, phases, cost }
    }

    fn two() -> [Client; 2] {
        [
            client(0, vec![phase("create", 101, 200, 10), phase("delete", 200, 300, 10)]),
            client(1, vec![phase("create", 110, 260, 9), phase("delete", 270, 290, 9)]),
        ]
    }

    #[test]
    fn a_phase_of_all_goes_from_the_first_begin_to_the_last_end() {
        let seen = phases(&two());
        let seen: Vec<_> = seen.iter().map(|p| (p.name.as_str(), p.ns, p.count("files"))).collect();
        assert_eq!(seen, [("create", 159, 19), ("delete", 100, 19)]);
        let cost = cost(&two());
        assert_eq!((cost.ns, cost.user_ns, cost.minflt), (301 - 100, 10, 4));
    }

    #[test]
    fn phases_apart_last_as_long_as_any_client_was_in_one() {
        let seen = phases_apart(&two());
        assert_eq!(seen.iter().map(|p| p.ns).collect::<Vec<_>>(), [159, 40]);
        let apart = [client(0, vec![phase("a", 10, 20, 1)]), client(0, vec![phase("b", 50, 55, 1)])];
        assert_eq!(phases_apart(&apart).iter().map(|p| p.ns).sum::<u64>(), 15, "what lies between is none");
    }

    #[test]
    fn one_client_alone_did_what_it_told() {
        let [first, _] = two();
        let told: Vec<Phase> = first.phases.iter().map(|told| told.phase.clone()).collect();
        assert_eq!((phases(std::slice::from_ref(&first)), phases_apart(&[first])), (told.clone(), told));
    }

    #[test]
    fn histograms_of_one_operation_are_added_up_bucket_by_bucket() {
        let of = |operation: &str, buckets: &[(u64, u64)]| Buckets {
            of: None,
            phase: "p".into(),
            operation: operation.into(),
            unit: "ns".into(),
            buckets: buckets.to_vec(),
        };
        let told = [of("read", &[(8, 1), (16, 2)]), of("stat", &[(8, 4)]), of("read", &[(4, 1), (16, 1)])];
        let seen = histograms(told);
        assert_eq!(seen, [of("read", &[(4, 1), (8, 1), (16, 3)]), of("stat", &[(8, 4)])]);
    }

    #[test]
    fn the_first_client_has_the_works_own_seed_and_no_two_the_same() {
        let seeds: Vec<u64> = (0..100).map(|client| seed(7, client)).collect();
        let mut distinct = seeds.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!((seeds[0], distinct.len()), (7, 100));
        assert_ne!(seed(8, 1), seeds[1]);
    }

    #[test]
    fn several_have_each_all_of_the_work() {
        let engine = super::super::engine("postmark").unwrap();
        let work = engine.parse(&"number = 50\ntransactions = 80".parse().unwrap()).unwrap();
        assert_eq!(amount(&*work, 7, 1), work.amount(7));
        let [one, other] = [0, 1].map(|client| work.amount(seed(7, client)));
        let both = amount(&*work, 7, 2);
        assert_eq!(both.bytes_written, one.bytes_written + other.bytes_written);
        assert_ne!(one, other, "each draws from a seed of its own");
        assert_eq!(expected(&*work, 7, 3).bytes_peak, 3 * work.expected(7).bytes_peak);
    }
}
