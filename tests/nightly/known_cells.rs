//! The known cells of every disk; the gate has those of one.

use crate::support::known_cells::{DISKS, come_out_as_they_did};

#[test]
fn cells_that_are_known_come_out_as_they_did_here_and_on_another_machine() {
    come_out_as_they_did(&DISKS);
}
