//! Names that nobody guesses.

use std::fs::File;
use std::io::{self, Read};

/// 128 random bits: two such numbers are never the same by chance.
///
/// # Errors
/// When the kernel has no source of them here.
pub fn bits() -> io::Result<u128> {
    let mut bytes = [0; size_of::<u128>()];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u128::from_le_bytes(bytes))
}
