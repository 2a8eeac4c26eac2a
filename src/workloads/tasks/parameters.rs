//! The `parameters` table of a trial.

use toml::Table;

use crate::schema::units::{GIB, Scale};
use crate::workloads::kit::parameters::{self, Keys};
use crate::workloads::kit::sizes;
use crate::workloads::kit::tree::Shape;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Size of the large file.
    pub image: u64,
    pub tree: Shape,
    /// Whether all data is synced to the disk after each task.
    pub sync_each: bool,
}

const KEYS: &[&str] = &["image", "files", "folders", "deepest", "sizes", "sync_each"];
/// The state per file must be small compared with the least memory of a trial.
const MOST: u32 = 1_000_000;
/// The largest image: its chunks are counted in 40 bits.
const LARGEST: u64 = 256 * GIB;

impl Parameters {
    pub fn parse(table: &Table) -> Result<Self, String> {
        let keys = Keys::of(table, KEYS)?;
        Ok(Parameters {
            image: keys.bytes("image", 1..=LARGEST)?,
            tree: Shape {
                files: keys.number("files", 1..=MOST)?,
                folders: keys.number("folders", 1..=MOST)?,
                deepest: keys.number("deepest", 1..=64)?,
                sizes: sizes::rows(keys.needed("sizes")?)?,
            },
            sync_each: keys.or("sync_each", false)?,
        })
    }
}

/// Scales the amount of work; the sizes of the tree's files stay, because they define the work.
pub fn scale(table: &Table, by: Scale) -> Result<Table, String> {
    let Parameters { image, tree, .. } = Parameters::parse(table)?;
    let numbers = [("image", image), ("files", tree.files.into()), ("folders", tree.folders.into())];
    let scaled = parameters::scaled(table, by, numbers)?;
    Parameters::parse(&scaled).map(|_| scaled)
}

#[cfg(test)]
mod tests {
    use super::super::SETS;
    use super::*;
    use crate::schema::units::MIB;
    use crate::workloads::kit::Tree;
    use crate::workloads::kit::tree::Grown;

    #[test]
    fn the_tree_is_as_large_as_it_is_printed() {
        for set in SETS {
            let parameters = Parameters::parse(&set.file().parameters).expect("a set");
            let tree = Grown::new(&parameters.tree, "tasks", 1);
            assert_eq!((tree.files(), tree.folders().len()), (7500, 900));
            // 1.9 GB are expected; the standard deviation of 7500 draws of 254 kB (640 kB each) is 55 MB, and the bounds are four
            // of these.
            assert!((1_680_000_000..2_130_000_000).contains(&tree.bytes()), "{}", tree.bytes());
            assert!((0..7500).all(|file| (10_001..=5_000_000).contains(&tree.size(file))));
        }
    }

    #[test]
    fn a_scale_changes_how_much_and_not_what() {
        let table = SETS[0].file().parameters;
        let scaled = scale(&table, Scale { of: 1, by: 16 }).and_then(|t| Parameters::parse(&t));
        let scaled = scaled.expect("scaled");
        assert_eq!((scaled.image, scaled.tree.files, scaled.tree.folders), (700 * MIB / 16, 469, 56));
        assert_eq!(scaled.tree.sizes, Parameters::parse(&table).expect("a set").tree.sizes);
    }
}
