//! A running guest, until it powers off or is ended.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::machine::Running;
use super::witness::Witness;
use crate::agent::monotonic_ns;
use crate::schema::event::Event;
use crate::storage::image;
use crate::testbeds::power::Powered;
use crate::testbeds::stream::Events;
use crate::testbeds::{Ended, Fault, Kept, Launched, Next, Stamped};

/// Messages of a kernel that cannot continue.
const LAST_WORDS: [&str; 3] = ["Kernel panic", "BUG:", "Oops"];
/// A message with such words and this word reports only a long CPU delay, because the host was busy.
const DELAYED: &str = "lockup";

pub struct Guest {
    child: Child,
    /// Standard input of QEMU: QEMU treats the event port as closed when this pipe closes.
    _input: ChildStdin,
    events: Events<ChildStdout>,
    console: File,
    complaints: File,
    /// A guest silent for this long has hung.
    silence: Duration,
    heard: Instant,
    fault: Option<Fault>,
    provenance: BTreeMap<String, String>,
    witness: Option<Witness>,
    /// Where its disks are kept at its end, and the disks.
    kept: Option<(Arc<Kept>, Vec<File>)>,
    /// The witness's observation at the previous event.
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
            kept: None,
            seen: None,
        })
    }

    /// Adds the hashes of its inputs.
    pub fn made_of(mut self, provenance: BTreeMap<String, String>) -> Self {
        self.provenance = provenance;
        self
    }

    /// Adds a witness that observes its disk from outside.
    pub fn watched_by(mut self, witness: Witness) -> Self {
        self.witness = Some(witness);
        self
    }

    /// Keeps its disks at its end.
    pub fn kept(mut self, kept: Option<Arc<Kept>>, images: Vec<File>) -> Self {
        self.kept = kept.map(|kept| (kept, images));
        self
    }

    fn switch_off(&mut self, why: Option<Fault>) {
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
                let why = format!("the guest hung: no output for {} s", self.silence.as_secs());
                self.switch_off(Some(Fault::Hung(why)));
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
        self.switch_off(Some(Fault::Lost("the guest powered off".into())));
    }

    fn end(mut self: Box<Self>) -> Ended {
        let status = self.child.wait();
        let mut console = text(&mut self.console);
        let fault = panic(&console).or(self.fault.take()).or(lost(status));
        console.extend(text(&mut self.complaints));
        if let Some((kept, images)) = &self.kept {
            let copied =
                images.iter().zip(&kept.files).try_for_each(|(image, file)| image::copy(image, file));
            let _ = kept.outcome.set(copied);
        }
        Ended { fault, console, ..Ended::default() }
    }
}

impl Powered for Guest {
    fn cut(&mut self) -> Ended {
        self.switch_off(None);
        let _ = self.child.wait();
        Ended { console: text(&mut self.console), ..Ended::default() }
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

/// The kernel's fatal error on this console.
pub fn panic(console: &[String]) -> Option<Fault> {
    let is_last =
        |line: &&String| LAST_WORDS.iter().any(|words| line.contains(words)) && !line.contains(DELAYED);
    console.iter().find(is_last).map(|line| Fault::Panic(format!("kernel message in the guest: {line}")))
}

/// QEMU's failure, if it failed.
pub fn lost(end: io::Result<ExitStatus>) -> Option<Fault> {
    match end {
        Ok(status) if status.success() => None,
        Ok(status) => Some(Fault::Lost(format!("QEMU exited: {status}"))),
        Err(e) => Some(Fault::Lost(format!("could not wait for the end of QEMU: {e}"))),
    }
}

/// The lines of a file, from its beginning.
pub fn text(file: &mut File) -> Vec<String> {
    let mut bytes = Vec::new();
    let _ = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    lines(&bytes)
}

/// Lines without control characters and blanks around them; none is empty.
pub fn lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes).replace(|c: char| c.is_control() && c != '\n', "");
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_could_not_go_on_is_told_from_one_that_was_delayed_or_killed_a_process() {
        let said = |line: &str| panic(&["Run /init as init process".to_owned(), line.to_owned()]);
        for line in
            ["Kernel panic - not syncing: Fatal exception", "BUG: kernel NULL pointer", "Oops: 0002 [#1]"]
        {
            assert_eq!(said(line), Some(Fault::Panic(format!("kernel message in the guest: {line}"))));
        }
        for line in ["watchdog: BUG: soft lockup - CPU#0 stuck for 26s!", "Out of memory: Killed process 71"]
        {
            assert_eq!(said(line), None, "{line}");
        }
    }
}
