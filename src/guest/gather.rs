//! Builds a bundle: a cached kernel, programs from the distribution's packages, and this program as agent.
//!
//! The bundle has the packages of the programs and of the libraries that these load. The libraries are found by ELF headers in the
//! packages' dependencies. Nothing is installed, and only this program is taken from this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

use super::apt::{self, Stated};
use super::bundle::{self, AGENT, Bundle, File, KERNEL, Manifest, Package};
use super::closure::{Closure, Files};
use super::initramfs;
use super::kernel::Kernel;
use super::tree::{CONFIGURATION, Tree};

/// Most levels of package dependencies to follow.
const MOST_STEPS: usize = 12;

/// Programs that belong together: the bundle has all of them or none.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The kind of filesystem or the layer that needs the programs.
    pub whose: String,
    pub package: String,
    pub programs: Vec<String>,
}

/// Packages with versions: an input of `build`, and the output of `list` for a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    pub package: Vec<Package>,
}

/// A built bundle, and what was left out of it.
pub struct Built {
    pub bundle: Bundle,
    /// The kinds and layers whose programs were left out, each with the reason.
    pub left_out: Vec<String>,
}

/// Builds a bundle into the cache. If `pins` are given, the bundle has exactly these packages.
///
/// # Errors
/// If a package is not available, or is damaged.
pub fn build(kernel: &Kernel, agent: &Path, wanted: &[Wanted], pins: Option<&Pins>) -> anyhow::Result<Built> {
    let (guests, folder) = bundle::begun()?;
    let fetched = tempfile::Builder::new().prefix(".fetching-").tempdir_in(&guests)?;
    let mut gathered = Gathered { folder: fetched.path().to_owned(), ..Gathered::default() };
    match pins {
        Some(pins) => gathered.bring_pinned(pins, kernel)?,
        None => gathered.bring_all(wanted)?,
    }
    let Gathered { tree, packages, .. } = gathered;
    let mut left_out = Vec::new();
    let mut closure = Closure::of(&tree);
    for one in wanted {
        if let Err(why) = add(&mut closure, &tree, one) {
            left_out.push(format!("{}: {why:#}", one.whose));
        }
    }
    ensure!(!closure.files.is_empty(), "no package contains any of the programs:\n{}", left_out.join("\n"));
    let used: BTreeSet<usize> =
        closure.files.keys().filter_map(|path| tree.brought_by(Path::new(path))).collect();
    let mut named: Vec<Package> = used.into_iter().map(|at| packages[at].package.clone()).collect();
    named.extend(kernel_package(kernel));
    named.sort_by(|a, b| a.name.cmp(&b.name));
    let mut parts = Parts { folder: folder.path(), manifest: Manifest::new(kernel.index.of_guests(), named) };
    for (path, bytes) in &closure.files {
        parts.root(path, bytes)?;
    }
    for path in CONFIGURATION {
        if let Ok(bytes) = tree.read(Path::new(path)) {
            parts.root(path, &bytes)?;
        }
    }
    parts.kernel(kernel)?;
    parts.file(AGENT, &initramfs::init(fs::read(agent).context("could not read the fsderby binary")?)?)?;
    let manifest = serde_json::to_vec(&parts.manifest)?;
    Ok(Built { bundle: bundle::settle(folder, &guests, &manifest)?, left_out })
}

/// Adds all programs of one kind with their libraries, or nothing.
fn add(closure: &mut Closure<'_>, tree: &Tree, wanted: &Wanted) -> anyhow::Result<()> {
    let mut own = Closure::of(tree);
    for name in &wanted.programs {
        let path = tree.program(name);
        own.add(&path.with_context(|| {
            format!(
                "no package contains {name}, although {package} should contain it",
                package = wanted.package
            )
        })?)?;
    }
    closure.files.append(&mut own.files);
    Ok(())
}

/// The package of a cached kernel; `None` if it was installed on this machine.
fn kernel_package(kernel: &Kernel) -> Option<Package> {
    let mut parts = kernel.index.source.strip_suffix(".deb")?.split('_');
    let (name, version) = (parts.next()?, parts.next()?);
    let sha256 = kernel.index.sha256.clone();
    Some(Package { name: name.to_owned(), version: version.replace("%3a", ":"), sha256 })
}

/// Downloaded packages and their content.
#[derive(Default)]
struct Gathered {
    folder: PathBuf,
    tree: Tree,
    packages: Vec<Stated>,
}

impl Gathered {
    fn bring(&mut self, stated: Vec<Stated>) -> anyhow::Result<()> {
        let packages: Vec<Package> = stated.iter().map(|stated| stated.package.clone()).collect();
        let files = apt::bring(&packages, &self.folder).context("could not download packages")?;
        for (stated, file) in stated.into_iter().zip(files) {
            let number = self.packages.len();
            let unpacked = self.tree.unpack(&file, number);
            unpacked.with_context(|| format!("the package {}", stated.package.name))?;
            self.packages.push(stated);
            let _ = fs::remove_file(file);
        }
        Ok(())
    }

    /// Downloads the packages of the programs, then the packages of their libraries, until no library is missing or no further
    /// package is available.
    fn bring_all(&mut self, wanted: &[Wanted]) -> anyhow::Result<()> {
        let names: BTreeSet<&String> = wanted.iter().map(|wanted| &wanted.package).collect();
        let names: Vec<String> = names.into_iter().cloned().collect();
        self.bring(apt::stated(&names, &self.folder)?)?;
        for _ in 0..MOST_STEPS {
            let lacks = self.lacks(wanted);
            let next = self.next(&lacks);
            if next.is_empty() {
                break;
            }
            let stated = apt::stated(&next, &self.folder)?;
            if stated.is_empty() {
                break;
            }
            self.bring(stated)?;
        }
        Ok(())
    }

    /// The missing libraries.
    fn lacks(&self, wanted: &[Wanted]) -> BTreeSet<String> {
        let mut closure = Closure::of(&self.tree);
        let programs = wanted.iter().flat_map(|wanted| &wanted.programs);
        for path in programs.filter_map(|name| self.tree.program(name)) {
            // A program that cannot run in a guest is reported when it is added.
            let _ = closure.follow(&path);
        }
        closure.lacks.into_keys().collect()
    }

    /// The packages to search for these libraries: packages with matching names; if there are none, all library packages that were
    /// not searched yet.
    fn next(&self, lacks: &BTreeSet<String>) -> Vec<String> {
        if lacks.is_empty() {
            return Vec::new();
        }
        let here: BTreeSet<&str> = self.packages.iter().map(|p| p.package.name.as_str()).collect();
        let depends = self.packages.iter().flat_map(|stated| &stated.depends);
        let by_name: BTreeSet<String> = lacks.iter().map(|library| package_of(library)).collect();
        let may_help = |name: &&String| name.starts_with("lib") || by_name.contains(*name);
        let open: BTreeSet<&String> =
            depends.filter(may_help).filter(|name| !here.contains(name.as_str())).collect();
        let named: Vec<String> =
            open.iter().filter(|name| by_name.contains(**name)).map(|n| (*n).clone()).collect();
        match named.is_empty() {
            true => open.into_iter().cloned().collect(),
            false => named,
        }
    }

    fn bring_pinned(&mut self, pins: &Pins, kernel: &Kernel) -> anyhow::Result<()> {
        let is_kernels = |package: &Package| package.name.starts_with("linux-image-");
        if let Some(pinned) = pins.package.iter().find(|package| is_kernels(package))
            && pinned.sha256 != kernel.index.sha256
        {
            bail!(
                "the kernel {release} does not come from the package {package} {version}",
                release = kernel.index.release,
                package = pinned.name,
                version = pinned.version
            );
        }
        let packages = pins.package.iter().filter(|package| !is_kernels(package));
        let stated = packages.map(|package| Stated { package: package.clone(), depends: Vec::new() });
        self.bring(stated.collect())
    }
}

/// `libcom_err.so.2` → `libcom-err2`, `libdevmapper.so.1.02.1` → `libdevmapper1.02.1`: Debian's names.
fn package_of(library: &str) -> String {
    // zlib is the only library whose package has a name of another form.
    if library.starts_with("libz.so") {
        return "zlib1g".into();
    }
    let Some((stem, version)) = library.split_once(".so.") else { return "libc6".into() };
    let stem = stem.to_ascii_lowercase().replace('_', "-");
    let dash = if stem.ends_with(|c: char| c.is_ascii_digit()) { "-" } else { "" };
    format!("{stem}{dash}{version}")
}

/// A bundle's folder while it is filled.
struct Parts<'f> {
    folder: &'f Path,
    manifest: Manifest,
}

impl Parts<'_> {
    fn file(&mut self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let file = File { sha256: bundle::sha256(bytes), bytes: bytes.len() as u64 };
        fs::write(self.folder.join(name), bytes).with_context(|| format!("could not store {name}"))?;
        self.manifest.files.insert(name.to_owned(), file);
        Ok(())
    }

    fn root(&mut self, path: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let sha256 = bundle::sha256(bytes);
        self.manifest.root.insert(path.to_owned(), sha256.clone());
        self.file(&bundle::stored(&sha256), bytes)
    }

    /// Adds all modules of the cached kernel, so that every experiment finds the modules that it needs.
    fn kernel(&mut self, kernel: &Kernel) -> anyhow::Result<()> {
        ensure!(
            kernel.is_sound(),
            "the kernel {release} in the cache was altered\n  try: fsderby kernel fetch {release}",
            release = kernel.index.release
        );
        self.file(KERNEL, &fs::read(kernel.image())?)?;
        let modules: BTreeMap<_, _> = kernel.index.modules.loadable.clone();
        modules.keys().try_for_each(|name| self.file(&bundle::module(name), &kernel.module(name)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_of_a_library_is_known_by_debians_rule() {
        for (library, package) in [
            ("libcom_err.so.2", "libcom-err2"),
            ("libdevmapper.so.1.02.1", "libdevmapper1.02.1"),
            ("liblzo2.so.2", "liblzo2-2"),
            ("libntfs-3g.so.89", "libntfs-3g89"),
            ("libicuuc.so.72", "libicuuc72"),
            ("libz.so.1", "zlib1g"),
            ("/lib64/ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64-2"),
        ] {
            assert_eq!(package_of(library), package);
        }
    }

    fn stated(name: &str, depends: &[&str]) -> Stated {
        let package = Package { name: name.into(), version: "1".into(), sha256: String::new() };
        Stated { package, depends: depends.iter().map(|&name| name.into()).collect() }
    }

    /// `libe2p.so.2` is in `libext2fs2`, whose name does not show it.
    #[test]
    fn packages_are_looked_into_by_name_and_then_all_of_them() {
        let packages = vec![
            stated("e2fsprogs", &["libblkid1", "libext2fs2", "logsave"]),
            stated("libblkid1", &["libc6"]),
        ];
        let gathered = Gathered { packages, ..Gathered::default() };
        let next = |lacks: &[&str]| gathered.next(&lacks.iter().map(|&library| library.into()).collect());
        assert_eq!(next(&["libext2fs.so.2", "libe2p.so.2"]), ["libext2fs2"]);
        assert_eq!(next(&["libe2p.so.2"]), ["libc6", "libext2fs2"]);
        assert_eq!(next(&[]), [""; 0]);
    }
}
