//! The disks of a trial on vm, kept by a second run of it.

use crate::support::modelled::kept_disks;

#[test]
fn all_disks_of_a_trial_in_real_time_are_kept() {
    kept_disks("vm:disks=2,images=IMAGES", "1 not comparable");
}
