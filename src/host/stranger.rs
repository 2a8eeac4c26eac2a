//! Other users who own a file or may change it.

use super::caller::caller;

/// Another user or group that owns a file, or may write to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Another user is the owner; the value is the user ID.
    Owner(u32),
    /// A group has write permission; the value is the group ID.
    Group(u32),
    /// Every user has write permission.
    Everybody,
}

/// Who else may change a file with this owner, group and mode. Root does not count, because root has full access anyway, nor does
/// the user who called `sudo`. A group with the same number as the user does not count, because it usually has no other member.
pub fn who(uid: u32, gid: u32, mode: u32) -> Option<Who> {
    let caller = caller().map(|caller| caller.uid);
    let is_ours = |id: u32| id == 0 || id == rustix::process::geteuid().as_raw() || Some(id) == caller;
    match () {
        () if !is_ours(uid) => Some(Who::Owner(uid)),
        () if mode & 0o002 != 0 => Some(Who::Everybody),
        () if mode & 0o020 != 0 && !is_ours(gid) => Some(Who::Group(gid)),
        () => None,
    }
}

impl std::fmt::Display for Who {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Who::Owner(uid) => write!(to, "belongs to user {uid}"),
            Who::Group(gid) => write!(to, "can be written by group {gid}"),
            Who::Everybody => to.write_str("can be written by every user"),
        }
    }
}
