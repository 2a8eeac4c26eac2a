//! A tebibyte on ext4, which the gate tries on XFS alone.

use crate::support::modelled::large_volumes;

#[test]
fn a_large_volume_of_ext4_is_spread_over_the_disk_and_the_same_each_time() {
    large_volumes(&["ext4"]);
}
