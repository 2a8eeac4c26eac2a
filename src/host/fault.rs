//! An error of this machine: which operation failed on what.

use std::io;
use std::path::Path;

use crate::schema::event::Event;
use crate::schema::job::StepName;
use crate::schema::reason::Blame;

#[derive(Debug, thiserror::Error)]
#[error("{operation} of {path} failed: {text}")]
pub struct StepError {
    pub operation: String,
    pub path: String,
    /// The error number of the system call; 0 if something other than a system call failed.
    pub errno: i32,
    pub text: String,
    pub blame: Blame,
}

impl StepError {
    pub fn new(operation: &str, path: impl AsRef<Path>, text: impl Into<String>) -> Self {
        let path = path.as_ref().display().to_string();
        StepError {
            operation: operation.to_owned(),
            path,
            errno: 0,
            text: text.into(),
            blame: Blame::Filesystem,
        }
    }

    pub fn io(operation: &str, path: impl AsRef<Path>, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        let errno = error.raw_os_error().unwrap_or(0);
        StepError { errno, ..StepError::new(operation, path, error.to_string()) }
    }

    /// The same error, where no filesystem under test was involved.
    #[must_use]
    pub fn of_machine(self) -> Self {
        StepError { blame: Blame::Machine, ..self }
    }

    /// The event that reports this error of a step.
    pub fn event(self, step: StepName) -> Event {
        let StepError { operation, path, errno, text, blame } = self;
        Event::Failed { step, operation, path, errno, text, blame }
    }
}
