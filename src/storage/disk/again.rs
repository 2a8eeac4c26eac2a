//! Repeats the work of the disk server, to show how much this work adds to a trial's figures.
//!
//! A real machine has no disk server: it does not copy data, switch to a server thread or compute a model. So some trials run
//! with this work done two and three times, and their figures allow an estimate for no such work. In a guest with a modelled
//! disk every instruction takes the same time. So instead of repeating the work, the server lets the same CPU time pass. It
//! measures the CPU time of its own thread, which includes the kernel's work for it.

use fsderby_sys::process::thread_cpu_ns;

use crate::host::monotonic_ns;

/// Repetition in one thread. Each call of [`Again::pass`] ends one piece of work and begins the next.
pub struct Again {
    /// How many times the server repeats its work.
    times: u64,
    /// Thread CPU time at the start of this piece of work.
    began_ns: u64,
    /// A reading of the thread's CPU time returns the CPU time at this many nanoseconds after the start of the reading.
    reading_ns: u64,
}

impl Again {
    /// Repeats each piece of work until it was done `in_all` times in total.
    pub fn new(in_all: u32) -> Self {
        let times = u64::from(in_all.saturating_sub(1));
        if times == 0 {
            return Again { times, began_ns: 0, reading_ns: 0 };
        }
        // A reading reports the instant halfway through it.
        let readings: [u64; 9] = std::array::from_fn(|_| thread_cpu_ns());
        let between = readings.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(0);
        Again { times, began_ns: thread_cpu_ns(), reading_ns: between / 2 }
    }

    /// Whether work is repeated at all.
    pub fn is_on(&self) -> bool {
        self.times > 0
    }

    /// Lets as much CPU time pass as repeating the work since the last call would take.
    pub fn pass(&mut self) {
        if !self.is_on() {
            return;
        }
        let before_ns = monotonic_ns();
        let read_ns = thread_cpu_ns();
        let spent_ns = read_ns.saturating_sub(self.began_ns + self.reading_ns);
        let mut now_ns = monotonic_ns();
        let end_ns = before_ns + self.times * spent_ns;
        while now_ns < end_ns {
            now_ns = monotonic_ns();
        }
        self.began_ns = (read_ns + now_ns).saturating_sub(before_ns + self.reading_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_is_done_once_is_not_timed() {
        let mut once = Again::new(1);
        once.pass();
        assert!(!once.is_on() && once.began_ns == 0);
        assert!(!Again::new(0).is_on() && Again::new(2).is_on());
    }

    #[test]
    fn three_times_the_work_takes_three_times_its_cpu_time_at_least() {
        let mut thrice = Again::new(3);
        let (began, mut sum) = (thread_cpu_ns(), 0_u64);
        while thread_cpu_ns() < began + 2_000_000 {
            sum = std::hint::black_box(sum + 1);
        }
        let (worked, monotonic) = (thread_cpu_ns() - began, monotonic_ns());
        thrice.pass();
        // By a clock that goes on whether we run or not: what is asked for is no less than twice the work again.
        assert!(monotonic_ns() - monotonic >= 2 * (worked - worked / 10));
        assert!(sum > 0);
    }
}
