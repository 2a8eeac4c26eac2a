//! The build script tells a release build its commit, and whether the sources differ from it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{fsderby, project, skipped};

#[test]
fn a_release_names_its_commit_and_says_if_the_sources_differ_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("build-script");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let built = Command::new(rustc)
        .args(["--edition=2024", "--crate-name=build_script", "-o"])
        .arg(&script)
        .arg(project().join("build.rs"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));

    let sources = folder.path().join("sources");
    fs::create_dir_all(sources.join("src")).unwrap();
    fs::write(sources.join("src/main.rs"), "fn main() {}").unwrap();
    fs::write(sources.join(".commit"), "$Format:%H %cs %ct$\n").unwrap();
    fs::write(sources.join(".gitattributes"), ".commit export-subst\n").unwrap();
    fs::write(sources.join("README.md"), "a document").unwrap();
    let said = |project: &Path, profile: &str| {
        let mut script = Command::new(&script);
        script.env("PROFILE", profile).env("TARGET", "x").env("CARGO_MANIFEST_DIR", project);
        let output = script.current_dir(project).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let commit = |project: &Path| {
        let said = said(project, "release");
        said.lines().find_map(|line| line.strip_prefix("cargo::rustc-env=BUILD_COMMIT=")).map(str::to_owned)
    };
    assert_eq!(commit(&sources), None);
    assert!(said(&sources, "release").contains("cargo::warning=the program will not name its commit"));

    if Command::new("git").arg("--version").output().is_err() {
        return skipped("the commit of a clone", "there is no git");
    }
    git(&sources, &["init", "--quiet"]);
    git(&sources, &["add", "."]);
    git(&sources, &["-c", "user.name=x", "-c", "user.email=x@y", "commit", "--quiet", "--message=first"]);
    let stated = git(&sources, &["show", "--no-patch", "--format=%H %cs"]);
    assert_eq!(commit(&sources), Some(stated.clone()));
    assert!(!said(&sources, "debug").contains("BUILD_COMMIT"));

    // The sources of a release have a commit without git, also inside another repository.
    let archived = sources.join("archived");
    fs::create_dir(&archived).unwrap();
    let archive = format!("git archive HEAD | tar -x -C '{}'", archived.display());
    assert!(Command::new("sh").args(["-c", &archive]).current_dir(&sources).status().unwrap().success());
    assert_eq!(commit(&archived), Some(stated.clone()));

    // A document is no part of the program.
    fs::write(sources.join("README.md"), "another text").unwrap();
    assert_eq!(commit(&sources), Some(stated.clone()));
    fs::write(sources.join("src/main.rs"), "fn main() { }").unwrap();
    assert_eq!(commit(&sources), Some(stated.replace(' ', "-dirty ")));
}

#[test]
fn the_version_says_how_the_program_was_built() {
    let said = |option| String::from_utf8(fsderby().arg(option).output().unwrap().stdout).unwrap();
    let line = format!("fsderby {}\n", fsderby::version::line());
    assert_eq!(said("-V"), line);
    assert_eq!(said("--version"), format!("fsderby {}\n", fsderby::version::long()));
    assert!(said("--version").starts_with(&line) && said("--version").contains("\ntarget: x86_64"));
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
