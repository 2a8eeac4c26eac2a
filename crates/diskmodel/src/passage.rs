//! Progress of written sectors to the medium, for computing the contents after a power cut. A watched drive logs when sectors
//! leave its cache and when they are on the medium.
//!
//! ```text
//!  written ──▶ cache ──▶ Launched ──▶ Landed        sectors not landed at a power failure keep their old contents
//! ```
//! A launch captures the sectors' contents at that time; sectors overwritten later must be launched again. A sector is written
//! completely or not at all. A track write that is cut keeps the sectors that have passed under the head. A flash program unit,
//! and a shingled disk's write to its log or bands, is atomic.

/// Progress of sectors `start..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    pub stage: Stage,
    pub start: u64,
    pub end: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The sectors are on the way to the medium, with their current contents.
    Launched,
    /// The sectors are on the medium, with the contents at the latest launch.
    Landed,
}

impl Passage {
    pub(crate) fn launched(start: u64, end: u64) -> Self {
        Passage { stage: Stage::Launched, start, end }
    }

    pub(crate) fn landed(start: u64, end: u64) -> Self {
        Passage { stage: Stage::Landed, start, end }
    }
}
