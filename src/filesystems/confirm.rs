//! Compares the mount with the request.

use super::{Mount, Mounted};
use crate::schema::units::Bytes;

/// Generic mount options, which the kernel always shows.
const ALWAYS_SHOWN: [&str; 9] =
    ["ro", "noatime", "relatime", "nosuid", "nodev", "noexec", "sync", "dirsync", "lazytime"];

/// Compares type and options by name. A filesystem-specific option is accepted even if mountinfo does not show it, because
/// the kernel hides defaults.
pub fn confirm_type_and_options(asked: &Mount, seen: &Mounted) -> Result<(), String> {
    if asked.fstype() != seen.fstype {
        return Err(format!("asked for type {}, mounted is {}", asked.fstype(), seen.fstype));
    }
    let options = asked.options();
    let read_only = "ro".to_owned();
    if seen.options.contains(&read_only) && !options.contains(&read_only) {
        return Err("asked for reading and writing, mounted is read-only".into());
    }
    for (place, option) in options.iter().enumerate() {
        let overridden = options[place + 1..].iter().any(|later| key(later) == key(option));
        if !overridden {
            confirm_option(option, &seen.options)?;
        }
    }
    Ok(())
}

fn confirm_option(asked: &str, shown: &[String]) -> Result<(), String> {
    if ALWAYS_SHOWN.contains(&asked) && !shown.iter().any(|option| option == asked) {
        return Err(format!("asked for {asked}, mounted is without it"));
    }
    if asked == "strictatime"
        && let Some(lazier) = shown.iter().find(|option| ["noatime", "relatime"].contains(&option.as_str()))
    {
        return Err(format!("asked for strictatime, mounted is {lazier}"));
    }
    match shown.iter().find(|option| key(option) == key(asked) && !agree(asked, option)) {
        Some(other) => Err(format!("asked for {asked}, mounted is {other}")),
        None => Ok(()),
    }
}

/// Options that turn a feature off, if the kernel shows neither the feature nor its opposite. The feature may be off by default, or
/// the kernel may not know it any more. Omits `own`, the options that the kind always gives, because these are not reported either.
pub fn absences_not_shown<'o>(options: &'o [String], own: &[String], seen: &Mounted) -> Vec<&'o str> {
    let is_shown = |asked: &str| seen.options.iter().any(|option| key(option) == key(asked));
    let asks_absence = |option: &&str| !option.contains('=') && option.starts_with("no");
    let options = options.iter().flat_map(|option| option.split(','));
    let is_own = |option: &&str| own.iter().any(|own| own == option);
    options.filter(asks_absence).filter(|option| !is_shown(option) && !is_own(option)).collect()
}

/// Whether, with these options, an fsync leaves its data in the device's volatile cache.
pub fn give_up_flushes(options: &[String]) -> bool {
    let last = |name: &str| {
        let mut options = options.iter().flat_map(|option| option.split(',')).rev();
        options.find(|option| key(option) == name).unwrap_or_default()
    };
    let barrier = last("barrier");
    is_off(barrier) || barrier == "barrier=none" || last("fsync_mode") == "fsync_mode=nobarrier"
}

/// Whether these options make the filesystem discard freed blocks while it is mounted.
pub fn discards(options: &[String]) -> bool {
    let mut options = options.iter().flat_map(|option| option.split(',')).rev();
    options.find(|option| key(option) == "discard").is_some_and(|last| !is_off(last))
}

/// The common key of an option and its opposite: `discard` for `nodiscard` and for `discard=async`.
pub fn key(option: &str) -> &str {
    match option.split_once('=') {
        Some((key, _)) => key,
        None => option.strip_prefix("no").unwrap_or(option),
    }
}

/// Whether two options with the same key have the same meaning.
fn agree(asked: &str, shown: &str) -> bool {
    if is_off(asked) != is_off(shown) {
        return false;
    }
    match (asked.split_once('='), shown.split_once('=')) {
        (Some((_, asked)), Some((_, shown))) => asked == shown || same_number(asked, shown),
        _ => true,
    }
}

/// Whether an option turns its feature off; `nobarrier` and `barrier=0` are alike.
fn is_off(option: &str) -> bool {
    match option.split_once('=') {
        Some((_, value)) => value == "0",
        None => option.starts_with("no"),
    }
}

/// Whether two values are the same number: the kernel shows `262144` as `256k` and `22` as `0022`.
fn same_number(asked: &str, shown: &str) -> bool {
    matches!((asked.parse::<Bytes>(), shown.parse::<Bytes>()), (Ok(asked), Ok(shown)) if asked == shown)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A line of /proc/self/mountinfo, as the agent reads it.
    pub fn mounted(line: &str) -> Mounted {
        let (mount, filesystem) = line.split_once(" - ").unwrap();
        let [fstype, source, options] = filesystem.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let options = mount.split(' ').nth(5).unwrap().split(',').chain(options.split(','));
        Mounted {
            source: source.into(),
            fstype: fstype.into(),
            driver: fstype.into(),
            options: options.map(str::to_owned).collect(),
        }
    }

    pub fn asked(fstype: &str, options: &[&str]) -> Mount {
        Mount::Syscall {
            fstype: fstype.into(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
        }
    }

    const XFS: &str =
        "42 27 7:0 / /mnt rw,relatime - xfs /dev/loop0 rw,inode64,logbufs=8,logbsize=32k,noquota";

    fn xfs(options: &[&str]) -> Result<(), String> {
        confirm_type_and_options(&asked("xfs", options), &mounted(XFS))
    }

    #[test]
    fn hidden_and_rewritten_options_pass() {
        assert_eq!(xfs(&[]), Ok(()));
        assert_eq!(xfs(&["noquota", "wsync", "logbsize=32768", "relatime"]), Ok(()));
        assert_eq!(xfs(&["logbufs=2", "logbufs=8"]), Ok(()), "the last one counts");
    }

    #[test]
    fn what_differs_is_named() {
        assert_eq!(xfs(&["logbufs=2"]).unwrap_err(), "asked for logbufs=2, mounted is logbufs=8");
        assert_eq!(xfs(&["noatime"]).unwrap_err(), "asked for noatime, mounted is without it");
        assert_eq!(xfs(&["strictatime"]).unwrap_err(), "asked for strictatime, mounted is relatime");
        assert_eq!(xfs(&["quota"]).unwrap_err(), "asked for quota, mounted is noquota");
        let other = confirm_type_and_options(&asked("ext4", &[]), &mounted(XFS));
        assert_eq!(other.unwrap_err(), "asked for type ext4, mounted is xfs");
    }

    #[test]
    fn a_filesystem_that_fell_back_to_read_only_is_not_what_was_asked() {
        let seen = mounted("42 27 7:0 / /mnt rw,relatime - jfs /dev/loop0 ro");
        assert!(confirm_type_and_options(&asked("jfs", &[]), &seen).unwrap_err().contains("read-only"));
        assert_eq!(confirm_type_and_options(&asked("jfs", &["ro"]), &seen), Ok(()));
    }

    #[test]
    fn an_absence_of_which_the_kernel_shows_nothing_is_named() {
        let options = ["noikeep,noquota", "wsync", "noatime"].map(str::to_owned);
        assert_eq!(xfs(&["noikeep"]), Ok(()));
        assert_eq!(absences_not_shown(&options, &[], &mounted(XFS)), ["noikeep", "noatime"]);
        let own = ["noikeep".to_owned()];
        assert_eq!(
            absences_not_shown(&options, &own, &mounted(XFS)),
            ["noatime"],
            "ours is not labelled either"
        );
    }

    #[test]
    fn who_asks_for_no_barrier_asks_for_no_flush() {
        let gives_up = |options: &str| give_up_flushes(&[options.to_owned()]);
        for options in [
            "nobarrier",
            "noatime,barrier=0",
            "barrier=none",
            "fsync_mode=nobarrier",
            "nobarrier,fsync_mode=posix",
        ] {
            assert!(gives_up(options), "{options}");
        }
        for options in ["", "noatime", "barrier=1", "barrier=flush", "nobarrier,barrier", "fsync_mode=posix"]
        {
            assert!(!gives_up(options), "{options}");
        }
    }

    #[test]
    fn off_has_two_spellings() {
        let seen = mounted("42 27 7:0 / /mnt rw,relatime - ext4 /dev/loop0 rw,nobarrier");
        assert_eq!(confirm_type_and_options(&asked("ext4", &["barrier=0"]), &seen), Ok(()));
        assert!(confirm_type_and_options(&asked("ext4", &["barrier=1"]), &seen).is_err());
    }
}
