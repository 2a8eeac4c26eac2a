//! Why a disk is not claimed or not used.

use std::io;

/// The check that refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The program may not or cannot look at disks from here.
    Place,
    /// Which disk it is.
    Identity,
    /// Whether somebody uses it.
    Use,
    /// What the disk says is on it.
    Signature,
    /// Whether its bytes are zero.
    Content,
    /// What the user typed.
    Confirmation,
    /// The marks of a claim.
    Claim,
    /// A claim of this machine is on it already, and whole.
    Claimed,
    /// The device mapper's window on it.
    Window,
}

/// A refusal: what is wrong, and what to try.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n  try: {try_this}")]
pub struct Refusal {
    pub check: Check,
    pub what: String,
    pub try_this: String,
}

impl Refusal {
    pub fn new(check: Check, what: impl Into<String>, try_this: impl Into<String>) -> Self {
        Refusal { check, what: what.into(), try_this: try_this.into() }
    }

    /// A system call failed.
    pub fn io(check: Check, operation: &str, on: &str, error: &io::Error) -> Self {
        let try_this = "dmesg, for the kernel's reason; nothing was written";
        Refusal::new(check, format!("could not {operation} {on}: {error}"), try_this)
    }
}
