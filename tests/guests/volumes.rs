//! Volumes of LVM that are claimed, or must not be.

use crate::support::harness_volumes::{SHORT, carry_out};

/// `make nightly PART=claimed` has more kinds of volumes, and does more to a claimed one.
#[test]
fn of_volumes_only_the_plain_one_with_the_tag_is_claimed_and_the_others_are_as_they_were() {
    carry_out(&SHORT);
}
