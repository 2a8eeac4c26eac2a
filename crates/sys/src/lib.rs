//! sys

pub mod file;
