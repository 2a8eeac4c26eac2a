//! A drive: one modelled disk that serves requests.

use crate::cloud::Cloud;
use crate::counters::Counters;
use crate::flash::{Card, Ssd};
use crate::front::Front;
use crate::hard::Hard;
use crate::passage::Passage;
use crate::raid::Raid;
use crate::request::{Completion, Op, Request};
use crate::sample::Sample;
use crate::spec::{Model, Spec};
use crate::zero::Zero;

/// One disk, driven by requests and virtual time. Times are nanoseconds since an arbitrary origin and never go back.
#[derive(Clone, Debug)]
pub struct Drive {
    disk: Disk,
    sectors: u64,
    /// Whether acknowledged writes survive a power failure.
    is_safe: bool,
    now_ns: u64,
    /// Incomplete writes; kept only on a disk without a volatile cache whose launches and landings are logged.
    writes: Option<Vec<Request>>,
    passages: Vec<Passage>,
}

#[derive(Clone, Debug)]
enum Disk {
    Zero(Box<Zero>),
    Hard(Box<Front<Hard>>),
    Cloud(Box<Cloud>),
    Raid(Box<Front<Raid>>),
    Flash(Box<Front<Ssd>>),
    Card(Box<Front<Card>>),
}

/// Calls the same method on any kind of disk.
macro_rules! on {
    ($disk:expr, $d:ident => $call:expr) => {
        match $disk {
            Disk::Zero($d) => $call,
            Disk::Hard($d) => $call,
            Disk::Cloud($d) => $call,
            Disk::Raid($d) => $call,
            Disk::Flash($d) => $call,
            Disk::Card($d) => $call,
        }
    };
}

impl Drive {
    pub fn new(spec: &Spec, sample: Sample) -> Drive {
        let spec = &spec.varied(sample.levels);
        let disk = match &spec.model {
            Model::Zero { .. } => Disk::Zero(Box::default()),
            Model::Hard(hard) => Disk::Hard(Box::new(Front::new(&hard.front, Hard::new(hard, &sample)))),
            Model::Raid(raid) => Disk::Raid(Box::new(Front::new(&raid.front, Raid::new(raid, &sample)))),
            Model::Flash(flash) => Disk::Flash(Box::new(Front::new(&flash.front, Ssd::new(flash, &sample)))),
            Model::Card(card) => Disk::Card(Box::new(Front::new(&card.front, Card::new(card)))),
            Model::Cloud(cloud) => Disk::Cloud(Box::new(Cloud::new(cloud, &sample))),
        };
        let is_safe = spec.way().protected || matches!(disk, Disk::Zero(_) | Disk::Cloud(_));
        Drive { disk, sectors: spec.sectors(), is_safe, now_ns: 0, writes: None, passages: Vec::new() }
    }

    /// Submits a request. Reads, writes and discards have at least one sector and lie within the disk.
    pub fn submit(&mut self, now_ns: u64, request: Request) {
        let is_on_disk = request.sector + u64::from(request.sectors) <= self.sectors && request.sectors > 0;
        assert!(
            is_on_disk || request.op == Op::Flush,
            "the request {request:?} lies outside a disk of {sectors} sectors",
            sectors = self.sectors
        );
        self.pass(now_ns);
        if let Some(writes) = self.writes.as_mut().filter(|_| request.op == Op::Write) {
            writes.push(request);
        }
        on!(&mut self.disk, disk => disk.submit(now_ns, request));
    }

    /// Time of the next event, background work included. `None` means that the disk is idle until the next request.
    pub fn next_event_ns(&self) -> Option<u64> {
        on!(&self.disk, disk => disk.next_event_ns())
    }

    /// Advances time to `now_ns` and appends all completions up to then, in time order. Completions do not depend on how often
    /// this is called.
    pub fn advance(&mut self, now_ns: u64, done: &mut Vec<Completion>) {
        self.pass(now_ns);
        let before = done.len();
        on!(&mut self.disk, disk => disk.advance(now_ns, done));
        if let Some(writes) = &mut self.writes {
            let complete = writes.extract_if(.., |w| done[before..].iter().any(|c| c.tag == w.tag));
            let landed = complete.map(|w| Passage::landed(w.sector, w.sector + u64::from(w.sectors)));
            self.passages.extend(landed);
        }
    }

    /// Starts logging launches towards the medium and landings on it, for [`Drive::passages`].
    pub fn watch(&mut self) {
        match &mut self.disk {
            _ if self.is_safe => self.writes = Some(Vec::new()),
            Disk::Hard(disk) => disk.watch(),
            Disk::Raid(disk) => disk.watch(),
            Disk::Flash(disk) => disk.watch(),
            Disk::Card(disk) => disk.watch(),
            Disk::Zero(_) | Disk::Cloud(_) => {}
        }
    }

    /// Appends the events logged since the last call, in order.
    pub fn passages(&mut self, passages: &mut Vec<Passage>) {
        match &mut self.disk {
            _ if self.is_safe => passages.append(&mut self.passages),
            Disk::Hard(disk) => disk.passages(passages),
            Disk::Raid(disk) => disk.passages(passages),
            Disk::Flash(disk) => disk.passages(passages),
            Disk::Card(disk) => disk.passages(passages),
            Disk::Zero(_) | Disk::Cloud(_) => {}
        }
    }

    /// Appends the parts of writes under way that are already on the medium, for a power failure at the current time.
    pub fn torn(&self, torn: &mut Vec<Passage>) {
        match &self.disk {
            _ if self.is_safe => {}
            Disk::Hard(disk) => disk.torn(self.now_ns, torn),
            Disk::Raid(disk) => disk.torn(self.now_ns, torn),
            Disk::Flash(disk) => disk.torn(self.now_ns, torn),
            Disk::Card(disk) => disk.torn(self.now_ns, torn),
            Disk::Zero(_) | Disk::Cloud(_) => {}
        }
    }

    pub fn counters(&self) -> Counters {
        on!(&self.disk, disk => disk.counters(self.now_ns))
    }

    /// Whether no request is outstanding, no data is dirty, and no background work runs.
    pub fn is_idle(&self) -> bool {
        on!(&self.disk, disk => disk.is_idle())
    }

    /// Whether the latest completed write to any of these sectors would be lost if the power failed now.
    pub fn is_volatile(&self, sector: u64, sectors: u32) -> bool {
        on!(&self.disk, disk => disk.is_volatile(sector, sector + u64::from(sectors)))
    }

    fn pass(&mut self, now_ns: u64) {
        let before_ns = self.now_ns;
        debug_assert!(before_ns <= now_ns, "the model's time went back from {before_ns} to {now_ns} ns");
        self.now_ns = now_ns.max(self.now_ns);
    }
}
