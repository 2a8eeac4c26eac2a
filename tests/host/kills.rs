//! SIGKILL at three random moments; `make nightly PART=kills` has fifty.

use crate::support::kills::leave_nothing_and_are_completed;

#[test]
fn three_killed_runs_leave_nothing_and_are_completed() {
    leave_nothing_and_are_completed(3);
}
