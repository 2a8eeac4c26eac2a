//! Options that make a kernel panic at an error of a filesystem. Guests may have these options; on this machine's own kernel
//! nothing is mounted with them.

use super::asked::mounted;
use super::confirm::key;
use super::{Filesystem, TABLE, Variant};

/// The first bytes of a volume, which hold every stored error behaviour.
pub const HEAD: usize = 4096;

/// Whether the kind can be used with this variant on this machine's own kernel. The error says what to write instead.
///
/// # Errors
/// If an option would make the kernel panic at an error.
pub fn accept_on_host(kind: &dyn Filesystem, variant: &Variant) -> Result<(), String> {
    let mounts = panics_with(&variant.mount).map(|option| format!("the mount option {option}"));
    match mounts.or_else(|| Some(format!("the mkfs option {}", kind.makes_panic(&variant.mkfs)?))) {
        None => Ok(()),
        Some(option) => Err(format!(
            "{option} of {filesystem} makes this machine's kernel panic at an error\n  try: --on vm or model:DISK, whose \
             guests may panic, or without this option",
            filesystem = kind.name()
        )),
    }
}

/// The first of these mount options that makes the kernel of any kind panic at an error.
pub fn panics_with(options: &[String]) -> Option<&str> {
    let mut all = mounted(options);
    all.find(|option| TABLE.iter().any(|kind| kind.panics().contains(option)))
}

/// Mount options with which a filesystem of this type does not panic, whatever its superblock asks for: the given options, and if
/// they name no error behaviour, the behaviour stored in the head of the volume. `head` reads [`HEAD`] bytes.
///
/// # Errors
/// If an option or the superblock makes the kernel panic at an error, or the head cannot be read.
pub fn harmless(
    fstype: &str,
    options: &[String],
    head: impl FnOnce() -> Result<Vec<u8>, String>,
) -> Result<Vec<String>, String> {
    const WHY: &str = "makes this machine's kernel panic at an error";
    if let Some(option) = panics_with(options) {
        return Err(format!("{option} {WHY}"));
    }
    let mut all = options.to_vec();
    let Some(kind) = storing_errors(fstype) else { return Ok(all) };
    let Some(stored) = kind.stored_errors(&head()?) else { return Ok(all) };
    if kind.panics().contains(&stored) {
        return Err(format!("the volume's superblock holds {stored}, which {WHY}"));
    }
    if !mounted(options).any(|option| key(option) == key(stored)) {
        all.push(stored.to_owned());
    }
    Ok(all)
}

/// The kind of this type whose superblock stores an error behaviour.
fn storing_errors(fstype: &str) -> Option<&'static dyn Filesystem> {
    let mut kinds = TABLE.iter().filter(|kind| kind.kernel().types.contains(&fstype));
    kinds.find(|kind| kind.stores_errors()).copied()
}

/// Whether [`harmless`] adds the stored error behaviour to these options.
pub fn adds_stored(fstype: &str, options: &[String]) -> bool {
    storing_errors(fstype).is_some() && !mounted(options).any(|option| key(option) == "errors")
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn variant(mkfs: &[&str], mount: &[&str]) -> Variant {
        Variant { mkfs: words(mkfs), mount: words(mount), conversion: false }
    }

    fn said(kind: &str, mkfs: &[&str], mount: &[&str]) -> String {
        accept_on_host(find(kind).unwrap(), &variant(mkfs, mount)).err().unwrap_or_default()
    }

    #[test]
    fn every_kind_whose_driver_has_such_an_option_refuses_it_on_the_hosts_kernel_and_takes_it_in_a_guest() {
        // Read from each driver's list of options in Linux 6.12.
        const WITHOUT: [&str; 3] = ["ntfs", "ntfs-3g", "xfs"];
        for kind in TABLE {
            assert_eq!(kind.panics().is_empty(), WITHOUT.contains(&kind.name()), "{}", kind.name());
            for option in kind.panics() {
                for written in [words(&[option]), words(&["noatime", &format!("nodiratime,{option},nosuid")])]
                {
                    let variant = Variant { mount: written, ..Variant::default() };
                    let said = accept_on_host(*kind, &variant).unwrap_err();
                    assert!(said.contains(option) && said.contains("--on vm"), "{said}");
                    assert_eq!(super::super::accept(*kind, &variant), Ok(()), "{}", kind.name());
                }
            }
            assert_eq!(accept_on_host(*kind, &Variant::default()), Ok(()), "{}", kind.name());
        }
        assert!(said("btrfs", &[], &["fatal_errors=panic"]).contains("fatal_errors=panic"));
        for mild in ["errors=continue", "errors=remount-ro", "noatime"] {
            assert_eq!(said("ext4", &[], &[mild]), "");
        }
    }

    #[test]
    fn what_mke2fs_would_store_is_refused_however_it_is_written() {
        for panics in [&["-e", "panic"][..], &["-epanic"], &["-qepanic"], &["-b", "1024", "-FqSe", "panic"]] {
            for kind in ["ext2", "ext3-ordered", "ext4"] {
                assert!(said(kind, panics, &[]).contains("panic"), "{kind} {panics:?}");
            }
        }
        // None of these makes the kernel panic: a label, a value of `-L`, another error behaviour, and an option of another tool.
        for harmless in [&["-L", "-epanic"][..], &["-Lepanic"], &["-e", "remount-ro"], &["-L", "panic"]] {
            assert_eq!(said("ext4", harmless, &[]), "", "{harmless:?}");
        }
        assert_eq!(said("xfs", &["-e", "panic"], &[]), "");
    }

    /// The head of a volume as mke2fs writes it: the magic number, the error behaviour, and mount options that tune2fs stores.
    fn head(errors: u16, options: &str) -> Vec<u8> {
        let mut head = vec![0; HEAD];
        head[1024 + 0x38..][..2].copy_from_slice(&0xef53_u16.to_le_bytes());
        head[1024 + 0x3c..][..2].copy_from_slice(&errors.to_le_bytes());
        head[1024 + 0x200..][..options.len()].copy_from_slice(options.as_bytes());
        head
    }

    #[test]
    fn what_a_superblock_holds_is_stated_at_the_mount_unless_it_panics() {
        let mount =
            |fstype: &str, options: &[&str], head: Vec<u8>| harmless(fstype, &words(options), || Ok(head));
        for fstype in ["ext2", "ext3", "ext4"] {
            assert_eq!(mount(fstype, &["noatime"], head(1, "")).unwrap(), ["noatime", "errors=continue"]);
            assert_eq!(mount(fstype, &[], head(2, "")).unwrap(), ["errors=remount-ro"]);
            assert_eq!(mount(fstype, &["noatime,errors=continue"], head(2, "")).unwrap().len(), 1);
            // The driver takes any other number for remount-ro.
            assert_eq!(mount(fstype, &[], head(7, "")).unwrap(), ["errors=remount-ro"]);
            assert_eq!(mount(fstype, &[], head(1, "acl,errors=remount-ro")).unwrap(), ["errors=remount-ro"]);
            for panics in [head(3, ""), head(1, "errors=panic"), head(1, "noatime,errors=panic")] {
                let said = mount(fstype, &["errors=continue"], panics).unwrap_err();
                assert!(said.contains("superblock holds errors=panic"), "{said}");
            }
            assert_eq!(mount(fstype, &[], vec![0; HEAD]).unwrap(), [""; 0], "no superblock");
            assert_eq!(mount(fstype, &[], Vec::new()).unwrap(), [""; 0], "a device without content");
        }
        for (fstype, option) in [("vfat", "errors=panic"), ("btrfs", "noatime,fatal_errors=panic")] {
            assert!(mount(fstype, &[option], Vec::new()).unwrap_err().contains("panic at an error"));
        }
        let unread = |fstype| harmless(fstype, &[], || Err("unreadable".into()));
        assert_eq!((unread("xfs"), unread("ext4")), (Ok(Vec::new()), Err("unreadable".into())));
    }
}
