//! Content of the files. The content of each file is one or more prefixes of the source text, so a checksum per slot suffices.

use std::convert::Infallible;

use super::drive::{self, Extent, Files};
use super::generator::{File, Generator};
use super::names::{Namer, path};
use super::rules::Rules;
use crate::schema::work::LiveFile;

/// The CRC-32 of each slot's content; empty if the checksums are not needed.
pub struct Checksums(Vec<u32>);

impl Checksums {
    pub fn of_all(generator: &Generator) -> Self {
        Checksums(vec![0; generator.slots() as usize])
    }

    pub fn none() -> Self {
        Checksums(Vec::new())
    }

    /// Updates the checksum of a file that had `at` bytes by an appended prefix of the source.
    pub fn remember(&mut self, file: File, at: u32, added: &[u8]) {
        let Some(checksum) = self.0.get_mut(file.slot as usize) else { return };
        let before = if at == 0 { 0 } else { *checksum };
        let mut hasher = crc32fast::Hasher::new_with_initial_len(before, u64::from(at));
        hasher.update(added);
        *checksum = hasher.finalize();
    }

    /// The files that now exist.
    pub fn live(&self, generator: &Generator) -> Vec<LiveFile> {
        let mut namer = Namer::new(generator.rules());
        let file = |file: File| {
            let crc32 = self.0.get(file.slot as usize).copied().unwrap_or(0);
            LiveFile::file(path(namer.file(file.name)), file.bytes.into(), crc32)
        };
        generator.files().map(file).collect()
    }
}

/// The files that exist after this part of a run, without any I/O.
pub fn after(rules: &Rules, extent: Extent) -> Vec<LiveFile> {
    let (mut generator, source) = Generator::new(rules);
    let mut known = Known { checksums: Checksums::of_all(&generator), source };
    let Ok(()) = drive::create_pool(&mut generator, &mut known, extent, || ());
    let Ok(_) = drive::transactions(&mut generator, &mut known, extent, |_, _| ());
    known.checksums.live(&generator)
}

struct Known {
    checksums: Checksums,
    source: Vec<u8>,
}

impl Files for Known {
    type Error = Infallible;

    fn create(&mut self, file: File) -> Result<(), Infallible> {
        self.checksums.remember(file, 0, &self.source[..file.bytes as usize]);
        Ok(())
    }

    fn read(&mut self, _file: File) -> Result<bool, Infallible> {
        Ok(true)
    }

    fn append(&mut self, file: File, more: impl FnOnce() -> u32) -> Result<bool, Infallible> {
        let more = more() as usize;
        self.checksums.remember(file, file.bytes, &self.source[..more]);
        Ok(true)
    }

    fn delete(&mut self, _file: File) -> Result<bool, Infallible> {
        Ok(true)
    }
}
