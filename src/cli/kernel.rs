//! `fsderby kernel`: the kernels that virtual machines boot.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;

use super::output::print_line;
use crate::exit::Failure;
use crate::guest::{apt, kernel};

#[derive(Subcommand)]
pub enum Kernel {
    /// Download a stock kernel from the distribution's packages into the cache; nothing is installed, and no root is needed
    Fetch {
        /// A release as uname shows it, a .deb file, or …/boot/vmlinuz-RELEASE; without it the newest of the 6.12 series
        release: Option<String>,
        /// Do nothing if the cache has a kernel already
        #[arg(long)]
        if_absent: bool,
    },
    /// List the kernels in the cache
    List,
}

pub fn run(command: &Kernel) -> anyhow::Result<ExitCode> {
    match command {
        Kernel::Fetch { if_absent: true, release } if kernel::find(release.as_deref()).is_some() => {}
        Kernel::Fetch { release, .. } => fetch(release.as_deref())?,
        Kernel::List => list()?,
    }
    Ok(ExitCode::SUCCESS)
}

fn fetch(version: Option<&str>) -> anyhow::Result<()> {
    let kernel = match version.filter(|v| v.contains('/') || Path::new(v).is_file()) {
        Some(file) => kernel::import(Path::new(file)),
        None => download(version),
    };
    let kernel = kernel.map_err(|e| Failure::missing(format!("could not fetch a kernel: {e:#}")))?;
    print_line(&format!("{} is in {}", kernel.index.release, kernel::cache().join("kernels").display()))
}

fn download(version: Option<&str>) -> anyhow::Result<kernel::Kernel> {
    let folder = kernel::cache().join(format!(".fetching-{}", std::process::id()));
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let brought = apt::download(version, &folder).and_then(|file| kernel::import(&file));
    let _ = std::fs::remove_dir_all(&folder);
    brought
}

fn list() -> anyhow::Result<()> {
    let all = kernel::all();
    if all.is_empty() {
        return print_line("none\n  try: fsderby kernel fetch");
    }
    for kernel in all {
        let modules = kernel.index.modules.loadable.len();
        print_line(&format!("{}  {modules} modules, from {}", kernel.index.release, kernel.index.source))?;
    }
    Ok(())
}
