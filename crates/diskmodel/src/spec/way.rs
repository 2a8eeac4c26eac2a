//! The path to a disk: how Linux talks to it.
//!
//! Values that a file leaves out follow the kernel's behaviour for that attachment:
//!
//! ```text
//!            request   FUA   scheduler     requests        flush            volatile cache
//!  ide       128 KiB   no    mq-deadline   128             -                yes    28-bit commands have 256 sectors
//!  sata     1280 KiB   no    mq-deadline   2 × depth       by itself        yes    libata has FUA off
//!  scsi      512 KiB   yes   mq-deadline   2 × depth       in the queue     yes    SCSI_DEFAULT_MAX_SECTORS
//!  nvme     1280 KiB   yes   none          depth           in the queue     yes    or what the drive allows
//!  mmc       512 KiB   no    mq-deadline   2 × depth       by itself        yes    sdhci's largest transfer
//!  network   256 KiB   no    none          depth           in the queue     no     one operation of a cloud volume
//! ```
//! 1280 KiB is BLK_DEF_MAX_SECTORS_CAP. 2 × depth, at most 256, is what blk-mq gives a scheduler (`block/blk-mq-sched.c`).
//! An ide disk has 128 requests, as every disk had before blk-mq.

use super::SpecError;
use super::fields::Fields;

/// The kernel's I/O scheduler in front of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    MqDeadline,
    None,
}

impl Scheduler {
    /// The name in `/sys/block/…/queue/scheduler`.
    pub fn name(self) -> &'static str {
        match self {
            Scheduler::MqDeadline => "mq-deadline",
            Scheduler::None => "none",
        }
    }
}

/// How Linux talks to a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Maximum request size in bytes.
    pub request_bytes: u32,
    /// Whether the disk supports FUA writes; without them a flush follows the write.
    pub fua: bool,
    pub scheduler: Scheduler,
    /// Requests that the kernel keeps for the disk, including those at the disk.
    pub requests: u32,
    /// Whether the disk reports a volatile cache. Without one the kernel sends no flushes.
    pub volatile_cache: bool,
    /// Whether capacitors or a battery protect that cache. SATA disks cannot report this, so they receive flushes anyway.
    pub protected: bool,
    /// Whether a flush may be queued among other requests. If not, it waits for an empty queue and blocks later requests.
    pub flush_queued: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attached {
    Ide,
    Sata,
    Scsi,
    Nvme,
    Mmc,
    Network,
}

const CLASSES: [(&str, Attached); 6] = [
    ("ide", Attached::Ide),
    ("sata", Attached::Sata),
    ("scsi", Attached::Scsi),
    ("nvme", Attached::Nvme),
    ("mmc", Attached::Mmc),
    ("network", Attached::Network),
];
const SCHEDULERS: [(&str, Scheduler); 2] =
    [("mq-deadline", Scheduler::MqDeadline), ("none", Scheduler::None)];
const OF_ITS_CLASS: &str = "Linux's setting for disks with this attachment";

impl Way {
    /// The values of a zero-cost disk, which every disk had before files gave any.
    pub(super) const BARE: Way = Way {
        request_bytes: 128 << 10,
        fua: true,
        scheduler: Scheduler::MqDeadline,
        requests: 128,
        volatile_cache: true,
        protected: false,
        flush_queued: true,
    };

    fn of(class: Attached, depth: u64) -> Way {
        let depth = depth as u32;
        let sorted = Way { requests: (2 * depth).clamp(4, 256), ..Way::BARE };
        let unsorted = Way { scheduler: Scheduler::None, requests: depth, ..Way::BARE };
        match class {
            Attached::Ide => Way { fua: false, ..Way::BARE },
            Attached::Sata => Way { request_bytes: 1280 << 10, fua: false, flush_queued: false, ..sorted },
            Attached::Scsi => Way { request_bytes: 512 << 10, ..sorted },
            Attached::Nvme => Way { request_bytes: 1280 << 10, ..unsorted },
            Attached::Mmc => Way { request_bytes: 512 << 10, fua: false, flush_queued: false, ..sorted },
            Attached::Network => {
                Way { request_bytes: 256 << 10, fua: false, volatile_cache: false, ..unsorted }
            }
        }
    }

    pub(super) fn read(fields: &mut Fields<'_>, usual: Attached, depth: u64) -> Result<Way, SpecError> {
        let usual = CLASSES.into_iter().find(|(_, class)| *class == usual).unwrap_or(CLASSES[0]);
        let class =
            fields.word_or("attached", &CLASSES, usual, "the usual attachment of disks of this kind")?;
        let way = Way::of(class, depth);
        let why = OF_ITS_CLASS;
        let scheduler = (way.scheduler.name(), way.scheduler);
        let request_kib = u64::from(way.request_bytes >> 10);
        let volatile_cache = fields.flag_or("volatile_cache", (way.volatile_cache, why))?;
        let why_protected = "in a power cut, a disk without a volatile cache loses nothing, and an unprotected volatile cache loses its contents";
        let way = Way {
            volatile_cache,
            protected: fields.flag_or("protected", (!volatile_cache, why_protected))?,
            request_bytes: (fields.number_or("request_kib", "KiB", (4, 4096), (request_kib, why))? as u32)
                << 10,
            fua: fields.flag_or("fua", (way.fua, why))?,
            scheduler: fields.word_or("scheduler", &SCHEDULERS, scheduler, why)?,
            requests: fields.number_or(
                "requests",
                "requests",
                (4, 1024),
                (u64::from(way.requests.max(4)), why),
            )? as u32,
            flush_queued: fields.flag_or("flush_queued", (way.flush_queued, why))?,
        };
        if !way.volatile_cache && !way.protected {
            return Err(SpecError::Contradiction {
                keys: "volatile_cache, protected".to_owned(),
                why: "Linux would never flush the cache, but a power cut could lose its contents".to_owned(),
            });
        }
        if !(way.request_bytes >> 10).is_multiple_of(4) {
            return Err(SpecError::Contradiction {
                keys: "request_kib".to_owned(),
                why: "a request must consist of whole pages of 4 KiB".to_owned(),
            });
        }
        Ok(way)
    }
}
