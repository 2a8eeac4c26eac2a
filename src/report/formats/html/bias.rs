//! What is known to be unfair or easily misread, whatever was compared; `docs/method/bias.md` has the whole list with its evidence.

pub const BIAS: &[&str] = &[
    "The state of the image before mkfs changes results of small random writes by up to 1.6 times. All trials \
     start in the same state; another state may give other results.",
    "Not all filesystems support cgroup writeback, so a cgroup memory limit treats their dirty pages differently. \
     A VM with little RAM limits all filesystems alike.",
    "A workload that fits into memory measures page cache and CPU, whatever the disk is.",
    "Filesystems give different guarantees: journal or none, checksums or none, ordered data or not. Speeds under \
     unequal guarantees are not a like-for-like comparison; see the capabilities of each kind.",
    "A disk image on another filesystem adds that filesystem's overhead and free-space layout to every trial.",
];
