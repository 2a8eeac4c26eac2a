//! Parsed works of records, shared by all records with the same works.

use crate::analysis::metrics::{self, Works};
use crate::schema::job::WorkSpec;
use crate::schema::record::Record;

/// The parsed works of a record.
pub struct Understood<'r> {
    specs: Vec<&'r WorkSpec>,
    /// BLAKE3 of each work, in the order of the works.
    pub hashes: Vec<String>,
    pub works: Result<Works, String>,
}

/// Cached works: trials of one scenario have the same.
#[derive(Default)]
pub struct Known<'r>(Vec<Understood<'r>>);

/// More scenarios than a plan usually has: a run whose works always differ is not slowed by the search.
const KNOWN: usize = 64;

impl<'r> Known<'r> {
    pub fn of(&mut self, record: &'r Record) -> &Understood<'r> {
        let specs = || record.works.iter().map(|work| &work.work);
        let at = self.0.iter().position(|known| known.specs.iter().copied().eq(specs()));
        let at = at.unwrap_or_else(|| {
            if self.0.len() == KNOWN {
                self.0.clear();
            }
            let hashes = specs().map(WorkSpec::hash).collect();
            self.0.push(Understood { specs: specs().collect(), hashes, works: metrics::parsed(record) });
            self.0.len() - 1
        });
        &self.0[at]
    }
}
