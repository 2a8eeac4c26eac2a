//! Known biases and misreadings of any comparison; `docs/method/bias.md` has the full list with evidence.

pub const BIAS: &[&str] = &[
    "The state of the disk image before mkfs (sparse, allocated or written) changes the speed of small random writes \
     by a factor of up to 1.6. All trials of a run start in the same state; a run with another state may give other \
     results.",
    "Some filesystems do not support writeback within a memory cgroup. So a cgroup's memory limit does not treat the \
     dirty pages of all filesystems alike. A VM with little RAM limits memory more fairly.",
    "A workload whose data fit into memory measures page cache and CPU, on any disk.",
    "Filesystems give different guarantees: some have a journal, checksums or ordered data, and others do not. So a \
     faster filesystem may guarantee less. The report's table of features shows each filesystem's guarantees.",
    "If the disk is an image file, every result also depends on the overhead and the free space of the filesystem that \
     stores this file.",
];
