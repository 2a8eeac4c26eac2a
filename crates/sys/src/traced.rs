//! Follows the processes of a command as a debugger does, and reports the paths that they name in system calls (ptrace(2)).

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use libc::{c_int, c_long, c_void, pid_t};

use crate::process::End;

/// The longest path that the kernel takes.
const LONGEST: usize = 4096;
/// A read within a page cannot reach memory that is not mapped.
const PAGE: u64 = 4096;
const OPTIONS: c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_EXITKILL;

/// System calls whose first argument is a path.
#[cfg(target_arch = "x86_64")]
const FIRST: &[c_long] = &[
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_execve,
    libc::SYS_chdir,
];
#[cfg(not(target_arch = "x86_64"))]
const FIRST: &[c_long] = &[libc::SYS_execve, libc::SYS_chdir];
/// System calls whose first argument is a directory, and whose second is a path below it.
const SECOND: &[c_long] = &[
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_execveat,
];

/// Makes the parent the tracer of this process, and stops until the parent calls [`follow`].
///
/// # Errors
/// If another process traces it already, or the kernel refuses.
pub fn wait_for_tracer() -> io::Result<()> {
    request(libc::PTRACE_TRACEME, 0, 0)?;
    // SAFETY: raising a signal that stops this process touches no memory.
    match unsafe { libc::raise(libc::SIGSTOP) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Follows a child that waits for its tracer, and all its descendants, until all have ended; returns how the child ended.
/// `named` gets each path as an absolute one, which may contain `.` and `..` and need not exist, and the interpreters of scripts.
/// If this process ends, the kernel kills all of them.
///
/// # Errors
/// If the child is not there or cannot be traced.
pub fn follow(child: i32, named: &mut dyn FnMut(PathBuf)) -> io::Result<End> {
    let (_, status) = wait_for(child)?;
    if !libc::WIFSTOPPED(status) {
        return Ok(end(status));
    }
    request(libc::PTRACE_SETOPTIONS, child, OPTIONS as usize)?;
    go_on(child, 0);
    let (mut known, mut ended) = (HashSet::from([child]), None);
    loop {
        let (pid, status) = match wait_for(-1) {
            Ok(seen) => seen,
            Err(e) if e.raw_os_error() == Some(libc::ECHILD) => break,
            Err(e) => return Err(e),
        };
        if !libc::WIFSTOPPED(status) {
            if pid == child {
                ended = Some(end(status));
            }
            continue;
        }
        let signal = libc::WSTOPSIG(status);
        let is_event = status >> 16 != 0;
        // A new process begins with a stop that nobody sent.
        let is_born = known.insert(pid) && signal == libc::SIGSTOP;
        if signal == libc::SIGTRAP | 0x80 {
            if let Some((path, is_program)) = path_named(pid) {
                let script = is_program.then(|| interpreter(pid, &path)).flatten();
                [Some(path), script].into_iter().flatten().for_each(&mut *named);
            }
            go_on(pid, 0);
        } else if is_event || is_born {
            go_on(pid, 0);
        } else {
            go_on(pid, signal);
        }
    }
    ended.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Waits for a change of this child, or of any with -1; threads too.
fn wait_for(pid: pid_t) -> io::Result<(pid_t, c_int)> {
    let mut status = 0;
    loop {
        // SAFETY: the status is a valid place for an int.
        let seen = unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) };
        if seen >= 0 {
            return Ok((seen, status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn end(status: c_int) -> End {
    if libc::WIFEXITED(status) {
        End::Exit(libc::WEXITSTATUS(status))
    } else {
        End::Signal(libc::WTERMSIG(status))
    }
}

/// Lets it run to its next system call. If it has been killed, the next wait says so.
fn go_on(pid: pid_t, signal: c_int) {
    let _ = request(libc::PTRACE_SYSCALL, pid, signal as usize);
}

fn request(what: libc::c_uint, pid: pid_t, data: usize) -> io::Result<c_long> {
    // SAFETY: these requests take a number and no pointer.
    let answer = unsafe { libc::ptrace(what, pid, std::ptr::null_mut::<c_void>(), data as *mut c_void) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// The path in the system call that this process begins, if there is one, and whether it is a program to execute.
fn path_named(pid: pid_t) -> Option<(PathBuf, bool)> {
    let (number, arguments) = call(pid)?;
    let is_program = [libc::SYS_execve, libc::SYS_execveat].contains(&number);
    let (folder, address) = if FIRST.contains(&number) {
        (None, arguments[0])
    } else if SECOND.contains(&number) {
        (Some(arguments[0] as c_int).filter(|folder| *folder != libc::AT_FDCWD), arguments[1])
    } else {
        return None;
    };
    let path = text(pid, address)?;
    if path.is_absolute() {
        return Some((path, is_program));
    }
    let own = Path::new("/proc").join(pid.to_string());
    let folder = folder.map_or(own.join("cwd"), |folder| own.join("fd").join(folder.to_string()));
    Some((fs::read_link(folder).ok()?.join(path), is_program))
}

/// The interpreter of a script, which the kernel opens without a system call that names it. The path is as this process sees it.
fn interpreter(pid: pid_t, path: &Path) -> Option<PathBuf> {
    let seen = Path::new("/proc").join(pid.to_string()).join("root").join(path.strip_prefix("/").ok()?);
    let mut begin = [0; 256];
    let read = File::open(seen).ok()?.read_at(&mut begin, 0).ok()?;
    let line = begin[..read].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = line.trim_ascii().split(u8::is_ascii_whitespace).next()?;
    (!word.is_empty()).then(|| OsString::from_vec(word.to_owned()).into())
}

/// Number and arguments of the system call at whose entry the process is stopped; `None` at its exit.
fn call(pid: pid_t) -> Option<(c_long, [u64; 6])> {
    let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    let size = size_of::<libc::ptrace_syscall_info>();
    // SAFETY: the structure has the stated size, and zeros are a valid value of it.
    let info = unsafe {
        let got = libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid, size as *mut c_void, info.as_mut_ptr());
        if got < 0 {
            return None;
        }
        info.assume_init()
    };
    if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return None;
    }
    // SAFETY: the kernel has filled this variant.
    let entry = unsafe { info.u.entry };
    Some((c_long::try_from(entry.nr).ok()?, entry.args))
}

/// The text at this address of the process, up to its zero byte.
fn text(pid: pid_t, mut address: u64) -> Option<PathBuf> {
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut bytes = Vec::new();
    while bytes.len() < LONGEST {
        let mut piece = vec![0; (PAGE - address % PAGE) as usize];
        let read = memory.read_at(&mut piece, address).ok().filter(|read| *read > 0)?;
        piece.truncate(read);
        if let Some(zero) = piece.iter().position(|byte| *byte == 0) {
            bytes.extend_from_slice(&piece[..zero]);
            return (!bytes.is_empty()).then(|| OsString::from_vec(bytes).into());
        }
        address += read as u64;
        bytes.extend(piece);
    }
    None
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The test's own process has threads and other children, so another one follows.
    #[test]
    fn paths_of_all_descendants_are_named_with_the_interpreter_of_a_script() {
        const ROLE: &str = "FSDERBY_FOLLOWS";
        if let Ok(folder) = std::env::var(ROLE) {
            // SAFETY: the child only calls what is safe after a fork, and ends.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let _ = wait_for_tracer();
                use std::os::unix::process::CommandExt;
                let failed =
                    Command::new("sh").args(["-c", "cat ./a; ./script; exit 7"]).current_dir(folder).exec();
                panic!("{failed}");
            }
            let mut paths = Vec::new();
            let ended = follow(child, &mut |path| paths.push(path)).unwrap();
            assert_eq!(ended, End::Exit(7));
            let has = |end: &str| paths.iter().any(|path| path.ends_with(end));
            assert!(has("a") && has("script") && has("no-such-interpreter"), "{paths:?}");
            assert!(paths.iter().all(|path| path.is_absolute()));
            return;
        }
        let folder = std::env::temp_dir().join(format!("fsderby-traced-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("a"), "x").unwrap();
        fs::write(folder.join("script"), "#! /no-such-interpreter -x\n").unwrap();
        fs::set_permissions(folder.join("script"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        let name = "traced::tests::paths_of_all_descendants_are_named_with_the_interpreter_of_a_script";
        let again = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(ROLE, &folder)
            .output();
        fs::remove_dir_all(&folder).unwrap();
        let again = again.unwrap();
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stdout));
    }
}
