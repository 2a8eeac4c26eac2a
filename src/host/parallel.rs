//! Splits a long list into as many parts as there are CPUs and processes them in parallel.

use std::thread::{self, Builder};

/// The least length of a list that is split; a shorter list is processed faster than a thread starts.
const SHORT: usize = 64;

/// Calls `does` on each part of the list; the results are in the order of the list.
pub fn parallel<T: Sync, R: Send>(list: &[T], does: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
    let cpus = if list.len() < SHORT { 1 } else { thread::available_parallelism().map_or(1, usize::from) };
    let mut parts = list.chunks(list.len().div_ceil(cpus).max(1));
    let Some(first) = parts.next() else { return Vec::new() };
    let does = &does;
    thread::scope(|scope| {
        let begin = |part| (part, Builder::new().spawn_scoped(scope, move || does(part)));
        let others: Vec<_> = parts.map(begin).collect();
        let mut done = vec![does(first)];
        done.extend(others.into_iter().map(|(part, thread)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // If no thread can be started, this thread processes the part.
            Err(_) => does(part),
        }));
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_whole_list_in_its_order() {
        for length in [0, 1, SHORT - 1, SHORT, 1000] {
            let list: Vec<usize> = (0..length).collect();
            let parts = parallel(&list, <[usize]>::to_vec);
            assert_eq!(parts.concat(), list);
            assert!(parts.len() <= length.max(1));
        }
    }
}
