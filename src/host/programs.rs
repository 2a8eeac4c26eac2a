//! Finds programs, in the same folders for root and other users.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, access};

/// Folders of tools, in search order. The caller's PATH is not used, because it often lacks the sbin folders.
pub const FOLDERS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The executable file of a program.
pub fn find(program: &str) -> Option<PathBuf> {
    let can_run = |path: &Path| access(path, Access::EXEC_OK).is_ok();
    files(program).find(|path| path.is_file() && can_run(path))
}

/// The same for a program of the user's own environment, such as a scheduler's: first in the folders of `PATH`.
pub fn find_on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut files =
        std::env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|f| f.join(program));
    files.find(|path| path.is_file() && access(path, Access::EXEC_OK).is_ok()).or_else(|| find(program))
}

/// A file with the program's name that [`find`] rejects.
pub fn find_unusable(program: &str) -> Option<PathBuf> {
    files(program).find(|path| path.exists())
}

/// At most this many bytes of a program's output are read.
const MOST_WORDS: usize = 64 * 1024;

/// Runs a program and returns its standard output and then its standard error as text. A program that runs longer than
/// `patience`, or prints without end, is killed; its output until then is returned.
///
/// # Errors
/// If the program cannot be started; `Interrupted` if a signal that fsderby did not send ended the program, because its output is
/// then incomplete.
pub fn words(program: &Path, arguments: &[String], patience: Duration) -> io::Result<String> {
    let begin = Instant::now();
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C").stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (mut out, mut err) = (Pipe::new(child.stdout.take()), Pipe::new(child.stderr.take()));
    while !(out.has_ended() && err.has_ended())
        && let Some(left) = patience.checked_sub(begin.elapsed())
    {
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut waiting: Vec<PollFd<'_>> = [out.waiting(), err.waiting()].into_iter().flatten().collect();
        match poll(&mut waiting, Some(&left)) {
            Ok(0) => break,
            Err(e) if e != rustix::io::Errno::INTR => return Err(e.into()),
            _ => {}
        }
        let ready: Vec<bool> = waiting.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        for pipe in [&mut out, &mut err] {
            if !pipe.has_ended() && ready.next() == Some(true) {
                pipe.read();
            }
        }
    }
    let was_ours = out.is_cut || err.is_cut || begin.elapsed() >= patience;
    // The program has closed its output, or its output is no longer read.
    let _ = child.kill();
    let status = child.wait()?;
    if let Some(signal) = status.signal().filter(|_| !was_ours) {
        let text = format!("{program} was killed by signal {signal}", program = program.display());
        return Err(io::Error::new(io::ErrorKind::Interrupted, text));
    }
    Ok(String::from_utf8_lossy(&[out.said, err.said].concat()).into_owned())
}

/// A program's output.
struct Pipe {
    source: Option<OwnedFd>,
    said: Vec<u8>,
    /// Whether the output was cut off.
    is_cut: bool,
}

impl Pipe {
    fn new(source: Option<impl Into<OwnedFd>>) -> Self {
        Pipe { source: source.map(Into::into), said: Vec::new(), is_cut: false }
    }

    fn has_ended(&self) -> bool {
        self.source.is_none()
    }

    fn waiting(&self) -> Option<PollFd<'_>> {
        Some(PollFd::new(self.source.as_ref()?, PollFlags::IN))
    }

    fn read(&mut self) {
        let mut buffer = [0; 4096];
        match self.source.as_ref().map(|source| rustix::io::read(source, &mut buffer)) {
            Some(Ok(length)) if length > 0 && self.said.len() < MOST_WORDS => {
                self.said.extend(&buffer[..length]);
            }
            end => {
                self.is_cut = !matches!(end, Some(Ok(0)));
                self.source = None;
            }
        }
    }
}

fn files(program: &str) -> impl Iterator<Item = PathBuf> {
    FOLDERS.iter().map(move |folder| Path::new(folder).join(program))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(script: &str, patience: Duration) -> String {
        words(Path::new("/bin/sh"), &["-c".to_owned(), script.to_owned()], patience).unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_a_program_says_is_heard_from_both_streams() {
        assert_eq!(said("echo two >&2; echo one; exit 3", LONG), "one\ntwo\n");
        assert!(words(Path::new("/no/such/program"), &[], LONG).is_err());
    }

    #[test]
    fn what_a_killed_program_said_is_no_answer() {
        let argv = ["-c".to_owned(), "echo half; kill -9 $$".to_owned()];
        let ended = words(Path::new("/bin/sh"), &argv, LONG).unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::Interrupted, "{ended}");
    }

    #[test]
    fn a_program_that_says_nothing_for_too_long_is_ended() {
        assert_eq!(said("echo begun; exec sleep 1000", Duration::from_millis(300)), "begun\n");
        let children = said("sleep 1000 & echo begun", Duration::from_millis(300));
        assert_eq!(children, "begun\n", "nor is its child waited for, which has its streams");
    }

    #[test]
    fn a_program_that_never_stops_talking_is_ended() {
        assert!(said("exec yes", LONG).len() < MOST_WORDS + 4097);
        assert!(said("exec yes >&2", LONG).starts_with("y\ny\n"));
    }
}
