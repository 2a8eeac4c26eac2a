//! The `parameters` table of a trial.

use toml::Table;

use crate::schema::units::{Bytes, GIB, KIB, Scale};
use crate::workloads::kit::files::CHUNK;
use crate::workloads::kit::parameters::{self, Keys};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    pub files: u32,
    /// Length of each file; a multiple of [`CHUNK`].
    pub length: u64,
    /// Pieces written to each file, at different places.
    pub pieces: u32,
    /// Size of each piece.
    pub piece: u64,
    /// Whether each file and copy, with its name, is synced before the next file or copy.
    pub fsync: bool,
}

const KEYS: &[&str] = &["files", "length", "pieces", "piece", "fsync"];
const MOST_FILES: u32 = 100_000;
/// The largest length: chunks are counted in 40 bits, and reading back one or two gibibytes takes about a second.
const LONGEST: u64 = 256 * GIB;
/// The largest number of pieces: the offsets of a file's pieces are in memory while the file is processed.
const MOST_PIECES: u32 = 1_000_000;

impl Parameters {
    pub fn parse(table: &Table) -> Result<Self, String> {
        let keys = Keys::of(table, KEYS)?;
        let chunk = CHUNK as u64;
        let parameters = Parameters {
            files: keys.number("files", 1..=MOST_FILES)?,
            length: keys.bytes("length", chunk..=LONGEST)?,
            pieces: keys.number("pieces", 1..=MOST_PIECES)?,
            piece: keys.bytes("piece", KIB..=chunk)?,
            fsync: keys.or("fsync", false)?,
        };
        if !parameters.length.is_multiple_of(chunk) {
            return Err(format!("length: write a multiple of {}", Bytes(chunk)));
        }
        if u64::from(parameters.pieces) > parameters.places() {
            return Err(format!(
                "pieces = {pieces}: a file of this length has room for {room} pieces, one in each {chunk}",
                pieces = parameters.pieces,
                room = parameters.places(),
                chunk = Bytes(chunk)
            ));
        }
        Ok(parameters)
    }

    /// Number of possible places of a piece.
    pub fn places(&self) -> u64 {
        self.length / CHUNK as u64
    }

    /// Bytes written to each file.
    pub fn written(&self) -> u64 {
        u64::from(self.pieces) * self.piece
    }
}

/// Scales the number of files; the length of files and their pieces stay, because they define the work.
pub fn scale(table: &Table, by: Scale) -> Result<Table, String> {
    let Parameters { files, .. } = Parameters::parse(table)?;
    let scaled = parameters::scaled(table, by, [("files", files.into())])?;
    Parameters::parse(&scaled).map(|_| scaled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_named() {
        let parse = |pieces: &str, length: &str| {
            let text = format!("files = 3\npieces = {pieces}\nlength = '{length}'\npiece = '4k'");
            Parameters::parse(&text.parse().expect("TOML"))
        };
        assert_eq!(parse("8", "1m").map(|p| (p.places(), p.written())), Ok((8, 32 * KIB)));
        assert!(parse("9", "1m").is_err_and(|e| e.contains("has room for 8")));
        assert!(parse("1", "200k").is_err_and(|e| e.contains("multiple of 128 KiB")));
    }
}
