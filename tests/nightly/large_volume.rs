//! A tebibyte, of which a trial's requests are spread over the whole disk.

use crate::support::modelled::large_volumes;

#[test]
fn a_large_volume_of_ext4_is_spread_over_the_disk_and_the_same_each_time() {
    large_volumes(&["ext4"]);
}

#[test]
fn a_large_volume_of_xfs_is_spread_over_the_disk_and_the_same_each_time() {
    large_volumes(&["xfs"]);
}
