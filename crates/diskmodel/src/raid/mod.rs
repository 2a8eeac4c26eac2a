//! RAID-5: chunks over disks, with one parity chunk per stripe.
//!
//! ```text
//!             member 0   member 1   member 2   member 3        parity moves left by one each stripe, the data begins
//!  stripe 0      0          1          2          P            behind it ("left symmetric"), so that a long read
//!  stripe 1      4          5          P          3            keeps all disks busy
//!  stripe 2      8          P          6          7
//! ```
//!
//! Each member is a complete disk of the hard-disk model, with its queue, buffers and cache. Writes gather in the controller's
//! cache. A whole stripe is written without reading. A partial stripe needs the old data and the old parity (patch) or the
//! rest of the stripe (rebuild), whichever takes fewer reads. A single block costs two reads and two writes.

mod array;
mod layout;

pub(crate) use array::Raid;
