//! Building blocks for the command lines and mount options of each kind of filesystem.

use super::confirm::key;
use super::{Argv, Check, DEVICE, Depth, Mount, Recovery, Variant};

/// A command line from words; keeps the definitions of the filesystems short.
pub(super) fn argv<const N: usize>(words: [&str; N]) -> Argv {
    words.map(str::to_owned).to_vec()
}

/// An mkfs command line: the arguments of the kind of filesystem, then the user's arguments, then the device. If both give the
/// same option, mkfs uses the user's value, because it comes last.
pub(super) fn mkfs<const N: usize>(own: [&str; N], variant: &Variant) -> Argv {
    let mut line = argv(own);
    line.extend(variant.mkfs.iter().cloned());
    line.push(DEVICE.into());
    line
}

/// Mount options: first the kind's own options that the user neither replaces nor turns off, then the user's options.
pub(super) fn options(own: &[&str], variant: &Variant) -> Vec<String> {
    let users: Vec<&str> = variant.mount.iter().flat_map(|option| option.split(',')).collect();
    let kept = own.iter().filter(|own| !users.iter().any(|user| key(user) == key(own)));
    kept.chain(&users).map(|option| (*option).to_owned()).collect()
}

/// A mount by the mount system call.
pub(super) fn syscall(fstype: &str, own: &[&str], variant: &Variant) -> Mount {
    Mount::Syscall { fstype: fstype.into(), options: options(own, variant) }
}

/// A check for which only exit code 0 means "consistent".
pub(super) fn full_check<const N: usize>(words: [&str; N]) -> Option<Check> {
    Some(Check { argv: argv(words), clean: vec![0], depth: Depth::Full })
}

/// No command is needed after a power cut: the mount replays the journal or log.
pub(super) fn replay_on_mount() -> Recovery {
    Recovery { repair: Vec::new(), replays_on_mount: true }
}

/// One program must repair the filesystem after a power cut, before the mount. Its exit code 1 means that all errors were
/// corrected.
pub(super) fn repair_first<const N: usize>(words: [&str; N]) -> Recovery {
    let repair = Check { argv: argv(words), clean: vec![0, 1], depth: Depth::Full };
    Recovery { repair: vec![repair], replays_on_mount: false }
}
