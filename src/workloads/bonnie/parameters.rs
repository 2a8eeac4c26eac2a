//! The `parameters` table of a trial.

use serde::Deserialize;
use toml::{Table, Value};

use super::rules::{self, Flush, Rules, Semantics, Small};
use crate::schema::units::{Bytes, Scale};
use crate::workloads::kit::Keys;

/// A trial's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The parameters of Bonnie++. The seed in them is used only if [`Parameters::seed`] is set.
    pub rules: Rules,
    /// The seed in Bonnie++'s form; `None` means the trial's seed.
    pub seed: Option<u32>,
}

const KEYS: &[&str] = &[
    "semantics",
    "size",
    "chunk",
    "characters",
    "seeks",
    "seekers",
    "files",
    "file_size",
    "links",
    "directories",
    "piece",
    "fsync",
    "direct",
    "seed",
];

#[derive(Deserialize)]
enum WrittenSemantics {
    #[serde(rename = "classic")]
    Classic,
    #[serde(rename = "2.00")]
    Second,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Links {
    Hard,
    Symbolic,
}

impl Parameters {
    pub fn parse(table: &Table) -> Result<Self, String> {
        let keys = Keys::of(table, KEYS)?;
        let semantics = match keys.needed("semantics")? {
            WrittenSemantics::Classic => Semantics::Classic,
            WrittenSemantics::Second => Semantics::Second,
        };
        let chunk = chunk(keys)?;
        let chunks = chunks(keys.needed("size")?, chunk)?;
        let seed = keys.get::<u32>("seed")?;
        let rules = Rules {
            semantics,
            chunks,
            chunk,
            characters: characters(keys, semantics, chunks * u64::from(chunk))?,
            seeks: number(keys, "seeks", rules::SEEKS, rules::MOST_SEEKS)?,
            seekers: number(keys, "seekers", semantics.seekers(), rules::MOST_SEEKERS)?,
            files: keys.or("files", 0)?,
            small: small(keys)?,
            directories: number(keys, "directories", 1, rules::MOST_DIRECTORIES)?,
            piece: number(keys, "piece", rules::CHUNK, 1 << 20)?,
            fsync: keys.or("fsync", false)?,
            direct: keys.or("direct", false)?,
            flush: Flush::Own,
            seed: seed.unwrap_or(0),
        };
        check(&rules)?;
        Ok(Parameters { rules, seed })
    }

    /// The rules with the seed in use: a trial's seed is cut to 32 bits, as Bonnie++ has.
    pub fn rules_for(&self, trial_seed: u64) -> Rules {
        Rules { seed: self.seed.unwrap_or(trial_seed as u32), ..self.rules.clone() }
    }
}

/// Checks that involve several keys.
fn check(rules: &Rules) -> Result<(), String> {
    if rules.chunks == 0 && rules.files == 0 {
        return Err("size = 0 and files = 0: there is nothing to do; set one of them".into());
    }
    if rules.files > rules::MOST_FILES {
        return Err(format!("files = {}: the limit is {}", rules.files, rules::MOST_FILES));
    }
    if rules.files > 0 && rules.directories > rules.files {
        return Err(format!("directories = {}: there are only {} files", rules.directories, rules.files));
    }
    if rules.small == Small::Symlinks && rules.directories > 1 {
        return Err("directories: symbolic links work only with 1 directory".into());
    }
    if rules.direct && rules.characters > 0 && rules.chunks > 0 {
        return Err("direct = true: single bytes cannot bypass the page cache; set characters = 0".into());
    }
    Ok(())
}

/// Scales sizes and counts; the sizes of chunks, small files and directories stay, because they define the work.
pub fn scale(table: &Table, by: Scale) -> Result<Table, String> {
    let rules = Parameters::parse(table)?.rules;
    let mut scaled = table.clone();
    let mut set = |key: &str, value: u64| {
        let value = i64::try_from(value).map_err(|_| format!("{key}: {by} is too large"))?;
        scaled.insert(key.into(), Value::Integer(value));
        Ok::<(), String>(())
    };
    if rules.chunks > 0 {
        let chunks = by.apply(rules.chunks);
        set("size", chunks.saturating_mul(rules.chunk.into()))?;
        set("seeks", by.apply(rules.seeks.into()))?;
        if rules.semantics == Semantics::Second && table.contains_key("characters") && rules.characters > 0 {
            set("characters", by.apply(rules.characters))?;
        }
    }
    if rules.files > 0 {
        set("files", by.apply(rules.files.into()).max(rules.directories.into()))?;
    }
    Parameters::parse(&scaled).map(|_| scaled)
}

fn number(keys: Keys<'_>, key: &str, default: u32, most: u32) -> Result<u32, String> {
    let value = keys.or(key, i64::from(default))?;
    let fits = u32::try_from(value).ok().filter(|n| (1..=most).contains(n));
    fits.ok_or_else(|| format!("{key} = {value}: write a number from 1 to {most}"))
}

fn chunk(keys: Keys<'_>) -> Result<u32, String> {
    let [least, most] = rules::CHUNKS;
    let Bytes(chunk) = keys.or("chunk", Bytes(rules::CHUNK.into()))?;
    let fits = u32::try_from(chunk).ok().filter(|n| (least..=most).contains(n) && n.is_power_of_two());
    fits.ok_or_else(|| format!("chunk = {chunk}: write a power of two from {least} to 1m"))
}

fn chunks(Bytes(size): Bytes, chunk: u32) -> Result<u64, String> {
    let chunks = size / u64::from(chunk);
    if !size.is_multiple_of(chunk.into()) {
        return Err(format!("size = {size}: write a multiple of the chunk, {chunk} bytes"));
    }
    if chunks >= rules::MOST_CHUNKS {
        return Err(format!("size = {}: {chunks} chunks are too many (2^31 or more)", Bytes(size)));
    }
    Ok(chunks)
}

fn characters(keys: Keys<'_>, semantics: Semantics, size: u64) -> Result<u64, String> {
    let asked = keys.get("characters")?.map(|Bytes(asked)| asked);
    match (semantics, asked) {
        (Semantics::Classic, None) => Ok(size),
        (Semantics::Classic, Some(asked)) if asked == 0 || asked == size => Ok(asked),
        (Semantics::Classic, Some(asked)) => Err(format!(
            "characters = {asked}: with semantics = classic, write the whole size, or 0 to skip the \
             characters"
        )),
        (Semantics::Second, None) => Ok(rules::CHARACTERS.min(size)),
        (Semantics::Second, Some(asked)) => Ok(asked.min(size)),
    }
}

fn small(keys: Keys<'_>) -> Result<Small, String> {
    let [Bytes(min), Bytes(max)] = keys.or("file_size", [Bytes(0); 2])?;
    let small = match keys.get("links")? {
        Some(_) if max > 0 => return Err("links: a link has no content; leave out file_size".into()),
        Some(Links::Hard) => return Ok(Small::HardLinks),
        Some(Links::Symbolic) => return Ok(Small::Symlinks),
        None => [min, max].map(|size| u32::try_from(size).ok().filter(|size| *size < 1 << 30)),
    };
    match small {
        [Some(min), Some(max)] if min <= max => Ok(Small::Files { min, max }),
        [Some(_), Some(_)] => Err(format!("file_size = [{min}, {max}]: write the smaller size first")),
        _ => Err(format!("file_size = [{min}, {max}]: write sizes below 1 GiB")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::units::MIB;

    fn parse(text: &str) -> Result<Parameters, String> {
        Parameters::parse(&text.parse().expect("TOML"))
    }

    #[test]
    fn what_is_not_given_is_the_originals() {
        let rules = parse("semantics = 'classic'\nsize = '250m'").expect("classic").rules;
        assert_eq!((rules.bytes(), rules.characters, rules.seekers), (250 * MIB, 250 * MIB, 3));
        let parameters = parse("semantics = '2.00'\nsize = '1g'").expect("2.00");
        let rules = parameters.rules_for(1 << 32 | 7);
        assert_eq!((rules.characters, rules.seekers, rules.seeks, rules.chunk), (3 * MIB, 5, 8192, 8192));
        assert_eq!(rules.seed, 7);
    }

    #[test]
    fn a_mistake_is_named() {
        let good = "semantics = '2.00'\nsize = '1m'\n";
        for (text, words) in [
            ("size = '1m'", "semantics is missing"),
            ("semantics = '1.03'\nsize = '1m'", "classic"),
            ("semantics = '2.00'", "size is missing"),
            ("semantics = '2.00'\nsize = 0", "nothing to do"),
            ("semantics = '2.00'\nsize = 9000", "multiple of the chunk"),
            ("semantics = '2.00'\nsize = '1m'\nchunk = 300", "power of two"),
            ("semantics = '2.00'\nsize = '1m'\nchunk = '2m'", "power of two"),
            ("semantics = 'classic'\nsize = '1m'\ncharacters = '4k'", "the whole size"),
            (&format!("{good}file = 3"), "did you mean 'files'"),
            (&format!("{good}seeks = 0"), "from 1 to"),
            (&format!("{good}seekers = 1000"), "from 1 to 256"),
            (&format!("{good}files = 10\ndirectories = 11"), "only 10 files"),
            (&format!("{good}files = 10\nfile_size = [5, 3]"), "write the smaller size first"),
            (&format!("{good}files = 10\nfile_size = [0, '1g']"), "below 1 GiB"),
            (&format!("{good}files = 10\nlinks = 'hard'\nfile_size = [5, 5]"), "leave out file_size"),
            (&format!("{good}files = 10\nlinks = 'soft'"), "links"),
            (&format!("{good}files = 10\nlinks = 'symbolic'\ndirectories = 2"), "only with 1 directory"),
            (&format!("{good}direct = true"), "characters = 0"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_scale_changes_how_much_and_not_what() {
        let scaled = |text: &str, by| {
            let table = scale(&text.parse().expect("TOML"), Scale { of: 1, by }).expect("scaled");
            Parameters::parse(&table).expect("parameters").rules
        };
        let rules = scaled("semantics = 'classic'\nsize = '250m'\nfiles = 16384\nfile_size = [0, 9]", 4);
        assert_eq!((rules.bytes(), rules.files, rules.seeks), (125 * MIB / 2, 4096, 2048));
        assert_eq!((rules.characters, rules.small), (rules.bytes(), Small::Files { min: 0, max: 9 }));
        let rules = scaled("semantics = '2.00'\nsize = 0\nfiles = 40\ndirectories = 4", 1000);
        assert_eq!((rules.chunks, rules.files, rules.directories), (0, 4, 4));
    }
}
