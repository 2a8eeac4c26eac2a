//! `fsderby guest`: guest bundles; a bundle is one file with kernel, programs and agent.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;

use super::config::checked;
use super::output::{print_json, print_line};
use super::pages::VERSION;
use crate::exit::{self, Failure};
use crate::filesystems;
use crate::guest::bundle::{self, Bundle, Package};
use crate::guest::gather::{self, Pins, Wanted};
use crate::guest::kernel::{self, Kernel};
use crate::guest::{apt, bundle_file, cache};
use crate::host::given;
use crate::schema::units::{Bytes, MIB};
use crate::storage::layers;

#[derive(Subcommand)]
pub enum Guest {
    /// Build a bundle from a kernel of the cache, the distribution's packages and this program; installs nothing and
    /// needs no root
    Build {
        /// A kernel series or release, as listed by `fsderby kernel list`; default: the newest
        #[arg(long, value_name = "VERSION")]
        kernel: Option<String>,
        /// Use exactly these packages, versions and checksums: the output of `fsderby guest list ID`
        #[arg(long, value_name = "FILE", conflicts_with = "kernel")]
        packages: Option<PathBuf>,
    },
    /// List the bundles in the cache; with an ID, the packages of one bundle
    List {
        /// ID of a bundle, or its first eight or more digits
        id: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a bundle to a file; every machine writes the same bytes
    Export {
        /// ID of a bundle, or its first eight or more digits
        id: String,
        /// The file to write
        file: PathBuf,
    },
    /// Import a bundle from a file, which may be compressed (.xz or .zst)
    Import {
        /// A file that `fsderby guest export` wrote
        file: PathBuf,
    },
    /// Remove a guest bundle (a kernel, programs and agent in one file) from fsderby's cache
    Remove {
        /// ID of a bundle, or its first eight or more digits
        id: String,
    },
}

/// `fsderby guest list --json`.
#[derive(Serialize, JsonSchema)]
pub struct Page {
    schema_version: u32,
    bundles: Vec<Listed>,
    /// Why other bundles of the cache cannot be used.
    unusable: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Listed {
    id: String,
    /// The release of its kernel.
    kernel: String,
    /// The version of its agent.
    fsderby: String,
    protocol: u32,
    /// Whether this version of fsderby uses its protocol.
    usable: bool,
    bytes: u64,
    packages: Vec<Package>,
}

impl Page {
    fn of<B: std::borrow::Borrow<Bundle>>(all: impl IntoIterator<Item = anyhow::Result<B>>) -> Self {
        let (mut bundles, mut unusable) = (Vec::new(), Vec::new());
        for bundle in all {
            match bundle {
                Ok(bundle) => bundles.push(Listed::of(bundle.borrow())),
                Err(why) => unusable.push(format!("{why:#}")),
            }
        }
        Page { schema_version: VERSION, bundles, unusable }
    }
}

impl Listed {
    fn of(bundle: &Bundle) -> Self {
        let manifest = &bundle.manifest;
        Listed {
            id: bundle.id.clone(),
            kernel: manifest.kernel.release.clone(),
            fsderby: manifest.fsderby.clone(),
            protocol: manifest.protocol,
            usable: bundle.is_spoken_with().is_ok(),
            bytes: bytes(bundle),
            packages: manifest.packages.clone(),
        }
    }
}

fn bytes(bundle: &Bundle) -> u64 {
    bundle.manifest.files.values().map(|file| file.bytes).sum()
}

pub fn run(command: &Guest) -> anyhow::Result<ExitCode> {
    checked()?;
    match command {
        Guest::Build { kernel, packages } => build(kernel.as_deref(), packages.as_deref())?,
        Guest::List { id: None, json: false } => list()?,
        Guest::List { id: Some(id), json: false } => print_packages(&*bundle::named(id)?)?,
        Guest::List { id: None, json: true } => print_json(&Page::of(bundle::all()?))?,
        Guest::List { id: Some(id), json: true } => {
            print_json(&Page::of([Ok(bundle::named(id)?.as_ref())]))?;
        }
        Guest::Export { id, file } => {
            let bundle = bundle::named(id)?;
            bundle_file::export(&bundle, file)?;
            let (file, id) = (file.display(), &bundle.id);
            print_line(&format!("{file} is the guest bundle {id}"))?;
        }
        Guest::Import { file } => print_line(&shown(&bundle_file::taken(file)?))?,
        Guest::Remove { id } => {
            let removed = bundle::remove(id).map_err(|e| Failure::missing(format!("{e:#}")))?;
            print_line(&format!("removed {removed}"))?;
        }
    }
    Ok(ExitCode::from(exit::OK))
}

fn build(release: Option<&str>, packages: Option<&Path>) -> anyhow::Result<()> {
    let missing = |e: anyhow::Error| Failure::missing(format!("could not build a guest bundle: {e:#}"));
    let pins = packages.map(pins).transpose()?;
    let kernel = match &pins {
        Some(pins) => pinned_kernel(pins),
        None => kernel::find(release)
            .context("the requested kernel is not in the cache\n  try: fsderby kernel fetch"),
    };
    let kernel = kernel.map_err(missing)?;
    let agent = Path::new("/proc/self/exe");
    let built = gather::build(&kernel, agent, &wanted(), pins.as_ref()).map_err(missing)?;
    for what in &built.left_out {
        super::say(&format!("note: left out: {what}"));
    }
    print_line(&shown(&built.bundle))
}

/// Largest list of packages.
const LONGEST_LIST: Bytes = Bytes(16 * MIB);

fn pins(file: &Path) -> anyhow::Result<Pins> {
    let text = given::text(file, LONGEST_LIST)
        .map_err(|e| Failure::usage(format!("could not read {}: {e}", file.display())))?;
    let wrong = |e| {
        Failure::usage(format!(
            "{file} is not a list of packages: {e}\n  try: fsderby guest list ID",
            file = file.display()
        ))
    };
    Ok(toml::from_str(&text).map_err(wrong)?)
}

/// The cached kernel from the pinned package; it is downloaded if missing.
fn pinned_kernel(pins: &Pins) -> anyhow::Result<Kernel> {
    let is_kernels = |package: &&Package| package.name.starts_with("linux-image-");
    let pinned = pins.package.iter().find(is_kernels).context("no kernel package is listed")?;
    if let Some(kernel) = kernel::all().into_iter().find(|kernel| kernel.index.sha256 == pinned.sha256) {
        return Ok(kernel);
    }
    let kernels = cache::made(kernel::KERNELS)?;
    let folder = tempfile::Builder::new().prefix(".fetching-").tempdir_in(kernels)?;
    let files = apt::bring(std::slice::from_ref(pinned), folder.path())?;
    kernel::import(files.first().context("apt-get downloaded no kernel")?, kernel::Same::Refuse)
}

/// Programs that all filesystems and layers need.
fn wanted() -> Vec<Wanted> {
    let kinds = filesystems::TABLE.iter().map(|kind| Wanted {
        whose: kind.name().to_owned(),
        package: kind.package().to_owned(),
        programs: filesystems::tools(*kind),
    });
    let layers = layers::TABLE.iter().map(|kind| Wanted {
        whose: format!("layer {}", kind.name()),
        package: kind.package().to_owned(),
        programs: kind.tools().iter().map(|&program| program.to_owned()).collect(),
    });
    kinds.chain(layers).collect()
}

fn list() -> anyhow::Result<()> {
    let all = bundle::all()?;
    if all.is_empty() {
        return print_line("none\n  try: fsderby guest build");
    }
    for bundle in all {
        match bundle {
            Ok(bundle) => print_line(&shown(&bundle))?,
            Err(why) => super::say(&format!("note: not usable: {why:#}")),
        }
    }
    Ok(())
}

fn shown(bundle: &Bundle) -> String {
    let manifest = &bundle.manifest;
    format!(
        "{id}  Linux {release}, {packages} packages, the agent of fsderby {version}, {size}{unusable}",
        id = bundle.id,
        release = manifest.kernel.release,
        packages = manifest.packages.len(),
        version = manifest.fsderby,
        size = Bytes(bytes(bundle)),
        unusable = match bundle.is_spoken_with() {
            Ok(()) => String::new(),
            Err(_) =>
                format!(", agent protocol {}: not usable by this version of fsderby", manifest.protocol),
        }
    )
}

/// Prints the packages of a bundle in the format that `build --packages` reads.
fn print_packages(bundle: &Bundle) -> anyhow::Result<()> {
    let pins = Pins { package: bundle.manifest.packages.clone() };
    print_line(toml::to_string(&pins)?.trim_end())
}
