//! What an SSD is at: each task has dies carry out orders, the reads first and then one change.

use super::dies::Order;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Of the host's.
    Read { slot: usize },
    /// Flights from the cache.
    Write,
    /// Live units to another superblock.
    Copy,
    /// The how manieth die's block it is at.
    Erase { superblock: u32, die: usize },
}

#[derive(Clone, Debug)]
pub(super) struct Task {
    pub purpose: Purpose,
    pub began_ns: u64,
    /// Die's reads that are not done.
    pub reads: u32,
    /// When the first of what was read left its die.
    pub first_ns: u64,
    /// What the longest of its orders takes that waits for nothing.
    pub took_ns: u64,
    /// What is programmed once all is read, and on which die.
    pub then: Option<(usize, Order)>,
    pub flights: Vec<u64>,
}

/// Tasks by number. A number is given again once its task has ended, with the memory that it has.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks {
    tasks: Vec<Task>,
    free: Vec<usize>,
}

impl Tasks {
    pub fn begin(&mut self, now_ns: u64, purpose: Purpose) -> usize {
        let number = self.free.pop().unwrap_or(self.tasks.len());
        let fresh = |flights| Task {
            purpose,
            began_ns: now_ns,
            reads: 0,
            first_ns: u64::MAX,
            took_ns: 0,
            then: None,
            flights,
        };
        match self.tasks.get_mut(number) {
            Some(task) => *task = fresh(std::mem::take(&mut task.flights)),
            None => self.tasks.push(fresh(Vec::new())),
        }
        number
    }

    pub fn get(&mut self, number: usize) -> &mut Task {
        &mut self.tasks[number]
    }

    pub fn release(&mut self, number: usize) {
        self.tasks[number].flights.clear();
        self.free.push(number);
    }
}
