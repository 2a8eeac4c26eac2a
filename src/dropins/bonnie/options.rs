//! The original's command line, parsed like getopt.
//!
//! As in the original, an error ends the command with exit code 1; the message is fsderby's.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::forms::Form;
use crate::schema::units::{GIB, KIB, MIB};
use crate::text::names;
use crate::workloads::bonnie::rules::{self, Flush, Rules, Semantics, Small};

/// The options, not yet checked against the machine.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    pub directory: PathBuf,
    pub data: Data,
    pub files: Files,
    pub form: Form,
    /// -f: MiB of character I/O; if absent, the format's default.
    pub characters: Option<u64>,
    pub fsync: bool,
    pub direct: bool,
    pub quiet: bool,
    /// -x.
    pub tests: Option<u32>,
    /// -m.
    pub machine: Option<String>,
    /// -r: memory size in MiB.
    pub memory: Option<u64>,
    pub concurrency: u32,
    pub user: Option<String>,
    pub group: Option<String>,
    pub seed: Option<u32>,
}

/// -s.
#[derive(Debug, PartialEq, Eq)]
pub struct Data {
    /// Size in MiB; if absent, it is derived from the memory size.
    pub size: Option<u64>,
    pub chunk: u32,
    pub seeks: u32,
    pub seekers: Option<u32>,
}

/// -n.
#[derive(Debug, PartialEq, Eq)]
pub struct Files {
    /// Number of files, in units of 1024.
    pub number: u32,
    pub small: Small,
    pub directories: u32,
    pub piece: u32,
}

/// The usage text, not copied from the original.
pub const USAGE: &str = "\
usage: fsderby bonnie [-d DIRECTORY] [-s MIB[:CHUNK[:SEEKS[:SEEKERS]]]]
                      [-n NUMBER[:MAX[:MIN[:DIRECTORIES[:PIECE]]]]] [-f[MIB]] [-b] [-D]
                      [-r RAM-IN-MIB] [-x TESTS] [-m NAME] [-q] [-z SEED] [-c CONCURRENCY]
                      [-u USER[:GROUP]] [-g GROUP] [--as 2.00a|1.98|1.97|1.03]";

type Wrong = String;

impl Default for Options {
    fn default() -> Self {
        Options {
            directory: ".".into(),
            data: Data { size: None, chunk: rules::CHUNK, seeks: rules::SEEKS, seekers: None },
            files: Files {
                number: 16,
                small: Small::Files { min: 0, max: 0 },
                directories: 1,
                piece: rules::CHUNK,
            },
            form: Form::V200a,
            characters: None,
            fsync: false,
            direct: false,
            quiet: false,
            tests: None,
            machine: None,
            memory: None,
            concurrency: 1,
            user: None,
            group: None,
            seed: None,
        }
    }
}

/// Options with a value, attached or in the next word.
const VALUED: &[u8] = b"dscnmrxugzZpy";

impl Options {
    pub fn parse(words: &[OsString]) -> Result<Self, Wrong> {
        let mut options = Options::default();
        let mut words = words.iter().map(OsString::as_os_str);
        while let Some(word) = words.next() {
            match word.as_bytes() {
                [b'-', b'-', name @ ..] => options.long(name, &mut words)?,
                [b'-', letters @ ..] if !letters.is_empty() => options.letters(letters, &mut words)?,
                _ => return Err(format!("'{}' is not an option", word.display())),
            }
        }
        options.agree()?;
        Ok(options)
    }

    fn long<'w>(&mut self, name: &[u8], words: &mut impl Iterator<Item = &'w OsStr>) -> Result<(), Wrong> {
        let (name, value) = match name.iter().position(|byte| *byte == b'=') {
            Some(at) => (&name[..at], Some(OsStr::from_bytes(&name[at + 1..]))),
            None => (name, None),
        };
        if name != b"as" {
            return Err(names::unknown("option", &format!("--{}", text(name)), ["--as"]));
        }
        let value = value.or_else(|| words.next()).ok_or("--as: the version is missing")?;
        self.form = Form::find(&value.to_string_lossy())?;
        Ok(())
    }

    /// Parses several letters in one word; the value of the last letter may follow in the same word.
    fn letters<'w>(
        &mut self,
        letters: &[u8],
        words: &mut impl Iterator<Item = &'w OsStr>,
    ) -> Result<(), Wrong> {
        let mut rest = letters;
        while let [letter, behind @ ..] = rest {
            if VALUED.contains(letter) {
                let value = if behind.is_empty() { words.next() } else { Some(OsStr::from_bytes(behind)) };
                let value = value.ok_or_else(|| format!("-{}: the value is missing", char::from(*letter)))?;
                return self.valued(*letter, value);
            }
            rest = behind;
            match letter {
                b'f' => {
                    // The value must be attached, because it is optional.
                    self.characters = Some(if behind.is_empty() { 0 } else { number("-f", &text(behind))? });
                    return Ok(());
                }
                b'b' => self.fsync = true,
                b'D' => self.direct = true,
                b'q' => self.quiet = true,
                other => return Err(format!("-{}: unknown option", char::from(*other))),
            }
        }
        Ok(())
    }

    fn valued(&mut self, letter: u8, value: &OsStr) -> Result<(), Wrong> {
        let text = value.to_string_lossy();
        match letter {
            b'd' => self.directory = OsString::from_vec(value.as_bytes().to_vec()).into(),
            b's' => self.data = data(&text)?,
            b'n' => self.files = files(&text)?,
            b'm' => self.machine = Some(text.into_owned()),
            b'r' => self.memory = Some(number("-r", &text)?),
            b'x' => self.tests = Some(number("-x", &text)?),
            b'c' => self.concurrency = number::<u32>("-c", &text)?.max(1),
            b'z' => self.seed = Some(number("-z", &text)?),
            b'g' => self.group = Some(text.into_owned()),
            b'u' => match text.split_once(':') {
                Some((user, group)) => {
                    (self.user, self.group) = (Some(user.to_owned()), Some(group.to_owned()));
                }
                None => self.user = Some(text.into_owned()),
            },
            b'Z' => return Err("-Z: random numbers from a file are not supported\n  try: -z SEED".into()),
            _ => {
                return Err(format!(
                    "-{letter}: starting several instances by semaphores is not supported\n  try: fsderby run \
                     --workloads bonnie-quick --clients 2",
                    letter = char::from(letter)
                ));
            }
        }
        Ok(())
    }

    /// Checks combinations of options.
    fn agree(&self) -> Result<(), Wrong> {
        if self.data.size == Some(0) && self.files.number == 0 {
            return Err("-s 0 and -n 0 leave nothing to do".into());
        }
        if self.direct && self.data.size != Some(0) && self.characters != Some(0) {
            return Err("-D: single characters cannot bypass the page cache\n  try: -f".into());
        }
        if self.files.small == Small::Symlinks && self.files.directories > 1 {
            return Err("-n: symbolic links need a single directory\n  try: one directory".into());
        }
        if self.files.number > 0 && self.files.directories > self.files.number.saturating_mul(1024) {
            let directories = self.files.directories;
            return Err(format!("-n: there are fewer files than directories ({directories})"));
        }
        Ok(())
    }

    /// The rules of the run, by the semantics of the output format. A missing size is derived from `memory`, in MiB.
    pub fn rules(&self, memory: u64, seed: u32) -> Rules {
        let semantics = self.form.semantics();
        let bytes = self.size(memory) * MIB;
        let chunks = bytes / u64::from(self.data.chunk);
        let characters = match (semantics, self.characters) {
            (_, Some(0)) => 0,
            (Semantics::Classic, _) => bytes,
            (Semantics::Second, Some(mib)) => (mib * MIB).min(bytes),
            (Semantics::Second, None) => rules::CHARACTERS.min(bytes),
        };
        Rules {
            semantics,
            chunks,
            chunk: self.data.chunk,
            characters,
            seeks: self.data.seeks,
            seekers: self.data.seekers.unwrap_or(semantics.seekers()),
            files: self.files.number * 1024,
            small: self.files.small,
            directories: self.files.directories,
            piece: self.files.piece,
            fsync: self.fsync,
            direct: self.direct,
            flush: Flush::All,
            seed,
        }
    }

    /// Size of the data in MiB: if none is given, twice the memory, rounded to whole GiB if close to that.
    fn size(&self, memory: u64) -> u64 {
        self.data.size.unwrap_or_else(|| {
            let size = (2 * memory).max(300);
            if size % 1024 > 512 { size.next_multiple_of(1024) } else { size }
        })
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn number<T: std::str::FromStr>(option: &str, text: &str) -> Result<T, Wrong> {
    text.parse().map_err(|_| format!("{option}: '{text}' is not a valid number"))
}

/// A number with an optional suffix from this list.
fn suffixed(option: &str, text: &str, suffixes: &[(char, u64)]) -> Result<u64, Wrong> {
    let last = text.chars().next_back().map(|last| last.to_ascii_lowercase());
    let known = suffixes.iter().find(|(suffix, _)| Some(*suffix) == last);
    let (digits, factor) = known.map_or((text, 1), |(_, factor)| (&text[..text.len() - 1], *factor));
    let value: u64 = number(option, digits)?;
    value.checked_mul(factor).ok_or_else(|| format!("{option}: '{text}' is too large"))
}

fn data(text: &str) -> Result<Data, Wrong> {
    let mut parts = text.split(':');
    let size = suffixed("-s", parts.next().unwrap_or_default(), &[('m', 1), ('g', 1 << 10), ('t', 1 << 20)])?;
    if size >= rules::MOST_CHUNKS * u64::from(rules::CHUNKS[1]) / MIB {
        return Err(format!("-s: {size} MiB are too much"));
    }
    let mut data = Data { size: Some(size), ..Options::default().data };
    if let Some(part) = parts.next() {
        data.chunk = chunk(part)?;
    }
    if size * MIB / u64::from(data.chunk) >= rules::MOST_CHUNKS {
        let chunk = data.chunk;
        return Err(format!("-s: {size} MiB have too many chunks of {chunk} bytes"));
    }
    if let Some(part) = parts.next() {
        data.seeks = bounded("seeks of -s", suffixed("-s", part, &[('k', 1 << 10)])?, 1, rules::MOST_SEEKS)?;
    }
    if let Some(part) = parts.next() {
        data.seekers = Some(bounded("seekers of -s", number("-s", part)?, 1, rules::MOST_SEEKERS)?);
    }
    parts.next().map_or(Ok(data), |more| Err(format!("-s: '{more}' is one field too many")))
}

fn chunk(part: &str) -> Result<u32, Wrong> {
    let [least, most] = rules::CHUNKS;
    let chunk = suffixed("-s", part, &[('k', KIB), ('m', MIB)])?;
    let fits = u32::try_from(chunk).ok().filter(|c| (least..=most).contains(c) && c.is_power_of_two());
    fits.ok_or_else(|| {
        format!("-s: a chunk of {chunk} bytes is not possible; write a power of two from {least} to {most}")
    })
}

fn bounded(what: &str, value: u64, least: u32, most: u32) -> Result<u32, Wrong> {
    let fits = u32::try_from(value).ok().filter(|n| (least..=most).contains(n));
    fits.ok_or_else(|| format!("{what}: {value} is not between {least} and {most}"))
}

const SIZES: [(char, u64); 3] = [('k', KIB), ('m', MIB), ('g', GIB)];

fn files(text: &str) -> Result<Files, Wrong> {
    let mut parts = text.split(':');
    let most = rules::MOST_FILES / 1024;
    let number = suffixed("-n", parts.next().unwrap_or_default(), &[('m', 1 << 10)])?;
    let number = bounded("-n", number, 0, most)?;
    let max = parts.next().unwrap_or("0");
    let min = parts.next().unwrap_or("0");
    let small = match max {
        "-1" => Small::HardLinks,
        "-2" => Small::Symlinks,
        _ => {
            let [min, max] = [min, max]
                .map(|size| suffixed("-n", size, &SIZES).and_then(|n| bounded("size of -n", n, 0, 1 << 30)));
            Small::Files { min: min?, max: max? }
        }
    };
    if let Small::Files { min, max } = small
        && min > max
    {
        return Err(format!("-n: write the largest size first; {min} is larger than {max}"));
    }
    let directories = bounded(
        "directories of -n",
        self::number("-n", parts.next().unwrap_or("1"))?,
        1,
        rules::MOST_DIRECTORIES,
    )?;
    let piece = parts.next().map_or(Ok(u64::from(rules::CHUNK)), |part| suffixed("-n", part, &SIZES))?;
    let piece = bounded("the write size of -n", piece, 1, MIB as u32)?;
    let files = Files { number, small, directories, piece };
    parts.next().map_or(Ok(files), |more| Err(format!("-n: '{more}' is one field too many")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Wrong> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        Options::parse(&words)
    }

    #[test]
    fn options_are_read_as_the_original_reads_them() {
        let options =
            parse("-u root:disk -qbd /x -s 1:256k:20:2 -f -n 1:3000:100:2 -z42 -m host -r 0").unwrap();
        let rules = options.rules(0, 42);
        assert_eq!((rules.chunks, rules.chunk, rules.seeks, rules.seekers), (4, 256 << 10, 20, 2));
        assert_eq!((rules.files, rules.directories, rules.characters), (1024, 2, 0));
        assert_eq!(rules.small, Small::Files { min: 100, max: 3000 });
        assert!(options.quiet && options.fsync && options.directory == std::path::Path::new("/x"));
        assert_eq!((options.user.as_deref(), options.group.as_deref()), (Some("root"), Some("disk")));
        assert_eq!(
            (options.seed, options.memory, options.machine.as_deref()),
            (Some(42), Some(0), Some("host"))
        );
    }

    #[test]
    fn what_is_not_given_follows_from_the_memory_and_the_form() {
        let rules = |line: &str, memory| parse(line).unwrap().rules(memory, 1);
        assert_eq!(rules("", 100).bytes(), 300 * MIB);
        assert_eq!([rules("", 700).bytes(), rules("", 800).bytes()], [1400 * MIB, 2 * GIB]);
        let new = rules("-s 1g", 0);
        assert_eq!((new.characters, new.seekers, new.files, new.seeks), (3 * MIB, 5, 16384, 8192));
        let old = rules("-s 1g --as 1.03", 0);
        assert_eq!((old.semantics, old.characters, old.seekers), (Semantics::Classic, GIB, 3));
        assert_eq!([rules("-s 1 -f1", 0), rules("-s 2 -f1", 0)].map(|r| r.characters), [MIB, MIB]);
        assert_eq!(rules("-s 0 -n 1:-1", 0).small, Small::HardLinks);
        assert_eq!(rules("-s 0 -n 1:-2", 0).small, Small::Symlinks);
    }

    #[test]
    fn a_mistake_is_named() {
        for (line, words) in [
            ("-s abc", "-s: 'abc'"),
            ("-s -5", "-s: '-5'"),
            ("-s", "-s: the value is missing"),
            ("-s 1:100", "power of two"),
            ("-s 1:2m", "power of two"),
            ("-s 1::5", "-s: ''"),
            ("-s 1:8k:5:0", "seekers of -s: 0"),
            ("-s 1:8k:5:2:1", "one field too many"),
            ("-s 99999999999999999999", "not a valid number"),
            ("-s 99999999999999999t", "too large"),
            ("-s 9999999t", "MiB are too much"),
            ("-s 100t", "too many chunks"),
            ("-n -1", "-n: '-1'"),
            ("-n 1:5:2:0", "directories of -n: 0"),
            ("-n 1:100:300", "300 is larger than 100"),
            ("-n 99m", "-n: 101376"),
            ("-n 1:0:0:2000", "fewer files"),
            ("-n 1:-2:0:3", "try: one directory"),
            ("-s 0 -n 0", "nothing to do"),
            ("-f 1 -s 1", "'1' is not an option"),
            ("-s 1 -D", "try: -f"),
            ("-z abc", "-z: 'abc'"),
            ("-y s", "try: fsderby run"),
            ("-Z file", "try: -z"),
            ("-k", "unknown option"),
            ("extra", "'extra' is not an option"),
            ("--as 3", "3"),
            ("--at 3", "--as"),
        ] {
            let error = parse(line).expect_err(line);
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}
