//! The signature of a run's seal, in minisign's format: what was recomputed after it, however well, does not fit it.
//!
//! Ed25519 over a BLAKE2b-512 of `seal.json`, whose BLAKE3 hashes cover plan, machine and records, and those of the records
//! the files beside them. `minisign -V -p KEY.pub -m seal.json` checks the first link as well.
//! The file's first line, a comment, is the only one that nothing covers.

use std::io::{Cursor, ErrorKind};

use anyhow::Context;
use minisign::{PublicKey, SignatureBox};

use super::seal::SEAL_MOST;
use super::{Door, Run, SEAL, SIGNATURE};
use crate::keys::Key;

/// Signs the seal that the run has now.
///
/// # Errors
/// When there is none, or no room for the signature.
pub fn sign(run: &Door, key: &Key) -> anyhow::Result<()> {
    let signing = || format!("could not sign {}", run.path().display());
    let sealed = run.read(SEAL, SEAL_MOST).with_context(signing)?;
    let comment = format!(
        "the seal of a run of fsderby, signed {}",
        jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ")
    );
    let signature = minisign::sign(None, key.secret(), Cursor::new(sealed), Some(&comment), None);
    let text = signature.with_context(signing)?.into_string();
    run.replace(SIGNATURE, text.as_bytes()).with_context(signing)
}

/// Whether the run is as it was when the owner of this key signed it. The rest is for the seal to say.
///
/// # Errors
/// One sentence.
pub fn check(run: &Run, key: &PublicKey) -> Result<(), String> {
    let text = match run.door.text(SIGNATURE, SEAL_MOST) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Err("it is not signed".into()),
        other => other.map_err(|e| format!("{SIGNATURE} cannot be read: {e}"))?,
    };
    let sealed = run
        .door
        .read(SEAL, SEAL_MOST)
        .map_err(|e| format!("{SEAL}, the signed file, cannot be read: {e}"))?;
    let signature =
        SignatureBox::from_string(&text).map_err(|e| format!("{SIGNATURE} is not a signature: {e}"))?;
    minisign::verify(key, &signature, Cursor::new(sealed), true, false, false)
        .map_err(|e| format!("its signature does not match this key and this seal: {e}"))?;
    match run.unsealed {
        0 => Ok(()),
        bytes => Err(format!("the last {bytes} bytes of its records were added after it was signed")),
    }
}

/// Whether it was signed, by whomever.
pub fn is_signed(run: &Door) -> bool {
    run.has(SIGNATURE).unwrap_or(false)
}
