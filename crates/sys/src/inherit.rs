//! Passes descriptors to one child only.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::process::Command;

use command_fds::CommandFdExt;

/// Descriptors that a child inherits besides its standard streams. The close-on-exec flag is cleared only in the child.
/// Clearing it in the parent would let any other child that starts at that moment inherit them too.
#[derive(Debug, Default)]
pub struct Inherited(Vec<OwnedFd>);

impl Inherited {
    /// Adds a descriptor and returns its number in the child.
    ///
    /// # Errors
    /// If this process has too many descriptors.
    pub fn descriptor(&mut self, file: impl AsFd) -> io::Result<RawFd> {
        let file = file.as_fd().try_clone_to_owned()?;
        let number = file.as_raw_fd();
        self.0.push(file);
        Ok(number)
    }

    /// Adds a file and returns a path by which the child can open it, even if it has no name.
    ///
    /// # Errors
    /// If this process has too many descriptors.
    pub fn path(&mut self, file: impl AsFd) -> io::Result<String> {
        Ok(format!("/proc/self/fd/{}", self.descriptor(file)?))
    }

    /// Passes the descriptors to the child that this command starts.
    pub fn hand_to(self, command: &mut Command) {
        command.preserved_fds(self.0);
    }
}
