//! Applies the generator's operations to a backend: the kernel, a trace, or mere counters.

use super::generator::{Access, File, Generator, Turnover};
use super::rules::Rules;

/// The target of the operations. `Ok(false)` means that the operation failed and the run continues as if the operation had not been
/// requested.
pub trait Files {
    type Error;
    fn create(&mut self, file: File) -> Result<(), Self::Error>;
    fn read(&mut self, file: File) -> Result<bool, Self::Error>;
    /// Opens the file, *then* asks how many bytes to append, and writes them.
    fn append(&mut self, file: File, more: impl FnOnce() -> u32) -> Result<bool, Self::Error>;
    fn delete(&mut self, file: File) -> Result<bool, Self::Error>;
    fn make_directory(&mut self, _location: u32, _subdirectory: u32) -> Result<(), Self::Error> {
        Ok(())
    }
    fn remove_directory(&mut self, _location: u32, _subdirectory: u32) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// The way in which the transactions ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Complete,
    /// No file was left to work on before this transaction, counted from 0.
    OutOfFiles(u32),
}

/// How much of a run is carried out: a number of created files and of transactions. Only a whole run deletes the remaining files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub created: u32,
    pub transactions: u32,
}

impl Extent {
    pub const WHOLE: Extent = Extent { created: u32::MAX, transactions: u32::MAX };

    /// The first `operations` of a run. The creation of a file of the pool is one operation, and so is a transaction.
    pub fn first(operations: u64, rules: &Rules) -> Self {
        let all = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let transactions = all(operations.saturating_sub(u64::from(rules.number)));
        Extent { created: all(operations), transactions }
    }
}

/// Creates the pool; calls `after` for each file.
pub fn create_pool<F: Files>(
    generator: &mut Generator,
    files: &mut F,
    extent: Extent,
    mut after: impl FnMut(),
) -> Result<(), F::Error> {
    for _ in 0..generator.rules().number.min(extent.created) {
        if let Some(file) = generator.create() {
            files.create(file)?;
        }
        after();
    }
    Ok(())
}

/// Runs all transactions; calls `after` for each.
pub fn transactions<F: Files>(
    generator: &mut Generator,
    files: &mut F,
    extent: Extent,
    mut after: impl FnMut(&mut F, u32),
) -> Result<Ended, F::Error> {
    for index in 0..generator.rules().transactions.min(extent.transactions) {
        if generator.is_out_of_files() {
            return Ok(Ended::OutOfFiles(index));
        }
        transaction(generator, files)?;
        after(files, index);
    }
    Ok(Ended::Complete)
}

fn transaction<F: Files>(generator: &mut Generator, files: &mut F) -> Result<(), F::Error> {
    match generator.access() {
        Some(Access::Read(file)) => {
            files.read(file)?;
        }
        Some(Access::Append(file)) if generator.can_grow(file) => {
            files.append(file, || generator.grow(file))?;
        }
        Some(Access::Append(_)) | None => {}
    }
    match generator.turnover() {
        Some(Turnover::Create(file)) => files.create(file)?,
        Some(Turnover::Delete(file)) => delete(generator, files, file)?,
        None => {}
    }
    Ok(())
}

/// Deletes the remaining files; calls `after` for each file.
pub fn delete_pool<F: Files>(
    generator: &mut Generator,
    files: &mut F,
    mut after: impl FnMut(),
) -> Result<(), F::Error> {
    for slot in 0..generator.slots() {
        if let Some(file) = generator.file(slot) {
            delete(generator, files, file)?;
            after();
        }
    }
    Ok(())
}

fn delete<F: Files>(generator: &mut Generator, files: &mut F, file: File) -> Result<(), F::Error> {
    if files.delete(file)? {
        generator.free(file);
    }
    Ok(())
}

pub fn make_directories<F: Files>(generator: &Generator, files: &mut F) -> Result<(), F::Error> {
    directories(generator).try_for_each(|(location, sub)| files.make_directory(location, sub))
}

pub fn remove_directories<F: Files>(generator: &Generator, files: &mut F) -> Result<(), F::Error> {
    directories(generator).try_for_each(|(location, sub)| files.remove_directory(location, sub))
}

fn directories(generator: &Generator) -> impl Iterator<Item = (u32, u32)> + use<> {
    let locations = generator.rules().locations.len().max(1) as u32;
    let split = generator.rules().split();
    (0..locations).flat_map(move |location| (0..split).map(move |sub| (location, sub)))
}
