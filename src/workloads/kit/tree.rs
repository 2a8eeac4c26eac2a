//! Numbered files in folders: names, sizes and content, without any I/O; and the creation of one file.

use std::fmt::Write as _;

use rand_xoshiro::Xoshiro256PlusPlus;

use super::noise::Noise;
use super::sizes::{self, Row};
use super::{files, random};
use crate::schema::random::below;
use crate::schema::work::LiveFile;
use crate::workloads::OpError;

/// A tree drawn from a seed. An engine implements the methods without a body; the others use them.
pub trait Tree {
    /// Every folder, parents first.
    fn folders(&self) -> Vec<String>;
    fn files(&self) -> u32;
    fn size(&self, file: u32) -> u64;
    /// A file's path, written into the existing `path`, so that nothing is allocated.
    fn path<'a>(&self, file: u32, path: &'a mut String) -> &'a str;
    fn noise(&self) -> &Noise;
    fn noise_mut(&mut self) -> &mut Noise;

    fn bytes(&self) -> u64 {
        (0..self.files()).map(|file| self.size(file)).sum()
    }

    /// Creates a file of the tree; returns its size.
    fn make(&mut self, file: u32, path: &mut String) -> Result<u64, OpError> {
        let size = self.size(file);
        let path = self.path(file, path);
        make(self.noise_mut(), path, file, size).map(|()| size)
    }

    /// The CRC-32 of a file's content.
    fn crc32(&self, file: u32) -> u32 {
        self.noise().crc32(file, self.size(file))
    }

    /// Every file that must exist.
    fn live(&self) -> Vec<LiveFile> {
        let mut path = String::new();
        let file = |file| LiveFile::file(self.path(file, &mut path), self.size(file), self.crc32(file));
        (0..self.files()).map(file).collect()
    }
}

/// Creates a file of this size, from open to close.
pub fn make(noise: &mut Noise, path: &str, file: u32, size: u64) -> Result<(), OpError> {
    files::make(path, false, |opened| {
        noise.content(file, size, |chunk| files::write_all(opened, path, chunk))
    })
}

/// Parameters of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub files: u32,
    pub folders: u32,
    /// The largest folder depth.
    pub deepest: u32,
    pub sizes: Vec<Row>,
}

/// A randomly grown tree: each folder is in an earlier one, and each file in any folder.
///
/// ```text
/// d0/ d1/ …        folders at the top: at least one
/// d0/d2/d5/f17     file 17, in a folder that lies in d2
/// ```
pub struct Grown {
    folders: Vec<String>,
    /// The paths of all files, in the order in which they are mostly used, so that the CPU's cache holds them.
    paths: String,
    /// For each file, the end of its path in `paths`, and its size.
    files: Vec<(usize, u32)>,
    noise: Noise,
}

impl Grown {
    /// `of` is the engine's name, so that engines have different trees for one seed.
    pub fn new(shape: &Shape, of: &str, seed: u64) -> Self {
        let mut places = random(&[of, "places"], seed);
        let mut drawn = random(&[of, "sizes"], seed);
        let whole = sizes::whole(&shape.sizes);
        let mut size = || sizes::draw(&shape.sizes, whole, &mut drawn);
        let folders = grow(shape, &mut random(&[of, "folders"], seed));
        let mut paths = String::new();
        let files = (0..shape.files).map(|file| {
            let folder = &folders[below(&mut places, folders.len() as u64) as usize];
            let written = write!(paths, "{folder}/f{file}");
            debug_assert!(written.is_ok(), "writing to a string cannot fail");
            (paths.len(), size())
        });
        let files = files.collect();
        Grown { folders, paths, files, noise: Noise::new(seed, random(&[of, "content"], seed)) }
    }

    /// The file of this name, without its folder.
    pub fn named(&self, name: &[u8]) -> Option<u32> {
        let file = std::str::from_utf8(name).ok()?.strip_prefix('f')?.parse().ok()?;
        (file < self.files()).then_some(file)
    }
}

fn grow(shape: &Shape, source: &mut Xoshiro256PlusPlus) -> Vec<String> {
    let mut folders: Vec<String> = Vec::new();
    let mut depths: Vec<u32> = Vec::new();
    for folder in 0..shape.folders {
        // The index `folder` stands for the top folder, which is never too deep.
        let above = loop {
            let above = below(source, u64::from(folder) + 1) as usize;
            if depths.get(above).is_none_or(|depth| *depth < shape.deepest) {
                break above;
            }
        };
        folders.push(match folders.get(above) {
            Some(above) => format!("{above}/d{folder}"),
            None => format!("d{folder}"),
        });
        depths.push(depths.get(above).map_or(1, |depth| depth + 1));
    }
    folders
}

impl Tree for Grown {
    fn folders(&self) -> Vec<String> {
        self.folders.clone()
    }

    fn files(&self) -> u32 {
        self.files.len() as u32
    }

    fn size(&self, file: u32) -> u64 {
        u64::from(self.files[file as usize].1)
    }

    fn path<'a>(&self, file: u32, path: &'a mut String) -> &'a str {
        let file = file as usize;
        let begin = file.checked_sub(1).map_or(0, |before| self.files[before].0);
        path.clear();
        path.push_str(&self.paths[begin..self.files[file].0]);
        path
    }

    fn noise(&self) -> &Noise {
        &self.noise
    }

    fn noise_mut(&mut self) -> &mut Noise {
        &mut self.noise
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn shape() -> Shape {
        let sizes = vec![Row { up_to: 1000, weight: 0 }, Row { up_to: 9000, weight: 1 }];
        Shape { files: 2000, folders: 90, deepest: 3, sizes }
    }

    #[test]
    fn a_seed_is_a_tree_and_another_seed_or_engine_another() {
        let paths = |of, seed| -> Vec<_> {
            Grown::new(&shape(), of, seed).live().into_iter().map(|f| (f.path, f.bytes, f.crc32)).collect()
        };
        assert_eq!(paths("tasks", 7), paths("tasks", 7));
        assert_ne!(paths("tasks", 7), paths("tasks", 8));
        assert_ne!(paths("tasks", 7), paths("news", 7));
    }

    #[test]
    fn each_folder_lies_in_one_before_it_and_none_too_deep() {
        let tree = Grown::new(&shape(), "tasks", 3);
        let mut seen = BTreeSet::new();
        for folder in tree.folders() {
            if let Some((above, _)) = folder.rsplit_once('/') {
                assert!(seen.contains(above), "{folder}");
            }
            assert!(folder.split('/').count() <= 3, "{folder}");
            assert!(seen.insert(folder.clone()), "{folder}");
        }
        assert_eq!(seen.len(), 90);
        assert_eq!(seen.iter().map(|folder| folder.split('/').count()).max(), Some(3));
        let mut path = String::new();
        for file in 0..tree.files() {
            let (folder, name) = tree.path(file, &mut path).rsplit_once('/').expect("a folder");
            assert!(seen.contains(folder));
            assert_eq!(tree.named(name.as_bytes()), Some(file));
            assert!((1001..=9000).contains(&tree.size(file)));
        }
        assert_eq!(tree.named(b"f2000"), None);
    }
}
