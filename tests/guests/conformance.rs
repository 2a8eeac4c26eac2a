//! Each filesystem, each engine and each layer in a guest, and what its record must hold there; `make nightly` has all pairs in
//! `conformance_vm` and `conformance_model`.

use fsderby::probes;
use fsderby::schema::job::{At, Purpose};
use fsderby::schema::reason::{Held, Outcome};
use fsderby::schema::record::Record;
use fsderby::schema::setup::ClockKind;
use fsderby::store::Run;

use crate::support::conformance;

#[test]
fn each_filesystem_keeps_in_a_guest_what_engines_one_three_and_so_on_wrote() {
    conformance::each_in_guests(ClockKind::Guest, 0, keeps);
}

#[test]
fn each_filesystem_keeps_in_a_guest_what_engines_two_four_and_so_on_wrote() {
    conformance::each_in_guests(ClockKind::Guest, 1, keeps);
}

#[test]
fn what_is_tried_in_guests_leaves_no_row_out() {
    conformance::leaves_no_row_out();
}

/// Content, counters, the host's side, and what it was made from.
fn keeps(run: &Run) {
    let is_check = |r: &&Record| r.purpose == Purpose::Integrity && r.outcome == Outcome::Done;
    for record in run.current().into_iter().filter(is_check) {
        let name = &record.trial;
        let hash = |at| record.trees.iter().find(|t| t.at == at).map(|t| t.hash.as_str());
        assert!(
            hash(At::Filled).is_some_and(|h| Some(h) == hash(At::Remounted)),
            "{name}: {:?}",
            record.trees
        );
        let held = |title: &str| record.validity.iter().find(|c| c.name.title() == title).map(|c| c.held);
        assert_eq!(held("read-back"), Some(Held::Yes), "{name}");
        assert!(probes::counted(record, "block_io", "writes").is_some(), "{name} has no counters");
        for check in ["host cache", "host counters"] {
            assert_eq!(held(check), Some(Held::Yes), "{name}: {check}: {:?}", record.not_available);
        }
        let hashes: Vec<usize> = record.provenance.values().map(String::len).collect();
        assert_eq!(hashes, [64, 64, 64], "kernel, tools and program: {:?}", record.provenance);
    }
}
