//! The way of written sectors to the medium, for whoever keeps what a power cut leaves: a drive that is watched notes when
//! sectors set out from its cache, and when they are on the medium.
//!
//! ```text
//!  written ──▶ cache ──▶ Launched ──▶ Landed        what is not landed when the power fails is as it was before
//! ```
//! What is launched is what the sectors hold at that moment: written anew meanwhile, they have to set out again. A sector is
//! on the medium as a whole or not at all. Of a write to a track those sectors are there that have passed under the head; a
//! program unit of flash, and what a shingled disk writes to its log or its bands, is there as a whole or not.

/// Sectors `start..end` come nearer to the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    pub stage: Stage,
    pub start: u64,
    pub end: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// On their way, as they are now.
    Launched,
    /// On the medium, as they were when they were launched last.
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
