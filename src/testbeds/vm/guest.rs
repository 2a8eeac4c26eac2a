//! A guest that runs, until it switches itself off or is switched off.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use anyhow::Context;

use super::machine::Running;
use super::witness::Witness;
use crate::agent::monotonic_ns;
use crate::agent::protocol::Event;
use crate::testbeds::stream::Events;
use crate::testbeds::{Ended, Launched, Next, Stamped};

/// What a kernel says when it cannot go on.
pub const LAST_WORDS: [&str; 4] = ["Kernel panic", "BUG:", "Oops", "Out of memory"];

pub struct Guest {
    child: Child,
    /// QEMU takes the port for closed when this ends.
    _input: ChildStdin,
    events: Events<ChildStdout>,
    console: File,
    complaints: File,
    /// A guest that says nothing for so long has hung.
    silence: Duration,
    heard: Instant,
    fault: Option<String>,
    provenance: BTreeMap<String, String>,
    witness: Option<Witness>,
    /// What the witness saw at the event before.
    seen: Option<Event>,
}

impl Guest {
    pub fn new(running: Running, silence: Duration) -> anyhow::Result<Self> {
        let Running { mut child, console, complaints } = running;
        let input = child.stdin.take().context("QEMU has no standard input")?;
        let output = child.stdout.take().context("QEMU has no standard output")?;
        let events = Events::new(output);
        Ok(Guest {
            child,
            _input: input,
            events,
            console,
            complaints,
            silence,
            heard: Instant::now(),
            fault: None,
            provenance: BTreeMap::new(),
            witness: None,
            seen: None,
        })
    }

    /// With the hashes of what it was started from.
    pub fn made_of(mut self, provenance: BTreeMap<String, String>) -> Self {
        self.provenance = provenance;
        self
    }

    /// With somebody who looks at its disk from outside.
    pub fn watched_by(mut self, witness: Witness) -> Self {
        self.witness = Some(witness);
        self
    }

    /// Ends QEMU at once, as a power cut ends a machine, and waits until nothing of it can write any more. Returns its console.
    pub fn kill(&mut self) -> Vec<String> {
        self.switch_off(None);
        let _ = self.child.wait();
        text(&mut self.console)
    }

    fn switch_off(&mut self, why: Option<String>) {
        if self.fault.is_none() {
            self.fault = why;
        }
        let _ = self.child.kill();
    }
}

impl Launched for Guest {
    fn next(&mut self, wait: Duration) -> Next {
        if let Some(event) = self.seen.take() {
            return Next::Event(Stamped { host_ns: monotonic_ns(), event });
        }
        let next = self.events.next(wait);
        if let (Next::Event(stamped), Some(witness)) = (&next, &mut self.witness) {
            self.seen = witness.hears(&stamped.event);
        }
        match next {
            Next::Quiet if self.heard.elapsed() >= self.silence => {
                let why = format!("the guest hung: it said nothing for {} s", self.silence.as_secs());
                self.switch_off(Some(why));
            }
            Next::Quiet => {}
            _ => self.heard = Instant::now(),
        }
        next
    }

    fn provenance(&self) -> BTreeMap<String, String> {
        self.provenance.clone()
    }

    fn stop(&mut self) {
        self.switch_off(Some("the guest was switched off".into()));
    }

    fn end(mut self: Box<Self>) -> Ended {
        let status = self.child.wait();
        let mut console = text(&mut self.console);
        let panic = console.iter().find(|line| LAST_WORDS.iter().any(|words| line.contains(words))).cloned();
        console.extend(text(&mut self.complaints));
        let fault = match (self.fault.take(), panic, status) {
            (Some(fault), ..) => fault,
            (None, Some(panic), _) => format!("the guest's kernel said: {panic}"),
            (None, None, Ok(status)) if status.success() => String::new(),
            (None, None, Ok(status)) => format!("QEMU was lost: {status}"),
            (None, None, Err(e)) => format!("QEMU was lost: {e}"),
        };
        Ended { fault, console, ..Ended::default() }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.switch_off(None);
            let _ = self.child.wait();
        }
    }
}

pub fn text(file: &mut File) -> Vec<String> {
    let mut bytes = Vec::new();
    let _ = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes).replace(|c: char| c.is_control() && c != '\n', "");
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}
