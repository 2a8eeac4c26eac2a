//! The files that must survive a power cut: with `sync_each`, the results of all tasks completed before the power cut.

use super::parameters::Parameters;
use super::source;
use super::task::{COPIES, IMAGES, Task};
use crate::workloads::kit::Tree;
use crate::workloads::{Durable, LiveFile};

/// The durable files after this many operations.
pub fn after(parameters: &Parameters, seed: u64, operations: u64) -> Durable {
    if !parameters.sync_each {
        return Durable::default();
    }
    let tree = source::tree(parameters, seed);
    let at = Task::of(operations, parameters.tree.files.into());
    let mut files = Vec::new();
    // Files that the current task deletes are no longer durable; files that it creates are not durable yet.
    let is_there = |made: Task, deleted: Task| made < at && at < deleted;
    for (copy, made) in IMAGES.into_iter().zip([Task::CopyImage, Task::CopyImageAgain]) {
        if is_there(made, Task::DeleteImages) {
            files.push(image(&tree, parameters.image, copy));
        }
    }
    for (copy, made) in COPIES.into_iter().zip([Task::CopyTree, Task::CopyTreeAgain]) {
        if is_there(made, Task::DeleteTrees) {
            files.extend(copied(&tree, copy));
        }
    }
    Durable { files, named: true }
}

pub fn image(tree: &impl Tree, bytes: u64, copy: &str) -> LiveFile {
    LiveFile::file(copy, bytes, tree.noise().crc32(tree.files(), bytes))
}

/// A copy of the tree with its folders.
pub fn copied(tree: &impl Tree, copy: &str) -> Vec<LiveFile> {
    let folders = tree.folders().into_iter().map(|folder| LiveFile::folder(format!("{copy}/{folder}")));
    let files = tree.live().into_iter().map(|file| {
        let path = [copy.as_ref(), file.path.as_path()].iter().collect();
        LiveFile { path, ..file }
    });
    [LiveFile::folder(copy)].into_iter().chain(folders).chain(files).collect()
}
