//! Child processes with their resource usage, and forks into separate namespaces.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

/// The unit of `ru_inblock` and `ru_oublock`, `include/linux/task_io_accounting_ops.h`
const BLOCK: u64 = 512;

/// Resource usage of a process, including waited-for descendants if the kernel counts them. Times are nanoseconds with
/// microsecond resolution; faults and context switches are counts. Bytes are zero in a kernel without I/O accounting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub user_ns: u64,
    pub sys_ns: u64,
    pub minflt: u64,
    pub majflt: u64,
    /// The process gave up the CPU to wait.
    pub voluntary: u64,
    /// The process was preempted while runnable.
    pub involuntary: u64,
    /// Bytes of the pages that it made dirty, and of its direct writes.
    pub bytes_written: u64,
    /// Bytes that it caused to be read from devices.
    pub bytes_read: u64,
}

impl Usage {
    pub fn since(self, earlier: Usage) -> Usage {
        Usage {
            user_ns: self.user_ns - earlier.user_ns,
            sys_ns: self.sys_ns - earlier.sys_ns,
            minflt: self.minflt - earlier.minflt,
            majflt: self.majflt - earlier.majflt,
            voluntary: self.voluntary - earlier.voluntary,
            involuntary: self.involuntary - earlier.involuntary,
            bytes_written: self.bytes_written - earlier.bytes_written,
            bytes_read: self.bytes_read - earlier.bytes_read,
        }
    }

    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            user_ns: self.user_ns + other.user_ns,
            sys_ns: self.sys_ns + other.sys_ns,
            minflt: self.minflt + other.minflt,
            majflt: self.majflt + other.majflt,
            voluntary: self.voluntary + other.voluntary,
            involuntary: self.involuntary + other.involuntary,
            bytes_written: self.bytes_written + other.bytes_written,
            bytes_read: self.bytes_read + other.bytes_read,
        }
    }
}

impl From<libc::rusage> for Usage {
    fn from(usage: libc::rusage) -> Self {
        let ns = |t: libc::timeval| t.tv_sec.unsigned_abs() * 1_000_000_000 + t.tv_usec.unsigned_abs() * 1000;
        Usage {
            user_ns: ns(usage.ru_utime),
            sys_ns: ns(usage.ru_stime),
            minflt: usage.ru_minflt.unsigned_abs(),
            majflt: usage.ru_majflt.unsigned_abs(),
            voluntary: usage.ru_nvcsw.unsigned_abs(),
            involuntary: usage.ru_nivcsw.unsigned_abs(),
            bytes_written: BLOCK * usage.ru_oublock.unsigned_abs(),
            bytes_read: BLOCK * usage.ru_inblock.unsigned_abs(),
        }
    }
}

/// Usage of this process so far.
pub fn own_usage() -> Usage {
    usage_of(libc::RUSAGE_SELF)
}

/// Usage of the calling thread so far.
pub fn thread_usage() -> Usage {
    usage_of(libc::RUSAGE_THREAD)
}

fn usage_of(who: libc::c_int) -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills one `struct rusage`; all zeros is a valid value if it fails, which it does not for these.
    let usage = unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    };
    usage.into()
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    Signal(i32),
}

/// A child that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Reaped {
    pub pid: i32,
    pub end: End,
    pub usage: Usage,
}

/// Waits for any child to end. `None` if there are no children, or if `block` is false and none has ended.
///
/// # Errors
/// Only for mistakes of the caller; interruptions are retried.
pub fn reap(block: bool) -> io::Result<Option<Reaped>> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let flags = if block { 0 } else { libc::WNOHANG };
    loop {
        // SAFETY: both pointers are to live memory of the right types, which the kernel fills.
        let pid = unsafe { libc::wait4(-1, &raw mut status, flags, usage.as_mut_ptr()) };
        if pid == 0 {
            return Ok(None);
        }
        if pid < 0 {
            match io::Error::last_os_error() {
                e if e.raw_os_error() == Some(libc::EINTR) => continue,
                e if e.raw_os_error() == Some(libc::ECHILD) => return Ok(None),
                e => return Err(e),
            }
        }
        let end = if libc::WIFSIGNALED(status) {
            End::Signal(libc::WTERMSIG(status))
        } else {
            End::Exit(libc::WEXITSTATUS(status))
        };
        // SAFETY: wait4 returned a child, so it has filled the structure.
        let usage = unsafe { usage.assume_init() };
        return Ok(Some(Reaped { pid, end, usage: usage.into() }));
    }
}

/// Whether the process of this pidfd ends in that time; the caller must still reap it.
///
/// # Errors
/// As poll(2); interruptions are retried.
pub fn ends_within(process: impl AsFd, time: Duration) -> io::Result<bool> {
    let begin = Instant::now();
    loop {
        let left = Timespec::try_from(time.saturating_sub(begin.elapsed())).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&left)) {
            Err(rustix::io::Errno::INTR) => {}
            ready => return Ok(ready? > 0),
        }
    }
}

/// Whether this process has any child, running or ended and not waited for.
pub fn has_children() -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let asked = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::All, asked).is_ok()
}

/// Usage of all children that this process has waited for, and of the children's children.
pub fn children_usage() -> Usage {
    usage_of(libc::RUSAGE_CHILDREN)
}

/// The side of a [`fork`] that the caller is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fork {
    Parent(i32),
    Child,
}

/// Forks this process.
///
/// # Errors
/// If the kernel refuses. Always in a process with several threads, because the child could inherit a lock that nobody releases.
pub fn fork() -> io::Result<Fork> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!("cannot fork a process that has {threads} threads")));
    }
    // SAFETY: there is no other thread, so no lock is held and no invariant is violated midway.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(pid)),
    }
}

/// Moves this process into new namespaces: of mounts, so that others do not see its mounts; of the network, with nothing but a
/// loopback; of System V IPC objects, without any; and of processes for its next child, which becomes the init of that namespace.
///
/// # Errors
/// Without the permission.
pub fn isolate() -> io::Result<()> {
    isolate_thread()?;
    // SAFETY: the flag removes neither memory nor descriptors.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWPID)? };
    Ok(())
}

/// Whether [`isolate`] would succeed. Tried in a thread, whose namespaces end with it.
///
/// # Errors
/// `EINVAL` if `/` is no mount point, as in some chroots; `EPERM` without the permission, as in most containers.
pub fn can_isolate() -> io::Result<()> {
    let tried = std::thread::Builder::new().spawn(isolate_thread)?.join();
    tried.unwrap_or_else(|_| Err(io::Error::other("the thread that tried it panicked")))
}

/// The namespaces of [`isolate`] that a thread can have alone.
fn isolate_thread() -> io::Result<()> {
    use rustix::thread::{UnshareFlags, unshare_unsafe};
    own_mounts()?;
    // SAFETY: none of the flags removes memory or descriptors shared with another thread.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET | UnshareFlags::NEWIPC)? };
    loopback_up()
}

/// Moves this process into a user namespace, where it has all rights over its own further namespaces and is known as this user.
///
/// # Errors
/// If the machine does not allow it to this user, or the process has several threads.
pub fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    use rustix::process::{getegid, geteuid};
    use rustix::thread::{UnshareFlags, unshare_unsafe};
    let (own_uid, own_gid) = (geteuid().as_raw(), getegid().as_raw());
    // SAFETY: the flag removes neither memory nor descriptors.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER)? };
    // Required before an ordinary user may state its group (user_namespaces(7)).
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{uid} {own_uid} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{gid} {own_gid} 1"))
}

/// Gives this process its own view of mounts: what it mounts is invisible to others.
///
/// # Errors
/// Without the permission.
pub fn own_mounts() -> io::Result<()> {
    use rustix::mount::{MountPropagationFlags, mount_change};
    use rustix::thread::{UnshareFlags, unshare_unsafe};
    // SAFETY: the flag removes neither memory nor descriptors.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS)? };
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

/// Programs that talk to themselves need it (netdevice(7)).
///
/// # Errors
/// Without the permission.
pub fn loopback_up() -> io::Result<()> {
    let family = rustix::net::AddressFamily::INET;
    let socket = rustix::net::socket(family, rustix::net::SocketType::DGRAM, None)?;
    // SAFETY: all zeros is a valid value.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    for (to, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::from_ne_bytes([*byte]);
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the descriptor is open and the structure is of the request's type.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Gives this thread a separate copy of the descriptor table. It must not use descriptors that another thread opens later.
///
/// While no two threads share a table, file operations take no lock and count no reference.
///
/// # Errors
/// If there is no memory for it.
pub fn own_descriptors() -> io::Result<()> {
    // SAFETY: nothing is closed. A descriptor unknown to this thread gives an error and is no memory hazard.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::FILES)? };
    Ok(())
}

/// Makes a write beyond the limit of file sizes (`ulimit -f`) an error instead of this process's end.
///
/// # Errors
/// Never on a current Linux.
pub fn survive_file_size_limit() -> io::Result<()> {
    // SAFETY: no code runs in a signal handler.
    match unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) } {
        libc::SIG_ERR => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Makes the kernel kill this process when the parent *thread* ends.
///
/// # Errors
/// Never on a current Linux.
pub fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// A command whose process is killed when the calling thread ends; start it from a long-lived thread.
pub fn tied_command(program: impl AsRef<std::ffi::OsStr>) -> std::process::Command {
    use std::os::unix::process::CommandExt;
    let mut command = std::process::Command::new(program);
    // SAFETY: the closure makes one system call and neither allocates nor takes a lock.
    unsafe { command.pre_exec(die_with_parent) };
    command
}

/// Nanoseconds of the monotonic clock.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Nanoseconds that the machine has been suspended since it booted: the difference of two clocks read one after the other.
pub fn suspended_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let all = now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs();
    all.saturating_sub(monotonic_ns())
}

/// Whether this child has been stopped and continued by signals since the last question.
pub fn was_continued(child: u32) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let pid = i32::try_from(child).ok().and_then(Pid::from_raw);
    let asked = WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG;
    pid.and_then(|pid| waitid(WaitId::Pid(pid), asked).ok().flatten()).is_some()
}

/// CPU time of this thread in nanoseconds, including the kernel's.
pub fn thread_cpu_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// CPU time of a thread of this process in nanoseconds, including the kernel's; `None` if there is no such thread.
pub fn cpu_ns_of_thread(thread: i32) -> Option<u64> {
    // MAKE_THREAD_CPUCLOCK of include/linux/posix-timers_types.h, with CPUCLOCK_SCHED.
    let clock = (!thread << 3) | 4 | 2;
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes a timespec to the given address, which is one.
    let is_read = unsafe { libc::clock_gettime(clock, &raw mut now) } == 0;
    is_read.then(|| now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs())
}

/// Ends this process at once, without exit handlers.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: always sound; skipping flushes and exit handlers is intended.
    unsafe { libc::_exit(code) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::os::fd::RawFd;
    use std::sync::mpsc::channel;
    use std::thread;

    #[test]
    fn another_thread_has_a_cpu_time_of_its_own() {
        let (send, receive) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let worker = std::thread::spawn(move || {
            let began = thread_cpu_ns();
            while thread_cpu_ns() < began + 5_000_000 {}
            send.send((rustix::thread::gettid().as_raw_nonzero().get(), thread_cpu_ns())).unwrap();
            let _ = ended.recv();
        });
        let (thread, at_least) = receive.recv().unwrap();
        let seen = cpu_ns_of_thread(thread).expect("it runs");
        assert!(seen >= at_least && seen < at_least + 1_000_000_000, "{seen}, {at_least}");
        drop(end);
        worker.join().unwrap();
        assert_eq!(cpu_ns_of_thread(thread), None, "it has ended");
    }

    /// Target of this descriptor in this thread.
    fn name_of(number: RawFd) -> Option<String> {
        let link = std::fs::read_link(format!("/proc/thread-self/fd/{number}")).ok()?;
        Some(link.to_string_lossy().into_owned())
    }

    #[test]
    fn a_thread_of_its_own_descriptors_has_those_that_were_open_and_no_later_ones() {
        let early = memfd_create("early", MemfdFlags::empty()).expect("memory");
        let (asks, asked) = channel();
        let (tells, told) = channel();
        let apart = thread::spawn(move || {
            own_descriptors().expect("memory");
            tells.send(None).expect("somebody waits");
            for number in asked {
                tells.send(name_of(number)).expect("somebody waits");
            }
        });
        told.recv().expect("it has its own");
        let late = memfd_create("late", MemfdFlags::empty()).expect("memory");
        for (descriptor, is_known) in [(&early, true), (&late, false)] {
            asks.send(descriptor.as_raw_fd()).expect("it waits");
            let (there, here) = (told.recv().expect("an answer"), name_of(descriptor.as_raw_fd()));
            assert!(here.is_some() && (there == here) == is_known, "{there:?}, {here:?}");
        }
        drop(asks);
        apart.join().expect("no panic");
    }
}
