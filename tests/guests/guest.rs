//! A guest as a bundle; `make nightly` has every disk in `known_cells`.

use crate::support::known_cells::{DISKS, come_out_as_they_did};

#[test]
fn cells_of_a_hard_disk_that_are_known_come_out_as_they_did_here_and_on_another_machine() {
    come_out_as_they_did(&DISKS[..1]);
}
