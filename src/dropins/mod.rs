//! The old tools' own command lines and output, on our engines.

pub mod bonnie;
pub mod iozone;
pub mod postmark;

mod stopping;
