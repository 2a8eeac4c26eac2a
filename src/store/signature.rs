//! The signature of a run's seal, in minisign's format. The signature detects any change after signing, even if all checksums were
//! recomputed.
//!
//! Ed25519 signs a BLAKE2b-512 hash of `seal.json`. The seal has BLAKE3 hashes of plan, machine and records, and the records
//! have hashes of the files beside them. `minisign -V -p KEY.pub -m seal.json` also checks the signature. Only the signature
//! file's first line, a comment, is not covered.

use std::io::{Cursor, ErrorKind};

use anyhow::Context;
use minisign::{PublicKey, SignatureBox};

use super::seal::SEAL_MOST;
use super::{Door, Run, SEAL, SIGNATURE};
use crate::store::keys::Key;

/// Signs the current seal of the run.
///
/// # Errors
/// If the run has no seal, or the signature cannot be written.
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

/// Checks that the owner of this key signed the run's seal. Whether the run matches the seal is checked separately.
///
/// # Errors
/// A description of the problem in one sentence.
pub fn check(run: &Run, key: &PublicKey) -> Result<(), String> {
    let text = match run.door.text(SIGNATURE, SEAL_MOST) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Err("the run is not signed".into()),
        other => other.map_err(|e| format!("{SIGNATURE} cannot be read: {e}"))?,
    };
    let sealed = run
        .door
        .read(SEAL, SEAL_MOST)
        .map_err(|e| format!("{SEAL}, the signed file, cannot be read: {e}"))?;
    let signature =
        SignatureBox::from_string(&text).map_err(|e| format!("{SIGNATURE} is not a signature: {e}"))?;
    minisign::verify(key, &signature, Cursor::new(sealed), true, false, false)
        .map_err(|e| format!("the run's signature does not match this key and this seal: {e}"))?;
    match run.unsealed {
        0 => Ok(()),
        bytes => {
            Err(format!("the last {bytes} bytes of the run's records were added after the run was signed"))
        }
    }
}

/// Whether the run is signed, with any key.
pub fn is_signed(run: &Door) -> bool {
    run.has(SIGNATURE).unwrap_or(false)
}
