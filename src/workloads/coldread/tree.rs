//! The tree of a seed: sizes, names, content and orders, without any I/O.

use std::collections::BTreeSet;
use std::fmt::Write;

use rand_xoshiro::Xoshiro256PlusPlus;

use super::parameters::{BLOCK, Parameters};
use crate::schema::random::{below, shuffle};
use crate::workloads::kit;
use crate::workloads::kit::{Noise, Tree as _, sizes};

/// Folders per parent folder.
const FAN: u32 = 16;

/// Files are numbered from 0: first the files of the tree, then the large files.
pub struct Tree {
    sizes: Vec<u32>,
    per_folder: u32,
    large_files: u32,
    large_size: u64,
    seed: u64,
    noise: Noise,
}

impl Tree {
    pub fn new(parameters: &Parameters, seed: u64) -> Self {
        let noise = Noise::new(seed, random(seed, "content"));
        let Parameters { per_folder, large_files, large_size, .. } = *parameters;
        Tree { sizes: sizes(parameters, seed), per_folder, large_files, large_size, seed, noise }
    }

    /// Number of files that are not large.
    pub fn small(&self) -> u32 {
        self.sizes.len() as u32
    }

    pub fn large(&self) -> std::ops::Range<u32> {
        self.small()..self.files()
    }

    pub fn small_bytes(&self) -> u64 {
        self.sizes.iter().map(|size| u64::from(*size)).sum()
    }

    /// The file of this name.
    pub fn named(&self, name: &[u8]) -> Option<u32> {
        let file = std::str::from_utf8(name).ok()?.parse().ok()?;
        (file < self.files()).then_some(file)
    }

    /// Checks, page by page, whether these bytes, read at this offset of the file, are right. `at` is a multiple of [`BLOCK`].
    pub fn is_right(&self, file: u32, at: u64, bytes: &[u8]) -> bool {
        self.noise.is_right(file, at, bytes)
    }

    /// All files but the large files, shuffled.
    pub fn shuffled(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.small()).collect();
        shuffle(&mut order, &mut random(self.seed, "order"));
        order
    }

    /// `count` different blocks of the large files, as (file, offset), in random order. Drawn by R. Floyd's algorithm (J.
    /// Bentley, "Programming Pearls: A Sample of Brilliance", CACM 30(9), 1987), in memory proportional to the sample.
    pub fn blocks(&self, count: u32) -> Vec<(u32, u64)> {
        let in_file = self.large_size / BLOCK as u64;
        let all = in_file * u64::from(self.large_files);
        let mut source = random(self.seed, "blocks");
        let mut drawn = BTreeSet::new();
        for last in all - u64::from(count)..all {
            let block = below(&mut source, last + 1);
            drawn.insert(if drawn.contains(&block) { last } else { block });
        }
        let place = |block: u64| (self.small() + (block / in_file) as u32, block % in_file * BLOCK as u64);
        let mut blocks: Vec<(u32, u64)> = drawn.into_iter().map(place).collect();
        shuffle(&mut blocks, &mut source);
        blocks
    }
}

impl kit::Tree for Tree {
    fn folders(&self) -> Vec<String> {
        let leaves = self.small().div_ceil(self.per_folder);
        let mut folders = vec!["large".to_owned(), "tree".to_owned()];
        folders.extend((0..leaves.div_ceil(FAN)).map(|upper| format!("tree/{upper}")));
        folders.extend((0..leaves).map(|leaf| format!("tree/{}/{leaf}", leaf / FAN)));
        folders
    }

    fn path<'a>(&self, file: u32, path: &'a mut String) -> &'a str {
        path.clear();
        let leaf = file / self.per_folder;
        let written = if file < self.small() {
            write!(path, "tree/{}/{leaf}/{file}", leaf / FAN)
        } else {
            write!(path, "large/{file}")
        };
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
        path
    }

    fn files(&self) -> u32 {
        self.small() + self.large_files
    }

    fn size(&self, file: u32) -> u64 {
        self.sizes.get(file as usize).map_or(self.large_size, |size| u64::from(*size))
    }

    fn noise(&self) -> &Noise {
        &self.noise
    }

    fn noise_mut(&mut self) -> &mut Noise {
        &mut self.noise
    }
}

fn sizes(parameters: &Parameters, seed: u64) -> Vec<u32> {
    let mut source = random(seed, "sizes");
    let whole = sizes::whole(&parameters.sizes);
    (0..parameters.files).map(|_| sizes::draw(&parameters.sizes, whole, &mut source)).collect()
}

fn random(seed: u64, what: &str) -> Xoshiro256PlusPlus {
    kit::random(&[what], seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::units::MIB;

    fn parameters(text: &str) -> Parameters {
        Parameters::parse(&text.parse().expect("TOML")).expect("parameters")
    }

    const SMALL: &str = "files = 1000\nper_folder = 7\nlarge_files = 2\nlarge_size = '1m'\nreads = 300\n\
        sizes = [{ up_to = '1k', weight = 1 }, { up_to = '300k', weight = 3 }]";

    #[test]
    fn a_seed_is_a_tree_and_another_seed_another() {
        let parameters = parameters(SMALL);
        let tree = |seed| Tree::new(&parameters, seed);
        assert_eq!((tree(7).bytes(), tree(7).shuffled()), (tree(7).bytes(), tree(7).shuffled()));
        assert_eq!(tree(7).blocks(300), tree(7).blocks(300));
        assert_ne!((tree(7).bytes(), tree(7).shuffled()), (tree(8).bytes(), tree(8).shuffled()));
    }

    #[test]
    fn sizes_are_drawn_by_their_weights() {
        let sizes = sizes(&parameters(SMALL), 3);
        let small = sizes.iter().filter(|size| **size <= 1024).count();
        // 250 of 1000 are expected; the standard deviation is sqrt(1000 × 0.25 × 0.75) = 13.7, and the bounds are four of them.
        assert!((195..=305).contains(&small), "{small}");
        assert!(sizes.iter().all(|size| (1..=300 * 1024).contains(size)));
        // The mean of the other files is 150.5 KiB; the standard deviation of the mean of 750 is 86.3 KiB / sqrt(750) = 3.2 KiB.
        let others = || sizes.iter().filter(|size| **size > 1024).map(|size| u64::from(*size));
        let mean = others().sum::<u64>() / others().count() as u64 / 1024;
        assert!((138..=163).contains(&mean), "{mean}");
    }

    #[test]
    fn blocks_differ_and_lie_in_the_large_files() {
        let tree = Tree::new(&parameters(SMALL), 5);
        for count in [1, 300, 512] {
            let blocks = tree.blocks(count);
            assert_eq!(blocks.iter().collect::<BTreeSet<_>>().len(), count as usize);
            let fits = |(file, at): &(u32, u64)| tree.large().contains(file) && *at + 4096 <= MIB;
            assert!(blocks.iter().all(fits));
        }
    }

    #[test]
    fn every_folder_is_made_before_its_files_and_every_name_is_found_again() {
        let tree = Tree::new(&parameters(SMALL), 5);
        let folders = tree.folders();
        // 1000 files at 7 per folder: 143 folders; at 16 of these per parent: 9.
        assert_eq!(folders.len(), 2 + 143 + 9);
        let mut path = String::new();
        for file in 0..tree.files() {
            let (folder, name) = tree.path(file, &mut path).rsplit_once('/').expect("a folder");
            assert!(folders.iter().any(|f| f == folder), "{folder}");
            assert_eq!(tree.named(name.as_bytes()), Some(file));
        }
        assert_eq!(tree.named(b"1002"), None);
    }

    #[test]
    fn content_is_known_again_at_every_block_and_taken_for_no_other() {
        let mut tree = Tree::new(&parameters(SMALL), 5);
        let file = (0..tree.small()).find(|f| tree.size(*f) > 260 * 1024).expect("one of three chunks");
        let mut content = Vec::new();
        let size = tree.size(file);
        let Ok(()) = tree.noise_mut().content(file, size, |chunk| {
            content.extend_from_slice(chunk);
            Ok::<(), std::convert::Infallible>(())
        });
        assert_eq!(content.len() as u64, tree.size(file));
        assert_eq!(crc32fast::hash(&content), tree.crc32(file));
        for at in (0..content.len()).step_by(BLOCK) {
            assert!(tree.is_right(file, at as u64, &content[at..]), "{at}");
            assert!(!tree.is_right(file + 1, at as u64, &content[at..(at + BLOCK).min(content.len())]));
        }
        // A page lost in the middle of a read is found.
        for page in (0..content.len()).step_by(BLOCK) {
            let kept = content.clone();
            content[page..(page + BLOCK).min(kept.len())].fill(0);
            assert!(!tree.is_right(file, 0, &content), "{page}");
            content = kept;
        }
        // Noise is incompressible: all byte values are about equally frequent.
        let mut seen = [0u32; 256];
        content.iter().for_each(|byte| seen[usize::from(*byte)] += 1);
        let expected = content.len() as u32 / 256;
        assert!(seen.iter().all(|n| *n > expected * 3 / 4 && *n < expected * 5 / 4));
    }
}
