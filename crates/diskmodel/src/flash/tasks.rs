//! Tasks of an SSD: each gives orders to dies, first its reads and then one change.

use super::dies::Order;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A host read.
    Read { slot: usize },
    /// Writes flights from the cache.
    Write,
    /// Copies live units to another superblock.
    Copy,
    /// Erases a superblock; `die` is the index of the die whose block is being erased.
    Erase { superblock: u32, die: usize },
}

#[derive(Clone, Debug)]
pub(super) struct Task {
    pub purpose: Purpose,
    pub began_ns: u64,
    /// Die reads that are not done.
    pub reads: u32,
    /// Time at which the first data read left its die.
    pub first_ns: u64,
    /// The longest duration of an order of this task, without waiting.
    pub took_ns: u64,
    /// The program order that follows the reads, and its die.
    pub then: Option<(usize, Order)>,
    pub flights: Vec<u64>,
}

/// Tasks by number. The number and memory of an ended task are reused.
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
        debug_assert!(!self.free.contains(&number), "task {number} was released before");
        self.tasks[number].flights.clear();
        self.free.push(number);
    }
}
