//! The `parameters` table of a trial.

use toml::Table;

use crate::schema::units::{Bytes, GIB, KIB, Scale};
use crate::workloads::kit::parameters::{self, Keys};
use crate::workloads::kit::sizes::{self, Row};

/// Size of a random read.
pub const BLOCK: usize = 4 * KIB as usize;
/// The tree, and how much of it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The number of files, without the large files.
    pub files: u32,
    /// Files per folder.
    pub per_folder: u32,
    /// The distribution of file sizes, with ascending rows; no file is empty.
    pub sizes: Vec<Row>,
    pub large_files: u32,
    /// Bytes of each large file: a multiple of [`BLOCK`].
    pub large_size: u64,
    /// Number of random reads. Each reads one block, and no block is read twice.
    pub reads: u32,
}

const KEYS: &[&str] = &["files", "per_folder", "sizes", "large_files", "large_size", "reads"];
/// The state per file must be small compared with the least memory of a trial.
const MOST_FILES: u32 = 1_000_000;
/// Limit of the number of large files: all of them are open at the same time.
const MOST_LARGE: u32 = 256;
/// Limit of a large file's size: chunks and blocks are counted in 40 bits.
const LARGEST_LARGE: u64 = 256 * GIB;

impl Parameters {
    pub fn parse(table: &Table) -> Result<Self, String> {
        let keys = Keys::of(table, KEYS)?;
        let large_size = keys.needed::<Bytes>("large_size")?.0;
        if !(BLOCK as u64..=LARGEST_LARGE).contains(&large_size) || !large_size.is_multiple_of(BLOCK as u64) {
            return Err(format!("large_size: write a multiple of 4k, up to {}", Bytes(LARGEST_LARGE)));
        }
        let parameters = Parameters {
            files: keys.number("files", 1..=MOST_FILES)?,
            per_folder: keys.number("per_folder", 1..=MOST_FILES)?,
            sizes: sizes::rows(keys.needed("sizes")?)?,
            large_files: keys.number("large_files", 1..=MOST_LARGE)?,
            large_size,
            reads: keys.number("reads", 1..=MOST_FILES)?,
        };
        let blocks = parameters.large_size / BLOCK as u64 * u64::from(parameters.large_files);
        if u64::from(parameters.reads) > blocks {
            return Err(format!(
                "reads = {}: the large files have only {blocks} blocks of 4 KiB, and each is read at most once",
                parameters.reads
            ));
        }
        Ok(parameters)
    }
}

/// Scales files and reads; file sizes and folder widths stay, because they define the work.
pub fn scale(table: &Table, by: Scale) -> Result<Table, String> {
    let parameters = Parameters::parse(table)?;
    let Parameters { files, large_files, reads, .. } = parameters;
    let numbers = [("files", files), ("large_files", large_files), ("reads", reads)];
    let scaled = parameters::scaled(table, by, numbers.map(|(key, n)| (key, n.into())))?;
    Parameters::parse(&scaled).map(|_| scaled)
}

#[cfg(test)]
mod tests {
    use toml::Value;

    use super::*;
    use crate::schema::units::MIB;

    const GOOD: [(&str, &str); 6] = [
        ("files", "320"),
        ("per_folder", "20"),
        ("sizes", "[{ up_to = '1k', weight = 2 }, { up_to = 4096, weight = 1 }]"),
        ("large_files", "16"),
        ("large_size", "'1m'"),
        ("reads", "1600"),
    ];

    fn table(key: &str, value: &str) -> Table {
        let text = GOOD.map(|(k, v)| format!("{k} = {}\n", if k == key { value } else { v })).concat();
        text.parse().expect("TOML")
    }

    #[test]
    fn a_mistake_is_named() {
        for (key, value, words) in [
            ("files", "0", "from 1 to 1000000"),
            ("files", "-1", "files = -1"),
            ("large_files", "257", "from 1 to 256"),
            ("large_size", "'5k'", "multiple of 4k"),
            ("reads", "4097", "only 4096 blocks"),
            ("sizes", "[]", "one row needs a weight"),
            ("sizes", "[{ up_to = 5, weight = 1 }, { up_to = 5, weight = 1 }]", "larger than the row before"),
            ("sizes", "[{ up_to = '2g', weight = 1 }]", "at most 1 GiB"),
        ] {
            let error = Parameters::parse(&table(key, value)).expect_err(value);
            assert!(error.contains(words), "{key} = {value}: {error}");
        }
        let mut unknown = table("", "");
        unknown.insert("file".into(), Value::Integer(1));
        let error = Parameters::parse(&unknown).expect_err("no such key");
        assert!(error.contains("did you mean 'files'?"), "{error}");
        assert_eq!(Parameters::parse(&Table::new()), Err("large_size is missing".into()));
    }

    #[test]
    fn a_scale_changes_how_much_and_not_what() {
        let by = Scale { of: 1, by: 32 };
        let scaled = scale(&table("", ""), by).and_then(|t| Parameters::parse(&t)).expect("scaled");
        assert_eq!((scaled.files, scaled.large_files, scaled.reads), (10, 1, 50));
        assert_eq!((scaled.per_folder, scaled.large_size, scaled.sizes.len()), (20, MIB, 2));
    }
}
