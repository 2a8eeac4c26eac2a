//! The test programs that cargo builds, and the tests in each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// For temporary files of tests of pure functions: creating thousands of files on a disk takes a sixth of their time.
const IN_MEMORY: &str = "/dev/shm";

/// A test program that cargo has built.
pub struct Program {
    /// Name of the target, such as `host`; for unit tests the name of the package.
    name: String,
    path: PathBuf,
    is_test: bool,
    /// Folder of the package, in which its tests run, as under cargo.
    folder: PathBuf,
}

/// One test.
#[derive(Clone)]
pub struct Case {
    /// Program and test, such as `host::kills::three_killed_runs_leave_nothing`.
    pub name: String,
    program: PathBuf,
    folder: PathBuf,
}

impl Case {
    /// The modules of its program that contain it: `conformance_vm`, `conformance_vm::raid5`.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        let inside = self.inside();
        inside.match_indices("::").map(|(at, _)| &inside[..at])
    }

    /// Whether its name begins with these whole words: `host::kills`, not `host::ki`.
    pub fn is_of(&self, part: &str) -> bool {
        self.name.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    }

    /// Its name inside its program.
    fn inside(&self) -> &str {
        self.name.split_once("::").map_or("", |(_, inside)| inside)
    }

    /// Whether it may share a process with other tests, because it affects nothing outside the process.
    pub fn is_pure(&self) -> bool {
        self.name.starts_with("unit ") || self.name.starts_with("pure::")
    }

    pub fn is_beside(&self, other: &Case) -> bool {
        self.program == other.program
    }

    /// The test's time, from its output line in a batch.
    pub fn time(&self, line: &str) -> Option<Duration> {
        let result = line.strip_prefix("test ")?.strip_prefix(self.inside())?.strip_prefix(" ... ok <")?;
        Duration::try_from_secs_f64(result.strip_suffix("s>")?.parse().ok()?).ok()
    }

    /// The process that runs these tests of one program, one after another; `None` if there are none.
    pub fn command(cases: &[Case]) -> Option<Command> {
        let Case { program, folder, .. } = cases.first()?;
        let mut command = Command::new(program);
        command.args(cases.iter().map(Case::inside)).args(["--exact", "--test-threads=1"]);
        if cases.len() > 1 {
            // Printing each test's time is an unstable option of test programs.
            command.args(["-Zunstable-options", "--report-time"]).env("RUSTC_BOOTSTRAP", "1");
        }
        command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder).env("CARGO", cargo());
        if cases.iter().all(Case::is_pure) && Path::new(IN_MEMORY).is_dir() {
            command.env("TMPDIR", IN_MEMORY);
        }
        Some(command)
    }

    #[cfg(test)]
    pub fn made_up(name: &str, program: &Path) -> Self {
        Case { name: name.to_owned(), program: program.to_owned(), folder: std::env::temp_dir() }
    }
}

fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

/// Builds these targets, given as options of `cargo test`.
pub fn build(targets: &[&str]) -> Result<Vec<Program>> {
    let mut command = Command::new(cargo());
    command.args(["test", "--locked", "--quiet", "--no-run", "--message-format", "json-render-diagnostics"]);
    let output = command.args(targets).stderr(Stdio::inherit()).output().context("could not start cargo")?;
    if !output.status.success() {
        bail!("the tests could not be built: cargo ended with {}", output.status);
    }
    let text = String::from_utf8(output.stdout).context("could not read what cargo said")?;
    let mut seen = BTreeSet::new();
    let programs = text.lines().filter_map(program).filter(|p| seen.insert(p.path.clone()));
    Ok(programs.collect())
}

/// The program named in a line of cargo's output; `None` for any other line.
fn program(line: &str) -> Option<Program> {
    let said: Value = serde_json::from_str(line).ok()?;
    let path = said["executable"].as_str()?;
    let folder = Path::new(said["manifest_path"].as_str()?).parent()?;
    let target = &said["target"];
    let is_unit = target["kind"].as_array()?.iter().any(|kind| kind == "lib");
    let name = target["name"].as_str()?;
    Some(Program {
        name: if is_unit { format!("unit {}", name.trim_start_matches("fsderby_")) } else { name.to_owned() },
        path: path.into(),
        is_test: said["profile"]["test"].as_bool()?,
        folder: folder.to_owned(),
    })
}

/// Path of the fsderby binary under test.
pub fn fsderby(programs: &[Program]) -> Result<PathBuf> {
    let ours = programs.iter().find(|p| p.name == "fsderby" && !p.is_test);
    Ok(ours.context("cargo did not build fsderby")?.path.clone())
}

/// All tests of these programs.
pub fn cases(programs: &[Program]) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for program in programs.iter().filter(|program| program.is_test) {
        let output = Command::new(&program.path).args(["--list", "--format", "terse"]).output();
        let output = output.with_context(|| format!("could not start {}", program.path.display()))?;
        let text = String::from_utf8(output.stdout).context("could not read a list of tests")?;
        cases.extend(text.lines().filter_map(|line| line.strip_suffix(": test")).map(|test| Case {
            name: format!("{}::{test}", program.name),
            program: program.path.clone(),
            folder: program.folder.clone(),
        }));
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_program_a_module_or_a_test() {
        let case = Case::made_up("host::kills::three", Path::new("true"));
        assert!(["host", "host::kills", "host::kills::three"].iter().all(|part| case.is_of(part)));
        assert!(
            ["hos", "kills", "host::ki", "host::kills::three::more"].iter().all(|part| !case.is_of(part))
        );
    }

    #[test]
    fn the_time_of_a_test_stands_in_its_line() {
        let case = Case::made_up("pure::a::b", Path::new("true"));
        assert_eq!(case.time("test a::b ... ok <1.720s>"), Some(Duration::from_millis(1720)));
        assert_eq!(case.time("test a::b ... FAILED <1.720s>"), None);
        assert_eq!(case.time("test a::bc ... ok <1.720s>"), None);
    }
}
