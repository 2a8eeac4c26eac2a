//! The small files of one order: names, sizes and visiting orders, all drawn before timing starts.
//!
//! A name is an index and up to twelve random characters. The index comes first for directory order, last for random order. 1.0x
//! writes the index with seven decimal digits, 1.9x and 2.00 with ten hexadecimal digits.

use std::ffi::CStr;
use std::fmt::Write as _;
use std::ops::Range;

use super::random::Random;
use super::rules::{Rules, Semantics, Small};

/// The order in which a phase visits the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Sequential,
    Random,
}

/// Most random characters at the end of a name.
const MOST_CHARACTERS: u32 = 12;
const CHARACTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Length of a subfolder's part of a path, such as `00000/`.
const PREFIX: usize = 6;

pub struct SmallFiles {
    /// All paths below the run's folder, each followed by a NUL.
    paths: Vec<u8>,
    ends: Vec<u32>,
    sizes: Vec<u32>,
    prefixed: bool,
    digits: usize,
    radix: u32,
    pub to_read: Vec<u32>,
    pub to_delete: Vec<u32>,
}

impl SmallFiles {
    pub fn draw(rules: &Rules, order: Order, random: &mut Random) -> Self {
        let (digits, radix) = match rules.semantics {
            Semantics::Classic => (7, 10),
            Semantics::Second => (10, 16),
        };
        let count = rules.files as usize;
        let mut files = SmallFiles {
            paths: Vec::with_capacity(count * 32),
            ends: Vec::with_capacity(count),
            sizes: Vec::new(),
            prefixed: rules.directories > 1,
            digits,
            radix,
            to_read: Vec::new(),
            to_delete: Vec::new(),
        };
        let mut text = String::with_capacity(32);
        for file in 0..rules.files {
            text.clear();
            files.name(rules, order, file, random, &mut text);
            files.paths.extend_from_slice(text.as_bytes());
            files.paths.push(0);
            files.ends.push(files.paths.len() as u32);
        }
        if let Small::Files { min, max } = rules.small {
            let size = |_| if max > min { min + random.below(max - min + 1) } else { max };
            files.sizes = (0..rules.files).map(size).collect();
        }
        if order == Order::Random {
            let mut shuffled: Vec<u32> = (0..rules.files).collect();
            shuffle(&mut shuffled, random);
            files.to_read.clone_from(&shuffled);
            shuffle(&mut shuffled, random);
            files.to_delete = shuffled;
        }
        files
    }

    fn name(&self, rules: &Rules, order: Order, file: u32, random: &mut Random, text: &mut String) {
        let length = random.below(MOST_CHARACTERS + 1);
        let characters: [u8; MOST_CHARACTERS as usize] =
            std::array::from_fn(
                |at| if at < length as usize { CHARACTERS[random.below(62) as usize] } else { 0 },
            );
        let characters = str::from_utf8(&characters[..length as usize]).unwrap_or_default();
        let index = match self.radix {
            10 => format!("{file:0digits$}", digits = self.digits),
            _ => format!("{file:0digits$x}", digits = self.digits),
        };
        if self.prefixed {
            let written = write!(text, "{:05}/", file / rules.files_of_a_directory());
            debug_assert!(written.is_ok(), "writing to a string cannot fail");
        }
        let parts = if order == Order::Sequential { [&index, characters] } else { [characters, &index] };
        parts.into_iter().for_each(|part| text.push_str(part));
    }

    pub fn count(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Path below the run's folder.
    pub fn path(&self, file: u32) -> &CStr {
        let Range { start, end } = self.range(file);
        CStr::from_bytes_with_nul(&self.paths[start..end]).unwrap_or_default()
    }

    /// Name within its folder.
    pub fn name_of(&self, file: u32) -> &CStr {
        let Range { start, end } = self.range(file);
        let start = if self.prefixed { start + PREFIX } else { start };
        CStr::from_bytes_with_nul(&self.paths[start..end]).unwrap_or_default()
    }

    fn range(&self, file: u32) -> Range<usize> {
        let start = if file == 0 { 0 } else { self.ends[file as usize - 1] };
        start as usize..self.ends[file as usize] as usize
    }

    /// The size of a file in bytes; 0 for links.
    pub fn size(&self, file: u32) -> u32 {
        self.sizes.get(file as usize).copied().unwrap_or(0)
    }

    pub fn bytes(&self) -> u64 {
        self.sizes.iter().map(|size| u64::from(*size)).sum()
    }

    /// The file of the sequential order with this name; `None` if no file has this name.
    pub fn named(&self, name: &CStr) -> Option<u32> {
        let digits = str::from_utf8(name.to_bytes().get(..self.digits)?).ok()?;
        let file = u32::from_str_radix(digits, self.radix).ok()?;
        (file < self.count() && self.name_of(file) == name).then_some(file)
    }
}

/// Shuffles the list with the same bias as Bonnie++.
fn shuffle(list: &mut [u32], random: &mut Random) {
    for at in 0..list.len() {
        let other = random.below(list.len() as u32) as usize;
        list.swap(at, other);
    }
}

/// Whether a small file could have this name.
pub fn is_name(name: &[u8]) -> bool {
    let index = 7..=10 + MOST_CHARACTERS as usize;
    index.contains(&name.len()) && name.iter().all(u8::is_ascii_alphanumeric)
}

/// The folder's name from its number: `00007`.
pub fn folder(number: u32) -> String {
    format!("{number:05}")
}

#[cfg(test)]
mod tests {
    use super::super::parameters::Parameters;
    use super::*;

    fn rules(text: &str) -> Rules {
        Parameters::parse(&text.parse().expect("TOML")).expect("parameters").rules
    }

    const TRACED: &str = "semantics = '2.00'\nsize = '1m'\nchunk = '256k'\ncharacters = 0\nseeks = 20\nseekers = 2\n\
                          files = 1024\nfile_size = [100, 3000]\ndirectories = 2\nseed = 42";

    #[test]
    fn names_sizes_and_orders_are_those_of_the_original() {
        // The names come from a trace of bonnie++ 2.00a -s 1:256k:20:2 -f -n 1:3000:100:2 -z 42.
        let rules = rules(TRACED);
        let mut random = Random::new(42);
        (0..rules.seeks).for_each(|_| {
            random.draw();
        });
        let files = SmallFiles::draw(&rules, Order::Sequential, &mut random);
        let paths = [0, 1, 2, 512, 513].map(|file| files.path(file).to_str().unwrap().to_owned());
        assert_eq!(
            paths[..3],
            ["00000/0000000000KDNhPZGhwp", "00000/00000000016OKEkd", "00000/0000000002Upvjeb"]
        );
        assert!(paths[3].starts_with("00000/0000000200") && paths[4].starts_with("00001/0000000201"));
        assert_eq!([0, 1, 2, 3].map(|file| files.size(file)), [1273, 1710, 1007, 1416]);
        assert_eq!((files.name_of(1), files.named(c"00000000016OKEkd")), (c"00000000016OKEkd", Some(1)));
        assert_eq!([c"00000000016OKEkx", c"", c"zz"].map(|name| files.named(name)), [None; 3]);
        let files = SmallFiles::draw(&rules, Order::Random, &mut random);
        assert_eq!([0, 1].map(|file| files.path(file)), [c"00000/LiC0000000000", c"00000/0000000001"]);
        assert_eq!([0, 1].map(|file| files.size(file)), [2529, 898]);
        assert_eq!(files.path(files.to_read[0]), c"00001/y7m0000000399");
    }

    #[test]
    fn classic_names_have_decimal_numbers_and_no_directories_no_prefix() {
        let classic = rules("semantics = 'classic'\nsize = 0\nfiles = 30\nfile_size = [0, 0]");
        let files = SmallFiles::draw(&classic, Order::Sequential, &mut Random::new(1));
        assert!(files.path(29).to_bytes().starts_with(b"0000029"));
        assert_eq!((files.named(files.path(29)), files.bytes()), (Some(29), 0));
    }
}
