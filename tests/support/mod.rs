//! What several tests need.
#![allow(dead_code, reason = "each test uses its own part of it")]

pub mod agent;
pub mod carry;
pub mod conformance;
pub mod desk;
pub mod documents;
pub mod forger;
pub mod harness;
pub mod harness_battery;
pub mod harness_devices;
pub mod harness_nfs;
pub mod harness_volumes;
pub mod imports;
pub mod kills;
pub mod known_cells;
pub mod large;
pub mod made_up;
pub mod modelled;
pub mod neighbours;
pub mod quiet;
pub mod remains;
pub mod scripted;
pub mod slurm;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use fsderby::schema::reason::{Condition, Reason};
use fsderby::schema::record::Record;

/// The program under test.
pub fn fsderby() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fsderby"));
    // No configuration of whoever runs the tests.
    command.env("NO_COLOR", "1").env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

/// Copies the program. Another process does it: a descriptor of ours could live on in the child of another test, and what is open for
/// writing cannot be executed.
pub fn copy_program(to: &Path) {
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_fsderby")).arg(to).status();
    assert!(copied.is_ok_and(|status| status.success()), "could not copy the program to {}", to.display());
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Says why something is not tested here; nothing is left out silently.
pub fn skipped(what: &str, why: &str) {
    say(&format!("skipped: {what}: {why}"));
}

/// A line that is seen although the test passes, whose `eprintln!` would not be.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Whether others took the CPUs from it: that says something about the machine, and nothing about what is tried.
pub fn is_disturbed(record: &Record) -> bool {
    matches!(&record.reason, Some(Reason::Validity(broken)) if broken.name == Condition::Interference)
}

/// Whether the loop testbed can be tested here; says so where it cannot.
pub fn has_loop(what: &str) -> bool {
    let usable = is_root() && Path::new("/dev/loop-control").exists();
    if !usable {
        skipped(what, "loop devices need root");
    }
    usable
}

/// A folder for images on a disk, gone with its value.
pub fn image_folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("fsderby-test-").tempdir_in("/var/tmp").expect("a folder in /var/tmp")
}

/// The root of the project.
pub fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
