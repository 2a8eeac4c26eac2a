//! The `parameters` table of a trial.

use toml::Table;

use crate::schema::units::Scale;
use crate::workloads::kit::parameters::{self, Keys};
use crate::workloads::kit::sizes;
use crate::workloads::kit::tree::Shape;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    pub tree: Shape,
    pub updates: u32,
    /// Files changed per update, in permille.
    pub changed_permille: u32,
    /// Whether each file and its name are synced before the next file is written.
    pub fsync: bool,
}

const KEYS: &[&str] = &["files", "folders", "deepest", "sizes", "updates", "changed_permille", "fsync"];
/// The state per file must be small compared with the least memory of a trial.
const MOST: u32 = 1_000_000;
const MOST_UPDATES: u32 = 1000;
/// Limit of the number of versions, counted over all files. Each version has different content.
const MOST_VERSIONS: u64 = 1 << 24;

impl Parameters {
    pub fn parse(table: &Table) -> Result<Self, String> {
        let keys = Keys::of(table, KEYS)?;
        let parameters = Parameters {
            tree: Shape {
                files: keys.number("files", 1..=MOST)?,
                folders: keys.number("folders", 1..=MOST)?,
                deepest: keys.number("deepest", 1..=64)?,
                sizes: sizes::rows(keys.needed("sizes")?)?,
            },
            updates: keys.number("updates", 1..=MOST_UPDATES)?,
            changed_permille: keys.number("changed_permille", 1..=1000)?,
            fsync: keys.or("fsync", false)?,
        };
        let versions = u64::from(parameters.tree.files) * (1 + u64::from(parameters.updates));
        if versions > MOST_VERSIONS {
            return Err(format!(
                "updates = {}: that could make {versions} versions of files; the limit is {MOST_VERSIONS}",
                parameters.updates
            ));
        }
        Ok(parameters)
    }

    /// The number of files that each update changes; at least one.
    pub fn changed(&self) -> u32 {
        let share = u64::from(self.tree.files) * u64::from(self.changed_permille) / 1000;
        share.max(1) as u32
    }
}

/// Scales the amount of data; the number of updates stays.
pub fn scale(table: &Table, by: Scale) -> Result<Table, String> {
    let Parameters { tree, .. } = Parameters::parse(table)?;
    let numbers = [("files", tree.files.into()), ("folders", tree.folders.into())];
    let scaled = parameters::scaled(table, by, numbers)?;
    Parameters::parse(&scaled).map(|_| scaled)
}
