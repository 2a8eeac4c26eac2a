//! A tree of C sources from a seed, for programs to work on: tar, git and grep meet a program's source tree, and a compiler accepts
//! it.
//!
//! ```text
//! tree/Makefile         builds tree/program from all sources
//! tree/main.c
//! tree/d0/d2/f17.c      functions f17_0, f17_1, …, and comments up to the size drawn
//! ```

use std::fmt::Write as _;

use rand_core::Rng;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, futimens, utimensat};
use serde::Deserialize;

use crate::schema::random::below;
use crate::workloads::OpError;
use crate::workloads::kit::sizes::Row;
use crate::workloads::kit::tree::{Grown, Shape};
use crate::workloads::kit::{Tree as _, files, random};

/// The folder of the tree, in the folder of the work.
const ROOT: &str = "tree";
/// The state per file must be small compared with the least memory of a trial.
const MOST: u32 = 200_000;
/// The sizes of the set `sources-quick`, which has their origin.
const SIZES: [(u32, u32); 9] = [
    (512, 154),
    (1024, 73),
    (2048, 109),
    (4096, 151),
    (8192, 156),
    (16384, 141),
    (32768, 83),
    (65536, 69),
    (131_072, 36),
];
const DEEPEST: u32 = 6;
/// There, 13,827 files are in 2,122 folders.
const FILES_A_FOLDER: u32 = 7;
/// The timestamp of all files and folders: 2020-01-01. So an archive of the tree has the same bytes everywhere.
const MADE: Timespec = Timespec { tv_sec: 1_577_836_800, tv_nsec: 0 };

const MAKEFILE: &str = "SOURCES := $(sort $(shell find . -name '*.c'))\n\n\
    program: $(SOURCES:.c=.o)\n\t$(CC) -o $@ $^\n\n\
    %.o: %.c\n\t$(CC) -O1 -c -o $@ $<\n";
const MAIN: &str = "int main(void)\n{\n\treturn 0;\n}\n";

const WORDS: [&str; 64] = [
    "address", "after", "and", "are", "array", "as", "before", "block", "buffer", "byte", "cache", "call",
    "caller", "check", "count", "data", "each", "entry", "error", "field", "file", "first", "flag", "for",
    "from", "if", "index", "is", "key", "last", "length", "limit", "list", "lock", "map", "mask", "must",
    "name", "next", "node", "not", "of", "offset", "only", "page", "pointer", "range", "read", "request",
    "result", "returns", "size", "so", "state", "table", "that", "the", "this", "to", "value", "when",
    "which", "with", "write",
];

/// The tree's parameters, as a user writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sources {
    pub files: u32,
    pub seed: u64,
}

impl Sources {
    /// # Errors
    /// If it has no file, or too many.
    pub fn checked(self) -> Result<Self, String> {
        match (1..=MOST).contains(&self.files) {
            true => Ok(self),
            false => Err(format!("tree.files = {}: write a number from 1 to {MOST}", self.files)),
        }
    }

    /// The bytes of all drawn files.
    pub fn bytes(self) -> u64 {
        self.grown().bytes()
    }

    /// Makes the tree in the current folder.
    pub fn make(self) -> Result<(), OpError> {
        files::mkdir(ROOT)?;
        let tree = self.grown();
        let folders: Vec<String> = tree.folders().iter().map(|path| format!("{ROOT}/{path}")).collect();
        for folder in &folders {
            files::mkdir(folder)?;
        }
        self.each(&tree, &mut |path, text| {
            let path = format!("{ROOT}/{path}");
            files::make(&path, false, |file| {
                files::write_all(file, &path, text.as_bytes())?;
                futimens(file, &times()).map_err(|e| files::failed("set the time of", &path, e))
            })
        })?;
        for folder in folders.iter().map(String::as_str).chain([ROOT]) {
            utimensat(CWD, folder, &times(), AtFlags::empty())
                .map_err(|e| files::failed("set the time of", folder, e))?;
        }
        Ok(())
    }

    /// Passes the path and text of each file.
    fn each<E>(self, tree: &Grown, act: &mut dyn FnMut(&str, &str) -> Result<(), E>) -> Result<(), E> {
        act("Makefile", MAKEFILE)?;
        act("main.c", MAIN)?;
        let (mut path, mut text) = (String::new(), String::new());
        for file in 0..tree.files() {
            self.write(file, tree.size(file) as usize, &mut text);
            act(&format!("{}.c", tree.path(file, &mut path)), &text)?;
        }
        Ok(())
    }

    fn grown(self) -> Grown {
        let sizes = SIZES.map(|(up_to, weight)| Row { up_to, weight });
        let folders = (self.files / FILES_A_FOLDER).max(1);
        let shape = Shape { files: self.files, folders, deepest: DEEPEST, sizes: sizes.into() };
        Grown::new(&shape, "programs", self.seed)
    }

    /// The source file of that number and size.
    fn write(self, file: u32, size: usize, text: &mut String) {
        let mut source = random(&["programs", "text", &file.to_string()], self.seed);
        let mut function = String::new();
        text.clear();
        for n in 0.. {
            function.clear();
            // Writing to a string cannot fail.
            let _ = write_function(&format!("f{file}_{n}"), &mut function, &mut source);
            if text.len() + function.len() > size {
                break;
            }
            text.push_str(&function);
        }
        fill(text, size, &mut source);
    }
}

fn times() -> Timestamps {
    Timestamps { last_access: MADE, last_modification: MADE }
}

fn word(source: &mut impl Rng) -> &'static str {
    WORDS[below(source, WORDS.len() as u64) as usize]
}

fn write_function(name: &str, text: &mut String, source: &mut impl Rng) -> std::fmt::Result {
    text.push_str("/*");
    for _ in 0..6 + below(source, 12) {
        write!(text, " {}", word(source))?;
    }
    // Suffixes keep names apart from each other and from the words of C.
    let (first, second) = (format!("{}_a", word(source)), format!("{}_b", word(source)));
    writeln!(text, ". */\nint {name}(int {first}, int {second})\n{{")?;
    writeln!(text, "\tint result = {};\n", below(source, 10_000))?;
    for _ in 0..2 + below(source, 6) {
        let number = 1 + below(source, 1000);
        match below(source, 4) {
            0 => writeln!(text, "\tif ({first} > {number})\n\t\tresult += {second} * {};", number % 17)?,
            1 => writeln!(text, "\tfor (int n = 0; n < {number}; n++)\n\t\tresult ^= {first} + n;")?,
            2 => writeln!(text, "\tresult -= ({second} & {number}) << {};", number % 7)?,
            _ => writeln!(text, "\t{second} = {first} % {number} + result;")?,
        }
    }
    writeln!(text, "\treturn result;\n}}\n")
}

/// Comments up to exactly this size.
fn fill(text: &mut String, size: usize, source: &mut impl Rng) {
    const LINE: usize = 72;
    while text.len() < size {
        let rest = size - text.len();
        if rest < "//\n".len() {
            text.push('\n');
            continue;
        }
        let end = text.len() + rest.min(LINE) - 1;
        text.push_str("//");
        while text.len() < end {
            text.push(' ');
            text.push_str(word(source));
        }
        text.truncate(end);
        text.push('\n');
    }
}

/// The hash of paths and texts.
#[cfg(test)]
fn hash(sources: Sources) -> String {
    let mut hasher = blake3::Hasher::new();
    let done = sources.each::<()>(&sources.grown(), &mut |path, text| {
        for part in [path, text] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Ok(())
    });
    assert!(done.is_ok());
    hasher.finalize().to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::kit::sizes;

    #[test]
    fn sizes_are_those_of_the_set_sources_quick() {
        let (_, set) = crate::workloads::find("sources-quick").unwrap();
        let parameters = set.file().parameters;
        let written: Vec<sizes::Written> = parameters["sizes"].clone().try_into().unwrap();
        assert_eq!(sizes::rows(written).unwrap(), SIZES.map(|(up_to, weight)| Row { up_to, weight }));
        assert_eq!(parameters["deepest"].as_integer(), Some(DEEPEST.into()));
    }

    /// The same bytes on every machine: runs are compared across machines and versions.
    #[test]
    fn a_seed_is_a_tree() {
        assert_eq!(hash(Sources { files: 40, seed: 1 }), "ab198facaeb7f92d");
        assert_ne!(hash(Sources { files: 40, seed: 2 }), hash(Sources { files: 40, seed: 1 }));
    }

    #[test]
    fn every_file_has_its_size_and_looks_like_source_text() {
        let sources = Sources { files: 300, seed: 3 };
        let tree = sources.grown();
        let mut text = String::new();
        for file in 0..tree.files() {
            sources.write(file, tree.size(file) as usize, &mut text);
            assert_eq!(text.len() as u64, tree.size(file));
            assert!(text.ends_with('\n') && text.lines().all(|line| line.len() < 200));
        }
        assert!(Sources { files: 0, seed: 1 }.checked().is_err());
    }
}
