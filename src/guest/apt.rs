//! Brings a kernel package by the distribution's own apt: downloaded, not installed, and without root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use super::package;
use crate::host::programs;

/// The package that always depends on the newest kernel of the last long-term series that still has every filesystem here.
const NEWEST: &str = "linux-image-6.12-amd64";

/// Downloads the package of this kernel release, or of the newest, into `folder`. Its checksum is the one that apt's signed
/// lists state, or it is refused.
pub fn download(release: Option<&str>, folder: &Path) -> anyhow::Result<PathBuf> {
    let apt = Apt::new(folder)?;
    let package = match release {
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
