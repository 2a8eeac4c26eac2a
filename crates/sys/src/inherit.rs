//! Descriptors for one child and nobody else.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::process::Command;

use command_fds::CommandFdExt;

/// What a child inherits beside its standard streams. The flag that closes a descriptor on `exec` is cleared in the child
/// alone: cleared in the parent, any other child that starts at that moment would inherit it too.
#[derive(Debug, Default)]
pub struct Inherited(Vec<OwnedFd>);

impl Inherited {
    /// One more, under the number that is returned.
    ///
    /// # Errors
    /// When this process has too many descriptors.
    pub fn descriptor(&mut self, file: impl AsFd) -> io::Result<RawFd> {
        let file = file.as_fd().try_clone_to_owned()?;
        let number = file.as_raw_fd();
        self.0.push(file);
        Ok(number)
    }

    /// One more, under a path by which the child opens it even if it has no name.
    ///
    /// # Errors
    /// When this process has too many descriptors.
    pub fn path(&mut self, file: impl AsFd) -> io::Result<String> {
        Ok(format!("/proc/self/fd/{}", self.descriptor(file)?))
    }

    /// For the child that this command starts.
    pub fn hand_to(self, command: &mut Command) {
        command.preserved_fds(self.0);
    }
}
