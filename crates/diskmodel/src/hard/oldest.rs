//! The oldest waiting requests, from which firmware with little reordering chooses.

/// Maximum number of requests compared.
pub(crate) const MOST: usize = 8;

/// A list of up to [`MOST`] indices of requests, oldest first, which allocates no memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Oldest {
    /// Arrival time and index of each request; requests with equal times stay in the order in which they were added.
    chosen: [(u64, usize); MOST],
    len: usize,
}

impl Oldest {
    /// The `most` oldest (clamped to 1..=[`MOST`]) of requests given as (arrival time, index).
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
