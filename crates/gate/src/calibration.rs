//! Measures this machine's speed, so that a slow machine is not mistaken for a slow gate.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

/// Time of [`measure`], built without optimisation, on an idle machine like the one for which the budget was set: two CPUs of
/// an EPYC at 2.4 GHz, on 2026-11-25.
pub const REFERENCE: Duration = Duration::from_millis(1600);

/// Words to read: 32 MiB, more than a CPU's own caches.
const WORDS: usize = 4 << 20;
const STEPS: u64 = 10_000_000;

const TIMES: usize = 3;

/// The time of a fixed amount of arithmetic and memory accesses, on every CPU at once: the median of several, because one of
/// them may coincide with something else on the machine.
pub fn measure() -> Duration {
    let mut times: [Duration; TIMES] = std::array::from_fn(|_| once());
    times.sort();
    times[TIMES / 2]
}

fn once() -> Duration {
    let begin = Instant::now();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    begin.elapsed()
}

fn work() {
    let mut words = vec![1u64; WORDS];
    let mut state = 1u64;
    for _ in 0..STEPS {
        // Knuth's 64-bit multiplier.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at = (state >> 33) as usize % WORDS;
        words[at] = words[at].wrapping_add(state);
    }
    black_box(words);
}
