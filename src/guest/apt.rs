//! Brings a kernel package by the distribution's own apt: downloaded, not installed, and without root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use super::{kernel, package};
use crate::host::programs;

/// The package that always depends on the newest kernel of the last long-term series that still has every filesystem here.
const NEWEST: &str = "linux-image-6.12-amd64";

/// Downloads the package of this kernel release, of the newest of this series (`6.1`), or of the newest, into `folder`. Its checksum is the one that apt's signed
/// lists state, or it is refused.
pub fn download(release: Option<&str>, folder: &Path) -> anyhow::Result<PathBuf> {
    let apt = Apt::new(folder)?;
    let package = match release {
        Some(series) if is_series(series) => apt.newest_of(series)?,
        Some(release) => format!("linux-image-{release}"),
        None => apt.newest()?,
    };
    let said = apt.run("apt-get", &["download", &package])?;
    let stem = format!("{package}_");
    let files = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let file = files.into_iter().find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&stem) && name.ends_with(".deb")
    });
    let file = file.with_context(|| format!("apt-get brought no {package}: {said}"))?;
    let (stated, found) = (apt.checksum(&package)?, package::sha256(&file)?);
    ensure!(stated.contains(&found), "the package {package} was altered: its checksum is {found}");
    Ok(file)
}

/// `6.1`, where a release has more: `6.1.0-56-amd64`.
fn is_series(text: &str) -> bool {
    text.contains('.') && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// `6.12.117+deb12` of `linux-image-6.12.117+deb12-amd64`; `None` of what is no plain image.
fn release_of(package: &str) -> Option<&str> {
    let release = package.strip_prefix("linux-image-")?.strip_suffix("-amd64")?;
    let (numbers, distribution) = release.split_once('+').unwrap_or((release, ""));
    let is_plain =
        numbers.bytes().all(|b| b.is_ascii_digit() || b".-".contains(&b)) && !distribution.contains('-');
    is_plain.then_some(release)
}

/// apt with the machine's sources, and where its lists are not there or not readable, with lists of our own.
struct Apt<'a> {
    folder: &'a Path,
    configuration: Option<PathBuf>,
}

impl<'a> Apt<'a> {
    fn new(folder: &'a Path) -> anyhow::Result<Self> {
        ensure!(
            programs::find("apt-get").is_some(),
            "there is no apt-get on this machine\n  try: fsderby kernel fetch FILE.deb"
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
        Ok(image.with_context(|| format!("apt does not know what {NEWEST} needs"))?.to_owned())
    }

    /// The newest image of a series, of the plain kind: neither for real time nor for clouds.
    fn newest_of(&self, series: &str) -> anyhow::Result<String> {
        let said = self.run("apt-cache", &["pkgnames", &format!("linux-image-{series}.")]);
        let said = said.unwrap_or_default();
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
        let path =
            programs::find(program).with_context(|| format!("there is no {program} on this machine"))?;
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
        bail!("{program} {} ended with {}: {}", arguments.join(" "), output.status, errors.trim())
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
