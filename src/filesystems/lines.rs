//! What every kind builds its command lines and options from.

use super::confirm::key;
use super::{Argv, Check, DEVICE, Depth, Mount, Recovery, Variant};

/// A command line from words; the kinds' files read better with it.
pub(super) fn argv<const N: usize>(words: [&str; N]) -> Argv {
    words.map(str::to_owned).to_vec()
}

/// mkfs with the user's arguments after the kind's own, so that of an option given twice the user's wins, and the device last.
pub(super) fn mkfs<const N: usize>(own: [&str; N], variant: &Variant) -> Argv {
    let mut line = argv(own);
    line.extend(variant.mkfs.iter().cloned());
    line.push(DEVICE.into());
    line
}

/// The kind's own mount options without those that the user replaces or turns off, then the user's.
pub(super) fn options(own: &[&str], variant: &Variant) -> Vec<String> {
    let users: Vec<&str> = variant.mount.iter().flat_map(|option| option.split(',')).collect();
    let kept = own.iter().filter(|own| !users.iter().any(|user| key(user) == key(own)));
    kept.chain(&users).map(|option| (*option).to_owned()).collect()
}

/// A mount by the kernel's own call.
pub(super) fn syscall(fstype: &str, own: &[&str], variant: &Variant) -> Mount {
    Mount::Syscall { fstype: fstype.into(), options: options(own, variant) }
}

/// A check whose exit code 0, and no other, says "consistent".
pub(super) fn full_check<const N: usize>(words: [&str; N]) -> Option<Check> {
    Some(Check { argv: argv(words), clean: vec![0], depth: Depth::Full })
}

/// Nothing is to be run after a power cut: mounting replays a journal or log.
pub(super) fn replay_on_mount() -> Recovery {
    Recovery { repair: Vec::new(), replays_on_mount: true }
}

/// One program repairs what a power cut left, and only then it is mounted. Exit code 1 is "errors corrected", with all of them.
pub(super) fn repair_first<const N: usize>(words: [&str; N]) -> Recovery {
    let repair = Check { argv: argv(words), clean: vec![0, 1], depth: Depth::Full };
    Recovery { repair: vec![repair], replays_on_mount: false }
}
