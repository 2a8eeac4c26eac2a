//! Random names that cannot be guessed.

use std::fs::File;
use std::io::{self, Read};

/// 128 random bits, so many that two numbers are never equal by chance.
///
/// # Errors
/// If the kernel has no random source.
pub fn bits() -> io::Result<u128> {
    let mut bytes = [0; size_of::<u128>()];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u128::from_le_bytes(bytes))
}
