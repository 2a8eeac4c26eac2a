//! A guest whose power is cut: QEMU is killed the moment the agent says so, and another guest goes on with the same disk.
//!
//! The image is held by our own descriptor, so it outlives the machine. What QEMU had completed is on the disk: a disk's own
//! volatile cache, which loses what was never flushed, is not there.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;

use super::guest::Guest;
use crate::schema::event::Event;
use crate::testbeds::{Ended, Fault, Launched, Next};

/// Starts the machine that goes on.
pub type Restart = Box<dyn FnOnce() -> anyhow::Result<Guest>>;

pub struct PowerCut {
    guest: Box<Guest>,
    restart: Option<Restart>,
    /// What the machine before the cut had on its console.
    before: Vec<String>,
    /// Why there is no machine after the cut.
    fault: Option<Fault>,
}

impl PowerCut {
    pub fn new(guest: Guest, restart: Restart) -> Self {
        PowerCut { guest: Box::new(guest), restart: Some(restart), before: Vec::new(), fault: None }
    }

    fn cut(&mut self) {
        let Some(restart) = self.restart.take() else { return };
        self.before = self.guest.kill();
        match restart().context("could not start the machine again") {
            Ok(guest) => *self.guest = guest,
            Err(e) => self.fault = Some(Fault::Launch(format!("{e:#}"))),
        }
    }
}

impl Launched for PowerCut {
    fn next(&mut self, wait: Duration) -> Next {
        if self.fault.is_some() {
            return Next::Ended;
        }
        let next = self.guest.next(wait);
        if let Next::Event(stamped) = &next
            && let Event::PowerCut { .. } = stamped.event
        {
            self.cut();
        }
        next
    }

    fn provenance(&self) -> BTreeMap<String, String> {
        self.guest.provenance()
    }

    fn stop(&mut self) {
        self.guest.stop();
    }

    fn end(self: Box<Self>) -> Ended {
        let PowerCut { guest, before, fault, .. } = *self;
        let ended = guest.end();
        let console = before.into_iter().chain(ended.console).collect();
        Ended { fault: fault.or(ended.fault), console, requests: ended.requests }
    }
}
