//! The PostMark engine against the original: stored traces and reports everywhere, the program itself where
//! it is installed, and the published figures of a paper.

mod golden;
mod oracle;
mod paper;
mod reports;
mod scripts;
mod sessions;
mod sets;
mod trial;
