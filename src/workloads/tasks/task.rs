//! The tasks: their names, numbers of operations, and results.

/// The tasks in the order of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    CopyImage,
    CopyImageAgain,
    DeleteImages,
    CopyTree,
    CopyTreeAgain,
    List,
    Find,
    DeleteTrees,
}

pub const TASKS: [Task; 8] = [
    Task::CopyImage,
    Task::CopyImageAgain,
    Task::DeleteImages,
    Task::CopyTree,
    Task::CopyTreeAgain,
    Task::List,
    Task::Find,
    Task::DeleteTrees,
];

pub const IMAGES: [&str; 2] = ["image-1", "image-2"];
pub const COPIES: [&str; 2] = ["tree-1", "tree-2"];
pub const LISTING: &str = "listing";

impl Task {
    pub fn name(self) -> &'static str {
        match self {
            Task::CopyImage => "copy-image",
            Task::CopyImageAgain => "copy-image-again",
            Task::DeleteImages => "delete-images",
            Task::CopyTree => "copy-tree",
            Task::CopyTreeAgain => "copy-tree-again",
            Task::List => "list",
            Task::Find => "find",
            Task::DeleteTrees => "delete-trees",
        }
    }

    pub fn deletes(self) -> bool {
        matches!(self, Task::DeleteImages | Task::DeleteTrees)
    }

    /// Each copied or deleted file is one operation; so is a whole listing or search.
    pub fn operations(self, files: u64) -> u64 {
        match self {
            Task::CopyImage | Task::CopyImageAgain | Task::List | Task::Find => 1,
            Task::DeleteImages => 2,
            Task::CopyTree | Task::CopyTreeAgain => files,
            Task::DeleteTrees => 2 * files,
        }
    }

    /// The task of this operation, counted from 1.
    pub fn of(operation: u64, files: u64) -> Task {
        let mut last = 0;
        let belongs = |task: &&Task| {
            last += task.operations(files);
            operation <= last
        };
        TASKS.iter().find(belongs).copied().unwrap_or(Task::DeleteTrees)
    }
}

/// The counts of a task.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    pub files: u64,
    pub folders: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
}
