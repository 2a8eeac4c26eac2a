//! What the listings of CONTRIBUTING.md and docs/adding.md add is built and does what they say.

use crate::support::made_up;

#[test]
fn what_is_made_up_works_and_its_tests_hold_it() {
    made_up::works();
}
