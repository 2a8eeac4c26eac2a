//! Flash: dies on channels, and the layer that maps logical units to locations.
//!
//! ```text
//!  channel 0 ── die 0   die 4   …      A superblock is one erase block of every die. It is written from its beginning,
//!  channel 1 ── die 1   die 5   …      one program unit (some planes' pages) after the other, die by die, so that a long
//!  channel 2 ── die 2   die 6   …      write keeps all dies busy. Overwriting leaves dead units behind; when erased
//!  channel 3 ── die 3   die 7   …      superblocks run out, the one with the fewest live units is copied and erased.
//! ```
//!
//! Write amplification and the slow-down of a full disk are not parameters; they follow from the mechanism. `card.rs` models
//! the older layer of SD cards.

mod beginning;
mod card;
mod dies;
mod mapping;
mod ssd;
mod tasks;

pub(crate) use card::Card;
pub(crate) use ssd::Ssd;
