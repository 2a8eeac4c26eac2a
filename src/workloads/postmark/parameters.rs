//! The `parameters` table of a trial.

use serde::Deserialize;
use toml::{Table, Value};

use super::rules::{Location, Rules};
use crate::schema::units::{Bytes, Scale};
use crate::workloads::kit::parameters::{self, Keys};

/// A trial's work: PostMark's rules, and the additions of fsderby.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// PostMark's rules. The seed in them is used only if [`Parameters::seed`] is set.
    pub rules: Rules,
    /// The seed in PostMark's form; `None` means the trial's seed.
    pub seed: Option<u32>,
    /// Bytes of the stream buffer, whose size the original gets from the filesystem.
    pub stdio_buffer: u32,
    /// Whether each created and each appended file is synced before it is closed.
    pub fsync: bool,
    /// Whether each creation is followed by a sync of the folder, which makes the name durable too.
    pub fsync_folder: bool,
}

/// The largest length of a file or folder name in bytes, on every filesystem in fsderby (NAME_MAX).
const LONGEST_NAME: usize = 255;
const KEYS: &[&str] = &[
    "number",
    "transactions",
    "size",
    "read_block",
    "write_block",
    "buffering",
    "stdio_buffer",
    "bias_read",
    "bias_create",
    "subdirectories",
    "locations",
    "seed",
    "fsync",
    "fsync_folder",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    path: String,
    #[serde(default = "one")]
    weight: u32,
}

fn one() -> u32 {
    1
}

impl Parameters {
    pub fn parse(table: &Table) -> Result<Self, String> {
        let keys = Keys::of(table, KEYS)?;
        let defaults = Rules::default();
        let size = keys.get::<[Bytes; 2]>("size")?.unwrap_or([Bytes(500), Bytes(10_000)]);
        let seed = keys.get::<u32>("seed")?;
        let rules = Rules {
            number: positive(keys, "number", defaults.number)?,
            transactions: positive(keys, "transactions", defaults.transactions)?,
            low: bytes("size", size[0])?,
            high: bytes("size", size[1])?,
            read_block: block(keys, "read_block", defaults.read_block)?,
            write_block: block(keys, "write_block", defaults.write_block)?,
            buffering: keys.or("buffering", defaults.buffering)?,
            bias_read: bias(keys, "bias_read")?,
            bias_create: bias(keys, "bias_create")?,
            subdirectories: keys.or("subdirectories", 0)?,
            locations: locations(keys)?,
            seed: seed.unwrap_or(defaults.seed),
        };
        if rules.low > rules.high {
            return Err(format!("size = [{}, {}]: write the smaller size first", rules.low, rules.high));
        }
        rules.check()?;
        let stdio_buffer = block(keys, "stdio_buffer", 4096)?;
        if stdio_buffer > 8192 {
            return Err(format!("stdio_buffer = {stdio_buffer}: the C library's limit is 8192"));
        }
        let fsync = keys.or("fsync", false)?;
        let fsync_folder = keys.or("fsync_folder", false)?;
        if fsync_folder && !fsync {
            return Err(
                "fsync_folder = true: a synced name without synced content is useless; set fsync = true too"
                    .into(),
            );
        }
        Ok(Parameters { rules, seed, stdio_buffer, fsync, fsync_folder })
    }

    /// The rules with the seed in use: a trial's seed is cut to 32 bits, as PostMark has.
    pub fn rules_for(&self, trial_seed: u64) -> Rules {
        Rules { seed: self.seed.unwrap_or(trial_seed as u32), ..self.rules.clone() }
    }
}

/// Scales files and transactions; file sizes stay, because they define the work. Keeps enough files that the transactions do not
/// delete the last file by chance, which would end PostMark.
pub fn scale(table: &Table, by: Scale) -> Result<Table, String> {
    let Rules { number, transactions, bias_create, .. } = Parameters::parse(table)?.rules;
    let (number, transactions) = (u64::from(number), u64::from(transactions));
    let enough = bias_create.map_or(1, |tenths| enough_files(by.apply(transactions), tenths));
    let mut scaled = parameters::scaled(table, by, [("number", number), ("transactions", transactions)])?;
    let at_least = number.min(enough);
    if by.apply(number) < at_least {
        let at_least = i64::try_from(at_least).map_err(|_| format!("number: {by} is too large"))?;
        scaled.insert("number".into(), Value::Integer(at_least));
    }
    Parameters::parse(&scaled).map(|_| scaled)
}

/// The number of files needed: the expected excess of deletions over creations, plus four standard deviations of a random walk of
/// this length. One trial in 16,000 needs more files.
fn enough_files(transactions: u64, create_tenths: u32) -> u64 {
    let lost = transactions.saturating_mul(10u64.saturating_sub(2 * u64::from(create_tenths))) / 10;
    let squared = transactions.saturating_mul(16);
    let root = squared.isqrt();
    lost.saturating_add(root + u64::from(root * root < squared))
}

fn positive(keys: Keys<'_>, key: &str, default: u32) -> Result<u32, String> {
    match keys.or(key, default)? {
        0 => Err(format!("{key} = 0: write a number of at least 1")),
        n => Ok(n),
    }
}

fn block(keys: Keys<'_>, key: &str, default: u32) -> Result<u32, String> {
    bytes(key, keys.or(key, Bytes(u64::from(default)))?)
}

fn bytes(key: &str, value: Bytes) -> Result<u32, String> {
    match i32::try_from(value.0) {
        Ok(n) if n > 0 => Ok(n as u32),
        _ => Err(format!("{key}: {value} is outside of 1 byte to 2 GiB")),
    }
}

fn bias(keys: Keys<'_>, key: &str) -> Result<Option<u32>, String> {
    match keys.or::<i64>(key, 5)? {
        -1 => Ok(None),
        tenths @ 0..=10 => Ok(Some(tenths as u32)),
        other => Err(format!(
            "{key} = {other}: write a number of tenths from 0 to 10, or -1 for neither of the two operations"
        )),
    }
}

fn locations(keys: Keys<'_>) -> Result<Vec<Location>, String> {
    let places: Vec<Place> = keys.or("locations", Vec::new())?;
    places.into_iter().map(location).collect()
}

/// A trial's files stay in its folder.
fn location(Place { path, weight }: Place) -> Result<Location, String> {
    let is_name =
        |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0') && part.len() <= LONGEST_NAME;
    if !path.split('/').all(is_name) {
        return Err(format!("locations: '{path}' is not a relative path inside the trial's directory"));
    }
    if weight == 0 {
        return Err(format!("locations: the weight of '{path}' must be at least 1"));
    }
    Ok(Location { path: path.into_bytes(), weight })
}

#[cfg(test)]
mod tests {
    use super::super::drive::Ended;
    use super::super::dry::dry_run;
    use super::*;

    fn parse(text: &str) -> Result<Parameters, String> {
        Parameters::parse(&text.parse().expect("TOML"))
    }

    #[test]
    fn nothing_given_is_the_originals_defaults() {
        let parameters = parse("").expect("defaults");
        assert_eq!(parameters.rules, Rules::default());
        assert_eq!(parameters.rules_for(1 << 32 | 7).seed, 7);
    }

    #[test]
    fn sizes_are_numbers_or_texts() {
        let rules = parse("size = [1000, '1k']\nseed = 3").expect("sizes").rules_for(9);
        assert_eq!((rules.low, rules.high, rules.seed), (1000, 1024, 3));
    }

    #[test]
    fn a_mistake_is_named() {
        for (text, words) in [
            ("transaction = 3", "did you mean 'transactions'?"),
            ("number = 0", "number = 0"),
            ("size = [5, 3]", "write the smaller size first"),
            ("size = [1, '2g']", "size"),
            ("bias_read = 11", "tenths"),
            ("buffering = 1", "buffering"),
            ("locations = [{path = '../x'}]", "'../x'"),
            ("locations = [{path = 'x', weight = 0}]", "weight"),
            ("locations = [{path = 'x', wieght = 2}]", "wieght"),
            ("stdio_buffer = '64k'", "8192"),
            ("fsync_folder = true", "set fsync = true too"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_scale_changes_how_much_and_not_what() {
        let table = "number = 3200\nsize = [1, 1000]".parse().expect("TOML");
        let scaled =
            scale(&table, Scale { of: 1, by: 16 }).and_then(|t| Parameters::parse(&t)).expect("scaled");
        assert_eq!((scaled.rules.number, scaled.rules.transactions, scaled.rules.high), (200, 31, 1000));
    }

    #[test]
    fn a_scale_leaves_files_enough_for_its_transactions() {
        for (table, by, number, transactions) in [
            ("number = 800\ntransactions = 2500", 16, 50, 156),
            ("number = 800\ntransactions = 2500", 64, 25, 39),
            ("number = 800\ntransactions = 2500", 10_000, 4, 1),
            ("number = 900\ntransactions = 1000\nbias_create = 2", 10, 100, 100),
            // A set that has too few files from the start keeps its number, because the user chose it.
            ("number = 5\ntransactions = 2500", 16, 5, 156),
            ("number = 800\ntransactions = 2500\nbias_create = -1", 64, 13, 39),
        ] {
            let scaled = scale(&table.parse().expect("TOML"), Scale { of: 1, by }).expect(table);
            let Rules { number: n, transactions: t, .. } = Parameters::parse(&scaled).expect(table).rules;
            assert_eq!((u64::from(n), u64::from(t)), (number, transactions), "{table} by {by}");
        }
    }

    #[test]
    fn at_every_scale_files_are_left_to_the_end() {
        let table: Table = "number = 800\ntransactions = 2500".parse().expect("TOML");
        for by in [16, 64, 256] {
            let scaled =
                scale(&table, Scale { of: 1, by }).and_then(|t| Parameters::parse(&t)).expect("scaled");
            let ends = (1..=500).filter(|seed| dry_run(&scaled.rules_for(*seed)).ended != Ended::Complete);
            assert_eq!(ends.count(), 0, "1/{by}");
        }
    }
}
