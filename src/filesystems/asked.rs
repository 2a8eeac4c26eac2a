//! Reads the user's mkfs and mount options that change the capabilities of a kind of filesystem.

/// Values of an mkfs flag, split at commas. Both `-m crc=0,reflink=1` and `-mcrc=0` are understood.
pub(super) fn values<'m>(mkfs: &'m [String], flag: &str) -> Vec<&'m str> {
    let mut values = Vec::new();
    let mut words = mkfs.iter();
    while let Some(word) = words.next() {
        let value = match word.strip_prefix(flag) {
            Some("") => words.next().map_or("", String::as_str),
            Some(value) => value,
            None => continue,
        };
        values.extend(value.split(','));
    }
    values
}

/// Each occurrence of an mkfs flag: its word, and its value as one text.
pub(super) fn valued<'m>(mkfs: &'m [String], flag: &str) -> Vec<(&'m str, &'m str)> {
    let mut found = Vec::new();
    let mut words = mkfs.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix(flag) {
            Some("") => found.push((word.as_str(), words.next().map_or("", String::as_str))),
            Some(value) => found.push((word.as_str(), value)),
            None => {}
        }
    }
    found
}

/// Whether `-O` turns a feature on, or off with `^`; `None` if `-O` does not name the feature. The last mention counts.
pub(super) fn feature(mkfs: &[String], name: &str) -> Option<bool> {
    let said = |word: &&str| match word.strip_prefix('^') {
        Some(off) => (off == name).then_some(false),
        None => (*word == name).then_some(true),
    };
    values(mkfs, "-O").iter().rev().find_map(said)
}

/// The last value in `flag NAME=VALUE`.
pub(super) fn setting<'m>(mkfs: &'m [String], flag: &str, name: &str) -> Option<&'m str> {
    values(mkfs, flag).into_iter().rev().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

/// All mount options, however they were joined.
pub(super) fn mounted(mount: &[String]) -> impl DoubleEndedIterator<Item = &str> {
    mount.iter().flat_map(|option| option.split(','))
}

/// The last value of a mount option.
pub(super) fn option<'m>(mount: &'m [String], name: &str) -> Option<&'m str> {
    mounted(mount).rev().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
}

/// Whether a mount option is given (`true`), or its opposite with the prefix `no` (`false`); `None` if neither is given.
pub(super) fn is_on(mount: &[String], name: &str) -> Option<bool> {
    let said = |option: &str| match option.strip_prefix("no") {
        Some(off) if off == name => Some(false),
        _ => (option == name).then_some(true),
    };
    mounted(mount).rev().find_map(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn options_are_found_however_they_are_written_and_the_last_one_counts() {
        assert_eq!(feature(&words(&["-b", "4096", "-O", "^has_journal,quota"]), "has_journal"), Some(false));
        assert_eq!(feature(&words(&["-O^has_journal", "-O", "has_journal"]), "has_journal"), Some(true));
        assert_eq!(feature(&words(&["-b", "has_journal"]), "has_journal"), None);
        assert_eq!(setting(&words(&["-m", "crc=0,reflink=1"]), "-m", "reflink"), Some("1"));
        assert_eq!(setting(&words(&["-mcrc=0", "-d", "crc=1"]), "-m", "crc"), Some("0"));
        assert_eq!(option(&words(&["noatime,data=ordered", "data=journal"]), "data"), Some("journal"));
        assert_eq!(is_on(&words(&["nodatacow"]), "datacow"), Some(false));
        assert_eq!(is_on(&words(&["nodatacow,datacow"]), "datacow"), Some(true));
        assert_eq!(is_on(&words(&["noatime"]), "datacow"), None);
    }
}
