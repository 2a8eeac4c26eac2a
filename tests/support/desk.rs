//! A folder to work in and one for images, and what the program says there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::{image_folder, remains};

/// What a command said, and how it ended.
#[derive(Debug, Serialize, Deserialize)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
    pub pid: u32,
}

pub struct Desk {
    folder: tempfile::TempDir,
    images: tempfile::TempDir,
}

impl Desk {
    /// Folders that others may enter and write in too.
    pub fn new() -> Self {
        let desk = Desk { folder: tempfile::tempdir().expect("a folder"), images: image_folder() };
        for path in [desk.folder.path(), desk.images.path()] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("its mode");
        }
        desk
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn images(&self) -> &Path {
        self.images.path()
    }

    /// `loop:FOLDER`
    pub fn testbed(&self) -> String {
        format!("loop:{}", self.images.path().display())
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), content).expect("a file");
        self.path(name)
    }

    /// The program in this folder.
    pub fn fsderby<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = super::fsderby();
        command.args(arguments).current_dir(self.folder.path());
        command
    }

    pub fn say<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Said {
        run(&mut self.fsderby(arguments))
    }

    /// The program with `before` run first in a mount namespace of its own, as root.
    pub fn say_after(&self, before: &str, arguments: &[&str]) -> Said {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-ec", &format!("{before}\nexec \"$@\""), "sh"]);
        command.arg(env!("CARGO_BIN_EXE_fsderby")).args(arguments).env("NO_COLOR", "1");
        run(command.current_dir(self.folder.path()))
    }

    /// What lies in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("the folder").flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// It ends with this code, says all these words on standard error, and leaves nothing.
    pub fn refuses(&self, arguments: &[&str], code: i32, words: &[&str]) {
        let before = self.names();
        let said = self.say(arguments);
        self.refused(&said, code, words);
        assert_eq!(self.names(), before, "{arguments:?} left something");
    }

    pub fn refused(&self, said: &Said, code: i32, words: &[&str]) {
        assert_eq!(said.code, code, "{said:#?}");
        for word in words {
            assert!(said.err.contains(word), "'{word}' is missing in:\n{}", said.err);
        }
        assert!(!said.err.contains("panicked"), "{}", said.err);
        assert!(!said.err.ends_with("\n\n"), "no empty lines follow:\n{}", said.err);
        self.leaves_nothing(said.pid);
    }

    pub fn leaves_nothing(&self, pid: u32) {
        let left = remains::wait_for_none(self.images(), pid);
        assert!(left.is_empty(), "{left:#?}");
    }
}

pub fn run(command: &mut Command) -> Said {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    let pid = child.id();
    let output = child.wait_with_output().expect("its end");
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
        pid,
    }
}
