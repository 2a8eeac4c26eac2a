//! SIGKILL at fifty random moments.

use crate::support::kills::leave_nothing_and_are_completed;

#[test]
fn fifty_killed_runs_leave_nothing_and_are_completed() {
    leave_nothing_and_are_completed(50);
}
