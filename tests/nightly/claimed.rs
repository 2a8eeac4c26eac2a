//! Forty kills of runs on a claimed disk, at moments spread over a run, in a guest that is the host.

use crate::support::harness_devices;

/// Ten moments of the guest's seconds from this one on.
fn from(first: f64) {
    let moments: Vec<f64> = (0..10).map(|n| first + f64::from(n)).collect();
    harness_devices::kills(&moments);
}

mod first {
    #[test]
    fn ten_killed_runs_leave_nothing_and_go_on() {
        super::from(0.2);
    }
}

mod second {
    #[test]
    fn ten_killed_runs_leave_nothing_and_go_on() {
        super::from(0.45);
    }
}

mod third {
    #[test]
    fn ten_killed_runs_leave_nothing_and_go_on() {
        super::from(0.7);
    }
}

mod fourth {
    #[test]
    fn ten_killed_runs_leave_nothing_and_go_on() {
        super::from(0.95);
    }
}
