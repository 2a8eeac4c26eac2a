//! The old tools' own command lines and output, with fsderby's engines.

pub mod bonnie;
pub mod iozone;
pub mod postmark;

mod stopping;
