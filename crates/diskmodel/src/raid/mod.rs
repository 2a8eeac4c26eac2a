//! RAID-5: chunks over disks, one of each stripe for the parity.
//!
//! ```text
//!             member 0   member 1   member 2   member 3        parity moves left by one each stripe, the data begins
//!  stripe 0      0          1          2          P            behind it ("left symmetric"), so that a long read
//!  stripe 1      4          5          P          3            keeps all disks busy
//!  stripe 2      8          P          6          7
//! ```
//!
//! Members are disks of their own: the same model, with their own queue, buffers and cache. What is written gathers in the
//! controller's cache. A whole stripe is written without reading. A part needs the old data and the old parity (patch), or
//! the rest of the stripe (rebuild), whichever is fewer reads; two writes and two reads for a single block.

mod array;
mod layout;

pub(crate) use array::Raid;
