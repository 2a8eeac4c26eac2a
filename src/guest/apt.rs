//! Downloads packages by the distribution's apt, without installing them and without root.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, anyhow, bail, ensure};

use super::bundle::Package;
use super::{kernel, package};
use crate::host::programs;

/// The package that depends on the newest kernel of the last long-term series that has every filesystem of fsderby.
const NEWEST: &str = "linux-image-6.12-amd64";

/// Downloads the package of a kernel into `folder`: of this release, of the newest release of this series (`6.1`), or of the newest
/// kernel. Fails unless the package's checksum is in apt's signed lists.
pub fn download(release: Option<&str>, folder: &Path) -> anyhow::Result<PathBuf> {
    let apt = Apt::new(folder)?;
    let package = match release {
        Some(series) if is_series(series) => apt.newest_of(series)?,
        Some(release) => format!("linux-image-{release}"),
        None => apt.newest()?,
    };
    // A kernel of one's own is asked for by its file.
    let unknown = |e: anyhow::Error| {
        anyhow!(
            "{e:#}\n  try: fsderby kernel fetch 6.12; for a kernel of yours its .deb or …/boot/vmlinuz-RELEASE"
        )
    };
    let said = apt.run("apt-get", &["download", &package]).map_err(unknown)?;
    let stem = format!("{package}_");
    let files = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let file = files.into_iter().find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&stem) && name.ends_with(".deb")
    });
    let file = file.with_context(|| format!("apt-get downloaded no {package}: {said}"))?;
    let (stated, found) = (apt.checksum(&package)?, package::sha256(&file)?);
    ensure!(stated.contains(&found), "the package {package} is not the pinned one: its checksum is {found}");
    Ok(file)
}

/// A package as stated by apt's signed lists, and its dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    pub package: Package,
    /// Names of packages; of alternatives only the first name.
    pub depends: Vec<String>,
}

/// What apt states about these packages. Each is given by name, optionally with a version as in `e2fsprogs=1.47.0-2+b2`. Unknown
/// packages are left out.
///
/// # Errors
/// If a name is invalid, or there is no apt.
pub fn stated(wanted: &[String], folder: &Path) -> anyhow::Result<Vec<Stated>> {
    let strange = wanted.iter().find(|name| !is_package(name));
    ensure!(strange.is_none(), "{:?} is not a package name", strange.map_or("", |name| name));
    let apt = Apt::new(folder)?;
    let show = |names: &[String]| {
        let names = names.iter().map(String::as_str);
        let arguments: Vec<&str> = ["show", "--no-all-versions"].into_iter().chain(names).collect();
        apt.run("apt-cache", &arguments)
    };
    // If one package is unknown, apt-cache may print nothing about the others, so each is asked for separately.
    let said = show(wanted).unwrap_or_else(|_| {
        let each = wanted.iter().filter_map(|name| show(std::slice::from_ref(name)).ok());
        each.collect::<Vec<_>>().join("\n")
    });
    Ok(said.split("\n\n").filter_map(stanza).collect())
}

/// Downloads these packages into `folder`, and returns their paths.
///
/// # Errors
/// If a package is not available, or differs from its stated checksum.
pub fn bring(packages: &[Package], folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if packages.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = packages.iter().map(|p| format!("{}={}", p.name, p.version)).collect();
    let strange = names.iter().find(|name| !is_package(name));
    ensure!(strange.is_none(), "{:?} is not a package", strange.map_or("", |name| name));
    let apt = Apt::new(folder)?;
    let arguments: Vec<&str> = ["download"].into_iter().chain(names.iter().map(String::as_str)).collect();
    apt.run("apt-get", &arguments)?;
    let mut by_sum = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "deb") {
            by_sum.insert(package::sha256(&path)?, path);
        }
    }
    let file = |package: &Package| {
        let Package { name, version, sha256 } = package;
        let found = by_sum.get(sha256).cloned();
        found.with_context(|| format!("apt-get downloaded no {name} {version} with the checksum {sha256}"))
    };
    packages.iter().map(file).collect()
}

/// Whether the text is a name, optionally with a version, that apt cannot take for an option.
fn is_package(text: &str) -> bool {
    let is_plain = |part: &str, more: &[u8]| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || more.contains(&b))
    };
    match text.split_once('=') {
        Some((name, version)) => is_plain(name, b"+-.") && is_plain(version, b"+-.:~"),
        None => is_plain(text, b"+-."),
    }
}

/// One package of apt-cache's output.
fn stanza(text: &str) -> Option<Stated> {
    let field = |name: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        found.map(|value| value.trim().to_owned())
    };
    let listed = [field("Pre-Depends"), field("Depends")].into_iter().flatten().collect::<Vec<_>>().join(",");
    // The text looks like `libc6 (>= 2.34) | libc6.1, python3:any`.
    let name = |one: &str| {
        let first = one.split('|').next()?.split_whitespace().next()?;
        Some(first.split(':').next()?.to_owned())
    };
    Some(Stated {
        package: Package { name: field("Package")?, version: field("Version")?, sha256: field("SHA256")? },
        depends: listed.split(',').filter_map(name).collect(),
    })
}

/// Whether the text is a series such as `6.1`, and not a release such as `6.1.0-56-amd64`.
fn is_series(text: &str) -> bool {
    text.contains('.') && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// `6.12.117+deb12` of `linux-image-6.12.117+deb12-amd64`; `None` for other images.
fn release_of(package: &str) -> Option<&str> {
    let release = package.strip_prefix("linux-image-")?.strip_suffix("-amd64")?;
    let (numbers, distribution) = release.split_once('+').unwrap_or((release, ""));
    let is_plain =
        numbers.bytes().all(|b| b.is_ascii_digit() || b".-".contains(&b)) && !distribution.contains('-');
    is_plain.then_some(release)
}

/// apt with the machine's package sources; if the machine's lists are missing or unreadable, with lists in a private folder.
struct Apt<'a> {
    folder: &'a Path,
    configuration: Option<PathBuf>,
}

impl<'a> Apt<'a> {
    fn new(folder: &'a Path) -> anyhow::Result<Self> {
        ensure!(
            programs::find("apt-get").is_some(),
            "apt-get is not installed\n  try: fsderby kernel fetch FILE.deb"
        );
        let mut apt = Apt { folder, configuration: None };
        if apt.run("apt-cache", &["show", "--no-all-versions", NEWEST]).is_err() {
            apt.configuration = Some(private_state(folder)?);
            apt.run("apt-get", &["update"])?;
        }
        Ok(apt)
    }

    /// The first package that the metapackage depends on.
    fn newest(&self) -> anyhow::Result<String> {
        let said = self.run("apt-cache", &["depends", NEWEST])?;
        let names = said.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
        let image = names.into_iter().find(|name| name.starts_with("linux-image-"));
        Ok(image.with_context(|| format!("apt does not know the dependencies of {NEWEST}"))?.to_owned())
    }

    /// The newest plain image of a series, neither real-time nor cloud.
    fn newest_of(&self, series: &str) -> anyhow::Result<String> {
        let said = self.run("apt-cache", &["pkgnames", &format!("linux-image-{series}.")])?;
        let images = said.lines().filter(|name| release_of(name).is_some_and(|r| kernel::begins(r, series)));
        let image = images.max_by_key(|name| kernel::numbers(name));
        let text = || {
            format!(
                "this machine's distribution has no kernel of the {series} series\n  try: fsderby kernel fetch FILE.deb"
            )
        };
        Ok(image.with_context(text)?.to_owned())
    }

    /// The SHA-256 of every version of the package that apt knows.
    fn checksum(&self, package: &str) -> anyhow::Result<Vec<String>> {
        let said = self.run("apt-cache", &["show", package])?;
        Ok(said.lines().filter_map(|line| Some(line.strip_prefix("SHA256:")?.trim().to_owned())).collect())
    }

    fn run(&self, program: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let path = programs::find(program).with_context(|| format!("{program} is not installed"))?;
        let mut command = Command::new(path);
        command.args(arguments).current_dir(self.folder).env("LC_ALL", "C");
        command.args(["-o", "APT::Sandbox::User="]);
        if let Some(configuration) = &self.configuration {
            command.env("APT_CONFIG", configuration);
        }
        let output = command.output().with_context(|| format!("could not start {program}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() && !text.is_empty() {
            return Ok(text);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let (arguments, status, errors) = (arguments.join(" "), output.status, errors.trim());
        bail!("{program} {arguments} ended with {status}: {errors}")
    }
}

/// An apt state below `folder` with the machine's sources.
fn private_state(folder: &Path) -> anyhow::Result<PathBuf> {
    for part in ["state/lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(folder.join(part))?;
    }
    let shown = folder.display();
    let text = format!(
        "Dir::State \"{shown}/state\";\nDir::State::Lists \"{shown}/state/lists\";\nDir::Cache \"{shown}/cache\";\n\
         APT::Sandbox::User \"\";\nDPkg::Post-Invoke \"\";\nAPT::Update::Post-Invoke \"\";\n"
    );
    let configuration = folder.join("apt.conf");
    fs::write(&configuration, text)?;
    Ok(configuration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_apt_states_of_a_package_is_read() {
        let text = "Package: xfsprogs\nVersion: 6.1.0-1\nPre-Depends: libc6 (>= 2.34)\n\
                    Depends: libblkid1 (>= 2.17.2) | other, python3:any\nDescription: a\n words: b\nSHA256: e2d2\n";
        let package = Package { name: "xfsprogs".into(), version: "6.1.0-1".into(), sha256: "e2d2".into() };
        let depends = ["libc6", "libblkid1", "python3"].map(str::to_owned).to_vec();
        assert_eq!(stanza(text), Some(Stated { package, depends }));
        assert_eq!(stanza("N: Unable to locate package"), None);
    }

    #[test]
    fn a_name_that_apt_could_take_for_something_else_is_none() {
        for name in ["e2fsprogs", "libstdc++6", "ntfs-3g=1:2022.10.3-1+deb12u4", "g=1.0~rc1"] {
            assert!(is_package(name), "{name}");
        }
        for name in ["", "-o", "a=-o", "a/b", "./a.deb", "a b", "=1", "a=", "a=1=2"] {
            assert!(!is_package(name), "{name}");
        }
    }

    #[test]
    fn a_series_is_no_release_and_its_images_are_the_plain_ones() {
        assert!(is_series("6.1") && is_series("6.12") && !is_series("6.1.0-56-amd64") && !is_series("6"));
        assert_eq!(release_of("linux-image-6.1.0-56-amd64"), Some("6.1.0-56"));
        assert_eq!(release_of("linux-image-6.12.117+deb12-amd64"), Some("6.12.117+deb12"));
        for other in ["6.1.0-56-rt-amd64", "6.12.117+deb12-cloud-amd64", "6.1.0-56-amd64-dbg", "amd64"] {
            assert_eq!(release_of(&format!("linux-image-{other}")), None, "{other}");
        }
        let names = ["linux-image-6.1.0-9-amd64", "linux-image-6.1.0-56-amd64"];
        assert_eq!(names.iter().max_by_key(|name| kernel::numbers(name)), Some(&names[1]));
    }
}
