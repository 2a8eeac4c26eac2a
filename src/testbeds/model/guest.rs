//! A guest in virtual time: its events and requests are read from its memory.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fsderby_diskmodel::Op;

use super::machine::Running;
use crate::schema::request::{LENGTH, Served};
use crate::storage::disk::layout::{EVENTS, Layout, REQUESTS, Range, SECTOR};
use crate::storage::disk::outbox::BEGIN;
use crate::storage::image::copy_data;
use crate::testbeds::power::Powered;
use crate::testbeds::stream::Lines;
use crate::testbeds::vm::guest::{lost, panic};
use crate::testbeds::{Ended, Fault, Kept, Launched, Moved, Next};

/// Polling interval of the guest's memory.
const LOOK: Duration = Duration::from_millis(50);
/// Polling interval of a guest that is ending.
const FAREWELL: Duration = Duration::from_millis(10);
/// A guest that used no CPU for this long will wait for ever, or will never end.
const STUCK: Duration = Duration::from_secs(120);

pub struct Guest {
    running: Running,
    /// What is to be done each time that the machine stops itself.
    then: VecDeque<Then>,
    layout: Layout,
    lines: Lines,
    /// Bytes of events already read.
    read: u64,
    requests: Requests,
    heard: Progress,
    /// A guest that used this much host CPU without an event or a disk request spins.
    patience: Duration,
    fault: Option<Fault>,
    provenance: BTreeMap<String, String>,
    kept: Option<Arc<Kept>>,
    is_from_state: bool,
}

/// Replaces a machine that has stopped itself by an equal one that continues.
pub type Then = Box<dyn FnOnce(&mut Running) -> anyhow::Result<Running>>;

/// The disk requests read so far.
#[derive(Default)]
struct Requests {
    /// Bytes of the list already read, in whole entries.
    read: u64,
    /// Arrival of the first request.
    first_ns: Option<u64>,
    moved: Moved,
}

impl Requests {
    fn add(&mut self, entries: &[u8]) {
        let (entries, _) = entries.as_chunks::<LENGTH>();
        self.read += (entries.len() * LENGTH) as u64;
        for served in entries.iter().filter_map(Served::from_bytes) {
            let first_ns = *self.first_ns.get_or_insert(served.arrived_ns);
            self.moved.time = Duration::from_nanos(served.done_ns.saturating_sub(first_ns));
            if matches!(served.op, Op::Read | Op::Write) {
                self.moved.bytes.0 += u64::from(served.sectors) * SECTOR;
            }
        }
    }
}

/// The last signs of progress.
struct Progress {
    cpu: Duration,
    moved: Instant,
    event_cpu: Duration,
}

impl Guest {
    pub fn new(running: Running, layout: Layout, patience: Duration) -> Self {
        let heard = Progress { cpu: Duration::ZERO, moved: Instant::now(), event_cpu: Duration::ZERO };
        let provenance = BTreeMap::new();
        let then = VecDeque::new();
        Guest {
            running,
            then,
            layout,
            lines: Lines::default(),
            read: 0,
            requests: Requests::default(),
            heard,
            patience,
            fault: None,
            provenance,
            kept: None,
            is_from_state: false,
        }
    }

    /// Adds the action for the next time that the machine stops itself.
    pub fn then(mut self, then: Then) -> Self {
        self.then.push_back(then);
        self
    }

    /// Says that it began in a kept state of its filesystem.
    pub fn begun_in_state(mut self) -> Self {
        self.is_from_state = true;
        self
    }

    /// Adds the hashes of its inputs.
    pub fn made_of(mut self, provenance: BTreeMap<String, String>) -> Self {
        self.provenance = provenance;
        self
    }

    /// Keeps its disks at its end.
    pub fn kept(mut self, kept: Option<Arc<Kept>>) -> Self {
        self.kept = kept;
        self
    }

    /// The content of its disks after a power cut, and its layout in that file.
    pub fn left(&self) -> (&File, Layout) {
        (&self.running.memory, self.layout)
    }

    fn switch_off(&mut self, why: Option<Fault>) {
        if self.fault.is_none() {
            self.fault = why;
        }
        let _ = self.running.child.kill();
    }

    /// The guest's end and its remaining output.
    fn ended(&mut self) -> Ended {
        let status = self.running.child.wait();
        let mut console = self.running.said();
        let panic = panic(&console);
        console.extend(self.running.complained());
        let unfrozen = console.iter().find(|line| line.contains("cannot be preloaded")).cloned();
        let fault = panic.or(self.fault.take()).or(unfrozen.map(Fault::Lost)).or(lost(status));
        let requests = contents(&self.running.memory, REQUESTS, 0).unwrap_or_default();
        Ended { fault, console, requests }
    }

    /// Reads the events since the last poll.
    fn read_events(&mut self) -> bool {
        let new = contents(&self.running.memory, EVENTS, self.read).unwrap_or_default();
        self.read += new.len() as u64;
        self.lines.push(&new);
        !new.is_empty()
    }

    /// Reads the disk requests since the last poll.
    fn read_requests(&mut self) -> bool {
        let new = contents(&self.running.memory, REQUESTS, self.requests.read).unwrap_or_default();
        self.requests.add(&new);
        new.len() >= LENGTH
    }

    /// Continues a machine that has stopped itself.
    fn go_on(&mut self) -> anyhow::Result<()> {
        if self.then.is_empty() || !self.running.has_stopped()? {
            return Ok(());
        }
        let Some(then) = self.then.pop_front() else { return Ok(()) };
        self.running = then(&mut self.running)?;
        self.heard = Progress { cpu: Duration::ZERO, moved: Instant::now(), event_cpu: Duration::ZERO };
        Ok(())
    }

    /// Ends a hung guest, judged by its CPU time: a busy host does not make it look hung.
    fn watch(&mut self) {
        let Some(cpu) = cpu_time(self.running.child.id()) else { return };
        if cpu > self.heard.cpu {
            (self.heard.cpu, self.heard.moved) = (cpu, Instant::now());
        }
        if cpu.saturating_sub(self.heard.event_cpu) > self.patience {
            let patience = self.patience.as_secs();
            let why =
                format!("the guest is in a loop: no output and no disk request in {patience} s of CPU time");
            self.switch_off(Some(Fault::Hung(why)));
        } else if self.heard.moved.elapsed() > STUCK {
            let why = format!("the guest is stuck: no CPU time and no output for {} s", STUCK.as_secs());
            self.switch_off(Some(Fault::Hung(why)));
        }
    }
}

impl Launched for Guest {
    fn next(&mut self, wait: Duration) -> Next {
        if let Some(next) = self.lines.take() {
            return next;
        }
        // Checked before its memory is read, so that its last events are not missed.
        let has_ended = !matches!(self.running.child.try_wait(), Ok(None));
        if self.read_events() {
            self.heard.event_cpu = self.heard.cpu;
            return self.lines.take().unwrap_or(Next::Quiet);
        }
        if has_ended {
            return Next::Ended;
        }
        if self.read_requests() {
            self.heard.event_cpu = self.heard.cpu;
        }
        if let Err(e) = self.go_on() {
            self.switch_off(Some(Fault::Lost(format!(
                "the guest could not continue after it stopped for the host: {e:#}"
            ))));
        }
        self.watch();
        std::thread::sleep(wait.min(LOOK));
        Next::Quiet
    }

    fn provenance(&self) -> BTreeMap<String, String> {
        self.provenance.clone()
    }

    fn is_from_state(&self) -> bool {
        self.is_from_state
    }

    fn progress(&mut self) -> Option<Moved> {
        Some(self.requests.moved).filter(|moved| *moved != Moved::default())
    }

    fn stop(&mut self) {
        self.switch_off(Some(Fault::Lost("the guest powered off".into())));
    }

    fn end(mut self: Box<Self>) -> Ended {
        let ended = self.ended();
        if let Some(Kept { files, outcome }) = self.kept.as_deref() {
            let keep = |(file, number): (&File, u32)| {
                let disk = self.layout.store(number);
                // A volume in chunks has another form in memory.
                match disk.length as u64 == self.layout.volume() {
                    true => keep(&self.running.memory, disk, file),
                    false => Err(io::Error::other("the volume is larger than 64 GiB")),
                }
            };
            let _ = outcome.set(files.iter().zip(0..).try_for_each(keep));
        }
        ended
    }
}

impl Powered for Guest {
    /// It has frozen its disks and ends at a fixed instruction: ended from outside, it could send more or less than in another
    /// run.
    fn cut(&mut self) -> Ended {
        let begin = Instant::now();
        while matches!(self.running.child.try_wait(), Ok(None)) {
            if begin.elapsed() > STUCK {
                self.switch_off(Some(Fault::Hung("the guest continued after its power was cut".into())));
                break;
            }
            std::thread::sleep(FAREWELL);
        }
        self.ended()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if matches!(self.running.child.try_wait(), Ok(None)) {
            self.switch_off(None);
            let _ = self.running.child.wait();
        }
    }
}

/// Copies a disk out of the guest's memory; what was never written stays a hole.
fn keep(memory: &File, disk: Range, file: &File) -> io::Result<()> {
    file.set_len(disk.length as u64)?;
    copy_data(memory, disk.in_file(), file, 0, disk.length as u64)
}

/// The guest's data in this range, without the first `read` bytes.
fn contents(memory: &File, range: Range, read: u64) -> io::Result<Vec<u8>> {
    let mut number = [0; 8];
    memory.read_exact_at(&mut number, range.in_file())?;
    let written = u64::from_le_bytes(number).min((range.length - BEGIN) as u64);
    let mut bytes = vec![0; written.saturating_sub(read) as usize];
    memory.read_exact_at(&mut bytes, range.in_file() + BEGIN as u64 + read)?;
    Ok(bytes)
}

fn cpu_time(pid: u32) -> Option<Duration> {
    let stat = procfs::process::Process::new(pid.cast_signed()).ok()?.stat().ok()?;
    Some(Duration::from_secs_f64((stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64))
}
