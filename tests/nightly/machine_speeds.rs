//! Machines at both ends of the range of speeds that one may have, and between; the gate has the slowest.

use crate::support::modelled::clocks_follow;

#[test]
fn a_machine_of_any_speed_has_its_clocks_by_it() {
    clocks_follow(&[100, 777, 1600, 8000]);
}
