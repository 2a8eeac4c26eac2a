//! What a filesystem is made on.

pub mod disk;
