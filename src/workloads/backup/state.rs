//! The state of each file after a number of updates: version, size and content. Pure.

use std::fmt::Write as _;

use rand_xoshiro::Xoshiro256PlusPlus;

use super::parameters::Parameters;
use crate::schema::random::below;
use crate::schema::work::LiveFile;
use crate::workloads::kit::tree::Grown;
use crate::workloads::kit::{Noise, Tree, random, sizes};

pub struct State {
    pub tree: Grown,
    parameters: Parameters,
    /// Version (from 0) and size of each file.
    now: Vec<(u32, u32)>,
    choice: Xoshiro256PlusPlus,
    sizes: Xoshiro256PlusPlus,
    whole: u64,
    /// All files. Each update draws the files that it changes and moves them to the front.
    order: Vec<u32>,
}

impl State {
    /// The state before the first update.
    pub fn new(parameters: &Parameters, seed: u64) -> Self {
        let tree = Grown::new(&parameters.tree, "backup", seed);
        let now = (0..tree.files()).map(|file| (0, tree.size(file) as u32)).collect();
        State {
            now,
            order: (0..tree.files()).collect(),
            whole: sizes::whole(&parameters.tree.sizes),
            choice: random(&["backup", "changed"], seed),
            sizes: random(&["backup", "new sizes"], seed),
            parameters: parameters.clone(),
            tree,
        }
    }

    /// The files that the next update changes, in tree order. No file changes twice in one update.
    pub fn next(&mut self) -> Vec<u32> {
        let changed = self.parameters.changed() as usize;
        for at in 0..changed {
            let left = (self.order.len() - at) as u64;
            self.order.swap(at, at + below(&mut self.choice, left) as usize);
        }
        let mut changed = self.order[..changed].to_vec();
        changed.sort_unstable();
        changed
    }

    /// The size of the next file that changes.
    pub fn peek(&self) -> u64 {
        sizes::draw(&self.parameters.tree.sizes, self.whole, &mut self.sizes.clone()).into()
    }

    /// Changes the file and returns its new size.
    pub fn change(&mut self, file: u32) -> u64 {
        let size = sizes::draw(&self.parameters.tree.sizes, self.whole, &mut self.sizes);
        let (version, _) = self.now[file as usize];
        self.now[file as usize] = (version + 1, size);
        size.into()
    }

    pub fn size(&self, file: u32) -> u64 {
        self.now[file as usize].1.into()
    }

    /// The number from which a file's current content is drawn: unique for each version of each file.
    pub fn number(&self, file: u32) -> u32 {
        file + self.now[file as usize].0 * self.tree.files()
    }

    pub fn noise(&mut self) -> &mut Noise {
        self.tree.noise_mut()
    }

    /// The temporary path for a file's new content.
    pub fn temporary(&self, file: u32, path: &mut String) {
        let name = self.tree.path(file, path).rfind('/').map_or(0, |at| at + 1);
        path.insert(name, '.');
        let written = write!(path, ".new");
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
    }

    /// The first `files` files.
    pub fn live(&self, files: u32) -> Vec<LiveFile> {
        let mut path = String::new();
        let live = |file: u32| {
            let crc32 = self.tree.noise().crc32(self.number(file), self.size(file));
            LiveFile::file(self.tree.path(file, &mut path), self.size(file), crc32)
        };
        (0..files).map(live).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn parameters() -> Parameters {
        let text = "files = 100\nfolders = 9\ndeepest = 3\nupdates = 4\nchanged_permille = 70\n\
            sizes = [{ up_to = '4k', weight = 1 }]";
        Parameters::parse(&text.parse().expect("TOML")).expect("parameters")
    }

    #[test]
    fn an_update_changes_so_many_files_and_each_of_them_to_something_else() {
        let mut state = State::new(&parameters(), 3);
        let mut again = State::new(&parameters(), 3);
        for _ in 0..4 {
            let before = state.live(100);
            let changed = state.next();
            assert_eq!((changed.len(), &changed), (7, &again.next()));
            assert_eq!(changed.iter().collect::<BTreeSet<_>>().len(), 7);
            changed.iter().for_each(|file| assert_eq!(state.change(*file), again.change(*file)));
            let after = state.live(100);
            let differ = (0..100).filter(|at| before[*at as usize].crc32 != after[*at as usize].crc32);
            assert!(differ.eq(changed.iter().copied()));
        }
    }

    #[test]
    fn a_temporary_name_lies_beside_the_file_and_is_none_of_them() {
        let (state, mut path) = (State::new(&parameters(), 3), String::new());
        let own = state.tree.path(5, &mut path).to_owned();
        state.temporary(5, &mut path);
        assert_eq!(path, own.replace("f5", ".f5.new"));
        assert_eq!(state.tree.named(b".f5.new"), None);
    }
}
