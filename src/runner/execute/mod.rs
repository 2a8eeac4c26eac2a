//! Carries out a plan: launches, rounds, and the records that they give.

pub mod candidate_check;
pub mod fold;
pub mod launch;
#[cfg(feature = "full")]
pub mod raw;
pub mod rounds;
pub(super) mod side_by_side;
pub(super) mod skipped;
