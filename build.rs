//! Tells a release build the commit that it is built from, as `src/version.rs` prints it.
//!
//! A debug build is told none, as it would be compiled anew at every commit.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Everything that is compiled in. A change elsewhere, as in documents, makes no tree dirty.
const INPUTS: [&str; 13] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "build.rs",
    "crates",
    "disks",
    "eras",
    "experiments",
    "machines",
    "papers",
    "profiles",
    "src",
    "templates",
];
/// `git archive` writes the commit into it; in a work tree it has only the form.
const ARCHIVED: &str = ".commit";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    println!("cargo::rustc-env=BUILD_TARGET={}", variable("TARGET"));
    if variable("PROFILE") != "release" {
        return;
    }
    let project = variable("CARGO_MANIFEST_DIR");
    let commit = from_git(Path::new(&project)).or_else(|why_not_git| {
        let archived = fs::read_to_string(Path::new(&project).join(ARCHIVED)).unwrap_or_default();
        match archived.split_whitespace().collect::<Vec<_>>().as_slice() {
            [commit, date, _] if !commit.starts_with('$') => Ok(format!("{commit} {date}")),
            _ => Err(why_not_git),
        }
    });
    match commit {
        Ok(commit) => println!("cargo::rustc-env=BUILD_COMMIT={commit}"),
        Err(why) => println!("cargo::warning=the program will not name its commit: {why}"),
    }
}

/// `COMMIT DATE`, or `COMMIT-dirty DATE`.
fn from_git(project: &Path) -> Result<String, String> {
    let commit = git(project, &["show", "--no-patch", "--format=%H %cs", "HEAD"])?;
    // What moves with a commit, and what makes a tree dirty. Cargo takes a path that does not exist as changed.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(project, &["rev-parse", "--git-path", name])?;
        if project.join(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    for input in INPUTS.iter().filter(|input| project.join(input).exists()) {
        println!("cargo::rerun-if-changed={input}");
    }
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    let changed = git(project, &[&status[..], &INPUTS[..]].concat())?;
    Ok(if changed.is_empty() { commit } else { commit.replacen(' ', "-dirty ", 1) })
}

fn git(project: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(project).env("GIT_OPTIONAL_LOCKS", "0");
    // The project may lie in another repository, and a hook of git sets the others.
    command.env("GIT_CEILING_DIRECTORIES", project.parent().unwrap_or(project));
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    let output = command.output().map_err(|error| format!("git: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stderr).lines().next().unwrap_or("git failed").to_owned())
    }
}
