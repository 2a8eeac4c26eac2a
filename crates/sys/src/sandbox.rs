//! What holds a process to a part of the machine, whatever its arguments name: a root of its own, few capabilities, and
//! Landlock where the kernel has it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, LandlockStatus, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, Scope,
};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use rustix::process::{chdir, chroot, fchdir};
use rustix::thread::{
    CapabilitySet, CapabilitySets, Gid, Uid, UnshareFlags, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid, unshare_unsafe,
};

use crate::process::die_with_parent;
use crate::shared::{Entry, Shared};

/// The newest rules that are asked for; an older kernel keeps those that it knows.
const RULES: ABI = ABI::V9;

/// `struct mount_attr` and its flags, `include/uapi/linux/mount.h`
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}
const RDONLY: u64 = 1;
const NOSUID: u64 = 2;
const NODEV: u64 = 4;

/// A copy of the whole file tree, mounts and all, in which nothing can be written and no device node can be opened. It is not
/// mounted anywhere yet: see [`put`].
///
/// # Errors
/// Without the right to mount, and before Linux 5.12.
pub fn read_only_tree() -> io::Result<OwnedFd> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::AT_RECURSIVE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = open_tree(CWD, "/", flags)?;
    let attributes = MountAttributes {
        set: RDONLY | NOSUID | NODEV,
        clear: 0,
        propagation: libc::MS_PRIVATE,
        user_namespace: 0,
    };
    let at = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the descriptor is open, the path an empty string, and the structure as long as is said.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            at,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    if done == 0 { Ok(tree) } else { Err(io::Error::last_os_error()) }
}

/// Mounts such a tree on a folder.
///
/// # Errors
/// As mount(2).
pub fn put(tree: &OwnedFd, folder: &Path) -> io::Result<()> {
    Ok(move_mount(tree, "", CWD, folder, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// A root for commands, and what of it they may write in.
#[derive(Debug)]
pub struct Sandbox {
    root: OwnedFd,
    rules: RulesetCreated,
    landlock: Option<u32>,
}

/// A command that is put into a sandbox between fork and exec.
#[derive(Debug)]
pub struct Confined {
    pub command: Command,
    /// The moment just before it became the program, and what it had used by then.
    pub entered: Shared<Entry>,
}

impl Sandbox {
    /// Around a root that is complete.
    ///
    /// # Errors
    /// When one of these folders cannot be opened.
    pub fn new(root: &Path, writable: &[&Path]) -> io::Result<Self> {
        let mut rules = Ruleset::default()
            .handle_access(AccessFs::from_write(RULES))
            .and_then(|rules| rules.scope(Scope::from_all(RULES)))
            .and_then(Ruleset::create)
            .map_err(io::Error::other)?;
        for folder in writable {
            let folder = PathFd::new(folder).map_err(io::Error::other)?;
            let beneath = PathBeneath::new(folder, AccessFs::from_write(RULES));
            rules = rules.add_rule(beneath).map_err(io::Error::other)?;
        }
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(root, folder, Mode::empty())?;
        let landlock = landlock_version(&rules)?;
        Ok(Sandbox { root, rules, landlock })
    }

    /// The version of Landlock that holds commands which do not mount; `None` where the kernel has none.
    pub fn landlock(&self) -> Option<u32> {
        self.landlock
    }

    /// A command that runs in it with no capabilities but these. The kernel kills it when the calling thread ends.
    ///
    /// # Errors
    /// When the kernel has no memory or descriptors left.
    pub fn command(
        &self,
        program: impl AsRef<OsStr>,
        keep: CapabilitySet,
        may_mount: bool,
    ) -> io::Result<Confined> {
        let root = self.root.try_clone()?;
        // No process under Landlock may mount.
        let mut rules = if may_mount { None } else { Some(self.rules.try_clone()?) };
        let entered = Shared::<Entry>::new()?;
        let entry = entered.again()?;
        let mut command = Command::new(program);
        let enter = move || {
            die_with_parent()?;
            enter(root.as_fd(), keep)?;
            if let Some(rules) = rules.take() {
                rules.restrict_self().map_err(|_| io::Error::last_os_error())?;
            }
            entry.stamp();
            Ok(())
        };
        // SAFETY: the closure makes system calls and stores to shared memory; it takes no lock that another thread could
        // hold, and the allocator is usable in a child of the C library's fork.
        unsafe { command.pre_exec(enter) };
        Ok(Confined { command, entered })
    }

    /// Does that with this root in place of the process's own, in a thread that keeps its rights: for system calls that
    /// look paths up.
    ///
    /// # Errors
    /// When the thread cannot start or cannot change its root.
    pub fn within<T: Send>(&self, does: impl FnOnce() -> T + Send) -> io::Result<T> {
        let inside = || {
            // SAFETY: from here on this thread alone has a root and a working folder of its own.
            unsafe { unshare_unsafe(UnshareFlags::FS)? };
            change_root(self.root.as_fd())?;
            Ok(does())
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("sandbox".into()).spawn_scoped(scope, inside)?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

fn change_root(root: BorrowedFd<'_>) -> io::Result<()> {
    fchdir(root)?;
    chroot(".")?;
    Ok(chdir("/")?)
}

/// Moves this process, which is about to become another program, into that root. As root the program will have the
/// capabilities that stay in the bounding set: these.
fn enter(root: BorrowedFd<'_>, keep: CapabilitySet) -> io::Result<()> {
    change_root(root)?;
    clear_ambient_capability_set()?;
    bound_to(keep)?;
    Ok(set_no_new_privs(true)?)
}

fn bound_to(keep: CapabilitySet) -> io::Result<()> {
    let all = (0..u64::BITS).map(|number| CapabilitySet::from_bits_retain(1 << number));
    for capability in all.filter(|capability| !keep.contains(*capability)) {
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // This and all that follow are newer than this kernel.
            Err(rustix::io::Errno::INVAL) => break,
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

/// Takes this identity, root's own perhaps, and gives up all capabilities for good. The working folder and what is open stay.
///
/// # Errors
/// Without the right to do so, and in a process of several threads, of which this would change only one.
pub fn renounce(uid: u32, gid: u32) -> io::Result<()> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("only a process of one thread can give its rights up"));
    }
    clear_ambient_capability_set()?;
    bound_to(CapabilitySet::empty())?;
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    // The kernel forgets this with a change of identity.
    die_with_parent()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(set_no_new_privs(true)?)
}

/// Only a thread that has put itself under the rules is told which version holds it.
fn landlock_version(rules: &RulesetCreated) -> io::Result<Option<u32>> {
    let rules = rules.try_clone()?;
    let tried = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, || rules.restrict_self())?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(io::Error::other)
    })?;
    Ok(match tried.landlock {
        LandlockStatus::Available { effective_abi, .. } => Some(effective_abi as u32),
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_of_a_process_with_several_threads_are_not_given_up_by_half() {
        // The harness runs each test in a thread of its own.
        assert!(renounce(0, 0).expect_err("it has several").to_string().contains("one thread"));
    }
}
