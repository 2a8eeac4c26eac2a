//! The second disk with its content: the large file, and a tree drawn from the seed.

use super::parameters::Parameters;
use crate::workloads::kit::tree::{self, Grown};
use crate::workloads::kit::{Tree, files};
use crate::workloads::{Clock, LiveFile, Log, OpError, Ready};

pub const IMAGE: &str = "image";
pub const TREE: &str = "tree";

/// The tree drawn from a seed. The image has the content of the file number that follows the tree's last file.
pub fn tree(parameters: &Parameters, seed: u64) -> Grown {
    Grown::new(&parameters.tree, "tasks", seed)
}

/// Fills the second disk.
pub struct Filler {
    pub tree: Grown,
    pub image: u64,
}

impl Ready for Filler {
    fn run(&mut self, _clock: &dyn Clock, _log: &mut dyn Log) -> Result<(), OpError> {
        let number = self.tree.files();
        tree::make(self.tree.noise_mut(), IMAGE, number, self.image)?;
        files::mkdir(TREE)?;
        for folder in self.tree.folders() {
            files::mkdir(&format!("{TREE}/{folder}"))?;
        }
        let mut path = String::new();
        for file in 0..number {
            let path = format!("{TREE}/{}", self.tree.path(file, &mut path));
            let size = self.tree.size(file);
            tree::make(self.tree.noise_mut(), &path, file, size)?;
        }
        files::sync_all()
    }

    /// Empty: files of the second disk are checked when they are copied, and the copies when they are read back.
    fn live(&self) -> Vec<LiveFile> {
        Vec::new()
    }
}
