//! What is known to be unfair or easily misread, whatever was compared; `BIAS.md` has the whole list with its evidence.

pub const BIAS: &[&str] = &[
    "The state of the image before mkfs shifts the results of small random writes up to 1.6 times. All trials start in \
     the same state, but another state may give another picture.",
    "A memory limit counts dirty pages of some filesystems otherwise than of others: writeback that respects the \
     limit is not supported by all of them. A small machine is the fairer limit.",
    "What fits into memory is measured at the speed of the page cache and the processor, whatever the disk is.",
    "Filesystems promise different things: with and without a journal, checksums or ordered data. Speed beside unequal \
     promises is not a like-for-like comparison; the table of what each can do stands beside it.",
    "A disk that is a file on another filesystem adds that filesystem's own costs and its free space to every trial.",
];
