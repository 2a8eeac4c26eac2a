//! `fsderby kernel`: the kernels that virtual machines boot.

use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;

use super::config::checked;
use super::output::{print_json, print_line};
use super::pages::VERSION;
use crate::exit::Failure;
use crate::guest::kernel::{self, Same};
use crate::guest::{apt, cache};
use crate::testbeds;

#[derive(Subcommand)]
pub enum Kernel {
    /// Download a stock kernel from the distribution's packages into the cache; installs nothing and needs no root
    Fetch {
        /// A series (6.1), a release as uname -r prints it, a .deb file, …/boot/vmlinuz-RELEASE, or …/bzImage with
        /// lib/modules/RELEASE in its folder or a folder above; default: the newest of 6.12
        release: Option<String>,
        /// If the cache has another kernel of the same release, such as an earlier build, replace that kernel
        #[arg(long)]
        replace: bool,
        /// Do nothing if the cache already has a kernel
        #[arg(long)]
        if_absent: bool,
    },
    /// List the kernels in the cache
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// `fsderby kernel list --json`.
#[derive(Serialize, JsonSchema)]
pub struct Page {
    schema_version: u32,
    kernels: Vec<Listed>,
    /// Why another kernel of the cache cannot be used.
    unusable: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Listed {
    release: String,
    /// The file that it came from.
    source: String,
    sha256: String,
    /// The number of modules that guests can load.
    modules: usize,
    /// The testbeds that cannot boot it, and why.
    cannot: Vec<String>,
}

pub fn run(command: &Kernel) -> anyhow::Result<ExitCode> {
    checked()?;
    match command {
        Kernel::Fetch { if_absent: true, release, .. } if kernel::find(release.as_deref()).is_some() => {}
        Kernel::Fetch { release, replace, .. } => {
            fetch(release.as_deref(), if *replace { Same::Replace } else { Same::Refuse })?;
        }
        Kernel::List { json: true } => print_json(&page())?,
        Kernel::List { json: false } => list()?,
    }
    Ok(ExitCode::SUCCESS)
}

fn fetch(version: Option<&str>, same: Same) -> anyhow::Result<()> {
    let kernel = match version.filter(|v| v.contains('/') || Path::new(v).is_file()) {
        Some(file) => kernel::import(Path::new(file), same),
        None => download(version, same),
    };
    let kernel = kernel.map_err(|e| Failure::missing(format!("could not fetch a kernel: {e:#}")))?;
    print_line(&format!("{} is stored in {}", kernel.index.release, kernel::place()?.display()))?;
    for cannot in testbeds::that_cannot_boot(&kernel.index) {
        super::say(&format!(
            "note: {cannot}\n  try: fsderby kernel fetch, for the newest release of the series with all drivers"
        ));
    }
    Ok(())
}

fn download(version: Option<&str>, same: Same) -> anyhow::Result<kernel::Kernel> {
    let kernels = cache::made(kernel::KERNELS)?;
    let folder = tempfile::Builder::new().prefix(".fetching-").tempdir_in(kernels)?;
    let file = apt::download(version, folder.path())?;
    kernel::import(&file, same)
}

fn page() -> Page {
    let listed = |kernel: kernel::Kernel| Listed {
        cannot: testbeds::that_cannot_boot(&kernel.index),
        modules: kernel.index.modules.loadable.len(),
        release: kernel.index.release,
        source: kernel.index.source,
        sha256: kernel.index.sha256,
    };
    Page {
        schema_version: VERSION,
        kernels: kernel::all().into_iter().map(listed).collect(),
        unusable: kernel::refused(None).map(|why| format!("{why:#}")),
    }
}

fn list() -> anyhow::Result<()> {
    let Page { kernels, unusable, .. } = page();
    if let Some(why) = unusable {
        super::say(&format!("note: not usable: {why}"));
    }
    if kernels.is_empty() {
        return print_line("none\n  try: fsderby kernel fetch");
    }
    for Listed { release, source, modules, cannot, .. } in kernels {
        let cannot = cannot.iter().map(|why| format!("; {why}")).collect::<String>();
        print_line(&format!("{release}  {modules} modules, from {source}{cannot}"))?;
    }
    Ok(())
}
