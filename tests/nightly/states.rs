//! Trials that begin in a kept state of their filesystem, for six kinds and two states.

use crate::support::modelled::kept_states;
use crate::support::quiet::has_guests;

const KINDS: [&str; 6] = ["ext2", "ext4", "xfs", "btrfs", "jfs", "fat32"];

fn are_the_same(state: &str) {
    if !has_guests("states that are kept") {
        return;
    }
    let records = kept_states(&KINDS, state);
    for kind in KINDS {
        let seconds = |from_state: bool| {
            let own = records.iter().filter(|r| r.kind == kind && r.round > 0);
            let these = own.filter(|r| r.circumstances.from_state == from_state);
            these.map(|r| r.circumstances.host_ns as f64 / 1e9).sum::<f64>()
        };
        println!("{kind}, {state}: {:.1} s with the state, {:.1} s from it", seconds(false), seconds(true));
    }
}

#[test]
fn of_filled_filesystems() {
    are_the_same("filled 40%");
}

#[test]
fn of_aged_filesystems() {
    are_the_same("aged by postmark-quick");
}
