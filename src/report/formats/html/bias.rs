//! Known biases and misreadings of any comparison; `docs/method/bias.md` has the full list with evidence.

pub const BIAS: &[&str] = &[
    "The state of the image before mkfs changes results of small random writes by a factor of up to 1.6. All trials start in \
     the same state; another state may give other results.",
    "Not all filesystems support writeback within a memory cgroup, so a cgroup's memory limit treats the dirty pages \
     of one filesystem differently from those of another. A VM with little RAM is the fairer memory limit.",
    "Work that fits into memory measures page cache and CPU, whatever the disk is.",
    "Filesystems promise different things: a journal or none, checksums or none, ordered data or not. So their \
     speeds are not like for like; the report's table of what each kind can do shows these guarantees.",
    "A disk that is a file on another filesystem adds that filesystem's own costs and its free space to every trial.",
];
