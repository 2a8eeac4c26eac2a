//! A machine with a power cut: it ends as soon as its agent says so, and another machine continues with its disk.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;

use super::{Ended, Fault, Launched, Moved, Next};
use crate::schema::event::Event;

/// A machine that can lose its power.
pub trait Powered: Launched {
    /// Ends the machine like a power cut, and waits until no write of the machine can follow.
    fn cut(&mut self) -> Ended;
}

/// Starts the machine that continues, with the disk of the ended one.
pub type Restart<M> = Box<dyn FnOnce(&M) -> anyhow::Result<M>>;

pub struct PowerCut<M> {
    machine: Box<M>,
    restart: Option<Restart<M>>,
    /// Output and requests of the machine before the cut.
    before: Ended,
    /// Why there is no machine after the cut.
    fault: Option<Fault>,
}

impl<M: Powered> PowerCut<M> {
    pub fn new(machine: M, restart: Restart<M>) -> Self {
        PowerCut { machine: Box::new(machine), restart: Some(restart), before: Ended::default(), fault: None }
    }

    fn cut(&mut self) {
        let Some(restart) = self.restart.take() else { return };
        self.before = self.machine.cut();
        match restart(&self.machine).context("could not start the guest again after the power cut") {
            Ok(machine) => *self.machine = machine,
            Err(e) => self.fault = Some(Fault::Launch(format!("{e:#}"))),
        }
    }
}

impl<M: Powered> Launched for PowerCut<M> {
    fn next(&mut self, wait: Duration) -> Next {
        if self.fault.is_some() {
            return Next::Ended;
        }
        let next = self.machine.next(wait);
        if let Next::Event(stamped) = &next
            && let Event::PowerCut { .. } = stamped.event
        {
            self.cut();
        }
        next
    }

    fn provenance(&self) -> BTreeMap<String, String> {
        self.machine.provenance()
    }

    fn progress(&mut self) -> Option<Moved> {
        self.machine.progress()
    }

    fn stop(&mut self) {
        self.machine.stop();
    }

    /// The output and requests of both machines, in order.
    fn end(self: Box<Self>) -> Ended {
        let PowerCut { machine, before, fault, .. } = *self;
        let after = machine.end();
        Ended {
            fault: fault.or(before.fault).or(after.fault),
            console: [before.console, after.console].concat(),
            requests: [before.requests, after.requests].concat(),
        }
    }
}
