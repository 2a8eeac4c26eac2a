//! The requests that have waited longest: what firmware chooses from that hardly reorders.

/// More are never compared.
pub(crate) const MOST: usize = 8;

/// Up to [`MOST`] indices, the one that has waited longest first. Nothing is allocated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Oldest {
    /// Since when each waits, and its index: of two that came at once the one that was seen first.
    chosen: [(u64, usize); MOST],
    len: usize,
}

impl Oldest {
    /// The `most` oldest of requests given by the time at which they came and their index; one at least, [`MOST`] at most.
    pub fn of(all: impl Iterator<Item = (u64, usize)>, most: usize) -> Oldest {
        let most = most.clamp(1, MOST);
        let mut oldest = Oldest { chosen: [(0, 0); MOST], len: 0 };
        for (since_ns, index) in all {
            let at = oldest.chosen[..oldest.len].partition_point(|(known_ns, _)| *known_ns <= since_ns);
            if at < most {
                oldest.len = (oldest.len + 1).min(most);
                oldest.chosen[at..oldest.len].rotate_right(1);
                oldest.chosen[at] = (since_ns, index);
            }
        }
        oldest
    }

    pub fn indices(&self) -> impl Iterator<Item = usize> {
        self.chosen[..self.len].iter().map(|(_, index)| *index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_come_first_and_of_equals_the_one_seen_first() {
        let ages = [50, 20, 40, 20, 10, 60];
        let oldest = |most| -> Vec<usize> { Oldest::of(ages.into_iter().zip(0..), most).indices().collect() };
        assert_eq!(oldest(1), [4]);
        assert_eq!(oldest(3), [4, 1, 3]);
        assert_eq!(oldest(6), [4, 1, 3, 2, 0, 5]);
        assert_eq!((oldest(0).len(), oldest(99).len()), (1, 6));
    }

    #[test]
    fn no_more_than_the_most_are_ever_kept() {
        let all = (0..100).rev().zip(0..);
        assert_eq!(Oldest::of(all, 99).indices().collect::<Vec<_>>(), (92..100).rev().collect::<Vec<_>>());
        assert_eq!(Oldest::of([].into_iter(), 3).indices().count(), 0);
    }
}
