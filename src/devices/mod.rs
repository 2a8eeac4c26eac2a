//! Disks of this machine that may be formatted.
//!
//! ```text
//! claim   which disk, who uses it, what is on it, what the user types ──▶ marks on the disk, and a copy here
//! run     the same disk, the same marks, nobody else ──▶ a window on the range between the marks
//! trial   the marks again ──▶ mkfs and mount see the window
//! release the marks are removed
//! ```
//! A volume of LVM is a disk too, whose name is its UUID and which lies on other disks.
//!
//! Nothing else in the program opens a disk for writing.

mod claim;
mod content;
mod disk;
mod drive;
mod here;
mod hold;
mod lvm;
mod lvs;
mod marks;
mod opened;
mod plans;
mod refusal;
mod registry;
mod reservations;
mod signatures;
mod undo;
mod users;
mod volume_names;

pub use claim::{Examined, Word, examine, obstacles, release};
pub use content::Content;
pub use disk::{Described, Partition, all};
pub use drive::Watch;
pub use here::is_init_of_machine;
pub use hold::{Held, Reset, Volume, clear_left, is_ready};
pub use marks::{Mark, Range};
pub use refusal::{Check, Refusal};
pub use registry::{all as claims, find as claimed, hash, without_serial};
pub use undo::{Undo, finish as finish_undo, left as left_layers};
