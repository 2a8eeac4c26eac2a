//! A zero-cost disk: trials on it measure the rest of the machine.

use std::collections::VecDeque;

use crate::counters::Counters;
use crate::request::{Completion, Cost, Request};

#[derive(Clone, Debug, Default)]
pub(crate) struct Zero {
    done: VecDeque<Completion>,
    counters: Counters,
}

impl Zero {
    pub fn submit(&mut self, now_ns: u64, request: Request) {
        self.counters.count_request(&request);
        self.done.push_back(Completion { tag: request.tag, at_ns: now_ns, cost: Cost::default() });
    }

    pub fn advance(&mut self, _now_ns: u64, done: &mut Vec<Completion>) {
        done.extend(self.done.drain(..));
    }

    pub fn next_event_ns(&self) -> Option<u64> {
        self.done.front().map(|c| c.at_ns)
    }

    pub fn is_idle(&self) -> bool {
        self.done.is_empty()
    }

    pub fn is_volatile(&self, _start: u64, _end: u64) -> bool {
        false
    }

    pub fn counters(&self, now_ns: u64) -> Counters {
        Counters { idle_ns: now_ns, ..self.counters }
    }
}
