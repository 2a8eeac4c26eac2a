//! Debian's packages that files of this machine belong to, by dpkg's own lists.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Where dpkg keeps its lists.
pub const DPKG: &str = "/var/lib/dpkg";

/// The package of each of these absolute paths, as `git 1:2.39.5-0+deb12u2`. What belongs to none, or lies on a machine without dpkg,
/// is absent.
pub fn packages<'p>(dpkg: &Path, paths: impl Iterator<Item = &'p str>) -> BTreeMap<&'p str, String> {
    let wanted: BTreeMap<&str, &str> = paths.map(|path| (merged(path), path)).collect();
    let versions = fs::read_to_string(dpkg.join("status")).map(|text| versions(&text)).unwrap_or_default();
    let mut owners = BTreeMap::new();
    let Ok(lists) = fs::read_dir(dpkg.join("info")) else { return owners };
    for list in lists.flatten().map(|entry| entry.path()) {
        let Some(package) = list.file_name().and_then(|name| name.to_str()?.strip_suffix(".list")) else {
            continue;
        };
        // With `Multi-Arch: same`, the list is called `libc6:amd64.list`.
        let package = package.split(':').next().unwrap_or(package);
        let Ok(text) = fs::read_to_string(&list) else { continue };
        let owned = text.lines().filter_map(|line| wanted.get(merged(line)));
        for path in owned {
            let version = versions.get(package).map(|version| format!(" {version}")).unwrap_or_default();
            owners.insert(*path, format!("{package}{version}"));
        }
    }
    owners
}

/// A path without `/usr`: packages list `/bin/tar`, which is `/usr/bin/tar` where both are merged.
fn merged(path: &str) -> &str {
    path.strip_prefix("/usr").filter(|rest| rest.starts_with('/')).unwrap_or(path)
}

/// Version of each package in dpkg's status file.
fn versions(status: &str) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    let mut package = None;
    for line in status.lines() {
        if let Some(name) = line.strip_prefix("Package: ") {
            package = Some(name);
        } else if let (Some(version), Some(name)) = (line.strip_prefix("Version: "), package) {
            versions.insert(name.to_owned(), version.to_owned());
        }
    }
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_of_the_package_that_lists_it_with_or_without_usr() {
        let dpkg = tempfile::tempdir().unwrap();
        fs::create_dir(dpkg.path().join("info")).unwrap();
        let write = |name: &str, text: &str| fs::write(dpkg.path().join(name), text).unwrap();
        write(
            "status",
            "Package: tar\nStatus: install ok\nVersion: 1.34\n\nPackage: libc6\nVersion: 2.36-9\n",
        );
        write("info/tar.list", "/.\n/bin\n/bin/tar\n/usr/share/x\n");
        write("info/libc6:amd64.list", "/usr/lib/libc.so.6\n");
        write("info/tar.md5sums", "/srv/tar\n");
        let found = packages(dpkg.path(), ["/usr/bin/tar", "/lib/libc.so.6", "/srv/tar"].into_iter());
        let expected =
            [("/usr/bin/tar", "tar 1.34".to_owned()), ("/lib/libc.so.6", "libc6 2.36-9".to_owned())];
        assert_eq!(found, BTreeMap::from(expected));
        assert!(packages(Path::new("/no/such"), ["/usr/bin/tar"].into_iter()).is_empty());
    }
}
