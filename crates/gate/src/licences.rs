//! The licences of the libraries that are linked into fsderby: a test that all are allowed by `deny.toml`, and the file
//! `copyright` of a package, in Debian's machine-readable form.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use spdx::{Expression, LicenseReq, Licensee, ParseMode};

/// Of it the program is made; the licences of what only builds it do not matter.
const TARGET: &str = "x86_64-unknown-linux-gnu";

struct Library {
    name: String,
    licence: String,
    holders: BTreeSet<String>,
}

/// The whole file, for the standard output.
pub fn copyright() -> Result<String> {
    let allowed = allowed()?;
    let mut page = String::from(HEAD);
    let mut texts = BTreeMap::new();
    for library in linked()? {
        let taken = taken(&library.name, &library.licence, &allowed)?;
        let names: Vec<String> = taken.iter().map(ToString::to_string).collect();
        let holders: Vec<&str> = library.holders.iter().map(String::as_str).collect();
        write!(
            page,
            "\nFiles: libraries/{}/*\nCopyright: {}\nLicense: {}\nComment: offered under {}\n",
            library.name,
            holders.join("\n "),
            names.join(" and "),
            library.licence
        )?;
        for licence in taken {
            let id = licence.license.id().with_context(|| format!("{licence} is no licence of SPDX"))?;
            texts.insert(licence.to_string(), id.text());
        }
    }
    for (name, text) in texts {
        let text = if name == "Apache-2.0" { APACHE } else { text };
        write!(page, "\nLicense: {name}\n{}", paragraph(text))?;
    }
    Ok(page + LGPL)
}

/// Those of `deny.toml`, in its order.
fn allowed() -> Result<Vec<Licensee>> {
    let path = project().join("deny.toml");
    let file = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
    let table: toml::Table = file.parse()?;
    let list = table["licenses"]["allow"].as_array().context("deny.toml: licenses.allow is no list")?;
    list.iter()
        .map(|name| {
            let name = name.as_str().context("deny.toml: licenses.allow: not a text")?;
            Licensee::parse(name).with_context(|| format!("deny.toml: {name}"))
        })
        .collect()
}

/// The licences under which a library is used.
fn taken(name: &str, licence: &str, allowed: &[Licensee]) -> Result<Vec<LicenseReq>> {
    let expression = Expression::parse_mode(licence, ParseMode::LAX)
        .map_err(|error| anyhow::anyhow!("{name}: its licence '{licence}': {error}"))?;
    expression.minimized_requirements(allowed).map_err(|_| {
        anyhow::anyhow!("{name}: its licence '{licence}' is not allowed by deny.toml\n  try: another library, or add it there")
    })
}

/// All libraries of others that are linked into the program.
fn linked() -> Result<Vec<Library>> {
    let mut tree = Command::new(env!("CARGO"));
    tree.args([
        "tree",
        "--locked",
        "--package",
        "fsderby",
        "--edges",
        "normal,no-proc-macro",
        "--target",
        TARGET,
    ]);
    let tree = said(tree.args(["--prefix", "none", "--format", "{p}"]))?;
    let mut metadata = Command::new(env!("CARGO"));
    metadata.args(["metadata", "--locked", "--format-version", "1", "--filter-platform", TARGET]);
    let metadata: Value = serde_json::from_str(&said(&mut metadata)?)?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut libraries = Vec::new();
    for package in packages.iter().filter(|package| !package["source"].is_null()) {
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        if !tree.lines().any(|line| line.trim_end_matches(" (*)") == format!("{name} v{version}")) {
            continue;
        }
        let authors = package["authors"].as_array().into_iter().flatten().map(text);
        let folder = text(&package["manifest_path"]).replace("Cargo.toml", "");
        let stated = stated(Path::new(&folder));
        let holders = if stated.is_empty() { authors.collect() } else { stated };
        let developers = BTreeSet::from([format!("the developers of {name}")]);
        libraries.push(Library {
            name: format!("{name}-{version}"),
            licence: text(&package["license"]),
            holders: if holders.is_empty() { developers } else { holders },
        });
    }
    if libraries.len() < 20 {
        bail!("only {} libraries were found, which cannot be all", libraries.len());
    }
    libraries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(libraries)
}

/// Who states a copyright in the licence files of a library.
fn stated(folder: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| {
        let name = entry.file_name().to_string_lossy().to_uppercase();
        ["LICENSE", "LICENCE", "COPYRIGHT", "COPYING", "UNLICENSE"].iter().any(|form| name.starts_with(form))
    });
    let texts: Vec<String> = files.filter_map(|entry| fs::read_to_string(entry.path()).ok()).collect();
    let lines = texts.iter().flat_map(|text| text.lines()).filter_map(|line| {
        let holder = line.trim().strip_prefix("Copyright ")?;
        let holder = holder.trim_start_matches("(c) ").trim_start_matches("(C) ").trim_start_matches("© ");
        let begins_with_a_year = holder.starts_with(|letter: char| letter.is_ascii_digit());
        let is_a_name = line.trim().starts_with("Copyright (c)") && holder.len() < 100;
        (begins_with_a_year || is_a_name).then(|| holder.trim_end_matches('.').to_owned())
    });
    lines.collect()
}

fn said(command: &mut Command) -> Result<String> {
    let output = command.current_dir(project()).output().context("could not start cargo")?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A text in a field: one space before each line, and a dot in an empty one.
fn paragraph(text: &str) -> String {
    let line =
        |line: &str| if line.trim().is_empty() { " .\n".into() } else { format!(" {}\n", line.trim_end()) };
    text.trim().lines().map(line).collect()
}

const HEAD: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: fsderby
Comment: The program is linked statically. The paragraphs below name each library in it, with its version; the name of
 each stands for its files.

Files: *
Copyright: the fsderby developers
License: MIT or Apache-2.0

Files: libraries/rust/*
Copyright: the Rust Project developers
License: MIT or Apache-2.0
Comment: the standard library of Rust

Files: libraries/glibc/*
Copyright: Free Software Foundation, Inc.
License: LGPL-2.1+
Comment: the GNU C Library; a build from the source, which is free, links another version of it
";

const APACHE: &str =
    "On Debian systems, the text of this license is in /usr/share/common-licenses/Apache-2.0.";

const LGPL: &str = "
License: LGPL-2.1+
 On Debian systems, the text of this license is in /usr/share/common-licenses/LGPL-2.1.
";

#[cfg(test)]
mod tests {
    use super::{allowed, linked, paragraph, taken};

    #[test]
    fn every_library_that_is_linked_has_an_allowed_licence() {
        let allowed = allowed().unwrap();
        for library in linked().unwrap() {
            taken(&library.name, &library.licence, &allowed).unwrap();
            assert!(!library.holders.is_empty(), "{}", library.name);
        }
    }

    #[test]
    fn a_licence_that_is_not_on_the_list_is_refused_and_the_first_one_that_is_on_it_is_taken() {
        let allowed = allowed().unwrap();
        let names = |licence| {
            taken("x", licence, &allowed)
                .map(|taken| taken.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(names("Apache-2.0 OR MIT").unwrap(), ["MIT"]);
        assert_eq!(names("Unlicense/MIT").unwrap(), ["MIT"]);
        assert_eq!(names("MIT AND Zlib").unwrap(), ["MIT", "Zlib"]);
        let refused = names("GPL-3.0-only OR MPL-2.0").unwrap_err().to_string();
        assert!(refused.contains("x: its licence 'GPL-3.0-only OR MPL-2.0' is not allowed"), "{refused}");
        assert!(names("MIT AND GPL-2.0-only").is_err() && names("").is_err());
    }

    #[test]
    fn no_line_of_a_field_is_empty() {
        assert_eq!(paragraph("a\n\n  b \n"), " a\n .\n   b\n");
    }
}
