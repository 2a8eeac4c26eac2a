//! How the device mapper names volumes of LVM.

/// Whether this is the UUID of a volume, and not of a part inside one, which has more behind it.
pub fn is_uuid(uuid: &str) -> bool {
    uuid.strip_prefix("LVM-")
        .is_some_and(|id| id.len() == 64 && id.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Group and volume of a name in the device mapper, which joins them by a hyphen and doubles those in the names; `None` for the name
/// of a part inside a volume.
pub fn names(mapped: &str) -> Option<(String, String)> {
    // Two hyphens stand for one; a NUL cannot be in a name.
    let joined = mapped.replace("--", "\0");
    match joined.split('-').collect::<Vec<_>>()[..] {
        [group, volume] if !group.is_empty() && !volume.is_empty() => {
            Some((group.replace('\0', "-"), volume.replace('\0', "-")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_uuid_of_a_whole_volume_is_one() {
        let id = "0123456789abcdefghijklmnopqrstuvABCDEFGHIJKLMNOPQRSTUVWXYZ012345";
        assert!(is_uuid(&format!("LVM-{id}")));
        for other in [
            format!("LVM-{id}-real"),
            format!("LVM-{id}-cow"),
            id.into(),
            format!("CRYPT-{id}"),
            "LVM-".into(),
        ] {
            assert!(!is_uuid(&other), "{other}");
        }
    }

    #[test]
    fn names_with_hyphens_are_told_apart() {
        let of = |mapped: &str| names(mapped).map(|(group, volume)| format!("{group}/{volume}"));
        assert_eq!(of("group-volume").as_deref(), Some("group/volume"));
        assert_eq!(of("my--group-my--volume").as_deref(), Some("my-group/my-volume"));
        assert_eq!(of("a----b-c").as_deref(), Some("a--b/c"));
        for part in
            ["group-volume-real", "group-pool-tpool", "group", "group-", "-volume", "group--volume", ""]
        {
            assert_eq!(of(part), None, "{part}");
        }
    }
}
