//! What reached the block device: requests, bytes and flushes, by the kernel's own counters.

use std::fs;

use super::{NotAvailable, Probe, Raw, Running, Site};
use crate::story::Story;

/// The counters' sectors, whatever the device's own sectors are (`Documentation/block/stat.rst`).
const SECTOR: u64 = 512;

pub struct BlockIo;

impl Probe for BlockIo {
    fn name(&self) -> &'static str {
        "block_io"
    }

    fn story(&self) -> Story {
        Story {
            what: "Requests, bytes and flushes that reached the block device, from the start of the work to the end of the sync.",
            origin: "/sys/dev/block/MAJOR:MINOR/stat, as Documentation/block/stat.rst of the kernel describes it.",
            limits: "Counted before the device: what the host's filesystem makes of a loop image is not seen. On the directory testbed \
                     everybody's requests to that device are counted.",
        }
    }

    fn open(&self, site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable> {
        let device =
            site.device.ok_or_else(|| NotAvailable("there is no block device below".into()))?.to_owned();
        let before =
            Counters::read(&device).ok_or_else(|| NotAvailable(format!("no counters of device {device}")))?;
        Ok(Box::new(Open { device, before }))
    }
}

struct Open {
    device: String,
    before: Counters,
}

impl Running for Open {
    fn start(&mut self) {
        if let Some(now) = Counters::read(&self.device) {
            self.before = now;
        }
    }

    fn stop(&mut self) -> Raw {
        let Some(now) = Counters::read(&self.device) else { return Raw::new() };
        let used = now.since(&self.before);
        let named = [
            ("reads", used.0[0]),
            ("bytes_read", used.bytes_read()),
            ("writes", used.0[4]),
            ("bytes_written", used.0[6] * SECTOR),
            ("busy_ms", used.0[9]),
            ("waited_ms", used.0[10]),
            ("discards", used.0[11]),
            ("bytes_discarded", used.0[13] * SECTOR),
            ("flushes", used.0[15]),
        ];
        let mut raw: Raw = named.map(|(name, value)| (name.to_owned(), value)).into();
        raw.extend(volatile_cache(&self.device).map(|cache| ("volatile_cache".to_owned(), u64::from(cache))));
        raw
    }
}

/// Whether the device may lose what it has acknowledged, so that flushes are needed. A partition's queue is its disk's.
fn volatile_cache(device: &str) -> Option<bool> {
    let queue = |up: &str| fs::read_to_string(format!("/sys/dev/block/{device}/{up}queue/write_cache"));
    let text = queue("").or_else(|_| queue("../")).ok()?;
    Some(text.trim() == "write back")
}

/// One reading of the kernel's counters; fields that an old kernel lacks are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters([u64; 17]);

impl Counters {
    /// `device` is `major:minor`.
    pub fn read(device: &str) -> Option<Self> {
        let text = fs::read_to_string(format!("/sys/dev/block/{device}/stat")).ok()?;
        let mut counters = [0; 17];
        for (slot, word) in counters.iter_mut().zip(text.split_whitespace()) {
            *slot = word.parse().ok()?;
        }
        Some(Counters(counters))
    }

    pub fn since(&self, earlier: &Counters) -> Counters {
        Counters(std::array::from_fn(|i| self.0[i].wrapping_sub(earlier.0[i])))
    }

    pub fn bytes_read(&self) -> u64 {
        self.0[2] * SECTOR
    }

    pub fn in_flight(&self) -> u64 {
        self.0[8]
    }
}
