//! Restricts a process whatever its arguments: a separate root, few capabilities, and Landlock if the kernel has it.

use std::ffi::{CStr, OsStr};
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

/// The newest Landlock rules requested; an older kernel applies those that it knows.
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

/// A copy of the whole file tree with all mounts, read-only and without access to device nodes. It is not mounted yet: see
/// [`put`].
///
/// # Errors
/// Without the permission to mount, and before Linux 5.12.
pub fn read_only_tree() -> io::Result<OwnedFd> {
    read_only(Path::new("/"))
}

/// Mounts a file or folder, with all mounts below it, at another path: read-only and without access to device nodes.
///
/// # Errors
/// Without the permission to mount, and before Linux 5.12.
pub fn bind_read_only(path: &Path, at: &Path) -> io::Result<()> {
    put(&read_only(path)?, at)
}

fn read_only(path: &Path) -> io::Result<OwnedFd> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::AT_RECURSIVE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = open_tree(CWD, path, flags)?;
    set_attributes(tree.as_raw_fd(), c"", RDONLY | NOSUID | NODEV)?;
    Ok(tree)
}

/// Makes all mounts read-only for this process and for others with the same view of mounts; device nodes stay usable.
///
/// # Errors
/// Without the permission to mount, and before Linux 5.12.
pub fn make_all_read_only() -> io::Result<()> {
    set_attributes(libc::AT_FDCWD, c"/", RDONLY | NOSUID)
}

/// Sets these attributes of a mount and of all mounts below it, which become private.
fn set_attributes(folder: libc::c_int, path: &CStr, set: u64) -> io::Result<()> {
    let attributes = MountAttributes { set, clear: 0, propagation: libc::MS_PRIVATE, user_namespace: 0 };
    let at = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the path is a string with its zero byte, and the structure has the given length.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            folder,
            path.as_ptr(),
            at,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Mounts the tree on a directory.
///
/// # Errors
/// As mount(2).
pub fn put(tree: &OwnedFd, folder: &Path) -> io::Result<()> {
    Ok(move_mount(tree, "", CWD, folder, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// A root for commands, and the directories that they may write.
#[derive(Debug)]
pub struct Sandbox {
    root: OwnedFd,
    rules: RulesetCreated,
    landlock: Option<u32>,
}

/// A command that enters a sandbox between fork and exec.
#[derive(Debug)]
pub struct Confined {
    pub command: Command,
    /// Time and usage just before exec.
    pub entered: Shared<Entry>,
}

impl Sandbox {
    /// Makes a sandbox from a complete root and its writable directories.
    ///
    /// # Errors
    /// If one of these directories cannot be opened.
    pub fn new(root: &Path, writable: &[&Path]) -> io::Result<Self> {
        let rules = rules(writable)?;
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(root, folder, Mode::empty())?;
        let landlock = landlock_version(&rules)?;
        Ok(Sandbox { root, rules, landlock })
    }

    /// Landlock version for commands that do not mount; `None` if the kernel has none.
    pub fn landlock(&self) -> Option<u32> {
        self.landlock
    }

    /// A command that runs in the sandbox with only the capabilities `keep`. The kernel kills it when the calling thread ends.
    ///
    /// # Errors
    /// If the kernel has no memory or descriptors left.
    pub fn command(
        &self,
        program: impl AsRef<OsStr>,
        keep: CapabilitySet,
        may_mount: bool,
    ) -> io::Result<Confined> {
        let root = self.root.try_clone()?;
        // A process under Landlock cannot mount.
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
        // SAFETY: the closure makes system calls and stores to shared memory; it takes no lock that another thread could hold,
        // and the allocator is usable in a child of the C library's fork.
        unsafe { command.pre_exec(enter) };
        Ok(Confined { command, entered })
    }

    /// Calls `does` with this root, in a thread that keeps its privileges: for system calls that resolve paths.
    ///
    /// # Errors
    /// If the thread cannot start or cannot change its root.
    pub fn within<T: Send>(&self, does: impl FnOnce() -> T + Send) -> io::Result<T> {
        let inside = || {
            // SAFETY: from here on only this thread has this root and working directory.
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

/// Moves this process into that root before exec. As root the program gets the capabilities left in the bounding set: `keep`.
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
            // This and all later capabilities are newer than this kernel.
            Err(rustix::io::Errno::INVAL) => break,
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

/// Takes this identity, possibly root's, and drops all capabilities permanently. Working directory and open files remain.
///
/// # Errors
/// Without the permission, and in a process with several threads, because this changes only the calling one.
pub fn renounce(uid: u32, gid: u32) -> io::Result<()> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("only a single-threaded process can drop its capabilities"));
    }
    clear_ambient_capability_set()?;
    bound_to(CapabilitySet::empty())?;
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    // A change of identity clears this in the kernel.
    die_with_parent()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(set_no_new_privs(true)?)
}

/// From now on this process and its children can write only below these folders, and signal only each other: as far as the
/// kernel's Landlock can. For programs that run without a root of their own.
///
/// # Errors
/// If one of the folders cannot be opened, or `no_new_privs` was not set before.
pub fn confine(writable: &[&Path]) -> io::Result<()> {
    rules(writable)?.restrict_self().map(drop).map_err(io::Error::other)
}

fn rules(writable: &[&Path]) -> io::Result<RulesetCreated> {
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
    Ok(rules)
}

/// The version is known only to a thread that has restricted itself, so a separate thread tries.
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
        // The harness runs each test in a separate thread.
        assert!(renounce(0, 0).expect_err("it has several").to_string().contains("single-threaded"));
    }
}
