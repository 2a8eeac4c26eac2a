//! Key files in minisign's format, to sign runs and check signatures.

use std::fs::{self, File, OpenOptions};
use std::io::{Cursor, ErrorKind, Read, Write};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ct_codecs::{Base64, Decoder};
use minisign::{KeyPair, PublicKey, PublicKeyBox, SecretKey, SecretKeyBox};
use rustix::fs::OFlags;

use crate::exit::Failure;
use crate::host::caller::hand_over;

/// A key file is two lines of text.
const LONGEST: u64 = 4096;
/// Position of the key derivation function's name in the bytes of a key.
const KDF: Range<usize> = 2..4;
const NO_KDF: [u8; 2] = [0; 2];

/// A secret key, which is never printed.
pub struct Key(SecretKey);

impl Key {
    /// Reads a secret key from a file that other users must not be able to read. If the key has a password, `ask` returns
    /// the password, or `None` if no user can be asked.
    ///
    /// # Errors
    /// The error says why runs cannot be signed with this key.
    pub fn read(path: &Path, ask: impl FnOnce() -> Option<String>) -> Result<Key, Failure> {
        let shown = path.display();
        let mut file = open(path).map_err(|e| {
            Failure::usage(format!(
                "could not read the key {shown}: {e}\n  try: fsderby key {shown}, which creates one"
            ))
        })?;
        if file.metadata().map_err(|e| unusable(path, &e))?.mode() & 0o077 != 0 {
            let text = format!("other users can read the secret key {shown}\n  try: chmod 600 {shown}");
            return Err(Failure::usage(text));
        }
        let text = short(&mut file).map_err(|e| unusable(path, &e))?;
        let stored =
            stored(&text).ok_or_else(|| unusable(path, &"the second line of the file is not a key"))?;
        let key = match stored[KDF] == NO_KDF {
            true => SecretKey::from_bytes(&stored),
            false => {
                let password = ask().ok_or_else(|| no_password(path))?;
                SecretKeyBox::from_string(&text).and_then(|boxed| boxed.into_secret_key(Some(password)))
            }
        };
        key.and_then(|key| tried(&key).map(|()| Key(key))).map_err(|e| unusable(path, &e))
    }

    /// The key, for signing.
    pub fn secret(&self) -> &SecretKey {
        &self.0
    }
}

/// Makes a key pair: this file, readable only by its owner, and `FILE.pub`, whose path is returned.
///
/// # Errors
/// If one of the two files exists, because an overwritten key would be lost.
pub fn make(path: &Path) -> anyhow::Result<PathBuf> {
    let public = PathBuf::from(format!("{}.pub", path.display()));
    let KeyPair { pk, sk } = KeyPair::generate_unencrypted_keypair()?;
    write_new(
        path,
        0o600,
        &sk.to_box(Some("this key signs runs of fsderby; keep it secret"))?.into_string(),
    )?;
    write_new(&public, 0o644, &pk.to_box()?.into_string()).inspect_err(|_| drop(fs::remove_file(path)))?;
    Ok(public)
}

fn write_new(path: &Path, mode: u32, text: &str) -> Result<(), Failure> {
    let made = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let written = made.and_then(|mut file| {
        let written =
            hand_over(&file).and_then(|()| file.write_all(text.as_bytes())).and_then(|()| file.sync_all());
        written.inspect_err(|_| drop(fs::remove_file(path)))
    });
    written.map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => {
            let text =
                format!("{} already exists and is not overwritten\n  try: another name", path.display());
            Failure::usage(text)
        }
        _ => Failure::missing(format!("could not write {}: {e}", path.display())),
    })
}

/// Reads a public key from a file, or from the text of the key as minisign prints it.
///
/// # Errors
/// The error says why the text is not a public key.
pub fn public_key(text: &str) -> Result<PublicKey, Failure> {
    let mut file = match open(Path::new(text)) {
        Ok(file) => file,
        // Base64 contains slashes.
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            let wrong = |e| {
                Failure::usage(format!(
                    "'{text}' is neither a file nor a public key: {e}\n  try: --key KEYFILE.pub"
                ))
            };
            return PublicKey::from_base64(text).map_err(wrong);
        }
        Err(e) => return Err(Failure::usage(format!("the key {text}: {e}\n  try: --key KEYFILE.pub"))),
    };
    let is_one = short(&mut file)
        .map_err(anyhow::Error::from)
        .and_then(|text| Ok(PublicKeyBox::from_string(&text)?.into_public_key()?));
    is_one.map_err(|e| {
        Failure::usage(format!("{text} contains no public key: {e:#}\n  try: --key KEYFILE.pub"))
    })
}

/// The bytes of a key file's second line.
fn stored(text: &str) -> Option<Vec<u8>> {
    let bytes = Base64::decode_to_vec(text.lines().nth(1)?.trim(), None).ok()?;
    (bytes.len() > KDF.end).then_some(bytes)
}

/// Checks that the public key verifies what the secret key signs, because minisign stores no checksum for a key without a password.
fn tried(key: &SecretKey) -> minisign::Result<()> {
    let public = PublicKey::from_secret_key(key)?;
    let signature = minisign::sign(Some(&public), key, Cursor::new(b""), None, None)?;
    minisign::verify(&public, &signature, Cursor::new(b""), true, false, false)
}

/// Opens a regular file; other types are refused, because a pipe without a writer would block.
fn open(path: &Path) -> std::io::Result<File> {
    let file =
        OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(std::io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

fn short(file: &mut File) -> std::io::Result<String> {
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

fn unusable(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    let path = path.display();
    Failure::usage(format!("{path} is not a secret key: {why}\n  try: fsderby key FILE, which creates one"))
}

fn no_password(path: &Path) -> Failure {
    let path = path.display();
    let text = format!("the key {path} has a password, and there is no terminal to ask for it");
    Failure::usage(format!(
        "{text}\n  try: run this in a terminal, or use a key without a password; fsderby key FILE creates one"
    ))
}
