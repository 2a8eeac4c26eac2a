//! Whether this process can see all of the machine: from inside a container, a disk looks unused that is mounted outside.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::refusal::{Check, Refusal};

/// The kernel's constant inode numbers of its first namespaces, `include/linux/proc_ns.h`.
const FIRST: [(&str, &str, &str); 2] =
    [("pid", "pid:[4026531836]", "processes"), ("user", "user:[4026531837]", "users")];

/// Whether this process is the init of the machine itself, as that of a guest is. The first process of a namespace, such as an agent's
/// on this machine, has number 1 too.
pub fn is_init_of_machine() -> bool {
    let [(kind, first, _), _] = FIRST;
    rustix::process::getpid().is_init() && namespace("self", kind).is_some_and(|own| own.as_os_str() == first)
}

fn namespace(process: &str, kind: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/{kind}")).ok()
}

/// # Errors
/// What is missing.
pub fn is_whole_machine() -> Result<(), Refusal> {
    let refuse = |what: String, try_this: &str| Err(Refusal::new(Check::Place, what, try_this));
    if !rustix::process::geteuid().is_root() {
        return refuse("whole disks need root".into(), "sudo");
    }
    for (kind, first, what) in FIRST {
        if namespace("self", kind).is_none_or(|own| own.as_os_str() != first) {
            let text = format!(
                "this process is in a namespace of {what} of its own, as in a container; it cannot see who uses a disk"
            );
            return refuse(text, "the machine itself, outside the container");
        }
    }
    if namespace("self", "mnt") != namespace("1", "mnt") {
        let text = "this process has mounts of its own; it cannot see what is mounted elsewhere";
        return refuse(text.into(), "a shell of the machine itself, outside unshare and containers");
    }
    let root = |path: &str| fs::metadata(path).ok().map(|about| (about.dev(), about.ino()));
    if root("/") != root("/proc/1/root/") {
        let text =
            "this process has a root folder of its own; it cannot see which disks the machine's files name";
        return refuse(text.into(), "a shell of the machine itself, outside chroot");
    }
    if !fs::exists("/sys/dev/block").unwrap_or(false) {
        return refuse("sysfs is not mounted at /sys".into(), "mount -t sysfs sysfs /sys");
    }
    if let Err(why) = fsderby_sys::device_mapper::version() {
        return refuse(
            format!(
                "this kernel's device mapper cannot be used: {why}; tools must never see more of a disk than the claimed range"
            ),
            "modprobe dm-mod",
        );
    }
    Ok(())
}
